"""ROS 2 messages as bytes (CDR), without ROS: built, serialized and read by `rosbags`."""

from __future__ import annotations

from functools import cache
from typing import Any

from robot_dynamics.errors import RecordingError
from robot_dynamics.foundation.lazy import needed
from robot_dynamics.foundation.units import NS_PER_S

JOINT_STATE = "sensor_msgs/msg/JointState"
STRING = "std_msgs/msg/String"

RUN_TOPIC = "run"
"""Topic on which each run of a recording begins with its name."""
JOINT_TRAJECTORY = "trajectory_msgs/msg/JointTrajectory"


@cache
def _typestore() -> Any:
    system = needed("rosbags.typesys", "reading bags", "identification")
    return system.get_typestore(system.Stores.ROS2_JAZZY)


def new_message(kind: str, *values: Any, **fields: Any) -> Any:
    """Build a message of a type such as "sensor_msgs/msg/JointState".

    Raises:
        MissingPackageError: If rosbags is not installed.
    """
    return _typestore().types[kind](*values, **fields)


def header(stamp: int, frame: str = "") -> Any:
    """Build a header from a time in ns."""
    return new_message("std_msgs/msg/Header", time(stamp), frame)


def time(stamp: int) -> Any:
    """Build a time from ns."""
    return new_message("builtin_interfaces/msg/Time", *divmod(stamp, NS_PER_S))


def duration(ns: int) -> Any:
    """Build a duration from ns."""
    return new_message("builtin_interfaces/msg/Duration", *divmod(ns, NS_PER_S))


def serialized(message: Any) -> bytes:
    """Return the bytes of a message."""
    return bytes(_typestore().serialize_cdr(message, message.__msgtype__))


def deserialized(data: bytes, kind: str) -> Any:
    """Return the message of a type from its bytes.

    Raises:
        MissingPackageError: If rosbags is not installed.
    """
    return _typestore().deserialize_cdr(data, kind)


@cache
def definition(kind: str) -> str:
    """Return the definition of a type and of the types that it contains, as bags store it.

    Raises:
        RecordingError: If the type is unknown.
    """
    try:
        text, _ = _typestore().generate_msgdef(kind, ros_version=2)
    except Exception as error:
        raise RecordingError(f"no definition of message {kind} ({error})") from None
    return str(text)
