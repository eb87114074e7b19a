"""Follow a motion in simulation with feedforward and by PD, without ROS.

robot-dynamics simulate ur5
robot-dynamics simulate panda --mass-error 10 --output out     a model too light; a picture
robot-dynamics simulate arm.urdf --duration 20 --rate 500
robot-dynamics simulate arm.urdf --motion excitation.csv --record run.mcap   for identify
robot-dynamics simulate ur5 --mode cartesian_impedance         the hand by a law in task space
robot-dynamics simulate panda --record run.mcap                for replay, plot, Foxglove, ros2 bag
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track

from robot_dynamics.cli.arguments import (
    LONGEST_S,
    add_motion,
    add_robot,
    load_robot,
    new_recording,
    output_folder,
    text_of_robot,
)
from robot_dynamics.cli.output import add_json, plain_table, print_json, wide_console
from robot_dynamics.cli.recordings import add_lock, lock_positions, locked, read_motion_file
from robot_dynamics.cli.tracking_report import CONTROL, Comparison, draw, tracking_table
from robot_dynamics.control import (
    MODES,
    TASK_MODES,
    Friction,
    Measured,
    Model,
    Reference,
    effort_limits,
    gains_for,
    saturate,
)
from robot_dynamics.control.task import Task
from robot_dynamics.control.task_settings import DIRECTIONS, FREE
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.errors import ArgumentError, TrajectoryError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.names import identifier
from robot_dynamics.robot import Robot
from robot_dynamics.robot.endpoint import only_tip
from robot_dynamics.simulation import Controller, Plant, check_physical, simulate, with_mass_scaled
from robot_dynamics.simulation.closed_loop import HandController
from robot_dynamics.trajectory import State, Trajectory, excitation, interpolate


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command line of the verb."""
    add_robot(parser)
    add_motion(parser, mass_error=0.0)
    parser.add_argument(
        "--motion",
        type=Path,
        metavar="FILE",
        help="a .csv or .yaml trajectory to follow, or a recording of one (default: an excitation)",
    )
    add_lock(parser, "joints that the motion leaves out, and where they stand (rad or m)")
    parser.add_argument("--output", type=output_folder, help="folder for a picture (default: none)")
    parser.add_argument(
        "--record",
        type=new_recording,
        metavar="FILE",
        help="an .mcap to write: the runs one behind the other, as `demo --record` has them",
    )
    parser.add_argument(
        "--mode",
        choices=list(TASK_MODES),
        help="lead the hand along the motion by a law in task space instead; prints its errors",
    )
    parser.add_argument("--hand", metavar="FRAME", help="of --mode (default: the only tip)")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Simulate and print the tracking errors."""
    robot = locked(load_robot(arguments.robot), arguments.lock)
    check_physical(robot)
    motion = _motion(arguments, robot)
    if arguments.record is not None:
        description = text_of_robot(arguments.robot)
        from robot_dynamics.recordings import simulated_runs  # noqa: PLC0415  # needs mcap
    dynamics = Dynamics(robot)
    model = Model(dynamics, gains_for(dynamics), Friction.of(robot))
    real = robot
    if arguments.mass_error:
        real = with_mass_scaled(robot, 1.0 + arguments.mass_error / 100.0)
    plant = Plant(real, step=1.0 / arguments.rate)
    if arguments.mode is not None:
        return _simulate_hand(arguments, model, plant, motion)
    progress = Console(stderr=True)
    modes = track(CONTROL, "following the motion", console=progress, transient=True,
                  disable=not progress.is_terminal)  # fmt: skip
    logs = {
        mode: simulate(plant, controller(model, mode), motion, rate=arguments.rate)
        for mode in modes
    }
    comparison = Comparison(f"masses {arguments.mass_error:+g} %", **logs)
    console = wide_console(stderr=arguments.json)
    if arguments.json:
        print_json(comparison.numbers(robot))
    else:
        console.print(tracking_table(comparison, robot))
        console.print(comparison.summary)
    if arguments.output is not None:
        picture = arguments.output / f"{identifier(robot.name)}.png"
        draw([comparison], robot, picture)
        console.print(f"picture: {picture}", soft_wrap=True)
    if arguments.record is not None:
        still = lock_positions(arguments.lock)
        simulated_runs.write_runs(
            arguments.record, description, model, motion, logs.values(), still
        )
        console.print(f"recording: {arguments.record}", soft_wrap=True)
    return 0


def _simulate_hand(
    arguments: argparse.Namespace, model: Model, plant: Plant, motion: Trajectory
) -> int:
    """Lead the hand along a motion, and print how far it is off."""
    for name in ("output", "record"):
        if getattr(arguments, name) is not None:
            raise ArgumentError(f"--{name} shows modes of joints; leave it out beside --mode")
    robot = model.dynamics.robot
    hand = arguments.hand or only_tip(robot)
    task = Task(model, hand)
    law = HandController(model, arguments.mode, task)
    log = simulate(plant, law, motion, rate=arguments.rate)
    desired, actual = (model.dynamics.pose(q, hand) for q in (log.q_d, log.q))
    off = np.linalg.norm(desired.position - actual.position, axis=1)
    turns = np.einsum("nij,nij->n", desired.rotation, actual.rotation)  # traces of R_d^T R
    turned = np.arccos(np.clip((turns - 1.0) / 2.0, -1.0, 1.0))
    share = np.max(log.peak_effort / effort_limits(robot))
    numbers = {
        "mode": arguments.mode,
        "hand": hand,
        "rms_position_error": float(np.sqrt(np.mean(off**2))),
        "peak_position_error": float(off.max()),
        "rms_rotation_error": float(np.sqrt(np.mean(turned**2))),
        "peak_rotation_error": float(turned.max()),
        "peak_effort_share": float(share),
        "stiffness": np.diag(task.settings.stiffness),
        "controlled": task.settings.controlled,
    }
    if arguments.json:
        print_json(numbers)
        return 0
    console = wide_console()
    free = [d for d, what in zip(DIRECTIONS, task.settings.controlled, strict=True) if what == FREE]
    table = plain_table(f"{arguments.mode} of '{hand}', masses {arguments.mass_error:+g} %", [])
    for heading in ("error of the hand", "RMS", "peak"):
        table.add_column(heading, justify="left" if heading.startswith("error") else "right")
    for name, error in (("position, mm", off), ("rotation, mrad", turned)):
        rms = float(np.sqrt(np.mean(error**2)))
        table.add_row(name, f"{1e3 * rms:.3f}", f"{1e3 * error.max():.3f}")
    console.print(table)
    if free:
        console.print(f"not controlled: {', '.join(free)}")
    console.print(f"peak effort: {100.0 * share:.0f} % of its limit")
    return 0


def _motion(arguments: argparse.Namespace, robot: Robot) -> Trajectory:
    """Return the desired motion of all joints."""
    if arguments.motion is None:
        return interpolate(excitation(robot, arguments.duration))
    given = read_motion_file(arguments.motion, robot).arriving_at_rest()
    missing = [name for name in robot.joint_names if name not in given.joint_names]
    if missing:
        raise TrajectoryError(
            f"{arguments.motion}: nothing for joint '{missing[0]}'; give every joint its "
            f"positions, or say where it stands: --lock {missing[0]}=POSITION"
        )
    if given.duration > LONGEST_S:
        raise TrajectoryError(
            f"{arguments.motion}: lasts {given.duration:g} s; give at most {LONGEST_S:g} s"
        )
    return interpolate(given.ordered(robot.joint_names))


def controller(model: Model, mode: str) -> Controller:
    """Return a control law about the desired motion, within the effort limits.

    Args:
        model: The law's model of the robot.
        mode: One of `control.MODES`.
    """
    law, limit = MODES[mode].effort, effort_limits(model.dynamics.robot)

    def command(_t: float, desired: State, measured: Measured) -> Array:
        reference = Reference(desired.q, desired.qd, model.feedforward(*desired))
        return saturate(law(model, reference, measured), limit).tau

    return command
