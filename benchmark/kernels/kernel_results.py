"""Results of one run."""

from __future__ import annotations

from dataclasses import dataclass, field

from benchmark.cases import Case
from benchmark.kernels.shares import Share

Times = dict[str, float]
"""Seconds per evaluation, by contender."""


@dataclass
class Results:
    """Everything that tables and plots are made of.

    Attributes:
        cases: The robots, in order.
        calls: Single calls: times by robot and quantity.
        counts: Operations of our kernels, as text, by robot and quantity.
        disagreements: Worst relative difference from our result, by robot, contender, quantity.
        absent: Why a contender is missing, by robot and contender.
        batch_size: States in one call for the table of batches.
        batch: Times by robot.
        batch_sizes: Times by robot and number of states.
        beside: Calls with inputs beside the motion: times by robot.
        small: Calls of few states: times by robot and number of states, 0 for shape (n,).
        peak: Floating-point operations a second of a core, at most.
        bandwidth: Bytes a second of a core, at most.
        shares: By robot, name of kernel, and whether states lie in columns.
        modules: Seconds that modules take to import, by package, in a first call.
        first_calls: By robot, what `first_call.measure` returns.
        chains: Times by number of joints.
        chain_builds: Seconds to compile a chain, by number of joints.
    """

    cases: list[Case] = field(default_factory=list)
    calls: dict[str, dict[str, Times]] = field(default_factory=dict)
    counts: dict[str, dict[str, str]] = field(default_factory=dict)
    disagreements: dict[str, dict[str, dict[str, float]]] = field(default_factory=dict)
    absent: dict[str, dict[str, str]] = field(default_factory=dict)
    batch_size: int = 0
    batch: dict[str, Times] = field(default_factory=dict)
    batch_sizes: dict[str, dict[int, Times]] = field(default_factory=dict)
    first_calls: dict[str, Times] = field(default_factory=dict)
    beside: dict[str, Times] = field(default_factory=dict)
    small: dict[str, dict[int, Times]] = field(default_factory=dict)
    peak: float = 0.0
    bandwidth: float = 0.0
    shares: dict[str, dict[tuple[str, bool], Share]] = field(default_factory=dict)
    modules: dict[str, float] = field(default_factory=dict)
    chains: dict[int, Times] = field(default_factory=dict)
    chain_builds: dict[int, float] = field(default_factory=dict)
