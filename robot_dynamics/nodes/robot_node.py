"""RobotNode: what all nodes that work on one robot have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription

from robot_dynamics.errors import ArgumentError, unknown_name
from robot_dynamics.nodes.complaints import Complaints
from robot_dynamics.nodes.description import Description, RobotParameters
from robot_dynamics.nodes.loop import Loop, TakenByLoop
from robot_dynamics.nodes.parameters import Declared, parameter
from robot_dynamics.robot import Robot
from robot_dynamics.robot.robot import Array
from robot_dynamics.trajectory.motions import middle_pose

P = TypeVar("P", bound=RobotParameters)


@dataclass(frozen=True)
class LoopParameters(RobotParameters):
    """Parameters of nodes whose work is fast."""

    joints: tuple[str, ...] = parameter(
        (),
        "Joints that move, in the order of effort_command and feedforward_effort; empty for all "
        "joints of the robot",
        read_only=True,
    )
    rate: float = parameter(
        1000.0, "Rate of the node's work, Hz", low=1.0, high=2000.0, read_only=True
    )
    realtime_priority: int = parameter(
        0,
        "Real-time priority (SCHED_FIFO) of the node's fast work; 0 for ordinary scheduling",
        low=0,
        high=99,
        read_only=True,
    )


class RobotNode(Node, Generic[P]):  # type: ignore[misc]  # rclpy is untyped where it is absent
    """A node that works on one robot, alone in its process or together with others.

    Its life: built with its parameters; `robot = node.wait_for_robot(...)`; `node.begin(robot)`
    makes what depends on the robot; `node.attach(loop)` hands its fast work to a loop.

    Args:
        options: Options of `rclpy.node.Node`: context, namespace, parameter_overrides, ...

    Attributes:
        begun: Whether the node is at work.
    """

    NAME: ClassVar[str]
    PARAMETERS: ClassVar[type[Any]]
    NEEDS_INERTIA: ClassVar[bool] = False

    def __init__(self, **options: Any) -> None:
        super().__init__(self.NAME, **options)
        self.declared: Declared[P] = Declared(
            self, self.PARAMETERS, check=self.check, changed=self._on_changed
        )
        self.begun = False
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
        """Called after parameters have changed, once the node has begun."""

    def _on_changed(self, value: P) -> None:
        if self.begun:
            self.changed(value)

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


def moved(robot: Robot, joints: Sequence[str]) -> tuple[Robot, Array]:
    """The robot as the parameter `joints` has it move: its other joints are locked.

    They count with their mass, in the middle of their ranges.

    Args:
        robot: Any robot.
        joints: The joints that move, in any order; empty for all.

    Returns:
        The robot, and the index into its `joint_names` of every entry of `joints`, shape (n,).

    Raises:
        UnknownNameError: If the robot has no such independent joint.
        ArgumentError: If a joint stands twice.
    """
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
