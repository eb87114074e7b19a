"""Let real nodes meet faults before a robot that is not ours, and write the tables of the page.

    python -m benchmark.faults                      three arms, three rates, and all starts: an hour
    python -m benchmark.faults --rates 250 --robots ur5
    python -m benchmark.faults --only starts
    python -m benchmark.faults --quick              three runs, a minute

The robot is MuJoCo in a process of its own. Its joint_states name the joints in reversed order,
without efforts and with noisy velocities; its joints have dry friction that no URDF names; it keeps
the last command. The tables replace those of benchmark/records/faults.md, or go to --out. Exit
status 1 if a bound was exceeded.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console

from benchmark.faults.page import (
    FAULTS,
    PAGE,
    STARTS,
    fault_table,
    start_table,
    unsafe,
)
from benchmark.faults.plant import KINDS
from benchmark.faults.poses import POSES
from benchmark.faults.runs import WAYS, Case, Ear, Nodes, Result, measure
from benchmark.faults.starts import ALLOWED, Start, starts, unrequested
from benchmark.nodes.processes import SystemFailure, leave_nothing_behind
from benchmark.progress_bar import progress_bar, step
from benchmark.table import replace_part

RATES = (100.0, 250.0, 1000.0)
DOMAINS = 8
"""ROS domains that runs use in turns: a killed participant is known to others for 20 s."""


def cases(robots: Sequence[str], rates: Sequence[float]) -> list[Case]:
    """Return all runs with a fault."""
    ends = [f"{who}, {way}" for who in ("feedforward_node", "all nodes") for way in WAYS]
    return [Case(r, rate, fault) for fault in (*KINDS, *ends) for r in robots for rate in rates]


QUICK = (
    Case("ur5", 250.0, "missing joint"),
    Case("planar_2r", 100.0, "feedforward_node, kill -9"),
    Start("ur5", 100.0, 1, "controller_node", True, True),
)
"""Three runs that differ in everything."""


class Ears:
    """Nodes of this process on some domains, which runs use in turns."""

    def __init__(self) -> None:
        self._ears: list[Ear] = []

    def next(self) -> Ear:
        """Return the one that has rested for the longest time."""
        ears = self._ears
        ears.append(Ear() if len(ears) < DOMAINS else ears.pop(0))
        return ears[-1]


def in_nodes(run: Case | Start, ears: Ears) -> Result | float:
    """Return the result of a run."""
    with tempfile.TemporaryDirectory() as folder:
        nodes = Nodes(run.robot, run.rate, ears.next(), Path(folder))
        try:
            return measure(run, nodes) if isinstance(run, Case) else unrequested(run, nodes)
        except SystemFailure as failure:  # the others go on
            reason = str(failure).partition("\n")[0]
            return Result(failure=reason) if isinstance(run, Case) else float("inf")
        finally:
            nodes.close()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the cases and write the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmark.faults", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--rates", type=float, nargs="+", default=RATES, help="Hz")
    parser.add_argument("--robots", nargs="+", choices=POSES, default=list(POSES))
    parser.add_argument("--only", choices=("faults", "starts"), help="one of the tables")
    parser.add_argument("--quick", action="store_true", help="three runs, and no file")
    parser.add_argument("--out", type=Path, default=PAGE, help="page with the marks of the tables")
    options = parser.parse_args(arguments)
    leave_nothing_behind()
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    runs: list[Case | Start] = []
    if options.only != "starts":
        runs += cases(options.robots, options.rates)
    if options.only != "faults":
        runs += starts(options.robots[:1], min(options.rates))
    if options.quick:
        runs = list(QUICK)
    found: dict[Case, Result] = {}
    moved: dict[Start, float] = {}
    loads, console, ears = [os.getloadavg()[0]], Console(), Ears()

    def write(put: Callable[[str, list[str]], object]) -> None:
        load = f"{min(loads):.0f} to {max(loads):.0f}"
        if found:
            put(FAULTS, fault_table(found, load))
        if moved:
            put(STARTS, start_table(moved, load))

    with progress_bar(console) as bar, step(bar, "faults", len(runs)) as advance:
        for run in runs:
            result = in_nodes(run, ears)
            if isinstance(run, Case) and isinstance(result, Result):
                found[run] = result
            elif isinstance(run, Start) and isinstance(result, float):
                moved[run] = result
            loads.append(os.getloadavg()[0])
            if not options.quick:  # after each run: one that is interrupted leaves what it has
                write(lambda mark, lines: replace_part(options.out, mark, lines))
            bar.console.print(f"{run}: {result}", markup=False, highlight=False)
            advance()
    if options.quick:
        write(lambda _, lines: console.print("\n".join(lines), markup=False))
    wrong = [f"{run}: {result}" for run, result in found.items() if unsafe(run, result)]
    wrong += [f"{run}: {way} rad" for run, way in moved.items() if way > ALLOWED]
    for line in wrong:
        console.print(f"beyond its bound: {line}", markup=False, highlight=False)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
