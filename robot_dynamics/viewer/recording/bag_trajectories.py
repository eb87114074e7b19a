"""Trajectories in recordings: read as waypoints, and written back with their efforts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from rosbags.highlevel import AnyReader, AnyReaderError
from rosbags.typesys import Stores, get_typestore

from robot_dynamics.errors import TrajectoryError
from robot_dynamics.trajectory import Waypoints
from robot_dynamics.trajectory.trajectory_files import points_of
from robot_dynamics.trajectory.waypoints import Point, read_points
from robot_dynamics.viewer.recording.mcap_file import McapFile, RecordingError
from robot_dynamics.viewer.recording.recorded_motion import JointRows, read_motion

SUFFIXES = (".mcap", ".db3", ".bag")

JOINT_TRAJECTORY = "trajectory_msgs/msg/JointTrajectory"

FOLLOWED = ("reference", "joint_states")
"""Joint values that stand for a trajectory where a recording holds none, the best first."""

SPACING_S = 0.02
"""Least time between waypoints that are taken from joint values, s."""

NANOSECONDS = 1_000_000_000


def is_recording(path: Path) -> bool:
    """Whether a path is that of a bag, by its name."""
    return path.suffix in SUFFIXES or path.is_dir()


@contextmanager
def open_bag(path: Path) -> Iterator[AnyReader]:
    """A recording to read.

    Raises:
        RecordingError: If it is none.
    """
    if not path.exists():
        raise RecordingError(f"{path}: no such file")
    try:
        with AnyReader([path], default_typestore=get_typestore(Stores.ROS2_JAZZY)) as reader:
            yield reader
    except (AnyReaderError, AssertionError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise RecordingError(f"{path}: is no recording that can be read ({reason})") from None


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
    with open_bag(file) as reader:
        kinds = ", ".join(sorted({c.msgtype for c in reader.connections})) or "nothing"
        first = next((m for m in _trajectories(reader) if m.points), None)
    if first is not None:
        return _waypoints(file, first, known)
    topics = read_motion(file).topics
    for name in FOLLOWED:
        if name in topics and set(topics[name].joint_names) & set(known):
            return _followed(topics[name], known)
    raise TrajectoryError(
        f"{path}: holds no {JOINT_TRAJECTORY} and no joint values of this robot ({kinds}); "
        "record the topic joint_trajectory"
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
    with open_bag(source) as reader:  # before a file is made: nothing is left of one that is wrong
        given = list(_trajectories(reader))
        filled = [fill(_waypoints(source, m, known)) if m.points else None for m in given]
        added = [] if any(filled) else [fill(recorded_waypoints(source, known))]
        file = McapFile(output)
        try:
            _copy(reader, file, dict(enumerate(filled)), added)
        finally:
            file.close()
    return [*(waypoints for waypoints in filled if waypoints is not None), *added]


def _copy(
    reader: AnyReader,
    file: McapFile,
    filled: dict[int, Waypoints | None],
    added: Sequence[Waypoints],
) -> None:
    channels = {
        (c.topic, c.msgtype): file.channel(c.topic, c.msgtype, str(c.msgdef.data) or None)
        for c in reader.connections
    }
    store, at = get_typestore(Stores.ROS2_JAZZY), 0
    for connection, stamp, data in reader.messages():
        content = bytes(data)
        if connection.msgtype == JOINT_TRAJECTORY:
            waypoints, at = filled[at], at + 1
            if waypoints is not None:
                message: Any = reader.deserialize(data, JOINT_TRAJECTORY)
                content = _message_bytes(store, message.header, waypoints)
        file.write(channels[connection.topic, connection.msgtype], stamp, content)
    for waypoints in added:
        channel = file.channel("/joint_trajectory_with_effort", JOINT_TRAJECTORY)
        none = store.types["builtin_interfaces/msg/Time"](sec=0, nanosec=0)
        header = store.types["std_msgs/msg/Header"](stamp=none, frame_id="")
        file.write(channel, reader.end_time, _message_bytes(store, header, waypoints))


def _trajectories(reader: AnyReader) -> Iterator[Any]:
    wanted = [c for c in reader.connections if c.msgtype == JOINT_TRAJECTORY]
    if wanted:  # to ask for none would be to ask for all
        for _, _, data in reader.messages(wanted):
            yield reader.deserialize(data, JOINT_TRAJECTORY)


def _waypoints(path: Path, message: Any, known: Sequence[str]) -> Waypoints:
    points = [
        Point(
            point.time_from_start.sec + point.time_from_start.nanosec / NANOSECONDS,
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
    t = (rows.stamp - rows.stamp[0]) / NANOSECONDS
    kept, last = [], -np.inf
    for k in np.flatnonzero(np.isfinite(rows.position).all(axis=1)):
        if t[k] >= last + SPACING_S:
            kept.append(k)
            last = t[k]
    velocity = rows.velocity[kept]
    given = None if np.isnan(velocity).any() else velocity
    return Waypoints(tuple(names), t[kept], rows.position[kept], given)


def _message_bytes(store: Any, header: Any, waypoints: Waypoints) -> bytes:
    types = store.types
    points = []
    for point in points_of(waypoints):
        seconds, rest = divmod(round(point.time * NANOSECONDS), NANOSECONDS)
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
