"""An ament_cmake package with a ros2_control controller of one robot, as text by path.

Files of the folder `package` are templates; the others are generated. Names of the robot reach
each language through its own writer, never as they are.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import PurePosixPath
from typing import Any
from xml.sax.saxutils import escape

import numpy as np
import yaml

from robot_dynamics.control.actuators import Actuators
from robot_dynamics.control.friction import Friction
from robot_dynamics.control.gains import DEFAULT_BANDWIDTH
from robot_dynamics.control.laws import ALL_MODES
from robot_dynamics.control.limits import (
    NEAR,
    default_tracking_errors,
    effort_limits,
    velocity_limits,
)
from robot_dynamics.control.task_space import CONSISTENT
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.errors import RobotDynamicsError, RobotError
from robot_dynamics.export.control_kernels import ControlKernels, hand_frame
from robot_dynamics.export.hand_header import hand_hpp
from robot_dynamics.export.kernel_files import kernels_c, kernels_hpp
from robot_dynamics.export.model_header import model_hpp
from robot_dynamics.export.package_name import check_package_name
from robot_dynamics.export.reference_efforts import reference_efforts_hpp
from robot_dynamics.export.robot_description import controlled_urdf, initial_positions
from robot_dynamics.export.robot_header import robot_hpp
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.names import comment
from robot_dynamics.identification import Drives
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.urdf.transmissions import read_transmissions
from robot_dynamics.spatial import Inertia
from robot_dynamics.version import __version__

CONTROLLER = "arm_controller"
"""Name of the controller in the configuration."""

STEP = 0.3
"""Motion of each joint in the example of the README, rad or m."""

GOAL_TIME = 2.0
"""Time that joint_trajectory_controller allows for reaching a goal after its end, s."""

CANCEL = 0.5
"""Time from the velocity limit to rest when a goal is cancelled, s."""

UNMARKED = ("LICENSE",)
"""Files without a mark at their top."""

_PLACEHOLDER = re.compile(r"@([a-z_]+)@")


@dataclass(frozen=True)
class PackageRequest:
    """The robot and the options of an exported package.

    Args:
        name: Name of the package.
        urdf: Text of the URDF.
        whole: The robot of the URDF, without changes.
        locked: Positions of joints that stand still, rad or m.
        payload: Load that the arm carries from the start, in the frame `endpoint`.
        endpoint: Link or frame of payloads; None for none.
        bandwidth: Natural frequency under the default gains, rad/s.
        command: Command that writes the package, without absolute paths.
        drives: Friction and rotors; by default the friction of the URDF.
        hand: Link or frame that the modes in task space control; see `hand_frame`.
        projector: Of their null space.
        base: "fixed", or "moving" for a controller that takes the motion of the base.
    """

    name: str
    urdf: str
    whole: Robot
    locked: Mapping[str, float]
    payload: Inertia | None
    endpoint: str | None
    bandwidth: float = DEFAULT_BANDWIDTH
    command: str = "robot-dynamics export controller"
    drives: Drives | None = None
    hand: str | None = None
    projector: str = CONSISTENT
    base: str = "fixed"


@dataclass(frozen=True)
class ControllerPackage:
    """An exported package.

    Args:
        files: Text by path.
        without_effort: Controlled joints whose hardware in the URDF has no interface `effort`.
    """

    files: Mapping[str, str]
    without_effort: tuple[str, ...]


def controller_package(request: PackageRequest) -> ControllerPackage:
    """Return the files of a package, the same for the same request.

    Raises:
        ArgumentError: If the name cannot be one of a package.
        RobotError: If an effort limit is missing.
        UnknownNameError: If a locked joint, the frame of the payload or the hand does not exist.
    """
    name = check_package_name(request.name)
    robot = request.whole.with_locked(request.locked) if request.locked else request.whole
    check_effort_limits(robot)
    dynamics = Dynamics(robot)
    hand = request.endpoint, request.hand, request.projector
    programs = ControlKernels(dynamics, *hand, request.base).programs()
    urdf, missing = controlled_urdf(request.urdf, robot, request.locked)
    drives = request.drives or Drives(Friction.of(robot), np.zeros(robot.dof))
    written = {
        "src/kernels.c": kernels_c(name, programs, {}),
        "src/kernels.hpp": kernels_hpp(name, programs),
        "src/robot.hpp": robot_hpp(
            name,
            dynamics,
            request.bandwidth,
            request.payload,
            request.endpoint,
            drives,
            _coupling(request.urdf, robot),
            request.base,
        ),
        "src/hand.hpp": hand_hpp(name, dynamics, *hand),
        "src/model.hpp": model_hpp(name, request.whole, request.endpoint, request.command),
        "test/reference_efforts.hpp": reference_efforts_hpp(
            name, robot, request.endpoint, drives, request.base
        ),
        f"urdf/{name}.urdf": urdf,
    }
    values = _values(request, robot)
    for path, text in _templates():
        place = path.replace("launch/arm.launch", f"launch/{name}.launch")
        written[place] = _PLACEHOLDER.sub(lambda found: values[found[1]], text)
    mark = _mark(robot.name, request.command)
    marked = {path: _marked(path, text, mark) for path, text in sorted(written.items())}
    return ControllerPackage(marked, tuple(missing))


def check_effort_limits(robot: Robot) -> None:
    """Refuse a robot with a joint whose effort is not limited.

    Raises:
        RobotError: It names the first joint without a limit.
    """
    limits = effort_limits(robot)
    for name, limit in zip(robot.joint_names, limits, strict=True):
        if not limit < _UNLIMITED:
            raise RobotError(
                f"joint '{name}' of robot '{robot.name}' has no effort limit; give it one in the "
                'URDF, <limit effort="..."> above 0, or fix the joint with --lock'
            )


_UNLIMITED = 1e9
"""Effort that no drive has, N m or N: a URDF that gives it means no limit."""


def _coupling(urdf: str, robot: Robot) -> Array | None:
    """Return the movement of the actuators per movement of the joints, shape (n, n).

    None if the URDF has no transmission for every joint.
    """
    try:
        return Actuators.of_transmissions(robot, read_transmissions(urdf)).matrix
    except RobotDynamicsError:
        return None


def _values(request: PackageRequest, robot: Robot) -> dict[str, str]:
    """Return the text of each placeholder."""
    names = robot.joint_names
    return {
        "package": request.name,
        "version": __version__,
        "robot": comment(robot.name),
        "robot_xml": escape(comment(robot.name)),
        "command": comment(request.command),
        "controller": CONTROLLER,
        "joints_yaml": _yaml(list(names)),
        "references_yaml": _yaml([f"{CONTROLLER}/{name}" for name in names]),
        "constraints_yaml": _yaml(_constraints(robot)),
        "goal_shell": _goal(robot),
        "modes": ", ".join(ALL_MODES),
        "hand": comment(hand_frame(robot, request.endpoint, request.hand)),
        "payload_frame": comment(request.endpoint or "none"),
    }


def _constraints(robot: Robot) -> dict[str, Any]:
    """Return tolerances and decelerations of joint_trajectory_controller.

    Without tolerances a goal succeeds although the arm was stopped on its way; without
    decelerations the reference jumps back to the measured state when a goal is cancelled.
    """
    errors, speeds = default_tracking_errors(robot), velocity_limits(robot)
    joints = {
        name: {"trajectory": round(float(error), 6), "goal": round(float(NEAR * error), 6)}
        for name, error in zip(robot.joint_names, errors, strict=True)
    }
    brakes = bool(np.isfinite(speeds).all())
    if brakes:
        for tolerances, speed in zip(joints.values(), speeds, strict=True):
            tolerances["max_deceleration_on_cancel"] = round(float(speed) / CANCEL, 6)
    return {"goal_time": GOAL_TIME, "decelerate_on_cancel": brakes, **joints}


def _goal(robot: Robot) -> str:
    """Return a goal of a short motion for a shell, of YAML in quotes."""
    begin, upper, lower = initial_positions(robot), robot.limits.upper, robot.limits.lower
    step = [min(STEP, 0.1 * float(width)) for width in upper - lower]  # inside the ranges
    goal = {
        "trajectory": {
            "joint_names": list(robot.joint_names),
            "points": [
                {
                    "positions": [round(float(x), 4) for x in begin + step],
                    "velocities": [0.0] * robot.dof,
                    "time_from_start": {"sec": 3},
                }
            ],
        }
    }
    return shlex.quote(_yaml(goal))


def _yaml(value: Any) -> str:
    """Return a value as YAML on one line, of ASCII characters."""
    options = {"default_flow_style": True, "width": float("inf"), "sort_keys": False}
    return str(yaml.dump(value, Dumper=_OneLine, **options)).strip()


class _OneLine(yaml.SafeDumper):  # type: ignore[misc]  # yaml has no types
    """Writes a line break in a text as an escape sequence."""


def _represented(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = '"' if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_OneLine.add_representer(str, _represented)


def _mark(robot_name: str, command: str) -> list[str]:
    return [
        f"Generated by robot_dynamics {__version__} from robot {comment(robot_name)} with:",
        f"  {comment(command)}",
        "Changes are lost when it is exported again.",
        "SPDX-License-Identifier: Apache-2.0",
    ]


def _marked(path: str, text: str, mark: list[str]) -> str:
    """Put a mark at the top of a file, as a comment of its language."""
    place = PurePosixPath(path)
    if place.name in UNMARKED:
        return text
    if place.suffix in (".xml", ".urdf", ".md"):
        lines = [line.replace("--", "-%2D") for line in mark]
        remark = "<!--\n" + "\n".join(lines) + "\n-->\n"
        if place.suffix == ".md":
            return f"{remark}\n{text}"
        declaration, body = '<?xml version="1.0" encoding="UTF-8"?>\n', text
        if text.startswith("<?xml"):
            declaration, _, body = text.partition("\n")
            declaration += "\n"
        return declaration + remark + body
    lead = "//" if place.suffix in (".c", ".cpp", ".hpp") else "#"
    return "".join(f"{lead} {line}\n" for line in mark) + f"\n{text}"


def _templates() -> Iterator[tuple[str, str]]:
    """Return path and text of every template."""
    yield from _below(files(__package__) / "package", "")


def _below(folder: Any, prefix: str) -> Iterator[tuple[str, str]]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        path = f"{prefix}{entry.name}"
        if entry.is_dir():
            if entry.name != "__pycache__":
                yield from _below(entry, f"{path}/")
        else:
            yield path, entry.read_text(encoding="utf-8")
