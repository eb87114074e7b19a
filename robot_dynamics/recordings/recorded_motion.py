"""A recorded run of a robot: its description, and joint values by topic."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.errors import RecordingError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.units import NS_PER_S
from robot_dynamics.recordings.bag_reader import BagMessage, bag_messages
from robot_dynamics.recordings.ros_messages import JOINT_STATE
from robot_dynamics.robot import Robot, read_urdf


@dataclass(frozen=True, eq=False)
class JointRows:
    """N messages of n joints.

    Args:
        joint_names: Order of the columns.
        stamp: Time of each message, shape (N,), ns, not decreasing.
        position: Shape (N, n), rad or m; NaN where it is not given.
        velocity: Shape (N, n), rad/s or m/s.
        effort: Shape (N, n), N m or N.
    """

    joint_names: tuple[str, ...]
    stamp: Array
    position: Array
    velocity: Array
    effort: Array

    def ordered(self, names: Sequence[str]) -> JointRows:
        """Return the columns of other names; NaN for missing ones."""
        column = {name: k for k, name in enumerate(self.joint_names)}

        def pick(values: Array) -> Array:
            padded = np.hstack([values, np.full((len(values), 1), np.nan)])
            return padded[:, [column.get(name, -1) for name in names]]

        values = map(pick, (self.position, self.velocity, self.effort))
        return JointRows(tuple(names), self.stamp, *values)


def joint_rows(messages: Sequence[BagMessage]) -> JointRows:
    """Collect joint values of the joints that most messages name.

    Messages without positions count only where none has any, as those of `efforts/*`. The time of
    a message is its stamp, or its arrival where stamps are zero or all the same.

    Args:
        messages: JointState messages of one topic, at least one.
    """
    states = [message.read() for message in messages]
    groups = Counter(tuple(state.name) for state in states if len(state.position))
    groups = groups or Counter(tuple(state.name) for state in states)
    names = groups.most_common(1)[0][0]
    kept = [k for k, state in enumerate(states) if set(names) <= set(state.name)]
    arrival = np.array([messages[k].arrival for k in kept], dtype=np.int64)
    stamps = [states[k].header.stamp for k in kept]
    stamp = np.array([int(s.sec) * NS_PER_S + int(s.nanosec) for s in stamps], dtype=np.int64)
    stamp = np.where(stamp == 0, arrival, stamp)
    if len(stamp) > 1 and not np.ptp(stamp):
        stamp = arrival
    order = np.argsort(stamp, kind="stable")
    fields = (
        np.array([_row(states[k], field, names) for k in kept])[order]
        for field in ("position", "velocity", "effort")
    )
    return JointRows(names, stamp[order], *fields)


def _row(state: Any, field: str, names: tuple[str, ...]) -> Array:
    values = getattr(state, field)
    if len(values) != len(state.name):
        return np.full(len(names), np.nan)
    if tuple(state.name) == names:
        return np.asarray(values, dtype=float)
    return np.array([values[state.name.index(name)] for name in names], dtype=float)


@dataclass(frozen=True, eq=False)
class RecordedMotion:
    """A recorded run.

    Args:
        path: The file.
        description: URDF text, or "" if the recording has none.
        topics: Joint values by name of topic without namespace: joint_states, reference, ...
    """

    path: Path
    description: str
    topics: dict[str, JointRows]

    @property
    def states(self) -> JointRows:
        """Measured joint values.

        Raises:
            RecordingError: If they were not recorded.
        """
        if "joint_states" not in self.topics:
            others = ", ".join(sorted(self.topics)) or "no joint values at all"
            raise RecordingError(f"{self.path}: holds no joint_states ({others})")
        return self.topics["joint_states"]

    def states_of(self, robot: Robot) -> JointRows:
        """Return the measured values of a robot, its joints in order.

        Raises:
            RecordingError: If one of its joints was not recorded.
        """
        states = self.states.ordered(robot.joint_names)
        missing = np.isnan(states.position).all(axis=0)
        if missing.any():
            name = robot.joint_names[int(np.argmax(missing))]
            raise RecordingError(
                f"{self.path}: says nothing of joint '{name}' of robot '{robot.name}'; name "
                "the robot that was recorded"
            )
        return states

    def robot(self) -> Robot:
        """Return the recorded robot.

        Raises:
            RecordingError: If its description was not recorded.
            UrdfError: If it cannot be read.
        """
        if not self.description:
            raise RecordingError(f"{self.path}: holds no robot_description; name the robot")
        return read_urdf(self.description)


def read_motion(path: str | os.PathLike[str]) -> RecordedMotion:
    """Read a recording of ROS 2 messages: .mcap, .db3, or the folder of a bag.

    An MCAP file that was cut off gives the messages before its end.

    Raises:
        RecordingError: If it cannot be read.
    """
    file = Path(path)
    by_topic: dict[str, list[BagMessage]] = defaultdict(list)
    description = ""
    for message in bag_messages(file, _wanted):
        if message.kind == JOINT_STATE:
            by_topic[_own_name(message.topic)].append(message)
        else:
            description = description or message.read().data
    if not by_topic and not description:
        raise RecordingError(f"{path}: holds nothing of a robot; record joint_states")
    return RecordedMotion(
        file, description, {name: joint_rows(by_topic[name]) for name in sorted(by_topic)}
    )


def _wanted(topic: str, kind: str) -> bool:
    return kind == JOINT_STATE or (kind.endswith("/String") and topic.endswith("robot_description"))


def _own_name(topic: str) -> str:
    """Return the topic without the namespace of a robot; efforts by cause keep their folder."""
    head, _, tail = topic.rpartition("/")
    return f"efforts/{tail}" if head.endswith("efforts") else tail
