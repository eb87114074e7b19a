"""Print the equations of a robot as text, LaTeX, C, Python or for an array library.

robot-dynamics equations planar_2r --symbolic         readable text with symbolic parameters
robot-dynamics equations ur5 --as c > ur5.c           one C99 function
robot-dynamics equations planar_2r --as latex
robot-dynamics equations panda --as casadi > panda.py a module of one casadi.Function
robot-dynamics equations ur5 --base moving --as c     with the motion of its base as an input
"""

from __future__ import annotations

import argparse
from dataclasses import replace

from robot_dynamics.cli.arguments import add_formulation, add_robot
from robot_dynamics.cli.chosen_joints import add_end_effector, end_effector_of, robot_of
from robot_dynamics.cli.progress_line import stages
from robot_dynamics.compiler.graph.trace import operation_count
from robot_dynamics.compiler.source import LANGUAGES
from robot_dynamics.compiler.source.readable import latex_equations, text_equations
from robot_dynamics.dynamics.compiled_robot import BASES, on_base
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.dynamics.exported import Export
from robot_dynamics.dynamics.kernels import KERNELS, OF_FRAMES, WITH_FRICTION
from robot_dynamics.dynamics.symbolic_parameters import PARAMETER_SETS, symbolic_program
from robot_dynamics.dynamics.variant import Variant
from robot_dynamics.errors import ArgumentError
from robot_dynamics.formulations import DEFAULT_FORMULATION
from robot_dynamics.robot import Robot

_OF_THE_ROBOT_ALONE = ("regressor", *OF_FRAMES)

WITHOUT = {
    "wrench": (*_OF_THE_ROBOT_ALONE, "mass_matrix", "energy"),
    "payload": _OF_THE_ROBOT_ALONE,
    "gravity": (*_OF_THE_ROBOT_ALONE, "mass_matrix"),
    "friction": tuple(name for name in KERNELS if name not in WITH_FRICTION),
}
"""Inputs that `--with` adds, each with the kernels that do without."""

INPUTS = tuple(WITHOUT)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command line of the verb."""
    add_robot(parser)
    parser.add_argument(
        "--as",
        dest="language",
        choices=list(LANGUAGES),
        default="text",
        help="text or latex to read; c (C99, one function) and its cpp-header, or c-float and its "
        "cpp-header-float, to compile; python to run; casadi, jax or torch, a module of that "
        "library (default: text)",
    )
    parser.add_argument(
        "--kernel",
        dest="kernels",
        action="append",
        choices=list(KERNELS),
        help="what is computed (default: inverse, the joint efforts of a motion); again for more "
        "kernels in one file",
    )
    parser.add_argument(
        "--name", help="beginning of the functions' names (default: the robot's name)"
    )
    add_end_effector(parser, "frame of pose and jacobian, and of --with wrench or payload")
    parser.add_argument(
        "--with",
        dest="inputs",
        nargs="+",
        choices=INPUTS,
        default=[],
        metavar="INPUT",
        help="further inputs of the equations, wrench, payload and gravity; or friction: damping "
        "and dry friction of the URDF",
    )
    parser.add_argument(
        "--base",
        choices=BASES,
        help="moving: the motion of the base is an input, and the wrench on it an output; "
        "floating: the base is the first joint (default: as the URDF has it)",
    )
    parser.add_argument(
        "--symbolic",
        nargs="?",
        choices=list(PARAMETER_SETS),
        const="links",
        help="symbolic parameters in place of numbers: those of links (m1, lc1, I1, l1, g), or "
        "base parameters",
    )
    parser.add_argument(
        "--sorted",
        action="store_true",
        help="with --symbolic: M, C and G of tau = M qdd + C qd + G in place of tau",
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
    if arguments.search and arguments.symbolic:
        raise ArgumentError("--search: there is no search with --symbolic; leave one out")
    if arguments.sorted and not arguments.symbolic:
        raise ArgumentError("--sorted: only symbolic equations are sorted; add --symbolic")
    robot, base = on_base(robot_of(arguments, free_joints=True), arguments.base)
    kernels = dict.fromkeys(arguments.kernels or ["inverse"])
    variants = {kernel: _variant(arguments, robot, kernel) for kernel in kernels}
    if arguments.symbolic:
        texts = [_with_symbols(arguments, robot, base, *item) for item in variants.items()]
        print("\n".join(texts))
        return 0
    with stages() as progress:
        progress("writing equations", 0.0)
        arm = Dynamics(
            robot,
            arguments.formulation,
            base=base,
            search=arguments.search,
            progress=lambda done, total: progress("searching", done / total),
        )
        texts = [
            arm.source(arguments.language, kernel, variant, prefix=arguments.name)
            for kernel, variant in variants.items()
        ]
    print("\n".join(texts))
    return 0


def _variant(arguments: argparse.Namespace, robot: Robot, kernel: str) -> Variant:
    """Return the inputs of the equations beside the motion, and their frame."""
    given = arguments.inputs
    loaded = "wrench" in given or "payload" in given
    if arguments.frame is not None and not loaded and kernel not in OF_FRAMES:
        raise ArgumentError(
            f"--frame: kernel '{kernel}' is about no frame; add --with wrench or --with payload, "
            "or leave it out"
        )
    for name in given:
        if kernel in WITHOUT[name]:
            reason = "does not depend on it" if name != "friction" else "is written without it"
            raise ArgumentError(f"--with {name}: kernel '{kernel}' {reason}")
    frame = end_effector_of(arguments, robot) if loaded or kernel in OF_FRAMES else None
    return Variant(
        wrench_at=frame if "wrench" in given else None,
        payload_at=frame if "payload" in given else None,
        gravity="gravity" in given,
        friction="friction" in given,
        frame=frame if kernel in OF_FRAMES else None,
    )


def _with_symbols(
    arguments: argparse.Namespace, robot: Robot, base: str, kernel: str, variant: Variant
) -> str:
    """Write the equations with symbols, under lines with their values and the operation count."""
    found = symbolic_program(
        *(robot, kernel, arguments.symbolic, arguments.formulation, variant),
        sort=arguments.sorted,
        base=base,
    )
    export = Export(
        *(robot, kernel, arguments.formulation, variant, arguments.name),
        suffix=f"{'sorted_' if arguments.sorted else ''}of_{arguments.symbolic}",
        parameters=found.parameters,
        base=base,
    )
    program = replace(found.program, name=export.name)
    if arguments.language not in ("text", "latex"):
        return export.write(arguments.language, program)
    latex = arguments.language == "latex"
    lines = ["tau = M qdd + C qd + G"] if arguments.sorted else []
    lines += [f"{program.name}: {operation_count(program)}", *map(str, found.parameters)]
    head = [f"{'%' if latex else '#'} {line}\n" for line in lines]
    return "".join(head) + (latex_equations if latex else text_equations)(
        program, found.symbols(latex)
    )
