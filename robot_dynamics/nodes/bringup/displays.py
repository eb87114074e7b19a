"""Displays: rviz2, and the publishers of the poses that it shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from robot_dynamics.nodes.bringup.wiring import File, StartedNode
from robot_dynamics.robot import Robot
from robot_dynamics.viewer.rviz_config import PREFIXES, mesh_prefixes, rviz_config

GHOST = "reference"
"""Prefix of the frames of the robot at the reference."""

RSP = "robot_state_publisher"

OWN_TF = (("/tf", "tf"), ("/tf_static", "tf_static"))
"""Robots may share frame names: each namespace has its own /tf."""

KEEP = "RViz: give rviz_config:=FILE to keep changes"
"""Title of a window whose configuration is temporary."""


def displays(
    given: Mapping[str, str], description: str, robot: Robot, reference: str, in_joints: bool
) -> list[StartedNode]:
    """Return rviz2 and the publishers of poses for it, as far as requested.

    A second robot_state_publisher shows the robot at the reference, on the root of the robot.

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
    started: list[StartedNode] = []

    def node(executable: str, package: str, *remappings: tuple[str, str], **rest: Any) -> None:
        renamed = (*OWN_TF, *remappings)
        started.append(
            StartedNode(
                executable, package, namespace=given["namespace"], remappings=renamed, **rest
            )
        )

    if wanted == "true" or (not wanted and shown and given["simulation"] == "true"):
        node(RSP, RSP, parameters=(described,))
    if shown:
        root = robot.links[0].name
        node(
            RSP,
            RSP,
            ("joint_states", reference),
            ("robot_description", "~/description"),
            name="reference_state_publisher",
            parameters=({**described, "frame_prefix": f"{GHOST}/"},),
        )
        node(
            "static_transform_publisher",
            "tf2_ros",
            name="reference_root",
            arguments=("--frame-id", root, "--child-frame-id", f"{GHOST}/{root}"),
        )
    if given["rviz"] == "true":
        arguments: tuple[str | File, ...] = ("-d", given["rviz_config"])
        if not given["rviz_config"]:  # rviz2 offers to save changes, here to a temporary file
            config = File(rviz_config(robot, ghost=in_joints))
            arguments = ("-d", config, "-t", f"{robot.name} - {KEEP}")
        node(
            "rviz2",
            "rviz2",
            parameters=(parameters,),
            arguments=arguments,
            environment={PREFIXES: mesh_prefixes()},
            at_exit="rviz2 has ended; the other nodes go on, and Ctrl-C ends them",
        )
    return started
