"""Parameters of the drives: actuators, friction, rotors, bands, as `identify` exports them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from robot_dynamics.control import Actuators, Friction
from robot_dynamics.control.friction import DEFAULT_SLIP, DEFAULT_WIDTH
from robot_dynamics.errors import ArgumentError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.nodes.ros.load_messages import LARGEST
from robot_dynamics.nodes.ros.node_parameters import parameter
from robot_dynamics.nodes.runtime.robot_node import RobotNode
from robot_dynamics.robot import Robot
from robot_dynamics.robot.urdf.transmissions import read_transmissions


@dataclass(frozen=True)
class ActuatorParameters:
    """Parameters of the efforts in a command: of joints, or of the actuators that drive them."""

    actuator_space: bool = parameter(
        False,
        "Commands are efforts of actuators, in the places of the joints that they drive; false: "
        "efforts of joints",
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


@dataclass(frozen=True)
class RotorParameters:
    """Parameters of the motor of one joint."""

    inertia: float = parameter(
        0.0, "Inertia of motor and gears at the motor, kg m^2", low=0.0, high=LARGEST
    )
    ratio: float = parameter(
        1.0,
        "Turns of the motor per rad or m of the joint, rad/rad or rad/m",
        low=-LARGEST,
        high=LARGEST,
    )


@dataclass(frozen=True)
class FrictionParameters:
    """Parameters of the friction of one joint, which replace those of the URDF."""

    viscous: float = parameter(
        -1.0,
        "Viscous friction, N m s/rad or N s/m; negative for that of the URDF",
        low=-1.0,
        high=LARGEST,
    )
    coulomb: float = parameter(
        -1.0, "Sliding friction, N m or N; negative for that of the URDF", low=-1.0, high=LARGEST
    )
    stiction: float = parameter(
        0.0,
        "Excess of friction near rest over sliding friction, N m or N; negative, down to -coulomb, "
        "where friction bends as it rises",
        low=-LARGEST,
        high=LARGEST,
    )
    stribeck: float = parameter(
        DEFAULT_WIDTH,
        "Speed at which the stiction has fallen to 1/e, rad/s or m/s",
        low=1e-6,
        high=LARGEST,
    )
    load: float = parameter(
        0.0, "Sliding friction per effort that the joint transmits to the links", low=0.0, high=0.9
    )
    offset: float = parameter(
        0.0, "Constant effort at all speeds, N m or N", low=-LARGEST, high=LARGEST
    )
    width: float = parameter(
        0.0, "friction_width of this joint, rad/s or m/s; 0 for the common one", low=0.0, high=10.0
    )
    memory: float = parameter(
        0.0, "Part of dry friction that remembers the way of the joint", low=0.0, high=1.0
    )
    slip: float = parameter(
        DEFAULT_SLIP,
        "Way on which the part with memory builds up, rad or m",
        low=1e-9,
        high=10.0,
    )
    slip_ratio: float = parameter(
        1.0, "Ratio of the slip distances of neighbouring elements", low=1.0, high=100.0
    )
    elastic: float = parameter(
        1.0, "Part of dry friction up to which an element is a spring", low=0.0, high=1.0
    )


@dataclass(frozen=True)
class BandParameters:
    """95 % band of the efforts of one joint, as `identify` writes it."""

    moving: float = parameter(
        0.0,
        "Half-width while moving slowly, N m or N; 0 for that of limits.<joint>.external_effort",
        low=0.0,
        high=LARGEST,
    )
    per_speed: float = parameter(
        0.0, "Growth of the half-width with speed, N m s/rad or N s/m", low=0.0, high=LARGEST
    )
    slow: float = parameter(
        0.0, "Half-width while reversing or at rest, N m or N", low=0.0, high=LARGEST
    )
    slow_speed: float = parameter(
        0.0,
        "Speed below which the joint reverses or rests, rad/s or m/s",
        low=0.0,
        high=LARGEST,
    )


class DriveParameters:
    """The drive parameters of all joints of a node's robot.

    Args:
        node: Node to declare them on.
        friction_changed: Called after a change of friction.
        rotors_changed: Called after a change of rotors.
    """

    def __init__(
        self,
        node: RobotNode[Any],
        friction_changed: Callable[[], object],
        rotors_changed: Callable[[], object],
    ) -> None:
        joints = node.robot.joint_names
        self._rotors = [
            node.group(RotorParameters, f"rotor.{name}", changed=lambda _: rotors_changed())
            for name in joints
        ]
        self._frictions = [
            node.group(FrictionParameters, f"friction.{name}", changed=lambda _: friction_changed())
            for name in joints
        ]

    @property
    def rotor_inertia(self) -> Array:
        """Rotor inertia reflected to the joints, shape (n,), kg m^2 or kg."""
        return np.array([r.value.inertia * r.value.ratio**2 for r in self._rotors])

    def friction(self, robot: Robot) -> Friction:
        """Return the friction of the parameters, with unset values from the robot."""
        urdf, given = Friction.of(robot), [declared.value for declared in self._frictions]
        viscous, coulomb = (
            np.array([getattr(v, k) for v in given]) for k in ("viscous", "coulomb")
        )
        sliding = np.where(coulomb < 0.0, urdf.coulomb, coulomb)
        rest = {
            field.name: np.array([getattr(v, field.name) for v in given])
            for field in fields(Friction)
            if field.name not in ("viscous", "coulomb")
        }
        rest["stiction"] = np.maximum(rest["stiction"], -sliding)
        return Friction(np.where(viscous < 0.0, urdf.viscous, viscous), sliding, **rest)
