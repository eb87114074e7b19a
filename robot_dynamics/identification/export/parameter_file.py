"""Parameter files of nodes with what a URDF cannot hold: friction, rotors and elasticity."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from robot_dynamics.control.collision import identified_thresholds
from robot_dynamics.control.friction import Friction
from robot_dynamics.errors import RecordingError, unknown_name
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.plain_yaml import yaml_text
from robot_dynamics.foundation.user_files import number, read_yaml, write_whole
from robot_dynamics.identification.effort_bands import EffortBands, Levels, threshold_bands
from robot_dynamics.identification.regimes import REGIMES
from robot_dynamics.robot.kinematic_tree import JointElasticity
from robot_dynamics.robot.robot import Robot

CONTROLLER = "/**/controller_node"

TERMS = tuple(term.name for term in fields(Friction))

HEADER = """\
# Friction, rotors and elasticity that were identified, which controller_node, feedforward_node,
# monitor_node and simulator_node take; half-widths of the 95 % bands of the efforts as recorded,
# for controller_node and monitor_node; and the thresholds of external efforts of controller_node:
#   ros2 run robot_dynamics controller_node --ros-args --params-file THIS_FILE
# `robot-dynamics validate` reads the bands by regime under identification, N m or N by joint, and
# the covariance of the parameters, row by row of its lower triangle.
"""


@dataclass(frozen=True, eq=False)
class Drives:
    """Friction, rotor inertia and elasticity of all joints.

    Args:
        friction: Friction of n joints.
        rotor_inertia: Rotor inertia at the joints, shape (n,), kg m^2 or kg.
        bands: 95 % bands of the efforts, if they are known.
        elasticity: Stiffness and damping of the joints; by default they are rigid.
    """

    friction: Friction
    rotor_inertia: Array
    bands: EffortBands | None = None
    elasticity: JointElasticity | None = None

    def robot(self, robot: Robot) -> Robot:
        """Put the elasticity on a robot.

        Args:
            robot: The robot.

        Returns:
            The robot with this elasticity; unchanged if all joints are rigid.
        """
        springs = self.elasticity
        return robot if springs is None else robot.with_joint_elasticity(*springs)


def write_parameters(
    path: str | os.PathLike[str], robot: Robot, drives: Drives, deviation: Array | None = None
) -> None:
    """Write a parameter file for the nodes of a robot.

    Args:
        path: The file.
        robot: The robot.
        drives: Friction, rotor inertia and elasticity.
        deviation: Standard deviation of the efforts that the model does not explain, shape (n,),
            N m or N, for the thresholds of external efforts; by default they are not written.
    """
    friction = {
        joint: {term: float(getattr(drives.friction, term)[j]) for term in TERMS}
        for j, joint in enumerate(robot.joint_names)
    }
    rotors = _rotors(robot, drives.rotor_inertia)
    content: dict[str, dict[str, Any]] = {
        "/**": {"friction": friction, "rotor": rotors},
        CONTROLLER: {},
    }
    if drives.elasticity is not None:
        content["/**"]["elasticity"] = _springs(robot, drives.elasticity)
    if deviation is not None:
        thresholds = identified_thresholds(robot, deviation).tolist()
        limits = {
            joint: {"external_effort": float(f"{threshold:.4g}")}
            for joint, threshold in zip(robot.joint_names, thresholds, strict=True)
        }
        content[CONTROLLER]["limits"] = limits
    if drives.bands is not None:
        for node in (CONTROLLER, "/**/monitor_node"):  # others would warn about them
            content.setdefault(node, {})["bands"] = _thresholds(robot, drives.bands)
        content["/**/identification"] = {"bands": _of_bands(robot, drives.bands)}
    _write(path, {name: {"ros__parameters": own} for name, own in content.items() if own})


def write_elasticity(
    path: str | os.PathLike[str],
    robot: Robot,
    elasticity: JointElasticity,
    rotor_inertia: Array | None = None,
) -> None:
    """Write elasticity into a parameter file, and keep what else it holds.

    Args:
        path: The file; a new one, if there is none.
        robot: The robot.
        elasticity: Stiffness and damping; joints of infinite stiffness are left out.
        rotor_inertia: Rotor inertia at the joints, shape (n,), kg m^2 or kg; by default as before.

    Raises:
        RecordingError: If the file is there, and is no parameter file.
    """
    content: Any = {}
    if os.path.exists(path):
        read_parameters(path, robot)  # refuses another file
        content = read_yaml(path, RecordingError, "parameters")
    own = content.setdefault("/**", {}).setdefault("ros__parameters", {})
    own["elasticity"] = _springs(robot, elasticity)
    if rotor_inertia is not None:
        own["rotor"] = _rotors(robot, rotor_inertia)
    _write(path, content)


def _write(path: str | os.PathLike[str], content: Any) -> None:
    write_whole(path, HEADER + yaml_text(content))


def _springs(robot: Robot, elasticity: JointElasticity) -> dict[str, dict[str, float]]:
    return {
        joint: {"stiffness": float(stiffness), "damping": float(damping)}
        for joint, stiffness, damping in zip(robot.joint_names, *elasticity, strict=True)
        if np.isfinite(stiffness)
    }


def _rotors(robot: Robot, rotor_inertia: Array) -> dict[str, dict[str, float]]:
    return {
        joint: {"inertia": float(inertia), "ratio": 1.0}
        for joint, inertia in zip(robot.joint_names, rotor_inertia, strict=True)
    }


def read_parameters(path: str | os.PathLike[str], robot: Robot) -> Drives:
    """Read a file of `write_parameters`; without friction in it, that of the URDF counts.

    Args:
        path: The file.
        robot: The robot whose joints the file names.

    Returns:
        Friction, rotor inertia, bands and elasticity of all joints.

    Raises:
        RecordingError: If it is not a parameter file.
        UnknownNameError: If it names a joint that the robot does not have.
    """
    content = read_yaml(path, RecordingError, "friction and rotor under /** and ros__parameters")
    try:
        parameters = content["/**"]["ros__parameters"]
        keys = ("friction", "rotor", "elasticity")
        given, rotors, springs = (_by_joint(parameters.get(key)) for key in keys)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise RecordingError(
            f"{path}: is no parameter file of identified drives; give the one that "
            "`robot-dynamics identify` has exported"
        ) from None
    for name in (*given, *rotors, *springs):
        if name not in robot.joint_names:
            raise unknown_name("joint", name, f"robot '{robot.name}'", robot.joint_names)
    of_urdf = Friction.of(robot)
    n = robot.dof
    columns = {term: np.broadcast_to(getattr(of_urdf, term), (n,)).copy() for term in TERMS}
    rotor, elasticity = np.zeros(n), JointElasticity(np.full(n, np.inf), np.zeros(n))
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
        for name, row in elasticity._asdict().items():
            value = springs.get(joint, {}).get(name, 0.0)
            where = f"{path}: elasticity.{joint}.{name}"
            row[j] = number(where, value, RecordingError)
    elasticity.stiffness[elasticity.stiffness == 0.0] = np.inf
    if not np.isfinite([*columns.values(), rotor]).all():
        raise RecordingError(f"{path}: holds a number that is not finite; give finite numbers")
    soft = elasticity if np.isfinite(elasticity.stiffness).any() else None
    return Drives(Friction(**columns), rotor, _read_bands(path, content, robot), soft)


def _thresholds(robot: Robot, bands: EffortBands) -> dict[str, dict[str, float]]:
    """Return the bands of efforts as recorded by joint, as nodes take them."""
    rows = asdict(threshold_bands(bands))
    return {
        joint: {name: _short(values[j]) for name, values in rows.items()}
        for j, joint in enumerate(robot.joint_names)
    }


def _of_bands(robot: Robot, bands: EffortBands) -> dict[str, Any]:
    def levels(one: Levels) -> dict[str, list[float]]:
        by_regime = {
            name.replace(" ", "_"): row for name, row in zip(REGIMES, one.level, strict=True)
        }
        values = {**by_regime, "per_speed": one.per_speed}
        return {name: list(map(_short, row)) for name, row in values.items()}

    lower = bands.covariance[np.tril_indices(len(bands.names))]
    return {
        "joints": list(robot.joint_names),
        "cutoff": _short(bands.cutoff),
        "filtered": levels(bands.filtered),
        "recorded": levels(bands.recorded),
        "slow": list(map(_short, bands.slow)),
        "parameters": list(bands.names),
        "covariance": list(map(_short, lower)),
    }


def _short(value: float) -> float:
    return float(f"{value:.5g}")


def _read_bands(path: str | os.PathLike[str], content: Any, robot: Robot) -> EffortBands | None:
    """Return the bands of a parameter file, if it has them for these joints."""
    own = content.get("/**/identification")
    if own is None:
        return None
    try:
        bands = own["ros__parameters"]["bands"]
        joints, names = ([str(name) for name in bands[key]] for key in ("joints", "parameters"))
        place = [joints.index(name) for name in robot.joint_names]
        regimes = [name.replace(" ", "_") for name in REGIMES]
        rows = [
            np.array([[float(x) for x in bands[side][name]] for name in (*regimes, "per_speed")])
            for side in ("filtered", "recorded")
        ]
        filtered, recorded = (Levels(r[:-1, place], r[-1, place]) for r in rows)
        slow = np.array([float(x) for x in bands["slow"]])[place]
        lower = np.zeros((len(names), len(names)))
        lower[np.tril_indices(len(names))] = np.array(
            [float(x) for x in bands["covariance"]]
        ).reshape(len(names) * (len(names) + 1) // 2)
        covariance = lower + np.tril(lower, -1).T
        found = EffortBands(
            filtered, recorded, slow, tuple(names), covariance, float(bands["cutoff"])
        )
        if (
            not all(np.isfinite(x).all() for x in (*rows, slow, covariance))
            or not found.cutoff > 0.0
        ):
            raise ValueError
    except (KeyError, TypeError, ValueError, AttributeError, IndexError):
        raise RecordingError(
            f"{path}: the bands under /**/identification are not those that `robot-dynamics "
            f"identify` writes for joints {', '.join(robot.joint_names)}; identify again, or "
            "remove them"
        ) from None
    return found


def _by_joint(entries: Any) -> dict[str, dict[str, Any]]:
    return {str(name): dict(own) for name, own in (entries or {}).items()}
