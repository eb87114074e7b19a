"""Description: where a node gets its robot from."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

from rclpy.node import Node
from std_msgs.msg import String

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.nodes.parameters import parameter
from robot_dynamics.nodes.qos import LATCHED
from robot_dynamics.robot import Robot, read_urdf
from robot_dynamics.robot.library import find_robot

TOPIC = "robot_description"

REMINDER = 10.0
"""Time between two log lines of a node that waits for its robot, s."""


@dataclass(frozen=True)
class RobotParameters:
    """Where the robot comes from, for every node."""

    robot_description: str = parameter(
        "", "URDF text; where it is empty, urdf_path counts", read_only=True
    )
    urdf_path: str = parameter(
        "",
        "URDF file, or the name of a known robot; where it is empty, the topic robot_description "
        "is read",
        read_only=True,
    )


class Description:
    """The robot of a node: from its parameters, or else from the topic `robot_description`.

    Args:
        node: The node.
        parameters: Its parameters.
        require_inertia: Whether every joint must accelerate something, as simulation needs.
    """

    def __init__(
        self, node: Node, parameters: RobotParameters, *, require_inertia: bool = False
    ) -> None:
        self._node = node
        self._parameters = parameters
        self._require_inertia = require_inertia
        self._arrived = threading.Event()
        self._text = ""
        self._settled = False
        if not parameters.robot_description and not parameters.urdf_path:
            self._subscription = node.create_subscription(String, TOPIC, self._on_text, LATCHED)

    def robot(self, ok: Callable[[], bool]) -> Robot | None:
        """Wait for the robot, with a line on the log now and then.

        An executor must run in another thread. What comes by topic and cannot be read is
        refused with one line, and the wait goes on.

        Args:
            ok: Called while waiting; false ends the wait.

        Returns:
            The robot, or None if `ok()` became false.

        Raises:
            UrdfError: If the description in a parameter cannot be read.
            UnknownNameError: If `urdf_path` is neither a file nor a known robot.
        """
        given = self._parameters
        if given.robot_description:
            return self._read(given.robot_description)
        if given.urdf_path:
            return self._read(find_robot(given.urdf_path))
        topic = self._node.resolve_topic_name(TOPIC)
        told = monotonic() - REMINDER + 1.0
        while ok():
            if self._arrived.wait(0.05):
                self._arrived.clear()
                try:
                    robot = self._read(self._text)
                    self._settled = True
                    return robot
                except RobotDynamicsError as error:
                    self._node.get_logger().error(f"topic {topic}: {error}")
            if monotonic() - told > REMINDER:
                told = monotonic()
                self._node.get_logger().info(
                    f"waiting for a robot on topic {topic}; publish one, or set the parameter "
                    "urdf_path or robot_description"
                )
        return None

    def _read(self, source: object) -> Robot:
        return read_urdf(str(source), require_inertia=self._require_inertia)

    def _on_text(self, msg: String) -> None:
        if not self._settled:
            self._text = msg.data
            self._arrived.set()
        elif self._text != msg.data:
            self._node.get_logger().warning(
                "another robot_description arrived and is ignored; restart the node to use it"
            )
