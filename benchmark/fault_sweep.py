"""Sweep random faults of states and references over arms, and write the table of the record.

python -m benchmark.fault_sweep                     seven arms, 100,000 scenarios each: 10 minutes
python -m benchmark.fault_sweep --count 4096 --arms ur5
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from time import perf_counter

from rich.console import Console
from rich.progress import Progress

from benchmark.nodes.processes import ROOT
from benchmark.progress_bar import progress_bar, step
from benchmark.record import conditions
from benchmark.table import replace_part
from robot_dynamics import read_urdf
from robot_dynamics.control.gains import DEFAULT_BANDWIDTH, DEFAULT_DAMPING_RATIO
from robot_dynamics.control.limits import default_effort_rates
from robot_dynamics.robot import find_robot
from robot_dynamics.simulation.fault_sweep import ALLOWED, KINDS, RATES, FaultRow, FaultSweep, rows

PAGE = ROOT / "benchmark" / "records" / "faults.md"
MARK = "benchmark.fault_sweep"

ARMS = ("ur5", "panda", "xarm7", "ur10", "z1", "kinova", "planar_2r")
"""Arms of the table; fingers are locked."""

FINGERS = ("finger", "drive", "gripper")
"""Parts of the names of their joints, in lower case."""

VARIED = ("ur5", "panda")
"""Arms of the second table."""

VARIANTS: dict[str, dict[str, float]] = {
    "none": {},
    "velocities with a noise of 0.005 rad/s": {"noise": 0.005},
    "half the default effort rates": {"share": 0.5},
    "a quarter of them": {"share": 0.25},
    "an eighth of them": {"share": 0.125},
}
"""Changes in the second table."""


def swept(
    name: str, count: int, bar: Progress, share: float = 1.0, noise: float = 0.0
) -> tuple[dict[str, FaultRow], float]:
    """Return the results of an arm by kind of fault, and the time that they took, s.

    Args:
        name: Of the arm.
        count: Number of scenarios.
        bar: Shows progress.
        share: Effort rates, relative to the default ones.
        noise: Standard deviation of the measured velocities, rad/s.
    """
    robot = read_urdf(find_robot(name))
    fingers = [joint for joint in robot.joint_names if any(x in joint.lower() for x in FINGERS)]
    robot = robot.with_locked(dict.fromkeys(fingers, 0.0)) if fingers else robot
    default = default_effort_rates(robot, DEFAULT_BANDWIDTH, DEFAULT_DAMPING_RATIO)
    rates = zip(robot.joint_names, share * default, strict=True)
    sweep = FaultSweep(
        robot, {f"limits.{joint}.effort_rate": rate for joint, rate in rates}, noise=noise
    )
    outcomes, began = [], perf_counter()
    with step(bar, name, count) as advance:
        for outcome in sweep.batches(count, threads=os.cpu_count() or 1):
            outcomes.append(outcome)
            for _ in outcome.kind:
                advance()
    return {row.kind: row for row in rows(outcomes)}, perf_counter() - began


def table(found: dict[str, dict[str, FaultRow]], count: int, seconds: float) -> list[str]:
    """Return the lines of the table."""
    rates = ", ".join(f"{rate:g}" for rate in RATES)
    lines = [
        f"Measured on {conditions()}: {count} scenarios of 5 s for each arm at {rates} Hz, with "
        "masses up to 10 % wrong and unknown dry friction up to 3 % of the effort limits. Each "
        "cell gives the largest speed beyond that of the motion, relative to the speed limit, the "
        f"share of scenarios beyond {ALLOWED:g}, and the largest way outside the span of the "
        f"motion, rad or m. An arm took at most {seconds:.0f} s.",
        "",
        "| fault | " + " | ".join(found) + " |",
        "| --- |" + " --- |" * len(found),
    ]
    for kind, about in KINDS.items():
        cells = [
            f"{row.worst:.2f}, {row.beyond:.1%}, {row.outside:.2f}" if row else "-"
            for row in (arm.get(kind) for arm in found.values())
        ]
        lines.append(f"| {kind}: {about} | " + " | ".join(cells) + " |")
    return lines


def table_of_variants(found: dict[str, dict[str, dict[str, FaultRow]]], count: int) -> list[str]:
    """Return the lines of the second table."""
    lines = [
        f"Measured on {conditions()}: {count} scenarios of each cell, as above. Each gives the "
        f"largest speed of all faults, and the share of scenarios beyond {ALLOWED:g}.",
        "",
        "| change | " + " | ".join(found) + " |",
        "| --- |" + " --- |" * len(found),
    ]
    for change in VARIANTS:
        cells = []
        for arm in found.values():
            rows_of = list(arm[change].values())
            beyond = sum(row.beyond * row.count for row in rows_of)
            total = sum(row.count for row in rows_of)
            cells.append(f"{max(row.worst for row in rows_of):.2f}, {beyond / total:.1%}")
        lines.append(f"| {change} | " + " | ".join(cells) + " |")
    return lines


def main() -> None:
    """Run the sweep and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--arms", nargs="+", default=ARMS)
    parser.add_argument("--count", type=int, default=100_000, help="scenarios of each arm")
    parser.add_argument("--out", type=Path, default=PAGE, help="page with the marks of the table")
    options = parser.parse_args()
    console = Console()
    with progress_bar(console) as bar:
        found = {name: swept(name, options.count, bar) for name in options.arms}
        fewer = max(options.count // 10, 1)
        varied = {
            name: {change: swept(name, fewer, bar, **how)[0] for change, how in VARIANTS.items()}
            for name in VARIED
        }
    rows_of = {name: rows for name, (rows, _) in found.items()}
    lines = table(rows_of, options.count, max(seconds for _, seconds in found.values()))
    before = options.out.read_text(encoding="utf-8") if options.out.is_file() else ""
    for mark, part in ((MARK, lines), (f"{MARK}: changes", table_of_variants(varied, fewer))):
        if f"<!-- {mark} -->" in before:
            replace_part(options.out, mark, part)
        else:
            console.print("\n".join(part))


if __name__ == "__main__":
    main()
