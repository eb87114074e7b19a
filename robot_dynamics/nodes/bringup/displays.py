"""Displays: rviz2, and the publishers of the poses that it shows."""

from __future__ import annotations

from collections.abc import Mapping

from robot_dynamics.nodes.bringup.wiring import File, StartedNode
from robot_dynamics.robot import Robot
from robot_dynamics.viewer.rviz_config import PREFIXES, mesh_prefixes, rviz_config

GHOST = "reference"
"""Prefix of the frames of the robot at the reference."""

RSP = "robot_state_publisher"

KEEP = "RViz: give rviz_config:=FILE to keep changes"
"""Title of a window whose configuration is temporary."""


def displays(
    given: Mapping[str, str], description: str, robot: Robot, reference: str, in_joints: bool
) -> list[StartedNode]:
    """Return rviz2 and the publishers of poses for it, as far as requested.

    Args:
        given: Arguments of the launch.
        description: Text of the URDF.
        robot: The robot.
        reference: Topic of the reference.
        in_joints: Whether the control law follows it, so that rviz2 shows the robot there.
    """
    wanted, shown = given[RSP], given["rviz"] != "false"
    parameters = {"use_sim_time": given["use_sim_time"] == "true"}
    described = {**parameters, "robot_description": description}
    namespace = given["namespace"]
    # Robots may share frame names: each namespace has its own /tf
    poses = (("/tf", "tf"), ("/tf_static", "tf_static"))
    started = []
    if wanted == "true" or (not wanted and shown and given["simulation"] == "true"):
        started.append(
            StartedNode(RSP, RSP, namespace=namespace, parameters=(described,), remappings=poses)
        )
    if shown:
        root = robot.links[0].name
        started.append(
            StartedNode(
                RSP,
                RSP,
                name="reference_state_publisher",
                namespace=namespace,
                parameters=({**described, "frame_prefix": f"{GHOST}/"},),
                remappings=(
                    *poses,
                    ("joint_states", reference),
                    ("robot_description", "~/description"),
                ),
            )
        )
        started.append(
            StartedNode(
                "static_transform_publisher",
                "tf2_ros",
                name="reference_root",
                namespace=namespace,
                remappings=poses,
                arguments=("--frame-id", root, "--child-frame-id", f"{GHOST}/{root}"),
            )
        )
    if given["rviz"] == "true":
        arguments: tuple[str | File, ...] = ("-d", given["rviz_config"])
        if not given["rviz_config"]:  # rviz2 offers to save changes, here to a temporary file
            config = File(rviz_config(robot, ghost=in_joints))
            arguments = ("-d", config, "-t", f"{robot.name} - {KEEP}")
        started.append(
            StartedNode(
                "rviz2",
                "rviz2",
                namespace=namespace,
                parameters=(parameters,),
                remappings=poses,
                arguments=arguments,
                environment={PREFIXES: mesh_prefixes()},
                at_exit="rviz2 has ended; the other nodes go on, and Ctrl-C ends them",
            )
        )
    return started
