"""How well a motion was followed: a comparison, and its table for the terminal."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from rich import box
from rich.table import Table

from robot_dynamics.control import effort_limits
from robot_dynamics.robot import Robot
from robot_dynamics.robot.robot import Array
from robot_dynamics.simulation import Log


class Comparison(NamedTuple):
    """The same motion, on the same robot, with the same gains, twice."""

    title: str
    with_feedforward: Log
    alone: Log

    @property
    def ratio(self) -> Array:
        """How many times smaller the RMS error of each joint is with feedforward, shape (n,)."""
        least = np.finfo(float).tiny
        return self.alone.rms_error / np.maximum(self.with_feedforward.rms_error, least)


def tracking_table(comparison: Comparison, robot: Robot) -> Table:
    """Errors, their ratio, and peak efforts against limits, one row per joint."""
    table = Table(title=comparison.title, box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    table.add_column("joint")
    table.add_column("")
    for heading in ("feedforward\nRMS", "\npeak", "PD alone\nRMS", "\npeak"):
        table.add_column(heading, justify="right")
    table.add_column("better\nby", justify="right", style="bold")
    table.add_column("peak\neffort", justify="right")
    table.add_column("\nlimit", justify="right")
    table.add_column("", justify="right")
    ours, alone = comparison.with_feedforward, comparison.alone
    limits = dict(zip(robot.joint_names, effort_limits(robot), strict=True))
    for i, name in enumerate(ours.joint_names):
        rotates = robot.joint(name).type.rotates
        peak, limit = ours.peak_effort[i], limits[name]
        table.add_row(
            name,
            "mrad" if rotates else "mm",
            *(
                f"{1e3 * error[i]:.3f}"
                for log in (ours, alone)
                for error in (log.rms_error, log.peak_error)
            ),
            f"{comparison.ratio[i]:.0f} x",
            f"{peak:.3g}",
            f"{limit:g} {'N m' if rotates else 'N'}" if np.isfinite(limit) else "none",
            f"{100.0 * peak / limit:.0f} %" if np.isfinite(limit) else "",
        )
    return table
