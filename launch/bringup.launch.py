r"""Start simulated robot, feedforward, controller and a motion, and rviz if requested.

    ros2 launch robot_dynamics bringup.launch.py rviz:=true
    ros2 launch robot_dynamics bringup.launch.py robot:=/path/to/arm.urdf.xacro motion:=none

A real robot does not move before it gets a trajectory or `motion`:

    ros2 launch robot_dynamics bringup.launch.py robot:=arm.urdf simulation:=false \
        arm_controller:=arm_controller

List the arguments: `ros2 launch robot_dynamics bringup.launch.py --show-args`.
"""

import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from xml.etree import ElementTree

from launch.actions import DeclareLaunchArgument, LogInfo, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from rclpy.exceptions import NameValidationException
from rclpy.validate_full_topic_name import validate_full_topic_name
from rclpy.validate_namespace import validate_namespace
from rclpy.validate_topic_name import validate_topic_name

from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from robot_dynamics.control.laws import ALL_MODES, TASK_MODES
from robot_dynamics.errors import ArgumentError, RobotDynamicsError, RobotError
from robot_dynamics.export.controllers_config import node_parameters
from robot_dynamics.export.driver_checks import check_efforts, check_takes_effort, joints_left_out
from robot_dynamics.export.driver_profile import Driver
from robot_dynamics.export.drivers import DRIVERS, driver_named
from robot_dynamics.nodes.ros.node_parameters import describe
from robot_dynamics.nodes.ros.parameter_files import (
    check_config,
    keep_temporary_files_together,
    parameter_file,
    parameter_in,
    temporary_file,
)
from robot_dynamics.nodes.runtime.robot_description import moved
from robot_dynamics.nodes.runtime.robot_node import LoopParameters
from robot_dynamics.robot import Robot, read_urdf, share_folder, urdf_text
from robot_dynamics.robot.catalogue import with_arguments
from robot_dynamics.robot.endpoint import default_end_effector
from robot_dynamics.robot.urdf.ros2_control import read_hardware
from robot_dynamics.simulation import check_physical
from robot_dynamics.trajectory import read_poses
from robot_dynamics.trajectory.trajectory_files import read_trajectory
from robot_dynamics.version import SITE
from robot_dynamics.viewer.rviz_config import PREFIXES, mesh_prefixes, rviz_config

PACKAGE = "robot_dynamics"
TRUE_FALSE = ["true", "false"]

ELSEWHERE = "elsewhere"
"""Value of the argument rviz for an rviz2 that this launch does not start."""

ARGUMENTS = (
    ("robot", "planar_2r", "Path of a URDF or xacro file, or name of a known robot", None),
    ("robot_args", "", "Arguments of a xacro file: \"name:=ur ur_type:=ur5e\"", None),
    ("driver", "", "Driver of the real arm, of `robot-dynamics drivers`: sets rate, namespace and "
     "joints, and leaves out the efforts that the robot adds itself", ["", *DRIVERS]),
    ("config", "", "Parameter file of the nodes; empty for config/robot_dynamics.yaml", None),
    ("motion", "", "Motion to send; empty: excitation with the simulator, none without: a real arm "
     "holds its position",
     ["", "excitation", "random_poses", "file", "circle", "line", "poses", "none"]),
    ("file", "", "File of motion:=file, or of motion:=poses", None),
    ("frame", "", "The end effector: frame that circle, line, poses and the modes in task space "
     "move; empty: that of the parameter file, else tool0, or the tip that no finger joint moves",
     None),
    ("mode", "", "Control law, instead of that of the parameter file",
     ["", *ALL_MODES]),
    ("rate", "", "Rate of all nodes in Hz, instead of those of the parameter file", None),
    ("simulation", "true", "false: omit the simulator; a robot publishes joint_states. Name what "
     "closes the loop there: arm_controller or joint_trajectory_controller", TRUE_FALSE),
    ("arm_controller", "", "Name of an exported ros2_control controller, which closes the loop and "
     "follows the reference of feedforward_node in place of controller_node: it keeps its "
     "feedback if our nodes die", None),
    ("joint_trajectory_controller", "", "Name of a joint_trajectory_controller with effort "
     "interfaces, which follows the trajectories with our efforts in place of controller_node: it "
     "keeps its feedback if our nodes die. ros2_controllers 4.22 (Jazzy) or newer. It takes no "
     "mode, payload or gravity while a trajectory runs, and gets trajectories for holding and "
     "stopping; activate it first, or it holds without effort and the arm sags to its gains", None),
    ("command_watchdog", "false", "true: the hardware stops by itself when commands become stale, "
     "so that controller_node may command it over a topic; without the simulator it is needed for "
     "that", TRUE_FALSE),
    ("command_topic", "effort_command", "Topic of the commands of controller_node", None),
    ("composed", "false", "Run simulator, feedforward and controller in one process", TRUE_FALSE),
    ("monitor", "false", "Start monitor_node, which warns when the model does not fit; in the same "
     "process with composed:=true", TRUE_FALSE),
    ("repeat", "", "Repeat the motion; empty: in rviz with the simulator", ["", *TRUE_FALSE]),
    ("rviz", "false", "Start rviz2 and what it needs; elsewhere: what it needs, for an rviz2 on "
     "another computer", [*TRUE_FALSE, ELSEWHERE]),
    ("robot_state_publisher", "", "Start one; empty: for rviz, unless simulation is false: a robot "
     "brings its own", ["", *TRUE_FALSE]),
    ("rviz_config", "", "Configuration of rviz2; empty for the shipped one, with frame and view "
     "of the robot", None),
    ("namespace", "", "Namespace of all nodes and topics", None),
    ("use_sim_time", "false", "Take the time from /clock", TRUE_FALSE),
    ("publish_clock", "", "The simulator publishes /clock; empty: if use_sim_time is true; false "
     "if another node does, as a system has only one", ["", *TRUE_FALSE]),
)  # fmt: skip
"""Name, default, meaning and allowed values (None for any)."""


def generate_launch_description() -> LaunchDescription:
    """Declare the arguments and the action that starts the nodes."""
    declared = [
        DeclareLaunchArgument(name, default_value=default, description=text, choices=choices)
        for name, default, text, choices in ARGUMENTS
    ]
    return LaunchDescription([*declared, OpaqueFunction(function=launched)])


def launched(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Return the nodes of a launch that leaves no parameter files behind."""
    keep_temporary_files_together()
    return nodes(context)


def nodes(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Return the nodes for the given arguments."""
    given = {name: LaunchConfiguration(name).perform(context) for name, *_ in ARGUMENTS}
    simulated = given["simulation"] == "true"
    share = share_folder()
    arguments = shlex.split(given["robot_args"])
    description, robot = robot_of(with_arguments(given["robot"], arguments), simulated)
    driver = driver_of(given["driver"], simulated)
    hardware = () if simulated else read_hardware(description)
    left_out = joints_left_out(robot.joint_names, hardware, driver)
    if len(left_out) == robot.dof:
        why = "; ".join({*left_out.values()})
        raise RobotError(
            f"robot:={given['robot']}: every joint is left out ({why}); are the joints of "
            "<ros2_control> those of the robot?"
        )
    if left_out:
        robot, _ = moved(robot, [name for name in robot.joint_names if name not in left_out])
    if driver is not None:
        check_efforts(f"robot:={given['robot']}", robot, driver)
        if driver.namespace is not None:
            given["namespace"] = given["namespace"] or driver.namespace.value
    config = given["config"] or str(share / "config" / "robot_dynamics.yaml")
    check_file("config", config, "a parameter file")
    check_config("config:=", config)
    for name, check in CHECKS.items():
        check_name(name, given[name], check)
    if given["rviz_config"]:
        check_file("rviz_config", given["rviz_config"], "a configuration of rviz2")
    check_end_effector(given, config, robot)
    motion = given["motion"] or ("excitation" if simulated else "none")
    if motion in ("file", "poses"):  # a fault is one line here, and no node starts
        check_file("file", given["file"], "a trajectory file")
        if motion == "poses":
            read_poses(given["file"])
        else:
            read_trajectory(
                given["file"],
                robot.joint_names,
                followers=robot.followers,
                speeds=robot.limits.velocity,
            )
    use_sim_time = {"use_sim_time": given["use_sim_time"] == "true"}
    # Ignored parts of the URDF are logged by this launch, not by every node
    described = {"robot_description": description, "log_urdf_warnings": False}
    chosen = {"joints": list(robot.joint_names)} if left_out else {}
    common = [config, use_sim_time, described | chosen]

    replaced = replacement(given)
    remapped = [("effort_command", given["command_topic"])]
    if replaced:
        topic, target = FOLLOWERS[replaced]
        remapped.append((topic, f"{given[replaced]}/{target}"))

    def node(executable: str, parameters: list[object], **options: object) -> Node:
        return Node(
            package=PACKAGE,
            executable=executable,
            namespace=given["namespace"],
            parameters=parameters,
            remappings=remapped,
            output="screen",
            **options,
        )

    names = [*(["simulator_node"] if simulated else []), "feedforward_node"]
    names += [] if replaced else ["controller_node"]
    pace = {"rate": rate_of(given["rate"])} if given["rate"] else {}
    known = {} if driver is None else node_parameters(robot, driver, hardware)
    own = {name: {**known.get(name, {}), **pace} for name in names}  # not of monitor_node
    if simulated and not replaced:
        own["controller_node"]["require_effort_limits"] = False
    if given["mode"]:
        own["controller_node"]["mode"] = given["mode"]
    if given["frame"] and not replaced:
        own["controller_node"]["task.frame"] = given["frame"]
    if replaced == "joint_trajectory_controller":
        own["feedforward_node"]["hold_with_effort"] = True
    # The simulator keeps the time
    if simulated and (given["publish_clock"] or given["use_sim_time"] == "true"):
        own["simulator_node"]["publish_clock"] = given["publish_clock"] != "false"
    monitored, shown = given["monitor"] == "true", given["rviz"] != "false"
    started: list[LaunchDescriptionEntity] = [
        LogInfo(msg=line)
        for line in [
            *(f"left out: {name} ({why})" for name, why in left_out.items()),
            *silent_hardware(description),
            *(() if driver is None else driver.questions),
        ]
    ]
    if given["composed"] == "true":
        asked = [] if simulated else ["--hardware"]
        asked += ["--monitor"] if monitored else []
        own = {name: values for name, values in own.items() if values}
        parameters = [*common, parameter_file(own)] if own else common
        started.append(node("composed_nodes", parameters, arguments=asked))
    else:
        for name in [*names, *(["monitor_node"] if monitored else [])]:
            started.append(node(name, [*common, own.get(name, {})], name=name))
    if motion != "none":
        path = {"motion": motion, "file": given["file"]}
        path |= {"frame": given["frame"]} if given["frame"] else {}
        if (given["repeat"] or str(shown and simulated).lower()) == "true":
            path["repeat"] = True
        started.append(node("trajectory_node", [*common, path], name="trajectory_node"))
    if shown:
        started.append(node("marker_node", common, name="marker_node"))
    # First: if a package is missing, launch fails before it starts the others
    reference = dict(remapped).get("reference", "reference")
    in_joints = mode_of(given, config) not in TASK_MODES
    return [*displays(given, description, robot, reference, in_joints), *started]


FOLLOWERS = {
    "arm_controller": ("reference", "reference"),
    "joint_trajectory_controller": ("joint_trajectory_with_effort", "joint_trajectory"),
}
"""Arguments that name a controller in place of controller_node: the topic of feedforward_node that
it follows, and the name of that topic below the name of the controller."""


def replacement(given: Mapping[str, str]) -> str:
    """Return the argument that replaces controller_node, or an empty text.

    Raises:
        ArgumentError: If two do, another argument is of controller_node, or nothing stops the
            hardware when controller_node dies.
    """
    found = [name for name in FOLLOWERS if given[name]]
    if len(found) > 1:
        raise ArgumentError(
            " and ".join(f"{name}:={given[name]}" for name in found)
            + " follow the same motion; omit one of them"
        )
    if found:
        for name in ("mode", "composed", "command_watchdog"):
            if given[name] not in ("", "false"):
                raise ArgumentError(
                    f"{name}:={given[name]} is of controller_node, which {found[0]}:="
                    f"{given[found[0]]} replaces; omit one of them"
                )
        return found[0]
    if "false" == given["simulation"] == given["command_watchdog"]:
        raise ArgumentError(
            "simulation:=false: controller_node closes the loop over a topic, and a "
            "forward_command_controller keeps the last command when that node dies; give "
            "arm_controller:=NAME or joint_trajectory_controller:=NAME, or command_watchdog:=true "
            f"if the hardware stops on stale commands ({SITE}/hardware.html)"
        )
    return ""


def displays(
    given: Mapping[str, str], description: str, robot: Robot, reference: str, in_joints: bool
) -> list[Node]:
    """Return rviz2 and the publishers of poses for it, as far as requested.

    Args:
        given: Arguments of the launch.
        description: Text of the URDF.
        robot: The robot.
        reference: Topic of the reference.
        in_joints: Whether the control law follows it, so that rviz2 shows the robot there.
    """
    asked, shown = given["robot_state_publisher"], given["rviz"] != "false"
    parameters = {"use_sim_time": given["use_sim_time"] == "true"}
    described = {**parameters, "robot_description": description}
    started = []

    def start(package: str, executable: str = "", **options: object) -> None:
        # Robots may share frame names: each namespace has its own /tf
        renamed = [("/tf", "tf"), ("/tf_static", "tf_static"), *options.pop("remappings", [])]
        started.append(
            Node(
                package=package,
                executable=executable or package,
                namespace=given["namespace"],
                remappings=renamed,
                output="screen",
                **options,
            )
        )

    if asked == "true" or (not asked and shown and given["simulation"] == "true"):
        start("robot_state_publisher", parameters=[described])
    if shown:
        root, ghost = robot.links[0].name, "reference"
        start(
            "robot_state_publisher",
            name="reference_state_publisher",
            parameters=[{**described, "frame_prefix": f"{ghost}/"}],
            remappings=[("joint_states", reference), ("robot_description", "~/description")],
        )
        frames = ["--frame-id", root, "--child-frame-id", f"{ghost}/{root}"]
        start("tf2_ros", "static_transform_publisher", name="reference_root", arguments=frames)
    if given["rviz"] == "true":
        own = given["rviz_config"]
        text = "" if own else rviz_config(robot, float(given["rate"] or 0.0), ghost=in_joints)
        path = own or temporary_file(text)
        start(
            "rviz2",
            parameters=[parameters],
            arguments=["-d", path],
            additional_env={PREFIXES: mesh_prefixes()},
            on_exit=[LogInfo(msg="rviz2 has ended; the other nodes go on, and Ctrl-C ends them")],
        )
    return started


def silent_hardware(description: str) -> list[str]:
    """Return a warning for every topic-based hardware of a URDF that withholds equal commands."""
    name, lines = "trigger_joint_command_threshold", []
    for hardware in ElementTree.fromstring(description).iterfind("ros2_control/hardware"):
        if "topic" not in hardware.findtext("plugin", ""):
            continue
        given = [item.text for item in hardware.iterfind("param") if item.get("name") == name]
        if not given or not str(given[0]).strip().startswith("-"):
            lines.append(
                f"warning: {hardware.findtext('plugin')} publishes no command while the effort is "
                f"steady; set its parameter {name} to -1"
            )
    return lines


def check_file(argument: str, path: str, what: str) -> None:
    """Check that a file exists.

    Raises:
        ArgumentError: If it does not.
    """
    if not Path(path).is_file():
        raise ArgumentError(f"{argument}:={path}: no such file; give {what}")


def mode_of(given: Mapping[str, str], config: str) -> object:
    """Return the control law of the arguments, or else of the parameter file."""
    return given["mode"] or parameter_in(config, "controller_node", "mode")


def check_end_effector(given: Mapping[str, str], config: str, robot: Robot) -> None:
    """Check that the robot has the end effector that is to move, before any node starts.

    Raises:
        UnknownNameError: If it has no frame of that name.
        ArgumentError: If none is named, and no rule says which one it is.
    """
    named = given["frame"] or parameter_in(config, "controller_node", "task.frame")
    mode = mode_of(given, config)
    if given["frame"]:
        robot.frame(given["frame"])
    elif mode in TASK_MODES and not named:
        try:
            default_end_effector(robot)
        except ArgumentError as error:
            raise ArgumentError(f"mode:={mode}: {error} by frame:=NAME") from None


def check_name(argument: str, value: str, check: Callable[[str], object]) -> None:
    """Check that ROS 2 accepts a name.

    Raises:
        ArgumentError: If it does not.
    """
    try:
        check(value)
    except NameValidationException as error:
        reason = str(error).partition("\n")[0].rstrip(":")
        raise ArgumentError(f"{argument}:={value}: {reason}") from None


def absolute(check: Callable[[str], object]) -> Callable[[str], object]:
    """Return a check of a name that may be relative or empty."""
    return lambda name: check(name if name.startswith("/") else f"/{name}")


CHECKS = {
    "namespace": absolute(validate_namespace),
    "command_topic": validate_topic_name,
    "arm_controller": lambda name: name and absolute(validate_full_topic_name)(name),
    "joint_trajectory_controller": lambda name: name and absolute(validate_full_topic_name)(name),
}
"""Checks of arguments that are names."""


def robot_of(name: str, simulated: bool) -> tuple[str, Robot]:
    """Return text and robot of the URDF; read here to report a fault once, not by every node.

    Raises:
        RobotDynamicsError: If there is none, or it cannot be read, or simulated if required.
    """
    text = urdf_text(name)
    try:
        robot = read_urdf(text, require_inertia=simulated)
        if simulated:
            check_physical(robot)
    except RobotDynamicsError as error:
        raise RobotError(f"robot:={name}: {error}") from None
    return text, robot


def driver_of(name: str, simulated: bool) -> Driver | None:
    """Return the driver of that name, or None for an empty one.

    Raises:
        ArgumentError: If there is a simulator, or if the driver takes no efforts.
    """
    if not name:
        return None
    if simulated:
        raise ArgumentError(f"driver:={name} is of a real arm; add simulation:=false, or omit it")
    driver = driver_named(name)
    check_takes_effort(driver)
    return driver


def rate_of(text: str) -> float:
    """Return the argument rate as a number.

    Raises:
        ArgumentError: If it is out of range or not a number.
    """
    (rate,) = (item for item in describe(LoopParameters) if item.name == "rate")
    try:
        return rate.checked(float(text))
    except ValueError:  # of float, and ArgumentError
        raise ArgumentError(f"rate:={text}: give {rate.allowed}, in Hz") from None
