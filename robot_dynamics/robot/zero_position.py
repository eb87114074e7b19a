"""The zero reference position: a robot described in base axes, as it stands at zero.

[Gupta1986], section 2: unit vectors along the joint axes and body vectors between
joint centres and mass centres, all in the axes of the base while every joint
position is zero. No link frames are needed. In the terms of this package these
are the link frames of a URDF turned parallel to the base, so that one Robot ->
Robot function leads there and back.

Numbering. The paper counts links from 1 (the base) to n + 1 and joints from 1 to
n, so that joint k carries link k + 1. Here `links[i]` is the paper's link i + 1
and `joints[k]` its joint k + 1. A body vector b or d has the number of the joint
where it ends, as in the paper; on a tree a link has one for every joint it carries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from robot_dynamics.arrays import Array, Value, frozen
from robot_dynamics.errors import RobotError, ShapeError
from robot_dynamics.robot.joint import Joint, JointType
from robot_dynamics.robot.joint_frames import in_frames
from robot_dynamics.robot.link import Frame, Link
from robot_dynamics.robot.robot import STANDARD_GRAVITY, Robot
from robot_dynamics.robot.transforms import merge_fixed
from robot_dynamics.spatial.rigid_body import Inertia, Pose

HAND = "hand"
"""Name of the hand frame of a robot built from tables."""


@dataclass(frozen=True, eq=False)
class Hand(Value):
    """A hand at the zero position: reference point h and two unit vectors, in base axes.

    Args:
        link: Index of the link that the hand is fixed to.
        b: Body vector from the centre of the joint that carries the link to h, shape (3,), m.
        u_oa: Axial unit vector, shape (3,): the z axis of the hand's frame.
        u_ot: Transverse unit vector, shape (3,): its x axis.
    """

    link: int
    b: Array
    u_oa: Array
    u_ot: Array

    @property
    def rotation(self) -> Array:
        """Orientation of the hand's frame in the base, shape (3, 3): u_t, u_a x u_t, u_a."""
        return np.column_stack((self.u_ot, np.cross(self.u_oa, self.u_ot), self.u_oa))


@dataclass(frozen=True, eq=False)
class ZeroReference(Value):
    """A robot in its zero reference position, all vectors in base axes.

    Args:
        robot: The robot with every link frame parallel to the base at zero.
        axes: R_0L, orientation at zero of the link frames that the robot was described in,
            shape (n + 1, 3, 3).
    """

    robot: Robot
    axes: Array

    # -- from a robot and back ----------------------------------------------------------------

    @staticmethod
    def from_robot(robot: Robot) -> ZeroReference:
        """Describe a robot by its zero reference position; fixed links are merged."""
        tree = merge_fixed(robot)
        R_0L: list[Array] = [np.eye(3)]
        for k, joint in enumerate(tree.joints):
            R_0L.append(R_0L[tree.parents[k]] @ joint.origin.rotation)
        axes = np.array(R_0L)
        turned = _in_axes(tree, np.swapaxes(axes, 1, 2))
        # Parallel by construction: exactly so, and not by a product that comes close to it
        joints = [
            replace(joint, origin=Pose(np.eye(3), joint.origin.translation))
            for joint in turned.joints
        ]
        return ZeroReference(replace(turned, joints=tuple(joints)), frozen(axes))

    def to_robot(self) -> Robot:
        """The robot in the link frames that it was described in."""
        return _in_axes(self.robot, self.axes)

    @staticmethod
    def from_tables(
        types: Sequence[JointType | str],
        u: npt.ArrayLike,
        s: npt.ArrayLike,
        b: npt.ArrayLike,
        masses: npt.ArrayLike,
        inertias: npt.ArrayLike,
        *,
        u_oa: npt.ArrayLike = (0.0, 0.0, 1.0),
        u_ot: npt.ArrayLike = (1.0, 0.0, 0.0),
        gravity: npt.ArrayLike = STANDARD_GRAVITY,
        name: str = "arm",
    ) -> ZeroReference:
        """Build a chain from tables of the paper's form (its Tables 1 and 2), one row per joint.

        The first joint centre is the base origin; row k ends at the next joint centre, the last
        row at the hand point h.

        Args:
            types: "revolute", "continuous" or "prismatic", n of them.
            u: Unit vectors u_ok along the joints, shape (n, 3).
            s: From joint centre k to the mass centre of the link it carries, shape (n, 3), m.
            b: From joint centre k to the next one, shape (n, 3), m.
            masses: Mass of the link that joint k carries, shape (n,), kg.
            inertias: Its inertia about its mass centre, shape (n, 3, 3), kg m^2.
            u_oa: Axial unit vector of the hand, shape (3,).
            u_ot: Transverse unit vector of the hand, shape (3,), perpendicular to u_oa.
            gravity: Acceleration of free fall, shape (3,), m/s^2.
            name: Name of the robot.

        Raises:
            ShapeError: If a table does not have one row per joint.
            RobotError: If a type is unknown, an axis is zero, or the hand vectors are not
                perpendicular unit vectors.
        """
        n = len(types)
        u, s, b = _rows("u", u, n, 3), _rows("s", s, n, 3), _rows("b", b, n, 3)
        masses, inertias = _rows("masses", masses, n), _rows("inertias", inertias, n, 3, 3)
        links, joints = [Link("link_1")], []
        start = np.zeros(3)
        for k in range(n):
            joints.append(
                Joint(
                    name=f"joint_{k + 1}",
                    type=_moving_type(k, types[k]),
                    parent=links[-1].name,
                    child=f"link_{k + 2}",
                    origin=Pose(np.eye(3), start),
                    axis=_unit(f"u[{k}]", u[k]),
                )
            )
            links.append(Link(f"link_{k + 2}", Inertia.from_com(masses[k], s[k], inertias[k])))
            start = b[k]
        hand = Frame(links[-1].name, Pose(_hand_axes(u_oa, u_ot), start))
        robot = Robot(name, tuple(links), tuple(joints), frozen(gravity), {HAND: hand}, (HAND,))
        return ZeroReference(robot, frozen(np.array([np.eye(3)] * (n + 1))))

    # -- the vectors of section 2 -------------------------------------------------------------

    @property
    def u(self) -> Array:
        """Unit vectors u_ok along the joints, shape (n, 3)."""
        return np.array([joint.axis for joint in self.robot.joints])

    @property
    def b(self) -> Array:
        """Body vectors b_ok that end at joint k, shape (n, 3), m.

        They start at the centre of the joint that carries the link, or at the base origin.
        """
        return np.array([joint.origin.translation for joint in self.robot.joints])

    @property
    def s(self) -> Array:
        """Vectors s_ok from the joint that carries link k to its mass centre, (n + 1, 3), m."""
        return np.array([link.inertia.com for link in self.robot.links])

    @property
    def d(self) -> Array:
        """Vectors d_ok from the mass centre of the link before joint k to joint k, (n, 3), m."""
        b, s = self.b, self.s
        return np.array([b[k] - s[i] for k, i in enumerate(self.robot.parents)])

    @property
    def mass(self) -> Array:
        """Masses of the links, shape (n + 1,), kg; the paper lists weights m g."""
        return np.array([link.inertia.mass for link in self.robot.links])

    @property
    def inertia(self) -> Array:
        """Inertias [I_ok] about the mass centres, in base axes at zero, (n + 1, 3, 3), kg m^2."""
        return np.array([link.inertia.about_com for link in self.robot.links])

    @property
    def centres(self) -> Array:
        """Positions P_ok of the joint centres in the base, shape (n, 3), m: sums of the b_ok."""
        P: list[Array] = [np.zeros(3)]
        for k, i in enumerate(self.robot.parents):
            P.append(P[i] + self.robot.joints[k].origin.translation)
        return np.array(P[1:])

    def hand(self, frame: str = HAND) -> Hand:
        """Reference point and unit vectors of a frame that is fixed to a link.

        Raises:
            UnknownNameError: If there is no such frame.
        """
        place = self.robot.frame(frame)
        i, R = self.robot.link_index(place.link), place.pose.rotation
        if frame == place.link:  # the link's own frame, which was turned parallel to the base
            R = self.axes[i]
        return Hand(i, place.pose.translation, R[:, 2], R[:, 0])


def _in_axes(tree: Robot, R: Array) -> Robot:
    """Turn link frames about their origins: R[i] is the new frame of link i in its old one."""
    return in_frames(tree, [Pose(R_LN, np.zeros(3)) for R_LN in R[1:]])


def _rows(name: str, values: npt.ArrayLike, *shape: int) -> Array:
    array = frozen(values)
    if array.shape != shape:
        raise ShapeError(
            f"{name} must have shape {shape}, one row per joint, got {array.shape}; "
            f"the table of joint types has {shape[0]} rows"
        )
    return array


def _moving_type(k: int, name: JointType | str) -> JointType:
    moving = [kind for kind in JointType if kind is not JointType.FIXED]
    for kind in moving:
        if name in (kind, kind.value):
            return kind
    raise RobotError(
        f"types[{k}] is {name!r}; a joint is one of {', '.join(kind.value for kind in moving)}"
    )


def _unit(name: str, v: Array) -> Array:
    """The unit vector along v; symbols are taken at their word."""
    if v.dtype == object:
        return v
    length = float(np.linalg.norm(v))
    if not length > 0.0:
        raise RobotError(f"{name} has length {length}; give the direction of the joint axis")
    return v / length


def _hand_axes(u_oa: npt.ArrayLike, u_ot: npt.ArrayLike) -> Array:
    z, x = np.asarray(u_oa, dtype=np.float64), np.asarray(u_ot, dtype=np.float64)
    R = np.column_stack((x, np.cross(z, x), z))
    if not np.allclose(R.T @ R, np.eye(3), rtol=0.0, atol=1e-9):
        raise RobotError(
            f"u_oa {z.tolist()} and u_ot {x.tolist()} must be unit vectors at right angles"
        )
    return R
