"""Follow a motion in simulation with feedforward and by PD, without ROS.

robot-dynamics simulate ur5
robot-dynamics simulate panda --mass-error 10 --output out     a model too light; a picture
robot-dynamics simulate arm.urdf --duration 20 --rate 500
robot-dynamics simulate arm.urdf --motion excitation.csv --record run.mcap   for identify
robot-dynamics simulate panda --record run.mcap                for replay, plot, Foxglove, ros2 bag
robot-dynamics simulate arm.urdf --parameters arm.yaml         with identified friction
robot-dynamics simulate arm.urdf --parameters soft.yaml --encoders motor       of elastic joints
robot-dynamics simulate panda --base-motion sine:y:0.05:1       on a platform that shakes
robot-dynamics simulate panda --mode cartesian_impedance --frame panda_hand    in task space
robot-dynamics simulate openarm.urdf --driver openarm           behind drives that close the loop
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from robot_dynamics.cli.arguments import (
    LONGEST_S,
    add_motion,
    add_robot,
    load_robot,
    new_recording,
    output_folder,
    text_of_robot,
)
from robot_dynamics.cli.chosen_joints import (
    add_end_effector,
    add_lock,
    end_effector_of,
    still_joints,
)
from robot_dynamics.cli.driven_arm import add_driver, driven_arm
from robot_dynamics.cli.output import Printer, add_json, picture_of, print_json
from robot_dynamics.cli.progress_line import stages
from robot_dynamics.cli.recordings import (
    add_parameters,
    drives_of,
    read_motion_file,
)
from robot_dynamics.cli.tracking_report import CONTROL, Comparison, draw, remarks, tracking_table
from robot_dynamics.control import Friction, Measured, Model, gains_for
from robot_dynamics.control.gains import ideal_gains
from robot_dynamics.control.laws import TASK_MODES
from robot_dynamics.control.sampled_loop import Sampling
from robot_dynamics.control.sampling.tuning import Tuner
from robot_dynamics.control.task import Task
from robot_dynamics.control.task_space import rotation_vector
from robot_dynamics.control.two_masses import ENCODERS, LINK
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.errors import ArgumentError, TrajectoryError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.names import identifier
from robot_dynamics.foundation.text_tables import TextTable
from robot_dynamics.kinematics.selection import DIRECTIONS
from robot_dynamics.robot import Robot
from robot_dynamics.robot.joint_units import joint_unit
from robot_dynamics.robot.kinematic_tree import JointElasticity
from robot_dynamics.simulation import (
    ControlFunction,
    ElasticController,
    LawController,
    Log,
    Plant,
    check_physical,
    simulate,
    with_mass_scaled,
)
from robot_dynamics.simulation.base_motions import Poses, Sine, read_base_motion
from robot_dynamics.simulation.compiled_plant import fastest_plant
from robot_dynamics.simulation.drive_loop import drive_step
from robot_dynamics.simulation.driven_loop import FIELDS, simulate_drives
from robot_dynamics.trajectory import State, Trajectory, excitation, interpolate
from robot_dynamics.trajectory.motion_limits import shrunk_to_fit

FEWEST_CYCLES, MOST_CYCLES = 10, 4_000_000


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
    add_parameters(parser)
    add_lock(parser, "joints that the motion leaves out, and where they stand (rad or m)")
    parser.add_argument(
        "--mode",
        choices=list(TASK_MODES),
        help="follow with the end effector, and compare its errors",
    )
    add_end_effector(parser, "the end effector with --mode")
    parser.add_argument(
        "--base-motion",
        metavar="MOTION",
        help="move the base by sine:AXIS:AMPLITUDE:HZ (x, y, z in m; rx, ry, rz in rad) or a CSV "
        "with t, x, y, z, qx, qy, qz, qw, and compare errors with and without it as an input",
    )
    parser.add_argument("--output", type=output_folder, help="folder for a picture (default: none)")
    parser.add_argument(
        "--record",
        type=new_recording,
        metavar="FILE",
        help="an .mcap to write: the runs one behind the other, as `demo --record` has them",
    )
    parser.add_argument(
        "--encoders",
        choices=ENCODERS,
        default=LINK,
        help="side of elastic joints that is measured; with both, the positions of the links and "
        "the velocities of the motors (default: %(default)s)",
    )
    add_driver(parser)
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Simulate and print the tracking errors."""
    if arguments.driver is not None:
        return _behind_drives(arguments)
    whole = load_robot(arguments.robot)
    still = still_joints(arguments, whole)
    robot = whole.with_locked(still)
    check_physical(robot)
    if arguments.record is not None:
        description = text_of_robot(arguments.robot)
        from robot_dynamics.viewer import simulated_runs  # noqa: PLC0415  # needs mcap
    if arguments.base_motion is not None:
        return _on_moving_base(arguments, robot)
    model, plant = _arm(arguments, robot)
    motion = _motion(arguments, model)
    if model.elasticity is not None:
        return _on_springs(arguments, model, plant, motion)
    if arguments.mode is not None:
        return _follow_with_end_effector(arguments, model, plant, motion)
    rate, logs = arguments.rate, {}
    with stages() as progress:
        for k, mode in enumerate(CONTROL):
            progress("following the motion", k / len(CONTROL))
            law = LawController(model, mode, period=1.0 / rate)
            logs[mode] = simulate(plant, law, motion, rate=rate)
    needed = np.abs(model.feedforward(*motion.sample(logs["feedforward"].t))).max(axis=0)
    comparison = Comparison(f"masses {arguments.mass_error:+g} %", **logs)
    said = remarks(comparison, robot, needed)
    show = Printer(stderr=arguments.json)
    if arguments.json:
        print_json(comparison.numbers(robot) | {"needed_effort": needed, "remarks": said})
    else:
        show(tracking_table(comparison, robot), *said)
    if arguments.output is not None:
        picture = arguments.output / f"{identifier(robot.name)}.png"
        show(picture_of(lambda: draw([comparison], robot, picture)))
    if arguments.record is not None:
        runs = {CONTROL[mode]: log for mode, log in logs.items()}
        simulated_runs.write_runs(arguments.record, description, model, motion, runs, still)
        show(f"recording: {arguments.record}")
    return 0


def _arm(
    arguments: argparse.Namespace, robot: Robot, base: Sine | Poses | None = None
) -> tuple[Model, Plant]:
    """Return the model of an arm and the plant, with identified friction if there is some."""
    found = drives_of(arguments.robot, arguments.parameters, robot)
    robot = robot if found is None else found.robot(robot)
    dynamics, real = Dynamics(robot), robot
    friction = Friction.of(robot) if found is None else found.friction
    rotors = None if found is None else found.rotor_inertia
    if arguments.mass_error:
        real = with_mass_scaled(robot, 1.0 + arguments.mass_error / 100.0)
    make = fastest_plant if base is None and robot.elastic_joints else partial(Plant, base=base)
    plant = make(real, step=1.0 / arguments.rate, friction=friction, rotor_inertia=rotors)
    gains = gains_for(dynamics)
    return Model(
        dynamics, gains, friction, rotor_inertia=rotors, encoders=arguments.encoders
    ), plant


def _on_springs(
    arguments: argparse.Namespace, model: Model, plant: Plant, motion: Trajectory
) -> int:
    """Simulate feedforward that knows the springs exactly, quasi-statically or not at all."""
    if arguments.mode is not None or arguments.output is not None or arguments.record is not None:
        raise ArgumentError("elastic joints print a table; leave out --mode, --output and --record")
    robot, period, encoders = model.dynamics.robot, 1.0 / arguments.rate, arguments.encoders
    wanted = ideal_gains(model.dynamics)
    tuner = Tuner(model.dynamics)
    model = tuner.model(model, wanted, model.bandwidth, Sampling.of(period))
    n = robot.dof
    rigid = replace(model, elasticity=JointElasticity(np.full(n, np.inf), np.zeros(n)))
    smooth = _motion(arguments, model, smoothness=4)
    laws: dict[str, tuple[ControlFunction, Trajectory]] = {
        "exact": (ElasticController(model, smooth, period=period), smooth),
        "quasi-static": (ElasticController(model, motion, period=period), motion),
        "rigid": (LawController(rigid, "feedforward", period=period), motion),
    }
    errors = {
        name: simulate(plant, law, path, rate=arguments.rate, encoders=encoders).rms_error
        for name, (law, path) in laws.items()
    }
    lowered = tuner.lowered_joints(model, wanted)
    if arguments.json:
        print_json({"joint_names": robot.joint_names, "rms_error": errors, "lowered": lowered})
        return 0
    title = f"RMS error of the links, encoders: {encoders}, masses {arguments.mass_error:+g} %"
    table = TextTable(title, ["joint", ""], [*errors])
    for k, joint in enumerate(robot.independent_joints):
        cells = (f"{1e3 * error[k]:.4f}" for error in errors.values())
        table.add_row(joint.name, f"m{joint_unit(joint, 'position')}", *cells)
    show = Printer()
    show(table)
    if lowered:
        show(f"gains are lowered for elastic joints: {lowered}")
    return 0


def _behind_drives(arguments: argparse.Namespace) -> int:
    """Simulate the drives of a profile with and without the model, and print the errors."""
    if arguments.mode is not None or arguments.output is not None or arguments.record is not None:
        raise ArgumentError("--driver prints a table; leave out --mode, --output and --record")
    arm = driven_arm(arguments)
    robot, (driver, gains) = arm.robot, arm.closing_drives()
    check_physical(robot)
    model = Model(Dynamics(robot), gains, Friction.of(robot))
    motion, rate = _motion(arguments, model), driver.rate.value
    real = with_mass_scaled(robot, 1.0 + arguments.mass_error / 100.0)
    dynamics = Dynamics(real)
    step = drive_step(dynamics, gains.kd, rate)
    plant = fastest_plant(real, dynamics=dynamics, step=step, friction=Friction.of(robot))
    errors = {}
    with stages() as progress:
        for k, fields in enumerate((FIELDS[:1], FIELDS[:2], FIELDS)):
            progress("following the motion", k / len(FIELDS))
            errors[" + ".join(fields)] = simulate_drives(
                plant, model, motion, rate, fields
            ).rms_error
    if arguments.json:
        print_json({"joint_names": robot.joint_names, "rate": rate, "rms_error": errors})
        return 0
    title = f"RMS error behind the drives of {driver.name}, {rate:g} Hz"
    table = TextTable(f"{title}, masses {arguments.mass_error:+g} %", ["joint", ""], [*errors])
    for k, joint in enumerate(robot.independent_joints):
        cells = (f"{1e3 * error[k]:.3f}" for error in errors.values())
        table.add_row(joint.name, f"m{joint_unit(joint, 'position')}", *cells)
    Printer()(table)
    return 0


def _on_moving_base(arguments: argparse.Namespace, robot: Robot) -> int:
    """Simulate feedforward on a moving base that it knows, or takes for still; print the errors."""
    if arguments.mode is not None or arguments.output is not None or arguments.record is not None:
        raise ArgumentError("--base-motion prints a table; leave out --mode, --output and --record")
    base = read_base_motion(arguments.base_motion)
    model, plant = _arm(arguments, robot, base)
    motion = _motion(arguments, model)
    period = 1.0 / arguments.rate
    informed = LawController(replace(model, base=base(0.0)), "feedforward", period=period)

    def aware(t: float, desired: State, measured: Measured) -> Array:
        informed.tracking.model = replace(model, base=base(t))
        return informed(t, desired, measured)

    unaware = LawController(model, "feedforward", period=period)
    laws: dict[str, ControlFunction] = {"base as an input": aware, "base unknown": unaware}
    errors = {
        name: simulate(plant, law, motion, rate=arguments.rate).rms_error
        for name, law in laws.items()
    }
    if arguments.json:
        print_json({"joint_names": robot.joint_names, "rms_error": errors})
        return 0
    table = TextTable(f"RMS error, {arguments.base_motion}", ["joint", ""], [*errors])
    for k, joint in enumerate(robot.independent_joints):
        cells = (f"{1e3 * error[k]:.3f}" for error in errors.values())
        table.add_row(joint.name, f"m{joint_unit(joint, 'position')}", *cells)
    Printer()(table)
    return 0


def _follow_with_end_effector(
    arguments: argparse.Namespace, model: Model, plant: Plant, motion: Trajectory
) -> int:
    """Simulate a mode in task space beside feedforward, and print the errors of both."""
    if arguments.output is not None or arguments.record is not None:
        raise ArgumentError("--mode prints a table; leave out --output and --record")
    robot, mode, period = model.dynamics.robot, arguments.mode, 1.0 / arguments.rate
    end_effector = end_effector_of(arguments, robot)
    tuner, gains = Tuner(model.dynamics), model.gains
    model = tuner.model(model, gains, model.bandwidth, Sampling.of(period))
    laws = {
        "feedforward": LawController(model, "feedforward", period=period),
        mode: LawController(model, mode, period=period, task=Task(model, end_effector)),
    }
    errors = {
        name: end_effector_errors(
            model, end_effector, simulate(plant, law, motion, rate=arguments.rate)
        )
        for name, law in laws.items()
    }
    rms = {name: np.sqrt(np.mean(error**2, axis=0)) for name, error in errors.items()}
    peak = {name: np.abs(error).max(axis=0) for name, error in errors.items()}
    if arguments.json:
        print_json(
            {
                "end_effector": end_effector,
                "directions": DIRECTIONS,
                "rms_error": rms,
                "peak_error": peak,
            }
        )
        return 0
    headings = [f"{what} {name}" for name in errors for what in ("RMS", "peak")]
    table = TextTable(
        f"{end_effector}, masses {arguments.mass_error:+g} %", ["error", ""], headings
    )
    for k, direction in enumerate(DIRECTIONS):
        cells = [1e3 * found[name][k] for name in errors for found in (rms, peak)]
        table.add_row(direction, "mm" if k < 3 else "mrad", *(f"{cell:.3f}" for cell in cells))
    Printer()(table)
    return 0


def end_effector_errors(model: Model, end_effector: str, log: Log) -> Array:
    """Return the error of the end effector in the root link, shape (N, 6), m and rad."""
    desired, measured = (model.dynamics.pose(q, end_effector) for q in (log.q_d, log.q))
    turns = desired.rotation @ np.swapaxes(measured.rotation, -1, -2)
    return np.hstack([desired.position - measured.position, [rotation_vector(R) for R in turns]])


def _motion(arguments: argparse.Namespace, model: Model, smoothness: int = 2) -> Trajectory:
    """Return the desired motion of all joints; the default one fits the effort limits."""
    robot = model.dynamics.robot
    if arguments.motion is None:
        _check_cycles(arguments.duration, arguments.rate)
        chosen = excitation(robot, arguments.duration)
        fitting = shrunk_to_fit(chosen, robot, lambda state: model.feedforward(*state))
        return interpolate(fitting, smoothness=smoothness)
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
    _check_cycles(given.duration, arguments.rate)
    return interpolate(given.ordered(robot.joint_names), smoothness=smoothness)


def _check_cycles(seconds: float, rate: float) -> None:
    """Refuse a motion of so few cycles that it says nothing, or of so many that none ends."""
    if not FEWEST_CYCLES <= rate * seconds <= MOST_CYCLES:
        count = f"{rate * seconds:.3g} cycles, and {FEWEST_CYCLES} to {MOST_CYCLES:g} are taken"
        raise ArgumentError(f"--rate {rate:g}: a motion of {seconds:g} s has {count}")
