"""Gains from studies: the largest bandwidth with which enough runs respect their limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import yaml

from robot_dynamics.errors import ArgumentError
from robot_dynamics.study.executor import Executor, study
from robot_dynamics.study.plan import StudyPlan
from robot_dynamics.study.runs import model_of
from robot_dynamics.study.statistics import Proportion, parts

FACTOR = 1.5
"""Ratio of consecutive bandwidths in the first search."""

FINE = 0.02
"""Relative width at which the search ends."""

SLOWEST, FASTEST = 0.5, 500.0
"""Range of bandwidths, rad/s."""


@dataclass(frozen=True, eq=False)
class Found:
    """Result of `largest_bandwidth`.

    Args:
        plan: The study with the bandwidth that was found.
        held: The share of its runs that respects all limits.
    """

    plan: StudyPlan
    held: Proportion

    @property
    def bandwidth(self) -> float:
        """Bandwidth that was found, rad/s."""
        return self.plan.bandwidth

    @property
    def parameters(self) -> str:
        """Parameters of the controller node, YAML."""
        gains = model_of(self.plan).gains
        robot = self.plan.robot
        terms = [np.broadcast_to(x, (robot.dof,)) for x in (gains.kp, gains.kd, gains.ki)]
        names = {
            "mode": self.plan.modes[0],
            "bandwidth": round(self.bandwidth, 4),
            "gains": {
                joint: {
                    name: round(float(term[i]), 6) for name, term in zip("pdi", terms, strict=True)
                }
                for i, joint in enumerate(robot.joint_names)
            },
        }
        node = {"controller_node": {"ros__parameters": names}}
        return yaml.safe_dump(node, sort_keys=False, default_flow_style=None)


def largest_bandwidth(
    plan: StudyPlan,
    keep: float,
    executor: Executor | None = None,
    report: Callable[[str], object] | None = None,
) -> Found:
    """Find the largest bandwidth with which a given share of the runs respects all limits.

    Gains are `ideal` for each bandwidth, because the study itself finds what the loop tolerates.

    Error limits need a fast loop, stability a slow one. The search starts from the plan's
    bandwidth, or the nearest one that works, and goes up until the limits fail.

    Args:
        plan: The study; every bandwidth sees the same runs.
        keep: The share of runs, above 0 and up to 1.
        executor: As of `study`.
        report: Called with a line for every bandwidth that was tried.

    Raises:
        ArgumentError: If no bandwidth keeps that share.
    """
    if not 0.0 < keep <= 1.0:
        raise ArgumentError(f"keep is {keep}; give a share of the runs, above 0 and up to 1")
    plan = replace(plan, gains="ideal")
    tried: dict[float, Proportion] = {}

    def works(w: float) -> bool:
        if w not in tried:
            tried[w] = parts(study(plan.with_bandwidth(w), executor))["all"]
            if report is not None:
                report(f"bandwidth {w:.4g} rad/s: {tried[w]} respect all limits")
        return tried[w].share >= keep

    scale = [plan.bandwidth * FACTOR**k for k in range(-12, 13)]
    scale = [w for w in scale if SLOWEST <= w <= FASTEST]
    start = min(range(len(scale)), key=lambda k: abs(scale[k] - plan.bandwidth))
    order = [*range(start, len(scale)), *reversed(range(start))]
    low = next((k for k in order if works(scale[k])), None)
    if low is None:
        best = max(tried, key=lambda w: tried[w].share)
        raise ArgumentError(
            f"no bandwidth keeps {100 * keep:g} % of the runs within the limits; the best, "
            f"{best:.4g} rad/s, keeps {100 * tried[best].share:.4g} %: ask for less, or narrow "
            "what varies"
        )
    while low + 1 < len(scale) and works(scale[low + 1]):
        low += 1
    inside = scale[low]
    outside = scale[low + 1] if low + 1 < len(scale) else inside
    while outside / inside > 1.0 + FINE:
        middle = float(np.sqrt(inside * outside))
        inside, outside = (middle, outside) if works(middle) else (inside, middle)
    return Found(plan.with_bandwidth(inside), tried[inside])
