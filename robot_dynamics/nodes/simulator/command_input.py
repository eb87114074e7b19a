"""CommandInput: the two command topics of the simulator; the named one takes precedence."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.units import NS_PER_S
from robot_dynamics.nodes.ros.joint_values import JointValues
from robot_dynamics.nodes.ros.messages import COMMAND_TOPIC, NAMED_TOPIC
from robot_dynamics.nodes.ros.qos import COMMAND_QOS, LOCKSTEP_QOS
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
