"""Compare the tracking errors of two runs, and print them as a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from rich.table import Table

from robot_dynamics.cli.tables import plain_table
from robot_dynamics.control import effort_limits
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot import Robot
from robot_dynamics.simulation import Log

CONTROL: Mapping[str, str] = {
    "feedforward": "feedforward",
    "pd_gravity": "PD + gravity",
    "pd": "PD alone",
}
"""Modes of the controller that are compared, all with the same gains: ours, then the baselines.

PD with gravity is what many arms ship with, and the fair comparison: PD alone first of all sags.
"""


class Comparison(NamedTuple):
    """The same motion, on the same robot, with the same gains, in every mode of `CONTROL`."""

    title: str
    feedforward: Log
    pd_gravity: Log
    pd: Log

    @property
    def baselines(self) -> dict[str, Log]:
        """Baselines that feedforward is compared with, by name."""
        return {CONTROL["pd_gravity"]: self.pd_gravity, CONTROL["pd"]: self.pd}

    def times_smaller(self, baseline: str) -> Array:
        """Ratio of the RMS errors without and with feedforward, shape (n,)."""
        least = np.finfo(float).tiny
        return self.baselines[baseline].rms_error / np.maximum(self.feedforward.rms_error, least)

    @property
    def summary(self) -> str:
        """The ratios of all joints in one line."""
        ranges = []
        for name in self.baselines:
            ratio = self.times_smaller(name)
            ranges.append(f"{ratio.min():.0f} to {ratio.max():.0f} times smaller than {name}")
        return "tracking error with feedforward " + ", ".join(ranges)

    def numbers(self, robot: Robot) -> dict[str, object]:
        """Return the content of the table for programs, in SI units."""
        logs = {mode: getattr(self, mode) for mode in CONTROL}
        return {
            "title": self.title,
            "joint_names": self.feedforward.joint_names,
            "effort_limit": effort_limits(robot),
            "modes": {
                mode: {"rms_error": log.rms_error, "peak_effort": log.peak_effort}
                for mode, log in logs.items()
            },
            "times_smaller": {mode: self.times_smaller(CONTROL[mode]) for mode in [*CONTROL][1:]},
        }


def tracking_table(comparison: Comparison, robot: Robot) -> Table:
    """Errors, their ratios, and peak efforts against limits, one row per joint."""
    table = plain_table(comparison.title, [])
    table.add_column("joint", overflow="fold")
    table.add_column("RMS\nerror")
    for heading in CONTROL.values():
        table.add_column(heading.replace(" ", "\n", 1), justify="right")
    for name in comparison.baselines:
        label = name.replace("PD + gravity", "PD+g").replace("PD alone", "PD")
        table.add_column(f"better\nthan {label}", justify="right", style="bold")
    table.add_column("peak\neffort", justify="right")
    table.add_column("\nlimit", justify="right")
    table.add_column("", justify="right")
    logs = (comparison.feedforward, *comparison.baselines.values())
    limits = dict(zip(robot.joint_names, effort_limits(robot), strict=True))
    for i, name in enumerate(comparison.feedforward.joint_names):
        rotates = robot.joint(name).type.rotates
        peak, limit = comparison.feedforward.peak_effort[i], limits[name]
        table.add_row(
            name,
            "mrad" if rotates else "mm",
            *(f"{1e3 * log.rms_error[i]:.3f}" for log in logs),
            *(f"{comparison.times_smaller(other)[i]:.0f} x" for other in comparison.baselines),
            f"{peak:.3g}",
            f"{limit:g} {'N m' if rotates else 'N'}" if np.isfinite(limit) else "none",
            f"{100.0 * peak / limit:.0f} %" if np.isfinite(limit) else "",
        )
    return table
