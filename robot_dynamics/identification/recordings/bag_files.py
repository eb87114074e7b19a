"""ROS 2 bags, MCAP and sqlite3, with or without their metadata.yaml, and joint states of them."""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.errors import RecordingError
from robot_dynamics.identification.recordings.channels import Channels, of_rows
from robot_dynamics.identification.recordings.mcap_records import (
    BagMessage,
    Wanted,
    mcap_messages,
)
from robot_dynamics.lazy import needed

JOINT_STATE = "sensor_msgs/msg/JointState"
SUFFIXES = (".mcap", ".db3")


def read_bag(path: Path, topic: str | None = None) -> Channels:
    """Read the joint states of a bag.

    Args:
        path: A .mcap or .db3 file, or the folder of a bag.
        topic: Which joint states; by default those of the topic `joint_states`, or the only ones.

    Raises:
        RecordingError: If there is no such file or topic, or what is there is damaged from the
            start. A file that ends in the middle gives the messages before, if there are any.
        MissingPackageError: If rosbags is not installed.
    """
    by_topic: dict[str, list[BagMessage]] = defaultdict(list)
    for message in bag_messages(path, lambda _, kind: kind == JOINT_STATE):
        by_topic[message.topic].append(message)
    chosen = by_topic[_chosen(path, list(by_topic), topic)]
    return _channels(f"{path}", [(message.arrival, deserialized(message)) for message in chosen])


def bag_messages(path: Path, wanted: Wanted) -> Iterator[BagMessage]:
    """The messages of a bag, file by file in their order; arguments and errors as in `read_bag`."""
    for file in _files(path):
        yield from (mcap_messages if file.suffix == ".mcap" else _sqlite)(file, wanted)


def deserialized(message: BagMessage) -> Any:
    """A message with its fields.

    Raises:
        MissingPackageError: If rosbags is not installed.
    """
    return _typestore().deserialize_cdr(message.data, message.kind)


@cache
def _typestore() -> Any:
    system = needed("rosbags.typesys", "reading bags", "identification")
    return system.get_typestore(system.Stores.ROS2_JAZZY)


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.iterdir() if file.suffix in SUFFIXES)
    if not files:
        raise RecordingError(f"{path}: holds no .mcap or .db3 file; give the folder of a bag")
    return files


def _chosen(path: Path, topics: list[str], topic: str | None) -> str:
    if topic is not None:
        wanted = "/" + topic.lstrip("/")
        if wanted in topics:
            return wanted
    elif len(topics) == 1:
        return topics[0]
    else:
        named = [name for name in topics if name.rsplit("/", 1)[-1] == "joint_states"]
        if len(named) == 1:
            return named[0]
    if not topics:
        raise RecordingError(
            f"{path}: holds no joint states; record the topic joint_states ({JOINT_STATE})"
        )
    raise RecordingError(f"{path}: joint states are on {', '.join(topics)}; say which topic")


def _sqlite(file: Path, wanted: Wanted) -> Iterator[BagMessage]:
    """By SQL and not by the reader of rosbags, which wants a metadata.yaml."""
    try:
        uri = f"{file.resolve().as_uri()}?mode=ro&immutable=1"
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            known = connection.execute("SELECT id, name, type FROM topics")
            topics = {i: (name, kind) for i, name, kind in known if wanted(name, kind)}
            rows = connection.execute("SELECT topic_id, timestamp, data FROM messages ORDER BY id")
            for topic, arrival, data in rows:
                if topic in topics:
                    yield BagMessage(*topics[topic], arrival, data)
    except sqlite3.Error as error:
        raise RecordingError(
            f"{file}: is no bag, or a damaged one ({error}); record again, or rescue it with "
            "`sqlite3 FILE .recover`"
        ) from None


def _channels(source: str, states: list[tuple[int, Any]]) -> Channels:
    """The messages that tell of the joints which most of them tell of, in one table."""
    groups = Counter(tuple(state.name) for _, state in states if len(state.position))
    if not groups:
        return of_rows(source, (), {"time": []})
    names = groups.most_common(1)[0][0]
    kept = [(arrival, state) for arrival, state in states if set(names) <= set(state.name)]
    stamps = np.array([s.header.stamp.sec + 1e-9 * s.header.stamp.nanosec for _, s in kept])
    if not np.ptp(stamps):  # nobody has stamped them
        stamps = 1e-9 * np.array([arrival for arrival, _ in kept], dtype=float)
    rows: dict[str, list[Array]] = {"time": list(stamps)}
    for field in ("position", "velocity", "effort"):
        rows[field] = [_row(state, field, names) for _, state in kept]
    return of_rows(source, names, rows)


def _row(state: Any, field: str, names: tuple[str, ...]) -> Array:
    values = getattr(state, field)
    if len(values) != len(state.name):
        return np.full(len(names), np.nan)
    if tuple(state.name) == names:
        return np.asarray(values, dtype=float)
    return np.array([values[list(state.name).index(name)] for name in names], dtype=float)
