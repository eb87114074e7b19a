"""RobotNode: what all nodes that work on one robot have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription

from robot_dynamics.errors import unknown_name
from robot_dynamics.nodes.complaints import Complaints
from robot_dynamics.nodes.description import Description, RobotParameters
from robot_dynamics.nodes.loop import Loop, TakenByLoop
from robot_dynamics.nodes.parameters import Declared
from robot_dynamics.robot import Robot
from robot_dynamics.robot.robot import Array

P = TypeVar("P", bound=RobotParameters)


class RobotNode(Node, Generic[P]):  # type: ignore[misc]  # rclpy is untyped where it is absent
    """A node that works on one robot, alone in its process or together with others.

    Its life: built with its parameters; `robot = node.wait_for_robot(...)`; `node.begin(robot)`
    makes what depends on the robot; `node.attach(loop)` hands its fast work to a loop.

    Args:
        options: Options of `rclpy.node.Node`: context, namespace, parameter_overrides, ...
    """

    NAME: ClassVar[str]
    PARAMETERS: ClassVar[type[Any]]
    NEEDS_INERTIA: ClassVar[bool] = False

    def __init__(self, **options: Any) -> None:
        super().__init__(self.NAME, **options)
        self.declared: Declared[P] = Declared(
            self, self.PARAMETERS, check=self.check, changed=self.changed
        )
        self.complaints = Complaints(self.get_logger().warning)
        self._fast = TakenByLoop()
        self._description = Description(
            self, self.declared.value, require_inertia=self.NEEDS_INERTIA
        )

    @property
    def parameters(self) -> P:
        """The parameters as they are now."""
        return self.declared.value

    def check(self, value: P) -> None:
        """Refuse a set of parameters by raising a RobotDynamicsError."""

    def changed(self, value: P) -> None:
        """Called after parameters have changed."""

    def wait_for_robot(self, ok: Callable[[], bool]) -> Robot | None:
        """See `Description.robot`."""
        return self._description.robot(ok)

    def begin(self, robot: Robot) -> None:
        """Make what depends on the robot: equations, publishers, subscriptions."""
        raise NotImplementedError

    def attach(self, loop: Loop) -> None:
        """Hand the fast work of the node to a loop."""
        raise NotImplementedError

    def fast_subscription(
        self, kind: type, topic: str, callback: Callable[[Any], None], qos: QoSProfile
    ) -> Subscription:
        """Subscription whose messages the loop takes."""
        return self.create_subscription(kind, topic, callback, qos, callback_group=self._fast)


def chosen_joints(robot: Robot, joints: Sequence[str]) -> tuple[tuple[str, ...], Array]:
    """The joints of the parameter `joints`, all of the robot by default, and where they stand.

    Returns:
        Names, and their indices into `robot.joint_names`.

    Raises:
        UnknownNameError: If the robot has no such independent joint.
    """
    names = tuple(joints) or robot.joint_names
    for name in names:
        if name not in robot.joint_names:
            raise unknown_name("joint", name, f"robot '{robot.name}'", robot.joint_names)
    return names, np.array([robot.joint_names.index(name) for name in names], dtype=np.intp)
