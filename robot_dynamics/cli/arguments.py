"""Arguments that several verbs share, and their types for argparse.

Paths of outputs are checked before the work of a verb, so that nothing is computed in vain. Their
errors are no ValueError, which argparse would report in its own words.
"""

from __future__ import annotations

import argparse
import logging
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from robot_dynamics.cli.warnings_shown import collected
from robot_dynamics.errors import (
    ArgumentError,
    RobotDynamicsError,
    RobotError,
    UnknownNameError,
    unknown_name,
)
from robot_dynamics.formulations import DEFAULT_FORMULATION, FORMULATIONS, FORWARD_ROUTES
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.numbers import SPACES, counted, number_from
from robot_dynamics.robot import Robot, read_urdf, urdf_text
from robot_dynamics.robot.catalogue import located
from robot_dynamics.robot.joint_units import joint_unit
from robot_dynamics.robot.urdf.document import ESTIMATES
from robot_dynamics.robot.urdf.reader import OPEN_CHAIN

OF_ALL_EFFORTS = (ESTIMATES.partition(": ")[2], OPEN_CHAIN)
"""Words of warnings that put all efforts in doubt, which every verb prints."""

RECORDINGS = (".mcap", ".db3", ".npz")
"""Ends of the names of files that hold a recording, and never a robot."""

LONGEST_S = 3600.0
"""Longest duration of a motion, s."""

logger = logging.getLogger(__name__)

MASS_ERRORS = (-90.0, 900.0)
"""Least and greatest error of the masses, percent: a tenth to ten times the modelled mass."""


def add_robot(parser: argparse.ArgumentParser, *, optional: bool = False) -> None:
    """Add the positional argument for the robot."""
    parser.add_argument(
        "robot",
        nargs="?" if optional else None,
        help="path of a URDF, xacro or table, or name of a robot (panda, ur5, planar_2r, ...); "
        "arguments of a xacro file follow it: name:=value",
    )
    parser.add_argument(
        "--tip",
        metavar="FRAME",
        help="only the joints that move this link or frame; the others stand still",
    )
    parser.add_argument(
        "--joints", metavar="JOINT,...", help="only these joints; the others stand still"
    )


def add_formulation(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the option for the formulation; `what` is the use of its equations."""
    parser.add_argument(
        "--formulation",
        choices=list(FORMULATIONS),
        default=DEFAULT_FORMULATION,
        help=f"equations to {what} (default: {DEFAULT_FORMULATION}); accelerations come from M and "
        "bias: " + "; ".join(f"{name}, {route}" for name, route in FORWARD_ROUTES.items()),
    )


def add_motion(parser: argparse.ArgumentParser, *, mass_error: float) -> None:
    """Add options for following a motion; `mass_error` is the default, percent."""
    parser.add_argument(
        "--rate", type=positive, default=1000.0, help="rate of control, Hz (default: 1000)"
    )
    parser.add_argument(
        "--duration", type=duration, default=6.0, help="duration of the motion, s (default: 6)"
    )
    parser.add_argument(
        "--mass-error",
        type=percentage,
        default=mass_error,
        metavar="PERCENT",
        help="how much heavier than its model says every link of the robot is "
        f"(default: {mass_error:g})",
    )


def add_server(parser: argparse.ArgumentParser) -> None:
    """Add the options for serving a page."""
    from robot_dynamics.viewer.address import LOOPBACK, PORT  # noqa: PLC0415  # sockets

    parser.add_argument(
        "--port", type=int, default=PORT, help=f"port of the page (default: {PORT})"
    )
    parser.add_argument(
        "--host",
        default=LOOPBACK,
        help="address to serve; 0.0.0.0 opens the page to the network (default: this machine only)",
    )


def load_robot(
    name: str,
    *,
    moving: bool = True,
    inertia: bool = True,
    free_joints: bool = False,
    warnings: list[str] | None = None,
) -> Robot:
    """Return the robot of a name or path.

    Args:
        name: Name or path from the command line.
        moving: Whether to refuse a robot without moving joints.
        inertia: Whether to refuse a joint that moves no inertia.
        free_joints: Whether floating and planar joints are taken.
        warnings: Takes the warnings about the file, of which otherwise the number is printed.

    Raises:
        ArgumentError: If it is a recording.
        UnknownNameError: If there is neither such a file nor such a robot.
        UrdfError: If the file cannot be read as a robot.
        RobotError: If `moving` and it has no moving joint.
    """
    if name.endswith(RECORDINGS):
        raise ArgumentError(f"{name}: is no robot; give the robot before the recording")
    path = located(name)
    with collected() as found:
        robot = read_urdf(path, require_inertia=inertia, free_joints=free_joints)
    if warnings is not None:
        warnings += found
        found = []
    shown = [text for text in found if any(words in text for words in OF_ALL_EFFORTS)]
    for text in shown:
        logger.warning("%s", text)
    if left := len(found) - len(shown):
        print_all = f"robot-dynamics info {shlex.quote(name)}"
        logger.warning("%s about the URDF, which `%s` prints", counted(left, "warning"), print_all)
    if moving and not robot.dof:
        raise RobotError(
            f"{path}: robot '{robot.name}' has no joint that moves, so there are no torques; give "
            "it a revolute, continuous or prismatic joint"
        )
    return robot


@contextmanager
def ros_needed() -> Iterator[None]:
    """Import modules of `nodes`.

    Raises:
        RobotDynamicsError: If there is no rclpy to run nodes with.
    """
    try:
        yield
    except ImportError as error:
        raise RobotDynamicsError(
            f"no rclpy ({error}): source a ROS 2 installation, or pip install 'robot_dynamics[ros]'"
        ) from None


def say(what: str) -> None:
    """Announce a slow operation on an interactive terminal."""
    if sys.stderr.isatty():
        print(f"{what} ...", file=sys.stderr, flush=True)


def text_of_robot(name: str) -> str:
    """Return the URDF of a robot that `load_robot` has read before.

    Raises:
        ArgumentError: If it came through a pipe, which can be read only once.
    """
    text = urdf_text(name)
    if not text.strip():
        raise ArgumentError(f"{name}: can be read only once, and is needed again; give a file")
    return text


def joint_values(option: str, text: str | None, robot: Robot, default: Array) -> Array:
    """Parse numbers for the joints.

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
    for k, entry in joint_entries(option, text, robot).items():
        values[k] = _number(option, entry)
    return values


def joint_entries(option: str, text: str | None, robot: Robot) -> dict[int, str]:
    """Split "A,B,..." in the order of the joints, or "elbow=A,wrist=B" for some of them.

    Returns:
        Text of each joint that has one, by its index.

    Raises:
        ArgumentError: If their count does not fit.
        UnknownNameError: If a joint does not exist.
    """
    entries = [entry.strip(SPACES) for entry in (text or "").split(",") if entry.strip(SPACES)]
    found: dict[int, str] = {}
    if text is not None and not any("=" in entry for entry in entries):
        if len(entries) != robot.dof:
            raise ArgumentError(
                f"{option}: {counted(len(entries), 'number')} for {counted(robot.dof, 'joint')} "
                f"({', '.join(robot.joint_names)}); give one per joint, or JOINT=NUMBER for some"
            )
        return dict(enumerate(entries))
    for entry in entries:
        name, _, value = entry.partition("=")
        if name not in robot.joint_names:
            error = unknown_name("joint", name, f"robot '{robot.name}'", robot.joint_names)
            raise UnknownNameError(f"{option}: {error}")
        k = robot.joint_names.index(name)
        if k in found:
            raise ArgumentError(f"{option}: joint '{name}' is given twice; leave one out")
        found[k] = value
    return found


def number_list(option: str, text: str, names: Sequence[str]) -> Array:
    """Parse numbers "0.1,0.2,...", one for each name.

    Raises:
        ArgumentError: If a number is not one, or their count does not fit.
    """
    entries = [entry.strip(SPACES) for entry in text.split(",")]
    if len(entries) != len(names):
        raise ArgumentError(
            f"{option}: {counted(len(entries), 'number')} where {len(names)} are needed: "
            f"{','.join(names)}"
        )
    return np.array([_number(option, entry) for entry in entries])


def take_negative_lists(parser: argparse.ArgumentParser) -> None:
    """Accept "-0.1,0.2" as the value of an option."""
    # argparse takes it for an option, unlike "-0.1", unless its own pattern is changed
    parser._negative_number_matcher = re.compile(r"^-[\d.]")


def _of_option(text: str) -> float:
    try:
        return number_from(text)
    except ValueError:  # in whose place argparse would name the function
        raise argparse.ArgumentTypeError(f"'{text}' is not a number") from None


def positive(text: str) -> float:
    """Parse a positive number, for argparse."""
    value = _of_option(text)
    if not (np.isfinite(value) and value > 0.0):
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return value


def duration(text: str) -> float:
    """Parse a duration in seconds that fits in memory, for argparse."""
    value = positive(text)
    if value > LONGEST_S:
        raise argparse.ArgumentTypeError(f"{text} s is too long; at most {LONGEST_S:g} s")
    return value


def percentage(text: str) -> float:
    """Parse an error of the masses in percent, for argparse."""
    value, (least, greatest) = _of_option(text), MASS_ERRORS
    if not least <= value <= greatest:
        raise argparse.ArgumentTypeError(f"{text} is not within {least:g} to {greatest:g} percent")
    return value


def joint_units(robot: Robot, joints: Sequence[str]) -> list[tuple[str, str]]:
    """Return units of position and effort of each joint."""
    found = [robot.joint(name) for name in joints]
    return [(joint_unit(one, "position"), joint_unit(one, "effort")) for one in found]


def _number(option: str, text: str) -> float:
    try:
        value = number_from(text)
    except ValueError:
        raise ArgumentError(f"{option}: '{text}' is not a number") from None
    if not np.isfinite(value):
        raise ArgumentError(f"{option}: '{text}' is not a finite number")
    return value


def output_folder(text: str) -> Path:
    """Check a folder to write to; the writer creates it, so that an error leaves none behind.

    Raises:
        RobotDynamicsError: If it cannot be created or written to.
    """
    if not text:
        raise RobotDynamicsError("the folder to write to has no name; name one, . for this one")
    path = Path(text)
    there = next(folder for folder in (path, *path.absolute().parents) if folder.exists())
    _try(there, path, "name a folder of yours")
    return path


def output_file(text: str | Path) -> Path:
    """Check a file to write, which may replace an existing one.

    Raises:
        RobotDynamicsError: If it cannot be written.
    """
    path = Path(text)
    if path.is_dir():
        raise RobotDynamicsError(f"{path}: is a folder; name a file")
    if not path.exists():
        _try(path.parent, path, "name a file in a folder of yours")
    elif not os.access(path, os.W_OK):
        raise RobotDynamicsError(f"{path}: cannot be written; name another file")
    return path


def new_file(text: str | Path) -> Path:
    """Check a new file.

    Raises:
        RobotDynamicsError: If it exists, or cannot be written.
    """
    path = Path(text)
    if path.exists():
        raise RobotDynamicsError(f"{path}: exists already; name a new file")
    return output_file(path)


def new_recording(text: str) -> Path:
    """Check a new recording.

    Raises:
        RobotDynamicsError: As of `new_file`, or if it is no .mcap.
    """
    if Path(text).suffix != ".mcap":
        raise RobotDynamicsError(f"{text}: is to hold a recording; name it {Path(text).stem}.mcap")
    return new_file(text)


def _try(folder: Path, named: Path, remedy: str) -> None:
    """Make a temporary file, because permissions alone are inconclusive, above all for root."""
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise RobotDynamicsError(
            f"{named}: cannot be written ({error.strerror}); {remedy}"
        ) from None
