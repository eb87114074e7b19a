"""The joints of a robot that a command line chooses, and where the others stand."""

from __future__ import annotations

import argparse
import logging
import math
import sys
from collections.abc import Mapping
from typing import Any

from robot_dynamics.cli.arguments import load_robot
from robot_dynamics.errors import ArgumentError, RobotError, UnknownNameError, unknown_name
from robot_dynamics.foundation.numbers import SPACES
from robot_dynamics.foundation.user_files import number
from robot_dynamics.robot import Robot
from robot_dynamics.robot.endpoint import TOOL0, default_end_effector
from robot_dynamics.robot.joint_units import joint_unit
from robot_dynamics.trajectory.motions import middle_pose

logger = logging.getLogger(__name__)


def add_lock(parser: argparse.ArgumentParser, help_text: str) -> None:
    """Add the option for joints with known, constant positions; see `still_joints`."""
    parser.add_argument("--lock", metavar="JOINT=POSITION,...", help=help_text)


END_EFFECTOR_RULE = f"{TOOL0}, or the tip that no finger joint moves"


def add_end_effector(
    parser: argparse.ArgumentParser, help_text: str, option: str = "--frame"
) -> None:
    """Add an option for a frame that is the end effector by default; see `end_effector_of`."""
    parser.add_argument(option, help=f"{help_text} (default: {END_EFFECTOR_RULE})")


def end_effector_of(arguments: argparse.Namespace, robot: Robot, option: str = "--frame") -> str:
    """Return the end effector of a command line, and say which one it is of several tips.

    Args:
        arguments: What `add_end_effector` has parsed.
        robot: The robot.
        option: Option that names the end effector.

    Raises:
        ArgumentError: As of `default_end_effector`.
        UnknownNameError: If the robot has no such frame.
    """
    return frame_or_end_effector(getattr(arguments, option[2:].replace("-", "_")), robot, option)


def frame_or_end_effector(frame: str | None, robot: Robot, option: str) -> str:
    """Return a frame, or the end effector, and say which one it is; see `end_effector_of`."""
    if frame is not None:
        robot.frame(frame)
        return frame
    try:
        end_effector = default_end_effector(robot)
    except ArgumentError as error:
        raise ArgumentError(f"{error} by {option}") from None
    if robot.tips != (end_effector,):
        print(f"frame: {end_effector} ({option} names another)", file=sys.stderr)
    return end_effector


def robot_of(arguments: argparse.Namespace, **options: Any) -> Robot:
    """Return the robot of a command line, without the joints of `still_joints`.

    Args:
        arguments: What `add_robot` and perhaps `add_lock` have parsed.
        options: As of `load_robot`.
    """
    robot = load_robot(arguments.robot, **options)
    still = still_joints(arguments, robot)
    return robot.with_locked(still) if still else robot


def still_joints(
    arguments: argparse.Namespace, robot: Robot, others: Mapping[str, str] | None = None
) -> dict[str, float]:
    """Return the positions of joints that stand still, rad or m, and say what is left out.

    Joints stand where --lock says. Those that --tip or --joints leave out, and `others`, stand in
    the middle of their ranges, as those of the parameter `joints` of a node do.

    Args:
        arguments: What `add_robot` and perhaps `add_lock` have parsed.
        robot: The whole robot.
        others: Further joints to leave out by name, with the reason of each.

    Raises:
        UnknownNameError: If the robot has no such frame or joint.
        RobotError: If no joint is left.
    """
    given = lock_positions(getattr(arguments, "lock", None), robot)
    reasons = dict(others or {})
    if arguments.tip is not None:
        reasons |= dict.fromkeys(
            _not_moving(robot, arguments.tip), f"not on the way to {arguments.tip}"
        )
    if arguments.joints is not None:
        chosen = [name.strip(SPACES) for name in arguments.joints.split(",")]
        for name in chosen:
            if name not in robot.joint_names:
                error = unknown_name("joint", name, f"robot '{robot.name}'", robot.joint_names)
                raise UnknownNameError(f"--joints: {error}")
        reasons = {name: why for name, why in reasons.items() if name not in chosen}
        missing = [name for name in robot.joint_names if name not in chosen]
        reasons |= dict.fromkeys(missing, "not of --joints")
    middle = dict(zip(robot.joint_names, middle_pose(robot).tolist(), strict=True))
    left_out = {name: middle[name] for name in reasons if name not in given}
    if left_out:
        by_reason: dict[str, list[str]] = {}
        for name, q in left_out.items():
            by_reason.setdefault(reasons[name], []).append(f"{name} at {q:.4g}")
        said = (f"{', '.join(names)} ({why})" for why, names in by_reason.items())
        print(f"left out: {'; '.join(said)}", file=sys.stderr)
    if robot.dof and len({*left_out, *given} & {*robot.joint_names}) == robot.dof:
        raise RobotError(f"robot '{robot.name}' has no joint left; leave out fewer")
    return {**left_out, **given}


def _not_moving(robot: Robot, tip: str) -> list[str]:
    """Return the independent joints that do not move a link or frame."""
    path = [robot.joints[k] for k in robot.path_to(robot.frame(tip).link)]
    moving = {joint.mimic.joint if joint.mimic else joint.name for joint in path}
    joints = (joint for joint in robot.independent_joints if not joint.type.free)
    return [joint.name for joint in joints if joint.name not in moving]


def lock_positions(text: str | None, robot: Robot) -> dict[str, float]:
    """Return the positions of `--lock` by joint, rad or m; warn of one outside its limits."""
    positions = {
        name: number(f"--lock: {name}", value, ArgumentError)
        for name, value in name_pairs("--lock", text or "").items()
    }
    for joint in robot.independent_joints:
        q, (low, high) = positions.get(joint.name), (joint.limits.lower, joint.limits.upper)
        if q is not None and math.isfinite(q) and not low <= q <= high:
            logger.warning(
                "--lock: joint '%s' at %g is outside its limits, %.4g to %.4g %s",
                *(joint.name, q, low, high, joint_unit(joint, "position")),
            )
    return positions


def name_pairs(option: str, text: str) -> Mapping[str, str]:
    """Parse "NAME=VALUE,NAME=VALUE,..."."""
    pairs = [entry.partition("=") for entry in text.split(",") if entry.strip()]
    if not all(name and value for name, _, value in pairs):
        raise ArgumentError(f"{option}: '{text}' is not JOINT=VALUE,JOINT=VALUE,...")
    return {name.strip(): value.strip() for name, _, value in pairs}


def selection_words(arguments: argparse.Namespace) -> list[str]:
    """Return the options that choose joints, as words of a command line."""
    words = []
    for option in ("tip", "joints", "lock"):
        value = getattr(arguments, option, None)
        if value is not None:
            words += [f"--{option}={value}"] if value.startswith("-") else [f"--{option}", value]
    return words
