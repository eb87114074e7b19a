"""Sweep random faults of states and references over arms, and write the table of docs/hardware.md.

python -m benchmark.fault_sweep                     four arms, 4096 scenarios each: 30 minutes
python -m benchmark.fault_sweep --count 256 --arms ur5
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from benchmark.machine import processor
from benchmark.nodes.processes import ROOT
from benchmark.progress import progress_bar, step
from benchmark.table import replace_part
from robot_dynamics import read_urdf
from robot_dynamics.robot import find_robot
from robot_dynamics.simulation.fault_sweep import ALLOWED, KINDS, RATES, FaultSweep, Row, rows

PAGE = ROOT / "docs" / "hardware.md"
MARK = "benchmark.fault_sweep"

ARMS = ("ur5", "panda", "xarm7", "planar_2r")
"""Arms of the table; fingers are locked."""


def swept(name: str, count: int, bar: Progress) -> dict[str, Row]:
    """Return the results of an arm by kind of fault."""
    robot = read_urdf(find_robot(name))
    fingers = {joint: 0.0 for joint in robot.joint_names if "finger" in joint or "drive" in joint}
    sweep = FaultSweep(robot.with_locked(fingers) if fingers else robot)
    outcomes = []
    with step(bar, name, count) as advance:
        for outcome in sweep.batches(count, threads=os.cpu_count() or 1):
            outcomes.append(outcome)
            for _ in outcome.kind:
                advance()
    return {row.kind: row for row in rows(outcomes)}


def table(found: dict[str, dict[str, Row]], count: int) -> list[str]:
    """Return the lines of the table."""
    rates = ", ".join(f"{rate:g}" for rate in RATES)
    lines = [
        f"Measured on {processor()}: {count} scenarios of 5 s for each arm at {rates} Hz, with "
        "masses up to 10 % wrong and unknown dry friction up to 3 % of the effort limits. Each "
        "cell gives the largest speed beyond that of the motion, relative to the speed limit, and "
        f"the share of scenarios beyond {ALLOWED:g}.",
        "",
        "| fault | " + " | ".join(found) + " |",
        "| --- |" + " --- |" * len(found),
    ]
    for kind, about in KINDS.items():
        cells = [
            f"{arm[kind].worst:.2f}, {arm[kind].beyond:.1%}" if kind in arm else "-"
            for arm in found.values()
        ]
        lines.append(f"| {kind}: {about} | " + " | ".join(cells) + " |")
    return lines


def main() -> None:
    """Run the sweep and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--arms", nargs="+", default=ARMS)
    parser.add_argument("--count", type=int, default=4096, help="scenarios of each arm")
    parser.add_argument("--out", type=Path, default=PAGE, help="page with the marks of the table")
    options = parser.parse_args()
    console = Console()
    with progress_bar(console) as bar:
        found = {name: swept(name, options.count, bar) for name in options.arms}
    lines = table(found, options.count)
    before = options.out.read_text(encoding="utf-8") if options.out.is_file() else ""
    if f"<!-- {MARK} -->" in before:
        replace_part(options.out, MARK, lines)
    else:
        console.print("\n".join(lines))


if __name__ == "__main__":
    main()
