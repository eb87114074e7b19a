"""The endpoint of a robot: its default frames, and wrenches transformed to their links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy.typing as npt

from robot_dynamics.errors import ArgumentError
from robot_dynamics.foundation.arrays import Array, vector
from robot_dynamics.robot.kinematic_tree import Joint
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


TOOL0 = "tool0"
"""Name of the frame of tools by the convention of ROS-Industrial."""

TOOLS = (TOOL0, "tcp", "tool", "end_effector", "eef", "ee_link")
"""Words in the names of frames of tools, the most frequent one first."""

MOST_TIPS = 6
"""Number of tips in a message."""

FINGERS = ("finger", "gripper", "jaw", "knuckle")
"""Words in the names of joints that move fingers."""

SENSORS = ("camera", "optical")
"""Words in the names of frames of sensors."""


def default_end_effector(robot: Robot) -> str:
    """Return the frame that modes in task space control by default; see `end_effector_by_rule`.

    Raises:
        ArgumentError: If there is none.
    """
    end_effector = end_effector_by_rule(robot)
    if end_effector is None:
        raise ArgumentError(
            f"robot '{robot.name}' has {len(robot.tips)} tips ({_some(robot.tips)}), and no rule "
            "says which one is the end effector; name its frame"
        )
    return end_effector


def _some(names: Sequence[str]) -> str:
    return ", ".join((*names[:MOST_TIPS], *("...",) * (len(names) > MOST_TIPS)))


def end_effector_by_rule(robot: Robot) -> str | None:
    """Return the frame that modes in task space control by default, or None without one.

    The tips that a finger joint moves are left out, the frames of cameras, and those that fewer
    joints move than others, such as a sensor on the forearm. Of several tips on one body the end
    effector is the first one with the first of the words `TOOLS` that a name has. Where there are
    only fingers, the end effector is the link that carries them. There is none if tips that move
    against each other are left.
    """
    seeing = [tip for tip in robot.tips if any(word in tip.lower() for word in SENSORS)]
    tips = [tip for tip in robot.tips if tip not in seeing] or seeing
    paths = {tip: _moving_path(robot, tip) for tip in tips}
    bare = {tip: path for tip, path in paths.items() if not any(map(_moves_finger, path))}
    if not bare:
        carriers = [next(filter(_moves_finger, path)).parent for path in paths.values()]
        carried = {link: _moving_path(robot, link) for link in carriers}
        bare = carried if all(carried.values()) else paths
    longest = max(map(len, bare.values()))
    found = [tip for tip, path in bare.items() if len(path) == longest]
    if len({joint.name for tip in found for joint in bare[tip][-1:]}) > 1:
        return None
    return min(found, key=_rank)


def _rank(frame: str) -> int:
    """Return the place of the word in `TOOLS` that names a frame, or their number."""
    return next((k for k, word in enumerate(TOOLS) if word in frame.lower()), len(TOOLS))


def _moving_path(robot: Robot, frame: str) -> list[Joint]:
    """Return the moving joints between the root and a frame."""
    path = robot.path_to(robot.frame(frame).link)
    return [robot.joints[k] for k in path if robot.joints[k].moves]


def _moves_finger(joint: Joint) -> bool:
    return any(word in joint.name.lower() for word in FINGERS)


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
