"""Effort commands to the simulator: plain or named, of joints or of actuators.

A named command carries the stamp of the state that it answers, which is checked.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import Enum

import numpy as np
from sensor_msgs.msg import JointState

from robot_dynamics.control import Actuators
from robot_dynamics.errors import ArgumentError, ShapeError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.units import NS_PER_S
from robot_dynamics.nodes.ros.joint_values import JointValues, run_of
from robot_dynamics.nodes.ros.messages import COMMAND_TOPIC, NAMED_TOPIC, not_finite, stamp_of
from robot_dynamics.robot import Robot


class Form(Enum):
    """Form of the commands."""

    NONE = "none yet"
    PLAIN = f"{COMMAND_TOPIC}, in order"
    NAMED = f"{NAMED_TOPIC}, by name"


class CommandReader:
    """Reads commands as efforts of the joints; the loop uses it while another one replaces it.

    A named command may list joints in any order and others too, but it must name all of ours: an
    effort that is not renewed with the others is as old as one that has stopped coming.

    Args:
        names: Joints or actuators in the order of a plain command.
        actuators: The actuators of these names; None for joints.
    """

    def __init__(self, names: tuple[str, ...], actuators: Actuators | None = None) -> None:
        self.names, self._actuators = names, actuators
        self._last: tuple[str, ...] | None = None  # names of the last named command
        self._source: Array | None = None  # indices of ours among them; None if in our order

    def plain(self, efforts: Array) -> Array:
        """Return the joint efforts of a plain command, shape (n,), N m or N.

        Raises:
            ShapeError: If there is not one entry per joint.
            ArgumentError: If an entry is not finite.
        """
        if len(efforts) != len(self.names):
            raise ShapeError(
                f"{COMMAND_TOPIC}: {len(efforts)} efforts for {len(self.names)} joints "
                f"({', '.join(self.names)}); the message is ignored; set the same parameter "
                "'joints' on both sides"
            )
        return self._of_joints(efforts, f"{COMMAND_TOPIC}: effort of joint")

    def named(self, msg: JointState | JointValues) -> Array:
        """Return the joint efforts of a named command, shape (n,), N m or N.

        Raises:
            ArgumentError: If a name is missing or listed twice, or an effort is not finite.
            ShapeError: If there is not one effort per name.
        """
        if isinstance(msg, JointValues):
            names, efforts = msg.names, msg.rows[2] if "effort" not in msg.absent else np.empty(0)
        else:
            names, efforts = tuple(msg.name), np.frombuffer(msg.effort or b"", dtype=np.float64)
        if names is not self._last and names != self._last:  # usually they are the same
            self._source = self._places_of(names)
            self._last = names
        if len(efforts) != len(names):
            raise ShapeError(
                f"{NAMED_TOPIC}: effort has {len(efforts)} entries for {len(names)} names; the "
                "message is ignored; give one per name"
            )
        if self._source is not None:
            efforts = efforts[self._source]
        return self._of_joints(efforts, f"{NAMED_TOPIC}: effort of")

    def _of_joints(self, efforts: Array, what: str) -> Array:
        if not math.isfinite(efforts.dot(efforts)):
            raise not_finite(what, self.names, efforts)
        return efforts if self._actuators is None else self._actuators.to_joints(efforts)

    def _places_of(self, names: tuple[str, ...]) -> Array | None:
        if names == self.names:
            return None
        place = {name: i for i, name in enumerate(names)}
        if len(place) < len(names):
            twice = next(name for i, name in enumerate(names) if name in names[:i])
            raise ArgumentError(
                f"{NAMED_TOPIC}: '{twice}' stands twice; the message is ignored; name each joint "
                "once"
            )
        missing = [name for name in self.names if name not in place]
        if missing:
            raise ArgumentError(
                f"{NAMED_TOPIC}: names {', '.join(names) or 'nothing'}, but not "
                f"{', '.join(missing)}; the message is ignored; command all of "
                f"{', '.join(self.names)} together"
            )
        return np.array([place[name] for name in self.names], dtype=np.intp)


class Commands:
    """The effort commands to one robot; named ones take precedence over plain ones.

    Args:
        robot: The robot.
        order: Index into its joints of every entry of a plain command, shape (n,).
        actuators: Actuators of the efforts, in the order of a plain command; None for joints.

    Attributes:
        tau: Joint efforts of the last command in the order of the robot, shape (n,), N m or N.
        at: Steady time of the last command, s; None if there is none.
        form: Form of the last command.
    """

    def __init__(self, robot: Robot, order: Array, actuators: Actuators | None = None) -> None:
        self._joints = tuple(robot.joint_names[i] for i in order)
        self._places = run_of(order.tolist(), len(order))
        self.tau = np.zeros(len(order))
        self.use(actuators)
        self.forget()

    def use(self, actuators: Actuators | None) -> None:
        """Use other actuators of the same joints; callable from any thread."""
        names = self._joints if actuators is None else actuators.names
        self._reader = CommandReader(names, actuators)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the joints or actuators of a plain command, in order."""
        return self._reader.names

    def forget(self) -> None:
        """Forget all commands."""
        self.tau[:] = 0.0
        self.at: float | None = None
        self.form = Form.NONE
        self._named_at: float | None = None

    def named_is_fresh(self, now: float, timeout: float) -> bool:
        """Return whether named commands arrive, so that plain ones are ignored.

        Args:
            now: Steady time, s.
            timeout: Time after the last named command from which plain ones apply again, s.
        """
        return self._named_at is not None and now - self._named_at <= timeout

    def renew_named(self, now: float) -> None:
        """Note the arrival of a named command that is not used."""
        self._named_at = now

    def read_plain(self, efforts: Array, now: float) -> None:
        """Use the efforts of a plain command.

        Raises:
            ArgumentError: If the command is refused; the previous one stays in force.
        """
        self._take(self._reader.plain(efforts), now)
        self.form = Form.PLAIN

    def read_named(
        self,
        msg: JointState | JointValues,
        now: float,
        counts: Callable[[int], bool] = lambda stamp: True,
    ) -> bool:
        """Use the efforts of a named command.

        Args:
            msg: The command.
            now: Steady time, s.
            counts: Returns whether to accept a command of that stamp, ns; may refuse it.

        Returns:
            Whether the command is accepted.

        Raises:
            ArgumentError: If the command is refused; the previous one stays in force.
        """
        if not counts(stamp_of(msg)):
            return False
        self._take(self._reader.named(msg), now)
        self.form = Form.NAMED
        self._named_at = now
        return True

    def _take(self, efforts: Array, now: float) -> None:
        self.tau[self._places] = efforts
        self.at = now


class Pairing:
    """Matches named commands to states by their stamps; a stamp of zero answers the last state.

    Attributes:
        published: Stamp of the last published state, ns; None if there is none.
        twice: Number of answers in lockstep to a state that was already answered.
    """

    def __init__(self) -> None:
        self.twice = 0
        self.published: int | None = None
        self._answered: int | None = None
        self._newest = 0

    def answered(self) -> None:
        """Note that the last published state is answered."""
        self._answered = self.published

    def forget(self) -> None:
        """Wait for the next state: late commands answer states before a reset."""
        self.published, self._answered, self._newest = None, self.published, 0

    def answers_last(self, stamp: int) -> bool:
        """Return whether a command answers the last published state, as nearly all do.

        Args:
            stamp: Stamp of the command, ns.
        """
        if stamp != self.published:
            return False
        self._newest = stamp
        return True

    def is_first_answer(self, stamp: int) -> bool:
        """Return whether a command is the first answer to the last state, in lockstep.

        Args:
            stamp: Stamp of the command, ns.

        Raises:
            ArgumentError: If it answers neither the last state nor the one before.
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
        """Refuse a command whose stamp is too far from the present time.

        A command with the stamp of the previous one replaces it at any age, so that a controller
        without new states can go on.

        Args:
            stamp: Stamp of the command, ns.
            now: Time in which states are stamped, ns.
            allowed: Largest time before the last state or after now, ns.

        Raises:
            ArgumentError: If the stamp is out of range, or older than the previous one.
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
        if (
            stamp < self._newest <= last
        ):  # a newest stamp in the future means that time was set back
            raise ArgumentError(
                f"{NAMED_TOPIC}: older than the previous one; the message is ignored"
            )
        self._newest = stamp


def _apart(stamp: int, last: int) -> str:
    """Return the time between two stamps in few digits, so that the log repeats no lines."""
    return f"{abs(stamp - last) / NS_PER_S:.2g} s {'after' if stamp > last else 'before'}"
