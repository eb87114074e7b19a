"""The plots beside the robot: motion and efforts of the last seconds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import viser
from viser import uplot

from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot import Robot
from robot_dynamics.viewer.effort_causes import CAUSES, EffortCauses
from robot_dynamics.viewer.snapshot import Snapshot

WINDOW_S = 10.0
"""Time that the plots show, s."""

COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf", "#8c564b",
           "#e377c2", "#7f7f7f", "#bcbd22")  # fmt: skip

TICKS_APART = 18.0
"""Least distance of two ticks at the side, pixels; by default most plots had the one of zero."""

MOST_CURVES = 10
"""Largest number of joints or links in a plot; the first ones are shown."""


class _Curves:
    """The last seconds of some signals, distributed over several plots.

    Args:
        plots: Each plot with its number of curves, in order.
    """

    def __init__(self, plots: Sequence[tuple[Any, int]]) -> None:
        self._plots = plots
        self._rows: list[Array] = []

    def add(self, time: float, *parts: Array) -> None:
        """Add the numbers of a time, s; an earlier time than the last begins a new motion."""
        if self._rows and time < self._rows[-1][0]:
            self.clear()
        self._rows.append(np.concatenate([[time], *parts]))
        while self._rows[0][0] < time - WINDOW_S:
            del self._rows[0]

    def draw(self) -> None:
        """Send the curves to the browsers."""
        if len(self._rows) < 2:
            return
        table = np.ascontiguousarray(np.array(self._rows).T)
        at = 1
        for handle, width in self._plots:
            handle.data = (table[0], *table[at : at + width])
            at += width

    def clear(self) -> None:
        """Remove all points."""
        self._rows.clear()


class Plots:
    """Five plots in a panel beside the scene.

    Args:
        server: Server of the page.
        robot: The robot.
        links: Rows of `EffortCauses.by_link`.
        limit: Effort limits, shape (n,), N m or N; infinite for none.
    """

    def __init__(
        self, server: viser.ViserServer, robot: Robot, links: Sequence[str], limit: Array
    ) -> None:
        joints = robot.joint_names
        self._limit = limit
        self._joints = joints
        self._few, self._links = (min(len(names), MOST_CURVES) for names in (joints, links))
        panel = server.gui.add_panel()
        panel.dock_right()
        panel.set_width(430)
        gui = server.gui
        with panel.add_tab("Motion and effort"):
            motion = [
                _plot(gui, "position, rad or m", joints, 0.05),
                _plot(gui, "tracking error, mrad or mm", joints, 0.05),
                _plot(gui, "effort, % of its limit (N m where there is none)", joints, 0.5),
            ]
            self.joint = gui.add_dropdown(
                "joint", self._joints, hint="whose effort is taken apart below"
            )
            parts = ("measured", "model", *CAUSES)
            causes = _plot(gui, "its effort by cause, N m or N", parts, 0.05)
            by_link = _plot(gui, "its effort by causing link, N m or N", links, 0.05)
        self._motion = _Curves([(plot, self._few) for plot in motion])
        self._parts = _Curves([(causes, len(parts)), (by_link, self._links)])

    def add(self, now: Snapshot) -> None:
        """Add a moment; `draw` shows it."""
        few = slice(self._few)
        desired = now.q if now.q_d is None else now.q_d
        bounded = np.isfinite(self._limit)
        share = np.where(bounded, 100.0 * now.tau / np.where(bounded, self._limit, 1.0), now.tau)
        self._motion.add(now.time, now.q[few], 1e3 * (desired - now.q)[few], share[few])

    def take_apart(self, now: Snapshot, causes: EffortCauses) -> None:
        """Add the causes of the efforts of one moment."""
        k = self._joints.index(self.joint.value)
        both = np.array([now.tau[k], causes.total[k]])
        self._parts.add(now.time, both, causes.by_cause[:, k], causes.by_link[: self._links, k])

    def draw(self) -> None:
        """Send the curves to the browsers."""
        self._motion.draw()
        self._parts.draw()

    def clear(self) -> None:
        """Remove all points."""
        self._motion.clear()
        self._parts.clear()


def _plot(gui: viser.GuiApi, title: str, names: Sequence[str], least: float) -> Any:
    """Add a plot with a legend, whose names hide and show their curves.

    Its axis reaches from -least to least where all values are smaller, so that ticks can be read.
    """
    if len(names) > MOST_CURVES:
        title += f"; first {MOST_CURVES} of {len(names)}"
        names = names[:MOST_CURVES]
    empty = tuple(np.zeros(1) for _ in range(len(names) + 1))
    curves = [
        uplot.Series(label=name, stroke=COLOURS[k % len(COLOURS)], width=1.6)
        for k, name in enumerate(names)
    ]
    ends = [{"pad": 0.1, "soft": end, "mode": 1} for end in (-least, least)]
    none = uplot.Axis_Ticks(show=False)
    wide: Any = dict(zip(("min", "max"), ends, strict=True))
    return gui.add_uplot(
        empty,
        (uplot.Series(label="t, s"), *curves),
        title=title,
        scales={"x": uplot.Scale(time=False), "y": uplot.Scale(auto=True, range=wide)},
        axes=(uplot.Axis(ticks=none), uplot.Axis(ticks=none, space=TICKS_APART)),
        height=155,
        padding=(9, 0, 0, 0),  # pixels, for the upper half of the highest tick
        legend=uplot.Legend(show=True, live=False),
    )
