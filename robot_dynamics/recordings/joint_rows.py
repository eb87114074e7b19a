"""Joint values of one topic of a recording, as arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.units import NS_PER_S
from robot_dynamics.recordings.bag_reader import BagMessage


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

        return JointRows(
            tuple(names),
            self.stamp,
            pick(self.position),
            pick(self.velocity),
            pick(self.effort),
        )


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
    stamp = np.array([_stamp(states[k]) for k in kept], dtype=np.int64)
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


def _stamp(state: Any) -> int:
    return int(state.header.stamp.sec) * NS_PER_S + int(state.header.stamp.nanosec)
