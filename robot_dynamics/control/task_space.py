"""Laws in task space: the end effector as a spring and a damper, or with a chosen inertia.

Pure functions of arrays and of symbols. Poses, twists and wrenches are about the origin of the
end effector in axes of the root link, linear over angular; every error is target minus measured.
Stiffness, errors and selected directions are in the axes S of the task. None of the laws limits its
result, and none adds gravity; see docs/task-space.md for symbols and sources.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any, NamedTuple, Protocol

import numpy as np

from robot_dynamics.algorithms import composite_body
from robot_dynamics.compiler.graph.piecewise import clip, maximum, minimum, select
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.spatial import cross

IMPEDANCE, OPERATIONAL_SPACE = "cartesian_impedance", "operational_space"
"""Names of the laws."""

CONSISTENT, KINEMATIC = "consistent", "kinematic"
PROJECTORS = (CONSISTENT, KINEMATIC)
"""Projectors of null-space efforts: dynamically consistent, and without inertia."""

TINY = 1e-30
"""Added to squares below a root, far below the square of any error."""

NO_ERROR = 1e-12
"""Square of an error that is none, m^2: what remains of it is round-off."""

SINGULAR = 1e-9
"""Smallest mobility in a direction of the task, as a share of the largest."""

SMALL_ANGLE = 0.1
"""Angle below which a series replaces a quotient that cancels, rad; its error is below 1e-12."""

SLOWER_STOP, QUICKEST_STOP = 4.0, 30.0
"""Largest stable natural frequency over the rate at which joints stop before their ends, and the
largest such rate, 1/s."""

SWEEPS = 5
"""Passes over the joints in which the efforts of stops are found."""

UNLIMITED = 1e12
"""Acceleration of a joint without a bound, rad/s^2 or m/s^2."""

SPEED_SHARE, STANDING, UNLIMITED_SPEED = 1.6, 1e-3, 1e3
"""Largest speed of a joint relative to that which a target asks for, its share that counts as rest,
and the speed of a joint without a limit, rad/s or m/s."""

LEAN = 0.1
"""Distance from its posture at which a joint is led towards it the most beside a singular pose, rad
or m."""

TRIAL = 0.2
"""Displacement of the joint that moves most in a trial motion towards the target, rad or m."""

LEAST_PULL = 0.5
"""Smallest share of its pull that a spring keeps where more would be too fast."""

POLES = (3.66764932e-04, 7.32234933e-03, 7.74596669e-02, 8.19409144e-01, 1.63592522e01)
RESIDUES = (0.02700215, 0.06666931, 0.20589546, 0.70526302, 5.70277358)
"""x^(-1/2) = sum(residue / (x + pole)) from 1e-3 to 6, within 7.4e-4: the best five terms
[Hale2008]. The sum is positive for every positive x and bounded near zero."""


class TaskSpaceEquations(Protocol):
    """The equations of an arm that the laws use, of numbers or of symbols."""

    @property
    def parents(self) -> tuple[int, ...]:
        """Order of elimination of the mass matrix; see `composite_body.factorise`."""

    def mass_matrix(self, q: Array) -> Array:
        """Return M with load and rotors, shape (n, n)."""

    def velocity_effort(self, q: Array, qd: Array) -> Array:
        """Return Coriolis and centrifugal efforts, shape (n,)."""

    def pose(self, q: Array) -> tuple[Array, Array]:
        """Return rotation (3, 3) and position (3,) of the end effector."""

    def jacobian(self, q: Array) -> Array:
        """Return the Jacobian of the end effector, shape (6, n)."""

    def jacobian_derivative(self, q: Array, qd: Array) -> Array:
        """Return its derivative in time, shape (6, n)."""


class TaskNumbers(NamedTuple):
    """Numbers of a task, in the order of the input `numbers`.

    Args:
        damping_ratio: Of the damping that belongs to the stiffness; zero for none.
        heaviest: Sum of the apparent masses of the end effector from which directions count as
            singular, kg; a smaller one gives up such a direction earlier.
        length: Converts angles to distances where they are compared, m.
        posture: Natural frequency of the null-space posture, rad/s.
        settling: Rate at which null-space motion dies out, 1/s.
        stable: Largest natural frequency with which the loop is stable, rad/s. In a direction in
            which the end effector is so light that its own would be larger, the stiffness falls to
            it.
    """

    damping_ratio: Any
    heaviest: Any
    length: Any
    posture: Any
    settling: Any
    stable: Any


def input_shapes(n: int) -> Mapping[str, tuple[int, ...]]:
    """Return the inputs of a law for n joints with their shapes, in order."""
    return {
        "q": (n,),  # measured positions
        "qd": (n,),  # measured velocities
        "rotation": (3, 3),  # target: axes of the end effector
        "position": (3,),  # its origin
        "twist": (6,),
        "acceleration": (6,),
        "wrench": (6,),  # that the end effector exerts beside spring and damper
        "axes": (3, 3),  # columns: axes of S
        "root": (6, 6),  # L of the stiffness K = L L^T
        "damping": (6, 6),  # beside that of the damping ratio
        "mobility": (6, 6),  # inverse of the desired inertia, of the operational space alone
        "largest": (6,),  # error that counts at most, m and rad
        "selection": (6,),  # 1 where the position is controlled, else 0
        "held": (6,),  # 1 where position or force is controlled, 0 where the end effector is free
        "free_axis": (3,),  # axis of the end effector, about which it may turn; zeros for none
        "posture": (n,),  # joint positions towards which the null space moves
        "numbers": (len(TaskNumbers._fields),),
        "rotor": (n,),  # inertia of the rotors at the joints
        "fastest": (n,),  # joint speeds that a target asks for at most; inf for any
    }


class ReturnNumbers(NamedTuple):
    """Numbers of the input `returning`: bounds on the speed of an end effector that springs back.

    Args:
        speed: Largest linear speed, m/s.
        turn: Largest angular speed, rad/s.
        damping: Largest factor on the damping of positions, with which the loop is stable.
        damping_turn: That of rotations.
    """

    speed: Any
    turn: Any
    damping: Any
    damping_turn: Any


class ForceNumbers(NamedTuple):
    """Numbers of the input `feedback`, the settings of force feedback.

    Args:
        proportional: Gain on the error of the force.
        integral: Gain on its integral, 1/s.
        rate: Of the low-pass of the error, 1/s.
        force: Largest correction, N.
        moment: Largest correction, N m.
        fresh: 1 while the measured wrench is new enough, else 0: the correction then fades.
        dt: Time since the last cycle, s.
    """

    proportional: Any
    integral: Any
    rate: Any
    force: Any
    moment: Any
    fresh: Any
    dt: Any


def rotation_vector(R: Array, free_axis: Array | None = None) -> Array:
    """Return axis times angle of a rotation, shape (3,), rad, with an angle of at most pi.

    The quaternion comes from its largest component, so that no angle is inaccurate.

    Args:
        R: Rotation matrix, shape (3, 3).
        free_axis: Unit vector, shape (3,): a turn about it that comes first does not count. Zeros
            for none.
    """
    (a, b, c), (d, e, f), (g, h, i) = R
    # Four times the products of the components w, x, y, z of the quaternion
    products = np.array(
        [
            [1.0 + a + e + i, h - f, c - g, d - b],
            [h - f, 1.0 + a - e - i, b + d, c + g],
            [c - g, b + d, 1.0 - a + e - i, f + h],
            [d - b, c + g, f + h, 1.0 - a - e + i],
        ]
    )
    quaternion, largest = products[0], products[0, 0]
    for k in range(1, 4):
        quaternion = select(largest, products[k, k], products[k], quaternion)
        largest = maximum(products[k, k], largest)
    quaternion = quaternion / (2.0 * np.sqrt(largest))
    quaternion = select(quaternion[0], 0.0, -quaternion, quaternion)
    if free_axis is not None:
        quaternion = _without_turn(quaternion, free_axis)
    w, v = quaternion[0], quaternion[1:]
    size = np.sqrt(v @ v + TINY)
    return np.asarray(v * (2.0 * np.arctan2(size, w) / size))


def _without_turn(quaternion: Array, axis: Array) -> Array:
    """Return a quaternion without the turn about an axis that comes first, shape (4,)."""
    w, v = quaternion[0], quaternion[1:]
    turn = v @ axis
    size = np.sqrt(w * w + turn * turn + TINY)
    cosine, sine = (w + TINY) / size, turn / size * axis
    rest = cosine * v - w * sine - cross(v, sine)
    return np.concatenate([[cosine * w + sine @ v], rest])


def spring_moment(phi: Array, moment: Array) -> Array:
    """Return the moment whose potential is that of a spring on a rotation vector.

    Args:
        phi: Rotation vector of the error, shape (3,), rad.
        moment: Derivative of the potential by phi, shape (3,), N m.
    """
    square = phi @ phi
    half = np.sqrt(square + TINY) / 2.0
    exact = (1.0 - half * np.cos(half) / np.sin(half)) / (square + TINY)
    series = 1.0 / 12.0 + square / 720.0 + square * square / 30240.0
    share = select(square, SMALL_ANGLE**2, series, exact)
    turned = cross(phi, moment)
    return moment - turned / 2.0 + share * cross(phi, turned)


def inverse_of(A: Array) -> Array:
    """Return the inverse of a positive definite matrix, shape (m, m)."""
    m = len(A)
    chain = tuple(range(-1, m - 1))
    L, inverse_D = composite_body.factorise(A, chain)
    columns = [composite_body.solve(L, inverse_D, chain, column) for column in np.eye(m)]
    return np.column_stack(columns)


def solve(A: Array, b: Array) -> Array:
    """Solve A x = b with a positive definite matrix, shape (m, m); x has shape (m,)."""
    chain = tuple(range(-1, len(A) - 1))
    return composite_body.solve(*composite_body.factorise(A, chain), chain, b)


class StableSpring(NamedTuple):
    """A stiffness in the directions in which the loop bears it, and what is softer in others.

    With the squares B = L^T A L of the natural frequencies under the stiffness K = L L^T, and
    X = B / w^2, the stiffness is L G^-1 L^T with G = X + (I + X)^-1: K itself where the natural
    frequency is far below w, and w^2 A^-1, the stiffest one with which the loop is stable, in a
    direction in which the end effector is light.

    Attributes:
        root: L, shape (6, 6).
        softness: G, shape (6, 6).
        squares: B G, of which damping takes the inverse root, shape (6, 6).
    """

    root: Array
    softness: Array
    squares: Array

    @classmethod
    def of(cls, mobility: Array, root: Array, stable: Any) -> StableSpring:
        """Limit the stiffness at a mobility A, shape (6, 6), to a frequency w."""
        B = root.T @ mobility @ root
        X = B / stable**2
        softness = X + inverse_of(np.eye(6) + X)
        return cls(root, softness, B @ softness)

    def pull(self, pulled: Array) -> Array:
        """Return the wrench of an error e by L^T e, shape (6,)."""
        return np.asarray(self.root @ solve(self.softness, pulled))

    def damping(self, ratio: Any, v: Array) -> Array:
        """Return D v with the damping in which every mode has one damping ratio, shape (6,).

        D = 2 z L (L^T A L)^(-1/2) L^T for the stiffness L L^T and the apparent mass A^(-1): the
        double diagonalisation of [AlbuSchaeffer2003]. A direction with little mobility, as near a
        singularity, has a bounded damping.
        """
        return _inverse_root(self.squares, self.root, ratio, v)


def _inverse_root(B: Array, root: Array, ratio: Any, v: Array) -> Array:
    """Return 2 z L B^(-1/2) L^T v, shape (6,)."""
    size = np.trace(B) / len(B) + TINY
    u = root.T @ v
    terms = [
        residue * solve(B / size + pole * np.eye(len(B)), u)
        for pole, residue in zip(POLES, RESIDUES, strict=True)
    ]
    return np.asarray(2.0 * ratio / np.sqrt(size) * (root @ sum(terms)))


def task_equations(
    arm: TaskSpaceEquations, mode: str, projector: str, x: Mapping[str, Array]
) -> dict[str, Array]:
    """Compute a law in task space, of numbers or of symbols.

    In `IMPEDANCE` [Hogan1985] the arm is passive while the target rests. The feedforward of a
    moving target uses C(q, qd) in the form in which Mdot - 2 C is skew [Ott2008].
    `OPERATIONAL_SPACE` replaces the inertia of the end effector [Khatib1987]. Where the target is
    that of a known motion of the joints, its own efforts are fed forward, and the law acts on the
    rest: such a motion may pass a singular pose.

    Args:
        arm: Equations of the arm.
        mode: `IMPEDANCE` or `OPERATIONAL_SPACE`.
        projector: One of `PROJECTORS`.
        x: Arrays by the names in `input_shapes`; "fastest" and these may be left out:
            "motion", shape (2, n): velocities and accelerations of the motion of the joints whose
            positions are the posture, and "along", (1,): 1 if there is such a motion, else 0.
            "ends", (2, n): positions at which joints are stopped; infinite for none.
            "returning": `ReturnNumbers`, for a law that bounds the speed of an end effector that
            springs back. "feedback": `ForceNumbers`, for one with force feedback; with them
            "measured_wrench", (6,), which the end effector exerts as a sensor measures it, in its
            axes, and "correction", (2, 6): filtered error of the wrench, and its integral, in S.

    Returns:
        effort: Joint efforts without gravity and friction, shape (n,), N m or N.
        velocity: Joint velocities that belong to the target, shape (n,), for friction.
        error: Target minus measured in axes S, shape (6,), m and rad, before it is bounded.
        singularity: 0 away from singularities, 1 at one, shape (1,).
        attainable: Share of its speed that the target may keep, shape (1,): with more a joint would
            be faster than `fastest`. One that comes back to the end effector may keep all of it.
        held_back: Accelerations without stops less those with which joints stay within their
            ranges, shape (n,), if there are ends.
        way, nearer: Joint displacement that leads to the target, shape (n,), rad or m, and the
            share of the square of the error that joints in this direction can take away, (1,), if
            there are ends.
        next_correction: State of the force feedback from now on, shape (2, 6), if there is one.
    """
    numbers = TaskNumbers(*x["numbers"])
    q, qd, S = x["q"], x["qd"], x["axes"]
    selection, held = x["selection"], x["held"]
    R, p = arm.pose(q)
    axis = S.T @ (R @ x["free_axis"])
    turn = np.outer(axis, axis)  # projects on the turn that is free

    def in_task(rows: Array) -> Array:
        return np.concatenate([S.T @ rows[:3], S.T @ rows[3:]])

    def controlled(rows: Array) -> Array:
        rows = (held * rows.T).T
        return np.concatenate([rows[:3], rows[3:] - turn @ rows[3:]])

    phi = R @ rotation_vector(R.T @ x["rotation"], x["free_axis"])
    error = in_task(np.concatenate([x["position"] - p, phi]))
    J = controlled(in_task(arm.jacobian(q)))
    drift_of = controlled(in_task(arm.jacobian_derivative(q, qd)))
    v = J @ qd
    wrench = controlled(in_task(x["wrench"]))

    M = arm.mass_matrix(q) + np.diag(x["rotor"])
    factors = composite_body.factorise(M, arm.parents)
    moved = np.column_stack([composite_body.solve(*factors, arm.parents, row) for row in J])
    mobility = J @ moved  # J M^-1 J^T
    free = np.diag(1.0 - held)
    free[3:, 3:] = free[3:, 3:] + turn
    inertia, singularity = _apparent_inertia(mobility, free, numbers)

    # Beside a stretched pose a steady target asks for any joint speed, in one direction on either
    # side: late states would make the arm rush through that pose. The law follows a slower target
    v_d = selection * controlled(in_task(x["twist"]))
    # A known motion of the joints is that of the target, and needs no inverse of the Jacobian
    qd_r, qdd_r = x["motion"] if "motion" in x else np.zeros((2, len(q)))
    alone = 1.0 - x["along"][0] if "along" in x else 1.0
    qd_d = qd_r + moved @ (inertia @ (alone * v_d))
    attainable = _slowed(qd_d, x)
    leaves = error[:3] @ v_d[:3] + numbers.length**2 * (error[3:] @ v_d[3:])
    v_d, qd_d = attainable * v_d, attainable * qd_d
    a_d = alone * attainable**2 * selection * controlled(in_task(x["acceleration"]))

    # What pulls the end effector towards the target, in the directions of the selection
    bounded = selection * clip(error, -x["largest"], x["largest"])
    lever = controlled((selection * x["root"].T).T)
    pulled = x["root"].T @ bounded
    inertial_mobility = mobility if mode == IMPEDANCE else x["mobility"]
    end_effector = StableSpring.of(inertial_mobility, lever, numbers.stable)
    spring = end_effector.pull(pulled)
    spring = np.concatenate([spring[:3], spring_moment(bounded[3:], spring[3:])])
    # A constant error e brings the end effector to the velocity D^-1 K e, which is A D e / (2 z)^2
    # for its damping D. One that is given counts as if it were critical
    ratio = select(0.0, numbers.damping_ratio, numbers.damping_ratio, 1.0)
    returns = inertial_mobility @ end_effector.damping(0.25, bounded) / ratio
    if "returning" in x:
        most = ReturnNumbers(*x["returning"])
        pull, rise = _bounded_return(returns, numbers, most)
        spring, returns = pull * spring, pull * returns / rise**2
        # Only its own speed is damped more: a target that moves on must not push a blocked end
        # effector
        damper = end_effector.damping(numbers.damping_ratio, v_d)
        damper = damper - rise * end_effector.damping(numbers.damping_ratio, rise * v)
    else:
        pull, rise = np.ones(6), np.ones(6)
        damper = end_effector.damping(numbers.damping_ratio, v_d - v)
    force = spring + damper + x["damping"] @ (v_d - v)
    results = {}
    if "feedback" in x:
        pressed = controlled(in_task((R @ x["measured_wrench"].reshape(2, 3).T).T.ravel()))
        resisted = wrench - pressed - x["damping"] @ v
        correction, results["next_correction"] = _correct_force(
            (1.0 - selection) * resisted, x["correction"], ForceNumbers(*x["feedback"])
        )
        wrench = wrench + controlled(correction)

    regular = 1.0 - singularity  # near a singularity the end effector is given up in a direction
    if mode == IMPEDANCE:
        # A target that joints are too slow for becomes slower, instead of them faster
        bend = attainable**2 * regular * (drift_of @ (qd_d - qd_r))
        qdd_d = qdd_r + moved @ (inertia @ (a_d - bend))
        coriolis = arm.velocity_effort(q, qd + qd_d) - arm.velocity_effort(q, qd - qd_d)
        effort = M @ qdd_d + coriolis / 4.0 + J.T @ controlled(force + wrench)
    else:
        known = controlled(a_d - _slowed(qd, x) ** 2 * regular * (drift_of @ (qd - qd_r)))
        # Beside a stretched pose the end effector becomes heavy, and the force that replaces its
        # inertia pushes that pose over. There the law is that of the impedance, which the loop
        # bears too
        own = StableSpring.of(mobility, lever, numbers.stable)
        soft = own.pull(pulled)
        soft = pull * np.concatenate([soft[:3], spring_moment(bounded[3:], soft[3:])])
        soft = soft + own.damping(numbers.damping_ratio, v_d)
        soft = soft - rise * own.damping(numbers.damping_ratio, rise * v)
        soft = soft + x["damping"] @ (v_d - v)
        left = _room(qd_d, moved @ (inertia @ returns), x)
        force = force - (1.0 - left) * spring
        commanded = controlled(selection * (x["mobility"] @ (force + selection * wrench)))
        replaced = regular * left
        pulls = replaced * (inertia @ commanded) + (1.0 - replaced) * controlled(soft + wrench)
        # Feedback in the directions of motion exerts no force in the others: an error there may
        # be one that friction holds
        exerted = inertia @ known + selection * pulls
        exerted = exerted + (1.0 - selection) * (wrench - x["damping"] @ v)
        effort = M @ qdd_r + arm.velocity_effort(q, qd) + J.T @ exerted

    # A posture that the motion has left may resist the target where the end effector is given up in
    # a direction; one that moves with the target leads the arm there
    stiff = (numbers.posture * (1.0 - alone * singularity)) ** 2
    away = stiff * (x["posture"] - q) - numbers.settling * (qd - qd_d)
    if "ends" in x:
        units = np.eye(len(q))
        inverse = np.array([composite_body.solve(*factors, arm.parents, e) for e in units])
        # A stretched arm may bend to either side: while its target is far, it leans to that of the
        # posture, from which it has come. All joints agree on it, which those of ranges do not
        far = alone * singularity * reduce(maximum, np.abs(bounded) / x["largest"], 0.0)
        lean = clip(x["posture"] - q, -LEAN, LEAN)
        away = away + inverse @ (numbers.posture**2 * far * np.diagonal(M) * lean)
    idle = M @ away
    if projector == CONSISTENT:
        idle = idle - J.T @ (inertia @ (J @ away))
    else:
        square = J @ J.T
        size = np.trace(square) + TINY
        idle = idle - J.T @ solve(square + size * (free + SINGULAR * np.eye(6)), J @ idle)
    effort = effort + idle
    if "ends" in x:
        qdd = inverse @ effort
        ends = _between_ends(q, qd, x["ends"], minimum(numbers.stable / SLOWER_STOP, QUICKEST_STOP))
        way = moved @ (inertia @ (selection * error))
        weights = selection * np.array([1.0, 1.0, 1.0, *[numbers.length] * 3])
        trial = way * (TRIAL / (reduce(maximum, np.abs(way), 0.0) + TINY))
        R_t, p_t = arm.pose(q + trial)
        turned = R_t @ rotation_vector(R_t.T @ x["rotation"], x["free_axis"])
        tried = weights * in_task(np.concatenate([x["position"] - p_t, turned]))
        share = _removable(weights * error, weights * (J @ trial), tried)
        results["way"], results["nearer"] = way, np.array([share])
        results["held_back"] = alone * (qdd - clip(qdd, *ends))
        speeds = _between_speeds(qd, x, numbers.stable / 2.0)
        bounds = maximum(ends[0], speeds[0]), minimum(ends[1], speeds[1])
        effort = effort + alone * stop_efforts(inverse, qdd, *bounds)
    return {
        "effort": effort,
        "velocity": qd_d,
        "error": error,
        "singularity": np.array([singularity]),
        "attainable": np.array([select(leaves, 0.0, 1.0, attainable)]),
        **results,
    }


def _removable(error: Array, first: Array, tried: Array) -> Any:
    """Return the share of the square of an error that a direction of motion can take away.

    The square along the direction is taken for a parabola; one that bends downwards has no end. So
    a stretched arm that bends comes nearer to a target within its reach, and to none beyond it.

    Args:
        error: Target minus measured, shape (6,).
        first: Motion of the end effector to first order of a trial, shape (6,).
        tried: Error after it, shape (6,).
    """
    square, slope = error @ error + TINY, error @ first
    bend = tried @ tried - square + 2.0 * slope
    share = minimum(slope * slope / (maximum(bend, TINY) * square), 1.0)
    return select(minimum(bend, square - NO_ERROR), 0.0, 1.0, share)


def _between_ends(q: Array, qd: Array, ends: Array, rate: Any) -> tuple[Array, Array]:
    """Return the accelerations between which joints stay within their ranges, shape (n,) each.

    A joint may accelerate towards an end as far as it can stop there without overshoot, critically
    damped at a rate, 1/s.
    """
    lower, upper = (rate * rate * (end - q) - 2.0 * rate * qd for end in ends)
    return minimum(lower, upper), upper


def _between_speeds(qd: Array, x: Mapping[str, Array], rate: Any) -> tuple[Array, Array]:
    """Return the accelerations between which no joint becomes too fast, shape (n,) each.

    A joint that stands may take any acceleration, so that a spring keeps its force against
    friction; the nearer its speed is to the largest one, the less.
    """
    if "fastest" not in x:
        return np.full(len(qd), -UNLIMITED), np.full(len(qd), UNLIMITED)
    most = minimum(SPEED_SHARE * x["fastest"], UNLIMITED_SPEED)
    speed = np.abs(qd)
    allowed = rate * most * (most - speed) / maximum(speed, STANDING * most)
    return select(qd, 0.0, -allowed, -UNLIMITED), select(0.0, qd, allowed, UNLIMITED)


def stop_efforts(inverse: Array, qdd: Array, lower: Array, upper: Array) -> Array:
    """Return the efforts of stops that keep accelerations between bounds, shape (n,).

    A stop acts on its own joint alone and only resists it, as one of hardware does: it gives no
    energy to the other joints. Found by sweeps of the projected Gauss-Seidel method, exact for one
    stop.

    Args:
        inverse: M^-1, shape (n, n).
        qdd: Accelerations without stops, shape (n,).
        lower: Bounds, shape (n,).
        upper: Bounds, shape (n,).
    """
    n = len(qdd)
    stops = [0.0 * value for value in qdd]
    for _ in range(SWEEPS):
        for i in range(n):
            free = qdd[i] - inverse[i, i] * stops[i]
            change = (clip(free, lower[i], upper[i]) - qdd[i]) / inverse[i, i]
            stops[i] = stops[i] + change
            qdd = qdd + change * inverse[:, i]
    return np.array(stops)


def _slowed(qd: Array, x: Mapping[str, Array]) -> Any:
    """Return the share of joint velocities, 0 to 1, that no joint is too slow for."""
    return 1.0 / reduce(maximum, np.abs(qd) / x["fastest"], 1.0) if "fastest" in x else 1.0


def _room(qd: Array, more: Array, x: Mapping[str, Array]) -> Any:
    """Return the share of further velocities, 0 to 1, beside which no joint becomes too fast.

    Args:
        qd: Joint velocities that are asked for already, shape (n,).
        more: Further ones, shape (n,).
        x: "fastest" is used, if it is there.
    """
    if "fastest" not in x:
        return 1.0
    along = select(0.0, more, qd, -qd)
    return 1.0 / reduce(maximum, np.abs(more) / maximum(x["fastest"] - along, TINY), 1.0)


def _bounded_return(
    returns: Array, numbers: TaskNumbers, most: ReturnNumbers
) -> tuple[Array, Array]:
    """Return factors, shape (6,), with which no error moves the end effector faster than allowed.

    A damping that is given has no bound.

    Args:
        returns: Velocity to which a constant error brings the end effector, shape (6,). The damping
            S D S divides it by the squares of the factors S.
        numbers: `damping_ratio` is used.
        most: Bounds.

    Returns:
        On the spring, and S. The damping rises as far as the loop is stable; beyond that the
        spring pulls the position less, but not the orientation, of which a little error pulls
        light wrists fast.
    """
    sizes = _size(returns[:3]), _size(returns[3:])
    excess = [
        select(0.0, numbers.damping_ratio, size / limit, 0.0)
        for size, limit in zip(sizes, (most.speed, most.turn), strict=True)
    ]
    largest = most.damping, most.damping_turn
    rises = [clip(value, 1.0, limit) for value, limit in zip(excess, largest, strict=True)]
    pull = maximum(rises[0] / maximum(excess[0], rises[0]), LEAST_PULL)
    rise = np.sqrt(np.array([rises[0]] * 3 + [rises[1]] * 3))
    return np.array([pull] * 3 + [1.0] * 3), rise


def _size(vector: Array) -> Any:
    return np.sqrt(vector @ vector + TINY)


def _correct_force(error: Array, correction: Array, numbers: ForceNumbers) -> tuple[Array, Array]:
    """Return a correction of the force in axes S, shape (6,), and the state of the feedback.

    Args:
        error: Wrench that is asked for less the measured one and what the damper takes, in
            directions of force alone, shape (6,). So the integral of an end effector that moves
            freely does not grow: it settles at the effort that the model lacks.
        correction: State so far, shape (2, 6).
        numbers: Settings.
    """
    smoothed, integral = correction
    limit = np.array([numbers.force] * 3 + [numbers.moment] * 3)
    share = minimum(numbers.rate * numbers.dt, 1.0)
    smoothed = smoothed + share * (numbers.fresh * error - smoothed)
    kept = 1.0 - (1.0 - numbers.fresh) * share
    integral = clip(kept * integral + numbers.integral * numbers.dt * smoothed, -limit, limit)
    total = clip(numbers.proportional * smoothed + integral, -limit, limit)
    return total, np.array([smoothed, integral])


def _apparent_inertia(mobility: Array, free: Array, numbers: TaskNumbers) -> tuple[Array, Any]:
    """Return the inverse of the mobility of the end effector, damped near singularities alone.

    Lengths stand for angles, so that directions compare. The reciprocal of the sum of the apparent
    masses lies between a sixth of the smallest mobility and that mobility.

    Args:
        mobility: J M^-1 J^T, shape (6, 6).
        free: Projects on what is not controlled, shape (6, 6).
        numbers: `heaviest` and `length` are used.

    Returns:
        Shape (6, 6), and how near a singularity is, from 0 to 1.
    """
    scale = np.array([1.0, 1.0, 1.0, *[numbers.length] * 3])
    A = mobility * np.outer(scale, scale)
    size = np.trace(A) + TINY
    A = A + size * free
    least = 1.0 / np.trace(inverse_of(A + SINGULAR * size * np.eye(6)))
    enough = 1.0 / numbers.heaviest
    singularity = select(least, enough, 1.0 - least / enough, 0.0)
    damped = inverse_of(A + enough * singularity**2 * np.eye(6))
    return damped * np.outer(scale, scale), singularity
