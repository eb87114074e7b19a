"""The simplified models that section 3 of Lee, Lee and Nigam recommends, for any arm.

[Lee1982]: of the first three joints, which carry the long links, "the effects of translational
motion will dominate"; "the rotational effects will dominate for the last three joints". So the
inertia coefficients keep their translational part in the first three rows and their rotational
part in the others; velocity terms may be treated alike, or left out.
"""

from __future__ import annotations

import functools

import numpy as np

from robot_dynamics.papers.model_comparison import ModelComparison, compare_models
from robot_dynamics.papers.paper_arms import puma_type_arm
from robot_dynamics.papers.paper_motions import CIRCLE_TIME_S, circle_motion
from robot_dynamics.papers.simplified_models import SimplifiedModel, simplified_model
from robot_dynamics.robot.robot import Robot

INNER_JOINTS = 3
"""Joints that carry long links."""


def recommended_models(robot: Robot) -> dict[str, SimplifiedModel]:
    """Models by name, from the paper's choice to the coarsest."""
    names = [joint.name for joint in robot.moving_joints]
    inner, outer = names[:INNER_JOINTS], names[INNER_JOINTS:]
    rows = {
        "section 3, D": ({"D_tran", "H_tran", "H_rot", "G"}, {"D_rot", "H_tran", "H_rot", "G"}),
        "section 3, D and H": ({"D_tran", "H_tran", "G"}, {"D_rot", "H_rot", "G"}),
    }
    models = {
        title: simplified_model(robot, dict.fromkeys(inner, first) | dict.fromkeys(outer, last))
        for title, (first, last) in rows.items()
    }
    return models | {"no velocity terms": simplified_model(robot, others=("D_tran", "D_rot", "G"))}


@functools.lru_cache(maxsize=1)
def compare_on_the_circle(points: int = 181) -> ModelComparison:
    """The models of Gupta's arm along his circle, beside the full equations."""
    zero = puma_type_arm()
    motion = circle_motion(zero, np.linspace(0.0, CIRCLE_TIME_S, points))
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
