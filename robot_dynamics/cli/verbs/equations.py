"""The equations of a robot, written out: as text, LaTeX, C or Python, on the standard output."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)

from robot_dynamics.cli.arguments import add_formulation, add_robot, load_robot
from robot_dynamics.compiler.source.languages import LANGUAGES
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ArgumentError
from robot_dynamics.formulations import DEFAULT_FORMULATION
from robot_dynamics.kernels import KERNELS, Variant


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command line of the verb."""
    add_robot(parser)
    parser.add_argument(
        "--as",
        dest="language",
        choices=list(LANGUAGES),
        default="text",
        help="text or latex to read; c (C99, one function) and its cpp-header, or c-float and its "
        "cpp-header-float, to compile; python to run (default: text)",
    )
    parser.add_argument(
        "--kernel",
        choices=list(KERNELS),
        default="inverse",
        help="what is computed (default: inverse, the joint efforts of a motion)",
    )
    parser.add_argument(
        "--frame", help="frame of pose and jacobian (default: the only tip of the robot)"
    )
    add_formulation(parser, "write")
    parser.add_argument(
        "--search", action="store_true", help="search for the fewest operations; takes longer"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the equations."""
    if arguments.search and arguments.formulation != DEFAULT_FORMULATION:
        raise ArgumentError(
            f"--search: only {DEFAULT_FORMULATION} is searched, not {arguments.formulation}; "
            "leave one of the two options out"
        )
    robot, variant = load_robot(arguments.robot), Variant(frame=arguments.frame)
    with _search_shown(arguments.search) as progress:
        arm = Dynamics(robot, arguments.formulation, search=arguments.search, progress=progress)
        text = arm.source(arguments.language, arguments.kernel, variant)
    print(text)
    return 0


@contextmanager
def _search_shown(searches: bool) -> Iterator[Callable[[int, int], None]]:
    """A progress bar on stderr where that is a terminal, gone when the search is over."""
    console = Console(stderr=True)
    columns = TextColumn("searching"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn()
    hidden = not (searches and console.is_terminal)
    with Progress(*columns, console=console, transient=True, disable=hidden) as bar:
        task = bar.add_task("search")
        yield lambda done, total: bar.update(task, completed=done, total=total)
