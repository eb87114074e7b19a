"""What a recording holds of a robot's motion, as arrays."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.errors import RecordingError
from robot_dynamics.identification.recordings.bag_files import (
    JOINT_STATE,
    bag_messages,
    deserialized,
)
from robot_dynamics.robot import Robot, read_urdf


@dataclass(frozen=True, eq=False)
class JointRows:
    """Messages of one topic of joint values; N messages of n joints.

    Args:
        joint_names: Order of the columns.
        stamp: Time of each message, shape (N,), ns.
        position: Shape (N, n), rad or m; NaN where it is not given.
        velocity: Shape (N, n).
        effort: Shape (N, n), N m or N.
    """

    joint_names: tuple[str, ...]
    stamp: Array
    position: Array
    velocity: Array
    effort: Array

    def ordered(self, names: Sequence[str]) -> JointRows:
        """The same with the columns of other names; NaN for those that are missing."""
        column = {name: k for k, name in enumerate(self.joint_names)}

        def pick(values: Array) -> Array:
            padded = np.hstack([values, np.full((len(values), 1), np.nan)])
            return padded[:, [column.get(name, -1) for name in names]]

        return JointRows(
            tuple(names),
            self.stamp,
            pick(self.position),
            pick(self.velocity),
            pick(self.effort),
        )


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
        """What the robot did.

        Raises:
            RecordingError: If that was not recorded.
        """
        if "joint_states" not in self.topics:
            others = ", ".join(sorted(self.topics)) or "no joint values at all"
            raise RecordingError(f"{self.path}: holds no joint_states ({others})")
        return self.topics["joint_states"]

    def states_of(self, robot: Robot) -> JointRows:
        """What a robot did, its joints in order.

        Raises:
            RecordingError: If a joint of it was not recorded.
        """
        states = self.states.ordered(robot.joint_names)
        missing = np.isnan(states.position).all(axis=0)
        if missing.any():
            name = robot.joint_names[int(np.argmax(missing))]
            raise RecordingError(
                f"{self.path}: says nothing of joint '{name}' of robot '{robot.name}'; replay "
                "it with the robot that was recorded"
            )
        return states

    def robot(self) -> Robot:
        """The robot that was recorded.

        Raises:
            RecordingError: If its description was not.
            UrdfError: If it cannot be read.
        """
        if not self.description:
            raise RecordingError(f"{self.path}: holds no robot_description; name the robot")
        return read_urdf(self.description)


def read_motion(path: str | os.PathLike[str]) -> RecordedMotion:
    """Read a recording of ROS 2 messages: .mcap, .db3, or the folder of a bag, as far as it goes.

    Raises:
        RecordingError: If it cannot be read.
    """
    file = Path(path)
    if not file.exists():
        raise RecordingError(f"{path}: no such file")
    rows: dict[str, list[tuple[int, Any]]] = defaultdict(list)
    description = ""
    for message in bag_messages(file, _wanted):
        if message.kind == JOINT_STATE:
            rows[_own_name(message.topic)].append((message.arrival, deserialized(message)))
        else:
            description = description or deserialized(message).data
    if not rows and not description:
        raise RecordingError(f"{path}: holds nothing of a robot; record joint_states")
    return RecordedMotion(file, description, {name: _table(rows[name]) for name in sorted(rows)})


def _wanted(topic: str, kind: str) -> bool:
    return kind == JOINT_STATE or (kind.endswith("/String") and topic.endswith("robot_description"))


def _own_name(topic: str) -> str:
    """Without the namespace of a robot; efforts by cause keep their folder."""
    head, _, tail = topic.rpartition("/")
    return f"efforts/{tail}" if head.endswith("efforts") else tail


def _table(messages: list[tuple[int, Any]]) -> JointRows:
    """Messages of those joints that most of them name."""
    names = Counter(tuple(message.name) for _, message in messages).most_common(1)[0][0]
    kept = [(stamp, message) for stamp, message in messages if tuple(message.name) == names]

    def values(field: str) -> Array:
        none = np.full(len(names), np.nan)
        given = (getattr(message, field) for _, message in kept)
        return np.array([row if len(row) == len(names) else none for row in given])

    stamps = np.array([_stamp(message) or stamp for stamp, message in kept], dtype=np.int64)
    order = np.argsort(stamps, kind="stable")
    columns = (values(field)[order] for field in ("position", "velocity", "effort"))
    return JointRows(names, stamps[order], *columns)


def _stamp(message: Any) -> int:
    return int(message.header.stamp.sec) * 1_000_000_000 + int(message.header.stamp.nanosec)
