"""Effort commands to the simulator: in order or by name, of joints or of actuators.

By name they carry the stamp of the state that they answer, which is checked.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

import numpy as np
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robot_dynamics.arrays import Array
from robot_dynamics.control import Actuators
from robot_dynamics.errors import ArgumentError
from robot_dynamics.nodes.ros.joint_values import JointValues, run_of
from robot_dynamics.nodes.ros.messages import (
    COMMAND_TOPIC,
    NAMED_TOPIC,
    EffortReader,
)
from robot_dynamics.nodes.simulator.direct_efforts import DirectEffortReader
from robot_dynamics.robot import Robot
from robot_dynamics.trajectory.trajectory_files import NS_PER_S


class Form(Enum):
    """How commands arrive."""

    NONE = "none yet"
    PLAIN = f"{COMMAND_TOPIC}, in order"
    NAMED = f"{NAMED_TOPIC}, by name"


class _Readers(NamedTuple):
    """How to read a command; replaced as a whole, so that a loop sees no half of it."""

    plain: EffortReader
    named: DirectEffortReader
    actuators: Actuators | None


class Commands:
    """The effort commands to one robot: by name while they come so, else in order.

    Args:
        robot: The robot.
        order: Index into its joints of every entry of a plain command, shape (n,).
        actuators: What the efforts are of, in the order of a plain command; by default joints.

    Attributes:
        tau: Joint efforts of the last command in the order of the robot, shape (n,), N m or N.
        at: Steady time of the last command, s; None if there is none.
        form: How it came.
    """

    def __init__(self, robot: Robot, order: Array, actuators: Actuators | None = None) -> None:
        self._joints = tuple(robot.joint_names[i] for i in order)
        self._places = run_of(order.tolist(), len(order))
        self.tau = np.zeros(len(order))
        self.use(actuators)
        self.forget()

    def use(self, actuators: Actuators | None) -> None:
        """Read commands of other actuators of the same joints from now on; from any thread."""
        names = self._joints if actuators is None else actuators.names
        self._readers = _Readers(
            EffortReader(COMMAND_TOPIC, names),
            DirectEffortReader(NAMED_TOPIC, names),
            actuators,
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Of what the efforts of a plain command are, in their order."""
        return self._readers.plain.joints

    def forget(self) -> None:
        """Start again, as if no command had come."""
        self.tau[:] = 0.0
        self.at: float | None = None
        self.form = Form.NONE
        self._named_at: float | None = None

    def named_is_fresh(self, now: float, timeout: float) -> bool:
        """Whether commands come by name, so that plain ones, which are the same, do not count.

        Args:
            now: Steady time, s.
            timeout: Time after the last named one from which plain ones count again, s.
        """
        return self._named_at is not None and now - self._named_at <= timeout

    def renew_named(self, now: float) -> None:
        """Count commands as coming by name, though this one is not to be used."""
        self._named_at = now

    def read_plain(self, msg: Float64MultiArray | Array, now: float) -> None:
        """Take the efforts of a plain command.

        Raises:
            ArgumentError: If the command is refused; the one before stays in force.
        """
        readers = self._readers
        self._take(readers.plain.read(msg), readers, now)
        self.form = Form.PLAIN

    def read_named(
        self,
        msg: bytes | JointState | JointValues,
        now: float,
        counts: Callable[[int], bool] = lambda stamp: True,
    ) -> bool:
        """Take the efforts of a named command.

        Args:
            msg: The command, or the bytes of its message.
            now: Steady time, s.
            counts: Whether a command of that stamp, ns, counts; may refuse it.

        Returns:
            Whether it counts.

        Raises:
            ArgumentError: If the command is refused; the one before stays in force.
        """
        readers = self._readers
        efforts = readers.named.read_if(counts, msg)
        if efforts is None:
            return False
        self._take(efforts, readers, now)
        self.form = Form.NAMED
        self._named_at = now
        return True

    def _take(self, efforts: Array, readers: _Readers, now: float) -> None:
        if readers.actuators is not None:
            efforts = readers.actuators.to_joints(efforts)
        self.tau[self._places] = efforts
        self.at = now


class Pairing:
    """Which state a named command answers: it carries the stamp of that state.

    A stamp of zero says nothing, and the command counts for whatever state was the last.

    Attributes:
        published: Stamp of the state that was published last, ns; None if there is none.
        twice: Answers in lockstep to a state that had been answered.
    """

    def __init__(self) -> None:
        self.twice = 0
        self.published: int | None = None
        self._answered: int | None = None
        self._newest = 0

    def answered(self) -> None:
        """Note that the state published last has its answer."""
        self._answered = self.published

    def forget(self) -> None:
        """Wait for the next state: what is still to come answers one before the robot was moved."""
        self.published, self._answered, self._newest = None, self.published, 0

    def answers_last(self, stamp: int) -> bool:
        """Whether a command answers the state published last, as nearly all do, and so counts.

        Args:
            stamp: Of the command, ns.
        """
        if stamp != self.published:
            return False
        self._newest = stamp
        return True

    def is_first_answer(self, stamp: int) -> bool:
        """Whether a command is the answer, in lockstep, to the last state; the second one is not.

        Args:
            stamp: Of the command, ns.

        Raises:
            ArgumentError: If it answers no state that can be on its way.
        """
        last = self.published
        if stamp in (0, last):
            return True
        if last is None or stamp == self._answered:
            self.twice += 1
            return False
        raise ArgumentError(
            f"{NAMED_TOPIC}: stamp is {_apart(stamp, last)} that of the last joint_states; the "
            "message is ignored; in lockstep copy the stamp of the joint_states that it answers, "
            "or leave it zero"
        )

    def check(self, stamp: int, now: int, allowed: int) -> None:
        """Refuse a command of another time.

        One with the stamp of the one before corrects it, however old it is: so a controller goes
        on while no states reach it.

        Args:
            stamp: Of the command, ns.
            now: Time in which states are stamped, ns.
            allowed: How far it may be before the last state or after now, ns.

        Raises:
            ArgumentError: If it is of another time, or older than the one before.
        """
        last = self.published
        if last is None or stamp in (0, self._newest):
            return
        if not last - allowed <= stamp <= now + allowed:
            raise ArgumentError(
                f"{NAMED_TOPIC}: stamp is {_apart(stamp, last)} that of the last joint_states; the "
                "message is ignored; copy the stamp of the joint_states that it answers, and set "
                "use_sim_time alike in all nodes"
            )
        if stamp < self._newest <= last:  # where the newest is in the future, time has gone back
            raise ArgumentError(f"{NAMED_TOPIC}: older than the one before; the message is ignored")
        self._newest = stamp


def _apart(stamp: int, last: int) -> str:
    """In few digits, so that a stream of such messages is one complaint."""
    return f"{abs(stamp - last) / NS_PER_S:.2g} s {'after' if stamp > last else 'before'}"
