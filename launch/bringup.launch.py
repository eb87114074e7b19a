r"""Start simulated robot, feedforward, controller and a motion, and rviz if requested.

    ros2 launch robot_dynamics bringup.launch.py rviz:=true
    ros2 launch robot_dynamics bringup.launch.py robot:=/path/to/arm.urdf.xacro motion:=none

A real robot does not move before it gets a trajectory or `motion`:

    ros2 launch robot_dynamics bringup.launch.py robot:=arm.urdf simulation:=false \
        joint_trajectory_controller:=joint_trajectory_controller

List the arguments: `ros2 launch robot_dynamics bringup.launch.py --show-args`.
"""

import atexit
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from xml.etree import ElementTree

import rclpy
import yaml
from launch.actions import (
    DeclareLaunchArgument,
    LogInfo,
    OpaqueFunction,
    Shutdown,
)
from launch.events.process import ProcessExited
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from rclpy.context import Context
from rclpy.exceptions import NameValidationException
from rclpy.signals import SignalHandlerOptions
from rclpy.validate_full_topic_name import validate_full_topic_name
from rclpy.validate_namespace import validate_namespace
from rclpy.validate_topic_name import validate_topic_name

from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from robot_dynamics.control import MODES
from robot_dynamics.errors import ArgumentError, RobotDynamicsError, RobotError
from robot_dynamics.nodes.ros.node_parameters import describe
from robot_dynamics.nodes.runtime.robot_node import LoopParameters
from robot_dynamics.robot import Robot, read_urdf, share_folder, urdf_text
from robot_dynamics.simulation import check_physical
from robot_dynamics.trajectory import read_poses
from robot_dynamics.trajectory.trajectory_files import read_trajectory

PACKAGE = "robot_dynamics"
TRUE_FALSE = ["true", "false"]

HARDWARE_COMMANDS = "forward_effort_controller/commands"
"""Input of a forward_command_controller in the examples of ros2_control."""

ARGUMENTS = (
    ("robot", "planar_2r", "Path of a URDF or xacro file, or name of a known robot", None),
    ("config", "", "Parameter file of the nodes; empty for config/robot_dynamics.yaml", None),
    ("motion", "", "Motion to send; empty: excitation with the simulator, none without: a real arm "
     "holds its position",
     ["", "excitation", "random_poses", "file", "circle", "line", "poses", "none"]),
    ("file", "", "File of motion:=file, or of motion:=poses", None),
    ("frame", "", "Frame that circle, line and poses move; empty: that of the parameter file, else "
     "the only tip", None),
    ("mode", "", "Control law, instead of that of the parameter file",
     ["", *MODES]),
    ("rate", "", "Rate of all nodes in Hz, instead of those of the parameter file", None),
    ("simulation", "true", "false: omit the simulator; a robot publishes joint_states and takes "
     "the commands", TRUE_FALSE),
    ("command_topic", "", "Topic of the commands; empty for effort_command with the simulator, "
     "and for " + HARDWARE_COMMANDS + " without", None),
    ("joint_trajectory_controller", "", "Name of a joint_trajectory_controller with effort "
     "interfaces, which follows the trajectories with our efforts in place of controller_node: it "
     "keeps its feedback if our nodes die. ros2_controllers 4.22 (Jazzy) or newer. It takes no "
     "mode, payload or gravity while a trajectory runs, and gets trajectories for holding and "
     "stopping; activate it first, or it holds without effort and the arm sags to its gains", None),
    ("standby", "", "Start a second controller_node that takes over when the commands of the first "
     "one stop; empty: with simulation false, where a device may keep the last command",
     ["", *TRUE_FALSE]),
    ("composed", "false", "Run simulator, feedforward and controller in one process", TRUE_FALSE),
    ("monitor", "false", "Start monitor_node, which warns when the model does not fit; in the same "
     "process with composed:=true", TRUE_FALSE),
    ("rviz", "false", "Start rviz2", TRUE_FALSE),
    ("robot_state_publisher", "", "Start one; empty: for rviz, unless simulation is false: a robot "
     "brings its own", ["", *TRUE_FALSE]),
    ("rviz_config", "", "Configuration of rviz2; empty for the shipped one", None),
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
    return LaunchDescription([*declared, OpaqueFunction(function=nodes)])


def nodes(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Return the nodes for the given arguments."""
    given = {name: LaunchConfiguration(name).perform(context) for name, *_ in ARGUMENTS}
    simulated = given["simulation"] == "true"
    share = share_folder()
    description, robot = robot_of(given["robot"], simulated)
    config = given["config"] or str(share / "config" / "robot_dynamics.yaml")
    rviz_config = given["rviz_config"] or str(next(share.glob("*/robot_dynamics.rviz")))
    check_file("config", config, "a parameter file")
    check_config(config)
    for name, check in CHECKS.items():
        check_name(name, given[name], check)
    check_file("rviz_config", rviz_config, "a configuration of rviz2")
    motion = given["motion"] or ("excitation" if simulated else "none")
    if motion in ("file", "poses"):  # a fault is one line here, and no node starts
        check_file("file", given["file"], "a trajectory file")
        if motion == "poses":
            read_poses(given["file"])
        else:
            read_trajectory(given["file"], robot.joint_names)
    use_sim_time = {"use_sim_time": given["use_sim_time"] == "true"}
    # Ignored parts of the URDF are logged by this launch, not by every node
    described = {"robot_description": description, "log_urdf_warnings": False}
    common = [config, use_sim_time, described]

    follower = given["joint_trajectory_controller"]
    for name in ("mode", "standby"):
        if follower and given[name] not in ("", "false"):
            raise ArgumentError(
                f"{name}:={given[name]} is of controller_node, which joint_trajectory_controller:="
                f"{follower} replaces; omit one of them"
            )
    commands = given["command_topic"] or ("effort_command" if simulated else HARDWARE_COMMANDS)
    remapped = [("effort_command", commands)]
    if follower:
        remapped.append(("joint_trajectory_with_effort", f"{follower}/joint_trajectory"))

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
    names += [] if follower else ["controller_node"]
    pace = {"rate": rate_of(given["rate"])} if given["rate"] else {}
    own = {name: dict(pace) for name in names}  # not of monitor_node
    if simulated and not follower:
        own["controller_node"]["require_effort_limits"] = False
    if given["mode"] and not follower:
        own["controller_node"]["mode"] = given["mode"]
    if follower:
        own["feedforward_node"]["hold_with_effort"] = True
    # The simulator keeps the time
    if simulated and (given["publish_clock"] or given["use_sim_time"] == "true"):
        own["simulator_node"]["publish_clock"] = given["publish_clock"] != "false"
    monitored = given["monitor"] == "true"
    started: list[LaunchDescriptionEntity] = [
        LogInfo(msg=line) for line in silent_hardware(description)
    ]
    if given["composed"] == "true":
        if follower:
            raise ArgumentError(
                "composed:=true runs controller_node, which joint_trajectory_controller:="
                f"{follower} replaces; omit one of them"
            )
        asked = [] if simulated else ["--hardware"]
        asked += ["--monitor"] if monitored else []
        own = {name: values for name, values in own.items() if values}
        parameters = [*common, parameter_file(own)] if own else common
        started.append(node("composed_nodes", parameters, arguments=asked))
    else:
        for name in [*names, *(["monitor_node"] if monitored else [])]:
            started.append(node(name, [*common, own.get(name, {})], name=name))
    if not follower and (given["standby"] or str(not simulated).lower()) == "true":
        # The device may keep the last command for ever; see docs/hardware.md
        standby = [standby_file(config), *common[1:], own.get("controller_node", {})]
        standby.append({"standby": True})
        started.append(
            node("controller_node", standby, name="controller_node_standby", on_exit=end)
        )
    if motion != "none":
        moved = {"motion": motion, "file": given["file"]}
        moved |= {"frame": given["frame"]} if given["frame"] else {}
        started.append(node("trajectory_node", [*common, moved], name="trajectory_node"))
    # First: if a package is missing, launch fails before it starts the others
    return [*displays(given, description, ["-d", rviz_config, "-f", robot.links[0].name]), *started]


def end(event: ProcessExited, context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """End the launch after a process that must not be missing; the arm then comes to rest."""
    if context.is_shutdown:
        return []
    reason = f"{event.process_name} ended with status {event.returncode}: nothing stands by"
    return [LogInfo(msg=f"error: {reason}; the launch ends"), Shutdown(reason=reason)]


def displays(given: Mapping[str, str], description: str, arguments: list[str]) -> list[Node]:
    """Return rviz2 with its arguments and robot_state_publisher, as far as requested."""
    asked, shown = given["robot_state_publisher"], given["rviz"] == "true"
    parameters = {"use_sim_time": given["use_sim_time"] == "true"}
    started = []
    if asked == "true" or (not asked and shown and given["simulation"] == "true"):
        own = {**parameters, "robot_description": description}
        started.append(("robot_state_publisher", {"parameters": [own]}))
    if shown:
        started.append(("rviz2", {"parameters": [parameters], "arguments": arguments}))
    return [
        Node(
            package=package,
            executable=package,
            namespace=given["namespace"],
            # Robots may share frame names: each namespace has its own /tf
            remappings=[("/tf", "tf"), ("/tf_static", "tf_static")],
            output="screen",
            **options,
        )
        for package, options in started
    ]


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


def check_config(path: str) -> None:
    """Check that the nodes will be able to read their parameter file, by the parser of rcl.

    Raises:
        ArgumentError: If they will not.
    """
    context = Context()
    given = ["--ros-args", "--log-level", "rcl:=fatal", "--params-file", path]
    try:
        Path(path).read_text(encoding="utf-8")
        rclpy.init(args=given, context=context, signal_handler_options=SignalHandlerOptions.NO)
        context.try_shutdown()
    except (OSError, UnicodeDecodeError, RuntimeError) as error:  # the last of rcl
        reason = str(error).partition("Error: ")[2].partition(", at /")[0].strip() or error
        raise ArgumentError(
            f"config:={path}: not a parameter file of ROS 2 ({reason}); compare it with "
            "config/robot_dynamics.yaml"
        ) from None


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
    "command_topic": lambda name: name and validate_topic_name(name),
    "joint_trajectory_controller": lambda name: name and absolute(validate_full_topic_name)(name),
}
"""Checks of arguments that are names."""


def parameter_file(values: Mapping[str, Mapping[str, object]]) -> str:
    """Write parameters by node to a file, as launch gives a process only one set."""
    tree = {f"/**/{name}": {"ros__parameters": dict(own)} for name, own in values.items()}
    return temporary_file(yaml.dump(tree, Dumper=PlainDumper))


def standby_file(config: str) -> str:
    """Copy the parameters of controller_node to its standby in a new file; return its path.

    Numbers stay the text that they are: rcl and PyYAML differ in what they read as a number.
    """

    def copied(node: yaml.Node) -> yaml.Node:
        if isinstance(node, yaml.MappingNode):
            pairs = [
                (yaml.ScalarNode(key.tag, name, style=key.style), copied(value))
                for key, value in node.value
                for name in standby_names(key.value)
            ]
            return yaml.MappingNode(node.tag, pairs, flow_style=node.flow_style)
        if isinstance(node, yaml.SequenceNode):
            items = [copied(item) for item in node.value]
            return yaml.SequenceNode(node.tag, items, flow_style=node.flow_style)
        return yaml.ScalarNode(node.tag, node.value, style=node.style)

    tree = yaml.compose(Path(config).read_text(encoding="utf-8"), yaml.SafeLoader)
    return temporary_file(yaml.serialize(copied(tree)) if tree else "")


def standby_names(name: str) -> list[str]:
    """Return the names under which the parameters of a node are written for its standby too."""
    return [name, *([f"{name}_standby"] if name.endswith("controller_node") else [])]


class PlainDumper(yaml.SafeDumper):
    """Writes equal values in full: rcl rejects a file with the anchors of YAML."""

    def ignore_aliases(self, _: object) -> bool:
        """Return that no value is to be written as a reference to another."""
        return True


def temporary_file(text: str) -> str:
    """Write a parameter file that is removed when the launch ends; return its path."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", delete=False) as file:
        file.write(text)
    atexit.register(Path(file.name).unlink, missing_ok=True)
    return file.name


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
