"""Subscribers and publishers of the loop: they take and publish messages as bytes."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic, monotonic_ns
from typing import Any

from rclpy.callback_groups import CallbackGroup
from rclpy.publisher import Publisher
from rclpy.subscription import Subscription

from robot_dynamics.nodes.ros.cdr import WRITERS
from robot_dynamics.nodes.runtime.loop_statistics import S_PER_NS, Input
from robot_dynamics.nodes.runtime.one_source import OneSource

COUNT_PERIOD_NS = 20_000_000
"""Period of counting the subscriptions to a topic, ns: a count takes as long as a message."""


class LoopCallbackGroup(CallbackGroup):  # type: ignore[misc]  # rclpy is untyped where it is absent
    """Callback group of subscriptions that a loop reads; executors ignore them."""

    def can_execute(self, _entity: object) -> bool:
        """Return False: executors never run these callbacks."""
        return False


class LoopSubscriber:
    """Takes the messages of one topic for a loop.

    Args:
        subscription: The subscription.
        read: Decodes the bytes of a message for the callback of the subscription.
        refused: Called with the error when `read` or the callback refuses a message.
        counts: Counter of the messages; in the callback its time is that of the message.
        period: Time for which messages may wait before they are taken, s.
        one_source: Follow one publisher where several publish; the callback then returns whether a
            message is whole. See `OneSource`.
    """

    def __init__(
        self,
        subscription: Subscription,
        read: Callable[[bytes], Any],
        refused: Callable[[Exception], object],
        counts: Input,
        period: float = 0.0,
        one_source: bool = False,
    ) -> None:
        self.topic = subscription.topic_name
        self.handle, self._kind = subscription.handle, subscription.msg_type
        self._callback, self._read, self._refused = subscription.callback, read, refused
        self.counts = counts
        self._turns = range(subscription.qos_profile.depth)
        self.period = round(period / S_PER_NS)
        self._source = OneSource() if one_source else None

    def take(self) -> int | None:
        """Pass every waiting message to the callback.

        Returns:
            System time at which the first one was received, ns (0 if the middleware does not
            know); None if there was none.
        """
        received = None
        take, kind, read, source = self.handle.take_message, self._kind, self._read, self._source
        for _ in self._turns:  # in one function: a call would cost more than its work
            taken = take(kind, True)
            if taken is None:
                break
            message, info = taken
            if received is None:
                received = info["received_timestamp"]
            if source is not None:
                number, at = info["publication_sequence_number"], monotonic_ns()
                if source.refuses(number, at):
                    continue
            whole = False
            try:
                values = read(message)
                self.counts.count += 1
                self.counts.at = monotonic()
                whole = self._callback(values)
            except Exception as error:
                self._refused(error)
            if source is not None:
                source.take(number, at, whole)
        return received

    def discard(self) -> None:
        """Drop all waiting messages."""
        while self.handle.take_message(self._kind, True) is not None:
            pass


class LoopPublisher:
    """Publishes `JointValues` or `Efforts` from the loop of a node.

    Args:
        publisher: Publisher of a message type in `WRITERS`.
    """

    def __init__(self, publisher: Publisher) -> None:
        self.publisher, self.topic = publisher, publisher.topic_name
        self._handle = publisher.handle
        self._write = WRITERS[publisher.msg_type]()
        self._count, self._count_due = 0, 0

    @property
    def subscriber_count(self) -> int:
        """Subscriptions to the topic, counted every `COUNT_PERIOD_NS`."""
        if not self._count:
            self._update_count()
        return self._count

    def _update_count(self) -> None:
        now = monotonic_ns()
        if now >= self._count_due:
            self._count_due = now + COUNT_PERIOD_NS
            self._count = int(self._handle.get_subscription_count())

    def publish(self, values: Any) -> None:
        """Publish values if there are subscriptions."""
        if self._count or self.subscriber_count:
            self._handle.publish_raw(self._write(values))
            self._update_count()  # now that the message is out
