"""Effort commands to the simulator, of joints or of actuators."""

from __future__ import annotations

import math

import numpy as np

from robot_dynamics.control import Actuators
from robot_dynamics.errors import ShapeError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.nodes.ros.joint_values import run_of
from robot_dynamics.nodes.ros.messages import COMMAND_TOPIC, not_finite
from robot_dynamics.robot import Robot


class Commands:
    """The effort commands to one robot.

    Args:
        robot: The robot.
        order: Index into its joints of every entry of a command, shape (n,).
        actuators: Actuators of the efforts, in the order of a command; None for joints.

    Attributes:
        names: Names of the joints or actuators of a command, in order.
        tau: Joint efforts of the last command in the order of the robot, shape (n,), N m or N.
        at: Steady time of the last command, s; None if there is none.
    """

    def __init__(self, robot: Robot, order: Array, actuators: Actuators | None = None) -> None:
        self._joints = tuple(robot.joint_names[i] for i in order)
        self._places = run_of(order.tolist(), len(order))
        self.tau = np.zeros(len(order))
        self.use(actuators)
        self.forget()

    def use(self, actuators: Actuators | None) -> None:
        """Use other actuators of the same joints; callable from any thread."""
        self.names = self._joints if actuators is None else actuators.names
        self._actuators = actuators

    def forget(self) -> None:
        """Forget all commands."""
        self.tau[:] = 0.0
        self.at: float | None = None

    def read(self, efforts: Array, now: float) -> None:
        """Use the efforts of a command.

        Args:
            efforts: The command.
            now: Steady time, s.

        Raises:
            ShapeError: If there is not one entry per joint.
            ArgumentError: If an entry is not finite. The previous command stays in force.
        """
        if len(efforts) != len(self.names):
            raise ShapeError(
                f"{COMMAND_TOPIC}: {len(efforts)} efforts for {len(self.names)} joints "
                f"({', '.join(self.names)}); the message is ignored; set the same parameter "
                "'joints' on both sides"
            )
        if not math.isfinite(efforts.dot(efforts)):
            raise not_finite(f"{COMMAND_TOPIC}: effort of joint", self.names, efforts)
        actuators = self._actuators
        self.tau[self._places] = efforts if actuators is None else actuators.to_joints(efforts)
        self.at = now
