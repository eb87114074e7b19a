"""Trajectories in recordings: read as waypoints, and written back with their efforts."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rosbags.typesys import Stores, get_typestore

from robot_dynamics.errors import RecordingError, TrajectoryError
from robot_dynamics.identification.recordings.bag_files import (
    SUFFIXES,
    bag_messages,
    deserialized,
)
from robot_dynamics.identification.recordings.mcap_records import BagMessage, Wanted
from robot_dynamics.trajectory import Waypoints
from robot_dynamics.trajectory.trajectory_files import NS_PER_S, points_of
from robot_dynamics.trajectory.waypoints import Point, read_points
from robot_dynamics.viewer.recording.mcap_file import McapFile
from robot_dynamics.viewer.recording.recorded_motion import JointRows, read_motion

JOINT_TRAJECTORY = "trajectory_msgs/msg/JointTrajectory"

FOLLOWED = ("reference", "joint_states")
"""Joint values that stand for a trajectory where a recording holds none, the best first."""

SPACING_S = 0.02
"""Least time between waypoints that are taken from joint values, s."""

logger = logging.getLogger(__name__)


def is_recording(path: Path) -> bool:
    """Whether a path is that of a bag, by its name."""
    return path.suffix in SUFFIXES or path.is_dir()


def recorded_waypoints(path: str | os.PathLike[str], known: Sequence[str]) -> Waypoints:
    """The first trajectory of a recording, or what its joints were to follow, or did.

    Args:
        path: .mcap, .db3, or the folder of a bag.
        known: Names of all joints of the robot.

    Raises:
        RecordingError: If it cannot be read.
        TrajectoryError: If it holds no motion of these joints.
    """
    file = Path(path)
    for message in _messages(file, lambda _, kind: kind == JOINT_TRAJECTORY):
        trajectory = deserialized(message)
        if trajectory.points:
            return _waypoints(file, trajectory, known)
    topics = read_motion(file).topics
    for name in FOLLOWED:
        if name in topics and set(topics[name].joint_names) & set(known):
            return _followed(topics[name], known)
    raise TrajectoryError(
        f"{path}: holds no {JOINT_TRAJECTORY} and no joint values of this robot; record the topic "
        "joint_trajectory"
    )


def fill_bag(
    source: Path, output: Path, known: Sequence[str], fill: Callable[[Waypoints], Waypoints]
) -> list[Waypoints]:
    """Copy a recording into a new MCAP file, its trajectories filled in.

    Where it holds none, what its joints were to follow is added as one, on
    `joint_trajectory_with_effort`.

    Args:
        source: The recording.
        output: File to make.
        known: Names of all joints of the robot.
        fill: Gives waypoints their efforts.

    Returns:
        The trajectories as they were written.

    Raises:
        RecordingError: If one cannot be read or the other not be written.
        TrajectoryError: If there is no motion of these joints, or it is none that can be filled.
    """
    # Before a file is made: nothing is left of a bag that cannot be filled
    messages = list(_messages(source, lambda *_: True))
    filled: dict[int, Waypoints] = {}
    for k, message in enumerate(messages):
        if message.kind == JOINT_TRAJECTORY and (given := deserialized(message)).points:
            filled[k] = fill(_waypoints(source, given, known))
    added = [] if filled else [fill(recorded_waypoints(source, known))]
    file = McapFile(output)
    try:
        _copy(messages, file, filled, added)
    finally:
        file.close()
    return [*filled.values(), *added]


def _copy(
    messages: Sequence[BagMessage],
    file: McapFile,
    filled: Mapping[int, Waypoints],
    added: Sequence[Waypoints],
) -> None:
    channels = _channels(messages, file)
    for k, message in enumerate(messages):
        content = message.data
        if k in filled:
            content = _message_bytes(deserialized(message).header, filled[k])
        if (channel := channels.get((message.topic, message.kind))) is not None:
            file.write(channel, message.arrival, content)
    for waypoints in added:
        channel = file.channel("/joint_trajectory_with_effort", JOINT_TRAJECTORY)
        types = get_typestore(Stores.ROS2_JAZZY).types
        none = types["builtin_interfaces/msg/Time"](sec=0, nanosec=0)
        header = types["std_msgs/msg/Header"](stamp=none, frame_id="")
        last = max(message.arrival for message in messages)
        file.write(channel, last, _message_bytes(header, waypoints))


def _channels(messages: Sequence[BagMessage], file: McapFile) -> dict[tuple[str, str], int]:
    """A channel for each topic; topics of types that ROS 2 does not have are left out."""
    channels: dict[tuple[str, str], int] = {}
    for key in dict.fromkeys((message.topic, message.kind) for message in messages):
        try:
            channels[key] = file.channel(*key)
        except RecordingError as error:
            logger.warning("%s is left out: %s", key[0], error)
    return channels


def _messages(path: Path, wanted: Wanted) -> Iterator[BagMessage]:
    if not path.exists():
        raise RecordingError(f"{path}: no such file")
    yield from bag_messages(path, wanted)


def _waypoints(path: Path, message: Any, known: Sequence[str]) -> Waypoints:
    points = [
        Point(
            point.time_from_start.sec + point.time_from_start.nanosec / NS_PER_S,
            *(
                np.asarray(values).tolist()
                for values in (point.positions, point.velocities, point.accelerations, point.effort)
            ),
        )
        for point in message.points
    ]
    try:
        return read_points(
            list(message.joint_names), points, known, allow_partial=True, allow_end_velocity=True
        )
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


def _message_bytes(header: Any, waypoints: Waypoints) -> bytes:
    store = get_typestore(Stores.ROS2_JAZZY)
    types = store.types
    points = []
    for point in points_of(waypoints):
        seconds, rest = divmod(round(point.time * NS_PER_S), NS_PER_S)
        points.append(
            types["trajectory_msgs/msg/JointTrajectoryPoint"](
                positions=np.array(point.positions, dtype=float),
                velocities=np.array(point.velocities, dtype=float),
                accelerations=np.array(point.accelerations, dtype=float),
                effort=np.array(point.effort, dtype=float),
                time_from_start=types["builtin_interfaces/msg/Duration"](sec=seconds, nanosec=rest),
            )
        )
    message = types[JOINT_TRAJECTORY](
        header=header, joint_names=list(waypoints.joint_names), points=points
    )
    return bytes(store.serialize_cdr(message, JOINT_TRAJECTORY))
