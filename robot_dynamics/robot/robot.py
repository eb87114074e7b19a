"""What a robot is: links, joints and inertias, as immutable values.

A `Robot` is a tree of links in its zero reference position: where each joint
frame lies when every joint position is zero. Nothing here moves. Joints stand
depth first in document order, and joint k carries link k + 1.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from robot_dynamics.errors import RobotError, check_known, shown, unknown_name

Array = npt.NDArray[Any]
"""A float array, or an object array of symbols when equations are traced."""

STANDARD_GRAVITY = (0.0, 0.0, -9.81)
"""Default acceleration of free fall in the axes of the root link, m/s^2."""


def frozen(values: npt.ArrayLike) -> Array:
    """Copy `values` into an array that cannot be written to (symbols stay symbols)."""
    array = np.array(values)
    if array.dtype != object:
        array = array.astype(np.float64)
    array.setflags(write=False)
    return array


def numbers(name: str, values: Any, shape: tuple[int, ...], *, traced: bool = False) -> Array:
    """Take an argument as an array of that shape.

    Args:
        name: What the caller knows it as.
        values: The argument.
        shape: The shape that it must have; () for one number.
        traced: Take what equations make, too: symbols, and numbers that have overflowed.

    Returns:
        float64, or objects if they are symbols.

    Raises:
        RobotError: If it is anything but finite numbers of that shape.
    """
    try:
        array = np.asarray(values)
        objects = array.dtype == object
        # NumPy would make numbers of text, and nan of None
        if array.dtype.kind not in "biufO" or (objects and not all(map(_is_factor, array.flat))):
            raise TypeError
        if not (traced and objects):
            array = array.astype(np.float64)
        fits = array.shape == shape and (traced or bool(np.isfinite(array).all()))
    except (TypeError, ValueError):  # no numbers, or rows of different length
        fits = False
    if not fits:
        finite = "" if traced else "finite "
        wanted = f"{finite}numbers of shape {shape}" if shape else f"a {finite}number"
        raise RobotError(f"{name} must be {wanted}, got {shown(values)}")
    return array


def _is_factor(value: object) -> bool:
    return hasattr(value, "__rmul__")


def skew(v: Array) -> Array:
    """Matrix that multiplies a vector w to give the cross product v x w."""
    return np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])


RIGHT_ANGLE = 1e-11
"""What an angle may differ from a multiple of a right angle, as which it is then taken, rad."""


def rotation_from_rpy(rpy: npt.ArrayLike) -> Array:
    """Rotation matrix Rz(yaw) Ry(pitch) Rx(roll) of URDF's roll, pitch, yaw (3,), rad.

    A right angle turns axes into axes, exactly: the matrix holds 0, 1 and -1. In floats the cosine
    of pi / 2 is 6e-17, and 5e-12 if the angle was printed with eleven decimals, as exporters do;
    compiled equations would multiply by such numbers forever. An angle within `RIGHT_ANGLE` of a
    multiple of pi / 2 is therefore taken as that multiple: the end of a link of one metre moves by
    1e-11 m, and torques change by some 1e-11 of the largest.
    """
    c, s = np.cos(rpy), np.sin(rpy)  # where one is this small, the other is 1 or -1 in floats
    c, s = np.where(np.abs(c) < RIGHT_ANGLE, 0.0, c), np.where(np.abs(s) < RIGHT_ANGLE, 0.0, s)
    (cr, cp, cy), (sr, sp, sy) = c, s
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


@dataclass(frozen=True, eq=False)
class Pose:
    """Pose X_AB of frame B in frame A: p_A = rotation @ p_B + translation.

    Args:
        rotation: R_AB, shape (3, 3).
        translation: Position of the origin of B in A, shape (3,), m.
    """

    rotation: Array
    translation: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "rotation", frozen(self.rotation))
        object.__setattr__(self, "translation", frozen(self.translation))

    @staticmethod
    def identity() -> Pose:
        """The pose of a frame in itself."""
        return Pose(np.eye(3), np.zeros(3))

    def __matmul__(self, other: Pose) -> Pose:
        """X_AC = X_AB @ X_BC."""
        return Pose(
            self.rotation @ other.rotation, self.rotation @ other.translation + self.translation
        )

    def inverse(self) -> Pose:
        """X_BA."""
        return Pose(self.rotation.T, -self.rotation.T @ self.translation)


@dataclass(frozen=True, eq=False)
class Inertia:
    """Mass distribution of a rigid body: its moments of order 0, 1 and 2.

    Stored about the origin of the link frame, in its axes, because torques are
    linear in these ten numbers and because a massless body then needs no
    special case.

    Args:
        mass: Moment of order 0, kg.
        first_moment: mass times position of the mass centre, shape (3,), kg m.
        second_moment: Rotational inertia about the frame origin, shape (3, 3), kg m^2.

    Raises:
        RobotError: If one of them is anything but numbers, or symbols, of its shape.
    """

    mass: Any
    first_moment: Array
    second_moment: Array

    def __post_init__(self) -> None:
        numbers("mass", self.mass, (), traced=True)
        for name, shape in (("first_moment", (3,)), ("second_moment", (3, 3))):
            moment = numbers(name, getattr(self, name), shape, traced=True)
            object.__setattr__(self, name, frozen(moment))

    @staticmethod
    def zero() -> Inertia:
        """A body without mass."""
        return Inertia(0.0, np.zeros(3), np.zeros((3, 3)))

    @staticmethod
    def from_com(mass: Any, com: npt.ArrayLike, about_com: npt.ArrayLike) -> Inertia:
        """Build from mass, mass centre in the link frame (3,) and inertia about it (3, 3).

        Huygens' theorem, with the axes of the link frame on both sides.

        Raises:
            RobotError: If one of them is anything but numbers, or symbols, of its shape.
        """
        numbers("mass", mass, (), traced=True)
        c = numbers("com", com, (3,), traced=True)
        I_C = numbers("about_com", about_com, (3, 3), traced=True)
        return Inertia(mass, mass * c, I_C - mass * (skew(c) @ skew(c)))

    @property
    def com(self) -> Array:
        """Mass centre in the link frame, shape (3,), m; the origin for a massless body."""
        if isinstance(self.mass, (int, float)) and self.mass == 0.0:
            return np.zeros(3)
        return self.first_moment / self.mass

    @property
    def about_com(self) -> Array:
        """Rotational inertia about the mass centre, axes of the link, shape (3, 3), kg m^2."""
        c = self.com
        return self.second_moment + self.mass * (skew(c) @ skew(c))

    def expressed_in(self, X_AB: Pose) -> Inertia:
        """The same body, given in frame B, about the origin and in the axes of frame A."""
        R, p = X_AB.rotation, X_AB.translation
        h = R @ self.first_moment
        turned = R @ self.second_moment @ R.T
        # Huygens' theorem with k halfway between both origins:
        # -skew(p) skew(h) - skew(h) skew(p) - m skew(p)^2 = 2 (p.k) 1 - (k p^T + p k^T)
        k = h + (0.5 * self.mass) * p
        twice_pk = (2.0 * p) * k
        shift = [
            [twice_pk[1] + twice_pk[2], -(k[0] * p[1] + k[1] * p[0]), -(k[0] * p[2] + k[2] * p[0])],
            [0.0, twice_pk[2] + twice_pk[0], -(k[1] * p[2] + k[2] * p[1])],
            [0.0, 0.0, twice_pk[0] + twice_pk[1]],
        ]
        # one triangle only: of the other, symbols would make second copies of the same equations
        second = [
            [turned[min(i, j), max(i, j)] + shift[min(i, j)][max(i, j)] for j in range(3)]
            for i in range(3)
        ]
        return Inertia(self.mass, h + self.mass * p, np.array(second))

    def __add__(self, other: Inertia) -> Inertia:
        """Two bodies joined rigidly; both given in the same frame."""
        return Inertia(
            self.mass + other.mass,
            self.first_moment + other.first_moment,
            self.second_moment + other.second_moment,
        )


class JointType(enum.Enum):
    """The joint types of URDF that an arm is made of."""

    REVOLUTE = "revolute"
    CONTINUOUS = "continuous"
    PRISMATIC = "prismatic"
    FIXED = "fixed"

    @property
    def rotates(self) -> bool:
        """True for revolute and continuous joints."""
        return self in (JointType.REVOLUTE, JointType.CONTINUOUS)


@dataclass(frozen=True)
class Limits:
    """Range of one joint: rad or m, per second, N m or N; infinite where unknown."""

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
class Joint:
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
    limits: Limits = Limits()
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
class Link:
    """One rigid body; its frame is the frame of the joint that carries it."""

    name: str
    inertia: Inertia = field(default_factory=Inertia.zero)


@dataclass(frozen=True, eq=False)
class Frame:
    """A named frame fixed to a link: pose X_LF of the frame in that link."""

    link: str
    pose: Pose


@dataclass(frozen=True, eq=False)
class JointLimits:
    """Limits of all independent joints, in the order of `Robot.joint_names`, shape (n,) each."""

    lower: Array
    upper: Array
    velocity: Array
    effort: Array


@dataclass(frozen=True, eq=False)
class Coupling:
    """How the m moving joints of a tree follow its n independent ones.

    Every moving joint is an independent joint itself or follows one (mimic):
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
        """Positions of all moving joints, shape (m,), from the independent ones, shape (n,)."""
        return self.rates(q) + self.offset

    def rates(self, qd: Array) -> Array:
        """Velocities or accelerations of all moving joints, from the independent ones."""
        return self.multiplier * np.asarray(qd)[self.leader]

    def efforts(self, tau: Array) -> Array:
        """E^T tau: efforts of the independent joints, which carry those of their followers."""
        return self.columns(tau)

    def columns(self, A: Array) -> Array:
        """E^T A: sum the rows of A that belong to each independent joint, shape (n, ...)."""
        total: Any = np.zeros((self.dof, *A.shape[1:]), dtype=A.dtype)
        for row, (i, factor) in enumerate(zip(self.leader, self.multiplier, strict=True)):
            total[i] = total[i] + factor * A[row]
        return np.asarray(total)

    def square(self, A: Array) -> Array:
        """E^T A E, shape (n, n)."""
        return self.columns(self.columns(A).T).T


@dataclass(frozen=True, eq=False)
class Robot:
    """A tree of links and joints in its zero reference position.

    Args:
        name: Name in the URDF.
        links: Root link first; links[k + 1] is carried by joints[k].
        joints: Depth first, in document order.
        gravity: Acceleration of free fall in the axes of the root link, shape (3,), m/s^2.
        frames: Named frames other than the links' own, as links leave them when merged.
    """

    name: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    gravity: Array = field(default_factory=lambda: frozen(STANDARD_GRAVITY))
    frames: Mapping[str, Frame] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "gravity", frozen(self.gravity))
        object.__setattr__(self, "frames", MappingProxyType(dict(self.frames)))
        if len(self.links) != len(self.joints) + 1:
            raise RobotError(
                f"robot '{self.name}': {len(self.links)} links need {len(self.links) - 1} joints, "
                f"got {len(self.joints)}; a tree has one joint for every link but the root"
            )
        for joint, link in zip(self.joints, self.links[1:], strict=True):
            if joint.child != link.name:
                raise RobotError(
                    f"robot '{self.name}': joint '{joint.name}' carries '{joint.child}' but stands "
                    f"before link '{link.name}'; list links in the order of their joints"
                )
        _ = self.parents  # a joint on an unknown or later link is refused here

    # -- the tree ---------------------------------------------------------------------------

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
        """Index of a link in `links`.

        Raises:
            UnknownNameError: If there is no such link.
        """
        self._check_known("link", name, self._link_index)
        return self._link_index[name]

    def joint(self, name: str) -> Joint:
        """The joint of that name.

        Raises:
            UnknownNameError: If there is no such joint.
        """
        self._check_known("joint", name, self._joint_index)
        return self.joints[self._joint_index[name]]

    def frame(self, name: str) -> Frame:
        """Where a link or named frame is fixed.

        Raises:
            UnknownNameError: If there is neither a link nor a frame of that name.
        """
        self._check_known("frame", name, self.frame_names)
        return Frame(name, Pose.identity()) if name in self._link_index else self.frames[name]

    def _check_known(self, kind: str, name: str, known: Collection[str]) -> None:
        """Raise UnknownNameError for a name that the robot does not have, or that is no text."""
        check_known(kind, name, f"robot '{self.name}'", known)

    @property
    def frame_names(self) -> tuple[str, ...]:
        """Names of all links and of all frames fixed to them."""
        return (*self._link_index, *self.frames)

    @property
    def tips(self) -> tuple[str, ...]:
        """Names of the links that carry no joint."""
        carriers = {joint.parent for joint in self.joints}
        return tuple(link.name for link in self.links if link.name not in carriers)

    # -- the independent joints -------------------------------------------------------------

    @cached_property
    def moving_joints(self) -> tuple[Joint, ...]:
        """Joints that are not fixed, followers included, in tree order."""
        return tuple(joint for joint in self.joints if joint.moves)

    @cached_property
    def independent_joints(self) -> tuple[Joint, ...]:
        """Moving joints that follow no other; one per entry of q, in tree order."""
        return tuple(joint for joint in self.moving_joints if joint.mimic is None)

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the independent joints: the order of q, qd, qdd and tau."""
        return tuple(joint.name for joint in self.independent_joints)

    @property
    def dof(self) -> int:
        """Number of independent joints."""
        return len(self.independent_joints)

    @cached_property
    def limits(self) -> JointLimits:
        """Limits of the independent joints, in the order of `joint_names`."""
        limits = [joint.limits for joint in self.independent_joints]
        return JointLimits(
            lower=frozen([limit.lower for limit in limits]),
            upper=frozen([limit.upper for limit in limits]),
            velocity=frozen([limit.velocity for limit in limits]),
            effort=frozen([limit.effort for limit in limits]),
        )

    @cached_property
    def coupling(self) -> Coupling:
        """How `moving_joints` follow q: the mimic tags as index, multiplier and offset."""
        index = {name: i for i, name in enumerate(self.joint_names)}
        couplings = [joint.mimic or Mimic(joint.name) for joint in self.moving_joints]
        return Coupling(
            leader=np.array([index[mimic.joint] for mimic in couplings], dtype=np.intp),
            multiplier=frozen([mimic.multiplier for mimic in couplings]),
            offset=frozen([mimic.offset for mimic in couplings]),
            dof=self.dof,
        )

    def with_gravity(self, gravity: npt.ArrayLike) -> Robot:
        """The same robot under another gravity vector, shape (3,), m/s^2, axes of the root link.

        Raises:
            RobotError: If it is anything but three finite numbers.
        """
        return replace(self, gravity=numbers("gravity", gravity, (3,)))

    # The others are functions of `transforms`, where each says all about itself; imported when
    # called, because that module imports this one.

    def with_locked(self, positions: Mapping[str, float]) -> Robot:
        """Fix joints at positions (rad or m) by name, and their followers: `transforms.lock`."""
        from robot_dynamics.robot import transforms  # noqa: PLC0415

        return transforms.lock(self, positions)

    def with_payload(
        self,
        frame: str,
        mass: float,
        com: npt.ArrayLike = (0.0, 0.0, 0.0),
        inertia: npt.ArrayLike | None = None,
    ) -> Robot:
        """Fasten a body to a link: mass kg, com (3,) m and inertia about it (3, 3) kg m^2.

        Both in the axes of `frame`: `transforms.with_payload`.
        """
        from robot_dynamics.robot import transforms  # noqa: PLC0415

        return transforms.with_payload(self, frame, mass, com, inertia)

    def subchain(self, base: str, tip: str) -> Robot:
        """Cut out the links and joints from `base` to `tip`: `transforms.subchain`."""
        from robot_dynamics.robot import transforms  # noqa: PLC0415

        return transforms.subchain(self, base, tip)

    def mounted(self, orientation: npt.ArrayLike | Pose) -> Robot:
        """Turn the root link against the world; rpy (3,) or rotation (3, 3): `transforms.mount`."""
        from robot_dynamics.robot import transforms  # noqa: PLC0415

        return transforms.mount(self, orientation)
