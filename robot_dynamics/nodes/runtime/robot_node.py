"""RobotNode: what all nodes that work on one robot have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Generic, TypeVar

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile, qos_policy_name_from_kind
from rclpy.subscription import Subscription

from robot_dynamics.arrays import Array
from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.nodes.ros.diagnostics import (
    DIAGNOSTICS_TOPIC,
    REPORT_PERIOD_S,
    CounterDeltas,
    Fault,
    Level,
    array_msg,
    status_msg,
)
from robot_dynamics.nodes.ros.message_bytes import READERS
from robot_dynamics.nodes.ros.messages import JointReader
from robot_dynamics.nodes.ros.node_parameters import Declared, parameter, unknown_parameters
from robot_dynamics.nodes.runtime.chores import Chore
from robot_dynamics.nodes.runtime.exchange import Inlet, Outlet
from robot_dynamics.nodes.runtime.lifecycle import ManagedNode
from robot_dynamics.nodes.runtime.loop import Loop, LoopCallbackGroup
from robot_dynamics.nodes.runtime.loop_statistics import (
    Input,
    RecentTiming,
    input_values,
    stale_inputs,
    timing_faults,
    timing_values,
)
from robot_dynamics.nodes.runtime.robot_description import (
    RobotDescription,
    RobotParameters,
    described_joints,
    moved,
)
from robot_dynamics.nodes.runtime.throttled_log import REPEAT_AFTER_S, ThrottledLog
from robot_dynamics.robot import Robot

try:
    from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
except ImportError:  # Humble
    from rclpy.qos_event import PublisherEventCallbacks, SubscriptionEventCallbacks

P = TypeVar("P", bound=RobotParameters)
G = TypeVar("G")


@dataclass(frozen=True)
class LoopParameters(RobotParameters):
    """Parameters of nodes whose work is fast."""

    rate: float = parameter(
        1000.0, "Rate of the node's work, Hz", low=1.0, high=10000.0, read_only=True
    )
    realtime_priority: int = parameter(
        0,
        "Real-time priority (SCHED_FIFO) of the node's fast work; 0 for ordinary scheduling",
        low=0,
        high=99,
        read_only=True,
    )
    cpu_affinity: tuple[int, ...] = parameter(
        (), "Processors that the node's fast work may run on; empty for all", low=0, read_only=True
    )
    lock_memory: bool = parameter(
        False, "Keep the memory of the node's process where it is, never on disk", read_only=True
    )
    collect_garbage: bool = parameter(
        True,
        "Let Python look for reference cycles while the node works: milliseconds at a time; "
        "without, memory grows slowly with every service that is called",
        read_only=True,
    )


class RobotNode(ManagedNode, Generic[P]):
    """A node that works on one robot, alone in its process or together with others.

    Built with its parameters, configured when it has a robot, and at work once it is active:
    `activate` hands the fast work to the loop by `start_task`. From the first moment on it says
    once a second on /diagnostics how it is. A new description of the same joints is taken up by
    `update_robot` while it runs.

    Args:
        options: Options of `rclpy.node.Node`: context, namespace, parameter_overrides, ...

    Attributes:
        robot: The robot, its joints that are not to move locked; known once configured.
        loop: Runs the fast work; set by the process.
        task: Name of the fast work in the loop.
        chores: Slow work at steady times; see `every`.
        inputs: The topics that the loop reads.
        growth: For reports: which counters have grown since the last one.
    """

    NAME: ClassVar[str]
    PARAMETERS: ClassVar[type[Any]]
    NEEDS_INERTIA: ClassVar[bool] = False

    def __init__(self, **options: Any) -> None:
        super().__init__(self.NAME, **options)
        self.declared: Declared[P] = Declared(
            self, self.PARAMETERS, check=self._check, changed=self._on_changed
        )
        self.throttled_log = ThrottledLog(self.get_logger().warning)
        self.robot: Robot
        self.loop: Loop
        self.task = self.get_fully_qualified_name().lstrip("/")
        self._time_of_clock = self.get_clock().handle.get_now
        self._fast = LoopCallbackGroup()
        self._description = RobotDescription(
            self, self.declared.value, self._on_description, require_inertia=self.NEEDS_INERTIA
        )
        self._groups: list[Declared[Any]] = []
        self.inputs: list[Input] = []
        self._ends: list[Inlet | Outlet] = []
        self.counter_deltas = CounterDeltas()
        self._recent: RecentTiming | None = None
        self._without_clock = False
        self._reports = self.create_publisher(DiagnosticArray, DIAGNOSTICS_TOPIC, 10)
        self.chores: list[Chore] = []
        self.every(REPORT_PERIOD_S, self._report)

    @property
    def nanoseconds(self) -> int:
        """Present time of the node's clock, ns; sooner than by `get_clock().now()`."""
        return int(self._time_of_clock().nanoseconds)

    @property
    def parameters(self) -> P:
        """The parameters as they are now."""
        return self.declared.value

    def check(self, value: P) -> None:
        """Refuse a set of parameters by raising a RobotDynamicsError."""

    def changed(self, value: P) -> None:
        """Called after parameters have changed, once the node is configured."""

    def group(self, kind: type[G], prefix: str, **options: Any) -> Declared[G]:
        """Declare a group of parameters that depends on the robot; see `Declared`."""
        declared = Declared(self, kind, prefix, **options)
        self._groups.append(declared)
        return declared

    def _check(self, value: P) -> None:
        given = value.robot_description
        if self.configured and given != self.parameters.robot_description:
            try:
                self._with_same_joints(self._description.read(given))
            except RobotDynamicsError as error:
                raise ArgumentError(f"parameter 'robot_description': {error}") from None
        self.check(value)

    def _on_changed(self, value: P) -> None:
        if value.robot_description and value.robot_description != self._description.text:
            self._description.text = value.robot_description
            self._on_description(value.robot_description)
        if self.configured:
            self.changed(value)

    # -- life ---------------------------------------------------------------------------------

    def update_robot(self, robot: Robot) -> None:
        """Work from now on with another description of the same joints, without a jump.

        Afterwards it is `robot`.
        """

    @property
    def has_robot(self) -> bool:
        """Whether there is a robot to be configured with; see `RobotDescription.ready`."""
        return self._description.ready()

    def configure(self) -> None:
        """See `ManagedNode.configure`: read the robot; a subclass makes what depends on it."""
        self.robot, self._order = self._moving(self._description.robot())

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """See `ManagedNode.on_configure`; by its end all groups of parameters are declared."""
        result = super().on_configure(state)
        if self.configured:
            self.loop.exchange.join(self, self._ends)
        if self.configured and (line := unknown_parameters(self)):
            self.get_logger().warning(line)
        return result

    def start_task(self, tick: Callable[[], None], rate: float | None = None, **io: Any) -> None:
        """Have the loop do the fast work; see `Loop.add`. By default at the node's `rate`, Hz."""
        timing = self.loop.add(self.task, rate or self.parameters.rate, tick, **io)  # type: ignore[attr-defined]
        self._recent = RecentTiming(timing)

    def every(self, period: float, work: Callable[[], object]) -> None:
        """Do slow work every `period` s, by steady time, until `cleanup`.

        Instead of a timer, which costs the loop far more; see `Chore`.
        """
        self.chores.append(Chore(period, work))

    def deactivate(self) -> None:
        """See `ManagedNode.deactivate`."""
        self.loop.remove(self.task)
        self._recent = None

    def cleanup(self) -> None:
        """See `ManagedNode.cleanup`."""
        for group in self._groups:
            group.close()
        self._groups.clear()
        del self.chores[1:]  # all but the report, which is made from the first moment on
        self.inputs.clear()
        self.loop.exchange.leave(self)
        self._ends.clear()

    # -- the robot ----------------------------------------------------------------------------

    def _moving(self, robot: Robot) -> tuple[Robot, Array]:
        return moved(robot, self.parameters.joints)

    def _on_description(self, text: str) -> None:
        """Take up a robot description that came while the node runs, or refuse it."""
        if not self.configured:
            return  # read when the node is configured
        try:
            robot = self._with_same_joints(self._description.read(text))
            self.update_robot(robot)
        except RobotDynamicsError as error:
            self.throttled_log.warn("robot_description", f"robot_description refused: {error}")
            return
        self.robot = robot
        self.get_logger().info(f"using the new description of robot '{robot.name}'")

    def _with_same_joints(self, robot: Robot) -> Robot:
        """The robot as it is to move, if it can take the place of the present one.

        Raises:
            RobotDynamicsError: If it has other joints.
        """
        new, _ = self._moving(robot)
        theirs, ours = described_joints(new), described_joints(self.robot)
        if theirs != ours:
            raise ArgumentError(
                f"robot '{robot.name}' has the joints {', '.join(theirs)}, but "
                f"{self.get_name()} works on {', '.join(ours)}; restart the node to change joints"
            )
        return new

    def create_subscription(
        self, kind: type, topic: str, callback: Callable[[Any], None], qos: Any, **options: Any
    ) -> Subscription:
        """As of rclpy; a publisher that offers too little is named on the log, with the remedy."""
        if isinstance(qos, QoSProfile) and "event_callbacks" not in options:
            warn = partial(self._on_incompatible, "publish it", topic, qos)
            options["event_callbacks"] = SubscriptionEventCallbacks(incompatible_qos=warn)
        return super().create_subscription(kind, topic, callback, qos, **options)

    def create_publisher(self, kind: type, topic: str, qos: Any, **options: Any) -> Publisher:
        """As of rclpy; a subscriber that asks for too much is named on the log, with the remedy."""
        if isinstance(qos, QoSProfile) and "event_callbacks" not in options:
            warn = partial(self._on_incompatible, "subscribe to it", topic, qos)
            options["event_callbacks"] = PublisherEventCallbacks(incompatible_qos=warn)
        return super().create_publisher(kind, topic, qos, **options)

    def _on_incompatible(self, remedy: str, topic: str, qos: QoSProfile, info: Any) -> None:
        policy = qos_policy_name_from_kind(info.last_policy_kind)
        self.get_logger().warning(
            f"{self.resolve_topic_name(topic)}: somebody's {policy.lower()} does not go with ours, "
            f"so that no message passes; {remedy} as {qos.reliability.name.lower()}, "
            f"{qos.durability.name.lower()}"
        )

    def create_inlet(
        self,
        kind: type,
        topic: str,
        callback: Callable[[Any], None],
        qos: QoSProfile,
        *,
        read: Callable[[bytes], Any] | None = None,
        period: float = 0.0,
    ) -> Inlet:
        """Subscription that the loop takes from, as of `Inlet`; number and age are reported.

        By default `READERS` has what reads the bytes; `bytes` leaves them to the callback.
        """
        self.inputs.append(Input(topic))
        subscription = self.create_subscription(
            kind, topic, callback, qos, callback_group=self._fast
        )
        if read is None and kind in READERS:
            read = READERS[kind](topic)
        refused = partial(self.throttled_log.warn, topic)
        inlet = Inlet(
            subscription, read=read, refused=refused, period=period, counts=self.inputs[-1]
        )
        self._ends.append(inlet)
        return inlet

    def create_outlet(self, kind: type, topic: str, qos: QoSProfile) -> Outlet:
        """Publisher of what the loop makes."""
        outlet = Outlet(self.create_publisher(kind, topic, qos))
        self._ends.append(outlet)
        return outlet

    def warn_of_missing_joints(self, reader: JointReader) -> None:
        """Say now and then which joints no message has named yet, if there are any."""
        if reader.complete:
            return
        self.get_logger().warning(
            f"waiting for {', '.join(reader.missing)} on {self.resolve_topic_name(reader.topic)}; "
            "if the robot does not have them, name those that it has in the parameter joints",
            throttle_duration_sec=REPEAT_AFTER_S,
        )

    # -- diagnostics, a chore -----------------------------------------------------------------

    def diagnostics(self) -> Mapping[str, object]:
        """What the node reports of itself, by name; called once a second while it is active.

        Timing, inputs and refused messages are reported for every node and need
        not stand here. Values may be numbers, text, or lists of them.
        """
        return {}

    def faults(self) -> Sequence[Fault]:
        """What is wrong with the node now, besides its timing and refused messages.

        By default inputs that had been coming and have stopped.
        """
        return stale_inputs(self.inputs)

    def _report(self) -> None:
        self._reports.publish(array_msg(self._status(), self.get_clock().now().to_msg()))

    def _status(self) -> DiagnosticStatus:
        name = self.task
        if not self.active:
            waiting = self.parameters.autostart and not self.configured
            faults = [Fault(Level.WARN, "waiting for the robot")] if waiting else []
            return status_msg(name, "", faults, {"state": self.state})
        timing = self._recent.report() if self._recent is not None else None
        faults = [*timing_faults(timing), *self._refusals(), *self._clock_faults()]
        values = {"state": self.state, **timing_values(timing)}
        values.update(input_values(self.inputs))
        values.update({f"{t}: refused": n for t, n in self.throttled_log.count.copy().items()})
        try:
            faults += self.faults()
            values.update(self.diagnostics())
        except Exception as error:  # a report must not stop what it reports on
            faults.append(Fault(Level.ERROR, f"diagnostics failed: {error!r}"))
        return status_msg(name, self.robot.name, faults, values)

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
            Fault(Level.WARN, f"{new} refused, the last because {self.throttled_log.last(topic)}")
            for topic, count in self.throttled_log.count.copy().items()
            if (new := self.counter_deltas.of(topic, count))
        ]
