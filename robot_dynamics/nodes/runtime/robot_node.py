"""RobotNode: base class of all nodes that work on one robot."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from time import monotonic, time_ns
from typing import Any, ClassVar, Generic, TypeVar

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile, qos_policy_name_from_kind
from rclpy.service import Service
from rclpy.subscription import Subscription
from std_msgs.msg import Empty
from std_srvs.srv import Trigger

from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.nodes.ros.cdr import READERS, deserialized
from robot_dynamics.nodes.ros.diagnostics import (
    DIAGNOSTICS_TOPIC,
    REPEAT_AFTER_S,
    REPORT_PERIOD_S,
    CounterDeltas,
    Fault,
    Level,
    ThrottledLog,
    array_msg,
    status_msg,
)
from robot_dynamics.nodes.ros.messages import RESET_TOPIC, JointReader
from robot_dynamics.nodes.ros.node_parameters import Declared, parameter, unknown_parameters
from robot_dynamics.nodes.ros.topics import OUTPUT_QOS
from robot_dynamics.nodes.runtime.guards import guarded_service, guarded_subscription, reason_of
from robot_dynamics.nodes.runtime.lifecycle import ManagedNode
from robot_dynamics.nodes.runtime.loop import Loop
from robot_dynamics.nodes.runtime.loop_statistics import (
    Input,
    Timing,
    input_values,
    stale_inputs,
    timing_faults,
    timing_values,
)
from robot_dynamics.nodes.runtime.loop_topics import (
    LoopCallbackGroup,
    LoopPublisher,
    LoopSubscriber,
)
from robot_dynamics.nodes.runtime.robot_description import (
    JointLimitParameters,
    RobotDescription,
    RobotParameters,
    described_joints,
    moved,
)
from robot_dynamics.nodes.runtime.simulated_time import SimulatedTime
from robot_dynamics.nodes.runtime.timers import LoopTimer
from robot_dynamics.robot import Robot

try:
    from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
except ImportError:  # Humble
    from rclpy.qos_event import PublisherEventCallbacks, SubscriptionEventCallbacks

P = TypeVar("P", bound=RobotParameters)
G = TypeVar("G")

JOINT_STATES_OVERDUE_S = 2.0
"""Time without the states of all joints after which a node logs it."""


@dataclass(frozen=True)
class LoopParameters(RobotParameters):
    """Parameters of nodes with a fast loop."""

    rate: float = parameter(
        1000.0, "Rate of the node's loop, Hz", low=1.0, high=10000.0, read_only=True
    )
    realtime_priority: int = parameter(
        0,
        "Real-time priority (SCHED_FIFO) of the node's loop; 0 for ordinary scheduling",
        low=0,
        high=99,
        read_only=True,
    )
    cpu_affinity: tuple[int, ...] = parameter(
        (), "Processors that the node's loop may run on; empty for all", low=0, read_only=True
    )
    lock_memory: bool = parameter(
        False, "Lock the memory of the node's process into RAM", read_only=True
    )
    collect_garbage: bool = parameter(
        True,
        "Let Python collect reference cycles while the node runs, milliseconds at a time; false: "
        "memory grows slowly with every service call",
        read_only=True,
    )


class RobotNode(ManagedNode, Generic[P]):
    """A node that works on one robot, alone in its process or together with others.

    It is configured once it has a robot; `activate` gives its fast work to the loop by
    `start_task`. It reports on /diagnostics once a second from its construction on. While it runs,
    `update_robot` applies a new description of the same joints.

    Args:
        options: Options of `rclpy.node.Node`: context, namespace, parameter_overrides, ...

    Attributes:
        robot: The robot with its unused joints locked; known once configured.
        loop: Runs the fast work; set by the process.
        task: Name of the node's task in the loop.
        now: Returns the present time, s, of a clock that never jumps: simulated with use_sim_time.
        simulated: That time if it is simulated, else None.
        loop_timers: Periodic slow work; see `every`.
        inputs: The topics that the loop reads.
        counter_deltas: Growth of counters since the last report.
    """

    NAME: ClassVar[str]
    PARAMETERS: ClassVar[type[Any]]
    NEEDS_INERTIA: ClassVar[bool] = False

    def __init__(self, **options: Any) -> None:
        super().__init__(self.NAME, **options)
        self.throttled_log = ThrottledLog(self.get_logger().warning)
        self.declared: Declared[P] = Declared(
            self, self.PARAMETERS, check=self._check, changed=self._on_changed
        )
        self.robot: Robot
        self.loop: Loop
        self.task = self.get_fully_qualified_name().lstrip("/")
        self.simulated, self._nanoseconds = None, time_ns  # faster than the clock of the node
        if self.get_parameter("use_sim_time").value:
            self.read_clock()
            self.simulated = SimulatedTime(self._nanoseconds)
        self.now: Callable[[], float] = self.simulated or monotonic
        self._fast = LoopCallbackGroup()
        self._description = RobotDescription(
            self, self.declared.value, self._on_description, require_inertia=self.NEEDS_INERTIA
        )
        self._groups: list[Declared[Any]] = []
        self.inputs: list[Input] = []
        self.counter_deltas = CounterDeltas()
        self._timing: Timing | None = None
        self._reports_without_clock = 0
        self._reports = self.create_publisher(DiagnosticArray, DIAGNOSTICS_TOPIC, 10)
        self.loop_timers: list[LoopTimer] = []
        self.call_every(REPORT_PERIOD_S, self._report)

    def read_clock(self) -> None:
        """Take the time from the node's clock, which is not that of the system."""
        clock = self.get_clock().handle.get_now
        self._nanoseconds = lambda: int(clock().nanoseconds)

    @property
    def nanoseconds(self) -> int:
        """Present time of the node's clock, ns; faster than `get_clock().now()`."""
        return self._nanoseconds()

    @property
    def parameters(self) -> P:
        """The parameters as they are now."""
        return self.declared.value

    def check(self, value: P) -> None:
        """Refuse a set of parameters by raising a RobotDynamicsError."""

    def changed(self, value: P) -> None:
        """Apply changed parameters; called once the node is configured."""

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
        value.check()
        self.check(value)

    def _on_changed(self, value: P) -> None:
        if value.robot_description and value.robot_description != self._description.text:
            self._description.text = value.robot_description
            self._on_description(value.robot_description)
        if self.configured:
            self.changed(value)

    # -- life ---------------------------------------------------------------------------------

    def update_robot(self, robot: Robot) -> None:
        """Use another description of the same joints, without a jump; it then becomes `robot`."""

    @property
    def has_robot(self) -> bool:
        """Return whether there is a robot; see `RobotDescription.ready`."""
        return self._description.ready()

    def configure(self) -> None:
        """See `ManagedNode.configure`: read the robot and its limits."""
        described = self._description.robot()
        self._joint_limits = {
            name: self.group(JointLimitParameters, f"limits.{name}")
            for name in moved(described, self.parameters.joints)[0].joint_names
        }
        self.robot, self._order = self._moving(described)

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """See `ManagedNode.on_configure`: declares all groups of parameters."""
        result = super().on_configure(state)
        if self.configured and (line := unknown_parameters(self)):
            self.get_logger().warning(line)
        return result

    def start_task(self, tick: Callable[[], None], rate: float | None = None, **io: Any) -> None:
        """Add the node's task to the loop, by default at its `rate`, Hz; see `Loop.add`."""
        rate = rate or self.parameters.rate  # type: ignore[attr-defined]
        failed = partial(self.refuse, "cycle")
        self._timing = self.loop.add(self.task, rate, tick, failed=failed, **io)

    def call_every(self, period: float, work: Callable[[], object]) -> None:
        """Call `work` every `period` s of steady time until `cleanup`; see `LoopTimer`."""
        self.loop_timers.append(LoopTimer(period, work))

    def deactivate(self) -> None:
        """See `ManagedNode.deactivate`."""
        self.loop.remove(self.task)
        self._timing = None

    def begin_anew(self) -> None:
        """Start again as by an activation, where the robot has been put elsewhere."""
        RobotNode.deactivate(self)
        self.activate()

    def begin_anew_on_reset(self) -> None:
        """Call `begin_anew` whenever the simulator puts the robot elsewhere."""
        self.create_subscription(Empty, RESET_TOPIC, self._on_reset, OUTPUT_QOS)

    def _on_reset(self, _: Empty) -> None:
        if self.active:
            self.get_logger().info("the robot was reset by its simulator; starting anew")
            self.begin_anew()

    def cleanup(self) -> None:
        """See `ManagedNode.cleanup`."""
        for group in self._groups:
            group.close()
        self._groups.clear()
        del self.loop_timers[1:]  # keep the report, which every state of the node has
        self.inputs.clear()

    # -- the robot ----------------------------------------------------------------------------

    def _moving(self, robot: Robot) -> tuple[Robot, Array]:
        """Return the robot with its unused joints locked and the limits of the parameters."""
        robot, order = moved(robot, self.parameters.joints)
        limits = (self.given_limits(name) for name in ("velocity", "effort"))
        return robot.with_limits(*limits), order

    def given_limits(self, name: str) -> dict[str, float]:
        """Return the limits that parameters give, "velocity" or "effort", by joint."""
        values = {joint: getattr(p.value, name) for joint, p in self._joint_limits.items()}
        return {joint: value for joint, value in values.items() if value}

    def _on_description(self, text: str) -> None:
        """Apply a new robot description, or refuse it."""
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
        """Return the robot with its unused joints locked.

        Raises:
            RobotDynamicsError: If its joints differ from those of the present robot.
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
        self, kind: type, topic: str, callback: Callable[[Any], object], qos: Any, **options: Any
    ) -> Subscription:
        """Create a subscription that logs a publisher with incompatible QoS, and the remedy.

        A message that the callback or the middleware cannot read is refused; see `refuse`.
        """
        if not options.get("raw"):
            options["raw"] = True
            callback = guarded_subscription(topic, kind, callback, self.refuse)
        if isinstance(qos, QoSProfile) and "event_callbacks" not in options:
            warn = partial(self._on_incompatible, "publish it", topic, qos)
            options["event_callbacks"] = SubscriptionEventCallbacks(incompatible_qos=warn)
        return super().create_subscription(kind, topic, callback, qos, **options)

    def create_service(
        self, kind: type, name: str, callback: Callable[[Any, Any], Any], **options: Any
    ) -> Service:
        """Create a service that answers every request; see `guarded_service`."""
        guarded = guarded_service(self, name, callback, self.refuse)
        return super().create_service(kind, name, guarded, **options)

    def offer(self, name: str, work: Callable[[], tuple[bool, str]]) -> None:
        """Offer a service of type Trigger; `work` returns the success and the message."""

        def answer(_: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
            response.success, response.message = work()
            return response

        self.create_service(Trigger, name, answer)

    def refuse(self, place: str, error: Exception) -> None:
        """Log why the input of a topic, service or timer is ignored; see `ThrottledLog`.

        Raises:
            Exception: The error, if the context is shut down, as calls fail then.
        """
        if not self.context.ok():
            raise error
        self.throttled_log.warn(place, reason_of(place, error))

    def create_publisher(self, kind: type, topic: str, qos: Any, **options: Any) -> Publisher:
        """Create a publisher that logs a subscriber with incompatible QoS, and the remedy."""
        if isinstance(qos, QoSProfile) and "event_callbacks" not in options:
            warn = partial(self._on_incompatible, "subscribe to it", topic, qos)
            options["event_callbacks"] = PublisherEventCallbacks(incompatible_qos=warn)
        return super().create_publisher(kind, topic, qos, **options)

    def _on_incompatible(self, remedy: str, topic: str, qos: QoSProfile, info: Any) -> None:
        policy = qos_policy_name_from_kind(info.last_policy_kind)
        self.get_logger().warning(
            f"{self.resolve_topic_name(topic)}: another node's {policy.lower()} is incompatible, "
            f"so no message passes; {remedy} as {qos.reliability.name.lower()}, "
            f"{qos.durability.name.lower()}"
        )

    def create_loop_subscriber(
        self,
        kind: type,
        topic: str,
        callback: Callable[[Any], object],
        qos: QoSProfile,
        *,
        period: float = 0.0,
        one_source: bool = False,
    ) -> LoopSubscriber:
        """Create a subscription that the loop reads; diagnostics report its count and age.

        A reader from `READERS` decodes the bytes of its type.
        """
        self.inputs.append(Input(topic, rare=period > 0.0))
        subscription = self.create_subscription(
            kind, topic, callback, qos, callback_group=self._fast, raw=True
        )
        known = READERS.get(kind)
        read = known(topic) if known else partial(deserialized, topic, kind=kind)
        refused = partial(self.refuse, topic)
        return LoopSubscriber(subscription, read, refused, self.inputs[-1], period, one_source)

    def create_loop_publisher(self, kind: type, topic: str, qos: QoSProfile) -> LoopPublisher:
        """Create a publisher for the loop."""
        return LoopPublisher(self.create_publisher(kind, topic, qos))

    def warn_of_missing_joints(self, reader: JointReader, waited: float) -> None:
        """Log which joints no message has named in a time, s, if any, at most once in 10 s."""
        if reader.complete or waited <= JOINT_STATES_OVERDUE_S:
            return
        self.get_logger().warning(
            f"waiting for {', '.join(reader.missing)} on {self.resolve_topic_name(reader.topic)}; "
            "if the robot lacks them, list its joints in the parameter joints",
            throttle_duration_sec=REPEAT_AFTER_S,
        )

    # -- diagnostics, a timer -----------------------------------------------------------------

    def diagnostics(self) -> Mapping[str, object]:
        """Return values to report by name; called once a second while the node is active.

        Timing, inputs and refused messages are reported for every node. Values may be numbers,
        text, or lists of them.
        """
        return {}

    def faults(self) -> Sequence[Fault]:
        """Return faults besides timing and refused messages; by default stale inputs."""
        return stale_inputs(self.inputs)

    def _report(self) -> None:
        self._reports.publish(array_msg(self._status(), self.get_clock().now().to_msg()))

    def _status(self) -> DiagnosticStatus:
        name = self.task
        if not self.active:
            waiting = self.parameters.autostart and not self.configured
            faults = [Fault(Level.WARN, "waiting for the robot")] if waiting else []
            return status_msg(name, "", faults, {"state": self.state})
        timing = None if self._timing is None else self._timing.recent()
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
        """Return a fault while use_sim_time is set but no /clock comes; log it once.

        The first report may be made before the first /clock.
        """
        missing = (
            self.get_parameter("use_sim_time").value and not self.get_clock().now().nanoseconds
        )
        self._reports_without_clock += missing
        if not missing or self._reports_without_clock == 1:
            return []
        line = "use_sim_time is set but no /clock comes; start what publishes it, or unset it"
        if self._reports_without_clock == 2:
            self.get_logger().warning(line)
        return [Fault(Level.ERROR, line)]

    def _refusals(self) -> list[Fault]:
        """Return a fault for every topic with messages refused since the last report."""
        return [
            Fault(Level.WARN, f"{new} refused, the last because {self.throttled_log.last(topic)}")
            for topic, count in self.throttled_log.count.copy().items()
            if (new := self.counter_deltas.of(topic, count))
        ]
