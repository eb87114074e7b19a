"""Section 3 of [Lee1982] on six joints: the table of benchmark/records/publications/lee.md."""

from __future__ import annotations

import functools

import numpy as np

from robot_dynamics.papers.paper_arms import puma_type_arm
from robot_dynamics.papers.paper_motions import CIRCLE_TIME_S, circle_motion
from robot_dynamics.papers.simplified_models import (
    ModelComparison,
    compare_models,
    recommended_models,
)


@functools.cache
def compare_on_the_circle() -> ModelComparison:
    """The models of Gupta's arm along his circle, beside the full equations."""
    zero = puma_type_arm()
    motion = circle_motion(zero, np.linspace(0.0, CIRCLE_TIME_S, 181))
    return compare_models(zero.robot, recommended_models(zero.robot), *motion)


def markdown_table(comparison: ModelComparison) -> str:
    """A row for each model: operations, and peak error of every joint in percent of its peak."""
    heads = ["model", "multiplications", "additions", *comparison.joint_names]
    peak = np.where(comparison.peak_effort > 0.0, comparison.peak_effort, 1.0)
    lines = [" | ".join(heads), " | ".join(["---", *["---:"] * (len(heads) - 1)])]
    for name, result in comparison.results.items():
        count = result.operations
        share = 100.0 * result.peak_error / peak
        cells = [name, str(count.multiplications), str(count.additions)]
        lines.append(" | ".join([*cells, *[f"{x:.1f} %" for x in share]]))
    return "\n".join(f"| {line} |" for line in lines)
