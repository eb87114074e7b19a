"""Refusals of what is dangerous behind a driver, one line each, and the joints to leave out."""

from __future__ import annotations

import re
from collections.abc import Sequence

from robot_dynamics.control.added_efforts import GRAVITY
from robot_dynamics.errors import ArgumentError, RobotError
from robot_dynamics.export.driver_profile import Driver
from robot_dynamics.foundation.numbers import counted
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.urdf.ros2_control import Hardware, offered
from robot_dynamics.statics.gravity_capacity import overloaded_joints

FAR = 1.5
"""Effort limit of a URDF, relative to that of the drive, above which it is refused."""


def joints_left_out(
    joints: Sequence[str], hardware: Sequence[Hardware], driver: Driver | None
) -> dict[str, str]:
    """Return the joints that a controller of efforts leaves out, with the reason.

    Args:
        joints: Joints of the robot.
        hardware: Hardware of its URDF.
        driver: Its driver, if it is known.
    """
    found = {}
    offer = {name for one in hardware for name, x in one.joints.items() if "effort" in x.command}
    if offer:
        why = "no effort command in <ros2_control>"
        found = {name: why for name in joints if name not in offer}
    if driver is not None and driver.left_out is not None:
        pattern = re.compile(driver.left_out.value + r"$")
        found |= {
            name: f"not of the arm of {driver.name}" for name in joints if pattern.search(name)
        }
    return found


def check_takes_effort(driver: Driver) -> None:
    """Refuse a driver that takes no efforts.

    Raises:
        ArgumentError: If it does not.
    """
    if not driver.takes_effort:
        identified = ", and `identify` its model" if driver.effort_state.value != "none" else ""
        raise ArgumentError(
            f"driver {driver.name} takes {' and '.join(driver.interfaces.value)}, no effort, so no "
            "controller of this package runs on it; for studies joint_trajectory_with_effort and "
            f"`robot-dynamics effort` give the efforts of its trajectories{identified}"
        )


def check_interfaces(driver: Driver, interfaces: Sequence[str]) -> None:
    """Refuse command interfaces with which the drives would pull against the controller.

    Raises:
        ArgumentError: If the drives add the feedback of a position that is not commanded, or the
            driver needs another interface as well.
    """
    missing = [name for name in driver.interfaces.value if name not in interfaces]
    if missing and driver.closes_loop and driver.drive_kp is not None:
        pull = max(driver.drive_kp.value)
        raise ArgumentError(
            f"interfaces {','.join(interfaces)}: the drives of {driver.name} always add kp times "
            f"their position command, up to {pull:g} N m/rad, and would pull the arm to that of "
            f"an unclaimed interface, 0; claim {','.join(driver.interfaces.value)}"
        )
    if missing and len(driver.interfaces.value) > 1:
        raise ArgumentError(
            f"interfaces {','.join(interfaces)}: {driver.name} moves nothing without "
            f"{' and '.join(missing)}; claim {','.join(driver.interfaces.value)}"
        )


def check_offered(
    name: str, hardware: Sequence[Hardware], joints: Sequence[str], interfaces: Sequence[str]
) -> None:
    """Refuse command interfaces that the <ros2_control> of a URDF does not offer.

    Args:
        name: Name of the file, for the message.
        hardware: Hardware of the URDF; without any, nothing is checked.
        joints: Joints of the controller.
        interfaces: Command interfaces of each.

    Raises:
        RobotError: At the first joint that lacks one.
    """
    known = offered(hardware)
    for joint in joints if known else ():
        offers = known[joint].command if joint in known else ()
        missing = [kind for kind in interfaces if kind not in offers]
        if missing:
            raise RobotError(
                f"{name}: joint '{joint}' offers {', '.join(offers) or 'no commands'} in "
                f"<ros2_control>, not {' and '.join(missing)}; take a description of the driver "
                "that does, or leave the joint out with --joints"
            )


def check_efforts(name: str, robot: Robot, driver: Driver | None) -> None:
    """Refuse effort limits below gravity, or far above those of the drives.

    The limits of an arm that adds gravity itself need not hold its weight.

    Args:
        name: Name of the file, for the message.
        robot: Robot of the controller.
        driver: Its driver, if it is known.

    Raises:
        RobotError: At the first joint.
    """
    if driver is not None and driver.effort_limits is not None:
        limits = per_joint(driver, driver.effort_limits.value, robot)
        for joint, drive in zip(robot.independent_joints, limits, strict=True):
            if joint.limits.effort > FAR * drive:
                raise RobotError(
                    f"{name}: joint '{joint.name}' has an effort limit of {joint.limits.effort:g} "
                    f'N m, the drives of {driver.name} {drive:g} N m; set effort="{drive:g}" in '
                    "its <limit>"
                )
    if driver is None or GRAVITY not in driver.adds.value:
        overloaded = overloaded_joints(robot)
        if overloaded:
            raise RobotError(
                f"{name}: {overloaded[0]}; {len(overloaded)} of {counted(robot.dof, 'joint')} "
                "cannot hold the arm: correct the effort limits or the masses of the URDF, or "
                "narrow the ranges"
            )


def check_joints(driver: Driver, robot: Robot) -> None:
    """Refuse a number of joints that is no multiple of that of an arm of the driver.

    Raises:
        RobotError: If it is none.
    """
    if driver.joints is not None and robot.dof % driver.joints.value:
        raise RobotError(
            f"driver {driver.name} has {driver.joints.value} joints per arm, robot '{robot.name}' "
            f"{robot.dof} ({', '.join(robot.joint_names)}); choose those of the arm with --joints "
            "or --tip, or another driver"
        )


def per_joint(driver: Driver, values: Sequence[float], robot: Robot) -> list[float]:
    """Return values of a profile by joint, repeated for each arm of several.

    Raises:
        RobotError: As of `check_joints`.
    """
    check_joints(driver, robot)
    return [*values] * (robot.dof // len(values))
