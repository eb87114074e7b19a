"""Print and draw the results of a study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from robot_dynamics.cli.output import Printer, save_picture
from robot_dynamics.control.laws import TASK_MODES
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.names import plot_text
from robot_dynamics.foundation.numbers import counted
from robot_dynamics.foundation.pictures import new_figure
from robot_dynamics.foundation.text_tables import TextTable
from robot_dynamics.study import StudyTable, first_order, parts, quantiles
from robot_dynamics.study.run_record import RunRecord
from robot_dynamics.study.study_table import END_EFFECTOR_PARTS, result_of
from robot_dynamics.trajectory.trajectory_files import write_trajectory

_WORST = 5

FEWEST = 50
"""Runs below which two groups would share out a variance: equal ones of an error to both sides."""

_KINDS, _LEVELS = ("peak_error", "rms_error", "peak_effort"), (0.5, 0.95, 1.0)


def print_study(table: StudyTable, show: Printer) -> None:
    """Print the share of runs within each limit, joints, sensitivity and worst runs."""
    plan = table.plan
    for mode in plan.modes:
        own = table.of_mode(mode)
        if not len(own):
            continue
        leads, result = mode in TASK_MODES, result_of(mode)
        title = f"{plan.robot.name}, {mode}: {counted(len(own), 'run')} of {plan.duration:g} s"
        held = TextTable(title, ["limit", "runs within, % (95 % interval)"])
        meaning = {
            "error": "" if leads else f"error within {plan.limits.error:g} rad or m",
            "saturation": f"saturated at most {100 * plan.limits.saturation:g} % of the time",
            "stability": "comes to rest",
            "stops": "no stop reached",
            "end_effector": _end_effector_limit(own),
            "all": "all limits",
        }
        for name, value in parts(own).items():
            if meaning[name]:
                held.add_row(meaning[name], str(value))
        show(held)
        _print_joints(own, show)
        _print_end_effector(own, show)
        sensitivity = ", ".join(f"{k} {100 * v:.0f} %" for k, v in first_order(own, result).items())
        if sensitivity and len(own) < FEWEST:
            sensitivity = f"too few runs to share it out; --runs {FEWEST} or more"
        what = "error of the end effector" if leads else "error"
        show(f"variance of the largest {what}: {sensitivity or 'no quantity varies'}")
        worst = own.worst(_WORST)
        runs = (f"{own['run'][k]} ({own[result][k]:.3g}, seed {own['seed'][k]})" for k in worst)
        show(f"worst runs ({what}, seed): {', '.join(runs)}")
        show(_verdict(own, mode, meaning))


def _verdict(own: StudyTable, mode: str, meaning: Mapping[str, str]) -> str:
    """Return the result in a sentence: the share of the runs, what fails, and by which quantity."""
    held = parts(own)
    said = f"{mode} keeps all limits in {held['all']} of the runs"
    limits = {name: part.share for name, part in held.items() if name != "all" and meaning[name]}
    worst = min(limits, key=lambda name: limits[name])
    if limits[worst] == 1.0:
        return said
    said += f"; most often not kept: {meaning[worst]}"
    indices = first_order(own, result_of(mode))
    if indices and len(own) >= FEWEST:
        most = max(indices, key=lambda name: indices[name])
        said += f"; the error depends most on {most}"
    return said


def study_numbers(table: StudyTable) -> dict[str, object]:
    """Return the numbers of `print_study` by mode, for programs."""
    found: dict[str, object] = {}
    for mode in table.plan.modes:
        own = table.of_mode(mode)
        if not len(own):
            continue
        worst, result = own.worst(_WORST), result_of(mode)
        found[mode] = {
            "runs": len(own),
            "held": parts(own),
            "variance": first_order(own, result),
            "levels": _LEVELS,
            **{kind: quantiles(own, kind, _LEVELS) for kind in _KINDS},
            "end_effector": {"frame": own.plan.end_effector_frame, **_end_effector_quantiles(own)},
            "worst": [{name: own[name][k] for name in ("run", result, "seed")} for k in worst],
        }
    return found


def _print_joints(table: StudyTable, show: Printer) -> None:
    robot = table.plan.robot
    headings = "joint", "peak error", "rms error", "peak effort"
    shown = TextTable("joints: median, 95 % and maximum of the runs", headings)
    kinds = [quantiles(table, kind, _LEVELS) for kind in _KINDS]
    for k, joint in enumerate(robot.joint_names):
        cells = (" / ".join(f"{x:.3g}" for x in kind[k]) for kind in kinds)
        shown.add_row(joint, *cells)
    show(shown)


def _end_effector_limit(table: StudyTable) -> str:
    """Return the limits of the end effector in words; empty without any."""
    limits = {
        "mm": table.plan.limits.end_effector_position,
        "mrad": table.plan.limits.end_effector_rotation,
    }
    given = [f"{1e3 * x:g} {unit}" for unit, x in limits.items() if np.isfinite(x)]
    return f"end effector within {' and '.join(given)}" if given else ""


def _end_effector_quantiles(table: StudyTable) -> dict[str, Array]:
    """Return quantiles of the errors of the end effector, m and rad, by kind and part."""
    names = [f"{kind}_{part}" for kind in ("peak", "rms") for part in END_EFFECTOR_PARTS]
    return {name: np.quantile(table[f"end_effector_{name}"], _LEVELS) for name in names}


def _print_end_effector(table: StudyTable, show: Printer) -> None:
    title = f"end effector '{table.plan.end_effector_frame}': median, 95 % and maximum of the runs"
    shown = TextTable(title, ["error", "peak", "rms"])
    found = _end_effector_quantiles(table)
    for part, unit in (("position", "mm"), ("rotation", "mrad")):
        kinds = (found[f"{kind}_{part}"] for kind in ("peak", "rms"))
        cells = (" / ".join(f"{1e3 * x:.3g}" for x in kind) for kind in kinds)
        shown.add_row(f"{part}, {unit}", *cells)
    show(shown)


def draw_study(table: StudyTable, folder: Path) -> Path:
    """Draw the distribution of errors, and the error over each varying quantity, as PNG."""
    plan, robot = table.plan, table.plan.robot
    mode = plan.modes[0]
    own, result = table.of_mode(mode), result_of(mode)
    limit = plan.limits.error if result == "error" else plan.limits.end_effector_position
    names = sorted({name.partition("[")[0] for name in plan.dimensions()})
    panels = 1 + len(names)
    figure = new_figure(figsize=(4.2 * min(panels, 3), 3.4 * -(-panels // 3)), dpi=110)
    axes = figure.subplots(-(-panels // 3), min(panels, 3), squeeze=False).ravel()
    errors = [own[f"peak_error[{joint}]"] for joint in robot.joint_names]
    axes[0].boxplot(errors, showfliers=False, whis=(5, 95))
    axes[0].set_xticks(range(1, robot.dof + 1), range(1, robot.dof + 1))
    axes[0].set_xlabel("joint")
    axes[0].set_ylabel("peak error, rad or m")
    for axis, name in zip(axes[1:], names, strict=False):
        columns = [c for c in plan.dimensions() if c.partition("[")[0] == name]
        x = own[columns[0]] if len(columns) == 1 else np.mean([own[c] for c in columns], axis=0)
        good = ~own["failed"]
        axis.plot(x[good], own[result][good], ".", ms=2, color="#0072b2")
        axis.plot(x[~good], own[result][~good], ".", ms=2, color="#d55e00")
        if np.isfinite(limit):
            axis.axhline(limit, color="#999999", lw=1)
        mean = " (mean)" if len(columns) > 1 else ""
        axis.set_xlabel(plot_text(f"{name}{mean}, {own.units[columns[0]]}"))
        axis.set_ylabel(
            "largest error" if result == "error" else "largest error of the end effector, m"
        )
        axis.set_yscale("log")
    for axis in axes[panels:]:
        axis.set_axis_off()
    title = f"{robot.name}, {mode}: {counted(len(own), 'run')}; orange: a limit is violated"
    figure.suptitle(plot_text(title))
    figure.tight_layout()
    return save_picture(figure, folder / "study.png")


def write_run(replays: Sequence[RunRecord], folder: Path, show: Printer) -> Path:
    """Print one run, and write its motion of every mode; return the file of the first one."""
    folder.mkdir(parents=True, exist_ok=True)
    plan, written = replays[0].table.plan, []
    for mode, again in zip(plan.modes, replays, strict=True):
        table = again.table
        if mode == plan.modes[0]:
            for column in plan.dimensions():
                line = f"{column} = {table[column][0]:.6g} {table.units[column]}"
                show(line)
        show(
            f"{mode}: largest error {table['error'][0]:.6g}, of the end effector "
            f"{1e3 * table['end_effector_peak_position'][0]:.3g} mm and "
            f"{1e3 * table['end_effector_peak_rotation'][0]:.3g} mrad, failed: {table['failed'][0]}"
        )
        written.append(folder / f"run_{table['run'][0]}_{mode}.csv")
        write_trajectory(written[-1], again.waypoints())
    return written[0]


def draw_run(replays: Sequence[RunRecord], folder: Path) -> Path:
    """Draw the errors and efforts of one run in every mode."""
    plan, run = replays[0].table.plan, int(replays[0].table["run"][0])
    figure = new_figure(figsize=(11, 3.2 * len(plan.modes)), dpi=110)
    axes = figure.subplots(len(plan.modes), 2, squeeze=False, sharex=True)
    for row, mode, again in zip(axes, plan.modes, replays, strict=True):
        log = again.log
        row[0].plot(log.t, log.q_d - log.q)
        row[0].set_ylabel(f"{mode}\nerror, rad or m")
        row[1].plot(log.t, log.tau, label=list(map(plot_text, plan.robot.joint_names)))
        row[1].set_ylabel("effort, N m or N")
    axes[0, 1].legend(fontsize="x-small", ncols=2)
    for axis in axes[-1]:
        axis.set_xlabel("time, s")
    figure.suptitle(plot_text(f"{plan.robot.name}, run {run}"))
    figure.tight_layout()
    return save_picture(figure, folder / f"run_{run}.png")
