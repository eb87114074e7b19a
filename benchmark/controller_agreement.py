"""Compare the variants of the controller's step in hostile sequences.

    python -m benchmark.controller_agreement [--sequences 10000] [--arms ur5 panda ...]

SIMD lanes and the exported C library run every sequence beside the native kernels; plain Python,
which is slow, a few of them.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmark.progress_bar import progress_bar, step
from benchmark.table import Table

CYCLES = 300  # of a sequence: 0.3 s at first, later up to several seconds with gaps
SIDE_BY_SIDE = 64
TIMED = 400  # cycles

HEADER = ["arm", "variant", "sequences", "cycles", "efforts", "other fields", "round-off", "faults"]


def main() -> int:
    """Compare and print; return 1 if variants differ."""
    console, options = Console(), _options()
    agreement = _helper()
    rows, times, faults = [], [], []
    with progress_bar(console) as bar:
        for name in options.arms:
            robot = agreement.Robot(name, in_c=True)
            kinds = (("lanes", "c"), options.sequences), (("plain",), options.plain)
            for variants, count in kinds:
                compared = agreement.Agreement(robot, variants)
                turns = range(0, count, SIDE_BY_SIDE)
                with step(bar, f"{name}, {' and '.join(variants)}", len(turns)) as advance:
                    for first in turns:
                        compared.run(range(first, min(first + SIDE_BY_SIDE, count)), CYCLES)
                        advance()
                for variant, found in compared.found.items():
                    rows.append([name, variant, *_row(found)])
                    faults += found.faults
            times.append([name, *(f"{t * 1e6:.2f}" for t in agreement.times(robot, TIMED))])
    about = (
        f"Largest differences from the native kernels in {CYCLES} cycles of each sequence: efforts "
        "per effort limit, other fields relative to their size. Round-off: cycles in which a "
        "comparison was within round-off of its threshold."
    )
    console.print(Table("Variants of the step", about, HEADER, rows).rich(), about)
    header = ["arm", "native kernels", "SIMD lanes, per lane"]
    console.print(Table("Time of a cycle, us", "", header, times).rich())
    for fault in faults[:20]:
        console.print(fault)
    return 1 if faults else 0


def _row(found: Any) -> list[str]:
    counts = [f"{found.sequences:,}", f"{found.cycles:,}"]
    sizes = [f"{found.effort:.1e}", f"{found.elsewhere:.1e} ({found.where})"]
    return [*counts, *sizes, str(found.round_off), str(len(found.faults))]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--sequences", type=int, default=10_000)
    parser.add_argument("--plain", type=int, default=16, help="sequences of plain Python")
    parser.add_argument("--arms", nargs="+", default=_helper().ARMS)
    return parser.parse_args()


def _helper() -> Any:
    """Return the comparison, which the tests use too."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "test" / "helpers"))
    return importlib.import_module("step_agreement")


if __name__ == "__main__":
    start = time.perf_counter()
    status = main()
    Console().print(f"{time.perf_counter() - start:.0f} s")
    sys.exit(status)
