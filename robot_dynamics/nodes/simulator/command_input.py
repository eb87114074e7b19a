"""Commands of the simulator, and other nodes that publish states of the same joints.

Of the two command topics the named one takes precedence.

Subscribers of joint_states would get the states of two publishers by turns. But nodes of other
joints, such as a gripper and its arm, may share a topic, and the middleware lists a killed
publisher for 20 s. So the messages of other publishers are read until all are known to name other
joints.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import monotonic

from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.subscription import Subscription
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.units import NS_PER_S
from robot_dynamics.nodes.ros.joint_values import JointValues
from robot_dynamics.nodes.ros.messages import COMMAND_TOPIC, NAMED_TOPIC, nanoseconds
from robot_dynamics.nodes.ros.topics import COMMAND_QOS, LOCKSTEP_QOS, other_publishers_of
from robot_dynamics.nodes.runtime.intra_process import LoopSubscriber
from robot_dynamics.nodes.runtime.loop import LoopCallbackGroup
from robot_dynamics.nodes.runtime.robot_node import RobotNode
from robot_dynamics.nodes.simulator.effort_commands import Commands, Pairing
from robot_dynamics.nodes.simulator.simulator_parameters import SimulatorParameters


class CommandInput:
    """Reads commands, refuses those with wrong stamps, and stores the latest one.

    Args:
        node: Node that subscribes.
        commands: Stores the efforts.
        time: Returns the time in which states are stamped, ns.
        on_command: Called in lockstep after every accepted command.

    Attributes:
        plain: Subscriber of `effort_command`.
        named: Subscriber of `effort_command_named`.
        pairing: Matches named commands to states.
    """

    def __init__(
        self,
        node: RobotNode[SimulatorParameters],
        commands: Commands,
        time: Callable[[], int],
        on_command: Callable[[], None],
    ) -> None:
        self._node, self._commands = node, commands
        self._time, self._on_command = time, on_command
        self._lockstep = node.parameters.lockstep
        self._skipped = False  # whether plain commands wait unread
        self.pairing = Pairing()
        # In lockstep every command is a cycle, and a lost one would stop everything
        qos = LOCKSTEP_QOS if self._lockstep else COMMAND_QOS
        self.plain = node.create_loop_subscriber(
            Float64MultiArray, COMMAND_TOPIC, self._on_plain, qos
        )
        self.named = node.create_loop_subscriber(JointState, NAMED_TOPIC, self._on_named, qos)

    def forget(self) -> None:
        """Forget all commands except those that wait."""
        self._commands.forget()
        self.pairing.forget()

    def discard_waiting(self) -> None:
        """Drop all waiting commands."""
        for subscriber in (self.plain, self.named):
            subscriber.discard()

    def take_plain(self, now: float, timeout: float) -> None:
        """Read plain commands unless named ones arrive too, as a take costs time.

        Args:
            now: Steady time, s.
            timeout: See `Commands.named_is_fresh`, s.
        """
        if self._commands.named_is_fresh(now, timeout):
            self._skipped = True
        elif self._skipped:
            self._skipped = False
            self.plain.discard()  # as old as the last named one
        else:
            self.plain.take()

    def _on_plain(self, efforts: Array) -> None:
        now = monotonic()
        if self._commands.named_is_fresh(now, self._node.parameters.command_timeout):
            return
        try:
            self._commands.read_plain(efforts, now)
        except RobotDynamicsError as error:
            self._node.throttled_log.warn(COMMAND_TOPIC, error)
            return
        if self._lockstep:
            self._on_command()

    def _on_named(self, command: JointState | JointValues) -> None:
        now = monotonic()
        if self._lockstep:
            self._commands.renew_named(now)  # even if refused, as plain ones have no stamp
        try:
            if not self._commands.read_named(command, now, self._accepts):
                return
        except RobotDynamicsError as error:
            self._node.throttled_log.warn(NAMED_TOPIC, error)
            return
        if self._lockstep:
            self._on_command()

    def _accepts(self, stamp: int) -> bool:
        """Return whether to accept a command by its stamp, ns; in lockstep the first answer."""
        if self.pairing.answers_last(stamp):
            return True
        if self._lockstep:
            return self.pairing.is_first_answer(stamp)
        parameters = self._node.parameters
        allowed = parameters.command_timeout * max(1.0, parameters.real_time_factor)
        self.pairing.check(stamp, self._time(), round(allowed * NS_PER_S))
        return True


SAMPLE_QOS = QoSProfile(depth=200, reliability=ReliabilityPolicy.BEST_EFFORT)
"""Depth of the samples: a fifth of a second of our own messages at 1 kHz."""


class ConflictingPublishers:
    """Finds nodes whose messages name the joints of this node.

    Args:
        node: This node.
        topic: Its topic of JointState, resolved.
        joints: Names in its messages.

    Attributes:
        sampling: Whether to call `note_own` for every message of this node.
        found: Fully qualified names of the other publishers, once one of them has published a
            state of the same joints.
    """

    def __init__(self, node: Node, topic: str, joints: Sequence[str]) -> None:
        self.sampling = False
        self.found: tuple[str, ...] = ()
        self._node, self._topic, self._joints = node, topic, frozenset(joints)
        self._publishers: list[str] = []
        self._of_others: set[tuple[str, ...]] = set()  # lists of other joints
        self._group = LoopCallbackGroup()  # keeps our own messages out of the executor
        self._messages: Subscription | None = None
        self._own: set[int] | None = None  # stamps of own messages still to come back
        self._foreign = False  # whether another node published our joints

    def note_own(self, stamp: int) -> None:
        """Note the stamp of an own message, ns, before it is published; from any thread."""
        if (own := self._own) is not None:
            if len(own) > SAMPLE_QOS.depth:
                own.clear()
            own.add(stamp)

    def update(self) -> None:
        """Read new messages and update `found`; log a warning when it is no longer empty."""
        publishers = other_publishers_of(self._node, [self._topic])
        if publishers != self._publishers:
            self._publishers, self.found = publishers, ()
            self._of_others.clear()
            self._sample(bool(publishers))
        elif self._messages is not None:
            LoopSubscriber(self._messages).take()
            before, self.found = self.found, ()
            if len(self._of_others) >= len(publishers):
                self._sample(False)
            if not self._foreign:
                return
            me = self._node.get_fully_qualified_name()
            self.found = tuple(f"another {name}" if name == me else name for name in publishers)
            if not before:
                self._node.get_logger().warning(self.line)

    @property
    def line(self) -> str:
        """Fault and remedy."""
        return (
            f"{', '.join(self.found)} publishes {self._topic} too; if it moves the same joints, "
            "stop one of the nodes, or give each robot a namespace"
        )

    def _sample(self, on: bool) -> None:
        self._own, self._foreign = set() if on else None, False
        self.sampling = on
        if self._messages is not None and not on:
            self._node.destroy_subscription(self._messages)
            self._messages = None
        elif self._messages is None and on:
            self._messages = self._node.create_subscription(
                JointState, self._topic, self._on_message, SAMPLE_QOS, callback_group=self._group
            )

    def _on_message(self, msg: JointState) -> None:
        if self._joints.isdisjoint(msg.name):
            self._of_others.add(tuple(msg.name))
            return
        stamp = nanoseconds(msg.header.stamp)
        if self._own is None or stamp not in self._own:
            self._foreign = True
        else:
            self._own.discard(stamp)
