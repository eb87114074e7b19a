"""Actuators: whether the efforts of commands are those of joints or of motors, by parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from robot_dynamics.control import Actuators
from robot_dynamics.errors import ArgumentError
from robot_dynamics.nodes.ros.node_parameters import parameter
from robot_dynamics.robot import Robot
from robot_dynamics.robot.urdf.transmissions import read_transmissions


@dataclass(frozen=True)
class ActuatorParameters:
    """Of what the efforts of a command are: of joints, or of the motors that drive them."""

    actuator_space: bool = parameter(
        False,
        "Efforts of commands are those of actuators, in the places of the joints that they drive; "
        "false for those of joints",
        read_only=True,
    )
    actuator_coupling: tuple[float, ...] = parameter(
        (),
        "Movement of every actuator per rad or m of every joint, row by row (one per actuator, in "
        "the order of joints); empty for the <transmission> elements of the URDF",
        read_only=True,
    )


def actuators_of(
    parameters: ActuatorParameters, robot: Robot, joints: Sequence[str], source: object
) -> Actuators | None:
    """The actuators that parameters ask for, in the order of `joints`; None for joint space.

    Args:
        parameters: Those of the node.
        robot: The robot whose joints they drive.
        joints: Its joints in the order of a command.
        source: Its URDF: path or text.

    Raises:
        ArgumentError: If there is a coupling but no use for it.
        RobotDynamicsError: If joints and actuators do not fit together; see `Actuators`.
    """
    coupling = parameters.actuator_coupling
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
