"""Settings of the laws in task space, with checks and defaults for one robot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from robot_dynamics.compiler.graph.piecewise import minimum
from robot_dynamics.control.fields import Facts
from robot_dynamics.control.limits import effort_limits
from robot_dynamics.control.logic import any_of, both, chosen, equal, less, negated
from robot_dynamics.control.task_space import (
    CONSISTENT,
    PROJECTORS,
    ReturnNumbers,
    TaskNumbers,
)
from robot_dynamics.errors import ArgumentError
from robot_dynamics.foundation.arrays import Array, frozen
from robot_dynamics.kinematics.selection import SELECTION_AXES
from robot_dynamics.trajectory.motions import middle_pose, sample_poses

if TYPE_CHECKING:
    from robot_dynamics.dynamics.dynamics import Dynamics

ROOT, FRAME = SELECTION_AXES
"""Axes of stiffness, errors and directions: those of the root link, or of the target."""

MOTION, FORCE, FREE = "motion", "force", "free"
CONTROLLED = (MOTION, FORCE, FREE)
"""Choices for a direction."""

HEAVIEST = 2.0
"""Sum of the apparent masses of the end effector from which directions count as singular, over
its median over the joint ranges."""

OUT_OF_REACH = 1e-4
"""Smallest mobility of the end effector in a set of directions, over the largest, below which it
cannot be controlled in all of them."""

ROUND_OFF = 1e-9
"""Share of the largest eigenvalue by which a stiffness may be asymmetric or negative."""

SMOOTHING = 0.5
"""Rate of the low-pass of a force error over that at which damping stops the end effector."""

MOST_DAMPING = 100.0
"""Largest factor on the damping of an end effector that springs back."""

QUICK = 2.0
"""Natural frequency of the default stiffness, relative to the bandwidth, in directions of typical
inertia: dry friction that no model knows takes some stiffness to overcome."""

STRONG = 0.4
"""Force and moment of the largest errors under the default stiffness, relative to those that the
joints can exert in typical poses."""

FREE_QUICK = 1.5
"""Natural frequency of the law operational_space by default, relative to the bandwidth."""

SHARED = 0.7
"""Share of the largest stable frequency for the damping of an end effector that springs back, in
positions, and in rotations."""


GIVEN = (
    *("damping_ratio", "posture_frequency", "settling", "largest_error", "free_axis", "speed"),
    "acceleration",
)
"""Numbers of the settings that parameters may give."""


@dataclass(frozen=True)
class ForceFeedback:
    """Feedback of the measured wrench in directions of force.

    Damping stops an end effector at the rate d/m. With a loop gain below 1 at the resonance of end
    effector and surroundings, integral + `SMOOTHING` proportional < 1, no stiffness of these and no
    delay makes the force oscillate.

    Args:
        proportional: Gain on the error of the force.
        integral: Rate at which an error disappears, relative to that at which damping stops the
            end effector.
        largest: Largest correction, N and N m.
        timeout: Age of the last measurement, s, from which the correction fades to zero.

    Raises:
        ArgumentError: One line that names the setting and the remedy.
    """

    proportional: float = 0.5
    integral: float = 0.25
    largest: tuple[float, float] = (20.0, 5.0)
    timeout: float = 0.1

    def __post_init__(self) -> None:
        for name in ("proportional", "integral"):
            gain = getattr(self, name)
            if not 0.0 <= gain < np.inf:
                raise ArgumentError(f"{name} is {gain}; give zero or more")
        if not self.integral + SMOOTHING * self.proportional < 1.0:
            raise ArgumentError(
                f"proportional is {self.proportional:g} and integral {self.integral:g}, with which "
                f"a stiff contact oscillates; keep {SMOOTHING:g} proportional + integral below 1"
            )
        pair = _numbers("largest", self.largest, 2)
        if not (pair > 0.0).all():
            raise ArgumentError(f"largest is {_list(pair)}; give two positive numbers")
        if not 0.0 < self.timeout < np.inf:
            raise ArgumentError(f"timeout is {self.timeout} s; give a positive number")


@dataclass(frozen=True, eq=False)
class TaskSettings:
    """Behaviour of the end effector in task space. Vectors of six are in the order of `DIRECTIONS`.

    Args:
        axes: One of `SELECTION_AXES`.
        stiffness: Shape (6,) or (6, 6), N/m, N and N m/rad; positive semidefinite.
        damping_ratio: Damping ratio of every mode of the end effector.
        damping: In place of that ratio, shape (6,) or (6, 6), N s/m, N s and N m s/rad. By default
            directions of force are damped too, so that an end effector that loses contact moves
            slowly.
        inertia: Desired inertia of the law operational_space, shape (6,) or (6, 6), kg, kg m and
            kg m^2; positive definite.
        largest_error: Error that counts at most, shape (6,), m and rad.
        controlled: One of `CONTROLLED` in every direction.
        free_axis: Axis of the end effector about which it may turn, shape (3,), unit length; zeros
            for none.
        posture_frequency: Natural frequency of the null-space posture, rad/s; zero for none.
        settling: Rate at which null-space motion dies out, 1/s.
        projector: One of `PROJECTORS`.
        speed: Largest speed of the target, m/s and rad/s.
        acceleration: Largest acceleration of the target, m/s^2 and rad/s^2.
        feedback: Of the measured wrench in directions of force; None for none.

    Raises:
        ArgumentError: One line that names the setting and the remedy.
    """

    stiffness: Array
    inertia: Array
    axes: str = ROOT
    damping_ratio: float = 1.0
    damping: Array | None = None
    largest_error: Array = field(default_factory=lambda: frozen([0.05] * 3 + [0.3] * 3))
    controlled: tuple[str, ...] = (MOTION,) * 6
    free_axis: Array = field(default_factory=lambda: frozen([0.0] * 3))
    posture_frequency: float = 2.0
    settling: float = 10.0
    projector: str = CONSISTENT
    speed: tuple[float, float] = (0.25, 0.5)
    acceleration: tuple[float, float] = (0.5, 1.0)
    feedback: ForceFeedback | None = None

    def __post_init__(self) -> None:
        for name, value, choices in (
            ("axes", self.axes, SELECTION_AXES),
            ("projector", self.projector, PROJECTORS),
            *(("controlled", value, CONTROLLED) for value in self.controlled),
        ):
            if value not in choices:
                raise ArgumentError(f"{name} is {value!r}; give one of {', '.join(choices)}")
        if len(self.controlled) != 6:
            raise ArgumentError(f"controlled has {len(self.controlled)} entries; give six")
        for name in ("stiffness", "inertia", "damping"):
            value = getattr(self, name)
            if value is not None:
                matrix = positive_semidefinite(name, value, definite=name == "inertia")
                object.__setattr__(self, name, matrix)
        errors = _numbers("largest_error", self.largest_error, 6)
        if not (errors > 0.0).all():
            raise ArgumentError(f"largest_error is {_list(errors)}; give six positive numbers")
        object.__setattr__(self, "largest_error", errors)
        axis = _numbers("free_axis", self.free_axis, 3)
        size = float(np.linalg.norm(axis))
        if size and not np.isfinite(size):
            raise ArgumentError(f"free_axis is {_list(axis)}; give a direction, or zeros for none")
        object.__setattr__(self, "free_axis", frozen(axis / size if size else axis))
        for name in ("damping_ratio", "posture_frequency", "settling"):
            number = getattr(self, name)
            if not 0.0 <= number < np.inf:
                raise ArgumentError(f"{name} is {number}; give zero or more")
        for name in ("speed", "acceleration"):
            pair = _numbers(name, getattr(self, name), 2)
            if not (pair > 0.0).all():
                raise ArgumentError(f"{name} is {_list(pair)}; give two positive numbers")
        if self.feedback is not None and not (self._force_damping[self.pressing] > 0.0).all():
            raise ArgumentError(
                "damping is zero in a direction of force, where feedback needs it; give "
                "damping_ratio or damping above zero"
            )

    @property
    def _force_damping(self) -> Array:
        """Damping that is given in the six directions, or the ratio in place of it."""
        given = self.damping
        return np.full(6, self.damping_ratio) if given is None else np.diagonal(given)

    @property
    def pressing(self) -> Array:
        """Return which directions control a force, shape (6,)."""
        return np.array([what == FORCE for what in self.controlled])

    @property
    def held(self) -> Array:
        """0 in free directions, else 1, shape (6,)."""
        return np.array([float(what != FREE) for what in self.controlled])

    @property
    def parameters(self) -> dict[str, Any]:
        """Return what parameters may give, by their names, with numbers in place of words."""
        feedback = self.feedback or ForceFeedback()
        names = (
            "damping_ratio posture_frequency settling largest_error free_axis speed acceleration"
        )
        return {
            **{name: getattr(self, name) for name in names.split()},
            **{f"force_{name}": value for name, value in vars(feedback).items()},
            "force_feedback": self.feedback is not None,
            "controlled": [CONTROLLED.index(what) for what in self.controlled],
            "axes": SELECTION_AXES.index(self.axes),
        }

    @property
    def root(self) -> Array:
        """L of the stiffness L L^T, shape (6, 6)."""
        return _root_of(self.stiffness)


def _root_of(stiffness: Array) -> Array:
    """Return L of a positive semidefinite L L^T, shape (6, 6)."""
    values, vectors = np.linalg.eigh(stiffness)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def positive_semidefinite(name: str, value: Array, *, definite: bool = False) -> Array:
    """Return a vector of six as a diagonal matrix, a matrix as it is, shape (6, 6).

    Raises:
        ArgumentError: If it is not symmetric and positive semidefinite, or definite.
    """
    given = np.asarray(value, dtype=np.float64)
    given = given.reshape(6, 6) if given.size == 36 else given
    if given.shape not in ((6,), (6, 6)) or not np.isfinite(given).all():
        raise ArgumentError(f"{name} has shape {given.shape}; give six or 6 x 6 finite numbers")
    matrix = np.diag(given) if given.ndim == 1 else given
    size = np.abs(matrix).max()
    if np.abs(matrix - matrix.T).max() > ROUND_OFF * size:
        raise ArgumentError(f"{name} is not symmetric; give a symmetric matrix")
    least = float(np.linalg.eigvalsh(matrix)[0])
    if least < -ROUND_OFF * size or (definite and least <= 0.0):
        kind = "positive definite" if definite else "positive semidefinite"
        raise ArgumentError(f"{name} has the eigenvalue {least:.3g}; give a {kind} matrix")
    return frozen((matrix + matrix.T) / 2.0)


def _numbers(name: str, value: object, size: int) -> Array:
    found = np.asarray(value, dtype=np.float64)
    if found.shape != (size,) or not np.isfinite(found).all():
        raise ArgumentError(f"{name} is {value}; give {size} finite numbers")
    return frozen(found)


def _list(values: Array) -> str:
    return ", ".join(f"{x:g}" for x in values)


def _middle_mass(mobilities: Array, part: slice) -> float:
    """Return the median of the middle apparent mass of three, over poses; 0 if nothing moves."""
    middle = np.median(np.linalg.eigvalsh(mobilities[:, part, part])[:, 1])
    return float(1.0 / middle) if middle > 1e-12 else 0.0


class EndEffectorMobility:
    """Mobility of the end effector in poses all over the joint ranges, for defaults and limits.

    Args:
        dynamics: Equations of the arm without load, which only makes it heavier.
        end_effector: Link or frame.

    Attributes:
        mobilities: J M^-1 J^T in these poses, shape (N, 6, 6).
        within: Which directions the arm moves independently, shape (6,).
        masses: Usual apparent masses and inertias, shape (6,), kg and kg m^2.
        heavy: Those of the middle one of three directions across each other, shape (6,).
        strength: Usual force and moment that the joints can exert, shape (6,), N and N m;
            infinite where an effort limit is missing.
        length: Stands for an angle, m.
        heaviest: See `TaskNumbers`.
    """

    def __init__(self, dynamics: Dynamics, end_effector: str) -> None:
        poses = np.vstack([middle_pose(dynamics.robot)[None], sample_poses(dynamics.robot)])
        M, J = dynamics.mass_matrix(poses), dynamics.jacobian(poses, end_effector)
        self.mobilities = J @ np.linalg.solve(M, np.swapaxes(J, -1, -2))
        typical = np.median(self.mobilities.diagonal(axis1=1, axis2=2), axis=0)
        linear, angular = typical[:3].max(), typical[3:].max()
        self.length = float(np.sqrt(linear / angular)) if linear and angular else 1.0
        self.within = self._independent()
        masses = np.where(self.within, 1.0 / np.maximum(typical, 1e-300), 0.0)
        self.masses = np.repeat(
            [np.median(part[part > 0.0]) if part.any() else 0.0 for part in np.split(masses, 2)], 3
        )
        self.heaviest = HEAVIEST * self._median_sum()
        self.heavy = np.repeat(
            [_middle_mass(self.mobilities, k) for k in (slice(3), slice(3, 6))], 3
        )
        self.jacobians, self.limits = J, effort_limits(dynamics.robot)
        with np.errstate(divide="ignore", invalid="ignore"):
            able = np.nanmin(self.limits / np.abs(J), axis=2)
        typical = np.median(able, axis=0)
        self.strength = np.repeat([np.median(part) for part in np.split(typical, 2)], 3)

    def _median_sum(self) -> float:
        """Return the median of the sum of the apparent masses of the end effector, kg."""
        A, within = self._scaled(), np.flatnonzero(self.within)
        squares = np.linalg.eigvalsh(A[:, within][:, :, within])
        least = 1e-9 * np.maximum(squares[:, -1:], 1e-300)
        return float(np.median((1.0 / np.maximum(squares, least)).sum(axis=1)))

    def _scaled(self) -> Array:
        """Return the mobilities with lengths in place of angles, shape (N, 6, 6)."""
        scale = np.repeat([1.0, self.length], 3)
        return np.asarray(self.mobilities * np.outer(scale, scale))

    def _independent(self) -> Array:
        """Return which directions an arm moves independently, shape (6,), positions first."""
        A = self._scaled()
        chosen: list[int] = []
        for k in range(6):
            rows = [*chosen, k]
            values = np.linalg.eigvalsh(A[:, rows][:, :, rows])
            share = np.median(values[:, 0] / np.maximum(A.trace(axis1=1, axis2=2), 1e-300))
            chosen = rows if share > OUT_OF_REACH else chosen
        return np.isin(np.arange(6), chosen)

    def defaults(self, bandwidth: float) -> TaskSettings:
        """Return settings that fit the arm.

        The natural frequency in directions of typical inertia is `QUICK` times a bandwidth, rad/s,
        unless the largest errors would take more than a share `STRONG` of the efforts. Directions
        that no joint moves are free.
        """
        heavy = np.where(self.heavy > 0.0, self.heavy, 1.0)
        largest = TaskSettings(np.ones(6), np.ones(6)).largest_error
        known = np.isfinite(self.strength)
        quick = np.where(known, QUICK * bandwidth, bandwidth)
        strong = np.where(known, STRONG * self.strength, np.inf) / largest
        stiffness = np.minimum(quick**2 * heavy, strong)
        return TaskSettings(
            stiffness,
            stiffness / (FREE_QUICK * bandwidth) ** 2,
            controlled=tuple(MOTION if within else FREE for within in self.within),
        )

    def settings(
        self, given: Mapping[str, Any], bandwidth: Any, fastest: Any, damping: Array | None = None
    ) -> dict[str, Any]:
        """Return the settings of the step that stiffness does not determine; numbers or symbols.

        Args:
            given: See `TaskSettings.parameters`.
            bandwidth: Natural frequency for the damping of directions of force, rad/s.
            fastest: Largest natural frequency with which the loop is stable, rad/s.
            damping: In place of the damping ratio, shape (6, 6).
        """
        x = Facts(given)
        controlled, moved = np.asarray(x.controlled), self.masses > 0.0
        held, selection, pressing = (
            np.array([equal(one, float(CONTROLLED.index(what))) for one in controlled])
            for what in (FREE, MOTION, FORCE)
        )
        slowest = rate = 2.0 * x.damping_ratio * bandwidth
        if damping is not None:
            rates = np.diagonal(damping) / np.maximum(self.masses, 1e-300)
            slowest = min(rates[moved & (pressing > 0.0)], default=0.0)
        size = np.sqrt(sum(a * a for a in x.free_axis))
        push = [x.force_proportional, x.force_integral * slowest, SMOOTHING * slowest]
        numbers = TaskNumbers(
            x.damping_ratio if damping is None else 0.0, self.heaviest, self.length,
            minimum(x.posture_frequency, fastest), minimum(x.settling, fastest), fastest,
        )  # fmt: skip
        return {
            "task_damping": np.eye(6) * (pressing * rate * self.masses)
            if damping is None
            else damping,
            "task_largest": x.largest_error,
            "task_selection": selection,
            "task_held": negated(held),
            "task_free_axis": np.asarray(x.free_axis) / chosen(less(0.0, size), size, 1.0),
            "task_numbers": np.array(numbers),
            "task_feedback": both(x.force_feedback, any_of(pressing * moved))
            * np.array([*push, *x.force_largest]),
            "task_timeout": chosen(x.force_feedback, x.force_timeout, -1.0),
            "task_in_frame": x.axes,
            "task_speed": x.speed,
            "task_acceleration": x.acceleration,
        }

    def of_stiffness(self, settings: TaskSettings, fastest: float) -> dict[str, Array]:
        """Return the other settings of the step; see `settings`."""
        return {
            "task_root": settings.root,
            "task_mobility": np.linalg.inv(settings.inertia),
            "task_returning": self.returning(settings, fastest),
        }

    def returning(self, settings: TaskSettings, fastest: float) -> Array:
        """Return the `ReturnNumbers`; see `settings`."""
        root, most = settings.root, []
        for part in (slice(3), slice(3, 6)):
            used = min(self._fastest(root[:, part]), fastest)
            most.append(min(max(SHARED * fastest / used, 1.0), MOST_DAMPING))
        return np.array(ReturnNumbers(*settings.speed, *most))

    def joint_efforts(self, settings: TaskSettings, fastest: float) -> Array:
        """Return the typical effort of every joint under the largest errors along it, shape (n,).

        Args:
            settings: The settings.
            fastest: Largest natural frequency with which the loop is stable, rad/s.
        """
        root, J = settings.root, self.jacobians
        X = root.T @ self.mobilities @ root / fastest**2
        softness = X + np.linalg.inv(np.eye(6) + X)
        stiffness = root @ np.linalg.solve(softness, np.broadcast_to(root.T, X.shape))
        of_joint = np.einsum("kij,kil,klj->kj", J, stiffness, J)  # J^T K J, its diagonal
        largest = settings.largest_error[:, None] / np.maximum(np.abs(J), 1e-12)
        return np.asarray(np.median(of_joint * largest.min(axis=1), axis=0))

    def fastest_mode(self, stiffness: Array) -> float:
        """Return the largest natural frequency of the end effector under a stiffness, rad/s."""
        return self._fastest(_root_of(stiffness))

    def _fastest(self, root: Array) -> float:
        squares = np.linalg.eigvalsh(root.T @ self.mobilities @ root)
        return float(np.sqrt(max(squares.max(), 1e-12)))
