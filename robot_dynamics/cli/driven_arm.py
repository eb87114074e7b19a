"""The arm behind a driver, on the command line: its joints, its hardware and its profile."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics.cli.arguments import load_robot
from robot_dynamics.cli.chosen_joints import still_joints
from robot_dynamics.control.added_efforts import SWITCHES
from robot_dynamics.control.gains import Gains
from robot_dynamics.errors import ArgumentError, check_known
from robot_dynamics.export.controllers_config import controller_parameters
from robot_dynamics.export.driver_checks import (
    check_efforts,
    check_takes_effort,
    joints_left_out,
)
from robot_dynamics.export.driver_profile import Driver
from robot_dynamics.export.drivers import driver_named, recognized
from robot_dynamics.robot import Robot, find_robot
from robot_dynamics.robot.catalogue import located
from robot_dynamics.robot.urdf.ros2_control import Hardware, read_hardware

ADDS = {name.replace(" ", "-"): name for name in SWITCHES}
"""Efforts that a robot may add, by their names on the command line."""


def add_driver(parser: argparse.ArgumentParser) -> None:
    """Add the option for the driver of the arm; see `driven_arm`."""
    parser.add_argument(
        "--driver",
        metavar="NAME",
        help="driver of the arm, of `robot-dynamics drivers`, or none (default: by the hardware of "
        "the URDF)",
    )


def add_adds(parser: argparse.ArgumentParser) -> None:
    """Add the option for what the robot adds to the commands; see `adds_of`."""
    parser.add_argument(
        "--adds",
        metavar="EFFORT,...",
        help=f"efforts that the robot adds to the commands itself, of {', '.join(ADDS)}, or none; "
        "the controller leaves them out (default: what is known of the driver, or none)",
    )


def adds_of(arguments: argparse.Namespace) -> tuple[str, ...] | None:
    """Return what the robot adds, of `SWITCHES`, as the option says; None without it.

    Raises:
        UnknownNameError: If it names another effort.
    """
    if arguments.adds is None:
        return None
    names = [word.strip() for word in arguments.adds.split(",") if word.strip() != "none"]
    for name in names:
        check_known("effort", name, "--adds", [*ADDS, "none"])
    return tuple(ADDS[name] for name in names)


def added_by(driver: Driver | None, adds: Sequence[str] | None) -> tuple[str, ...]:
    """Return all efforts that a robot adds, which a model refuses to add again."""
    if driver is None:
        return tuple(adds or ())
    of_drives = driver.added[len(driver.adds.value) :]
    return (*(driver.adds.value if adds is None else adds), *of_drives)


def given_driver(name: str | None) -> Driver | None:
    """Return the driver of the option; None if it is not given, or none."""
    return None if name in (None, "none") else driver_named(str(name))


@dataclass(frozen=True)
class DrivenArm:
    """The arm that a controller of efforts moves, and what is known of its hardware.

    Args:
        whole: The robot of the URDF.
        still: Positions of the joints that stand still.
        hardware: Hardware of the URDF.
        driver: Its driver, if it is known.
    """

    whole: Robot
    still: Mapping[str, float]
    hardware: Sequence[Hardware]
    driver: Driver | None

    @property
    def robot(self) -> Robot:
        """The robot without the joints that stand still."""
        return self.whole.with_locked(self.still)

    def closing_drives(self) -> tuple[Driver, Gains]:
        """Return the driver and the gains of its drives, which the hardware may set.

        Raises:
            ArgumentError: If its drives close no loop.
        """
        driver = self.driver
        if driver is None or not driver.closes_loop:
            name = "none" if driver is None else driver.name
            raise ArgumentError(
                f"--driver {name}: its drives close no loop; leave it out, and gains are those of "
                "the controller"
            )
        own = controller_parameters(self.robot, driver, self.hardware)["drive"].values()
        return driver, Gains(*(np.array([gains[kind] for gains in own]) for kind in ("kp", "kd")))


def driven_arm(arguments: argparse.Namespace) -> DrivenArm:
    """Return the arm of the command line, without the joints that take no efforts.

    Raises:
        ArgumentError: If its driver takes no efforts.
        RobotError: If its effort limits are below gravity, or far above those of its drives.
    """
    whole = load_robot(arguments.robot)
    hardware = read_hardware(located(arguments.robot))
    driver = given_driver(arguments.driver)
    if arguments.driver is None and (found := recognized(hardware)):
        driver = found
        print(f"driver {found.name}, by the hardware of the URDF", file=sys.stderr)
    if driver is not None:
        check_takes_effort(driver)
    others = joints_left_out(whole.joint_names, hardware, driver)
    arm = DrivenArm(whole, still_joints(arguments, whole, others), hardware, driver)
    check_efforts(find_robot(arguments.robot).name, arm.robot, driver)
    return arm
