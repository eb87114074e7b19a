"""Joints, links and the tree that they form in its zero reference position, as immutable values.

In the zero reference position every joint position is zero. Joints are listed
depth first in document order, and joint k carries link k + 1.
"""

from __future__ import annotations

import enum
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields
from numbers import Real
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.errors import RobotError, check_known, unknown_name
from robot_dynamics.foundation.arrays import Array, Value, frozen
from robot_dynamics.foundation.lazy import cached_property
from robot_dynamics.foundation.numbers import counted
from robot_dynamics.foundation.text_tables import html_table
from robot_dynamics.spatial import Inertia, Pose, cosine_and_sine, rodrigues, rotation_about

# -- joints ---------------------------------------------------------------------------------


class JointType(enum.Enum):
    """The supported joint types of URDF."""

    REVOLUTE = "revolute"
    CONTINUOUS = "continuous"
    PRISMATIC = "prismatic"
    FIXED = "fixed"
    FLOATING = "floating"
    PLANAR = "planar"

    @property
    def rotates(self) -> bool:
        """True for revolute and continuous joints."""
        return self in (JointType.REVOLUTE, JointType.CONTINUOUS)

    @property
    def free(self) -> bool:
        """True for floating and planar joints, which have several degrees of freedom."""
        return self in (JointType.FLOATING, JointType.PLANAR)


UNLIMITED = sys.float_info.max
"""Number in a URDF that stands for a limit that is not known."""


@dataclass(frozen=True)
class JointLimits:
    """Limits of one joint: rad or m, per s, N m or N, and per s^2; infinite where unknown.

    That of acceleration is the lesser one of acceleration and deceleration.

    Args:
        lower: Lowest position, rad or m.
        upper: Highest position, rad or m.
        velocity: Largest velocity, rad/s or m/s.
        effort: Largest effort, N m or N.
        acceleration: Largest acceleration, rad/s^2 or m/s^2.
    """

    lower: float = -np.inf
    upper: float = np.inf
    velocity: float = np.inf
    effort: float = np.inf
    acceleration: float = np.inf


@dataclass(frozen=True)
class Mimic:
    """Coupling of a joint to another: position = multiplier * position of `joint` + offset.

    Args:
        joint: Name of the joint that is followed.
        multiplier: Position for a unit position of `joint`.
        offset: Position where `joint` is at zero, rad or m.
    """

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True)
class Spring:
    """Elasticity of a joint between its motor and its link, as the joint feels it.

    Args:
        stiffness: N m/rad or N/m.
        damping: Viscous damping across the spring, N m s/rad or N s/m.
    """

    stiffness: float
    damping: float = 0.0


@dataclass(frozen=True, eq=False)
class Joint(Value):
    """One joint, with the pose of its child link when its position is zero.

    Args:
        name: Name in the URDF.
        type: One of the joint types of URDF.
        parent: Name of the link that carries the joint.
        child: Name of the link that the joint moves.
        origin: Pose X_PC of the child link in the parent link at position zero.
        axis: Unit vector of the joint in child axes, shape (3,), right-handed positive sense; of
            a planar joint the normal of its plane.
        limits: Position, velocity and effort range.
        damping: Viscous friction, N m s/rad or N s/m.
        friction: Coulomb friction, N m or N.
        mimic: The joint that this one follows, if any.
        part_of: Name of the floating or planar joint that this one is a part of, or "".
        spring: Elasticity between motor and link; by default the joint is rigid.
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
    part_of: str = ""
    spring: Spring | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", frozen(self.axis))

    @property
    def moves(self) -> bool:
        """False for a fixed joint."""
        return self.type is not JointType.FIXED


class JointElasticity(NamedTuple):
    """Elasticity of n joints, in the order of `Robot.joint_names`, shape (n,) each.

    Attributes:
        stiffness: N m/rad or N/m; infinite where a joint is rigid.
        damping: N m s/rad or N s/m.
    """

    stiffness: Array
    damping: Array


@dataclass(frozen=True, eq=False)
class RobotLimits(Value):
    """Limits of all independent joints, in the order of `Robot.joint_names`, shape (n,) each.

    Args:
        lower: Lowest positions, rad or m.
        upper: Highest positions, rad or m.
        velocity: Largest velocities, rad/s or m/s.
        effort: Largest efforts, N m or N.
        acceleration: Largest accelerations, rad/s^2 or m/s^2.
    """

    lower: Array
    upper: Array
    velocity: Array
    effort: Array
    acceleration: Array


def elementary_joints(joint: Joint) -> tuple[Joint, ...]:
    """Return the prismatic and then revolute joints that move as a floating or planar joint does.

    The massless links between them have the name of the joint that carries them. Any other joint
    is returned as it is.
    """
    if not joint.type.free:
        return (joint,)
    z = joint.axis if joint.type is JointType.PLANAR else np.array([0.0, 0.0, 1.0])
    x = np.roll(z, 1) if np.count_nonzero(z) == 1 else np.cross(np.eye(3)[np.argmin(abs(z))], z)
    x = np.abs(x) if np.count_nonzero(x) == 1 else x / np.linalg.norm(x)
    axes = {"x": x, "y": np.cross(z, x), "z": z}
    if joint.type is JointType.PLANAR:
        parts = [("x", False), ("y", False), ("z", True)]
    else:
        parts = [(axis, rotates) for rotates in (False, True) for axis in axes]
    made: list[Joint] = []
    for axis, rotates in parts:
        name = f"{joint.name}.{'r' if rotates else ''}{axis}"
        made.append(
            Joint(
                name=name,
                type=JointType.CONTINUOUS if rotates else JointType.PRISMATIC,
                parent=made[-1].child if made else joint.parent,
                child=name if len(made) + 1 < len(parts) else joint.child,
                origin=Pose.identity() if made else joint.origin,
                axis=axes[axis],
                part_of=joint.name,
            )
        )
    return tuple(made)


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
    """Compute the pose X_PC of the child link of any joint at a constant position, rad or m.

    A floating or planar joint is at zero.
    """
    if not joint.moves or joint.type.free:
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
        """Compute the positions of all moving joints.

        Args:
            q: Positions of the independent joints, shape (n,), rad or m.

        Returns:
            Shape (m,), rad or m.
        """
        return self.rates(q) + self.offset

    def rates(self, qd: Array) -> Array:
        """Compute velocities or accelerations of all moving joints from the independent ones.

        Args:
            qd: Velocities or accelerations of the independent joints, shape (n,).

        Returns:
            Shape (m,).
        """
        return self.multiplier * np.asarray(qd)[self.leader]

    def efforts(self, tau: Array) -> Array:
        """Compute E^T tau: the efforts of the independent joints, which carry those of followers.

        Args:
            tau: Efforts of all moving joints, shape (m,), N m or N.

        Returns:
            Shape (n,), N m or N.
        """
        return self.columns(tau)

    def columns(self, A: Array) -> Array:
        """Compute E^T A: the sum of the rows of A of each independent joint.

        Args:
            A: One row for each moving joint, shape (m, ...).

        Returns:
            Shape (n, ...).
        """
        total: Any = np.zeros((self.dof, *A.shape[1:]), dtype=A.dtype)
        for row, (i, factor) in enumerate(zip(self.leader, self.multiplier, strict=True)):
            total[i] = total[i] + factor * A[row]
        return np.asarray(total)

    def square(self, A: Array) -> Array:
        """Compute E^T A E, such as of a mass matrix of all moving joints.

        Args:
            A: Matrix of all moving joints, shape (m, m).

        Returns:
            Shape (n, n).
        """
        return self.columns(self.columns(A).T).T


# -- links ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Link(Value):
    """One rigid body; its frame is the frame of the joint that carries it.

    Args:
        name: Name of the link.
        inertia: Mass distribution in the frame of the link.
    """

    name: str
    inertia: Inertia = field(default_factory=Inertia.zero)


@dataclass(frozen=True, eq=False)
class Frame(Value):
    """A named frame fixed to a link: pose X_LF of the frame in that link.

    Args:
        link: Name of the link that the frame is fixed to.
        pose: Pose X_LF of the frame in that link.
    """

    link: str
    pose: Pose


# -- the tree -------------------------------------------------------------------------------

STANDARD_GRAVITY = (0.0, 0.0, -9.81)
"""Default gravitational acceleration in the axes of the root link, m/s^2."""


@dataclass(frozen=True, eq=False, repr=False)
class KinematicTree(Value):
    """A tree of links and joints in its zero reference position.

    Args:
        name: Name in the URDF.
        links: Root link first; links[k + 1] is carried by joints[k].
        joints: Depth first, in document order.
        gravity: Gravitational acceleration in the axes of the root link, shape (3,), m/s^2.
        frames: Named frames other than the links' own, such as those of merged links.
        tips: Names of the end links and frames; by default the moving links that carry no other.
            They remain tips when links are merged.
    """

    name: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    gravity: Array = field(default_factory=lambda: frozen(STANDARD_GRAVITY))
    frames: Mapping[str, Frame] = field(default_factory=dict)
    tips: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "gravity", frozen(self.gravity))
        object.__setattr__(self, "frames", MappingProxyType(dict(self.frames)))
        if len(self.links) != len(self.joints) + 1:
            raise RobotError(
                f"robot '{self.name}': {counted(len(self.links), 'link')} need "
                f"{counted(len(self.links) - 1, 'joint')}, got {len(self.joints)}; a tree has "
                "one joint for every link but the root"
            )
        for joint, link in zip(self.joints, self.links[1:], strict=True):
            if joint.child != link.name:
                raise RobotError(
                    f"robot '{self.name}': joint '{joint.name}' carries '{joint.child}' but stands "
                    f"before link '{link.name}'; list links in the order of their joints"
                )
        # `parents` refuses a joint on an unknown or later link
        object.__setattr__(self, "tips", tuple(self.tips) or self._leaves())

    def __repr__(self) -> str:
        kind, mass = type(self).__name__, sum(link.inertia.mass for link in self.links)
        weight = f"{mass:.4g} kg" if isinstance(mass, Real) else "mass in symbols"
        joints = ", ".join(self.joint_names[:8]) + (", ..." if self.dof > 8 else "")
        tips = ", ".join(self.tips[:4]) + (", ..." if len(self.tips) > 4 else "")
        return (
            f"<{kind} '{self.name}': {counted(len(self.links), 'link')}, {weight}, "
            f"{counted(self.dof, 'independent joint')} ({joints or 'none'}), tips {tips}>"
        )

    def _repr_html_(self) -> str:
        headings = ("joint", "type", "parent", "child", "lower", "upper", "velocity", "effort")
        rows = []
        for joint in self.moving_joints:
            limits = joint.limits
            follows = "" if joint.mimic is None else f", follows {joint.mimic.joint}"
            kind = joint.type.value + follows
            ends = limits.lower, limits.upper, limits.velocity, limits.effort
            rows.append((joint.name, kind, joint.parent, joint.child, *map(float, ends)))
        return html_table(repr(self)[1:-1], headings, rows)

    def _leaves(self) -> tuple[str, ...]:
        """Return the moving links that carry no other; if there are none, all such links."""
        moved = [False]
        for joint, parent in zip(self.joints, self.parents, strict=True):
            moved.append(joint.moves or moved[parent])
        carriers = set(self.parents)
        leaves = [i for i in range(len(self.links)) if i not in carriers]
        moving = [i for i in leaves if moved[i]]
        return tuple(self.links[i].name for i in moving or leaves)

    # -- the tree ---------------------------------------------------------------------------

    @property
    def root(self) -> str:
        """Name of the root link."""
        return self.links[0].name

    @cached_property
    def parents(self) -> tuple[int, ...]:
        """Index into `links` of the link that carries joint k, for every joint."""
        index: dict[str, int] = {self.links[0].name: 0}
        parents = []
        for k, joint in enumerate(self.joints):
            if joint.parent not in index:
                raise unknown_name(
                    "link", joint.parent, f"robot '{self.name}' before joint '{joint.name}'", index
                )
            parents.append(index[joint.parent])
            index[joint.child] = k + 1
        return tuple(parents)

    @cached_property
    def _link_index(self) -> Mapping[str, int]:
        return {link.name: i for i, link in enumerate(self.links)}

    @cached_property
    def _joint_index(self) -> Mapping[str, int]:
        return {joint.name: k for k, joint in enumerate(self.joints)}

    def link_index(self, name: str) -> int:
        """Return the index of a link in `links`.

        Args:
            name: Name of the link.

        Returns:
            Index, 0 for the root.

        Raises:
            UnknownNameError: If there is no such link.
        """
        self._check_known("link", name, self._link_index)
        return self._link_index[name]

    def path_to(self, link: str) -> list[int]:
        """Return the indices of the joints between the root and a link, root first.

        Args:
            link: Name of the link.

        Returns:
            Indices into `joints`.

        Raises:
            UnknownNameError: If there is no such link.
        """
        path = []
        i = self.link_index(link)
        while i > 0:
            path.append(i - 1)
            i = self.parents[i - 1]
        return path[::-1]

    def joint(self, name: str) -> Joint:
        """Return the joint of that name.

        Args:
            name: Name of the joint.

        Returns:
            The joint.

        Raises:
            UnknownNameError: If there is no such joint.
        """
        self._check_known("joint", name, self._joint_index)
        return self.joints[self._joint_index[name]]

    def frame(self, name: str) -> Frame:
        """Return the link and pose of a named frame; the name of a link is its own frame.

        Args:
            name: Name of a frame or link.

        Returns:
            The link, and the pose of the frame in it.

        Raises:
            UnknownNameError: If there is neither a link nor a frame of that name.
        """
        self._check_known("frame", name, self.frame_names)
        return Frame(name, Pose.identity()) if name in self._link_index else self.frames[name]

    def _check_known(self, kind: str, name: str, known: Collection[str]) -> None:
        """Raise UnknownNameError if a name is not text or the robot lacks it."""
        check_known(kind, name, f"robot '{self.name}'", known)

    @property
    def frame_names(self) -> tuple[str, ...]:
        """Names of all links and of all frames fixed to them."""
        return (*self._link_index, *self.frames)

    # -- the independent joints -------------------------------------------------------------

    @cached_property
    def moving_joints(self) -> tuple[Joint, ...]:
        """Joints that are not fixed, followers included, in tree order.

        Floating and planar joints are replaced by their `elementary_joints`.
        """
        moving = (elementary_joints(joint) for joint in self.joints if joint.moves)
        return tuple(joint for parts in moving for joint in parts)

    @cached_property
    def independent_joints(self) -> tuple[Joint, ...]:
        """Moving joints that follow no other; one per entry of qd, in tree order."""
        return tuple(joint for joint in self.moving_joints if joint.mimic is None)

    @cached_property
    def followers(self) -> dict[str, Mimic]:
        """Couplings of the joints that mimic another one, by name."""
        return {joint.name: joint.mimic for joint in self.moving_joints if joint.mimic is not None}

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the independent joints: the order of q, qd, qdd and tau.

        A floating or planar joint has more entries in q: see `free_joints`.
        """
        return tuple(joint.name for joint in self.independent_joints)

    @property
    def dof(self) -> int:
        """Number of independent joints: of entries of qd, qdd and tau."""
        return len(self.independent_joints)

    @cached_property
    def nq(self) -> int:
        """Number of entries of q: `dof`, and one more for every floating or planar joint."""
        return self.dof + len({joint.part_of for joint in self.moving_joints if joint.part_of})

    @cached_property
    def limits(self) -> RobotLimits:
        """Limits of the independent joints, in the order of `joint_names`."""
        limits = [joint.limits for joint in self.independent_joints]
        names = [one.name for one in fields(JointLimits)]
        return RobotLimits(
            **{name: frozen([getattr(limit, name) for limit in limits]) for name in names}
        )

    @cached_property
    def joint_friction(self) -> tuple[Array, Array]:
        """Viscous and Coulomb friction of the independent joints, shape (n,) each.

        A mimic follower that turns k times as fast loses k^2 the viscous and k the Coulomb power.
        """
        E = self.coupling.matrix
        damping = np.array([joint.damping for joint in self.moving_joints])
        coulomb = np.array([joint.friction for joint in self.moving_joints])
        return frozen((E**2).T @ damping), frozen(np.abs(E).T @ coulomb)

    @cached_property
    def joint_elasticity(self) -> JointElasticity:
        """Stiffness and damping between the motors and the links of the independent joints."""
        springs = [joint.spring or Spring(np.inf) for joint in self.independent_joints]
        columns = ([getattr(x, name) for x in springs] for name in JointElasticity._fields)
        return JointElasticity(*map(frozen, columns))

    @property
    def elastic_joints(self) -> tuple[int, ...]:
        """Indices into q of the elastic joints."""
        return tuple(np.flatnonzero(np.isfinite(self.joint_elasticity.stiffness)).tolist())

    @cached_property
    def coupling(self) -> Coupling:
        """Coupling of `moving_joints` to q: the mimic tags as index, multiplier and offset."""
        index = {name: i for i, name in enumerate(self.joint_names)}
        couplings = [joint.mimic or Mimic(joint.name) for joint in self.moving_joints]
        return Coupling(
            leader=np.array([index[mimic.joint] for mimic in couplings], dtype=np.intp),
            multiplier=frozen([mimic.multiplier for mimic in couplings]),
            offset=frozen([mimic.offset for mimic in couplings]),
            dof=self.dof,
        )
