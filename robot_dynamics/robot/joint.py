"""Joints: types, limits, mimic joints, motion of the child link, and coupling."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from robot_dynamics.foundation.arrays import Array, Value, frozen
from robot_dynamics.spatial.rigid_body import Pose
from robot_dynamics.spatial.rotation import cosine_and_sine, rodrigues, rotation_about


class JointType(enum.Enum):
    """The supported joint types of URDF."""

    REVOLUTE = "revolute"
    CONTINUOUS = "continuous"
    PRISMATIC = "prismatic"
    FIXED = "fixed"

    @property
    def rotates(self) -> bool:
        """True for revolute and continuous joints."""
        return self in (JointType.REVOLUTE, JointType.CONTINUOUS)


@dataclass(frozen=True)
class JointLimits:
    """Limits of one joint: rad or m, rad/s or m/s, N m or N; infinite where unknown."""

    lower: float = -np.inf
    upper: float = np.inf
    velocity: float = np.inf
    effort: float = np.inf


@dataclass(frozen=True)
class Mimic:
    """Coupling of a joint to another: position = multiplier * position of `joint` + offset."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, eq=False)
class Joint(Value):
    """One joint, with the pose of its child link when its position is zero.

    Args:
        name: Name in the URDF.
        type: Revolute, continuous, prismatic or fixed.
        parent: Name of the link that carries the joint.
        child: Name of the link that the joint moves.
        origin: Pose X_PC of the child link in the parent link at position zero.
        axis: Unit vector of the joint in child axes, shape (3,), right-handed positive sense.
        limits: Position, velocity and effort range.
        damping: Viscous friction, N m s/rad or N s/m.
        friction: Coulomb friction, N m or N.
        mimic: The joint that this one follows, if any.
    """

    name: str
    type: JointType
    parent: str
    child: str
    origin: Pose
    axis: Array = field(default_factory=lambda: frozen((1.0, 0.0, 0.0)))
    limits: JointLimits = JointLimits()
    damping: float = 0.0
    friction: float = 0.0
    mimic: Mimic | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", frozen(self.axis))

    @property
    def moves(self) -> bool:
        """False for a fixed joint."""
        return self.type is not JointType.FIXED


@dataclass(frozen=True, eq=False)
class RobotLimits(Value):
    """Limits of all independent joints, in the order of `Robot.joint_names`, shape (n,) each."""

    lower: Array
    upper: Array
    velocity: Array
    effort: Array


def joint_motion(joint: Joint, q: Any) -> tuple[Array, Array]:
    """Compute the pose of the child link of a moving joint in its parent link at position q.

    Returns:
        R_PC, shape (3, 3), and p_PC, shape (3,), m: x_P = R_PC @ x_C + p_PC.
    """
    R0, p0 = joint.origin.rotation, joint.origin.translation
    if joint.type.rotates:
        return R0 @ rotation_about(joint.axis, q), p0
    return R0, p0 + R0 @ (joint.axis * q)


def joint_pose(joint: Joint, position: float) -> Pose:
    """Compute the pose X_PC of the child link of any joint at a constant position, rad or m."""
    if not joint.moves:
        return joint.origin
    if not joint.type.rotates:
        return Pose(*joint_motion(joint, position))
    R = rodrigues(joint.axis, *cosine_and_sine(position))
    return Pose(joint.origin.rotation @ R, joint.origin.translation)


@dataclass(frozen=True, eq=False)
class Coupling(Value):
    """Coupling of the m moving joints of a tree to its n independent ones.

    Every moving joint is independent or follows an independent one (mimic):
    position = multiplier * q[leader] + offset. In matrix form positions = E q + e0,
    and by virtual work efforts reduce to E^T tau and mass matrices to E^T M E.

    Args:
        leader: Index into q for every moving joint, shape (m,).
        multiplier: 1 for an independent joint, shape (m,).
        offset: 0 for an independent joint, shape (m,), rad or m.
        dof: Number n of independent joints.
    """

    leader: Array
    multiplier: Array
    offset: Array
    dof: int

    @property
    def matrix(self) -> Array:
        """E, shape (m, n)."""
        E = np.zeros((len(self.leader), self.dof))
        E[np.arange(len(self.leader)), self.leader] = self.multiplier
        return E

    def positions(self, q: Array) -> Array:
        """Return the positions of all moving joints, shape (m,), from q, shape (n,)."""
        return self.rates(q) + self.offset

    def rates(self, qd: Array) -> Array:
        """Return velocities or accelerations of all moving joints from the independent ones."""
        return self.multiplier * np.asarray(qd)[self.leader]

    def efforts(self, tau: Array) -> Array:
        """Return E^T tau: efforts of the independent joints, including those of followers."""
        return self.columns(tau)

    def columns(self, A: Array) -> Array:
        """Return E^T A: the sum of the rows of A of each independent joint, shape (n, ...)."""
        total: Any = np.zeros((self.dof, *A.shape[1:]), dtype=A.dtype)
        for row, (i, factor) in enumerate(zip(self.leader, self.multiplier, strict=True)):
            total[i] = total[i] + factor * A[row]
        return np.asarray(total)

    def square(self, A: Array) -> Array:
        """Return E^T A E, shape (n, n)."""
        return self.columns(self.columns(A).T).T
