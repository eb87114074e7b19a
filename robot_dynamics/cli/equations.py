"""The equations of a robot, written out: as text, LaTeX, C or Python, on the standard output."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping

from robot_dynamics.cli.arguments import add_robot, load_robot
from robot_dynamics.compiler.equations import latex_equations, text_equations
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.formulations import DEFAULT_FORMULATION, FORMULATIONS
from robot_dynamics.kernels import KERNELS, Variant

WRITERS: Mapping[str, Callable[[Dynamics, str, Variant], str]] = {
    "text": lambda arm, kernel, variant: text_equations(arm.program(kernel, variant)),
    "latex": lambda arm, kernel, variant: latex_equations(arm.program(kernel, variant)),
    "c": lambda arm, kernel, variant: arm.c_source(kernel, variant),
    "c-float": lambda arm, kernel, variant: arm.c_source(kernel, variant, scalar="float"),
    "cpp-header": lambda arm, kernel, variant: arm.cpp_header(kernel, variant),
    "python": lambda arm, kernel, variant: arm.python_source(kernel, variant),
}
"""What the option --as chooses from."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command line of the verb."""
    add_robot(parser)
    parser.add_argument(
        "--as",
        dest="language",
        choices=list(WRITERS),
        default="text",
        help="text or latex to read, c or c-float (C99, one function) with cpp-header to compile, "
        "python to run (default: text)",
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
    parser.add_argument(
        "--formulation",
        choices=list(FORMULATIONS),
        default=DEFAULT_FORMULATION,
        help=f"equations to write (default: {DEFAULT_FORMULATION})",
    )
    parser.add_argument(
        "--search", action="store_true", help="search for the fewest operations; takes longer"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the equations."""
    arm = Dynamics(load_robot(arguments.robot), arguments.formulation, search=arguments.search)
    variant = Variant(frame=arguments.frame)
    print(WRITERS[arguments.language](arm, arguments.kernel, variant))
    return 0
