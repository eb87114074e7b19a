"""Fit inertias and friction to a recorded motion, and write them into your URDF.

    robot-dynamics identify arm.urdf run.mcap                       -> arm_identified.urdf
    robot-dynamics identify arm.urdf run.mcap --output fits.urdf --report report.html
    robot-dynamics identify panda run.mcap --lock panda_finger_joint1=0
    robot-dynamics identify arm.urdf poses.csv --only gravity
    robot-dynamics identify arm.urdf sweeps.csv --only friction
    robot-dynamics identify arm.urdf run.mcap --only stiffness --motors run.mcap
    robot-dynamics identify arm.urdf chirp.mcap --only stiffness --encoders motor
    robot-dynamics identify arm.urdf run.txt --columns time,q,qd,tau
    robot-dynamics identify arm.urdf currents.csv --loaded with_load.csv --load 5,0,0,0.1

If efforts are currents, --loaded is the same or another motion with a load of known mass, from
which the drive gains are identified. What --load does not give of the load is solved for.
--drive-gains fixes the gains of some drives.

Beside the URDF goes a .yaml with the friction and rotor inertia that a URDF cannot hold, as
parameters of controller_node and feedforward_node. Judge the result by another recording:
`robot-dynamics validate`.

The exit status is 0 if the verdict is good, at least in motion, otherwise 3. If the verdict is not
to use the model, only the report is written, unless --anyway is given.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from robot_dynamics.cli.arguments import (
    add_robot,
    joint_values,
    output_file,
    take_negative_lists,
)
from robot_dynamics.cli.chosen_joints import add_end_effector, end_effector_of, robot_of
from robot_dynamics.cli.output import Printer, add_json, print_json
from robot_dynamics.cli.progress_line import stages
from robot_dynamics.cli.recordings import (
    NOT_GOOD,
    actuators_of,
    add_recordings,
    read_recordings,
)
from robot_dynamics.control import Actuators, Friction
from robot_dynamics.control.two_masses import MOTOR
from robot_dynamics.errors import ArgumentError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.numbers import number_from
from robot_dynamics.foundation.user_files import write_whole
from robot_dynamics.identification import (
    DriveGains,
    Drives,
    ElasticityFit,
    FrictionFit,
    GravityFit,
    Identification,
    Recording,
    ResonanceFit,
    identify,
    identify_drive_gains,
    identify_elasticity,
    identify_friction,
    identify_gain_ratios,
    identify_gravity,
    identify_resonance,
    write_elasticity,
    write_parameters,
    write_urdf,
)
from robot_dynamics.identification.effort_model import EffortModel
from robot_dynamics.identification.export.html_report import html_report
from robot_dynamics.identification.joint_resonance import SIDES
from robot_dynamics.recordings.bag_reader import is_bag
from robot_dynamics.recordings.signals import joint_signals
from robot_dynamics.robot import Robot
from robot_dynamics.robot.catalogue import located, split_arguments
from robot_dynamics.spatial import Inertia

logger = logging.getLogger(__name__)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command line of the verb."""
    add_robot(parser)
    add_recordings(parser)
    parser.add_argument(
        "-o",
        "--output",
        type=output_file,
        help="URDF to write (default: <robot>_identified.urdf here)",
    )
    parser.add_argument("--report", type=output_file, help="report to write, .html")
    parser.add_argument(
        "--only",
        choices=("gravity", "friction", "stiffness"),
        help="identify less: gravity from static poses, friction from sweeps of one joint at a "
        "time, or stiffness of elastic joints, from the links and --motors, or from the resonances "
        "of one side; the rest stays as the URDF, or the .yaml beside it, has it",
    )
    parser.add_argument(
        "--motors",
        type=Path,
        metavar="RECORDING",
        help="positions of the motors, recorded with those of the links",
    )
    parser.add_argument(
        "--motor-topic",
        default="motor_states",
        help="topic of the motors in a bag (default: motor_states)",
    )
    parser.add_argument(
        "--encoders",
        choices=SIDES,
        default=MOTOR,
        help="side of elastic joints in the recording, for their resonances (default: motor)",
    )
    parser.add_argument(
        "--anyway", action="store_true", help="write a URDF even if the verdict is not to use it"
    )
    parser.add_argument(
        "--any-bodies",
        action="store_true",
        help="least squares alone: only a report, as inertias may be physically impossible",
    )
    parser.add_argument(
        "--currents",
        action="store_true",
        help="efforts are currents, and no load is known: report the ratios of the drive gains",
    )
    parser.add_argument(
        "--loaded",
        type=Path,
        action="append",
        metavar="RECORDING",
        help="efforts are currents, and here the arm carries --load: identify the drive gains",
    )
    parser.add_argument(
        "--load",
        metavar="KG[,X,Y,Z]",
        help="that load: mass; if they are known, mass centre in --load-frame, m, and "
        "xx,xy,xz,yy,yz,zz, inertia about it, kg m^2",
    )
    add_end_effector(parser, "link or frame of the load", "--load-frame")
    take_negative_lists(parser)
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Identify, write the files and print the verdict."""
    robot = robot_of(arguments, inertia=False)
    source = located(arguments.robot)
    out = arguments.output or Path(
        f"{Path(split_arguments(arguments.robot)[0]).stem}_identified.urdf"
    )
    if not arguments.any_bodies:
        output_file(out)
    known = None
    if arguments.loaded and arguments.drive_gains is not None:  # gains of some of the drives
        none = np.full(robot.dof, np.nan)
        known = joint_values("--drive-gains", arguments.drive_gains, robot, none)
        arguments.drive_gains = None
    recordings, actuators = read_recordings(arguments, robot), actuators_of(arguments, robot)
    if arguments.currents:
        return _ratios(arguments, robot, recordings, actuators)
    if arguments.loaded or arguments.load:
        gains = _gains(arguments, robot, recordings, actuators, known)
        if gains.missing:
            return _some_gains(arguments, robot, gains)
        recordings = [gains.on(recording) for recording in recordings]
    if arguments.only == "stiffness":
        return _stiffness(arguments, robot, recordings, out.with_suffix(".yaml"))
    if arguments.only is not None:
        return _part(arguments, robot, recordings, source, out)
    coupled = actuators is not None and np.count_nonzero(actuators.matrix) > robot.dof
    with stages() as progress:
        found = identify(
            robot,
            recordings,
            cutoff=arguments.cutoff,
            physical=not arguments.any_bodies,
            actuators=actuators if coupled else None,
            progress=progress,
        )
    written: list[Path] = []
    if arguments.report is not None:
        write_whole(arguments.report, html_report(found.report, found).encode())
        written.append(arguments.report)
    wanted = not arguments.any_bodies
    refused = wanted and not (found.report.usable or arguments.anyway)
    if wanted and not refused:
        write_urdf(source, found.robot, out)
        parameters = out.with_suffix(".yaml")
        friction = _by_joint(found, recordings) if coupled else found.friction
        deviation = np.array([fit.rms for fit in found.report.fits])
        bands = None if coupled else found.bands
        drives = Drives(friction, found.rotor_inertia, bands)
        write_parameters(parameters, robot, drives, deviation)
        written += [out, parameters]
    if arguments.json:
        print_json(
            {
                **found.report.verdicts,
                "friction": found.friction,
                "rotor_inertia": found.rotor_inertia,
                "files": [str(path) for path in written],
            }
        )
    else:
        show = Printer()
        show(*found.report.sentences, found.report.table)
        show(f"wrote {', '.join(map(str, written))}" if written else "wrote nothing")
    if refused:
        print(_not_written(out), file=sys.stderr)
    return 0 if found.report.good else NOT_GOOD


def _part(
    arguments: argparse.Namespace,
    robot: Robot,
    recordings: Sequence[Recording],
    source: str,
    out: Path,
) -> int:
    """Identify gravity or friction only, write the files and print what is determined."""
    _refuse_whole(arguments)
    rotors = np.zeros(robot.dof)
    found: GravityFit | FrictionFit
    with stages() as progress:
        how = {"cutoff": arguments.cutoff, "progress": progress}
        if arguments.only == "gravity":
            gravity = found = identify_gravity(robot, recordings, **how)
            friction = replace(Friction.of(robot), offset=gravity.offset)
            good, usable, deviation = gravity.good, gravity.usable, gravity.rms
            content: dict[str, object] = {
                "poses": gravity.poses,
                "parameters": gravity.parameters,
                "hidden": gravity.hidden,
                "missed": gravity.missed,
                "relative": gravity.relative,
            }
        else:
            sweeps = found = identify_friction(robot, recordings, **how)
            friction, good, usable = sweeps.friction, bool(sweeps.swept.all()), True
            deviation = np.array([fit.rms for fit in sweeps.found.report.fits])
            content = {"swept": sweeps.swept, "notes": sweeps.notes, "friction": friction}
    written: list[str] = []
    if usable or arguments.anyway:
        parameters = out.with_suffix(".yaml")
        write_urdf(source, found.robot, out)
        write_parameters(parameters, robot, Drives(friction, rotors))
        written = [str(out), str(parameters)]
    if arguments.json:
        print_json({"robot": robot.name, "only": arguments.only, "rms": deviation, **content,
                    "files": written})  # fmt: skip
    else:
        print(found)
        print(f"wrote {', '.join(written)}" if written else "wrote nothing")
    if not written:
        print(_not_written(out), file=sys.stderr)
    return 0 if good else NOT_GOOD


def _stiffness(
    arguments: argparse.Namespace, robot: Robot, recordings: Sequence[Recording], out: Path
) -> int:
    """Identify the stiffness of elastic joints, and write it into the parameter file."""
    _refuse_whole(arguments)
    if len(recordings) != 1:
        raise ArgumentError(f"--only stiffness takes 1 recording; {len(recordings)} are given")
    found: ElasticityFit | ResonanceFit
    rotors: Array | None = None
    if arguments.motors is not None:
        arguments.topic = arguments.motor_topic if is_bag(arguments.motors) else None
        (motors,) = read_recordings(arguments, robot, [arguments.motors])
        found = identify_elasticity(robot, recordings[0], motors, cutoff=arguments.cutoff)
    else:
        found = resonances = identify_resonance(robot, recordings[0], arguments.encoders)
        rotors = resonances.rotor_inertia
    bends = bool(np.isfinite(found.elasticity.stiffness).any())
    if bends:
        write_elasticity(out, robot, found.elasticity, rotors)
    if arguments.json:
        print_json({"robot": robot.name, "only": arguments.only, **found._asdict(),
                    "files": [str(out)] * bends})  # fmt: skip
    else:
        print(found.table(robot))
        print(f"wrote {out}" if bends else "wrote nothing")
    return 0 if bends else NOT_GOOD


def _refuse_whole(arguments: argparse.Namespace) -> None:
    """Refuse the options of a full identification."""
    for option in ("any_bodies", "report"):
        if getattr(arguments, option):
            raise ArgumentError(f"--{option.replace('_', '-')} is of a full identification; leave "
                                "it out with --only")  # fmt: skip


def _ratios(
    arguments: argparse.Namespace,
    robot: Robot,
    recordings: Sequence[Recording],
    actuators: Actuators | None,
) -> int:
    """Print what currents show without a known load."""
    if arguments.loaded or arguments.load or arguments.drive_gains:
        raise ArgumentError("--currents is for unknown gains without a load; leave out --loaded, "
                            "--load and --drive-gains, or --currents")  # fmt: skip
    found = identify_gain_ratios(robot, recordings, actuators=actuators, cutoff=arguments.cutoff)
    if arguments.json:
        print_json({"robot": robot.name, "ratios": found.values, "deviation": found.deviation,
                    "reference": robot.joint_names[found.reference], "files": []})  # fmt: skip
    else:
        print(found)
        print(
            "not determined without a known load: the gains themselves, and with them masses, "
            "inertias and friction, which are known up to one common factor; nothing is written. "
            "Record the motion with a load of known mass, and give --loaded and --load"
        )
    return NOT_GOOD


def _not_written(out: Path) -> str:
    older = ", and the one that is there is of an earlier run" if out.exists() else ""
    return (
        f"{out} was not written, as the verdict is not to use it{older}; record again as the "
        "reasons say, or write it with --anyway"
    )


def _by_joint(found: Identification, recordings: Sequence[Recording]) -> Friction:
    """Return friction of coupled drives by joint, as a URDF has it, and warn about the error."""
    friction, robot = Friction.of(found.robot), found.robot
    model = EffortModel.of(robot, friction, found.rotor_inertia)
    motion = joint_signals(recordings, found.cutoff)
    efforts = found.model.efforts(motion)
    off = np.linalg.norm(model.efforts(motion) - efforts, axis=0)
    off /= np.maximum(np.linalg.norm(efforts, axis=0), np.finfo(float).tiny)
    errors = ", ".join(
        f"{name} {100.0 * part:.1f} %" for name, part in zip(robot.joint_names, off, strict=True)
    )
    logger.warning(
        "drives move several joints, and a URDF and nodes know friction and rotors of "
        "single joints; beside the report their efforts are off by, of the effort: %s",
        errors,
    )
    return friction


def _gains(
    arguments: argparse.Namespace,
    robot: Robot,
    recordings: list[Recording],
    actuators: Actuators | None,
    known: Array | None,
) -> DriveGains:
    """Identify drive gains by a load, and print them."""
    if not (arguments.loaded and arguments.load):
        raise ArgumentError("--loaded and --load belong together; give both")
    load, load_known = _load(arguments.load)
    gains = identify_drive_gains(
        robot,
        recordings,
        read_recordings(arguments, robot, arguments.loaded),
        load,
        end_effector_of(arguments, robot, "--load-frame"),
        load_known=load_known,
        known=known,
        actuators=actuators,
        cutoff=arguments.cutoff,
    )
    show = Printer(stderr=arguments.json)
    show(str(gains))
    names = zip(robot.joint_names, gains.values, strict=True)
    found = (
        f"{name}={x:.7g}" if gains.missing else f"{x:.7g}" for name, x in names if not np.isnan(x)
    )
    show.line(f"for later: --drive-gains={','.join(found)}")
    return gains


def _some_gains(arguments: argparse.Namespace, robot: Robot, gains: DriveGains) -> int:
    """Say how to go on where the load does not determine every gain."""
    if arguments.json:
        print_json({"robot": robot.name, "gains": gains.values, "deviation": gains.deviation,
                    "load": gains.load, "files": []})  # fmt: skip
    else:
        print(
            "nothing is written: take a heavier load, fastened off the last axis, or give the "
            f"gains that are known: --drive-gains {gains.missing[0]}=GAIN"
        )
    return NOT_GOOD


def _load(text: str) -> tuple[Inertia, str]:
    """Return the load of an option, and what of it is known, one of `LOAD_KNOWN`."""
    try:
        numbers = [number_from(entry) for entry in text.split(",")]
    except ValueError:
        numbers = []
    kinds = {1: "mass", 4: "mass and centre", 10: "all"}
    if len(numbers) not in kinds:
        raise ArgumentError(f"--load: '{text}' is not KG, KG,X,Y,Z or KG,X,Y,Z,XX,XY,XZ,YY,YZ,ZZ")
    m, x, y, z, xx, xy, xz, yy, yz, zz = [*numbers, *[0.0] * (10 - len(numbers))]
    I_C = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if not (np.isfinite(numbers).all() and m > 0.0):
        raise ArgumentError(f"--load: '{text}': give finite numbers, and a mass above zero")
    return Inertia.from_com(m, np.array([x, y, z]), I_C), kinds[len(numbers)]
