"""Figures and tables of the publications, redrawn and counted anew, into a folder.

    robot-dynamics papers                     into ./papers
    robot-dynamics papers --output report

worked-examples.md has figures of Asada and Slotine, of Gupta, and of Angeles, Ma and Rojas, and
says what was chosen where a print is illegible; printed-counts.md has operation counts beside every
printed one.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console

from robot_dynamics.cli.destinations import output_folder
from robot_dynamics.papers.counting.count_tables import compared_counts
from robot_dynamics.papers.figures.worked_examples import write_worked_examples


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command line of the verb."""
    parser.add_argument(
        "--output",
        type=output_folder,
        default="papers",
        metavar="FOLDER",
        help="folder to write to (default: papers)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Write everything, and name every file once it is there."""
    output: Path = arguments.output
    output.mkdir(parents=True, exist_ok=True)
    console = Console()

    def tell(path: Path) -> None:
        console.print(str(path), soft_wrap=True, highlight=False, markup=False)

    with console.status("drawing") as status:
        write_worked_examples(output, tell)
        status.update("counting operations")
        counts = [section.rstrip() for section in compared_counts()]
    page = output / "printed-counts.md"
    page.write_text("\n\n".join(["# Operation counts", *counts]) + "\n", encoding="utf-8")
    tell(page)
    return 0
