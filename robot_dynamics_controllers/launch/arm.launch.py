"""Start controller_manager, the controller of an arm and a joint_trajectory_controller.

robot:=arm.urdf model:=arm.so   the URDF, and the library of `robot-dynamics export model`
hardware:=mock    mock hardware, which goes to every commanded position at once
hardware:=topic   JointState topics of a simulator or driver, by topic_based_hardware_interfaces
hardware:=urdf    the hardware in <ros2_control> of the URDF
chained:=false    no joint_trajectory_controller: references come on the topic ~/reference
"""

import ctypes
import struct
import tempfile
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

CONTROLLER = "arm_controller"
MOCK = "mock_components/GenericSystem"
TOPIC = "joint_state_topic_hardware_interface/JointStateTopicSystem"
ARGUMENTS = {
    "robot": (None, "URDF of the robot"),
    "model": (None, "library of the robot, written by robot-dynamics export model"),
    "hardware": ("mock", "mock, topic or urdf"),
    "chained": ("true", "whether the joint_trajectory_controller sends the references"),
    "commands_topic": ("/robot_joint_commands", "JointState to the robot, with hardware:=topic"),
    "states_topic": ("/robot_joint_states", "JointState of the robot, with hardware:=topic"),
}
MARGIN = 0.2
"""Distance of the initial position from the ends of a range, relative to the range."""

GOAL_TIME = 2.0
"""Time that joint_trajectory_controller allows for reaching a goal after its end, s."""

CANCEL = 0.5
"""Time from the velocity limit to rest when a goal is cancelled, s."""


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
    model = Path(given["model"]).absolute()
    joints = joints_of(model)
    root = ElementTree.fromstring(Path(given["robot"]).read_text(encoding="utf-8"))
    configs = [str(share / "config" / "controllers.yaml"), written(wiring(root, joints, model))]
    if given["hardware"] == "mock":
        configs.append(str(share / "config" / "mock.yaml"))
    add_hardware(root, joints, given)
    text = ElementTree.tostring(root, encoding="unicode")
    description = {"robot_description": ParameterValue(text, value_type=str)}  # as it is, no YAML
    controllers = ["joint_state_broadcaster", CONTROLLER]
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


NUMBERS = [(name, ctypes.c_double) for name in ("lower", "upper", "velocity", "effort")]
NAMES = [(name, ctypes.c_char_p) for name in ("robot", "fingerprint", "command", "version")]


SECTIONS = ("@Q", 0x28), ("@HH", 0x3A)
"""Formats and places of the start, entry size and length of the table of sections in the head of a
library of 64 bits."""


class Joint(ctypes.Structure):
    """The structure `robot_dynamics_joint`."""

    _fields_ = (("name", ctypes.c_char_p), ("rotates", ctypes.c_int), *NUMBERS)


class Model(ctypes.Structure):
    """The first fields of `robot_dynamics_model`."""

    _fields_ = (
        ("abi_version", ctypes.c_uint32),
        ("size", ctypes.c_uint32),
        *NAMES,
        ("joint_count", ctypes.c_size_t),
        ("joints", ctypes.POINTER(Joint)),
    )


def joints_of(path: Path) -> list[str]:
    """Return the names of the joints of a model.

    Raises:
        ValueError: If the file was cut off: the loader would end the process.
    """
    head = path.read_bytes()
    if head[:4] == b"\x7fELF" and len(head) >= 64:  # linkers write the table of sections last
        (table,), (size, count) = (struct.unpack_from(x, head, at) for x, at in SECTIONS)
        if table + size * count > len(head):
            raise ValueError(f"model '{path}' was cut off; copy it again")
    model = Model.in_dll(ctypes.CDLL(str(path)), "robot_dynamics_model")
    return [model.joints[i].name.decode() for i in range(model.joint_count)]


def wiring(root: ElementTree.Element, joints: list[str], model: Path) -> dict[str, Any]:
    """Return the parameters that name the model and the joints.

    Without tolerances a goal succeeds although the arm was stopped on its way; without
    decelerations the reference jumps back to the measured state when a goal is cancelled.
    """
    constraints: dict[str, Any] = {"goal_time": GOAL_TIME, "decelerate_on_cancel": True}
    for name in joints:
        tag = root.find(f"joint[@name='{name}']") if "'" not in name else None
        limit = {} if tag is None or tag.find("limit") is None else tag.find("limit").attrib
        slides = tag is not None and tag.get("type") == "prismatic"
        error = 0.1 if slides else 0.5
        speed = float(limit.get("velocity", 0.0))
        constraints[name] = {"trajectory": error, "goal": 0.2 * error}
        if speed > 0.0:
            constraints[name]["max_deceleration_on_cancel"] = speed / CANCEL
        else:
            constraints["decelerate_on_cancel"] = False
    front = {
        "joints": joints,
        "command_joints": [f"{CONTROLLER}/{name}" for name in joints],
        "constraints": constraints,
    }
    return {
        CONTROLLER: {"ros__parameters": {"model": str(model)}},
        "joint_trajectory_controller": {"ros__parameters": front},
    }


def written(parameters: Mapping[str, Any]) -> str:
    """Write parameters into a file that lasts as long as the system keeps temporary files."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", delete=False) as file:
        yaml.safe_dump(dict(parameters), file)
    return file.name


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
        for command in ("position", "effort") if plugin == MOCK else ("effort",):
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
