"""Start the controller manager, the controller of the arm and a joint_trajectory_controller.

hardware:=mock    mock hardware, which goes to every commanded position at once
hardware:=topic   JointState topics of a simulator or driver, by topic_based_hardware_interfaces
hardware:=urdf    the hardware in <ros2_control> of the URDF
chained:=false    no joint_trajectory_controller: references come on the topic ~/reference
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from ament_index_python.packages import get_package_share_directory
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from launch import LaunchDescription

MOCK = "mock_components/GenericSystem"
TOPIC = "joint_state_topic_hardware_interface/JointStateTopicSystem"
ARGUMENTS = {
    "hardware": ("mock", "mock, topic or urdf"),
    "chained": ("true", "whether the joint_trajectory_controller sends the references"),
    "commands_topic": ("/robot_joint_commands", "JointState to the robot, with hardware:=topic"),
    "states_topic": ("/robot_joint_states", "JointState of the robot, with hardware:=topic"),
}


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
    share = Path(get_package_share_directory("@package@"))
    configs = [str(share / "config" / "controllers.yaml")]
    if given["hardware"] == "mock":
        configs.append(str(share / "config" / "mock.yaml"))
    text = robot_description(share, given)
    description = {"robot_description": ParameterValue(text, value_type=str)}  # as it is, no YAML
    controllers = ["joint_state_broadcaster", "@controller@"]
    if given["chained"] == "true":
        controllers.append("joint_trajectory_controller")
    return [
        Node(
            package="robot_state_publisher",
            executable="robot_state_publisher",
            parameters=[description],
        ),
        Node(package="controller_manager", executable="ros2_control_node", parameters=configs),
        Node(
            package="controller_manager",
            executable="spawner",
            arguments=[*controllers, "--activate-as-group"],
        ),
    ]


def robot_description(share: Path, given: Mapping[str, str]) -> str:
    """Return the URDF, with the hardware that is asked for."""
    text = (share / "urdf" / "@package@.urdf").read_text(encoding="utf-8")
    topics = {f"joint_{name}_topic": given[f"{name}_topic"] for name in ("commands", "states")}
    plugins = {"mock": (MOCK, {"calculate_dynamics": "true"}), "topic": (TOPIC, topics)}
    if given["hardware"] == "urdf":
        return text
    if given["hardware"] not in plugins:
        raise ValueError(f"hardware:={given['hardware']}: give mock, topic or urdf")
    plugin, parameters = plugins[given["hardware"]]
    root = ElementTree.fromstring(text)
    for hardware in root.iterfind("ros2_control/hardware"):
        hardware.clear()
        ElementTree.SubElement(hardware, "plugin").text = plugin
        for name, value in parameters.items():
            ElementTree.SubElement(hardware, "param", name=name).text = value
    for joint in root.iterfind("ros2_control/joint"):
        commands = {found.get("name"): found for found in joint.iterfind("command_interface")}
        if plugin == MOCK and "position" not in commands:  # by which mock hardware moves
            ElementTree.SubElement(joint, "command_interface", name="position")
        if plugin == TOPIC and {"position", "effort"} <= commands.keys():
            joint.remove(commands["position"])  # it would be sent as NaN
    return ElementTree.tostring(root, encoding="unicode")
