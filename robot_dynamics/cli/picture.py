"""Picture of a comparison: positions, errors and efforts of every joint, as a PNG."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from robot_dynamics.cli.tracking import CONTROL, Comparison
from robot_dynamics.control import effort_limits
from robot_dynamics.foundation.user_files import write_whole
from robot_dynamics.robot import Robot
from robot_dynamics.simulation import Log

MOST_ROWS = 10
"""Joints that a picture shows at most: those that move most."""

COLOURS = {"feedforward": "#0072b2", "pd_gravity": "#009e73", "pd": "#d55e00"}
"""Of the modes of `CONTROL`; they stay apart for every kind of colour vision."""

BACK_TO_FRONT = ("pd", "pd_gravity", "feedforward")
"""Order of drawing: ours last, or it would lie under the others."""

LIMIT, DESIRED, REMARK = "#999999", "#000000", "#555555"


def draw(comparisons: Sequence[Comparison], robot: Robot, path: Path) -> None:
    """Draw positions, errors and efforts of every joint.

    Args:
        comparisons: The first one gives positions and efforts, all of them errors.
        robot: The robot.
        path: PNG to write.
    """
    first = comparisons[0]
    shown = _most_moved(first.feedforward)
    columns = 2 + len(comparisons)
    figure = Figure(figsize=(4.4 * columns, 1.6 + 1.75 * len(shown)), dpi=110)
    FigureCanvasAgg(figure)
    axes = figure.subplots(len(shown), columns, squeeze=False, sharex=True)
    for row, i in zip(axes, shown, strict=True):
        _draw_joint(row, i, comparisons, robot)
    titles = ["position", *(f"error, {c.title}" for c in comparisons), "effort, feedforward"]
    for axis, title in zip(axes[0], titles, strict=True):
        axis.set_title(title, pad=18)
    for axis in axes[-1]:
        axis.set_xlabel("time, s")
    figure.align_ylabels(axes)
    inch = 1.0 / figure.get_figheight()
    figure.legend(handles=_legend(), loc="upper center", ncols=5, frameon=False,
                  bbox_to_anchor=(0.5, 1.0 - 0.27 * inch))  # fmt: skip
    figure.suptitle(f"{robot.name}: {first.summary}", y=1.0 - 0.08 * inch, fontsize="medium")
    figure.tight_layout(rect=(0.0, 0.0, 1.0, 1.0 - 0.5 * inch))
    save(figure, path)


def save(figure: Figure, path: Path) -> Path:
    """Save a picture, whole or not at all, in a folder that is created if need be."""
    content = io.BytesIO()
    figure.savefig(content, format=path.suffix[1:].lower())
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, content.getvalue())
    return path


def _legend() -> list[Line2D]:
    lines = [Line2D([], [], color=COLOURS[mode], lw=2.0, label=CONTROL[mode]) for mode in CONTROL]
    lines.append(Line2D([], [], color=DESIRED, lw=1.0, ls="--", label="desired"))
    return [*lines, Line2D([], [], color=LIMIT, lw=1.0, ls=":", label="effort limit")]


def _draw_joint(
    row: Sequence[Axes], i: int, comparisons: Sequence[Comparison], robot: Robot
) -> None:
    axes = list(row)
    ours = comparisons[0].feedforward
    name = ours.joint_names[i]
    rotates = robot.joint(name).type.rotates
    position, errors, effort = axes[0], axes[1:-1], axes[-1]

    # Ours is broad, to be seen under the dashes of what was desired
    for mode in BACK_TO_FRONT:
        log = getattr(comparisons[0], mode)
        width = 2.6 if mode == "feedforward" else 1.2
        position.plot(log.t, log.q[:, i], color=COLOURS[mode], lw=width)
    position.plot(ours.t, ours.q_d[:, i], color=DESIRED, lw=1.0, ls="--")
    position.set_ylabel(f"{name}\n{'rad' if rotates else 'm'}")
    unit = "mrad" if rotates else "mm"
    for axis, comparison in zip(errors, comparisons, strict=True):
        for mode in BACK_TO_FRONT:
            log = getattr(comparison, mode)
            width = 2.0 if mode == "feedforward" else 1.2
            axis.plot(log.t, 1e3 * log.error[:, i], color=COLOURS[mode], lw=width)
        axis.axhline(0.0, color=LIMIT, lw=0.5, zorder=0)
        axis.set_ylabel(unit)
        ratios = " and ".join(
            f"{comparison.times_smaller(other)[i]:.0f}" for other in comparison.baselines
        )
        rms = 1e3 * comparison.feedforward.rms_error[i]
        _remark(axis, f"RMS {rms:.2g} {unit}, {ratios} times smaller", COLOURS["feedforward"])
    effort.plot(ours.t, ours.tau[:, i], color=COLOURS["feedforward"], lw=1.2)
    effort.set_ylabel("N m" if rotates else "N")
    _draw_limit(effort, dict(zip(robot.joint_names, effort_limits(robot), strict=True))[name],
                np.abs(ours.tau[:, i]).max())  # fmt: skip


def _draw_limit(effort: Axes, limit: float, reach: float) -> None:
    """Lines at both limits; where they are far away they would flatten the curve, so words."""
    if not np.isfinite(limit):
        return
    for side in (-limit, limit):
        effort.axhline(side, color=LIMIT, lw=1.0, ls=":")
    room = 1.15 * (limit if reach > 0.4 * limit else max(reach, 1e-9))
    effort.set_ylim(-room, room)
    _remark(effort, f"limit {limit:g}, {100.0 * reach / limit:.0f} % used", REMARK)


def _remark(axis: Axes, text: str, colour: str) -> None:
    """Words above the right end of an axis, clear of its curves."""
    axis.text(
        1.0, 1.02, text, transform=axis.transAxes, ha="right", va="bottom", fontsize=8, color=colour
    )


def _most_moved(log: Log) -> list[int]:
    """Joints to show, in their order: all, or those that move most."""
    swing = np.ptp(log.q_d, axis=0)
    return sorted(int(i) for i in np.argsort(-swing, kind="stable")[:MOST_ROWS])
