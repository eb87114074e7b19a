"""Floating and planar joints: their place in q and qd, and their equations.

Positions and velocities are those of Pinocchio. A floating joint has seven entries in q, the
position x, y, z of its child link in the frame of the joint and the unit quaternion x, y, z, w of
its orientation there; a planar joint has four, x and y in its plane, and cosine and sine of its
angle. Its entries in qd are the twist of the child link in the axes of that link, linear before
angular. Its entries in qdd are their derivatives in time, and those of tau the wrench on the child
link, force before moment about the origin of that link, in its axes.

No equation of motion knows of this. In `transforms.merge_fixed` such a joint becomes a series of
prismatic and then revolute joints, its parts, which the equations see in position zero: there
their rates are the twist and their efforts the wrench. What orientation and position change is the
direction of gravity, for a robot with a single such joint on its root, or else the frame of the
first part (`placed`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np

from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot.kinematic_tree import KinematicTree
from robot_dynamics.robot.robot import Robot
from robot_dynamics.spatial import Pose, cross, rodrigues, rotation_from_quaternion


@dataclass(frozen=True, eq=False)
class FreeJoint:
    """One floating or planar joint of a tree.

    Args:
        name: Name in the URDF.
        parts: Its parts among `tree.joints`; those in `tree.moving_joints` are the same.
        q: Its entries in q.
        v: Its entries in qd.
        axes: Axes of the parts at position zero in axes of the first one, shape (3, k).
        first: Rotation of those in the parent link, shape (3, 3).
        centre: Origin of its frame in the parent link, shape (3,), m.
    """

    name: str
    parts: slice
    q: slice
    v: slice
    axes: Array
    first: Array
    centre: Array

    @property
    def rotation(self) -> Array:
        """Orientation of its frame in the parent link, shape (3, 3)."""
        return self.first @ self.axes[:, 3:] if self.floating else self.first

    @property
    def floating(self) -> bool:
        """True for a floating joint, False for a planar one."""
        return self.axes.shape[1] == 6

    @property
    def slides(self) -> int:
        """Number of its prismatic parts, which come first."""
        return 3 if self.floating else 2

    @property
    def between(self) -> range:
        """Massless links between the parts, among `tree.links`."""
        return range(self.parts.start + 1, self.parts.stop)

    @property
    def linear(self) -> slice:
        """Linear entries in qd."""
        return slice(self.v.start, self.v.start + self.slides)

    @property
    def angular(self) -> slice:
        """Angular entries in qd."""
        return slice(self.linear.stop, self.v.stop)

    def pose(self, q: Array) -> tuple[Array, Array]:
        """Rotation (3, 3) and position (3,) of the child link in the frame of the joint, of q."""
        own, count = q[self.q], self.slides
        axes = self.axes[:, 3:].T @ self.axes if self.floating else self.axes
        p = axes[:, :count] @ own[:count]
        if self.floating:
            R = rotation_from_quaternion(own[3:])
        else:
            R = rodrigues(axes[:, 2], own[2], own[3])
        return np.asarray(R, dtype=own.dtype), p

    @property
    def brackets(self) -> Array:
        """B in the rates of a twist: d/dt V = accelerations of the parts + B V V, shape (k, k, k).

        A revolute part turns the axes of the parts before it: entry m, i, j is the derivative by
        the position of part i of entry m, j of J in V = J (rates of the parts).
        """
        return np.tril(self._turned.swapaxes(0, 1), -1)

    @property
    def commutators(self) -> Array:
        """Lie brackets of unit twists: entry m, i, j is entry m of that of i and j, (k, k, k)."""
        return self.brackets.swapaxes(1, 2) - self.brackets

    @property
    def second_brackets(self) -> Array:
        """Second derivatives of J: entry m, i, l, j is that of m, j by parts i and l."""
        k, turned = self.axes.shape[1], self._turned
        found = np.zeros((k, k, k, k))
        for i in range(k):
            for j in range(i + 1):  # the part nearer to the root turns the axes first
                found[:, i, j, :j] = found[:, j, i, :j] = (turned[i] @ turned[j])[:, :j]
        return found

    @property
    def _turned(self) -> Array:
        """Change of axis j along axis m by a turn of part i: entry i, m, j."""
        k, first = self.axes.shape[1], self.slides
        turned = np.zeros((k, k, k))
        for i in range(first, k):
            change = self.axes.T @ np.cross(self.axes.T, self.axes[:, i]).T
            for of in (slice(first), slice(first, k)):
                turned[i, of, of] = np.round(change[of, of])
        return turned


def free_joints(tree: KinematicTree) -> tuple[FreeJoint, ...]:
    """The floating and planar joints of a tree without fixed joints."""
    found: list[FreeJoint] = []
    for name, run in groupby(range(len(tree.joints)), lambda k: tree.joints[k].part_of):
        if not name:
            continue
        k, *others = run
        X, axes = Pose.identity(), [tree.joints[k].axis]
        for joint in (tree.joints[i] for i in others):
            X = X @ joint.origin
            axes.append(X.rotation @ joint.axis)
        floating, place = len(axes) == 6, tree.joints[k].origin @ X
        v = int(tree.coupling.leader[k])
        q = v + len(found)
        found.append(
            FreeJoint(
                name,
                slice(k, k + len(axes)),
                slice(q, q + (7 if floating else 4)),
                slice(v, v + (6 if floating else 3)),
                np.column_stack(axes),
                tree.joints[k].origin.rotation,
                place.translation,
            )
        )
    return tuple(found)


def has_free_base(tree: KinematicTree) -> bool:
    """Return whether a free joint on the root carries all other joints, none of them free."""
    found = free_joints(tree)
    return (
        len(found) == 1
        and tree.parents[found[0].parts.start] == 0 == found[0].v.start
        and (tree.parents.count(0) == 1)
    )


# -- in position zero of the parts ----------------------------------------------------------------


def placed(tree: Robot, q: Array) -> tuple[Robot, Array]:
    """The tree with its free joints where q has them, and positions of all joints, shape (m,).

    Args:
        tree: Tree without fixed joints.
        q: Positions, shape (nq,), on any scalar.
    """
    found = free_joints(tree)
    if not found:
        return tree, tree.coupling.positions(q)
    joints = list(tree.joints)
    for free in found:
        k, (R, p) = free.parts.start, free.pose(_symbols(q))
        still, R_0 = joints[k].origin, free.rotation
        # X_PC of the first part, with the motion R, p between the frame of the joint and the rest
        R_P = R_0 @ R @ R_0.T
        moved = free.centre + R_0 @ p + R_P @ (still.translation - free.centre)
        joints[k] = replace(joints[k], origin=Pose(R_P @ still.rotation, moved))
    return replace(tree, joints=tuple(joints)), tree.coupling.positions(at_zero(tree, q))


def motion_of(
    tree: Robot, q: Array, qd: Array | None = None, qdd: Array | None = None
) -> tuple[Any, ...]:
    """The tree, and positions, rates and accelerations of all its joints, as equations take them.

    Args:
        tree: Tree without fixed joints.
        q: Positions, shape (nq,).
        qd: Velocities, shape (dof,).
        qdd: Accelerations, shape (dof,).

    Returns:
        Tree, positions, and those of rates and accelerations that are given, shape (m,) each.
    """
    joints, rates = tree.coupling, []
    if qd is not None:
        rates.append(joints.rates(qd))
        if qdd is not None:
            rates.append(joints.rates(accelerations(tree, qd, qdd)))
    if not has_free_base(tree):
        return (*placed(tree, q), *rates)
    (free,) = free_joints(tree)
    R_0, (R, _) = free.rotation, free.pose(_symbols(q))
    gravity = R_0 @ (R.T @ (R_0.T @ tree.gravity))
    return (replace(tree, gravity=gravity), joints.positions(at_zero(tree, q)), *rates)


def accelerations(tree: KinematicTree, qd: Array, qdd: Array) -> Array:
    """Second derivatives of the positions of independent joints and parts, shape (dof,)."""
    return qdd - twist_rates(tree, qd) @ qd if free_joints(tree) else qdd


def rates_of_twists(tree: KinematicTree, qd: Array, accelerations: Array) -> Array:
    """Accelerations qdd, the inverse of `accelerations`, shape (dof,)."""
    return accelerations + twist_rates(tree, qd) @ qd if free_joints(tree) else accelerations


def twist_rates(tree: KinematicTree, qd: Array) -> Array:
    """D of d/dt V = accelerations of the parts + D V, for the rates qd, shape (dof, dof)."""
    return _blocks(tree, qd, 1)


def _blocks(tree: KinematicTree, qd: Array, factor: int) -> Array:
    D: Any = np.zeros((len(qd), len(qd)), dtype=qd.dtype)
    for free in free_joints(tree):
        D[free.v, free.v] = np.tensordot(free.brackets, qd[free.v], axes=(factor, 0))
    return np.asarray(D)


def by_twists(
    tree: Robot,
    qd: Array,
    of_parts: tuple[Array, Array],
    tau_q: Array,
    tau_qd: Array,
    M: Array,
) -> tuple[Array, Array, Array]:
    """Turn derivatives by the parts of free joints into those by twists, at constant qdd.

    A displacement of a free base changes nothing but the direction of gravity in its axes, which
    has the effect of an acceleration. That of another free joint changes the rates of its parts
    that make up its twist, and the efforts that make up its wrench.

    Args:
        tree: Tree without fixed joints, as `motion_of` has it.
        qd: Velocities, shape (dof,).
        of_parts: `accelerations` and efforts, shape (dof,) each.
        tau_q: Derivatives of the efforts by positions, shape (dof, dof).
        tau_qd: Derivatives by velocities.
        M: Mass matrix.

    Returns:
        Derivatives by displacements (twists in unit time), by velocities, and the mass matrix.
    """
    if not free_joints(tree):
        return tau_q, tau_qd, M
    tau_q = tau_q.copy()
    for free in free_joints(tree):
        if not has_free_base(tree):
            _turn_parts(free, qd, of_parts, tau_q, tau_qd, M)
            continue
        count = free.slides
        g = free.first.T @ tree.gravity
        turned = np.column_stack([cross(g, w) for w in free.axes.T[count:]])
        by_turn = M[:, free.linear] @ -(free.axes.T[:count] @ turned)
        tau_q[:, free.linear], tau_q[:, free.angular] = 0.0, by_turn
    change = _blocks(tree, qd, 1) + _blocks(tree, qd, 2)
    return tau_q, tau_qd - M @ change, M


def _turn_parts(
    free: FreeJoint,
    qd: Array,
    of_parts: tuple[Array, Array],
    tau_q: Array,
    tau_qd: Array,
    M: Array,
) -> None:
    """Add to derivatives by the positions of parts that of V = J x', and of the wrench J^-T tau.

    At constant V and V', a position changes x' and x'' = J^-1 (V' - J' x').
    """
    v, B, B2 = free.v, free.brackets, free.second_brackets
    rates, (xdd, tau) = qd[v], (x[v] for x in of_parts)
    twice = B @ rates  # entry m, i
    for k in range(free.slides, len(rates)):
        change = -(B[:, k] @ rates)
        coriolis = (B2[:, k] @ rates) @ rates + twice @ change + (B @ change) @ rates
        acceleration = -(B[:, k] @ xdd) - coriolis
        column = v.start + k
        tau_q[:, column] = tau_q[:, column] + tau_qd[:, v] @ change + M[:, v] @ acceleration
        tau_q[v, column] = tau_q[v, column] - B[:, k].T @ tau


def at_zero(tree: KinematicTree, q: Array) -> Array:
    """Positions of independent joints and parts, shape (dof,)."""
    at_zero: Any = list(q)
    for free in reversed(free_joints(tree)):
        at_zero[free.q] = [0.0] * (free.v.stop - free.v.start)
    return np.array(at_zero, dtype=q.dtype)


def _symbols(q: Array) -> Array:
    """Entries that a `Pose` keeps: it takes floats and objects."""
    return q.astype(object) if q.dtype.kind == "c" else q
