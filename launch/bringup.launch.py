"""Start everything: simulated robot, feedforward, controller and a motion, and rviz if asked for.

    ros2 launch robot_dynamics bringup.launch.py rviz:=true
    ros2 launch robot_dynamics bringup.launch.py robot:=/path/to/arm.urdf.xacro motion:=none

What it takes: `ros2 launch robot_dynamics bringup.launch.py --show-args`.
"""

import tempfile
from collections.abc import Mapping
from pathlib import Path

import yaml
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from robot_dynamics.control import MODES
from robot_dynamics.errors import ArgumentError, RobotDynamicsError, RobotError
from robot_dynamics.nodes.ros.node_parameters import describe
from robot_dynamics.nodes.runtime.robot_node import LoopParameters
from robot_dynamics.robot import Robot, read_urdf, share_folder, urdf_text
from robot_dynamics.simulation import check_physical

PACKAGE = "robot_dynamics"
TRUE_FALSE = ["true", "false"]

HARDWARE_COMMANDS = "forward_effort_controller/commands"
"""Input of a forward_command_controller of ros2_control, as its examples name it."""

ARGUMENTS = (
    ("robot", "planar_2r", "Path of a URDF or xacro file, or name of a known robot", None),
    ("config", "", "Parameter file of the nodes; empty for config/robot_dynamics.yaml", None),
    ("motion", "excitation", "Motion to send",
     ["excitation", "random_poses", "file", "none"]),
    ("file", "", "Trajectory file of motion:=file", None),
    ("mode", "", "Control law, instead of that of the parameter file",
     ["", *MODES]),
    ("rate", "", "Rate of all nodes in Hz, instead of those of the parameter file", None),
    ("simulation", "true", "false: leave the simulator out; a robot publishes joint_states and "
     "takes the commands", TRUE_FALSE),
    ("command_topic", "", "Where the commands go; empty for effort_command with the simulator, "
     "and for " + HARDWARE_COMMANDS + " without", None),
    ("composed", "false", "Run simulator, feedforward and controller in one process", TRUE_FALSE),
    ("rviz", "false", "Start robot_state_publisher and rviz2", TRUE_FALSE),
    ("rviz_config", "", "Configuration of rviz2; empty for the shipped one", None),
    ("namespace", "", "Namespace of all nodes and topics", None),
    ("use_sim_time", "false", "Take the time from /clock", TRUE_FALSE),
    ("publish_clock", "", "The simulator publishes /clock; empty: if use_sim_time is true; false "
     "where another one does, of which there is one in the whole system", ["", *TRUE_FALSE]),
)  # fmt: skip
"""Name, default, meaning and, if they are few, the values."""


def generate_launch_description() -> LaunchDescription:
    """Declare the arguments; the nodes follow from their values."""
    declared = [
        DeclareLaunchArgument(name, default_value=default, description=text, choices=choices)
        for name, default, text, choices in ARGUMENTS
    ]
    return LaunchDescription([*declared, OpaqueFunction(function=nodes)])


def nodes(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """The nodes, for the arguments as they were given."""
    given = {name: LaunchConfiguration(name).perform(context) for name, *_ in ARGUMENTS}
    simulated = given["simulation"] == "true"
    share = share_folder()
    description, robot = robot_of(given["robot"], simulated)
    config = given["config"] or str(share / "config" / "robot_dynamics.yaml")
    if not Path(config).is_file():
        raise ArgumentError(f"config:={config}: no such file; give a parameter file")
    if given["motion"] == "file" and not Path(given["file"]).is_file():
        raise ArgumentError(f"file:={given['file']}: no such file; give a trajectory file")
    use_sim_time = {"use_sim_time": given["use_sim_time"] == "true"}
    common = [config, use_sim_time, {"robot_description": description}]
    paced = [*common, {"rate": rate_of(given["rate"])}] if given["rate"] else common

    commands = given["command_topic"] or ("effort_command" if simulated else HARDWARE_COMMANDS)

    def node(executable: str, parameters: list[object], **options: object) -> Node:
        return Node(
            package=PACKAGE,
            executable=executable,
            namespace=given["namespace"],
            parameters=parameters,
            remappings=[("effort_command", commands)],
            output="screen",
            **options,
        )

    own = {"controller_node": {"mode": given["mode"]}} if given["mode"] else {}
    # Somebody has to publish /clock: where the simulator runs, it keeps the time
    if simulated and (given["publish_clock"] or given["use_sim_time"] == "true"):
        own["simulator_node"] = {"publish_clock": given["publish_clock"] != "false"}
    names = [*(["simulator_node"] if simulated else []), "feedforward_node", "controller_node"]
    started = []
    if given["composed"] == "true":
        hardware = [] if simulated else ["--hardware"]
        parameters = [*paced, parameter_file(own)] if own else paced
        started.append(node("composed_nodes", parameters, arguments=hardware))
    else:
        for name in names:
            started.append(node(name, [*paced, own.get(name, {})], name=name))
    if given["motion"] != "none":
        motion = {"motion": given["motion"], "file": given["file"]}
        started.append(node("trajectory_node", [*common, motion], name="trajectory_node"))
    if given["rviz"] == "true":
        rviz_config = given["rviz_config"] or str(next(share.glob("*/robot_dynamics.rviz")))
        # Frames of one robot have the names of another's: each namespace has its own
        transforms = [("/tf", "tf"), ("/tf_static", "tf_static")]
        # First: where a package is missing, launch gives up before it has started the others
        started[:0] = [
            Node(
                package="robot_state_publisher",
                executable="robot_state_publisher",
                namespace=given["namespace"],
                parameters=[use_sim_time, {"robot_description": description}],
                remappings=transforms,
                output="screen",
            ),
            Node(
                package="rviz2",
                executable="rviz2",
                namespace=given["namespace"],
                arguments=["-d", rviz_config, "-f", robot.links[0].name],
                parameters=[use_sim_time],
                remappings=transforms,
                output="screen",
            ),
        ]
    return started


def parameter_file(values: Mapping[str, Mapping[str, object]]) -> str:
    """Path of a file with parameters by node: launch gives a process the same for all its nodes."""
    by_node = {f"/**/{name}": {"ros__parameters": dict(own)} for name, own in values.items()}
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", delete=False) as file:
        yaml.safe_dump(by_node, file)
    return file.name


def robot_of(name: str, simulated: bool) -> tuple[str, Robot]:
    """Text of the URDF, and the robot; read here so that a fault is told once, not by every node.

    Raises:
        RobotDynamicsError: If there is none, or it cannot be read, or simulated if it is to be.
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
    """The argument rate as a number that the nodes take.

    Raises:
        ArgumentError: If it is none.
    """
    (rate,) = (item for item in describe(LoopParameters) if item.name == "rate")
    try:
        return rate.checked(float(text))
    except ValueError:  # of float, and ArgumentError
        raise ArgumentError(f"rate:={text}: give {rate.allowed}, in Hz") from None
