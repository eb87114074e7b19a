r"""Start simulated robot, feedforward, controller and a motion, and rviz if requested.

    ros2 launch robot_dynamics bringup.launch.py rviz:=true
    ros2 launch robot_dynamics bringup.launch.py robot:=/path/to/arm.urdf.xacro motion:=none

A real robot does not move before it gets a trajectory or `motion`:

    ros2 launch robot_dynamics bringup.launch.py robot:=arm.urdf simulation:=false \
        arm_controller:=arm_controller

List the arguments: `ros2 launch robot_dynamics bringup.launch.py --show-args`.
"""

from launch.actions import DeclareLaunchArgument, LogInfo, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from robot_dynamics.nodes.bringup.arguments import ARGUMENTS
from robot_dynamics.nodes.bringup.bringup import bringup
from robot_dynamics.nodes.bringup.wiring import File, StartedNode
from robot_dynamics.nodes.ros.parameter_files import keep_temporary_files_together, temporary_file


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
    wired = bringup({name: LaunchConfiguration(name).perform(context) for name, *_ in ARGUMENTS})
    return [*map(action, wired.nodes), *(LogInfo(msg=line) for line in wired.notes)]


def action(node: StartedNode) -> Node:
    """Return the action that starts a node."""
    return Node(
        package=node.package,
        executable=node.executable,
        name=node.name or None,
        namespace=node.namespace,
        parameters=[written(part) for part in node.parameters],
        remappings=list(node.remappings),
        arguments=[written(part) for part in node.arguments],
        additional_env=dict(node.environment),
        on_exit=[LogInfo(msg=node.at_exit)] if node.at_exit else None,
        output="screen",
    )


def written(part: object) -> object:
    """Return a part of a node, or the path of the file that it stands for."""
    return temporary_file(part.text) if isinstance(part, File) else part
