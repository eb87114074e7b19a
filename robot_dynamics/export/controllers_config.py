"""Parameters of the controllers of an arm as YAML, by the profile of its driver.

The keys hold in every namespace. The controllers have names of their own, so that they stand beside
those of the driver.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from robot_dynamics.control.added_efforts import SWITCHES
from robot_dynamics.control.limits import TRACKING_ERROR
from robot_dynamics.errors import RobotError
from robot_dynamics.export.driver_checks import check_joints, per_joint
from robot_dynamics.export.driver_profile import Driver
from robot_dynamics.foundation.plain_yaml import yaml_text
from robot_dynamics.foundation.user_files import number
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.urdf.ros2_control import Hardware

CONTROLLER, FRONT = "arm_controller", "arm_trajectory_controller"
"""Names of the model controller, and of the joint_trajectory_controller in front of it."""

TYPES: Mapping[str, str] = {
    CONTROLLER: "robot_dynamics_controllers/ModelController",
    FRONT: "joint_trajectory_controller/JointTrajectoryController",
}

DEFAULT_RATE = 1000.0
"""Rate without a profile, Hz."""

GOAL_TIME = 2.0
"""Time that the joint_trajectory_controller allows for reaching a goal after its end, s."""

CANCEL = 0.5
"""Time from the velocity limit to rest when a goal is cancelled, s."""


def switches(adds: Sequence[str]) -> dict[str, bool]:
    """Return the parameters that leave out what the robot adds itself, of `SWITCHES`."""
    return {SWITCHES[effort]: False for effort in adds}


def controller_parameters(
    robot: Robot,
    driver: Driver | None,
    hardware: Sequence[Hardware] = (),
    adds: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Return the parameters of the controller that follow from the driver and its hardware.

    Args:
        robot: Robot of the controller.
        driver: Its driver, if it is known.
        hardware: Hardware of the URDF, which may set gains.
        adds: Efforts that the robot adds itself, of `SWITCHES`; by default those of the driver.

    Raises:
        RobotError: If the joints are not those of the driver, or a gain of the hardware is no
            number.
    """
    if driver is None:
        return dict(switches(adds or ()))
    check_joints(driver, robot)
    found: dict[str, Any] = switches(driver.adds.value if adds is None else adds)
    limits = _limits(robot, driver)
    if any(limits.values()):
        found["limits"] = limits
    if driver.drive_kp is not None and driver.drive_kd is not None:
        gains = (per_joint(driver, x.value, robot) for x in (driver.drive_kp, driver.drive_kd))
        rows = zip(robot.joint_names, *gains, strict=True)
        own = {name: values for one in hardware for name, values in _gains(one).items()}
        drive = {name: {"kp": kp, "kd": kd} | own.get(name, {}) for name, kp, kd in rows}
        found |= {"feedback": "drive", "drive": drive}
    return found


def _limits(robot: Robot, driver: Driver) -> dict[str, dict[str, float]]:
    """Return the limits that the driver adds to those of the URDF, by joint."""
    limits: dict[str, dict[str, float]] = {name: {} for name in robot.joint_names}
    if driver.effort_limits is not None:
        drives = per_joint(driver, driver.effort_limits.value, robot)
        for joint, drive in zip(robot.independent_joints, drives, strict=True):
            limits[joint.name]["effort"] = min(drive, float(joint.limits.effort))
    if driver.effort_rate is not None:
        for limit in limits.values():
            limit["effort_rate"] = driver.effort_rate.value
    return limits


def _gains(hardware: Hardware) -> dict[str, dict[str, float]]:
    """Return the gains kp1, kd1, ... among the parameters of a hardware, by joint."""
    return {
        joint: {
            kind: number(f"<ros2_control>: {kind}{k}", text, RobotError)
            for kind in ("kp", "kd")
            if (text := hardware.parameters.get(f"{kind}{k}")) is not None
        }
        for k, joint in enumerate(hardware.joints, start=1)
    }


def node_parameters(
    robot: Robot, driver: Driver, hardware: Sequence[Hardware] = ()
) -> dict[str, dict[str, Any]]:
    """Return the parameters of feedforward_node and controller_node that follow from the driver."""
    common = {"rate": driver.rate.value, "joints": list(robot.joint_names)}
    return {
        "feedforward_node": {**common, **switches(driver.adds.value)},
        "controller_node": {**common, **controller_parameters(robot, driver, hardware)},
    }


def controllers_config(
    robot: Robot,
    driver: Driver | None,
    interfaces: Sequence[str],
    model: str,
    rate: float | None = None,
    hardware: Sequence[Hardware] = (),
    adds: Sequence[str] | None = None,
) -> str:
    """Write the parameters of controller_manager and its controllers, or of the nodes of a bridge.

    Args:
        robot: Robot of the controller.
        driver: Its driver, if it is known.
        interfaces: Command interfaces of each joint.
        model: Path of the library of the robot.
        rate: Update rate, Hz; by default that of the driver.
        hardware: Hardware of the URDF, which may set gains.
        adds: Efforts that the robot adds itself, of `SWITCHES`; by default those of the driver.

    Raises:
        RobotError: See `controller_parameters`.
    """
    known = f"driver {driver.name}: robot-dynamics drivers {driver.name}" if driver else "no driver"
    comment = f"# Robot {robot.name}, {known}\n"
    if driver is not None and driver.bridge:
        nodes = node_parameters(robot, driver, hardware)
        if rate is not None:
            nodes = {name: {**values, "rate": rate} for name, values in nodes.items()}
        return comment + _yaml(nodes)
    rate = rate or (DEFAULT_RATE if driver is None else driver.rate.value)
    names = list(robot.joint_names)
    broadcaster = {"type": "joint_state_broadcaster/JointStateBroadcaster"}
    types = {name: {"type": kind} for name, kind in TYPES.items()}
    parameters = {
        "controller_manager": {
            "update_rate": round(rate),
            "joint_state_broadcaster": broadcaster,
            **types,
        },
        CONTROLLER: {
            **types[CONTROLLER],
            "model": model,
            "command_interfaces": list(interfaces),
            **controller_parameters(robot, driver, hardware, adds),
        },
        FRONT: {
            **types[FRONT],
            "joints": names,
            "command_joints": [f"{CONTROLLER}/{name}" for name in names],
            "command_interfaces": ["position", "velocity", "acceleration"],
            "state_interfaces": ["position", "velocity"],
            "constraints": _constraints(robot),
        },
    }
    return comment + _yaml(parameters)


def _constraints(robot: Robot) -> dict[str, Any]:
    """Return tolerances and decelerations of the joint_trajectory_controller.

    Without tolerances a goal succeeds although the arm was stopped on its way; without
    decelerations the reference jumps back to the measured state when a goal is cancelled.
    """
    limited = all(np.isfinite(joint.limits.velocity) for joint in robot.independent_joints)
    found: dict[str, Any] = {"goal_time": GOAL_TIME, "decelerate_on_cancel": limited}
    for joint in robot.independent_joints:
        error = TRACKING_ERROR[joint.type.rotates]
        found[joint.name] = {"trajectory": error, "goal": error / 5.0}
        if limited:
            found[joint.name]["max_deceleration_on_cancel"] = joint.limits.velocity / CANCEL
    return found


def _yaml(parameters: Mapping[str, Mapping[str, Any]]) -> str:
    """Return parameters of nodes as YAML that holds in every namespace."""
    tree = {name: {"ros__parameters": dict(values)} for name, values in parameters.items()}
    return yaml_text({"/**": tree})
