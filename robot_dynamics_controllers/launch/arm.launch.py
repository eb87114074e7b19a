"""Start controller_manager, the controller of an arm and a joint_trajectory_controller.

robot:=arm.urdf config:=arm_controllers.yaml   the URDF, and the file of `export config`
hardware:=mock    mock hardware, which goes to every commanded position at once
hardware:=topic   JointState topics of a simulator or driver, by topic_based_hardware_interfaces
hardware:=urdf    the hardware in <ros2_control> of the URDF
chained:=false    no arm_trajectory_controller: references come on the topic ~/reference
namespace:=lbr    namespace of all nodes
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import yaml
from ament_index_python.packages import get_package_share_directory
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from launch import LaunchDescription

CONTROLLER, FRONT = "arm_controller", "arm_trajectory_controller"
MOCK = "mock_components/GenericSystem"
TOPIC = "joint_state_topic_hardware_interface/JointStateTopicSystem"
ARGUMENTS = {
    "robot": (None, "URDF of the robot"),
    "config": (None, "parameters of the controllers, written by robot-dynamics export config"),
    "hardware": ("mock", "mock, topic or urdf"),
    "chained": ("true", "whether the arm_trajectory_controller sends the references"),
    "namespace": ("", "namespace of all nodes"),
    "commands_topic": ("/robot_joint_commands", "JointState to the robot, with hardware:=topic"),
    "states_topic": ("/robot_joint_states", "JointState of the robot, with hardware:=topic"),
}
MARGIN = 0.2
"""Distance of the initial position from the ends of a range, relative to the range."""


def generate_launch_description() -> LaunchDescription:
    """Return the nodes."""
    arguments = [
        DeclareLaunchArgument(name, default_value=value, description=meaning)
        for name, (value, meaning) in ARGUMENTS.items()
    ]
    return LaunchDescription([*arguments, OpaqueFunction(function=nodes)])


def nodes(context: Any) -> list[Node]:
    """Return the nodes for the values of the arguments."""
    given = {name: LaunchConfiguration(name).perform(context) for name in ARGUMENTS}
    share = Path(get_package_share_directory("robot_dynamics_controllers"))
    controller, front = parameters_of(Path(given["config"]))
    joints = front["joints"]
    root = ElementTree.fromstring(Path(given["robot"]).read_text(encoding="utf-8"))
    configs = [given["config"]]
    if given["hardware"] == "mock" and controller["command_interfaces"] != ["position", "effort"]:
        configs.append(str(share / "config" / "mock.yaml"))
    add_hardware(root, joints, given)
    text = ElementTree.tostring(root, encoding="unicode")
    description = {"robot_description": ParameterValue(text, value_type=str)}  # as it is, no YAML
    controllers = ["joint_state_broadcaster", CONTROLLER]
    if given["chained"] == "true":
        controllers.append(FRONT)
    namespace = given["namespace"]
    return [
        Node(
            package="robot_state_publisher",
            executable="robot_state_publisher",
            namespace=namespace,
            parameters=[description],
        ),
        Node(
            package="controller_manager",
            executable="ros2_control_node",
            namespace=namespace,
            parameters=configs,
        ),
        Node(
            package="controller_manager",
            executable="spawner",
            namespace=namespace,
            arguments=[*controllers, "--activate-as-group"],
        ),
    ]


def parameters_of(config: Path) -> list[dict[str, Any]]:
    """Return the parameters of the model controller and of the one in front of it."""
    nodes = yaml.safe_load(config.read_text(encoding="utf-8"))["/**"]
    return [nodes[name]["ros__parameters"] for name in (CONTROLLER, FRONT)]


def add_hardware(root: ElementTree.Element, joints: list[str], given: Mapping[str, str]) -> None:
    """Put the hardware that is asked for into a URDF."""
    topics = {f"joint_{name}_topic": given[f"{name}_topic"] for name in ("commands", "states")}
    plugins = {"mock": (MOCK, {"calculate_dynamics": "true"}), "topic": (TOPIC, topics)}
    if given["hardware"] == "urdf":
        return
    if given["hardware"] not in plugins:
        raise ValueError(f"hardware:={given['hardware']}: give mock, topic or urdf")
    plugin, parameters = plugins[given["hardware"]]
    for old in root.findall("ros2_control"):
        root.remove(old)
    system = ElementTree.SubElement(root, "ros2_control", name="arm", type="system")
    hardware = ElementTree.SubElement(system, "hardware")
    ElementTree.SubElement(hardware, "plugin").text = plugin
    for name, value in parameters.items():
        ElementTree.SubElement(hardware, "param", name=name).text = value
    for tag in root.findall("joint"):
        if tag.get("name") not in joints:
            continue
        joint = ElementTree.SubElement(system, "joint", name=tag.get("name", ""))
        for command in ("position", "velocity", "effort") if plugin == MOCK else ("effort",):
            ElementTree.SubElement(joint, "command_interface", name=command)
        for state in ("position", "velocity", "effort"):
            item = ElementTree.SubElement(joint, "state_interface", name=state)
            if state == "position":
                value = repr(initial_position(tag))
                ElementTree.SubElement(item, "param", name="initial_value").text = value


def initial_position(tag: ElementTree.Element) -> float:
    """Return a position away from the ends of the range, zero where possible."""
    limit = tag.find("limit")
    if limit is None or tag.get("type") == "continuous":
        return 0.0
    lower, upper = (float(limit.get(end, 0.0)) for end in ("lower", "upper"))
    margin = MARGIN * (upper - lower)
    return min(max(0.0, lower + margin), upper - margin)
