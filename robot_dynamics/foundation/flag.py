"""A flag for signal handlers, which may take no lock."""

from __future__ import annotations


class Flag:
    """Event without a lock, and so without a wait.

    The handler of a second signal runs within that of the first one. Both set the same flag, and
    with `threading.Event` the second one could wait for ever for the lock that the first one holds.
    """

    def __init__(self) -> None:
        self._is_set = False

    def set(self) -> None:
        """Set the flag."""
        self._is_set = True

    def is_set(self) -> bool:
        """Return whether the flag is set."""
        return self._is_set
