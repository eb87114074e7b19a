"""RobotDescription: the source of a node's robot, and the choice of its moving joints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic

import numpy as np
from rclpy.node import Node
from std_msgs.msg import String

from robot_dynamics.errors import ArgumentError, RobotDynamicsError, unknown_name
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.nodes.ros.node_parameters import listed_group, parameter
from robot_dynamics.nodes.ros.topics import DESCRIPTION_QOS
from robot_dynamics.robot import Robot, read_urdf
from robot_dynamics.robot.catalogue import located
from robot_dynamics.simulation import check_physical
from robot_dynamics.trajectory.motions import middle_pose

DESCRIPTION_TOPIC = "robot_description"

REMINDER_PERIOD_S = 10.0
"""Period of the log lines of a node that waits for its robot, s."""


@dataclass(frozen=True)
class RobotParameters:
    """Parameters of every node: source of the robot and moving joints."""

    robot_description: str = parameter(
        "",
        "URDF text; empty: urdf_path applies. A description of the same joints may replace it at "
        "any time",
    )
    urdf_path: str = parameter(
        "",
        "URDF file, or the name of a known robot; empty: read the topic robot_description",
        read_only=True,
    )
    joints: tuple[str, ...] = parameter(
        (),
        "Joints that move, in the order of effort_command and feedforward_effort; empty for all "
        "joints of the robot",
        read_only=True,
    )
    log_urdf_warnings: bool = parameter(
        True,
        "Log at the start which parts of the URDF are ignored; false if another node logs it",
        read_only=True,
    )
    autostart: bool = parameter(
        True,
        "Configure and activate the node at its start; false: wait for lifecycle transitions",
        read_only=True,
    )

    def check(self) -> None:
        """Refuse values that do not fit each other.

        Raises:
            ArgumentError: One line that names the parameter and the remedy.
        """


JointLimitParameters = listed_group("limits", "velocity", "effort")
"""Limits of one joint for all that a node plans, checks and commands."""


class RobotDescription:
    """The robot of a node: from its parameters, or else from the topic `robot_description`.

    Args:
        node: The node.
        parameters: Its parameters.
        changed: Called with every new text from the topic.
        require_inertia: Whether every joint must move inertia, and every moving link must be
            physically consistent, as simulation needs.

    Attributes:
        text: The latest description.
    """

    def __init__(
        self,
        node: Node,
        parameters: RobotParameters,
        changed: Callable[[str], None],
        *,
        require_inertia: bool = False,
    ) -> None:
        self._node = node
        self._path = parameters.urdf_path
        self._changed = changed
        self._require_inertia = require_inertia
        self._arrived = False
        self._remind_at = monotonic() + 1.0
        self.text = parameters.robot_description
        self._by_topic = not self.text and not self._path
        if self._by_topic:
            self._subscription = node.create_subscription(
                String, DESCRIPTION_TOPIC, self._on_text, DESCRIPTION_QOS
            )

    def ready(self) -> bool:
        """Return whether there is a robot; log every 10 s that the node waits for one.

        A text from the topic that cannot be read is refused with one line.
        """
        if not self._by_topic:
            return True
        topic, now = self._node.resolve_topic_name(DESCRIPTION_TOPIC), monotonic()
        if self._arrived:
            self._arrived = False
            try:
                self.read(self.text)
                return True
            except RobotDynamicsError as error:
                self._node.get_logger().error(f"topic {topic}: {error}")
        if now > self._remind_at:
            self._remind_at = now + REMINDER_PERIOD_S
            self._node.get_logger().info(
                f"waiting for a robot on topic {topic}; publish one, or set the parameter "
                "urdf_path or robot_description"
            )
        return False

    def robot(self) -> Robot:
        """Return the robot of the latest description.

        Raises:
            UrdfError: If the description cannot be read.
            UnknownNameError: If `urdf_path` is neither a file nor a known robot.
            RobotDynamicsError: If there is none yet.
        """
        if self.text:
            return self.read(self.text)
        if self._path:
            return self.read(located(self._path))
        raise RobotDynamicsError(
            f"no robot yet; publish one on {self._node.resolve_topic_name(DESCRIPTION_TOPIC)}, or "
            "set the parameter urdf_path or robot_description"
        )

    @property
    def source(self) -> str:
        """The latest description: text, or path of a file.

        Raises:
            UnknownNameError: If `urdf_path` is neither a file nor a known robot.
        """
        return self.text or located(self._path)

    def read(self, source: object) -> Robot:
        """Return a robot from URDF text or from a path.

        Raises:
            UrdfError: If it cannot be read.
            RobotError: If it is to be simulated and is not physically consistent.
        """
        robot = read_urdf(str(source), require_inertia=self._require_inertia, free_joints=False)
        if self._require_inertia:
            check_physical(robot)
        return robot

    def _on_text(self, msg: String) -> None:
        if msg.data != self.text:
            self.text = msg.data
            self._arrived = True
            self._changed(msg.data)


def moved(robot: Robot, joints: Sequence[str]) -> tuple[Robot, Array]:
    """Return the robot with all joints locked except those of the parameter `joints`.

    Locked joints stand in the middle of their ranges; their links keep their mass.

    Args:
        robot: Any robot.
        joints: Names of the moving joints, in any order; empty for all.

    Returns:
        The robot, and the index into its `joint_names` of every entry of `joints`, shape (n,).

    Raises:
        UnknownNameError: If the robot has no such independent joint.
        ArgumentError: If a joint is named twice, or the robot has none.
    """
    if not robot.dof:
        raise ArgumentError(
            f"robot '{robot.name}' has no joint that moves, so there is nothing to do; give the "
            "URDF of an arm"
        )
    names = tuple(joints) or robot.joint_names
    for i, name in enumerate(names):
        if name not in robot.joint_names:
            raise unknown_name("joint", name, f"robot '{robot.name}'", robot.joint_names)
        if name in names[:i]:
            raise ArgumentError(f"parameter 'joints': '{name}' stands twice; name it once")
    rest = dict(zip(robot.joint_names, middle_pose(robot).tolist(), strict=True))
    locked = {name: q for name, q in rest.items() if name not in names}
    if locked:
        robot = robot.with_locked(locked)
    return robot, np.array([robot.joint_names.index(name) for name in names], dtype=np.intp)


def described_joints(robot: Robot) -> tuple[str, ...]:
    """Return names and types of the moving joints, in order."""
    return tuple(f"{joint.name} ({joint.type.value})" for joint in robot.moving_joints)
