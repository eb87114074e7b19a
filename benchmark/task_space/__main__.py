"""Measure task-space control, and write the results to benchmark/records/task-space.md.

python -m benchmark.task_space              a quarter of an hour
python -m benchmark.task_space --poses 2    a few minutes
"""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console

from benchmark.record import conditions
from benchmark.task_space import contact, delays, timing

PAGE = Path(__file__).parents[1] / "records" / "task-space.md"
BEGIN, END = "<!-- benchmark.task_space -->\n", "<!-- end -->\n"


def main() -> int:
    """Run all, and replace the results in the page."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--poses", type=int, default=20, help="poses of each arm")
    options = parser.parse_args()
    console = Console()
    lines = [f"Measured on {conditions()}.", ""]
    lines += [*timing.rows(), ""]
    console.print("\n".join(lines), markup=False)
    lines += [*contact.rows(), "", contact.ABOUT_FEEDBACK, "", *contact.wrong_rows(), ""]
    console.print("\n".join(lines), markup=False)
    lines += delays.lines(options.poses, console)
    console.print("\n".join(lines), markup=False)
    head, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(head + BEGIN + "\n".join(lines) + "\n" + END + rest.partition(END)[2])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
