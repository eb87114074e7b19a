"""Effort commands to the simulator, of joints or of actuators."""

from __future__ import annotations

import math

import numpy as np

from robot_dynamics.control import Actuators
from robot_dynamics.errors import ArgumentError, ShapeError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.numbers import counted
from robot_dynamics.nodes.ros.joint_values import (
    ACTUATORS,
    JOINTS,
    Efforts,
    order_label,
    run_of,
)
from robot_dynamics.nodes.ros.messages import COMMAND_TOPIC, not_finite
from robot_dynamics.robot import Robot

NAMED_FOR_S = 1.0
"""Time after a command with names in which those without names are refused, s."""


class Commands:
    """The effort commands to one robot.

    Args:
        robot: The robot.
        order: Index into its joints of every entry of a command, shape (n,).
        actuators: Actuators of the efforts, in the order of a command; None for joints.

    Attributes:
        topic: Their topic.
        names: Names of the joints or actuators of a command, in order.
        tau: Joint efforts of the last command in the order of the robot, shape (n,), N m or N.
        at: Steady time of the last command, s; None if there is none.
        named: Whether the last command named its entries.
    """

    topic = COMMAND_TOPIC

    def __init__(self, robot: Robot, order: Array, actuators: Actuators | None = None) -> None:
        self._joints = tuple(robot.joint_names[i] for i in order)
        self._places = run_of(order.tolist(), len(order))
        self.tau = np.zeros(len(order))
        self.use(actuators)
        self.forget()

    def use(self, actuators: Actuators | None) -> None:
        """Use other actuators of the same joints; callable from any thread."""
        self.names = self._joints if actuators is None else actuators.names
        self._label = order_label(self.names, JOINTS if actuators is None else ACTUATORS)
        self._actuators = actuators

    def forget(self) -> None:
        """Forget all commands."""
        self.let_go()
        self.at: float | None = None
        self.named = False

    def effort(self, q: Array, qd: Array) -> Array:
        """Return the joint efforts of the last command at a state, shape (n,) each."""
        return self.tau

    def let_go(self) -> None:
        """Command no effort until the next command."""
        self.tau[:] = 0.0

    def read(self, command: Efforts, now: float) -> None:
        """Use the efforts of a command.

        A command without names is taken in the order of `names`, unless commands with names come.

        Args:
            command: The command.
            now: Steady time, s.

        Raises:
            ShapeError: If there is not one entry per joint.
            ArgumentError: If it names other entries, or in another order, or names none although
                another one does, or if an entry is not finite. The previous command stays in force.
        """
        self._check_order(command, now)
        efforts = command.values
        if len(efforts) != len(self.names):
            raise ShapeError(
                f"{COMMAND_TOPIC}: {counted(len(efforts), 'effort')} for "
                f"{counted(len(self.names), 'joint')} "
                f"({', '.join(self.names)}); the message is ignored; set the same parameter "
                "'joints' on both sides"
            )
        if not math.isfinite(efforts.dot(efforts)):
            raise not_finite(f"{COMMAND_TOPIC}: effort of joint", self.names, efforts)
        actuators = self._actuators
        self.tau[self._places] = efforts if actuators is None else actuators.to_joints(efforts)
        self.at, self.named = now, command.named

    def _check_order(self, command: Efforts, now: float) -> None:
        if not command.named:
            if self.named and self.at is not None and now - self.at < NAMED_FOR_S:
                raise ArgumentError(
                    f"{COMMAND_TOPIC}: a message without names comes between others that name "
                    "their entries; it is ignored; stop one of the publishers"
                )
        elif command.label != self._label:
            raise ArgumentError(
                f"{COMMAND_TOPIC}: efforts are of {command.label}, but simulator_node obeys "
                f"{self._label}; the message is ignored; set the parameters 'joints' and "
                "'actuator_space' alike on both sides"
            )
