"""The plots beside the robot: the last seconds of what it does and of what that takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import viser
from viser import uplot

from robot_dynamics.arrays import Array
from robot_dynamics.robot import Robot
from robot_dynamics.viewer.effort_causes import CAUSES, EffortCauses
from robot_dynamics.viewer.snapshot import Snapshot

WINDOW_S = 10.0
"""Time that the plots show, s."""

COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf", "#8c564b",
           "#e377c2", "#7f7f7f", "#bcbd22")  # fmt: skip

MOST_CURVES = 10
"""Joints or links that a plot has room for: the first ones."""


class Plots:
    """Five plots in a panel beside the scene.

    Args:
        server: Where they are shown.
        robot: The robot.
        links: Rows of `EffortCauses.by_link`.
        limit: Effort limits, shape (n,), N m or N; infinite for none.
    """

    def __init__(
        self, server: viser.ViserServer, robot: Robot, links: Sequence[str], limit: Array
    ) -> None:
        joints = robot.joint_names[:MOST_CURVES]
        self._limit = limit
        self._joints = robot.joint_names
        self._rows: list[Array] = []
        self._widths = (len(joints), len(joints), len(joints), len(CAUSES) + 2,
                        len(links[:MOST_CURVES]))  # fmt: skip
        panel = server.gui.add_panel()
        panel.dock_right()
        panel.set_width(430)
        gui = server.gui
        with panel.add_tab("Motion and effort"):
            self._position = _plot(gui, "position, rad or m", joints)
            self._error = _plot(gui, "tracking error, mrad or mm", joints)
            self._effort = _plot(gui, "effort, % of its limit (N m where there is none)", joints)
            self.joint = gui.add_dropdown(
                "joint", self._joints, hint="whose effort is taken apart below"
            )
            self._causes = _plot(
                gui, "its effort by cause, N m or N", ("measured", "model", *CAUSES), legend=True
            )
            self._links = _plot(
                gui, "its effort by causing link, N m or N", links[:MOST_CURVES], legend=True
            )

    def add(self, now: Snapshot, causes: EffortCauses) -> None:
        """Take up a moment; `draw` shows it."""
        if self._rows and now.time < self._rows[-1][0]:
            self._rows.clear()  # the clock was set back: another motion
        k = self._joints.index(self.joint.value)
        n = self._widths[0]
        desired = now.q if now.q_d is None else now.q_d
        bounded = np.isfinite(self._limit)
        share = np.where(bounded, 100.0 * now.tau / np.where(bounded, self._limit, 1.0), now.tau)
        row = np.concatenate(
            [
                [now.time],
                now.q[:n],
                1e3 * (desired - now.q)[:n],
                share[:n],
                [now.tau[k], causes.total[k]],
                causes.by_cause[:, k],
                causes.by_link[: self._widths[4], k],
            ]
        )
        self._rows.append(row)
        while self._rows[0][0] < now.time - WINDOW_S:
            del self._rows[0]

    def draw(self) -> None:
        """Send the curves to the browsers."""
        if len(self._rows) < 2:
            return
        table = np.array(self._rows).T
        t, at = np.ascontiguousarray(table[0]), 1
        handles = (self._position, self._error, self._effort, self._causes, self._links)
        for handle, width in zip(handles, self._widths, strict=True):
            handle.data = (t, *(np.ascontiguousarray(row) for row in table[at : at + width]))
            at += width

    def clear(self) -> None:
        """Begin anew."""
        self._rows.clear()


def _plot(gui: viser.GuiApi, title: str, names: Sequence[str], *, legend: bool = False) -> Any:
    empty = tuple(np.zeros(1) for _ in range(len(names) + 1))
    curves = [
        uplot.Series(label=name, stroke=COLOURS[k % len(COLOURS)], width=1.6)
        for k, name in enumerate(names)
    ]
    return gui.add_uplot(
        empty,
        (uplot.Series(label="t, s"), *curves),
        title=title,
        scales={"x": uplot.Scale(time=False), "y": uplot.Scale(auto=True)},
        height=155 if legend else 125,
        legend=uplot.Legend(show=legend, live=False),
    )
