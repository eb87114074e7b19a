"""Friction and rotors of the joints by parameters: what `robot-dynamics identify` writes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.control import Friction
from robot_dynamics.control.friction import DEFAULT_WIDTH
from robot_dynamics.nodes.ros.node_parameters import parameter
from robot_dynamics.nodes.runtime.robot_node import RobotNode
from robot_dynamics.robot import Robot

LARGEST = 1e5
"""What no drive of an arm exceeds, in SI units: more is a slip of the unit or of the hand."""


@dataclass(frozen=True)
class RotorParameters:
    """Motor of one joint."""

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
    """Friction of one joint, where it is known better than the URDF has it."""

    viscous: float = parameter(
        -1.0,
        "Viscous friction, N m s/rad or N s/m; negative for that of the URDF",
        low=-1.0,
        high=LARGEST,
    )
    coulomb: float = parameter(
        -1.0,
        "Sliding friction, N m or N; negative for that of the URDF",
        low=-1.0,
        high=LARGEST,
    )
    stiction: float = parameter(
        0.0,
        "By how much friction near rest exceeds sliding friction, N m or N; below zero where "
        "friction bends as it rises, but by no more than coulomb",
        low=-LARGEST,
        high=LARGEST,
    )
    stribeck: float = parameter(
        DEFAULT_WIDTH,
        "Speed at which that excess has fallen to 1/e, rad/s or m/s",
        low=1e-6,
        high=LARGEST,
    )
    load: float = parameter(
        0.0, "Sliding friction per effort that the bodies ask of the joint", low=0.0, high=0.9
    )
    offset: float = parameter(
        0.0, "Effort in one direction at all speeds, N m or N", low=-LARGEST, high=LARGEST
    )
    width: float = parameter(
        0.0, "As friction_width, of this joint; zero for that of all", low=0.0, high=10.0
    )


class DriveParameters:
    """What the parameters of a node say of the drives of its robot.

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
        """As the joints feel it, shape (n,), kg m^2 or kg."""
        return np.array([r.value.inertia * r.value.ratio**2 for r in self._rotors])

    def friction(self, robot: Robot) -> Friction:
        """That of the parameters; what they do not say is that of the robot."""
        urdf, given = Friction.of(robot), [declared.value for declared in self._frictions]
        viscous, coulomb = (
            np.array([getattr(v, k) for v in given]) for k in ("viscous", "coulomb")
        )
        sliding = np.where(coulomb < 0.0, urdf.coulomb, coulomb)
        rest = {
            k: np.array([getattr(v, k) for v in given])
            for k in ("stiction", "stribeck", "load", "offset", "width")
        }
        rest["stiction"] = np.maximum(rest["stiction"], -sliding)
        return Friction(np.where(viscous < 0.0, urdf.viscous, viscous), sliding, **rest)
