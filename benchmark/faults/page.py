"""Tables of the faults, as Markdown."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping

from benchmark.faults.arm import FRICTION
from benchmark.faults.plant import DELAY_S, JUMP, KINDS, RUNAWAY, VELOCITY_NOISE
from benchmark.faults.poses import AFTER_S
from benchmark.faults.runs import ENDED_S, NICENESS, WATCHED_S, Case, Result
from benchmark.faults.starts import ALLOWED, ORDERS, RESTARTS, Start
from benchmark.nodes.processes import ROOT
from benchmark.record import conditions

PAGE = ROOT / "benchmark" / "records" / "faults.md"
FAULTS, STARTS = "benchmark.faults", "benchmark.faults: starts"

EXCESS, BEYOND = 0.1, 0.05
"""Speed beyond that of the motion, relative to the speed limit, and way beyond the ends of the
motion, rad, up to which a run is safe."""

CONDITIONS = (
    f"The joints have {FRICTION:.0%} of their effort limit as friction that no URDF names, and "
    f"velocities a noise of {VELOCITY_NOISE:g} rad/s. The fault begins {AFTER_S:g} s after the "
    "motion has."
)
"""What is the same in all runs."""

UNHELD = ("all nodes, kill -9", "all nodes, SIGSTOP")
"""Faults after which nothing holds the arm."""

ABOUT = {
    "none": "no fault",
    "gap": "no state comes for {s:g} s",
    "long gap": "no state comes for {s:g} s",
    "missing joint": "the states of one joint are missing for {s:g} s",
    "not a number": "a position is NaN for {s:g} s",
    "late": f"states come {DELAY_S:g} s late for {{s:g}} s",
    "bursts": "states come in bursts for {s:g} s",
    "position glitch": "a position is wrong by 1 rad in one state",
    "velocity glitch": f"a velocity is wrong by {RUNAWAY:g} rad/s in one state",
    "frozen joint": "the states of one joint do not change for {s:g} s",
    "two publishers": "another node publishes states of another pose for {s:g} s, ten a second",
    "leftover publisher": "another node publishes zeros without velocities for {s:g} s, ten a "
    "second",
    "reference jumps": f"the reference of one joint jumps by {JUMP:g} rad for {{s:g}} s",
    "two references": "two references come by turns for {s:g} s",
    "brakes": "brakes close for {s:g} s",
}
"""Words for each kind of fault."""


def unsafe(case: Case, result: Result) -> bool:
    """Return whether a run exceeded a bound although something had to hold the arm."""
    held = case.fault not in UNHELD
    return held and (result.excess > EXCESS or result.beyond > BEYOND)


def fault_table(found: Mapping[Case, Result], load: str) -> list[str]:
    """Return the table of faults, one row for each."""
    about = (
        f"Measured on {conditions()}, load average {load}, nodes at a niceness of {NICENESS}. "
        f"{CONDITIONS} Each cell gives, within {WATCHED_S:g} s ({ENDED_S:g} s where nodes end), "
        "the largest speed beyond that of the motion, relative to the speed limit, and the largest "
        "way beyond the ends of the motion, rad. Sentence and last status are those of the worst "
        "run."
    )
    words = {fault: about.format(s=KINDS.get(fault, 0.0)) for fault, about in ABOUT.items()}
    return [about, "", *fault_rows(found, words, "controller_node", _cell)]


def fault_rows(
    found: Mapping[Case, Result], words: Mapping[str, str], who: str, cell: Callable[[Result], str]
) -> list[str]:
    """Return a table with a row for each fault, and a column for each arm and rate.

    Args:
        found: All results.
        words: For faults whose name is not enough.
        who: Whose sentence the table gives.
        cell: Returns the numbers of a result.
    """
    columns = list(dict.fromkeys((case.robot, case.rate) for case in found))
    head = " | ".join(f"{robot}, {rate:g} Hz" for robot, rate in columns)
    lines = [
        f"| fault | {head} | {who} says | last status |",
        "| --- " * (len(columns) + 3) + "|",
    ]
    for fault in dict.fromkeys(case.fault for case in found):
        own = {(c.robot, c.rate): r for c, r in found.items() if c.fault == fault}
        cells = [
            own[column].failure or cell(own[column]) if column in own else "" for column in columns
        ]
        worst = max(own.values(), key=lambda r: r.excess if not r.failure else -1.0)
        says = worst.says.replace("|", "/")
        lines.append(f"| {words.get(fault, fault)} | {' | '.join(cells)} | {says} | {worst.ends} |")
    return lines


def _cell(result: Result) -> str:
    return f"{max(result.excess, 0.0):.2f}, {result.beyond:.2f}"


def start_table(moved: Mapping[Start, float], load: str) -> list[str]:
    """Return the table of starts: motions that were not requested, of all runs."""
    first = next(iter(moved))
    lines = [
        f"Measured on {conditions()}, load average {load}: {first.robot} at {first.rate:g} Hz. "
        f"Each cell gives how many of {len(ORDERS)} orders of start moved the arm by more than "
        f"{ALLOWED:g} rad, and the largest motion, rad.",
        "",
        "| restarted | " + " | ".join(_condition(*flags) for flags in MEANWHILE) + " |",
        "| --- " * (len(MEANWHILE) + 1) + "|",
    ]
    for restart in RESTARTS:
        cells = []
        for flags in MEANWHILE:
            ways = [
                way
                for run, way in moved.items()
                if run.restart == restart and (run.moved, run.leftover) == flags
            ]
            far = sum(way > ALLOWED for way in ways)
            cells.append(f"{far} of {len(ways)}, {max(ways, default=0.0):.4f}")
        lines.append(f"| {restart} | {' | '.join(cells)} |")
    return lines


MEANWHILE = tuple(itertools.product((False, True), repeat=2))


def _condition(moved: bool, leftover: bool) -> str:
    at = "arm moved meanwhile" if moved else "arm at rest"
    return f"{at}, another publisher of zeros" if leftover else at
