"""Write C for controllers that need neither Python nor this package when they run.

    robot-dynamics export model arm.urdf -o arm.so
    robot-dynamics export model panda --lock panda_finger_joint1=0.02 --payload 1.2 -o panda.so
    robot-dynamics export model arm.urdf --source -o arm.c
    robot-dynamics export config arm.urdf --driver ur -o arm_controllers.yaml
    robot-dynamics export controllers -o ~/ros2_ws/src
    robot-dynamics export law ur5 --mode cartesian_impedance --frame tool0 --output impedance.c

`model` compiles a robot into a library that the ros2_control controllers load: its equations, laws,
limits and names. With --source it writes the C file, to be compiled on another computer.
`config` writes the parameters of the controllers, by what is known of the driver of the arm
(`robot-dynamics drivers`). `controllers` copies their C++ package, one for all robots. `law` writes
a law in task space and the motion of its target as two C99 functions.
"""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

import numpy as np

from robot_dynamics.cli.arguments import (
    add_robot,
    new_file,
    number_list,
    output_file,
    output_folder,
    positive,
    say,
    take_negative_lists,
    text_of_robot,
)
from robot_dynamics.cli.chosen_joints import (
    add_end_effector,
    add_lock,
    end_effector_of,
    frame_or_end_effector,
    robot_of,
    selection_words,
)
from robot_dynamics.cli.driven_arm import (
    add_adds,
    add_driver,
    added_by,
    adds_of,
    driven_arm,
    given_driver,
)
from robot_dynamics.cli.recordings import (
    add_parameters,
    drives_of,
    parameter_file,
)
from robot_dynamics.control import TASK_MODES
from robot_dynamics.control.gains import DEFAULT_BANDWIDTH
from robot_dynamics.control.task_space import CONSISTENT, IMPEDANCE, PROJECTORS
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.errors import ArgumentError, check_known
from robot_dynamics.export.controllers_config import (
    DEFAULT_RATE,
    controllers_config,
)
from robot_dynamics.export.controllers_package import NAME, package_files
from robot_dynamics.export.driver_checks import (
    check_interfaces,
    check_joints,
    check_offered,
    check_takes_effort,
)
from robot_dynamics.export.drivers import ALL
from robot_dynamics.export.model_library import (
    ModelRequest,
    model_source,
    write_library,
)
from robot_dynamics.export.package_folder import write_folder
from robot_dynamics.export.task_law import task_law_source
from robot_dynamics.foundation.numbers import counted
from robot_dynamics.foundation.user_files import write_whole
from robot_dynamics.robot import Robot, find_robot
from robot_dynamics.robot.catalogue import split_arguments
from robot_dynamics.robot.endpoint import end_effector_by_rule
from robot_dynamics.spatial import Inertia


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command line of the verb."""
    actions = parser.add_subparsers(dest="action", metavar="WHAT", required=True)
    _add_model(actions.add_parser("model", help="a robot for the ros2_control controllers"))
    _add_config(actions.add_parser("config", help="parameters of the ros2_control controllers"))
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
    add_driver(controllers)
    law = actions.add_parser("law", help="a law in task space as C99 functions")
    add_robot(law)
    law.add_argument("--mode", choices=list(TASK_MODES), default=IMPEDANCE)
    add_end_effector(law, "the end effector: link or frame that is controlled")
    law.add_argument("--projector", choices=PROJECTORS, default=CONSISTENT)
    law.add_argument("--float", action="store_true", help="in single precision")
    add_lock(law, "joints that stand still, and their positions (rad or m)")
    law.add_argument(
        "--output", type=new_file, metavar="FILE", help="C file to write (default: print it)"
    )


def _add_config(config: argparse.ArgumentParser) -> None:
    take_negative_lists(config)
    add_robot(config)
    add_lock(config, "joints that stand still, and their positions (rad or m)")
    add_driver(config)
    add_adds(config)
    config.add_argument(
        "--interfaces",
        metavar="KIND,...",
        help="command interfaces of each joint (default: those of the driver, or effort)",
    )
    config.add_argument(
        "--model",
        type=Path,
        metavar="FILE",
        help="library of `export model` (default: ROBOT.so beside the output)",
    )
    config.add_argument(
        "--rate", type=positive, help="update rate, Hz (default: that of the driver, or 1000)"
    )
    config.add_argument(
        "-o", "--output", metavar="FILE", required=True, type=output_file, help="YAML to write"
    )


def _add_model(model: argparse.ArgumentParser) -> None:
    take_negative_lists(model)
    add_robot(model)
    add_driver(model)
    add_adds(model)
    add_lock(model, "joints that stand still, and their positions (rad or m)")
    model.add_argument(
        "--payload", type=positive, metavar="MASS", help="carried from the start, kg"
    )
    model.add_argument("--com", help="its centre of mass, m (default: 0,0,0)")
    model.add_argument(
        "--payload-frame",
        metavar="FRAME",
        help="link or frame of payloads (default: the end effector)",
    )
    add_end_effector(
        model, "the end effector, a link or frame that the modes in task space control"
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
    actions = {"law": _law, "model": _model, "config": _config, "controllers": _controllers}
    return actions[arguments.action](arguments)


def _law(arguments: argparse.Namespace) -> int:
    """Write a law in task space, or print it."""
    robot = robot_of(arguments)
    end_effector = end_effector_of(arguments, robot)
    scalar = "float" if arguments.float else "double"
    text = task_law_source(
        Dynamics(robot), end_effector, arguments.mode, arguments.projector, scalar
    )
    if arguments.output is None:
        print(text)
    else:
        write_whole(arguments.output, text)
        print(f"wrote {arguments.output}: {counted(len(text.splitlines()), 'line')}")
    return 0


def _controllers(arguments: argparse.Namespace) -> int:
    """Copy the package, and print the commands that build it."""
    driver = given_driver(arguments.driver)
    if driver is not None:
        check_takes_effort(driver)
    folder = arguments.output / NAME
    files = package_files()
    write_folder(folder, files, force=arguments.force)
    at = folder.absolute().parent
    workspace = at.parent if at.name == "src" else at
    print(f"wrote {folder}: {counted(len(files), 'file')}")
    print("next:")
    print(f"  cd {shlex.quote(str(workspace))}")
    print("  rosdep install --from-paths src -y --ignore-src")
    print(f"  colcon build --packages-select {NAME}")
    named = "" if driver is None else f" --driver {driver.name}"
    print(f"  robot-dynamics export model ROBOT.urdf{named} -o ROBOT.so")
    print(f"  robot-dynamics export config ROBOT.urdf{named} -o ROBOT_controllers.yaml")
    return 0


def _config(arguments: argparse.Namespace) -> int:
    """Write the parameters of the controllers, and print what they are not yet certain of."""
    output, file = arguments.output, find_robot(arguments.robot)
    if output.resolve() == file.with_suffix(".yaml").resolve():
        raise ArgumentError(
            f"{output}: has the name of the file of `identify` for {file.name}; choose another "
            f"one, such as {output.stem}_controllers.yaml"
        )
    arm = driven_arm(arguments)
    driver, robot = arm.driver, arm.robot
    interfaces = ["effort"] if driver is None else list(driver.interfaces.value)
    if driver is not None and driver.bridge and (arguments.interfaces or arguments.model):
        raise ArgumentError(
            f"driver {driver.name} has no ros2_control, and the parameters are those of our nodes; "
            "leave out --interfaces and --model"
        )
    if arguments.interfaces is not None:
        interfaces = [kind.strip() for kind in arguments.interfaces.split(",")]
        for kind in interfaces:
            check_known("interface", kind, "ros2_control", ALL)
    if driver is not None:
        check_interfaces(driver, interfaces)
    check_offered(file.name, arm.hardware, robot.joint_names, interfaces)
    beside = output.with_name(f"{file.name.partition('.')[0]}.so")
    model = (arguments.model or beside).absolute()
    adds = adds_of(arguments)
    if adds is not None and driver is not None and driver.bridge:
        raise ArgumentError(f"driver {driver.name} says what the robot adds; leave out --adds")
    text = controllers_config(
        robot, driver, interfaces, str(model), arguments.rate, arm.hardware, adds
    )
    write_whole(output, text)
    rate = arguments.rate or (DEFAULT_RATE if driver is None else driver.rate.value)
    print(f"wrote {output}: {counted(robot.dof, 'joint')}, {rate:g} Hz, {', '.join(interfaces)}")
    for line in [] if driver is None else driver.questions:
        print(line)
    return 0


def _model(arguments: argparse.Namespace) -> int:
    """Write the library or the C file of a robot, and print how to load it."""
    arm = driven_arm(arguments)
    robot = arm.robot
    if arm.driver is not None:
        check_joints(arm.driver, robot)
    end_effector = arguments.frame or end_effector_by_rule(robot)
    payload, endpoint = _payload(arguments, robot, end_effector)
    request = ModelRequest(
        text_of_robot(arguments.robot),
        arm.whole,
        arm.still,
        payload,
        endpoint,
        end_effector,
        arguments.projector,
        arguments.bandwidth,
        drives_of(arguments.robot, arguments.parameters, robot),
        False,
        added_by(arm.driver, adds_of(arguments)),
        _command(arguments),
    )
    say(f"writing the kernels of {robot.name}")
    output = arguments.output
    if arguments.source:
        write_whole(output, model_source(request).whole())
    else:
        write_library(request, output)
    carried = f"payloads at '{endpoint}'" if endpoint else "no payloads"
    end_effector = (
        f", end effector '{request.end_effector}'"
        if request.end_effector
        else ", no modes in task space"
    )
    file = parameter_file(arguments.robot, arguments.parameters)
    drives = f", drives of {file.name}" if file else ""
    print(f"wrote {output}: {counted(robot.dof, 'joint')}, {carried}{end_effector}{drives}")
    if arguments.source:
        print("compile it by the command at its top, on the computer that loads it")
    else:
        print(f"next: robot-dynamics export config, with --model {output.absolute()}")
    return 0


def _payload(
    arguments: argparse.Namespace, robot: Robot, end_effector: str | None
) -> tuple[Inertia | None, str | None]:
    """Return the payload and its frame, by default the end effector."""
    frame = arguments.payload_frame or end_effector
    if frame is not None:
        robot.frame(frame)
    if arguments.payload is None:
        if arguments.com is not None:
            raise ArgumentError("--com: is that of a payload; add --payload")
        return None, frame
    frame = frame_or_end_effector(frame, robot, "--payload-frame")
    com = np.zeros(3)
    if arguments.com is not None:
        com = number_list("--com", arguments.com, ("x", "y", "z"))
    return Inertia.from_com(arguments.payload, com, np.zeros((3, 3))), frame


def _command(arguments: argparse.Namespace) -> str:
    """Return the command without what differs between machines."""
    path, given = split_arguments(arguments.robot)
    robot = find_robot(path).name if Path(path).suffix or Path(path).exists() else path
    words = ["robot-dynamics", "export", "model", robot, *given, *selection_words(arguments)]
    for option in ("driver", "adds", "payload", "com", "payload_frame", "frame"):
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
    words += ["--source"] * arguments.source
    return shlex.join([*words, "-o", arguments.output.name])
