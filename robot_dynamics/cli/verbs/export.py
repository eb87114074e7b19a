"""Write C++ for ROS 2 that needs neither Python nor this package.

    robot-dynamics export controller arm.urdf -o ~/ros2_ws/src
    robot-dynamics export controller panda --lock panda_finger_joint1=0.02 --payload 1.2
    robot-dynamics export controller arm.urdf --name my_arm_controllers --force
    robot-dynamics export law ur5 --mode cartesian_impedance --frame tool0 --output impedance.c

`law` writes a law in task space and the motion of its target as two C99 functions. `controller`
writes a package for colcon with a ros2_control controller of the robot. A package that was changed
by hand is overwritten only with --force.
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
from robot_dynamics.export.control_kernels import payload_frame
from robot_dynamics.export.controller_package import (
    PackageRequest,
    check_effort_limits,
    controller_package,
)
from robot_dynamics.export.package_folder import write_folder
from robot_dynamics.export.package_name import check_package_name, package_name_of
from robot_dynamics.export.task_law import task_law_source
from robot_dynamics.foundation.user_files import write_whole
from robot_dynamics.robot import Robot, find_robot
from robot_dynamics.robot.endpoint import only_tip
from robot_dynamics.spatial import Inertia


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command line of the verb."""
    actions = parser.add_subparsers(dest="action", metavar="WHAT", required=True)
    controller = actions.add_parser("controller", help="a package with a ros2_control controller")
    take_negative_lists(controller)
    add_robot(controller)
    controller.add_argument("--name", help="of the package (default: <robot>_controllers)")
    add_lock(controller, "joints that stand still, and their positions (rad or m)")
    controller.add_argument(
        "--payload", type=positive, metavar="MASS", help="carried from the start, kg"
    )
    controller.add_argument("--com", help="its centre of mass, m (default: 0,0,0)")
    controller.add_argument(
        "--payload-frame",
        metavar="FRAME",
        help="link or frame of payloads (default: the tip, where the robot has one)",
    )
    controller.add_argument(
        "--frame",
        help="the hand, a link or frame that the modes in task space control (default: the frame "
        "of payloads)",
    )
    controller.add_argument(
        "--projector", choices=PROJECTORS, default=CONSISTENT, help="into their null space"
    )
    controller.add_argument(
        "--base",
        choices=("fixed", "moving"),
        default="fixed",
        help="moving: the controller takes the motion of the base by its parameter base_motion",
    )
    add_parameters(controller)
    controller.add_argument(
        "--bandwidth",
        type=positive,
        default=DEFAULT_BANDWIDTH,
        help=f"of each joint under the default gains, rad/s (default: {DEFAULT_BANDWIDTH:g})",
    )
    controller.add_argument(
        "-o",
        "--output",
        type=output_folder,
        metavar="FOLDER",
        default=".",
        help="folder for the package, such as src of a workspace (default: this one)",
    )
    controller.add_argument(
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


def run(arguments: argparse.Namespace) -> int:
    """Write what is asked for."""
    return _law(arguments) if arguments.action == "law" else _controller(arguments)


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


def _controller(arguments: argparse.Namespace) -> int:
    """Write the package, and print the commands that use it."""
    whole = load_robot(arguments.robot)
    urdf = text_of_robot(arguments.robot)
    robot = locked(whole, arguments.lock)
    name = check_package_name(
        package_name_of(robot.name) if arguments.name is None else arguments.name
    )
    check_effort_limits(robot)
    if arguments.frame is not None:
        robot.frame(arguments.frame)
    request = PackageRequest(
        name,
        urdf,
        whole,
        lock_positions(arguments.lock),
        *_payload(arguments, robot),
        arguments.bandwidth,
        _command(arguments),
        drives_of(arguments.robot, arguments.parameters, robot),
        arguments.frame,
        arguments.projector,
        arguments.base,
    )
    say(f"writing kernels and package {name}")
    package = controller_package(request)
    folder = arguments.output / name
    write_folder(folder, package.files, force=arguments.force)
    carried = f"payloads at '{request.endpoint}'" if request.endpoint else "no payloads"
    file = parameter_file(arguments.robot, arguments.parameters)
    drives = f", drives of {file.name}" if file else ""
    print(f"wrote {folder}: {len(package.files)} files, {robot.dof} joints, {carried}{drives}")
    if package.without_effort:
        print(
            "NOTE: <ros2_control> of the URDF has no command interface 'effort' for "
            f"{', '.join(package.without_effort)}; the controller needs one"
        )
    print(_next(folder, name))
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
    words = ["robot-dynamics", "export", "controller", robot]
    for option in ("name", "lock", "payload", "com", "payload_frame", "frame"):
        value = getattr(arguments, option)
        if value is not None:
            text = f"{value:g}" if isinstance(value, float) else value
            flag = f"--{option.replace('_', '-')}"
            words += [f"{flag}={text}"] if text.startswith("-") else [flag, text]
    if arguments.projector != CONSISTENT:
        words += ["--projector", arguments.projector]
    if arguments.base != "fixed":
        words += ["--base", arguments.base]
    if arguments.parameters is not None:
        words += ["--parameters", arguments.parameters.name]
    if arguments.bandwidth != DEFAULT_BANDWIDTH:
        words += ["--bandwidth", f"{arguments.bandwidth:g}"]
    return shlex.join(words)


def _next(folder: Path, name: str) -> str:
    """Return the commands that build the package and move the arm."""
    at = folder.absolute().parent
    workspace = at.parent if at.name == "src" else at
    return "\n".join(
        [
            "next:",
            f"  cd {shlex.quote(str(workspace))} && colcon build --packages-select {name}",
            "  source install/setup.bash",
            f"  ros2 launch {name} {name}.launch.py    # mock hardware; its README has the rest",
        ]
    )
