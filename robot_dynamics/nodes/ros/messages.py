"""Conversion of ROS 2 messages to plain values and back; joints are matched by name."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np
from builtin_interfaces.msg import Duration, Time
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_dynamics.compiler.native.extraction import (
    NOWHERE,
    Extraction,
    address_of,
    extractor,
)
from robot_dynamics.errors import ArgumentError, ShapeError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.numbers import counted
from robot_dynamics.foundation.units import NS_PER_S
from robot_dynamics.nodes.ros.cdr import STAMP_AT, deserialized, joint_state_layout
from robot_dynamics.nodes.ros.joint_values import ALL, FIELDS, Places, Sender
from robot_dynamics.trajectory import Waypoints
from robot_dynamics.trajectory.trajectory_files import points_of

COMMAND_TOPIC = "effort_command"
"""Efforts in the order of `joints`, as in ros2_control."""

DRIVE_TOPIC = "joint_command"
"""Positions, velocities and efforts for drives that close the loop."""

EXTERNAL_TOPIC = "external_effort"
THRESHOLD_TOPIC = f"{EXTERNAL_TOPIC}/threshold"
"""External efforts that controller_node observes."""

HARDWARE_TOPIC = "forward_effort_controller/commands"
"""Efforts in the order of `joints`, to the forward_command_controller of the documents."""

UNFOLLOWED_TOPIC = "reference/unfollowed"
"""Name of a node, and why it does not follow the reference; empty if it does."""

RESET_TOPIC = "joint_states/reset"
"""Topic on which a simulator reports that the next states begin elsewhere."""

ANSWER_TOPIC = "joint_trajectory/answer"
"""Answer to the trajectory that came last: followed, perhaps with a remark, or refused."""


def nanoseconds(time: Time | Duration) -> int:
    """Return a stamp or duration in ns."""
    return int(time.sec) * NS_PER_S + int(time.nanosec)


def time_msg(ns: int) -> Time:
    """Return the stamp of a time in ns."""
    return Time(sec=ns // NS_PER_S, nanosec=ns % NS_PER_S)


def duration_msg(seconds: float) -> Duration:
    """Return a duration in s as a message, rounded to ns."""
    ns = round(seconds * NS_PER_S)
    return Duration(sec=ns // NS_PER_S, nanosec=ns % NS_PER_S)


LOST = 2
"""Messages without a joint after which it is missing, relative to the usual number."""


OLDER = 3
"""Messages in a row with older stamps than one before, after which that one had the wrong stamp."""


MOST_SENDERS = 64
"""Most lists of joints of one topic to remember; more are a fault."""


class JointReader:
    """Reads joint values in the order of one robot.

    A message may name joints in any order, joints of other robots, and only some of ours: values
    are gathered over messages. A faulty message changes nothing.

    Args:
        topic: Name of the topic, for messages of errors.
        joint_names: Joints to read, in the order of all arrays.
        required: The first of FIELDS, which every message must give with finite values. Other
            fields are NaN where they are absent.

    Attributes:
        values: The rows `position`, `velocity` and `effort`, shape (3, n). Later messages write
            into the same arrays.
        whole: Whether the last message had all that is required of every joint.
    """

    LARGEST: ClassVar = 1e300
    """Square from which on numbers are looked at one by one."""

    def __init__(
        self, topic: str, joint_names: Sequence[str], required: Sequence[str] = ("position",)
    ) -> None:
        self.topic = topic
        self.joint_names = tuple(joint_names)
        self._required = tuple(required)
        self._column = {name: i for i, name in enumerate(self.joint_names)}
        self._senders: dict[tuple[str, ...], Sender] = {}  # by names: several may publish
        self._last = self._sender_of(())
        self.forget()

    def forget(self) -> None:
        """Forget all messages."""
        n = len(self.joint_names)
        self._plans: dict[int, tuple[Extraction, Sender]] = {}  # by length of the message
        self._count, self._named_at, self._gap = 0, np.zeros(n, int), np.ones(n, int)
        self._in_parts = self.whole = False
        self.values = np.full((len(FIELDS), n), np.nan)
        self.position, self.velocity, self.effort = self.values
        self._seen = np.zeros(n, dtype=bool)
        self.complete = n == 0
        for sender in self._senders.values():
            sender.stamp = 0
        self.stamp = 0
        """Stamp of the last message, ns."""

    @property
    def missing(self) -> tuple[str, ...]:
        """Return the joints that no message has named yet, or none names any more."""
        return tuple(
            name for name, seen in zip(self.joint_names, self._seen, strict=True) if not seen
        )

    def read(self, msg: bytes | JointState) -> bool:
        """Read one message, also from its bytes.

        Returns:
            True if the message named any of our joints.

        Raises:
            ArgumentError: If a name is listed twice, a length does not fit, entries have no names,
                a required number is not finite, or the message is slightly older than the last
                one of the same joints; or if bytes are no such message.
        """
        if type(msg) is not bytes:
            return self._read(msg)
        plan = self._plans.get(len(msg))
        if plan is not None:  # of a message like others before, as nearly always
            extraction, sender = plan
            stamp = extractor()(extraction.plan, msg, sender.stamp)
            if stamp >= 0:
                return self._taken(sender, stamp)
        return self._read_unlike(msg)

    def _read(self, msg: JointState) -> bool:
        """Read a message of any kind; see `read`."""
        self._repeats = False
        names, stamp = tuple(msg.name), nanoseconds(msg.header.stamp)
        sender = self._last = self._senders.get(names) or self._sender_of(names)
        if not sender.ours:
            self._check_named(msg)
            self._repeats = True
            return False
        rows, absent = self._rows_of(msg)
        new = rows if sender.source is ALL else rows[:, sender.source]
        whole = self._gather(sender, new, absent, stamp) if absent else (new, stamp)
        if whole is None:
            return False
        self._repeats = whole[0] is new
        new, stamp = whole
        back = sender.stamp - stamp
        if 0 < back < NS_PER_S and stamp:
            sender.older += 1
            if sender.older < OLDER:
                raise ArgumentError(
                    f"{self.topic}: the stamp goes back by {back / NS_PER_S:g} s; the message came "
                    "out of order and is ignored"
                )
        required = new[: len(self._required)].ravel()
        # One product instead of a test per number: any NaN or infinity spoils it
        if not math.isfinite(required.dot(required)):
            self._refuse_infinite(new, sender.target)
        self.values[:, sender.target] = new
        taken = self._taken(sender, stamp)
        self.whole &= set(absent).isdisjoint(self._required)
        return taken

    def _taken(self, sender: Sender, stamp: int) -> bool:
        """Note that the numbers of a message are taken; return whether it named our joints."""
        if not sender.ours:
            return False
        target, sender.older, self.whole = sender.target, 0, sender.whole
        if self._in_parts or not sender.whole:
            self._note(target)
        if not self.complete:
            self._seen[target] = True
            self.complete = bool(self._seen.all())
        self.stamp = sender.stamp = stamp
        return True

    def _read_unlike(self, data: bytes) -> bool:
        """Read the bytes of a message that no earlier one is like."""
        msg: JointState = deserialized(self.topic, data, JointState)
        ours = self._read(msg)
        if self._repeats and (len(data) in self._plans or len(self._plans) < MOST_SENDERS):
            self._plan(msg, data)
        return ours

    def _plan(self, msg: JointState, data: bytes) -> None:
        """Have messages like the last one extracted."""
        absent = tuple(field for field in FIELDS if not len(getattr(msg, field)))
        names = self._last.names
        layout = joint_state_layout(names, absent, msg.header.frame_id)
        if layout.rows(data) is None:  # as of another order of bytes
            return
        rows = {field: k for k, field in enumerate(x for x in FIELDS if x not in absent)}
        copies = [
            (
                layout.place(rows[field], i) if field in rows else NOWHERE,
                address_of(self.values[row, self._column[name] :]),
            )
            for row, field in enumerate(FIELDS)
            for i, name in enumerate(names)
            if name in self._column
        ]
        required = len(self._required) * len(copies) // len(FIELDS)
        about = layout.blank, layout.mask, STAMP_AT, copies, required, self.LARGEST
        self._plans[len(data)] = Extraction(*about), self._last

    def _gather(
        self, sender: Sender, new: Array, absent: tuple[str, ...], stamp: int
    ) -> tuple[Array, int] | None:
        """Return the values and the stamp of a message that lacks fields; None to wait for more.

        Args:
            sender: Its sender.
            new: Values of our joints, NaN where a field is absent.
            absent: Its absent fields.
            stamp: Its stamp, ns.

        Raises:
            ShapeError: If a required field is absent.
        """
        for field in absent:
            if field in self._required:
                raise self._wrong_length(field, 0, len(sender.names))
        return new, stamp

    def _note(self, target: Places) -> None:
        """Forget joints that messages have ceased to name; two in a row may be lost."""
        if not self._in_parts:
            self._named_at[:], self._in_parts = self._count, True
        self._count += 1
        self._gap[target] = self._count - self._named_at[target]
        self._named_at[target] = self._count
        lost = self._count - self._named_at > LOST * self._gap
        if lost.any():
            self._seen[lost], self.complete = False, False

    def _rows_of(self, msg: JointState) -> tuple[Array, tuple[str, ...]]:
        """Return the rows of a message, NaN where a field is absent, and the absent fields."""
        count = len(msg.name)
        rows = np.full((len(FIELDS), count), np.nan)
        absent = []
        for row, field in zip(rows, FIELDS, strict=True):
            given = np.frombuffer(getattr(msg, field) or b"", dtype=np.float64)
            if len(given) == count:
                row[:] = given
            elif len(given) == 0:
                absent.append(field)
            else:
                raise self._wrong_length(field, len(given), count)
        return rows, tuple(absent)

    def _wrong_length(self, field: str, given: int, names: int) -> ShapeError:
        return ShapeError(
            f"{self.topic}: {field} has {counted(given, 'entry')} for "
            f"{counted(names, 'name')}; give one per name"
            + ("" if field in self._required else " or none")
        )

    def _refuse_infinite(self, new: Array, target: Places) -> None:
        """Refuse numbers that are not finite, naming the first, or whose squares are not."""
        names = np.array(self.joint_names)[target].tolist()
        rows = [
            (field, row) for field, row in zip(FIELDS, new, strict=True) if field in self._required
        ]
        for field, row in rows:
            if not math.isfinite(row.dot(row)):
                raise not_finite(f"{self.topic}: {field} of joint", names, row)
        raise ArgumentError(f"{self.topic}: numbers are too large; the message is ignored")

    def _check_named(self, msg: JointState) -> None:
        """Refuse entries without names, which may belong to another robot."""
        for field in FIELDS:
            count = len(getattr(msg, field))
            if count and not msg.name:
                raise ArgumentError(
                    f"{self.topic}: {field} has {counted(count, 'entry')}, but name is empty; "
                    "the message is ignored; name the joint of every entry"
                )

    def _sender_of(self, names: tuple[str, ...]) -> Sender:
        """Return the sender that lists these names, and remember it."""
        if len(set(names)) < len(names):
            twice = next(name for i, name in enumerate(names) if name in names[:i])
            raise ArgumentError(f"{self.topic}: joint '{twice}' stands twice; name each joint once")
        source = [i for i, name in enumerate(names) if name in self._column]
        target = [self._column[names[i]] for i in source]
        sender = Sender(names, source, target, len(self.joint_names))
        if len(self._senders) < MOST_SENDERS:
            self._senders[names] = sender
        return sender


STUCK = 50
"""States with one stamp, from the first one on, after which the stamp is no time of measurement."""


class StampCheck:
    """Ignores stamps that have never advanced, as of a driver that sets a constant one.

    A clock that stands still later, as of a paused simulation, is one all the same.

    Args:
        topic: For the log.
        warn: Logs a warning.
    """

    def __init__(self, topic: str, warn: Callable[[str], object]) -> None:
        self._topic, self._warn = topic, warn
        self._first, self._count, self._advances = 0, 0, False

    def usable(self, stamp: int) -> int:
        """Return the stamp of a state, ns; 0 if only the time of its arrival is known."""
        if self._advances:
            return stamp
        if stamp != self._first:
            self._advances = self._first != 0
            self._first, self._count = stamp, 0
            return stamp
        self._count += stamp != 0
        if self._count == STUCK:
            self._warn(
                f"{self._topic} always have the stamp {stamp / NS_PER_S:g} s; they count from "
                "their arrival"
            )
        return 0 if self._count >= STUCK else stamp


def not_finite(what: str, names: Sequence[str], values: Array) -> ArgumentError:
    """Return the refusal of a message for its first number that is not finite."""
    wrong = int(np.argmin(np.isfinite(values)))
    return ArgumentError(f"{what} '{names[wrong]}' is {values[wrong]:g}; the message is ignored")


def effort_msg(tau: Array) -> Float64MultiArray:
    """Return efforts, shape (n,), as a command."""
    return Float64MultiArray(data=tau.tolist())


def trajectory_msg(waypoints: Waypoints, stamp: Time | None = None) -> JointTrajectory:
    """Return waypoints as a message; without a stamp the motion starts on arrival."""
    msg = JointTrajectory(joint_names=list(waypoints.joint_names))
    if stamp is not None:
        msg.header.stamp = stamp
    msg.points = [
        JointTrajectoryPoint(
            time_from_start=duration_msg(point.time),
            positions=point.positions,
            velocities=point.velocities,
            accelerations=point.accelerations,
            effort=point.effort,
        )
        for point in points_of(waypoints)
    ]
    return msg


STATES = 20
"""Latest states whose velocities give the accelerations as their slope."""

LARGEST_MEASURED = 1e9
"""Largest measured position, velocity or effort, SI units; a larger one is a fault."""

SHORTEST_SLOPE_S = 2e-3
"""Shortest time span of the states for a slope, s."""


class MeasuredMotion(JointReader):
    """Reads joint_states and keeps the latest velocities.

    Args:
        joint_names: Joints to read, in the order of all arrays.
    """

    LARGEST = LARGEST_MEASURED**2

    def __init__(self, joint_names: Sequence[str]) -> None:
        self._velocities: deque[tuple[float, Array]] = deque(maxlen=STATES)
        super().__init__("joint_states", joint_names)

    def forget(self) -> None:
        """See `JointReader.forget`."""
        self._velocities.clear()
        super().forget()

    def read(self, msg: bytes | JointState) -> bool:
        """See `JointReader.read`; numbers of which sums or squares overflow are refused too."""
        ours = super().read(msg)
        if ours and self.complete:
            self._velocities.append((self.stamp / NS_PER_S, self.qd))
        return ours

    def _read(self, msg: JointState) -> bool:
        for field in FIELDS:
            row = np.asarray(getattr(msg, field))
            if (np.abs(row) > LARGEST_MEASURED).any():  # NaN is not
                raise ArgumentError(
                    f"{self.topic}: {field} of {np.nanmax(np.abs(row)):g} is no measurement; "
                    "the message is ignored"
                )
        return super()._read(msg)

    @property
    def qd(self) -> Array:
        """Velocities, shape (n,); zero if unknown."""
        return np.nan_to_num(self.velocity)

    @property
    def qdd(self) -> Array:
        """Accelerations, the slope of the latest velocities, shape (n,)."""
        known = tuple(self._velocities)  # to which another thread may add
        if not known or known[-1][0] - known[0][0] < SHORTEST_SLOPE_S:
            return np.zeros(len(self.joint_names))
        t = np.array([time for time, _ in known])
        t -= t.mean()
        slope: Array = t @ np.array([qd for _, qd in known]) / (t @ t)
        return slope
