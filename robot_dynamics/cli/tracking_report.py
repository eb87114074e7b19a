"""Compare the tracking errors of runs with several control modes: as a table and as a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from robot_dynamics.cli.arguments import joint_units
from robot_dynamics.cli.output import save_picture
from robot_dynamics.control import effort_limits
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.names import plot_text
from robot_dynamics.foundation.numbers import counted
from robot_dynamics.foundation.pictures import new_figure
from robot_dynamics.foundation.text_tables import TextTable
from robot_dynamics.robot import Robot
from robot_dynamics.robot.joint_units import joint_unit
from robot_dynamics.simulation import Log

if TYPE_CHECKING:  # matplotlib comes with the extra `cli`
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

CONTROL: Mapping[str, str] = {
    "feedforward": "feedforward",
    "pd_gravity": "PD + gravity",
    "pd": "PD alone",
}
"""Modes of the controller that are compared, all with the same gains: ours, then the baselines.

PD with gravity compensation is the fair baseline, which many arms ship with: PD alone sags.
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
            ends = dict.fromkeys((f"{ratio.min():.0f}", f"{ratio.max():.0f}"))
            ranges.append(f"{' to '.join(ends)} times smaller than {name}")
        return "tracking error with feedforward " + ", ".join(ranges)

    def numbers(self, robot: Robot) -> dict[str, object]:
        """Return the content of the table for programs, in SI units."""
        logs = {mode: getattr(self, mode) for mode in CONTROL}
        return {
            "title": self.title,
            "joint_names": self.feedforward.joint_names,
            "effort_limit": effort_limits(robot),
            "modes": {
                mode: {
                    "rms_error": log.rms_error,
                    "peak_effort": log.peak_effort,
                    "saturated": log.saturated.mean(axis=0),
                }
                for mode, log in logs.items()
            },
            "times_smaller": {mode: self.times_smaller(CONTROL[mode]) for mode in [*CONTROL][1:]},
        }


def remarks(comparison: Comparison, robot: Robot, needed: Array) -> list[str]:
    """Return the result in sentences: impossible motions, saturation, and how much better.

    Args:
        comparison: The runs.
        robot: The robot.
        needed: Largest efforts of the motion by the model, shape (n,), N m or N.
    """
    names, limits = robot.joint_names, effort_limits(robot)
    units = [unit for _, unit in joint_units(robot, names)]
    lines = []
    over = np.flatnonzero(needed > limits)
    if len(over):
        i = over[np.argmax(needed[over] / limits[over])]
        more = f" (and {counted(len(over) - 1, 'more joint')})" if len(over) > 1 else ""
        lines.append(
            f"the motion is impossible: joint '{names[i]}' needs {needed[i]:.4g} {units[i]}, "
            f"beyond its limit of {limits[i]:.4g} {units[i]}{more}; correct the limits in the "
            "URDF, or give another --motion"
        )
    else:
        lines.append(comparison.summary)
    unlimited = np.flatnonzero(~np.isfinite(limits))
    if len(unlimited):
        i = unlimited[np.argmax(needed[unlimited])]
        which = "the robot" if len(unlimited) == len(names) else ", ".join(
            names[k] for k in unlimited
        )  # fmt: skip
        lines.append(
            f"no effort limits for {which} in the URDF, so nothing is cut: the motion needs up to "
            f"{needed[i]:.4g} {units[i]}"
        )
    for mode, label in CONTROL.items():
        share = getattr(comparison, mode).saturated.mean(axis=0)
        cut = ", ".join(f"{names[k]} {_percent(share[k])}" for k in np.flatnonzero(share))
        if cut:
            lines.append(f"effort at its limit with {label}, share of the cycles: {cut}")
    return lines


def _percent(share: float) -> str:
    return "under 1 %" if share < 0.01 else f"{100.0 * share:.0f} %"


def tracking_table(comparison: Comparison, robot: Robot) -> TextTable:
    """Return errors, their ratios, and peak efforts against limits, one row per joint."""
    table = TextTable(
        f"RMS errors and their ratio to those with feedforward, {comparison.title}",
        ["joint", ""],
        [*CONTROL.values(), "PD + gravity ratio", "PD ratio", "peak effort", "limit", "of it"],
    )
    logs = (comparison.feedforward, *comparison.baselines.values())
    limits = dict(zip(robot.joint_names, effort_limits(robot), strict=True))
    for i, name in enumerate(comparison.feedforward.joint_names):
        joint = robot.joint(name)
        peak, limit = comparison.feedforward.peak_effort[i], limits[name]
        table.add_row(
            name,
            f"m{joint_unit(joint, 'position')}",
            *(f"{1e3 * log.rms_error[i]:.3f}" for log in logs),
            *(f"{comparison.times_smaller(other)[i]:.0f} x" for other in comparison.baselines),
            f"{peak:.3g}",
            f"{limit:g} {joint_unit(joint, 'effort')}" if np.isfinite(limit) else "none",
            f"{100.0 * peak / limit:.0f} %" if np.isfinite(limit) else "",
        )
    return table


MOST_ROWS = 10
"""Largest number of joints in a picture: those that move most."""

COLOURS = {"feedforward": "#0072b2", "pd_gravity": "#009e73", "pd": "#d55e00"}
"""Colours of the modes of `CONTROL`, distinguishable for every kind of colour vision."""

BACK_TO_FRONT = ("pd", "pd_gravity", "feedforward")
"""Order of drawing: feedforward last, on top."""

LIMIT, DESIRED, REMARK = "#999999", "#000000", "#555555"


def draw(comparisons: Sequence[Comparison], robot: Robot, path: Path) -> Path:
    """Draw positions, errors and efforts of every joint.

    Args:
        comparisons: The first one gives positions and efforts, all of them errors.
        robot: The robot.
        path: PNG to write.
    """
    first = comparisons[0]
    shown = _most_moved(first.feedforward)
    columns = 2 + len(comparisons)
    figure = new_figure(figsize=(3.3 * columns, 1.6 + 1.75 * len(shown)), dpi=110)
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
    title = plot_text(f"{robot.name}: {first.summary}")
    figure.suptitle(title, y=1.0 - 0.08 * inch, fontsize="medium")
    figure.tight_layout(rect=(0.0, 0.0, 1.0, 1.0 - 0.5 * inch))
    return save_picture(figure, path)


def _legend() -> list[Line2D]:
    from matplotlib.lines import Line2D  # noqa: PLC0415  # optional

    lines = [Line2D([], [], color=COLOURS[mode], lw=2.0, label=CONTROL[mode]) for mode in CONTROL]
    lines.append(Line2D([], [], color=DESIRED, lw=1.0, ls="--", label="desired"))
    return [*lines, Line2D([], [], color=LIMIT, lw=1.0, ls=":", label="effort limit")]


def _draw_joint(
    row: Sequence[Axes], i: int, comparisons: Sequence[Comparison], robot: Robot
) -> None:
    axes = list(row)
    ours = comparisons[0].feedforward
    name = ours.joint_names[i]
    joint = robot.joint(name)
    position, errors, effort = axes[0], axes[1:-1], axes[-1]

    # Ours is broad, to be seen under the dashes of what was desired
    for mode in BACK_TO_FRONT:
        log = getattr(comparisons[0], mode)
        width = 2.6 if mode == "feedforward" else 1.2
        position.plot(log.t, log.q[:, i], color=COLOURS[mode], lw=width)
    position.plot(ours.t, ours.q_d[:, i], color=DESIRED, lw=1.0, ls="--")
    position.set_ylabel(f"{plot_text(name)}\n{joint_unit(joint, 'position')}")
    unit = f"m{joint_unit(joint, 'position')}"
    for axis, comparison in zip(errors, comparisons, strict=True):
        for mode in BACK_TO_FRONT:
            log = getattr(comparison, mode)
            width = 2.0 if mode == "feedforward" else 1.2
            axis.plot(log.t, 1e3 * log.error[:, i], color=COLOURS[mode], lw=width)
        axis.axhline(0.0, color=LIMIT, lw=0.5, zorder=0)
        axis.set_ylabel(unit)
        ratios = " and ".join(
            dict.fromkeys(f"{comparison.times_smaller(x)[i]:.0f}" for x in comparison.baselines)
        )
        rms = 1e3 * comparison.feedforward.rms_error[i]
        _remark(axis, f"RMS {rms:.2g} {unit}, {ratios} times smaller", COLOURS["feedforward"])
    effort.plot(ours.t, ours.tau[:, i], color=COLOURS["feedforward"], lw=1.2)
    effort.set_ylabel(joint_unit(joint, "effort"))
    _draw_limit(effort, dict(zip(robot.joint_names, effort_limits(robot), strict=True))[name],
                np.abs(ours.tau[:, i]).max())  # fmt: skip


def _draw_limit(effort: Axes, limit: float, reach: float) -> None:
    """Draw lines at both limits if they are near the curve, and write the share used."""
    if not np.isfinite(limit):
        return
    for side in (-limit, limit):
        effort.axhline(side, color=LIMIT, lw=1.0, ls=":")
    top = 1.15 * (limit if reach > 0.4 * limit else max(reach, 1e-9))
    effort.set_ylim(-top, top)
    _remark(effort, f"limit {limit:g}, {100.0 * reach / limit:.0f} % used", REMARK)


def _remark(axis: Axes, text: str, colour: str) -> None:
    """Write a remark above the right end of an axis."""
    axis.text(
        1.0, 1.02, text, transform=axis.transAxes, ha="right", va="bottom", fontsize=8, color=colour
    )


def _most_moved(log: Log) -> list[int]:
    """Return the joints to show, in order: all, or those that move most."""
    travel = np.ptp(log.q_d, axis=0)
    return sorted(int(i) for i in np.argsort(-travel, kind="stable")[:MOST_ROWS])
