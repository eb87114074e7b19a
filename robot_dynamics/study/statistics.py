"""Statistics of a table of runs: shares with confidence intervals, quantiles, Sobol indices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.lazy import imported
from robot_dynamics.study.plan import StudyPlan
from robot_dynamics.study.runs import runner
from robot_dynamics.study.study_table import CRITERIA, StudyTable

CONFIDENCE = 0.95
"""Confidence level of every interval."""


class Proportion(NamedTuple):
    """A share of the runs: their number, that of all runs, and the confidence interval."""

    held: int
    runs: int
    low: float
    high: float

    @property
    def share(self) -> float:
        """Number of these runs over that of all."""
        return self.held / self.runs

    def __str__(self) -> str:
        return f"{100 * self.share:.2f} % ({100 * self.low:.2f} to {100 * self.high:.2f})"


def part(held: Array) -> Proportion:
    """Compute the share of the runs for which something holds, with Wilson's interval of 95 %.

    Args:
        held: Whether it holds, by run, shape (N,).

    Returns:
        Number of these runs, number of all, and the interval.
    """
    runs, count = len(held), int(np.count_nonzero(held))
    found = imported("scipy.stats").binomtest(count, runs)
    low, high = found.proportion_ci(CONFIDENCE, method="wilson")
    return Proportion(count, runs, float(low), float(high))


def parts(table: StudyTable) -> dict[str, Proportion]:
    """Compute the share of runs within each limit, and within all limits.

    Args:
        table: Runs of a study.

    Returns:
        Share and interval by name of the limit, and of "all".
    """
    found = {name: part(table[f"ok[{name}]"]) for name in CRITERIA}
    return {**found, "all": part(~table["failed"])}


def quantiles(table: StudyTable, kind: str, levels: Sequence[float] = (0.5, 0.95, 1.0)) -> Array:
    """Return quantiles of a result of each joint, shape (n, levels).

    Args:
        table: The runs.
        kind: "rms_error", "peak_error", "peak_effort", "saturated" or "at_stop".
        levels: From 0 to 1.

    Returns:
        Quantiles, shape (n, levels): rad or m for errors, N m or N for efforts, shares else.
    """
    joints = table.plan.robot.joint_names
    return np.array([np.quantile(table[f"{kind}[{joint}]"], levels) for joint in joints])


def first_order(table: StudyTable, result: str = "error") -> dict[str, float]:
    """Return the share of the variance of a result that each quantity alone explains.

    First-order Sobol indices from the runs at hand: the variance of the means of the result in
    bins of equal count, along each dimension, over its whole variance, less the
    expectation of independent data. Quantities of several dimensions are summed.

    Args:
        table: Runs of one mode.
        result: A column.

    Returns:
        Share of the variance by quantity, 0 to 1, largest first.
    """
    y = np.where(np.isfinite(table[result]), table[result], np.nan)
    y = np.clip(y, None, np.nanquantile(y, 0.99))  # a diverged run would dominate the variance
    found: dict[str, float] = {}
    total = np.nanvar(y)
    bins = max(2, min(20, int(np.sqrt(len(y) / 5))))
    for column in table.plan.dimensions():
        name, x = column.partition("[")[0], table[column]
        share = 0.0
        if total > 0.0 and np.ptp(x) > 0.0:
            groups = np.array_split(np.argsort(x, kind="stable"), bins)
            means = np.array([y[g].mean() for g in groups])
            within = np.mean([y[g].var() for g in groups])
            by_chance = within * bins / len(y)
            share = max(float((means.var() - by_chance) / total), 0.0)
        found[name] = found.get(name, 0.0) + share
    return dict(sorted(found.items(), key=lambda item: -item[1]))


class Indices(NamedTuple):
    """Sobol indices by dimension: first order, and total with all interactions."""

    first: dict[str, float]
    total: dict[str, float]


def sobol_indices(plan: StudyPlan, count: int = 1024, *, mode: str = "") -> Indices:
    """Return Sobol indices of the largest error, from count (dimensions + 2) further runs.

    Args:
        plan: The study.
        count: A power of two.
        mode: One of the plan's modes; by default the first.

    Returns:
        First-order and total indices by dimension.
    """
    stats = imported("scipy.stats")
    names = plan.dimensions()
    distributions = [plan.vary[name.partition("[")[0]] for name in names]
    own = runner(plan, mode or plan.modes[0])

    def errors(x: Array) -> Array:
        flat = x.reshape(len(names), -1).T
        points = np.stack([s.at(u) for s, u in zip(distributions, flat.T, strict=True)], axis=1)
        return np.minimum(own.errors_at(points), 1.0).reshape(1, *x.shape[1:])

    found = stats.sobol_indices(
        func=errors,
        n=count,
        dists=[stats.uniform()] * len(names),
        rng=np.random.default_rng(plan.seed),
    )
    first, total = np.ravel(found.first_order), np.ravel(found.total_order)
    return Indices(
        dict(zip(names, first.tolist(), strict=True)), dict(zip(names, total.tolist(), strict=True))
    )
