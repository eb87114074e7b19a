"""JointValues: the values of a sensor_msgs/JointState as arrays, for the fast loop."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from robot_dynamics.foundation.arrays import Array

FIELDS = ("position", "velocity", "effort")
"""Fields of a JointState with one number per joint."""


@cache
def _nothing(n: int) -> Array:
    return np.full((len(FIELDS), n), np.nan)


class JointValues(NamedTuple):
    """One message, each of whose fields has an entry for every name, or none at all.

    Args:
        names: Joints.
        stamp: Time of the values, ns.
        rows: Position, velocity and effort, shape (3, n); NaN where a field is absent.
        absent: Fields without entries.
        frame_id: Of the header.
    """

    names: tuple[str, ...]
    stamp: int
    rows: Array
    absent: tuple[str, ...] = ()
    frame_id: str = ""

    @classmethod
    def of_efforts(cls, names: tuple[str, ...], stamp: int, tau: Array) -> JointValues:
        """A command: efforts, shape (n,), and nothing else."""
        rows = _nothing(len(names)).copy()
        rows[2] = tau
        return cls(names, stamp, rows, FIELDS[:2])


JOINTS, ACTUATORS = "joints", "actuators"
"""Kinds of the entries of a command."""


def order_label(names: Sequence[str], kind: str = JOINTS) -> str:
    """Return the label of a command that names its entries in order, such as "joints: a, b"."""
    return f"{kind}: {', '.join(names)}"


class Efforts(NamedTuple):
    """One std_msgs/Float64MultiArray of efforts.

    Args:
        label: Label of its only dimension; empty if the message has none.
        values: The efforts, shape (n,).
    """

    label: str
    values: Array

    @property
    def named(self) -> bool:
        """Return whether the label names the entries; see `order_label`."""
        return self.label.startswith((f"{JOINTS}: ", f"{ACTUATORS}: "))


Places = Array | slice
"""Indices of the entries of a message, or of their targets."""

ALL = slice(None)
"""Every place, in order."""


def run_of(indices: Sequence[int], count: int) -> Places:
    """Return indices into `count` entries, as a slice, which is faster, if they are consecutive."""
    if indices and list(indices) == list(range(count)):
        return ALL
    if indices and list(indices) == list(range(indices[0], indices[0] + len(indices))):
        return slice(indices[0], indices[0] + len(indices))
    return np.array(indices, dtype=np.intp)


class Sender:
    """Messages that list the same joints: indices of entries and targets, and the last stamp, ns.

    Args:
        names: The joints that they list.
        source: Indices of the entries that belong to joints of this robot.
        target: Indices of these joints among those of this robot.
        n: Number of joints of this robot.

    Attributes:
        ours: Whether any of the joints belongs to this robot.
        whole: Whether they are all joints of this robot.
        older: Messages in a row that were older than the last one taken.
    """

    __slots__ = ("names", "older", "ours", "source", "stamp", "target", "whole")

    def __init__(
        self, names: tuple[str, ...], source: Sequence[int], target: Sequence[int], n: int
    ) -> None:
        self.names = names
        self.source, self.target = run_of(source, len(names)), run_of(target, n)
        self.ours, self.whole = len(target) > 0, len(target) == n
        self.stamp = 0
        self.older = 0
