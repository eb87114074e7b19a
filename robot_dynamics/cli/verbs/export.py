"""Write C for controllers that need neither Python nor this package when they run.

    robot-dynamics export model arm.urdf -o arm.so
    robot-dynamics export model panda --lock panda_finger_joint1=0.02 --payload 1.2 -o panda.so
    robot-dynamics export model arm.urdf --source -o arm.c
    robot-dynamics export controllers -o ~/ros2_ws/src
    robot-dynamics export law ur5 --mode cartesian_impedance --frame tool0 --output impedance.c

`model` compiles a robot into a library that the ros2_control controllers load: its equations, laws,
limits and names. With --source it writes the C file, to be compiled on another computer.
`controllers` copies their C++ package, one for all robots. `law` writes a law in task space and the
motion of its target as two C99 functions.
"""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

import numpy as np

from robot_dynamics.cli.arguments import (
    add_robot,
    load_robot,
    new_file,
    number_list,
    output_file,
    output_folder,
    positive,
    say,
    take_negative_lists,
    text_of_robot,
)
from robot_dynamics.cli.recordings import (
    add_lock,
    add_parameters,
    drives_of,
    lock_positions,
    locked,
    parameter_file,
)
from robot_dynamics.control import TASK_MODES
from robot_dynamics.control.gains import DEFAULT_BANDWIDTH
from robot_dynamics.control.task_space import CONSISTENT, IMPEDANCE, PROJECTORS
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.errors import ArgumentError
from robot_dynamics.export.controllers_package import NAME, package_files
from robot_dynamics.export.model_library import (
    ModelRequest,
    model_source,
    payload_frame,
    write_library,
)
from robot_dynamics.export.package_folder import write_folder
from robot_dynamics.export.task_law import task_law_source
from robot_dynamics.foundation.user_files import write_whole
from robot_dynamics.robot import Robot, find_robot
from robot_dynamics.robot.endpoint import only_tip
from robot_dynamics.spatial import Inertia


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command line of the verb."""
    actions = parser.add_subparsers(dest="action", metavar="WHAT", required=True)
    _add_model(actions.add_parser("model", help="a robot for the ros2_control controllers"))
    controllers = actions.add_parser("controllers", help="the ros2_control controllers, in C++")
    controllers.add_argument(
        "-o",
        "--output",
        type=output_folder,
        metavar="FOLDER",
        default=".",
        help=f"folder for {NAME}, such as src of a workspace (default: this one)",
    )
    controllers.add_argument(
        "--force", action="store_true", help="overwrite a package that was changed by hand"
    )
    law = actions.add_parser("law", help="a law in task space as C99 functions")
    add_robot(law)
    law.add_argument("--mode", choices=list(TASK_MODES), default=IMPEDANCE)
    law.add_argument(
        "--frame", help="the hand: link or frame that is controlled (default: the only tip)"
    )
    law.add_argument("--projector", choices=PROJECTORS, default=CONSISTENT)
    law.add_argument("--float", action="store_true", help="in single precision")
    add_lock(law, "joints that stand still, and their positions (rad or m)")
    law.add_argument(
        "--output", type=new_file, metavar="FILE", help="C file to write (default: print it)"
    )


def _add_model(model: argparse.ArgumentParser) -> None:
    take_negative_lists(model)
    add_robot(model)
    add_lock(model, "joints that stand still, and their positions (rad or m)")
    model.add_argument(
        "--payload", type=positive, metavar="MASS", help="carried from the start, kg"
    )
    model.add_argument("--com", help="its centre of mass, m (default: 0,0,0)")
    model.add_argument(
        "--payload-frame",
        metavar="FRAME",
        help="link or frame of payloads (default: the tip, where the robot has one)",
    )
    model.add_argument(
        "--frame",
        help="the hand, a link or frame that the modes in task space control (default: the frame "
        "of payloads)",
    )
    model.add_argument(
        "--projector", choices=PROJECTORS, default=CONSISTENT, help="into their null space"
    )
    add_parameters(model)
    model.add_argument(
        "--bandwidth",
        type=positive,
        default=DEFAULT_BANDWIDTH,
        help=f"of each joint under the default gains, rad/s (default: {DEFAULT_BANDWIDTH:g})",
    )
    model.add_argument(
        "--source", action="store_true", help="write the C file in place of the library"
    )
    model.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        required=True,
        type=output_file,
        help="library to write, or C file with --source",
    )


def run(arguments: argparse.Namespace) -> int:
    """Write what is asked for."""
    return {"law": _law, "model": _model, "controllers": _controllers}[arguments.action](arguments)


def _law(arguments: argparse.Namespace) -> int:
    """Write a law in task space, or print it."""
    robot = locked(load_robot(arguments.robot), arguments.lock)
    hand = only_tip(robot) if arguments.frame is None else arguments.frame
    scalar = "float" if arguments.float else "double"
    text = task_law_source(Dynamics(robot), hand, arguments.mode, arguments.projector, scalar)
    if arguments.output is None:
        print(text)
    else:
        write_whole(arguments.output, text)
        print(f"wrote {arguments.output}: {len(text.splitlines())} lines")
    return 0


def _controllers(arguments: argparse.Namespace) -> int:
    """Copy the package, and print the commands that build it."""
    folder = arguments.output / NAME
    files = package_files()
    write_folder(folder, files, force=arguments.force)
    at = folder.absolute().parent
    workspace = at.parent if at.name == "src" else at
    print(f"wrote {folder}: {len(files)} files")
    print("next:")
    print(f"  cd {shlex.quote(str(workspace))}")
    print("  rosdep install --from-paths src -y --ignore-src")
    print(f"  colcon build --packages-select {NAME}")
    print("  robot-dynamics export model ROBOT.urdf -o ROBOT.so")
    return 0


def _model(arguments: argparse.Namespace) -> int:
    """Write the library or the C file of a robot, and print how to load it."""
    whole = load_robot(arguments.robot)
    robot = locked(whole, arguments.lock)
    payload, endpoint = _payload(arguments, robot)
    request = ModelRequest(
        text_of_robot(arguments.robot),
        whole,
        lock_positions(arguments.lock),
        payload,
        endpoint,
        arguments.frame or endpoint,
        arguments.projector,
        arguments.bandwidth,
        drives_of(arguments.robot, arguments.parameters, robot),
        False,
        _command(arguments),
    )
    say(f"writing the kernels of {robot.name}")
    output = arguments.output
    if arguments.source:
        write_whole(output, model_source(request).whole())
    else:
        write_library(request, output)
    carried = f"payloads at '{endpoint}'" if endpoint else "no payloads"
    hand = f", hand '{request.hand}'" if request.hand else ", no modes in task space"
    file = parameter_file(arguments.robot, arguments.parameters)
    drives = f", drives of {file.name}" if file else ""
    print(f"wrote {output}: {robot.dof} joints, {carried}{hand}{drives}")
    if arguments.source:
        print("compile it by the command at its top, on the computer that loads it")
    else:
        print(f"next: give the controller the parameter model: {output.absolute()}")
    return 0


def _payload(arguments: argparse.Namespace, robot: Robot) -> tuple[Inertia | None, str | None]:
    """Return the payload and its frame."""
    frame = arguments.payload_frame
    if frame is not None:
        robot.frame(frame)
    else:
        frame = payload_frame(robot)
    if arguments.payload is None:
        if arguments.com is not None:
            raise ArgumentError("--com: is that of a payload; add --payload")
        return None, frame
    if frame is None:
        raise ArgumentError(
            f"--payload: robot '{robot.name}' has {len(robot.tips)} tips that move against each "
            f"other ({', '.join(robot.tips)}); add --payload-frame, or --lock joints between them"
        )
    com = np.zeros(3)
    if arguments.com is not None:
        com = number_list("--com", arguments.com, ("x", "y", "z"))
    return Inertia.from_com(arguments.payload, com, np.zeros((3, 3))), frame


def _command(arguments: argparse.Namespace) -> str:
    """Return the command without what differs between machines."""
    there = Path(arguments.robot).suffix or Path(arguments.robot).exists()
    robot = find_robot(arguments.robot).name if there else arguments.robot
    words = ["robot-dynamics", "export", "model", robot]
    for option in ("lock", "payload", "com", "payload_frame", "frame"):
        value = getattr(arguments, option)
        if value is not None:
            text = f"{value:g}" if isinstance(value, float) else value
            flag = f"--{option.replace('_', '-')}"
            words += [f"{flag}={text}"] if text.startswith("-") else [flag, text]
    if arguments.projector != CONSISTENT:
        words += ["--projector", arguments.projector]
    if arguments.parameters is not None:
        words += ["--parameters", arguments.parameters.name]
    if arguments.bandwidth != DEFAULT_BANDWIDTH:
        words += ["--bandwidth", f"{arguments.bandwidth:g}"]
    return shlex.join([*words, "-o", arguments.output.name])
