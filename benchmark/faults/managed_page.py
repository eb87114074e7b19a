"""The table of faults under a real controller_manager, as Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from benchmark.faults.managed_runs import OF_PLANT, OTHER_S, STOPPED_S, TURN_S
from benchmark.faults.page import ABOUT, BEYOND, CONDITIONS, EXCESS, fault_rows
from benchmark.faults.plant import JUMP
from benchmark.faults.runs import WATCHED_S, Case, Result
from benchmark.record import conditions

MANAGER = "benchmark.faults: manager"

STEP = 1.1
"""Largest change of a command, relative to that of `effort_rate` in a period of the hardware, up to
which a run is safe: controller_manager measures the period of each controller by itself."""

AT_REST = 0.02
"""Speed of an arm at rest, rad/s: friction creeps."""

OWN_ABOUT = {
    "gap": "the states stay what they are for {s:g} s",
    "long gap": "the states stay what they are for {s:g} s",
    "not a number": "all states are NaN for {s:g} s",
    "missing joint": "the states of one joint are NaN for {s:g} s",
    "bursts": "the states change every 0.03 s, for {s:g} s",
    "late": "the states are 0.08 s old for {s:g} s, without a stamp",
    "another pose": "a state of another pose comes in between for {s:g} s, ten a second",
    "commands lost": "the drives get no commands for {s:g} s",
    "two trajectories": f"two trajectories come by turns every {TURN_S:g} s",
    "trajectory elsewhere": "a trajectory comes that begins elsewhere",
    "reference jumps": f"`~/reference` of one joint jumps by {JUMP:g} rad for 0.3 s",
    "two references": f"two processes publish `~/reference` for {OTHER_S:g} s",
    "reference source, SIGSTOP": f"reference source, SIGSTOP for {STOPPED_S:g} s",
}
"""Words for the faults that differ from those of nodes."""


def exceeded(result: Result) -> bool:
    """Return whether a run exceeded a bound, or has no result."""
    within = result.excess <= EXCESS and result.beyond <= BEYOND and result.step <= STEP
    return bool(result.failure) or not (within and result.final <= AT_REST)


def manager_table(found: Mapping[Case, Result], load: str) -> list[str]:
    """Return the table, one row for each fault."""
    about = (
        f"Measured on {conditions()}, load average {load}. {CONDITIONS} Each cell gives, within "
        f"{WATCHED_S:g} s, the largest speed beyond that of the motion, relative to the speed "
        "limit, the largest way beyond the ends of the motion, rad, and the largest change of an "
        "effort in a cycle, relative to that of `effort_rate`. Sentence and last status are those "
        "of the worst run."
    )
    words = {
        fault: words.format(s=OF_PLANT.get(fault, 0.0))
        for fault, words in {**ABOUT, **OWN_ABOUT}.items()
    }
    told = {
        case: replace(result, ends=f"{result.ends}, moving at {result.final:.2g} rad/s")
        if result.final > AT_REST
        else result
        for case, result in found.items()
    }
    return [about, "", *fault_rows(told, words, "the controller", _cell)]


def _cell(result: Result) -> str:
    return f"{max(result.excess, 0.0):.2f}, {result.beyond:.2f}, {result.step:.2f}"
