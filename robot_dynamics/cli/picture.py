"""Picture of a comparison: positions, errors and efforts of every joint, as a PNG."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from robot_dynamics.cli.tracking import Comparison
from robot_dynamics.control import effort_limits
from robot_dynamics.robot import Robot
from robot_dynamics.simulation import Log

MOST_ROWS = 10
"""Joints that a picture shows at most: those that move most."""

WITH, ALONE, LIMIT, DESIRED = "#0072b2", "#d55e00", "#999999", "#000000"
"""Colours that stay apart for every kind of colour vision."""


def draw(comparisons: Sequence[Comparison], robot: Robot, path: Path) -> None:
    """Draw positions, errors and efforts of every joint.

    Args:
        comparisons: The first one gives positions and efforts, all of them errors.
        robot: The robot.
        path: PNG to write.
    """
    first = comparisons[0]
    shown = _most_moved(first.with_feedforward)
    columns = 2 + len(comparisons)
    figure = Figure(figsize=(4.4 * columns, 1.5 + 1.75 * len(shown)), dpi=110)
    FigureCanvasAgg(figure)
    axes = figure.subplots(len(shown), columns, squeeze=False, sharex=True)
    for row, i in zip(axes, shown, strict=True):
        _draw_joint(row, i, comparisons, robot)
    titles = ["position", *(f"error, {c.title}" for c in comparisons), "effort, feedforward"]
    for axis, title in zip(axes[0], titles, strict=True):
        axis.set_title(title, pad=16)
    for axis in axes[-1]:
        axis.set_xlabel("time, s")
    handles = [
        *axes[0][0].get_lines()[1:],
        axes[0][0].get_lines()[0],
        *axes[0][-1].get_lines()[1:2],
    ]
    figure.legend(
        handles,
        ["with feedforward", "PD alone, same gains", "desired", "effort limit"][: len(handles)],
        loc="upper center",
        ncols=4,
        frameon=False,
        bbox_to_anchor=(0.5, 1.0 - 0.25 / figure.get_figheight()),
    )
    figure.suptitle(f"{robot.name}: {_headline(first)}", y=1.0 - 0.08 / figure.get_figheight())
    figure.tight_layout(rect=(0.0, 0.0, 1.0, 1.0 - 0.45 / figure.get_figheight()))
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)


def _draw_joint(
    row: Sequence[Axes], i: int, comparisons: Sequence[Comparison], robot: Robot
) -> None:
    axes = list(row)
    first = comparisons[0]
    ours, alone = first.with_feedforward, first.alone
    name = ours.joint_names[i]
    rotates = robot.joint(name).type.rotates
    position, errors, effort = axes[0], axes[1:-1], axes[-1]

    position.plot(ours.t, ours.q_d[:, i], color=DESIRED, lw=1.0, ls="--", zorder=3)
    position.plot(ours.t, ours.q[:, i], color=WITH, lw=2.2)
    position.plot(alone.t, alone.q[:, i], color=ALONE, lw=1.2)
    position.set_ylabel(f"{name}\n{'rad' if rotates else 'm'}")
    for axis, comparison in zip(errors, comparisons, strict=True):
        for log, colour in ((comparison.alone, ALONE), (comparison.with_feedforward, WITH)):
            axis.plot(log.t, 1e3 * log.error[:, i], color=colour, lw=1.2)
        axis.axhline(0.0, color=LIMIT, lw=0.5, zorder=0)
        axis.set_ylabel("mrad" if rotates else "mm")
        axis.text(
            1.0,
            1.02,
            f"RMS {comparison.ratio[i]:.0f} x smaller",
            transform=axis.transAxes,
            ha="right",
            va="bottom",
            fontsize=8,
            color=WITH,
        )
    effort.plot(ours.t, ours.tau[:, i], color=WITH, lw=1.2)
    limit = dict(zip(robot.joint_names, effort_limits(robot), strict=True))[name]
    reach = np.abs(ours.tau[:, i]).max()
    if np.isfinite(limit):
        for side in (-limit, limit):
            effort.axhline(side, color=LIMIT, lw=1.0, ls=":")
        # A limit far away would flatten the curve; it is then only written
        room = 1.15 * (limit if reach > 0.4 * limit else max(reach, 1e-9))
        effort.set_ylim(-room, room)
        effort.text(
            1.0,
            1.02,
            f"limit {limit:g}, {100.0 * reach / limit:.0f} % used",
            transform=effort.transAxes,
            ha="right",
            va="bottom",
            fontsize=8,
            color="#555555",
        )
    effort.set_ylabel("N m" if rotates else "N")


def _most_moved(log: Log) -> list[int]:
    """Joints to show, in their order: all, or those that move most."""
    swing = np.ptp(log.q_d, axis=0)
    return sorted(int(i) for i in np.argsort(-swing, kind="stable")[:MOST_ROWS])


def _headline(comparison: Comparison) -> str:
    ratio = comparison.ratio
    return (
        f"tracking error with feedforward {ratio.min():.0f} to {ratio.max():.0f} times smaller "
        "than with PD alone"
    )
