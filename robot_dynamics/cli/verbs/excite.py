"""Find an exciting motion for identification, within the limits of an arm.

    robot-dynamics excite arm.urdf --duration 30 --output excitation.csv
    robot-dynamics excite panda --lock panda_finger_joint1=0 --box=-0.6,-0.6,0.05,0.8,0.6,1.2
    robot-dynamics excite ur5 --kind points --speed 0.3

The motion starts and ends at rest. The verb prints the commands that show, run and record it, with
or without ROS. Ctrl-C ends the search with the best motion so far.
"""

from __future__ import annotations

import argparse
import logging
import shlex
from collections.abc import Mapping

import numpy as np

from robot_dynamics.cli.arguments import (
    add_robot,
    duration,
    joint_values,
    output_file,
    positive,
    take_negative_lists,
)
from robot_dynamics.cli.chosen_joints import robot_of, selection_words
from robot_dynamics.cli.output import add_json, print_json
from robot_dynamics.cli.progress_line import stages
from robot_dynamics.errors import ArgumentError, MissingPackageError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.lazy import needed
from robot_dynamics.foundation.numbers import number_from
from robot_dynamics.identification.excitation.excitation_search import (
    CRITERIA,
    Excitation,
    excite,
)
from robot_dynamics.identification.excitation.motion_families import KINDS, MotionBounds
from robot_dynamics.robot import Robot
from robot_dynamics.robot.catalogue import located
from robot_dynamics.trajectory.trajectory_files import write_trajectory

logger = logging.getLogger(__name__)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command line of the verb."""
    take_negative_lists(parser)
    add_robot(parser)
    parser.add_argument(
        "-o", "--output", type=output_file, default="excitation.csv", help=".csv or .yaml to write"
    )
    parser.add_argument("--duration", type=duration, default=20.0, help="s (default: 20)")
    parser.add_argument("--kind", choices=KINDS, default="fourier", help="(default: fourier)")
    parser.add_argument(
        "--criterion", choices=CRITERIA, default="determinant", help="to improve (default: first)"
    )
    parser.add_argument("--trials", type=int, default=2000, help="motions to try (default: 2000)")
    parser.add_argument("--seed", type=int, default=0, help="same seed, same motion (default: 0)")
    parser.add_argument(
        "--speed", type=positive, default=0.6, help="part of the velocity limits (default: 0.6)"
    )
    parser.add_argument(
        "--range", type=positive, default=0.9, help="part of the position ranges (default: 0.9)"
    )
    parser.add_argument(
        "--about", metavar="POSE", help="pose to move about, q1,q2,... (default: the middle)"
    )
    parser.add_argument(
        "--acceleration",
        metavar="LIMITS",
        help="highest, a1,a2,... or JOINT=A,... (default: full speed in half a second)",
    )
    parser.add_argument(
        "--box", metavar="X,Y,Z,X,Y,Z", help="corners of where links may be, m, axes of the root"
    )
    parser.add_argument(
        "--clearance",
        type=float,
        default=0.0,
        help="least distance of links that are no neighbours, m (default: any): of the hulls of "
        "their meshes where there are some",
    )
    parser.add_argument("--lock", metavar="JOINT=POSITION,...", help="joints that will stand still")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Search for a motion, write it and print its condition number."""
    robot = robot_of(arguments)
    if arguments.output.suffix not in (".csv", ".yaml", ".yml"):
        raise ArgumentError(f"{arguments.output}: unknown kind of file; use .csv or .yaml")
    if arguments.box is None:
        logger.warning("without --box the floor and the surroundings are ignored")
    shapes = _shapes(arguments, robot)
    found = _searched(arguments, robot, shapes)
    write_trajectory(arguments.output, found.motion)
    if arguments.json:
        print_json(
            {
                "output": str(arguments.output),
                "trials": found.trials,
                "condition": found.condition,
                "first_condition": found.first_condition,
                "gain": found.gain,
                "stopped": found.stopped,
            }
        )
        return 0
    tried = f"{found.trials} motions tried{', stopped' if found.stopped else ''}"
    print(f"{tried}; condition number {found.condition:.1f}")
    if np.isfinite(found.gain):
        print(f"errors of parameters: {found.gain:.2f} times smaller than by the first motion")
    print(f"wrote {arguments.output}")
    print(_how_to_run(arguments))
    return 0


def _how_to_run(arguments: argparse.Namespace) -> str:
    """Return the commands that look at the motion, run it and record it."""
    robot, motion = shlex.quote(arguments.robot), shlex.quote(str(arguments.output))
    chosen = "".join(f" {shlex.quote(word)}" for word in selection_words(arguments))
    return "\n".join(
        [
            "next:",
            f"  look at it:        robot-dynamics view {robot} --motion {motion}",
            f"  without ROS:       robot-dynamics simulate {robot} --motion {motion}{chosen} "
            "--record run.mcap",
            "  record, beside it: robot-dynamics node recorder_node --ros-args -p file:=run.mcap "
            f"-p urdf_path:={robot}",
            "  on the arm, at the first point of the motion, with people away:",
            "                     ros2 launch robot_dynamics bringup.launch.py "
            f"robot:={robot} simulation:=false motion:=file file:={motion}",
            "  by another controller: record positions and efforts of all joints, a bag or .csv",
            f"  then:              robot-dynamics identify {robot} run.mcap{chosen}",
        ]
    )


def _shapes(arguments: argparse.Namespace, robot: Robot) -> Mapping[str, Array]:
    """Return the meshes of the links if they are needed; warn about missing ones."""
    if arguments.box is None and not arguments.clearance:
        return {}
    shapes: Mapping[str, Array] = {}
    why = "the URDF has no meshes that can be found"
    try:
        needed("coal", "clearance of meshes", "identification")
        needed("trimesh", "clearance of meshes", "identification")
        from robot_dynamics.viewer.link_shapes import outlines  # noqa: PLC0415  # needs trimesh

        shapes = outlines(located(arguments.robot))
    except MissingPackageError as error:
        why = str(error)
    missing = sorted({link.name for link in robot.links if link.inertia.mass} - set(shapes))
    if not shapes:
        logger.warning("links count as straight lines: %s", why)
    elif missing:
        logger.warning("no mesh of %s, which count as nothing", ", ".join(missing))
    return shapes


def _searched(
    arguments: argparse.Namespace, robot: Robot, shapes: Mapping[str, Array]
) -> Excitation:
    bounds = MotionBounds.of(robot, share=arguments.range, speed=arguments.speed)
    if arguments.acceleration is not None:
        highest = joint_values("--acceleration", arguments.acceleration, robot, bounds.acceleration)
        bounds = MotionBounds(bounds.lower, bounds.upper, bounds.velocity, highest)
    if arguments.about is not None:
        bounds = bounds.about(joint_values("--about", arguments.about, robot, bounds.middle))
    with stages() as progress:
        return excite(
            robot,
            arguments.duration,
            kind=arguments.kind,
            criterion=arguments.criterion,
            trials=arguments.trials,
            seed=arguments.seed,
            bounds=bounds,
            box=_corners(arguments.box),
            clearance=arguments.clearance,
            shapes=shapes,
            progress=lambda done, condition: progress(
                f"condition number {condition:.1f}", done / arguments.trials
            ),
        )


def _corners(text: str | None) -> list[list[float]] | None:
    if text is None:
        return None
    try:
        numbers = [number_from(entry) for entry in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != 6 or not np.isfinite(numbers).all():
        raise ArgumentError(f"--box: '{text}' is not six numbers X,Y,Z,X,Y,Z in m")
    return [numbers[:3], numbers[3:]]
