"""Intra-process transport: nodes of one process exchange messages as values, in the same cycle.

Messages to and from other processes go through the middleware. See docs/wire.md.
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

MATCH_PERIOD_NS = 5_000_000
"""Time between two queries for publishers and subscribers of other processes, ns."""

SENT_KEPT = 256
"""Latest own messages, which a subscriber recognizes when the middleware returns them."""


def ignore_errors_of_the_package(error: Exception) -> None:
    """Raise an error unless it is a RobotDynamicsError."""
    if not isinstance(error, RobotDynamicsError):
        raise error


class LoopSubscriber:
    """Takes the messages of one topic for a loop.

    Args:
        subscription: The subscription.
        callback: Receives the messages; by default that of the subscription.
        read: Decodes the bytes of a message; by default the callback gets the message.
        refused: Called with the error when `read` or `callback` refuses a message; by default it
            raises all errors but those of the package.
        period: Time between two takes from the middleware, s, for rare or patient messages; zero
            takes in every cycle.
        counts: Counter of the messages; by default one that is not reported.

    Attributes:
        handed: Queue of values from this process, each with its system time of publication, ns.
        counts: Counter of the messages; in the callback its time is that of the message.
        due: Steady time of the next `take`, ns.
        overdue: Steady time from which a `take` must not wait for the end of a cycle, ns.
    """

    def __init__(
        self,
        subscription: Subscription,
        callback: Callable[[Any], None] | None = None,
        read: Callable[[bytes], Any] | None = None,
        refused: Callable[[Exception], object] = ignore_errors_of_the_package,
        period: float = 0.0,
        counts: Input | None = None,
    ) -> None:
        self.subscription = subscription
        self.topic, self.kind = subscription.topic_name, subscription.msg_type
        self.handle = subscription.handle
        self.senders: tuple[LoopPublisher, ...] = ()
        self._callback = callback or subscription.callback
        self._refused = refused
        self.counts = counts or Input(self.topic)
        depth = subscription.qos_profile.depth
        self._turns = range(depth)
        self.handed: deque[tuple[int, Any]] = deque(maxlen=depth)
        self._raw = read is not None or subscription.raw
        self._read = None if read is bytes else read
        # Humble cannot count publishers: there may always be others
        self._publishers = getattr(self.handle, "get_publisher_count", lambda: inf)
        self._foreign = False
        self._period = round(period / S_PER_NS)
        self.due = self.overdue = 0

    @property
    def uses_middleware(self) -> bool:
        """Return whether messages come from other processes too, through the middleware."""
        return self._foreign or not self.senders

    def connect(self, senders: tuple[LoopPublisher, ...]) -> None:
        """Receive values from these publishers of this process, and nothing older."""
        if senders != self.senders:
            self.handed.clear()
            self.senders = senders

    def keep(self, keeps: bool) -> None:
        """Queue values until the next `take`, or drop them at once."""
        self.handed = deque(maxlen=self._turns.stop if keeps else 0)

    def update_matches(self) -> None:
        """Ask the middleware whether other processes publish."""
        foreign = bool(self.senders) and self._publishers() > len(self.senders)
        if foreign and not self._foreign:  # the queue holds mostly old messages of our own
            self._drop()
        self._foreign = foreign

    def take(self) -> int | None:
        """Pass every waiting message to the callback.

        Returns:
            System time at which the first one was received, ns (0 if the middleware does not
            know); None if there was none.
        """
        received = self._take_handed() if self.handed else None
        senders, counts = self.senders, self.counts
        if senders and not self._foreign:
            return received
        if self._period:
            self.due = monotonic_ns() + self._period
            self.overdue = self.due + self._period
        take, kind, raw, read = self.handle.take_message, self.kind, self._raw, self._read
        for _ in self._turns:  # in one function: a call would cost more than its work
            taken = take(kind, raw)
            if taken is None:
                break
            message = taken[0]
            if senders and any(message in sender.sent for sender in senders):
                continue
            if received is None:
                received = taken[1]["received_timestamp"]
            try:
                if read is not None:
                    message = read(message)
                counts.count += 1
                counts.at = monotonic()
                self._callback(message)
            except Exception as error:
                self._refused(error)
        return received

    def _take_handed(self) -> int | None:
        """Pass the waiting values to the callback; return the time of the first one, ns."""
        received, handed, counts = None, self.handed, self.counts
        while handed:
            at, values = handed.popleft()
            received = received or at
            counts.count += 1
            counts.at = monotonic()
            try:
                self._callback(values)
            except Exception as error:
                self._refused(error)
        return received

    def discard(self) -> None:
        """Drop all waiting messages."""
        self.handed.clear()
        self._drop()

    def _drop(self) -> None:
        while self.handle.take_message(self.kind, True) is not None:
            pass


class LoopPublisher:
    """Publishes `JointValues`, or efforts of shape (n,), from the loop of a node.

    Args:
        publisher: Publisher of a message type in `WRITERS`.

    Attributes:
        subscriber_count: Subscriptions to the topic at the last `update_matches`.
    """

    def __init__(self, publisher: Publisher) -> None:
        self.publisher = publisher
        self.topic, self.kind = publisher.topic_name, publisher.msg_type
        self.receivers: tuple[LoopSubscriber, ...] = ()
        self.sent: deque[bytes] = deque(maxlen=SENT_KEPT)
        self._handle = publisher.handle
        self._write = WRITERS[self.kind]()
        self.update_matches()

    def update_matches(self) -> None:
        """Ask the middleware for the number of subscriptions."""
        self.subscriber_count: int = self._handle.get_subscription_count()

    def publish(self, values: Any) -> None:
        """Pass values to the subscribers in this process, and publish them to all others."""
        receivers = self.receivers
        if receivers:
            handed = time_ns(), values
            for receiver in receivers:
                receiver.handed.append(handed)
        if self.subscriber_count <= len(receivers):
            return
        message = self._write(values)
        if type(message) is not bytes:
            self.publisher.publish(message)
            return
        if receivers:
            self.sent.append(message)
        self._handle.publish_raw(message)


class IntraProcessTransport:
    """Connects the publishers and subscribers of the nodes of one process."""

    def __init__(self) -> None:
        self._ends: tuple[tuple[object, LoopSubscriber | LoopPublisher], ...] = ()
        self._lock = Lock()  # held while ends are updated or change
        self._next = 0

    def join(self, owner: object, ends: list[LoopSubscriber | LoopPublisher]) -> None:
        """Add the ends of a node; a node does not send to itself."""
        with self._lock:
            self._connect((*self._ends, *((owner, end) for end in ends)))
            self._next = 0

    def leave(self, owner: object) -> None:
        """Remove the ends of a node; they are not used afterwards."""
        with self._lock:
            self._connect(tuple(end for end in self._ends if end[0] is not owner))

    def update_matches(self, now: int) -> bool:
        """Update the matches of all ends if they are due; return whether they were.

        The loop calls this.

        Args:
            now: Steady time, ns.
        """
        if now < self._next:
            return False
        with self._lock:
            self._next = now + MATCH_PERIOD_NS
            for _, end in self._ends:
                end.update_matches()
        return True

    def _connect(self, ends: tuple[tuple[object, LoopSubscriber | LoopPublisher], ...]) -> None:
        gone = [end for _, end in self._ends if all(end is not other for _, other in ends)]
        self._ends = ends
        if not writes_cdr():  # own messages could not be recognized
            return
        for owner, end in ends:
            others = [
                other
                for its, other in ends
                if its is not owner and (other.topic, other.kind) == (end.topic, end.kind)
            ]
            if isinstance(end, LoopPublisher):
                end.receivers = tuple(
                    other for other in others if isinstance(other, LoopSubscriber)
                )
            else:
                end.connect(tuple(other for other in others if isinstance(other, LoopPublisher)))
        for end in gone:
            if isinstance(end, LoopPublisher):
                end.receivers = ()
            else:
                end.connect(())
