"""Exchange: messages between the nodes of one process, handed over as values, in the same cycle.

Who is in another process gets the same messages through the middleware, and what it sends is taken
from there. See docs/wire.md.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from math import inf
from time import monotonic, time_ns
from typing import Any

from rclpy.publisher import Publisher
from rclpy.subscription import Subscription

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.nodes.ros.message_bytes import WRITERS, writes_cdr

LOOK_S = 5e-3
"""Time from one look who else publishes or listens to the next, s: each asks the middleware."""

SENT_KEPT = 256
"""Messages of ours that are told from those of others when the middleware brings them back."""


class Count:
    """How many others the middleware has found, which takes time to ask and changes rarely.

    Args:
        count: Asks it.
    """

    def __init__(self, count: Callable[[], float]) -> None:
        self._count, self._last, self._until = count, 0.0, 0.0

    def __call__(self) -> float:
        """As many as at the last look, or now."""
        now = monotonic()
        if now >= self._until:
            self._last, self._until = self._count(), now + LOOK_S
        return self._last


class Inlet:
    """Takes the messages of one topic for a loop.

    Args:
        subscription: Where they come from.
        callback: What they are for; by default that of the subscription.
        read: Makes values of the bytes of a message; by default the callback gets the message.
        refused: Told why bytes are no such message.
        period: Time from one look at the middleware to the next, s, where messages are rare, or
            may wait; zero to look whenever asked.
    """

    def __init__(
        self,
        subscription: Subscription,
        callback: Callable[[Any], None] | None = None,
        read: Callable[[bytes], Any] | None = None,
        refused: Callable[[RobotDynamicsError], object] = lambda error: None,
        period: float = 0.0,
    ) -> None:
        self.subscription = subscription
        self.topic, self.kind = subscription.topic_name, subscription.msg_type
        self.handle = subscription.handle
        self.senders: tuple[Outlet, ...] = ()
        self._callback = callback or subscription.callback
        self._refused = refused
        depth = subscription.qos_profile.depth
        self._turns = range(depth)
        self._handed: deque[tuple[int, Any]] = deque(maxlen=depth)
        self._read = read
        # Where they cannot be counted (Humble), there may always be others
        self._publishers = Count(getattr(self.handle, "get_publisher_count", lambda: inf))
        self._foreign = False
        self.period, self._next = period, 0.0

    @property
    def listens(self) -> bool:
        """Whether messages are to come through the middleware: others than ours publish too."""
        return self._foreign or not self.senders

    def connect(self, senders: tuple[Outlet, ...]) -> None:
        """Take what these outlets of this process hand over, and nothing older."""
        if senders != self.senders:
            self._handed.clear()
            self.senders = senders

    @property
    def waits(self) -> bool:
        """Whether values of this process wait to be taken."""
        return bool(self._handed)

    def hand(self, values: Any) -> None:
        """Take values from an outlet of this process."""
        self._handed.append((time_ns(), values))

    def take(self) -> int | None:
        """Give every message that waits to the callback.

        Returns:
            When the first one was received, system time in ns (0 if the middleware does not say);
            None if there was none.
        """
        if not self.senders:
            return self._take_from_middleware()
        received = None
        while self._handed:
            at, values = self._handed.popleft()
            received = received or at
            self._callback(values)
        foreign = self._publishers() > len(self.senders)
        if foreign and not self._foreign:  # what waits are mostly old ones of ours
            self._drop()
        self._foreign = foreign
        return self._take_from_middleware() or received if foreign else received

    def _take_from_middleware(self) -> int | None:
        if self.period:
            now = monotonic()
            if now < self._next:
                return None
            self._next = now + self.period
        take, kind, read = self.handle.take_message, self.kind, self._read
        received: int | None = None
        for _ in self._turns:
            taken = take(kind, read is not None)
            if taken is None:
                break
            if self.senders and any(taken[0] in sender.sent for sender in self.senders):
                continue
            if received is None:
                received = taken[1]["received_timestamp"]
            self._give(taken[0])
        return received

    def _give(self, message: Any) -> None:
        if self._read is not None:
            try:
                message = self._read(message)
            except RobotDynamicsError as error:
                self._refused(error)
                return
        self._callback(message)

    def discard(self) -> None:
        """Drop the messages that wait."""
        self._handed.clear()
        self._drop()

    def _drop(self) -> None:
        while self.handle.take_message(self.kind, True) is not None:
            pass


class Outlet:
    """Publishes what a node makes in its loop: `JointValues`, or efforts of shape (n,).

    Args:
        publisher: Of a type of message that `WRITERS` knows.
    """

    def __init__(self, publisher: Publisher) -> None:
        self.publisher = publisher
        self.topic, self.kind = publisher.topic_name, publisher.msg_type
        self.receivers: tuple[Inlet, ...] = ()
        self.sent: deque[bytes] = deque(maxlen=SENT_KEPT)
        self._handle = publisher.handle
        self._count = Count(self._handle.get_subscription_count)
        self._write = WRITERS[self.kind]()

    @property
    def listeners(self) -> int:
        """How many subscriptions receive what is published."""
        return int(self._count())

    def publish(self, values: Any) -> None:
        """Hand values to who is in this process, and publish them for everybody else."""
        for receiver in self.receivers:
            receiver.hand(values)
        if self._count() <= len(self.receivers):
            return
        message = self._write(values)
        if not isinstance(message, bytes):
            self.publisher.publish(message)
            return
        if self.receivers:
            self.sent.append(message)
        self._handle.publish_raw(message)


class Exchange:
    """Brings together the outlets and inlets of the nodes of one process."""

    def __init__(self) -> None:
        self._ends: tuple[tuple[object, Inlet | Outlet], ...] = ()

    def join(self, owner: object, ends: list[Inlet | Outlet]) -> None:
        """Add those of a node; it does not hand to itself."""
        if writes_cdr():  # or ours could not be told from those of others
            self._connect((*self._ends, *((owner, end) for end in ends)))

    def leave(self, owner: object) -> None:
        """Take out those of a node."""
        self._connect(tuple(end for end in self._ends if end[0] is not owner))

    def _connect(self, ends: tuple[tuple[object, Inlet | Outlet], ...]) -> None:
        gone = [end for _, end in self._ends if all(end is not other for _, other in ends)]
        self._ends = ends
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
