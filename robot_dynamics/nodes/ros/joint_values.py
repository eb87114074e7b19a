"""JointValues: what a sensor_msgs/JointState says, as arrays, on its way through the fast loop."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from robot_dynamics.arrays import Array

FIELDS = ("position", "velocity", "effort")
"""What a JointState may give for each joint."""


@cache
def _nothing(n: int) -> Array:
    return np.full((len(FIELDS), n), np.nan)


class JointValues(NamedTuple):
    """One message, each of whose fields has an entry for every name, or none at all.

    Whoever takes it leaves it as it is: others may hold it too.

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
