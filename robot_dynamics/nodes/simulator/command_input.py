"""Command input of the simulator: its two topics, of which the named one goes before the other."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robot_dynamics.arrays import Array
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.nodes.ros.joint_values import JointValues
from robot_dynamics.nodes.ros.messages import COMMAND_TOPIC, NAMED_TOPIC
from robot_dynamics.nodes.ros.qos import COMMAND_QOS, LOCKSTEP_QOS
from robot_dynamics.nodes.runtime.robot_node import RobotNode
from robot_dynamics.nodes.simulator.effort_commands import Commands, Pairing
from robot_dynamics.nodes.simulator.simulator_parameters import SimulatorParameters
from robot_dynamics.trajectory.trajectory_files import NS_PER_S


class CommandInput:
    """Takes commands from their topics, refuses those of another time, and keeps the last one.

    Args:
        node: Node whose topics these are.
        commands: Where efforts are kept.
        time: Gives the time in which states are stamped, ns.
        on_command: Called in lockstep after every command that counts.

    Attributes:
        plain: Inlet of `effort_command`.
        named: Inlet of `effort_command_named`.
        pairing: Which state a named command answers.
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
        self._skipped = False  # plain commands wait that are not to be read
        self.pairing = Pairing()
        # In lockstep every command is a cycle, and a lost one would stop everything
        qos = LOCKSTEP_QOS if self._lockstep else COMMAND_QOS
        self.plain = node.create_inlet(Float64MultiArray, COMMAND_TOPIC, self._on_plain, qos)
        self.named = node.create_inlet(JointState, NAMED_TOPIC, self._on_named, qos, read=bytes)

    def forget(self) -> None:
        """Start again, as if no command had come; those that wait are kept."""
        self._commands.forget()
        self.pairing.forget()

    def discard_waiting(self) -> None:
        """Drop the commands that wait."""
        for inlet in (self.plain, self.named):
            inlet.discard()

    def take_plain(self, now: float, timeout: float) -> None:
        """Take plain commands, unless they come by name too: a take costs time.

        Args:
            now: Steady time, s.
            timeout: As of `Commands.named_is_fresh`, s.
        """
        if self._commands.named_is_fresh(now, timeout):
            self._skipped = True
        elif self._skipped:
            self._skipped = False
            self.plain.discard()  # it is as old as the last that came by name
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

    def _on_named(self, command: bytes | JointState | JointValues) -> None:
        now = monotonic()
        if self._lockstep:
            self._commands.renew_named(now)  # whatever it answers: plain ones would answer nothing
        try:
            if not self._commands.read_named(command, now, self._counts):
                return
        except RobotDynamicsError as error:
            self._node.throttled_log.warn(NAMED_TOPIC, error)
            return
        if self._lockstep:
            self._on_command()

    def _counts(self, stamp: int) -> bool:
        """Whether a command of that stamp, ns, counts; in lockstep only the first answer does."""
        if self.pairing.answers_last(stamp):
            return True
        if self._lockstep:
            return self.pairing.is_first_answer(stamp)
        parameters = self._node.parameters
        allowed = parameters.command_timeout * max(1.0, parameters.real_time_factor)
        self.pairing.check(stamp, self._time(), round(allowed * NS_PER_S))
        return True
