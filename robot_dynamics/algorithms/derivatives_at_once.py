"""The derivatives of `derivatives`, computed for all joints at once.

Everything is expressed in axes of the base and about its origin. Nothing then has to
be carried from link to link: what happens at one joint is the same arithmetic as what
happens at any other, on vectors with a lane for every joint, and so is a row of the
results. Only poses follow the tree joint by joint, and sums over the links inward or
outward of a joint, for which joints and quantities change places.

There are more operations than in `derivatives`, where the frame of each joint leaves
many of them out, but a processor does eight at a time.

Each joint has the screw (z, s): angular velocity, and velocity of the point at the
origin of the base, of a unit rate. With (w, v) the velocity of its link in the same
sense and (wd, vd) the derivative of that, weights included, the screw changes by

    zd  = w x z             zdd = wd x z + w x zd
    sd  = w x s - z x v     sdd = wd x s - z x vd + w x sd - zd x v
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.algorithms.change_of_frame import ChangeOfFrame
from robot_dynamics.arrays import Array
from robot_dynamics.robot.inertial_parameters import second_mass_moment
from robot_dynamics.robot.robot import Robot
from robot_dynamics.spatial.turns import symmetric, trace_minus
from robot_dynamics.spatial.vectors import cross


def inverse_derivatives(
    robot: Robot, q: Array, qd: Array, qdd: Array
) -> tuple[Array, Array, Array]:
    """Differentiate the joint efforts of a motion.

    Args:
        robot: Tree without fixed joints; n joints, at least one, followers of mimic joints
            included.
        q: Joint positions, shape (n,), rad or m.
        qd: Joint velocities, shape (n,).
        qdd: Joint accelerations, shape (n,).

    Returns:
        dtau/dq, dtau/dqd and the mass matrix dtau/dqdd, shape (n, n) each, row by effort and
        column by joint. Entries of joints on different branches are exactly zero.
    """
    lanes = _Lanes.of(q)
    tree = _Tree(robot, lanes)
    R, p, axis = _placements(robot, q, lanes)

    # Screws and motions
    z, s = _screws(robot, p, axis, lanes)
    rate, acceleration = lanes.pack(qd), lanes.pack(qdd)
    w, v = tree.summed_outward([*(z * rate), *(s * rate)], [0.0] * 6)
    zd, sd = cross(w, z), cross(w, s) - cross(z, v)
    wd, vd = tree.summed_outward(
        [*(z * acceleration + zd * rate), *(s * acceleration + sd * rate)],
        [0.0, 0.0, 0.0, *-robot.gravity],  # the base falls upwards in place of the weights
    )
    zdd = cross(wd, z) + cross(w, zd)
    sdd = cross(wd, s) - cross(z, vd) + cross(w, sd) - cross(zd, v)

    # Links with everything that hangs on them
    own = _Bodies.of_links(robot, R, p, (w, v), (wd, vd), lanes)
    m, h, S, L, V, f, n = own.with_all_outward(tree)
    J, C = trace_minus(S), trace_minus(V)

    # What the links inward feel of each joint: of a unit acceleration, of its position and rate
    zd2, sd2 = 2.0 * zd, 2.0 * sd
    M_f, M_n = cross(z, h) + m * s, _times(J, z) + cross(h, s)
    q_f = cross(zdd, h) + m * sdd + cross(zd2, L) + cross(z, f)
    q_n = _times(J, zdd) + cross(h, sdd) + _times(C, zd2) + cross(z, n) + cross(s, f)
    qd_f = cross(zd2, h) + m * sd2 + 2.0 * cross(z, L)
    qd_n = _times(J, zd2) + cross(h, sd2) + 2.0 * _times(C, z)
    y = _times(np.swapaxes(C, 0, 1), z) + cross(L, s)
    y2 = 2.0 * y

    screw, d_screw2, dd_screw = [*z, *s], [*zd2, *sd2], [*zdd, *sdd]
    M_w, q_w, qd_w = [*M_n, *M_f], [*q_n, *q_f], [*qd_n, *qd_f]
    dtau_dq, dtau_dqd, M = (_zeros(len(q), q, qd, qdd) for _ in range(3))
    for k in range(len(robot.joints)):
        along, unit = _at(lanes, screw, k), _at(lanes, M_w, k)
        turned, turned2 = _at(lanes, y, k), _at(lanes, y2, k)
        tree.fill(M, k, _dot(along, M_w), _dot(unit, screw))
        tree.fill(dtau_dq, k, _dot(along, q_w), _dot(unit, dd_screw) + _dot(turned, zd2))
        tree.fill(dtau_dqd, k, _dot(along, qd_w), _dot(unit, d_screw2) + _dot(turned2, z))
    return dtau_dq, dtau_dqd, M


class _Lanes(NamedTuple):
    """Numbers side by side: arrays of floats, or vectors of symbols.

    Attributes:
        pack: Makes a vector of numbers.
        lane: The number in a lane of a vector.
        transposed: For a list of vectors of that many lanes, vectors of their first lanes, ...
    """

    pack: Callable[[Any], Any]
    lane: Callable[[Any, int], Any]
    transposed: Callable[[Sequence[Any], int], Any]

    @staticmethod
    def of(q: Array) -> _Lanes:
        if q.dtype == object:
            symbol = q[0]
            lifted = symbol.graph.lift
            return _Lanes(
                symbol.side_by_side,
                lambda vector, k: lifted(vector).lane(k),
                lambda vectors, width: symbol.transposed([lifted(x) for x in vectors], width),
            )

        def transposed(vectors: Sequence[Any], width: int) -> Any:
            rows = [np.broadcast_to(vector, width) for vector in vectors]
            return list(np.array(rows).T)

        return _Lanes(np.array, lambda vector, k: vector[k], transposed)


class _Tree:
    """Which joint carries which: sums along the tree, and rows with an entry for every joint.

    Args:
        robot: Tree without fixed joints.
        lanes: What stands side by side.
    """

    def __init__(self, robot: Robot, lanes: _Lanes) -> None:
        self.parents = [parent - 1 for parent in robot.parents]  # joints; -1 at the base
        self._lanes = lanes
        self._inward: list[list[int]] = []
        for k, parent in enumerate(self.parents):
            self._inward.append([*(self._inward[parent] if parent >= 0 else []), k])
        carried = [float(link.inertia.mass) for link in robot.links[1:]]
        for k, parent in reversed(list(enumerate(self.parents))):
            if parent >= 0:
                carried[parent] += carried[k]
        self.masses = lanes.pack(carried)

    def summed_outward(self, parts: Sequence[Any], of_base: Sequence[Any]) -> tuple[Array, Array]:
        """For every joint the sum over it, the joints inward of it and the base, as two vectors."""
        sums: list[Any] = []
        for part, parent in zip(self._by_joint(parts), self.parents, strict=True):
            before = sums[parent] if parent >= 0 else self._lanes.pack(of_base)
            sums.append(before + part)
        total = self._lanes.transposed(sums, len(parts))
        return np.array(total[:3]), np.array(total[3:])

    def summed_inward(self, parts: Sequence[Any]) -> list[Any]:
        """For every joint the sum over it and the joints outward of it."""
        sums = self._by_joint(parts)
        for k in reversed(range(len(sums))):
            if self.parents[k] >= 0:
                sums[self.parents[k]] = sums[self.parents[k]] + sums[k]
        return list(self._lanes.transposed(sums, len(parts)))

    def fill(self, matrix: Any, k: int, outward: Any, inward: Any) -> None:
        """Write a row: entries of the joints outward of joint k, and of those inward of it."""
        for j, path in enumerate(self._inward):
            if k in path:
                matrix[k, j] = self._lanes.lane(outward, j)
        for j in self._inward[k][:-1]:
            matrix[k, j] = self._lanes.lane(inward, j)

    def _by_joint(self, parts: Sequence[Any]) -> list[Any]:
        return list(self._lanes.transposed(parts, len(self.parents)))


def _placements(robot: Robot, q: Array, lanes: _Lanes) -> tuple[Array, Array, Array]:
    """Axes of all links, their origins and the axes of their joints, in axes of the base.

    Returns:
        Axes x, y and z, each with three components; origins; axes of joints: every component
        has a lane for each joint.
    """
    upright: list[Any] = [lanes.pack(axis) for axis in np.eye(3)]
    links = [(np.array(upright), lanes.pack([0.0, 0.0, 0.0]))]
    along = []
    for k, joint in enumerate(robot.joints):
        axes_P, p_P = links[robot.parents[k]]
        frame = ChangeOfFrame(joint, q[k])
        # The components of an axis stand side by side: to turn the axes is to turn one vector
        axes = frame.vector_to_child(axes_P)
        links.append((axes, p_P + frame.p @ axes_P))
        along.append(joint.axis @ axes)
    R = [np.array(lanes.transposed([axes[i] for axes, _ in links[1:]], 3)) for i in range(3)]
    p = lanes.transposed([p for _, p in links[1:]], 3)
    return np.array(R), np.array(p), np.array(lanes.transposed(along, 3))


def _screws(robot: Robot, p: Array, axis: Array, lanes: _Lanes) -> tuple[Array, Array]:
    """Angular velocity, and velocity of the point at the base's origin, of unit rates."""
    rotates = [float(joint.type.rotates) for joint in robot.joints]
    if all(rotates):
        return axis, cross(p, axis)
    z = axis * lanes.pack(rotates)
    return z, cross(p, z) + axis * lanes.pack([1.0 - x for x in rotates])


class _Bodies(NamedTuple):
    """Sums over mass elements dm at x that move with u, for every joint.

    Attributes:
        m: Mass.
        h: Sum of x dm.
        S: Sum of x x^T dm, symmetric.
        L: Sum of u dm.
        V: Sum of u x^T dm.
        f: Force that the motion needs.
        n: Moment about the origin of the base that the motion needs.
    """

    m: Any
    h: Array
    S: Array
    L: Array
    V: Array
    f: Array
    n: Array

    @staticmethod
    def of_links(
        robot: Robot,
        R: Array,
        p: Array,
        velocity: tuple[Array, Array],
        acceleration: tuple[Array, Array],
        lanes: _Lanes,
    ) -> _Bodies:
        """The link that each joint carries."""
        bodies = [link.inertia for link in robot.links[1:]]
        (w, v), (wd, vd) = velocity, acceleration
        m = lanes.pack([body.mass for body in bodies])
        h_R = sum(lanes.pack([body.first_moment[i] for body in bodies]) * R[i] for i in range(3))
        h = h_R + m * p
        moments = [second_mass_moment(body) for body in bodies]
        S_R = [
            sum(lanes.pack([S[i, j] for S in moments]) * R[i] for i in range(3)) for j in range(3)
        ]
        S = _outer(S_R[0], R[0]) + _outer(S_R[1], R[1]) + _outer(S_R[2], R[2])
        S = symmetric(S + _outer(h_R, p) + _outer(p, h))
        L = cross(w, h) + m * v
        V = _crossed(w, S) + _outer(v, h)
        f = cross(wd, h) + m * vd + cross(w, L)
        n = _times(trace_minus(S), wd) + cross(h, vd) + _times(trace_minus(V), w)
        return _Bodies(m, h, S, L, V, f, n)

    def with_all_outward(self, tree: _Tree) -> _Bodies:
        """Each with everything that hangs on it."""
        upper = np.triu_indices(3)
        parts = [*self.h, *self.S[upper], *self.L, *self.V.reshape(9, *self.V.shape[2:])]
        total = tree.summed_inward([*parts, *self.f, *self.n])
        S: Any = np.empty_like(self.S)
        S[upper] = np.array(total[3:9])
        return _Bodies(
            tree.masses,
            np.array(total[:3]),
            symmetric(S),
            np.array(total[9:12]),
            np.array(total[12:21]).reshape(self.V.shape),
            np.array(total[21:24]),
            np.array(total[24:27]),
        )


# -- three components, each a number or many side by side ----------------------------------------


def _times(A: Array, b: Array) -> Array:
    """The vector A b."""
    return A[:, 0] * b[0] + A[:, 1] * b[1] + A[:, 2] * b[2]


def _outer(a: Array, b: Array) -> Array:
    """The matrix a b^T."""
    return np.array([[x * y for y in b] for x in a])


def _crossed(a: Array, B: Array) -> Array:
    """[a]x B."""
    return np.swapaxes(np.array([cross(a, B[:, j]) for j in range(3)]), 0, 1)


def _at(lanes: _Lanes, vectors: Any, k: int) -> list[Any]:
    return [lanes.lane(vector, k) for vector in vectors]


def _dot(a: Any, b: Any) -> Any:
    total = a[0] * b[0]
    for x, y in zip(a[1:], b[1:], strict=True):
        total = total + x * y
    return total


def _zeros(n: int, *inputs: Array) -> Any:
    return np.zeros((n, n), dtype=np.result_type(*inputs))
