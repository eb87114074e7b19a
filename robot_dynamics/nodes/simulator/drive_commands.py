"""Commands to simulated drives that close their own loop: positions, velocities and efforts."""

from __future__ import annotations

import numpy as np

from robot_dynamics.control import Gains
from robot_dynamics.control.laws import Measured
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.nodes.ros.joint_values import FIELDS
from robot_dynamics.nodes.ros.messages import DRIVE_TOPIC, JointReader
from robot_dynamics.robot import Robot
from robot_dynamics.simulation.drive_loop import drive_effort


class DriveCommands:
    """The commands to the drives of one robot, matched by name.

    Args:
        robot: The robot.
        gains: Gains of the drives.
        takes_velocity: Whether they take velocities; otherwise these count as zero.

    Attributes:
        topic: Their topic.
        names: Names of the joints.
        at: Steady time of the last command, s; None if there is none.
        named: Always true.
    """

    topic = DRIVE_TOPIC
    named = True

    def __init__(self, robot: Robot, gains: Gains, takes_velocity: bool) -> None:
        self.names, self.gains = robot.joint_names, gains
        self._takes_velocity = takes_velocity
        self._reader = JointReader(DRIVE_TOPIC, self.names, FIELDS)
        self.forget()

    def forget(self) -> None:
        """Forget all commands."""
        self._reader.forget()
        self.at: float | None = None

    def let_go(self) -> None:
        """Command no effort until the next command."""
        self._reader.forget()

    def effort(self, q: Array, qd: Array) -> Array:
        """Return the efforts of the drives at a state, shape (n,) each."""
        if not self._reader.complete:
            return np.zeros(len(q))
        command = self._reader.values
        return drive_effort(command, Measured(q, qd), self.gains, self._takes_velocity)

    def read(self, command: bytes, now: float) -> None:
        """Use a command that came at a steady time, s.

        Raises:
            ArgumentError: If it lacks a field, or a number is not finite, or a name stands twice.
        """
        if self._reader.read(command) and self._reader.complete:
            self.at = now
