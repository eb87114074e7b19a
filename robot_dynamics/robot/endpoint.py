"""The endpoint of a robot: its default frame, and wrenches transformed to their links."""

from __future__ import annotations

from collections.abc import Mapping

import numpy.typing as npt

from robot_dynamics.errors import ArgumentError
from robot_dynamics.foundation.arrays import Array, vector
from robot_dynamics.robot.robot import Robot
from robot_dynamics.spatial import cross

Wrenches = Mapping[int, tuple[Array, Array]]
"""By index of a link: force (3,), N, and moment (3,), N m, about the link origin that the link
exerts on its surroundings, in link axes."""


def only_tip(robot: Robot) -> str:
    """Return the name of the only tip of the robot.

    Raises:
        ArgumentError: If it has several tips.
    """
    tips = robot.tips
    if len(tips) != 1:
        raise ArgumentError(
            f"frame: robot '{robot.name}' has {len(tips)} tips ({', '.join(tips)}); "
            "say which frame is meant"
        )
    return tips[0]


def wrench_argument(robot: Robot, wrench: npt.ArrayLike | None, frame: str | None) -> Wrenches:
    """Convert a wrench (6,) at a frame, or None, to wrenches by link.

    Raises:
        ShapeError: If it does not have six entries.
        ArgumentError: If an entry is not a finite number, or as `wrench_on_link`.
        UnknownNameError: If there is no such frame.
    """
    if wrench is None:
        return {}
    return dict([wrench_on_link(robot, vector("wrench", wrench, 6), frame)])


def wrench_on_link(
    robot: Robot, wrench: Array, frame: str | None
) -> tuple[int, tuple[Array, Array]]:
    """Transform a wrench at a frame to the origin and axes of the link that the frame is fixed to.

    [AsadaSlotine1986], example 4-2: the force stays, the moment gains r x f.

    Returns:
        Index of the link, and force (3,) and moment (3,) there.

    Raises:
        UnknownNameError: If there is no such frame.
        ArgumentError: If no frame is given and the robot has several tips.
    """
    place = robot.frame(only_tip(robot) if frame is None else frame)
    R, r = place.pose.rotation, place.pose.translation
    force, moment = R @ wrench[:3], R @ wrench[3:]
    return robot.link_index(place.link), (force, moment + cross(r, force))
