"""Arms behind their drivers: the plant has the traits of the robot, the controller its profile.

Descriptions are those of the drivers, which are not part of this project, or robots of
example-robot-data in their places.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import ArrayLike

from benchmark.faults.managed_arm import ManagedArm
from benchmark.nodes.processes import ROOT
from robot_dynamics import Dynamics, Robot
from robot_dynamics.control.added_efforts import FRICTION, GRAVITY, VELOCITY_TERMS
from robot_dynamics.export.controllers_config import controller_parameters
from robot_dynamics.export.driver_checks import per_joint
from robot_dynamics.export.driver_profile import Driver
from robot_dynamics.export.drivers import driver_named
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot import urdf_text
from robot_dynamics.robot.urdf.ros2_control import Hardware, read_hardware

DRIVERS_PAGE = ROOT / "benchmark" / "records" / "drivers.md"

STAND_INS = {
    "ur": "ur5",
    "franka": "panda",
    "kuka_fri": "panda",
    "flexiv": "panda",
    "openarm": "panda",
}
"""Robot of example-robot-data in place of a description, by driver."""

VISCOUS_SHARE, COULOMB_SHARE = 0.9, 0.8
"""Shares of its friction that a robot adds: the defaults of Universal Robots."""

ADDED: Mapping[str, Mapping[str, float]] = {
    GRAVITY: {"added_gravity": 1.0},
    FRICTION: {"added_viscous": VISCOUS_SHARE, "added_coulomb": COULOMB_SHARE},
    VELOCITY_TERMS: {"added_coriolis": 1.0},
}
"""Parameters of the plant by what a robot adds."""

TRAITS: Mapping[str, Mapping[str, object]] = {
    "ur": {"watchdog": 0.04},
    "franka": {"effort_rate": 1000.0},
    "kuka_fri": {"nan_position": "zero_effort"},
    "flexiv": {},
    "openarm": {"first_position": 0.0},
}
"""Further parameters of the plant by driver."""

ROTOR_SHARE = 1.0 / 200.0
"""Inertia of the rotors behind their gears, kg m^2, as a share of the effort limit, N m: 0.14 to
0.75 kg m^2 of a UR5e, 0.06 to 0.43 of an FR3."""

FAR = 0.65
"""End of the motion of a fault, as a share of the ranges."""


class GearedDynamics(Dynamics):
    """Equations of an arm with rotors, as far as gains follow from them.

    Args:
        robot: The arm.
        rotor: Inertias as seen from the joints, shape (n,), kg m^2.
    """

    def __init__(self, robot: Robot, rotor: Array) -> None:
        super().__init__(robot)
        self._rotor = np.diag(rotor)

    def mass_matrix(self, q: ArrayLike) -> Array:
        """Return the mass matrix with rotors, shape (..., n, n)."""
        return np.asarray(super().mass_matrix(q) + self._rotor)


@dataclass(frozen=True)
class DriverArm(ManagedArm):
    """An arm behind a driver of that name.

    Attributes:
        descriptions: Folder with NAME.urdf of the driver; None for a stand-in.
    """

    descriptions: Path | None = None

    @cached_property
    def driver(self) -> Driver:
        """Profile of the driver."""
        return driver_named(self.name)

    @cached_property
    def source(self) -> str:
        """Description of the driver, or that of the stand-in."""
        if self.descriptions is None:
            return urdf_text(STAND_INS[self.name])
        return urdf_text(self.descriptions / f"{self.name}.urdf")

    @property
    def locked(self) -> tuple[str, ...]:
        """Fingers."""
        joints = ElementTree.fromstring(self.source).findall("joint")
        names = [joint.get("name", "") for joint in joints]
        return tuple(name for name in names if re.search(r"finger_joint\d$", name))

    @cached_property
    def hardware(self) -> tuple[Hardware, ...]:
        """Hardware of the driver, which may set gains of its drives."""
        return read_hardware(self.source)

    @property
    def _rotors(self) -> Array:
        return np.asarray(self.rotor * self.robot.limits.effort)

    @cached_property
    def dynamics(self) -> Dynamics:
        """Equations with rotors."""
        return GearedDynamics(self.robot, self._rotors)

    @property
    def start(self) -> Array:
        """Positions at which the arm stands first, rad: zero, or the nearest in its ranges."""
        limits = self.robot.limits
        return np.clip(np.zeros(self.robot.dof), limits.lower, limits.upper)

    @property
    def far(self) -> Array:
        """Positions at which the motion of a fault ends, rad."""
        limits = self.robot.limits
        return np.asarray(limits.lower + FAR * (limits.upper - limits.lower))

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters of the model controller by the profile, and the rotors."""
        interfaces = list(self.driver.interfaces.value)
        own = controller_parameters(self.robot, self.driver, self.hardware)
        inertias = zip(self.robot.joint_names, self._rotors.tolist(), strict=True)
        rotor = {name: {"inertia": inertia} for name, inertia in inertias}
        return {"command_interfaces": interfaces, "rotor": rotor, **own}

    def write_plant(self, folder: Path) -> dict[str, object]:
        """Write the model of MuJoCo, and return the parameters of the component, with traits."""
        found = {**super().write_plant(folder), **TRAITS[self.name]}
        for effort in self.driver.adds.value:
            found |= ADDED[effort]
        for name in ("drive_kp", "drive_kd"):
            fact = getattr(self.driver, name)
            if fact is not None:
                found[name] = np.array(per_joint(self.driver, fact.value, self.robot))
        return found


def driver_arm(name: str, descriptions: Path | None, **more: float) -> DriverArm:
    """Return the arm of a driver, with the command interfaces that the driver has."""
    interfaces = driver_named(name).interfaces.value
    return DriverArm(name, command_interfaces=interfaces, descriptions=descriptions, **more)


def add_drivers(
    parser: argparse.ArgumentParser,
    option: str = "--only",
    chosen: Sequence[str] = tuple(STAND_INS),
) -> None:
    """Add the options about drivers.

    Args:
        parser: Where they go.
        option: Name of the one that chooses drivers.
        chosen: Its default.
    """
    parser.add_argument(option, nargs="+", choices=STAND_INS, default=chosen, metavar="DRIVER")
    parser.add_argument("--descriptions", type=Path, help="folder with NAME.urdf of each driver")
