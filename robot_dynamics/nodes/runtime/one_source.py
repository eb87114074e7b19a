"""OneSource: which messages come from the publisher of those before them."""

from __future__ import annotations

KEPT_AFTER = 20
"""Whole messages in a row of one publisher after which others are not followed. One that publishes
now and then, such as a joint_state_publisher that was left running, never has as many."""

MOST_LOST = 1000
"""Messages of the publisher that may be lost between two that come: a stop of a moment at 5 kHz."""

SILENT_NS = 200_000_000
"""Silence of the publisher after which any other is followed, ns: it may have been restarted."""


class OneSource:
    """Tells the messages of the publisher that is followed from those of others.

    The middleware numbers the messages of each publisher. Several may publish parts of the states
    of a robot, so only one whose messages are whole is kept to. Nothing is refused where the
    middleware gives no numbers, as Cyclone DDS.
    """

    def __init__(self) -> None:
        self._number = self._in_a_row = self._at = 0

    def refuses(self, number: int | None, at: int) -> bool:
        """Return whether a message comes from another publisher.

        Args:
            number: Its number.
            at: Time at which it is read, ns.
        """
        if number is None or not self._keeps(at):
            return False
        return not 0 < number - self._number <= MOST_LOST

    def take(self, number: int | None, at: int, whole: bool) -> None:
        """Note a message that was not refused.

        Args:
            number: Its number.
            at: Time at which it is read, ns.
            whole: Whether it has the states of all joints.
        """
        if number is None:
            return
        goes_on = whole and number == self._number + 1
        self._in_a_row = self._in_a_row + 1 if goes_on or self._keeps(at) else int(whole)
        self._number, self._at = number, at

    def _keeps(self, at: int) -> bool:
        """Return whether one publisher is followed, and no other."""
        return self._in_a_row >= KEPT_AFTER and at - self._at <= SILENT_NS
