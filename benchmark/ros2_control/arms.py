"""Robots of the benchmark: their URDF for ros2_control, and the kernel of the plant."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from robot_dynamics import Dynamics, Robot, read_urdf
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot import urdf_text
from robot_dynamics.trajectory import Waypoints, excitation

LOCKED = {"panda": ("panda_finger_joint1", "panda_finger_joint2")}
"""Joints that are fixed at zero."""

FRICTION_SHARE = 0.01
"""Viscous friction at 1 rad/s and Coulomb friction, as a share of the effort limit."""

PERIOD_S, SPEED_SHARE, RANGE_SHARE = 10.0, 0.55, 0.5
"""Duration of the excitation, s, and its shares of the limits of speed and position."""

TRAINING_S, TRAINING_SPEED, TRAINING_RANGE = 14.0, 0.45, 0.6
"""Likewise, of the motion from which a model is identified."""

POINT_RATE = 50.0
"""Points of the trajectory per second."""


@dataclass(frozen=True)
class Arm:
    """A robot of the benchmark.

    Attributes:
        name: Name of `robot_dynamics.robot.find_robot`.
        mass_error: Relative error of the masses of the model: the plant has more.
        friction: Of the plant, as a share of the effort limit.
        model: URDF that the controllers know; by default the nominal robot, without friction.
        command_interfaces: Of each joint.
    """

    name: str
    mass_error: float = 0.1
    friction: float = FRICTION_SHARE
    model: str = ""
    command_interfaces: tuple[str, ...] = ("effort",)

    @property
    def source(self) -> str:
        """URDF of the robot as it is published."""
        return urdf_text(self.name)

    @property
    def locked(self) -> tuple[str, ...]:
        """Joints that are fixed at zero."""
        return LOCKED.get(self.name, ())

    @cached_property
    def urdf(self) -> str:
        """The robot as the controllers know it."""
        return self.model or self.nominal()

    def knowing_friction(self) -> Arm:
        """Return the arm with the friction of its plant in the URDF that controllers know."""
        return replace(self, model=self.nominal(self.friction))

    def nominal(self, friction: float = 0.0) -> str:
        """Return the robot without meshes.

        Args:
            friction: Viscous at 1 rad/s and Coulomb, as a share of the effort limit.
        """
        root = ElementTree.fromstring(self.source)
        for link in root.iter("link"):
            for part in [*link.findall("visual"), *link.findall("collision")]:
                link.remove(part)
        for kind in ("transmission", "gazebo", "ros2_control", "material"):
            for element in root.findall(kind):
                root.remove(element)
        for joint in root.findall("joint"):
            for element in joint.findall("dynamics"):
                joint.remove(element)
            if joint.get("name") in self.locked:
                joint.set("type", "fixed")
                for tag in ("axis", "limit", "mimic", "safety_controller"):
                    for element in joint.findall(tag):
                        joint.remove(element)
            limit = joint.find("limit")
            if joint.get("type") != "fixed" and limit is not None:
                share = friction * float(limit.get("effort", "0"))
                values = {"damping": f"{share:.12g}", "friction": f"{share:.12g}"}
                ElementTree.SubElement(joint, "dynamics", values)
        return ElementTree.tostring(root, encoding="unicode")

    @cached_property
    def plant_urdf(self) -> str:
        """The robot with the masses of the plant."""
        root = ElementTree.fromstring(self.nominal())
        for inertial in root.iter("inertial"):
            for element in (inertial.find("mass"), inertial.find("inertia")):
                if element is not None:  # "value" of a mass, six moments of an inertia
                    for key, value in element.items():
                        element.set(key, f"{float(value) * (1.0 + self.mass_error):.17g}")
        return ElementTree.tostring(root, encoding="unicode")

    @cached_property
    def robot(self) -> Robot:
        """The nominal robot."""
        return read_urdf(self.urdf)

    @cached_property
    def dynamics(self) -> Dynamics:
        """Equations of the nominal robot."""
        return Dynamics(self.robot)

    def motion(self, seconds: float) -> Waypoints:
        """Return excitations, one after the other, of at least the given duration in all."""
        once = excitation(
            self.robot,
            PERIOD_S,
            share=RANGE_SHARE,
            speed_share=SPEED_SHARE,
            rate=POINT_RATE,
        )
        times, fields = once.times, (once.positions, once.velocities, once.accelerations)
        repeats = max(1, round(seconds / PERIOD_S))
        later = np.concatenate([times, *(times[1:] + PERIOD_S * k for k in range(1, repeats))])
        rows = [np.concatenate([x, *[x[1:]] * (repeats - 1)]) for x in fields if x is not None]
        return Waypoints(once.joint_names, later, *rows)

    @property
    def training(self) -> Waypoints:
        """A motion from which a model is identified, from the same start."""
        return excitation(
            self.robot,
            TRAINING_S,
            share=TRAINING_RANGE,
            speed_share=TRAINING_SPEED,
            rate=POINT_RATE,
        )

    @property
    def start(self) -> Array:
        """Positions at which motions begin, rad or m."""
        return self.motion(PERIOD_S).positions[0]

    def write_kernel(self, folder: Path) -> Path:
        """Compile the forward dynamics of the plant to a shared library."""
        source, library = folder / f"plant_{self.name}.c", folder / f"plant_{self.name}.so"
        plant = Dynamics(read_urdf(self.plant_urdf))
        source.write_text(plant.source("c", "forward", prefix="plant"))
        command = ["cc", "-O2", "-ffp-contract=off", "-shared", "-fPIC", "-o", library, source]
        subprocess.run([*map(str, command), "-lm"], check=True)
        return library

    def write_plant(self, folder: Path) -> dict[str, object]:
        """Write what the plant simulates, and return the parameters of its component for that."""
        limits, friction = self.robot.limits, self.friction * self.robot.limits.effort
        return {
            "kernel": self.write_kernel(folder),
            "lower": limits.lower,
            "upper": limits.upper,
            "viscous": friction,
            "coulomb": friction,
        }

    @property
    def interface_joints(self) -> tuple[str, ...]:
        """Names of the joints in the order of the interfaces of the plant."""
        return self.robot.joint_names

    def description(self, rate: float, parameters: Mapping[str, object]) -> str:
        """Return the URDF with the plant as its hardware component.

        Args:
            rate: Of controller_manager, Hz.
            parameters: Of the component, beside those of the joints.
        """
        given = {
            "joints": " ".join(self.robot.joint_names),
            "initial_positions": self.start,
            "effort": self.robot.limits.effort,
            "rate": rate,
            **parameters,
        }
        root = ElementTree.fromstring(self.urdf)
        system = ElementTree.SubElement(root, "ros2_control", name="plant", type="system")
        hardware = ElementTree.SubElement(system, "hardware")
        ElementTree.SubElement(hardware, "plugin").text = "compiled_plant/CompiledPlant"
        for name, value in given.items():
            text = " ".join(f"{x:.17g}" for x in value) if isinstance(value, np.ndarray) else value
            ElementTree.SubElement(hardware, "param", name=name).text = str(text)
        for name in self.interface_joints:
            joint = ElementTree.SubElement(system, "joint", name=name)
            for interface in self.command_interfaces:
                ElementTree.SubElement(joint, "command_interface", name=interface)
            for interface in ("position", "velocity", "effort"):
                ElementTree.SubElement(joint, "state_interface", name=interface)
        return ElementTree.tostring(root, encoding="unicode")
