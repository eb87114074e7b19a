"""Arguments that several verbs share."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from robot_dynamics.errors import ArgumentError, unknown_name
from robot_dynamics.robot import Robot, read_urdf
from robot_dynamics.robot.library import find_robot
from robot_dynamics.robot.robot import Array

LONGEST = 3600.0
"""Longest motion of a verb, s."""


def add_robot(parser: argparse.ArgumentParser) -> None:
    """Positional argument for the robot."""
    parser.add_argument(
        "robot", help="path of a URDF, or name of a known robot (panda, ur5, planar_2r, ...)"
    )


def load_robot(name: str) -> Robot:
    """The robot of that name or path.

    Raises:
        UnknownNameError: If there is neither such a file nor such a robot.
        UrdfError: If the file cannot be read as a robot.
    """
    return read_urdf(find_robot(name))


def joint_values(option: str, text: str | None, robot: Robot, default: Array) -> Array:
    """Numbers for the joints, as typed.

    Args:
        option: Name of the option, for messages.
        text: "0.1,0.2,..." in the order of the joints, or "elbow=0.2,wrist=1" for some of them;
            None for the default.
        robot: The robot.
        default: Value of every joint that is not named, shape (n,).

    Raises:
        ArgumentError: If a number is not one, or their count does not fit.
        UnknownNameError: If a joint does not exist.
    """
    values = np.array(default, dtype=np.float64)
    if text is None:
        return values
    entries = [entry.strip() for entry in text.split(",") if entry.strip()]
    if any("=" in entry for entry in entries):
        for entry in entries:
            name, _, number = entry.partition("=")
            if name not in robot.joint_names:
                raise unknown_name("joint", name, f"robot '{robot.name}'", robot.joint_names)
            values[robot.joint_names.index(name)] = _number(option, number)
        return values
    if len(entries) != robot.dof:
        raise ArgumentError(
            f"{option}: {len(entries)} numbers for {robot.dof} joints "
            f"({', '.join(robot.joint_names)}); give one per joint, or JOINT=NUMBER for some"
        )
    values[:] = [_number(option, entry) for entry in entries]
    return values


def positive(text: str) -> float:
    """A positive number, for argparse."""
    value = float(text)
    if not (np.isfinite(value) and value > 0.0):
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return value


def duration(text: str) -> float:
    """A duration in seconds that a simulation can keep in memory, for argparse."""
    value = positive(text)
    if value > LONGEST:
        raise argparse.ArgumentTypeError(f"{text} s is too long; at most {LONGEST:g} s")
    return value


def folder(text: str) -> Path:
    """A folder to write to, made now: before long work and not after it; for argparse."""
    path = Path(text)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{text}: {error.strerror}; name a folder") from None
    return path


def joint_units(robot: Robot, joints: Sequence[str]) -> list[tuple[str, str]]:
    """Units of position and effort of each joint: ("rad", "N m") or ("m", "N")."""
    return [("rad", "N m") if robot.joint(name).type.rotates else ("m", "N") for name in joints]


def _number(option: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise ArgumentError(f"{option}: '{text}' is not a number") from None
    if not np.isfinite(value):
        raise ArgumentError(f"{option}: '{text}' is not a finite number")
    return value
