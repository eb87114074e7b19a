"""Parameters of the drives: actuators, friction, rotors, springs, bands, as `identify` exports."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from robot_dynamics.control import Actuators, Friction, Gains
from robot_dynamics.control.refusals import REFUSALS
from robot_dynamics.control.settings import DRIVE
from robot_dynamics.errors import ArgumentError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.nodes.ros.node_parameters import listed, listed_group
from robot_dynamics.nodes.runtime.robot_node import RobotNode
from robot_dynamics.robot import Robot
from robot_dynamics.robot.kinematic_tree import JointElasticity
from robot_dynamics.robot.urdf.transmissions import read_transmissions


@dataclass(frozen=True)
class FeedbackParameters:
    """Parameters of where the loop is closed."""

    feedback: str = listed("feedback")
    drive_velocity: bool = listed("drive_velocity")

    @property
    def by_drives(self) -> bool:
        """Return whether the drives close the loop."""
        return self.feedback == DRIVE


@dataclass(frozen=True)
class ActuatorParameters(FeedbackParameters):
    """Parameters of the efforts in a command: of joints, or of the actuators that drive them."""

    actuator_space: bool = listed("actuator_space")
    actuator_coupling: tuple[float, ...] = listed("actuator_coupling")


def actuators_of(
    parameters: ActuatorParameters, robot: Robot, joints: Sequence[str], source: object
) -> Actuators | None:
    """Return the actuators of the parameters, in the order of `joints`; None for joint space.

    Args:
        parameters: Parameters of the node.
        robot: The robot.
        joints: Its joints in the order of a command.
        source: Its URDF: path or text.

    Raises:
        ArgumentError: If actuator_coupling is given without actuator_space.
        RobotDynamicsError: If joints and actuators do not match; see `Actuators`.
    """
    coupling = parameters.actuator_coupling
    if parameters.actuator_space and parameters.by_drives:
        raise ArgumentError(
            "actuator_space is true, but feedback is by drives, whose positions are of joints; "
            "set one of them"
        )
    if not parameters.actuator_space:
        if coupling:
            raise ArgumentError(
                "parameter 'actuator_coupling' is given but 'actuator_space' is false; set it to "
                "true, or leave the coupling empty"
            )
        return None
    if coupling:
        return Actuators.of_coupling(joints, coupling)
    return Actuators.of_transmissions(robot, read_transmissions(str(source))).in_order(joints)


DriveGainParameters = listed_group("drive")
"""Gains of a drive that closes the loop of one joint."""


class DeclaredDriveGains:
    """The gains of drives that close the loop.

    Args:
        node: Node to declare them on.
        changed: Called after a change.
    """

    def __init__(self, node: RobotNode[Any], changed: Callable[[], object]) -> None:
        self._robot = node.robot
        self._declared = [
            node.group(DriveGainParameters, f"drive.{name}", changed=lambda _: changed())
            for name in node.robot.joint_names
        ]

    @property
    def gains(self) -> Gains:
        """The present gains.

        Raises:
            ArgumentError: If a drive has no position gain.
        """
        values = [declared.value for declared in self._declared]
        for i, value in enumerate(values):
            if not value.kp:
                line = REFUSALS["no_drive_gain"].line(self._robot, i, value.kp)
                raise ArgumentError(line)
        return Gains(np.array([v.kp for v in values]), np.array([v.kd for v in values]))


RotorParameters = listed_group("rotor")
"""Parameters of the motor of one joint."""

ElasticityParameters = listed_group("elasticity")
"""Parameters of the spring between motor and link of one joint."""

FrictionParameters = listed_group("friction")
"""Parameters of the friction of one joint, which replace those of the URDF."""

BandParameters = listed_group("bands")
"""95 % band of the efforts of one joint, as `identify` writes it."""


class DriveParameters:
    """The drive parameters of all joints of a node's robot.

    Args:
        node: Node to declare them on.
        friction_changed: Called after a change of friction.
        rotors_changed: Called after a change of rotors or of elasticity.
    """

    def __init__(
        self,
        node: RobotNode[Any],
        friction_changed: Callable[[], object],
        rotors_changed: Callable[[], object],
    ) -> None:
        self._robot, urdf = node.robot, Friction.of(node.robot)
        joints = node.robot.joint_names
        self._rotors = [
            node.group(RotorParameters, f"rotor.{name}", changed=lambda _: rotors_changed())
            for name in joints
        ]
        self._springs = [
            node.group(
                ElasticityParameters, f"elasticity.{name}", changed=lambda _: rotors_changed()
            )
            for name in joints
        ]
        self._frictions = [
            node.group(
                FrictionParameters,
                f"friction.{name}",
                defaults=FrictionParameters(float(urdf.viscous[i]), float(urdf.coulomb[i])),
                changed=lambda _: friction_changed(),
            )
            for i, name in enumerate(joints)
        ]

    @property
    def rotor_inertia(self) -> Array:
        """Rotor inertia reflected to the joints, shape (n,), kg m^2 or kg."""
        return np.array([r.value.inertia * r.value.ratio**2 for r in self._rotors])

    @property
    def elasticity(self) -> JointElasticity:
        """Stiffness and damping between motors and links; infinite where a joint is rigid."""
        springs = [declared.value for declared in self._springs]
        return JointElasticity(
            np.array([spring.stiffness or np.inf for spring in springs]),
            np.array([spring.damping for spring in springs]),
        )

    def friction(self, robot: Robot) -> Friction:
        """Return the friction of the parameters, with that of the robot where they are defaults."""
        given = [declared.value for declared in self._frictions]
        rows = {f.name: np.array([getattr(v, f.name) for v in given]) for f in fields(Friction)}
        for name in ("viscous", "coulomb"):
            before, now = (getattr(Friction.of(one), name) for one in (self._robot, robot))
            rows[name] = np.where(rows[name] == before, now, rows[name])
        rows["stiction"] = np.maximum(rows["stiction"], -rows["coulomb"])
        return Friction(**rows)
