"""Trajectories in recordings: read as waypoints, and copied with their efforts."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.errors import RecordingError, TrajectoryError
from robot_dynamics.foundation.units import NS_PER_S
from robot_dynamics.recordings.bag_reader import BagMessage, bag_messages
from robot_dynamics.recordings.mcap_writer import McapWriter
from robot_dynamics.recordings.recorded_motion import JointRows, read_motion
from robot_dynamics.recordings.ros_messages import (
    JOINT_TRAJECTORY,
    duration,
    header,
    new_message,
    serialized,
)
from robot_dynamics.robot.kinematic_tree import Mimic
from robot_dynamics.trajectory import Waypoints
from robot_dynamics.trajectory.trajectory_files import points_of
from robot_dynamics.trajectory.waypoints import FIELDS, waypoints_from_msg

FOLLOWED = ("reference", "joint_states")
"""Joint values that replace a missing trajectory, the best first."""

SPACING_S = 0.02
"""Least time between waypoints from joint values, s."""

logger = logging.getLogger(__name__)


def recorded_waypoints(
    path: str | os.PathLike[str],
    known: Sequence[str],
    followers: Mapping[str, Mimic] | None = None,
) -> Waypoints:
    """Read the first trajectory of a recording, else its reference, else its measured motion.

    Args:
        path: .mcap, .db3, or the folder of a bag.
        known: Names of all joints of the robot.
        followers: Couplings of joints that mimic others, as of `Robot.followers`.

    Raises:
        RecordingError: If it cannot be read.
        TrajectoryError: If it holds no motion of these joints.
    """
    file = Path(path)
    for message in bag_messages(file, lambda _, kind: kind == JOINT_TRAJECTORY):
        trajectory = message.read()
        if trajectory.points:
            return _waypoints(file, trajectory, known, followers)
    topics = read_motion(file).topics
    for name in FOLLOWED:
        if name in topics and set(topics[name].joint_names) & set(known):
            return _followed(topics[name], known)
    raise TrajectoryError(
        f"{path}: holds no {JOINT_TRAJECTORY} and no joint values of this robot; record the topic "
        "joint_trajectory"
    )


def fill_bag(
    source: Path,
    output: Path,
    known: Sequence[str],
    fill: Callable[[Waypoints], Waypoints],
    followers: Mapping[str, Mimic] | None = None,
) -> list[Waypoints]:
    """Copy a recording into a new MCAP file, with efforts in its trajectories.

    If it holds no trajectory, `recorded_waypoints` are added as one, on
    `joint_trajectory_with_effort`.

    Args:
        source: The recording.
        output: File to create.
        known: Names of all joints of the robot.
        fill: Adds efforts to waypoints.
        followers: Couplings of joints that mimic others, as of `Robot.followers`.

    Returns:
        The trajectories with their efforts.

    Raises:
        RecordingError: If the recording cannot be read, or the file cannot be written.
        TrajectoryError: If there is no motion of these joints, or `fill` refuses it.
    """
    # All are filled first, so that a refused motion leaves no file
    messages = list(bag_messages(source, lambda *_: True))
    filled: dict[int, Waypoints] = {}
    for k, message in enumerate(messages):
        if message.kind == JOINT_TRAJECTORY and (given := message.read()).points:
            filled[k] = fill(_waypoints(source, given, known, followers))
    added = [] if filled else [fill(recorded_waypoints(source, known, followers))]
    file = McapWriter(output)
    try:
        _copy(messages, file, filled, added)
    finally:
        file.close()
    return [*filled.values(), *added]


def _copy(
    messages: Sequence[BagMessage],
    file: McapWriter,
    filled: Mapping[int, Waypoints],
    added: Sequence[Waypoints],
) -> None:
    channels = _channels(messages, file)
    for k, message in enumerate(messages):
        content = message.data
        if k in filled:
            content = _message_bytes(message.read().header, filled[k])
        if (channel := channels.get((message.topic, message.kind))) is not None:
            file.write(channel, message.arrival, content)
    for waypoints in added:
        channel = file.channel("/joint_trajectory_with_effort", JOINT_TRAJECTORY)
        last = max(message.arrival for message in messages)
        file.write(channel, last, _message_bytes(header(0), waypoints))


def _channels(messages: Sequence[BagMessage], file: McapWriter) -> dict[tuple[str, str], int]:
    """Add a channel for each topic; topics of types that ROS 2 does not have are left out."""
    channels: dict[tuple[str, str], int] = {}
    for key in dict.fromkeys((message.topic, message.kind) for message in messages):
        try:
            channels[key] = file.channel(*key)
        except RecordingError as error:
            logger.warning("%s is left out: %s", key[0], error)
    return channels


def _waypoints(
    path: Path, message: Any, known: Sequence[str], followers: Mapping[str, Mimic] | None
) -> Waypoints:
    try:
        return waypoints_from_msg(message, known, followers=followers, allow_end_velocity=True)
    except TrajectoryError as error:
        raise TrajectoryError(f"{path}: {error}") from None


def _followed(rows: JointRows, known: Sequence[str]) -> Waypoints:
    names = [name for name in rows.joint_names if name in known]
    rows = rows.ordered(names)
    t = (rows.stamp - rows.stamp[0]) / NS_PER_S
    kept, last = [], -np.inf
    for k in np.flatnonzero(np.isfinite(rows.position).all(axis=1)):
        if t[k] >= last + SPACING_S:
            kept.append(k)
            last = t[k]
    velocity = rows.velocity[kept]
    given = None if np.isnan(velocity).any() else velocity
    return Waypoints(tuple(names), t[kept], rows.position[kept], given)


def _message_bytes(head: Any, waypoints: Waypoints) -> bytes:
    points = [
        new_message(
            "trajectory_msgs/msg/JointTrajectoryPoint",
            **{field: np.array(getattr(point, field), dtype=float) for field in FIELDS},
            time_from_start=duration(round(point.time * NS_PER_S)),
        )
        for point in points_of(waypoints)
    ]
    names = list(waypoints.joint_names)
    return serialized(new_message(JOINT_TRAJECTORY, header=head, joint_names=names, points=points))
