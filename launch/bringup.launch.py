"""Start everything: simulated robot, feedforward, controller and a motion, and rviz if asked for.

    ros2 launch robot_dynamics bringup.launch.py rviz:=true
    ros2 launch robot_dynamics bringup.launch.py robot:=/path/to/arm.urdf.xacro motion:=none

What it takes: `ros2 launch robot_dynamics bringup.launch.py --show-args`.
"""

import os
import subprocess
from pathlib import Path

from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from robot_dynamics.control import MODES
from robot_dynamics.robot import read_urdf
from robot_dynamics.robot.library import find_robot, share_folder

PACKAGE = "robot_dynamics"
TRUE_FALSE = ["true", "false"]

ARGUMENTS = (
    ("robot", "puma_gupta", "Path of a URDF or xacro file, or name of a known robot", None),
    ("config", "", "Parameter file of the nodes; empty for config/robot_dynamics.yaml", None),
    ("motion", "excitation", "Motion to send",
     ["excitation", "random_poses", "file", "none"]),
    ("file", "", "Trajectory file of motion:=file", None),
    ("mode", "", "Control law, instead of that of the parameter file",
     ["", *MODES]),
    ("rate", "", "Rate of all nodes in Hz, instead of those of the parameter file", None),
    ("simulation", "true", "false: leave the simulator out; a robot publishes joint_states and "
     "takes effort_command", TRUE_FALSE),
    ("rviz", "false", "Start robot_state_publisher and rviz2", TRUE_FALSE),
    ("rviz_config", "", "Configuration of rviz2; empty for the shipped one", None),
    ("namespace", "", "Namespace of all nodes and topics", None),
    ("use_sim_time", "false", "Take the time from /clock", TRUE_FALSE),
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
    share = share_folder()
    description = robot_description(given["robot"])
    config = given["config"] or str(share / "config" / "robot_dynamics.yaml")
    if not Path(config).is_file():
        raise FileNotFoundError(f"config:={config}: no such file; give a parameter file")
    use_sim_time = {"use_sim_time": given["use_sim_time"] == "true"}
    common = [config, use_sim_time, {"robot_description": description}]
    paced = [*common, {"rate": float(given["rate"])}] if given["rate"] else common

    def node(name: str, parameters: list[object]) -> Node:
        return Node(
            package=PACKAGE,
            executable=name,
            name=name,
            namespace=given["namespace"],
            parameters=parameters,
            output="screen",
        )

    mode = [{"mode": given["mode"]}] if given["mode"] else []
    started = [node("feedforward_node", paced), node("controller_node", [*paced, *mode])]
    if given["simulation"] == "true":
        # Somebody has to publish /clock: where the simulator runs, it keeps the time
        clock = [{"publish_clock": True}] if given["use_sim_time"] == "true" else []
        started.append(node("simulator_node", [*paced, *clock]))
    if given["motion"] != "none":
        motion = {"motion": given["motion"], "file": given["file"]}
        started.append(node("trajectory_node", [*common, motion]))
    if given["rviz"] == "true":
        rviz_config = given["rviz_config"] or str(next(share.glob("*/robot_dynamics.rviz")))
        # First: where a package is missing, launch gives up before it has started the others
        started[:0] = [
            Node(
                package="robot_state_publisher",
                executable="robot_state_publisher",
                namespace=given["namespace"],
                parameters=[use_sim_time, {"robot_description": description}],
                output="screen",
            ),
            Node(
                package="rviz2",
                executable="rviz2",
                namespace=given["namespace"],
                arguments=["-d", rviz_config, "-f", read_urdf(description).links[0].name],
                parameters=[use_sim_time],
                output="screen",
            ),
        ]
    return started


def robot_description(robot: str) -> str:
    """URDF text of a known robot or of a file; xacro files go through xacro."""
    if os.path.isfile(robot) and robot.endswith(".xacro"):
        return subprocess.run(["xacro", robot], check=True, capture_output=True, text=True).stdout
    return find_robot(robot).read_text(encoding="utf-8")
