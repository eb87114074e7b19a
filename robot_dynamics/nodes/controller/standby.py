"""Hot standby: a second controller that takes over when the commands of the first one stop.

A device may keep its last effort for ever, as forward_command_controller does. A killed process
cannot prevent that, but another process can.

On a busy machine the commands of a controller may pause although its process lives. If it went on
after a takeover, two controllers would command by turns. So a controller commands under a lease
with a name of its own. The standby that takes over revokes that lease, and the revoked controller
commands nothing until it is resumed and acquires a new lease.

A takeover begins on trial: a controller that commands again within `RETURN_S` goes on, and its
lease is revoked only after that.
"""

from __future__ import annotations

from collections import deque
from enum import Enum
from math import exp, inf, isfinite
from time import monotonic
from uuid import uuid4

import numpy as np
from std_msgs.msg import Float64MultiArray, String

from robot_dynamics.control.status import Watchdog
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.nodes.controller.controller_parameters import ControllerParameters
from robot_dynamics.nodes.ros.messages import (
    COMMAND_TOPIC,
    LEASE,
    REVOKED_LEASE,
    STANDBY_PREFIX,
    read_lease,
)
from robot_dynamics.nodes.ros.topics import (
    ANNOUNCEMENT_QOS,
    COMMAND_QOS,
    DESCRIPTION_QOS,
    OUTPUT_QOS,
)
from robot_dynamics.nodes.runtime.robot_node import RobotNode

REVOKE_PERIOD_S = 0.05
"""Least time between two revocations of the same lease, s."""

INTERVALS, FEWEST_INTERVALS = 9, 2
"""Latest intervals between cycles that the median is taken of, and the fewest that give one."""

SLOWEST_S = 0.02
"""Assumed interval between cycles until enough are known, s."""

MIN_PERIODS = 3.0
"""Fewest periods of the states without a command before a takeover."""

SHORTEST_TIMEOUT_S, LONGEST_TIMEOUT_S = 0.03, 0.05
"""Bounds of the timeout by jitter, s: a feedback effort of 1 N m that stays for 0.05 s gives the
last joint of a UR5, of 0.017 kg m^2, 3 rad/s."""

JITTER_FACTOR, JITTER_MEMORY_S = 3.0, 30.0
"""Timeout by the longest recent interval between commands, and the time in which that decays, s."""

RETURN_S = 0.15
"""Time on trial in which another controller may go on after a takeover, s."""

RETURNED = 3
"""Commands in a row after which another controller goes on: a single one may be a late one."""

IGNORED_S = 0.5
"""Time for which a controller commands under a revoked lease before the standby gives way, s."""


class Transition(Enum):
    """Change of a standby controller."""

    STAND_BY = "another controller commands"
    TRY = "commands stopped"
    RETURN = "commands came back in time"
    TAKE_OVER = "commands did not come back"
    REVOKE_AGAIN = "commands still come under the revoked lease"
    YIELD = "another lease has begun"
    GIVE_WAY = "the revocation is ignored"


class Takeover:
    """Decides when a standby controller commands. Reads no clock.

    Attributes:
        commanding: Whether to command.
        on_trial: Whether it commands only until the other controller does again.
        revoked_lease: Name of the lease that was revoked; empty if it had none.
        stopped_at: Time of the last command before the takeover, s.
        returned: Commands that have come on trial.
    """

    def __init__(self) -> None:
        self._commands = Watchdog(inf)
        self._lease = self.revoked_lease = ""
        self._standing_by = self.commanding = self.on_trial = self._own_lease_revoked = False
        self._commanded_since = self._revoked_at = 0.0
        self._updated_at = inf
        self._intervals: deque[float] = deque(maxlen=INTERVALS)
        self._longest, self.stopped_at = 0.0, -inf
        self.returned = 0

    def lease_announced(self, name: str) -> None:
        """Note that another controller commands under a lease from now on."""
        self._lease = name

    def command_received(self, now: float) -> None:
        """Note a command of another controller at steady time now, s."""
        interval = self._commands.age(now)
        if self._commands.stale(now):
            self._commanded_since = now
        if self._standing_by or self.on_trial:
            decayed = self._longest * exp(-interval / JITTER_MEMORY_S)
            self._longest = max(decayed, interval) if isfinite(interval) else 0.0
        self.returned += self.on_trial
        self._commands.feed(now)

    def own_lease_revoked(self, now: float) -> None:
        """Note at steady time now, s, that another standby has taken over."""
        self._own_lease_revoked = True
        self._commands.feed(now)

    @property
    def period(self) -> float:
        """Median interval between cycles, s, which arriving states start."""
        known = sorted(self._intervals)
        return known[len(known) // 2] if len(known) >= FEWEST_INTERVALS else SLOWEST_S

    def timeout(self, given: float) -> float:
        """Return the age of the last command at which to take over, s.

        Args:
            given: Its parameter, s; 0 to derive it from the intervals between commands.
        """
        by_jitter = min(max(JITTER_FACTOR * self._longest, SHORTEST_TIMEOUT_S), LONGEST_TIMEOUT_S)
        return max(given or by_jitter, MIN_PERIODS * self.period)

    def age(self, now: float) -> float:
        """Return the time since the last command of another controller, s."""
        return self._commands.age(now)

    def silence(self, topic: str, now: float) -> str:
        """Return how long commands have been missing, in words, with those that came on trial."""
        found = f"only {self.returned}" if self.returned else "no"
        return f"{found} {topic} for {1e3 * (now - self.stopped_at):.0f} ms"

    def update(self, now: float, timeout: float, *, has_states: bool) -> Transition | None:
        """Return the transition of this cycle, if any.

        Args:
            now: Steady time, s.
            timeout: Age of the last command of another controller at which to take over, s.
            has_states: Whether states arrive; a standby without them does not take over.
        """
        if self._updated_at < now:
            self._intervals.append(now - self._updated_at)
        self._updated_at = now
        if self.on_trial:
            return self._tried(now)
        self._commands.timeout = timeout
        if self._commands.stale(now):
            if not (self._standing_by and has_states):
                return None
            self._standing_by, self.commanding, self.on_trial = False, True, True
            self.returned, self._revoked_at = 0, now
            self.stopped_at = now - self._commands.age(now)
            return Transition.TRY
        if self.commanding:
            return self._contested(now)
        first, self._standing_by = not self._standing_by, True
        return Transition.STAND_BY if first else None

    def _tried(self, now: float) -> Transition | None:
        """Return the transition of a cycle on trial."""
        if self.returned >= RETURNED:
            self.commanding, self.on_trial, self._standing_by = False, False, True
            return Transition.RETURN
        if now - self._revoked_at < RETURN_S:
            return None
        self.on_trial, self.revoked_lease, self._revoked_at = False, self._lease, now
        return Transition.TAKE_OVER

    def _contested(self, now: float) -> Transition | None:
        """Return the transition where another controller commands too."""
        ignored = now - self._commanded_since > IGNORED_S
        same_lease = self._lease == self.revoked_lease != ""
        if self._own_lease_revoked or ignored or not same_lease:
            gives_way = ignored and self.revoked_lease and not self._own_lease_revoked
            self.commanding, self._standing_by, self._own_lease_revoked = False, True, False
            return Transition.GIVE_WAY if gives_way else Transition.YIELD
        if now - self._revoked_at < REVOKE_PERIOD_S:
            return None
        self._revoked_at = now
        return Transition.REVOKE_AGAIN


OWN_KEPT = 32
"""Latest own commands, which the standby recognizes when the middleware returns them."""

REVOCATION_PERIOD_S = 5e-3
"""Period of reading revocations, s; after a stall one is due at once."""


class Lease:
    """The right of a controller to command, which a standby controller may revoke.

    Args:
        node: The node that commands.
        topic: Topic of the commands.
        standby: Whether the node is a standby controller.

    Attributes:
        name: Name that other controllers see; empty before the first lease.
        ended: Whether another controller commands in place of this one.
        revocations: The subscriber of revoked leases.
    """

    def __init__(
        self, node: RobotNode[ControllerParameters], topic: str, *, standby: bool = False
    ) -> None:
        self._node, self._standby = node, standby
        self._owner = f"{STANDBY_PREFIX if standby else ''}{node.get_name()}"
        self._announce = node.create_publisher(String, f"{topic}/{LEASE}", DESCRIPTION_QOS)
        self._announce.publish(String(data=self._owner))
        self.revocations = node.create_loop_subscriber(
            String,
            f"{topic}/{REVOKED_LEASE}",
            self._on_revocation,
            OUTPUT_QOS,
            period=REVOCATION_PERIOD_S,
        )
        self.name, self.ended = "", False

    def acquire(self) -> None:
        """Begin a new lease and announce it."""
        self.name, self.ended = f"{self._owner} {uuid4()}", False
        self._announce.publish(String(data=self.name))

    def release(self) -> None:
        """End the lease and announce that."""
        if self.name and not self.ended:
            self.ended = True
            self._announce.publish(String(data=self._owner))

    def _on_revocation(self, msg: String) -> None:
        if msg.data != self.name or self.ended:
            return
        self.release()
        if not self._standby:
            self._node.get_logger().error(
                "lease revoked: a standby controller took over because no command came from here "
                f"for too long; call {self._node.get_name()}/resume to command again"
            )


class Standby:
    """Monitors the commands of another controller and takes over when they stop.

    Several nodes may stand by. The second one waits twice as long as the first one, in alphabetical
    order; of those that take over together, the one whose lease comes first goes on. Everything
    runs in the node's loop.

    Args:
        node: The node that stands by.
        topic: Topic of the commands.

    Attributes:
        inputs: The subscribers of commands, leases and revocations.
        rank: Number of standby controllers that take over before this one.
        timeout: Age of the last command at which this one takes over, s.
    """

    def __init__(self, node: RobotNode[ControllerParameters], topic: str) -> None:
        self._node, self._topic = node, topic
        self.rank, self.timeout = 0, SHORTEST_TIMEOUT_S
        self._lease = Lease(node, topic, standby=True)
        self._revoke = node.create_publisher(String, f"{topic}/{REVOKED_LEASE}", OUTPUT_QOS)
        self.inputs = [
            node.create_loop_subscriber(
                String, f"{topic}/{LEASE}", self._on_lease, ANNOUNCEMENT_QOS
            ),
            node.create_loop_subscriber(
                Float64MultiArray, COMMAND_TOPIC, self._on_command, COMMAND_QOS
            ),
            self._lease.revocations,
        ]
        self._announced = ""
        self.forget()

    def forget(self) -> None:
        """Wait for the first command of another controller."""
        self._lease.release()
        self._takeover = Takeover()
        self._takeover.lease_announced(self._announced)
        self._efforts: Array | None = None
        self._own: deque[tuple[float, ...]] = deque(maxlen=OWN_KEPT)

    @property
    def commanding(self) -> bool:
        """Return whether the node commands in place of the other controller."""
        return self._takeover.commanding

    @property
    def replacing(self) -> bool:
        """Return whether the node has replaced the other controller, and not only on trial."""
        return self.commanding and not self._takeover.on_trial

    def note(self, efforts: Array) -> None:
        """Note an own command, shape (n,), which comes back like any other."""
        self._own.append(tuple(efforts.tolist()))

    def _on_lease(self, msg: String) -> None:
        own = self._lease.name
        loses = msg.data.startswith(STANDBY_PREFIX) and self.commanding and msg.data > own
        if msg.data == own or loses or not read_lease(msg.data)[1]:
            return
        self._announced = msg.data
        self._takeover.lease_announced(msg.data)

    def _on_command(self, efforts: Array) -> None:
        if tuple(efforts.tolist()) in self._own or len(efforts) != self._node.robot.dof:
            return
        if np.isfinite(efforts).all():
            self._takeover.command_received(monotonic())
            self._efforts = efforts

    def take_over(self, now: float, has_states: bool) -> Array | None:
        """Take over if commands have stopped, and stand by again once they return.

        Args:
            now: Steady time, s.
            has_states: Whether states arrive.

        Returns:
            The last efforts of the other controller, in the order of its commands, in the cycle
            of the takeover; else None.
        """
        takeover, node = self._takeover, self._node
        self.timeout = takeover.timeout(node.parameters.standby_timeout) * (1 + self.rank)
        if self.commanding and not takeover.on_trial and self._lease.ended:
            takeover.own_lease_revoked(now)
        transition = takeover.update(now, self.timeout, has_states=has_states)
        if transition is None:
            return None
        takes_over = transition is Transition.TAKE_OVER
        if takeover.revoked_lease and (takes_over or transition is Transition.REVOKE_AGAIN):
            self._revoke.publish(String(data=takeover.revoked_lease))
        if takes_over:
            self._lease.acquire()
        elif not self.commanding:
            self._lease.release()
        self._log(transition, now)
        return self._efforts if transition is Transition.TRY else None

    def _log(self, transition: Transition, now: float) -> None:
        topic, log = self._topic, self._node.get_logger()
        silence = self._takeover.silence(topic, now)
        if transition is Transition.TRY:
            log.warning(f"{silence}; the arm comes to rest from here")
        elif transition is Transition.RETURN:
            log.warning(f"{topic} came back in time and is followed again; standing by")
        elif transition is Transition.TAKE_OVER:
            log.error(f"{silence}; taken over: the arm comes to rest and is held")
        elif transition is Transition.STAND_BY:
            log.info(f"standing by: another node commands {topic}")
        elif transition is Transition.YIELD:
            log.warning(f"{topic} is commanded again; standing by")
        elif transition is Transition.GIVE_WAY:
            log.warning(f"{topic}: a node ignores that its lease is revoked; standing by")
