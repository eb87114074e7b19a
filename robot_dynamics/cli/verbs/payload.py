"""Identify the payload of an identified arm from a motion with it.

    robot-dynamics payload arm_identified.urdf loaded.mcap --frame tool0

Friction and rotor inertia are read from the .yaml beside the URDF that `identify` has written.
"""

from __future__ import annotations

import argparse

import numpy as np

from robot_dynamics.cli.arguments import add_robot
from robot_dynamics.cli.chosen_joints import add_end_effector, end_effector_of, robot_of
from robot_dynamics.cli.output import add_json, print_json
from robot_dynamics.cli.recordings import (
    add_parameters,
    add_recordings,
    drives_of,
    read_recordings,
)
from robot_dynamics.control import Friction
from robot_dynamics.identification import identify_payload
from robot_dynamics.identification.effort_model import EffortModel
from robot_dynamics.identification.payload_estimation import SURE


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command line of the verb."""
    add_robot(parser)
    add_recordings(parser)
    add_parameters(parser)
    add_end_effector(parser, "link or frame of the load")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print mass, mass centre and inertia of the load."""
    robot = robot_of(arguments)
    drives = drives_of(arguments.robot, arguments.parameters, robot)
    known = (Friction.of(robot),) if drives is None else (drives.friction, drives.rotor_inertia)
    model = EffortModel.of(robot, *known)
    frame = end_effector_of(arguments, robot)
    recordings = read_recordings(arguments, robot)
    load = identify_payload(robot, model, recordings, frame, cutoff=arguments.cutoff)
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
    missed = [x for x, s in load.deviation.items() if not np.isfinite(s) and x not in load.hidden]
    for names, what in ((load.hidden, "no motion of this arm shows"),
                        (missed, "the motion does not show")):  # fmt: skip
        if names:
            print(f"{what} {', '.join(names)} about the origin of the frame")
    return 0
