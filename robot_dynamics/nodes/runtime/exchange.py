"""Exchange: messages between the nodes of one process, handed over as values, in the same cycle.

Who is in another process gets the same messages through the middleware, and what it sends is taken
from there. See docs/wire.md.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from math import inf
from threading import Lock
from time import monotonic, monotonic_ns, time_ns
from typing import Any

from rclpy.publisher import Publisher
from rclpy.subscription import Subscription

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.nodes.ros.message_bytes import WRITERS, writes_cdr
from robot_dynamics.nodes.runtime.loop_statistics import S_PER_NS, Input

LOOK_NS = 5_000_000
"""Time from one look who else publishes or listens to the next, ns: each asks the middleware."""

SENT_KEPT = 256
"""Messages of ours that are told from those of others when the middleware brings them back."""


class Inlet:
    """Takes the messages of one topic for a loop.

    Args:
        subscription: Where they come from.
        callback: What they are for; by default that of the subscription.
        read: Makes values of the bytes of a message; by default the callback gets the message.
        refused: Told why bytes are no such message.
        period: Time from one look at the middleware to the next, s, where messages are rare, or
            may wait; zero if it is always time.
        counts: Where they are counted; by default nowhere that is reported.

    Attributes:
        handed: Values of this process that wait to be taken, with the system time, ns, at which
            they were handed over.
        counts: Counts them; in the callback its time is that of the message.
        due: When it is time to `take` the next ones, steady time in ns.
        overdue: When they may no longer wait for the end of a cycle.
    """

    def __init__(
        self,
        subscription: Subscription,
        callback: Callable[[Any], None] | None = None,
        read: Callable[[bytes], Any] | None = None,
        refused: Callable[[RobotDynamicsError], object] = lambda error: None,
        period: float = 0.0,
        counts: Input | None = None,
    ) -> None:
        self.subscription = subscription
        self.topic, self.kind = subscription.topic_name, subscription.msg_type
        self.handle = subscription.handle
        self.senders: tuple[Outlet, ...] = ()
        self._callback = callback or subscription.callback
        self._refused = refused
        self.counts = counts or Input(self.topic)
        depth = subscription.qos_profile.depth
        self._turns = range(depth)
        self.handed: deque[tuple[int, Any]] = deque(maxlen=depth)
        self._raw, self._read = read is not None, None if read is bytes else read
        # Where they cannot be counted (Humble), there may always be others
        self._publishers = getattr(self.handle, "get_publisher_count", lambda: inf)
        self._foreign = False
        self._period = round(period / S_PER_NS)
        self.due = self.overdue = 0

    @property
    def listens(self) -> bool:
        """Whether messages are to come through the middleware: others than ours publish too."""
        return self._foreign or not self.senders

    def connect(self, senders: tuple[Outlet, ...]) -> None:
        """Take what these outlets of this process hand over, and nothing older."""
        if senders != self.senders:
            self.handed.clear()
            self.senders = senders

    def keep(self, keeps: bool) -> None:
        """Keep what is handed over until it is taken, or let it go: nobody is going to take it."""
        self.handed = deque(maxlen=self._turns.stop if keeps else 0)

    def look(self) -> None:
        """Ask the middleware whether others than ours publish."""
        foreign = bool(self.senders) and self._publishers() > len(self.senders)
        if foreign and not self._foreign:  # what waits are mostly old ones of ours
            self._drop()
        self._foreign = foreign

    def take(self) -> int | None:
        """Give every message that waits to the callback.

        Returns:
            When the first one was received, system time in ns (0 if the middleware does not say);
            None if there was none.
        """
        received = self._take_handed() if self.handed else None
        senders, counts = self.senders, self.counts
        if senders and not self._foreign:
            return received
        if self._period:
            self.due = monotonic_ns() + self._period
            self.overdue = self.due + self._period
        take, kind, raw, read = self.handle.take_message, self.kind, self._raw, self._read
        for _ in self._turns:  # all in one function, as each call costs more than what it does
            taken = take(kind, raw)
            if taken is None:
                break
            message = taken[0]
            if senders and any(message in sender.sent for sender in senders):
                continue
            if received is None:
                received = taken[1]["received_timestamp"]
            if read is not None:
                try:
                    message = read(message)
                except RobotDynamicsError as error:
                    self._refused(error)
                    continue
            counts.count += 1
            counts.at = monotonic()
            self._callback(message)
        return received

    def _take_handed(self) -> int | None:
        """Give the values of this process that wait to the callback; when the first one came."""
        received, handed, counts = None, self.handed, self.counts
        while handed:
            at, values = handed.popleft()
            received = received or at
            counts.count += 1
            counts.at = monotonic()
            self._callback(values)
        return received

    def discard(self) -> None:
        """Drop the messages that wait."""
        self.handed.clear()
        self._drop()

    def _drop(self) -> None:
        while self.handle.take_message(self.kind, True) is not None:
            pass


class Outlet:
    """Publishes what a node makes in its loop: `JointValues`, or efforts of shape (n,).

    Args:
        publisher: Of a type of message that `WRITERS` knows.

    Attributes:
        listeners: How many subscriptions receive what is published, as of the last look.
    """

    def __init__(self, publisher: Publisher) -> None:
        self.publisher = publisher
        self.topic, self.kind = publisher.topic_name, publisher.msg_type
        self.receivers: tuple[Inlet, ...] = ()
        self.sent: deque[bytes] = deque(maxlen=SENT_KEPT)
        self._handle = publisher.handle
        self._write = WRITERS[self.kind]()
        self.look()

    def look(self) -> None:
        """Ask the middleware who listens."""
        self.listeners: int = self._handle.get_subscription_count()

    def publish(self, values: Any) -> None:
        """Hand values to who is in this process, and publish them for everybody else."""
        receivers = self.receivers
        if receivers:
            handed = time_ns(), values
            for receiver in receivers:
                receiver.handed.append(handed)
        if self.listeners <= len(receivers):
            return
        message = self._write(values)
        if type(message) is not bytes:
            self.publisher.publish(message)
            return
        if receivers:
            self.sent.append(message)
        self._handle.publish_raw(message)


class Exchange:
    """Brings together the outlets and inlets of the nodes of one process."""

    def __init__(self) -> None:
        self._ends: tuple[tuple[object, Inlet | Outlet], ...] = ()
        self._looked = Lock()  # held while ends are looked at, or change
        self._next = 0

    def join(self, owner: object, ends: list[Inlet | Outlet]) -> None:
        """Add those of a node; it does not hand to itself."""
        with self._looked:
            self._connect((*self._ends, *((owner, end) for end in ends)))
            self._next = 0

    def leave(self, owner: object) -> None:
        """Take out those of a node; from then on nobody asks them anything."""
        with self._looked:
            self._connect(tuple(end for end in self._ends if end[0] is not owner))

    def look(self, now: int) -> bool:
        """Have all ends look who else publishes or listens, if it is time to; called by the loop.

        Args:
            now: Steady time, ns.
        """
        if now < self._next:
            return False
        with self._looked:
            self._next = now + LOOK_NS
            for _, end in self._ends:
                end.look()
        return True

    def _connect(self, ends: tuple[tuple[object, Inlet | Outlet], ...]) -> None:
        gone = [end for _, end in self._ends if all(end is not other for _, other in ends)]
        self._ends = ends
        if not writes_cdr():  # ours could not be told from those of others
            return
        for owner, end in ends:
            others = [
                other
                for its, other in ends
                if its is not owner and (other.topic, other.kind) == (end.topic, end.kind)
            ]
            if isinstance(end, Outlet):
                end.receivers = tuple(other for other in others if isinstance(other, Inlet))
            else:
                end.connect(tuple(other for other in others if isinstance(other, Outlet)))
        for end in gone:
            if isinstance(end, Outlet):
                end.receivers = ()
            else:
                end.connect(())
