"""The load that an identified arm carries, from a motion with it.

    robot-dynamics payload arm_identified.urdf loaded.mcap --frame tool0

Friction and rotor inertia are read from the .yaml beside the URDF that `identify` has written.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from robot_dynamics.cli.arguments import add_robot, load_robot
from robot_dynamics.cli.json_output import add_json, print_json
from robot_dynamics.cli.recordings import add_recordings, locked, read_recordings
from robot_dynamics.control import Friction
from robot_dynamics.identification import identify_payload, read_parameters
from robot_dynamics.identification.effort_model import EffortModel
from robot_dynamics.identification.payload_estimation import SURE
from robot_dynamics.robot import find_robot
from robot_dynamics.robot.endpoint import only_tip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command line of the verb."""
    add_robot(parser)
    add_recordings(parser)
    parser.add_argument(
        "--parameters", type=Path, help=".yaml of friction and rotors (default: beside the URDF)"
    )
    parser.add_argument("--frame", help="link or frame of the load (default: the only tip)")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the load, and how controller_node takes it."""
    robot = locked(load_robot(arguments.robot), arguments.lock)
    beside = Path(find_robot(arguments.robot)).with_suffix(".yaml")
    parameters = arguments.parameters or (beside if beside.is_file() else None)
    if parameters is None:
        model = EffortModel.of(robot, Friction.of(robot))
    else:
        drives = read_parameters(parameters, robot)
        model = EffortModel.of(robot, drives.friction, drives.rotor_inertia)
    frame = arguments.frame or only_tip(robot)
    recordings = read_recordings(arguments, robot)
    load = identify_payload(robot, model, recordings, frame, cutoff=arguments.edge)
    if arguments.json:
        print_json({"found": load.found, **vars(load)})
        return 0
    deviation = load.deviation["m"]
    if not load.found:
        why = f"{load.mass:.2g} kg is within its uncertainty, {SURE:g} x {deviation:.2g} kg"
        print(f"no load found at {frame}: {why if np.isfinite(deviation) else 'no moment is felt'}")
        return 0
    c, I_C = load.com, load.inertia[np.triu_indices(3)]
    print(f"load at {frame}: {load.mass:.4g} kg (+- {deviation:.2g})")
    print(f"mass centre: {c[0]:.4g} {c[1]:.4g} {c[2]:.4g} m")
    print(f"inertia about it, xx xy xz yy yz zz: {' '.join(f'{x:.3g}' for x in I_C)} kg m^2")
    unseen = [x for x, s in load.deviation.items() if not np.isfinite(s) and x not in load.hidden]
    for names, what in ((load.hidden, "no motion of this arm shows"),
                        (unseen, "the motion does not show")):  # fmt: skip
        if names:
            print(f"{what} {', '.join(names)} about the origin of the frame")
    return 0
