"""RobotNode: what all nodes that work on one robot have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription

from robot_dynamics.errors import ArgumentError, unknown_name
from robot_dynamics.nodes.complaints import Complaints
from robot_dynamics.nodes.description import Description, RobotParameters
from robot_dynamics.nodes.diagnostics import (
    PERIOD,
    TOPIC,
    Fault,
    Growth,
    Input,
    Level,
    Recent,
    array_msg,
    input_values,
    silent_inputs,
    status_msg,
    timing_faults,
    timing_values,
)
from robot_dynamics.nodes.loop import Loop, TakenByLoop
from robot_dynamics.nodes.parameters import Declared, parameter
from robot_dynamics.nodes.timing import Timing
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
    makes what depends on the robot; `node.attach(loop)` hands its fast work to a loop. From the
    first moment on it says once a second on /diagnostics how it is.

    Args:
        options: Options of `rclpy.node.Node`: context, namespace, parameter_overrides, ...

    Attributes:
        begun: Whether the node is at work.
        inputs: The topics that the loop reads.
        growth: For reports: which counters have grown since the last one.
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
        self._hardware = ""
        self.inputs: list[Input] = []
        self.growth = Growth()
        self._recent: Recent | None = None
        self._without_clock = False
        self._reports = self.create_publisher(DiagnosticArray, TOPIC, 10)
        # On steady time: a node whose /clock does not come must be able to say so
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(PERIOD, self._report, clock=steady)

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
        robot = self._description.robot(ok)
        self._hardware = robot.name if robot is not None else ""
        return robot

    def begin(self, robot: Robot) -> None:
        """Make what depends on the robot: equations, publishers, subscriptions."""
        raise NotImplementedError

    def attach(self, loop: Loop) -> None:
        """Hand the fast work of the node to a loop."""
        raise NotImplementedError

    def fast_subscription(
        self, kind: type, topic: str, callback: Callable[[Any], None], qos: QoSProfile
    ) -> Subscription:
        """Subscription whose messages the loop takes; their number and age are reported."""
        counted = Input(topic, callback)
        self.inputs.append(counted)
        return self.create_subscription(kind, topic, counted, qos, callback_group=self._fast)

    # -- diagnostics, in the executor's thread ------------------------------------------------

    def diagnostics(self) -> Mapping[str, object]:
        """What the node reports of itself, by name; called once a second once it has begun.

        Timing, inputs and refused messages are reported for every node and need
        not stand here. Values may be numbers, text, or lists of them.
        """
        return {}

    def faults(self) -> Sequence[Fault]:
        """What is wrong with the node now, besides its timing and refused messages.

        By default inputs that had been coming and have stopped.
        """
        return silent_inputs(self.inputs)

    def watch(self, timing: Timing) -> None:
        """Report how a task keeps its rate."""
        self._recent = Recent(timing)

    def _report(self) -> None:
        self._reports.publish(array_msg(self._status(), self.get_clock().now().to_msg()))

    def _status(self) -> DiagnosticStatus:
        name = self.get_fully_qualified_name().lstrip("/")
        if not self.begun:
            return status_msg(name, "", [Fault(Level.WARN, "waiting for the robot")], {})
        timing = self._recent.report() if self._recent is not None else None
        faults = [*timing_faults(timing), *self._refusals(), *self._clock_faults()]
        values = timing_values(timing)
        values.update(input_values(self.inputs))
        values.update({f"{t}: refused": n for t, n in self.complaints.count.copy().items()})
        try:
            faults += self.faults()
            values.update(self.diagnostics())
        except Exception as error:  # a report must not stop what it reports on
            faults.append(Fault(Level.ERROR, f"diagnostics failed: {error!r}"))
        return status_msg(name, self._hardware, faults, values)

    def _clock_faults(self) -> list[Fault]:
        """A fault while time is to come from /clock but none has come; logged once."""
        missing = (
            self.get_parameter("use_sim_time").value and not self.get_clock().now().nanoseconds
        )
        if not missing:
            return []
        line = "use_sim_time is set but no /clock comes; start what publishes it, or unset it"
        if not self._without_clock:
            self._without_clock = True
            self.get_logger().warning(line)
        return [Fault(Level.ERROR, line)]

    def _refusals(self) -> list[Fault]:
        """A fault for every topic of which messages were refused since the last report."""
        return [
            Fault(Level.WARN, f"{new} refused, the last because {self.complaints.last(topic)}")
            for topic, count in self.complaints.count.copy().items()
            if (new := self.growth.of(topic, count))
        ]


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
