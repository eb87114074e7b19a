"""Parameter files of nodes with identified friction and rotor inertia, which a URDF cannot hold."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import yaml

from robot_dynamics.control.collision import identified_thresholds
from robot_dynamics.control.friction import Friction
from robot_dynamics.errors import RecordingError, unknown_name
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.user_files import number, read_yaml, write_whole
from robot_dynamics.robot.robot import Robot

TERMS = tuple(term.name for term in fields(Friction))

HEADER = """\
# Friction and rotor inertia that were identified, which controller_node, feedforward_node and
# monitor_node take, and the thresholds of external efforts of controller_node:
#   ros2 run robot_dynamics controller_node --ros-args --params-file THIS_FILE
"""


@dataclass(frozen=True, eq=False)
class Drives:
    """Friction and rotor inertia of all joints.

    Args:
        friction: Friction of n joints.
        rotor_inertia: Rotor inertia at the joints, shape (n,), kg m^2 or kg.
    """

    friction: Friction
    rotor_inertia: Array


def write_parameters(
    path: str | os.PathLike[str], robot: Robot, drives: Drives, deviation: Array | None = None
) -> None:
    """Write a parameter file for the nodes of a robot.

    Args:
        path: The file.
        robot: The robot.
        drives: Friction and rotor inertia.
        deviation: Standard deviation of the efforts that the model does not explain, shape (n,),
            N m or N, for the thresholds of external efforts; by default they are not written.
    """
    friction = {
        joint: {term: float(getattr(drives.friction, term)[j]) for term in TERMS}
        for j, joint in enumerate(robot.joint_names)
    }
    rotors = {
        joint: {"inertia": float(inertia), "ratio": 1.0}
        for joint, inertia in zip(robot.joint_names, drives.rotor_inertia, strict=True)
    }
    content: dict[str, Any] = {"/**": {"ros__parameters": {"friction": friction, "rotor": rotors}}}
    if deviation is not None:
        thresholds = identified_thresholds(robot, deviation).tolist()
        limits = {
            joint: {"external_effort": float(f"{threshold:.4g}")}
            for joint, threshold in zip(robot.joint_names, thresholds, strict=True)
        }
        content["/**/controller_node"] = {"ros__parameters": {"limits": limits}}
    text = HEADER + yaml.safe_dump(content, sort_keys=False)
    write_whole(path, text.encode())


def read_parameters(path: str | os.PathLike[str], robot: Robot) -> Drives:
    """Read a file of `write_parameters`; without friction in it, that of the URDF counts.

    Raises:
        RecordingError: If it is not a parameter file.
        UnknownNameError: If it names a joint that the robot does not have.
    """
    content = read_yaml(path, RecordingError, "friction and rotor under /** and ros__parameters")
    try:
        parameters = content["/**"]["ros__parameters"]
        given, rotors = (_by_joint(parameters.get(key)) for key in ("friction", "rotor"))
    except (KeyError, TypeError, ValueError, AttributeError):
        raise RecordingError(
            f"{path}: is no parameter file of identified drives; give the one that "
            "`robot-dynamics identify` has exported"
        ) from None
    for name in (*given, *rotors):
        if name not in robot.joint_names:
            raise unknown_name("joint", name, f"robot '{robot.name}'", robot.joint_names)
    of_urdf = Friction.of(robot)
    n = robot.dof
    columns = {term: np.broadcast_to(getattr(of_urdf, term), (n,)).copy() for term in TERMS}
    rotor = np.zeros(n)
    for j, joint in enumerate(robot.joint_names):
        own, motor = given.get(joint, {}), rotors.get(joint, {})
        for term in TERMS:
            where = f"{path}: friction.{joint}.{term}"
            columns[term][j] = number(where, own.get(term, columns[term][j]), RecordingError)
        inertia, ratio = (
            number(f"{path}: rotor.{joint}.{key}", motor.get(key, default), RecordingError)
            for key, default in (("inertia", 0.0), ("ratio", 1.0))
        )
        rotor[j] = inertia * ratio * ratio
    if not np.isfinite([*columns.values(), rotor]).all():
        raise RecordingError(f"{path}: holds a number that is not finite; give finite numbers")
    return Drives(Friction(**columns), rotor)


def _by_joint(entries: Any) -> dict[str, dict[str, Any]]:
    return {str(name): dict(own) for name, own in (entries or {}).items()}
