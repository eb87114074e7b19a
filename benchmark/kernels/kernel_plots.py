"""The results as plots, beside the report."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from benchmark.kernels.batch import (
    OURS_1,
    OURS_2,
    OURS_COLUMNS,
    OURS_FLOAT,
    OURS_FLOAT_2,
    PIN_1,
    PIN_2,
    PIN_LOOP,
)
from benchmark.kernels.contenders import OURS, OURS_KERNEL, QUANTITIES
from benchmark.kernels.kernel_results import Results
from benchmark.picture import Picture, save

COLORS = {
    OURS: "#c2410c",
    OURS_KERNEL: "#fb923c",
    "pin": "#1d4ed8",
    "mujoco": "#15803d",
    "dynibo": "#7e22ce",
    "roboticstoolbox": "#6b7280",
    "newton_euler, plain": "#a8a29e",
    OURS_1: "#c2410c",
    OURS_2: "#7c2d12",
    OURS_COLUMNS: "#15803d",
    OURS_FLOAT: "#fb923c",
    OURS_FLOAT_2: "#fdba74",
    PIN_LOOP: "#93c5fd",
    PIN_1: "#1d4ed8",
    PIN_2: "#1e3a8a",
}


def draw(results: Results, folder: Path) -> list[Picture]:
    """Draw every plot of a run into a folder."""
    pictures = [
        Picture(
            folder / "kernels_calls.png",
            "Single calls",
            "One call from Python, on a logarithmic scale.",
        ),
        Picture(
            folder / "kernels_batch.png",
            "Cost against batch size",
            "Inverse dynamics: time per state when that many states are computed in one call. "
            "Loops of peers, whose time per state does not change, end earlier.",
        ),
        Picture(
            folder / "kernels_joints.png",
            "Cost against number of joints",
            "Inverse dynamics of serial chains with arbitrary inertias. Left: one call (mj_inverse "
            "also factorises the mass matrix). Right: building the kernel, once per robot.",
        ),
    ]
    for picture, drawn in zip(pictures, (_calls, _batch_sizes, _chains), strict=True):
        save(drawn(results), picture.path)
    return pictures


def _calls(results: Results) -> plt.Figure:
    figure, axes = plt.subplots(1, len(QUANTITIES), figsize=(15, 4.4), sharey=True)
    for ax, (quantity, title) in zip(axes, QUANTITIES.items(), strict=True):
        times = [results.calls.get(case.key, {}).get(quantity, {}) for case in results.cases]
        shown = [name for name in COLORS if any(name in of_case for of_case in times)]
        width = 0.85 / max(1, len(shown))
        for i, name in enumerate(shown):
            heights = [of_case.get(name, np.nan) * 1e6 for of_case in times]
            at = np.arange(len(times)) + (i - (len(shown) - 1) / 2) * width
            ax.bar(at, heights, width, color=COLORS[name], label=name)
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter(_plain_number)
        ax.set_title(title.replace(" of ", " of\n"))
        ax.set_xticks(np.arange(len(times)), [case.key for case in results.cases])
        ax.grid(visible=False, axis="x")
        ax.set_axisbelow(True)
    axes[0].set_ylabel("µs per call")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=len(labels), frameon=False)
    figure.tight_layout(rect=(0, 0.08, 1, 1))
    return figure


def _batch_sizes(results: Results) -> plt.Figure:
    shown = [case for case in results.cases if case.key in results.batch_sizes]
    width = min(2, len(shown))
    rows = -(-len(shown) // width)
    figure, grid = plt.subplots(
        rows, width, figsize=(6.5 * width, 4.2 * rows), sharex=True, squeeze=False
    )
    names = (PIN_LOOP, PIN_1, PIN_2, OURS_1, OURS_COLUMNS, OURS_2, OURS_FLOAT, OURS_FLOAT_2)
    lines = {}
    for ax, case in zip(grid.flat, shown, strict=False):
        found = results.batch_sizes[case.key]
        for name in names:
            sizes = [size for size in sorted(found) if name in found[size]]
            times = [found[size][name] * 1e9 for size in sizes]
            if sizes:
                (lines[name],) = ax.plot(sizes, times, marker="o", ms=4, color=COLORS[name])
        _log_log(ax)
        ax.set_title(case.title)
        ax.set_ylabel("ns per state")
    for ax in grid[-1]:
        ax.set_xlabel("states in one call")
    figure.legend(lines.values(), lines, loc="lower center", ncols=3, frameon=False)
    figure.tight_layout(rect=(0, 0.2 / rows, 1, 1))
    return figure


def _chains(results: Results) -> plt.Figure:
    figure, (calls, builds) = plt.subplots(1, 2, figsize=(12, 4.5))
    joints = sorted(results.chains)
    for name in ("mujoco", "pin", OURS):
        if all(name in results.chains[n] for n in joints):
            times = [results.chains[n][name] * 1e6 for n in joints]
            calls.plot(joints, times, marker="o", markersize=4, color=COLORS[name], label=name)
            if name != "mujoco":  # which also factorises the mass matrix: not a straight line
                slope = 1000.0 * np.polyfit(joints, times, 1)[0]
                calls.annotate(
                    f"{slope:.0f} ns per joint",
                    (joints[-1], times[-1]),
                    textcoords="offset points",
                    xytext=(-6, 6),
                    ha="right",
                )
    calls.set_xlabel("joints")
    calls.set_ylabel("µs per call")
    calls.set_ylim(bottom=0.0)
    calls.legend(frameon=False)
    builds.plot(
        joints,
        [results.chain_builds[n] for n in joints],
        marker="o",
        markersize=4,
        color=COLORS[OURS],
    )
    builds.set_xlabel("joints")
    builds.set_ylabel("s to build the kernel")
    builds.set_ylim(bottom=0.0)
    figure.tight_layout()
    return figure


def _log_log(ax: Axes) -> None:
    ax.set_xscale("log", base=4)
    ax.set_yscale("log")
    ax.xaxis.set_major_formatter(_plain_number)
    ax.yaxis.set_major_formatter(_plain_number)


def _plain_number(value: float, _: int) -> str:
    return f"{value:g}" if value < 1e5 else f"{value:.0f}"
