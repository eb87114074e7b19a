"""An arm from tables of its zero reference position, and the vectors of its hand.

[Gupta1986], section 2, Tables 1 and 2; see `robot_dynamics.robot.zero_position`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from robot_dynamics.errors import RobotError, ShapeError
from robot_dynamics.foundation.arrays import Array, Value, frozen
from robot_dynamics.robot.kinematic_tree import Frame, Joint, JointType, Link
from robot_dynamics.robot.robot import STANDARD_GRAVITY, Robot
from robot_dynamics.robot.zero_position import ZeroReference
from robot_dynamics.spatial import Inertia, Pose

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
        """Return the hand's orientation in the base, columns u_t, u_a x u_t, u_a, shape (3, 3)."""
        return np.column_stack((self.u_ot, np.cross(self.u_oa, self.u_ot), self.u_oa))


def hand_of(zero: ZeroReference, frame: str = HAND) -> Hand:
    """Return reference point and unit vectors of a frame that is fixed to a link.

    Raises:
        UnknownNameError: If there is no such frame.
    """
    place = zero.robot.frame(frame)
    i, R = zero.robot.link_index(place.link), place.pose.rotation
    if frame == place.link:  # the link's own frame, which was turned parallel to the base
        R = zero.axes[i]
    return Hand(i, place.pose.translation, R[:, 2], R[:, 0])


def zero_reference_from_tables(
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
        gravity: Gravitational acceleration, shape (3,), m/s^2.
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


def _rows(name: str, values: npt.ArrayLike, *shape: int) -> Array:
    array = frozen(values)
    if array.shape != shape:
        raise ShapeError(
            f"{name} must have shape {shape}, one row per joint, got {array.shape}; "
            f"the table of joint types has {shape[0]} rows"
        )
    return array


def _moving_type(k: int, name: JointType | str) -> JointType:
    moving = [kind for kind in JointType if kind is not JointType.FIXED and not kind.free]
    for kind in moving:
        if name in (kind, kind.value):
            return kind
    raise RobotError(
        f"types[{k}] is {name!r}; a joint is one of {', '.join(kind.value for kind in moving)}"
    )


def _unit(name: str, v: Array) -> Array:
    """Return the unit vector along v; one of symbols is taken as a unit vector."""
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
