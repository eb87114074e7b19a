"""Run an arm for minutes and never leave it in peace.

    python -m benchmark.soak --minutes 10       ten minutes of Panda at 1 kHz
    python -m benchmark.soak --minutes 0.5 --robot planar_2r

Simulator, feedforward and controller run as three processes. They get random
trajectories, most of them replaced on the way, random payloads and other
control modes. What must hold all the time: no node complains or ends, no effort
changes faster than its limit, every trajectory is followed until it is
replaced, and memory does not grow. Exit status 1 if something did not hold.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from benchmark.nodes.processes import leave_nothing_behind
from benchmark.progress_bar import progress_bar
from benchmark.soak.soak import soak


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, and say what came of it."""
    parser = argparse.ArgumentParser(prog="python -m benchmark.soak", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--robot", default="panda", help="a known robot, or a URDF")
    parser.add_argument("--rate", type=float, default=1000.0, help="of the nodes, Hz")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--logs", type=Path, help="where to leave what the nodes print")
    options = parser.parse_args(arguments)
    leave_nothing_behind()
    console = Console()
    seconds = 60.0 * options.minutes
    with tempfile.TemporaryDirectory() as folder, progress_bar(console) as bar:
        task = bar.add_task(f"soak of {options.robot}", total=seconds)

        def tick(gone: float) -> None:
            bar.update(task, completed=gone)
            bar.refresh()

        report = soak(
            seconds,
            options.logs or Path(folder),
            robot=options.robot,
            rate=options.rate,
            seed=options.seed,
            tick=tick,
        )
    for line in report.lines():
        console.print(line, markup=False, highlight=False)
    return 1 if report.faults else 0


if __name__ == "__main__":
    sys.exit(main())
