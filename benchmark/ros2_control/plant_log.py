"""The log of CompiledPlant: one row for each cycle of controller_manager."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from robot_dynamics.foundation.arrays import Array

MAGIC = 0x504C414E54303031
HEADER = 5
"""Integers before the rows: magic, width, rows, count, start."""

FIELDS = 4
"""Numbers before the joints: time, period, time of the controllers, flags."""


@dataclass(frozen=True)
class PlantLog:
    """N cycles of n joints.

    Attributes:
        t: System time of each state, s, shape (N,).
        period: Measured period, s, shape (N,).
        update: Time between reading states and writing commands, s, shape (N,).
        braked: Whether the brakes hold the arm, shape (N,).
        blind: Whether states were NaN, shape (N,).
        due: Whether the time of the fault had come, shape (N,).
        q: Positions, shape (N, n), rad or m.
        qd: Velocities, shape (N, n).
        command: Efforts that the controllers have written, shape (N, n), N m or N.
        effort: Efforts that acted before the state, shape (N, n), N m or N.
    """

    t: Array
    period: Array
    update: Array
    braked: Array
    blind: Array
    due: Array
    q: Array
    qd: Array
    command: Array
    effort: Array

    def __len__(self) -> int:
        return len(self.t)

    def between(self, begin: float, end: float) -> PlantLog:
        """Return the cycles from one system time to another, s."""
        chosen = slice(*np.searchsorted(self.t, [begin, end]))
        return PlantLog(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))

    def write_csv(self, path: Path, names: Sequence[str]) -> None:
        """Write a recording of the motion and of the efforts that acted.

        Args:
            path: The file.
            names: Of the joints.
        """
        header = ["time", *(f"{key}.{name}" for key in ("q", "qd", "tau") for name in names)]
        rows = np.column_stack([self.t - self.t[0], self.q, self.qd, self.effort])
        np.savetxt(path, rows, fmt="%.9g", delimiter=",", header=",".join(header), comments="")

    @property
    def steps(self) -> Array:
        """Largest change of a command from one cycle to the next, shape (n,), N m or N."""
        finite, rows = np.isfinite(self.command), np.arange(len(self))[:, None]
        latest = np.maximum.accumulate(np.where(finite, rows, 0), axis=0)  # NaN: it goes on
        held = np.take_along_axis(self.command, latest, axis=0)
        steps: Array = np.nanmax(np.abs(np.diff(held, axis=0)), axis=0, initial=0.0)
        return steps

    @property
    def peak_step(self) -> float:
        """Largest of `steps`, N m or N."""
        return float(self.steps.max())

    @property
    def peak_speed(self) -> float:
        """Largest speed of a joint, rad/s or m/s."""
        return float(np.abs(self.qd).max(initial=0.0))


def read_log(path: Path) -> PlantLog:
    """Read a log, also while it is being written."""
    header = np.fromfile(path, np.int64, HEADER)
    if len(header) < HEADER or header[0] != MAGIC:
        raise OSError(f"{path} is no log of CompiledPlant")
    _, width, _, count, start = map(int, header)
    rows = np.fromfile(path, np.float64, width * count, offset=8 * HEADER).reshape(count, width)
    joints = np.split(rows[:, FIELDS:], 4, axis=1)
    flags = rows[:, 3].astype(int)
    t = rows[:, 0] + start * 1e-9
    braked, blind, due = (flags & bit > 0 for bit in (1, 2, 4))
    return PlantLog(t, rows[:, 1], rows[:, 2], braked, blind, due, *joints)


def latest_speed(path: Path) -> float:
    """Return the largest speed of the last cycle of a log, rad/s or m/s."""
    row = _latest(path)
    n = (len(row) - FIELDS) // 4
    return float(np.abs(row[FIELDS + n : FIELDS + 2 * n]).max())


def is_due(path: Path) -> bool:
    """Return whether the time of the fault had come in the last cycle of a log."""
    return bool(int(_latest(path)[3]) & 4)


def _latest(path: Path) -> Array:
    _, width, _, count, _ = map(int, np.fromfile(path, np.int64, HEADER))
    return np.fromfile(path, np.float64, width, offset=8 * (HEADER + width * (count - 1)))


def is_log(path: Path) -> bool:
    """Return whether a log has at least one cycle."""
    try:
        return len(read_log(path)) > 0
    except OSError:
        return False
