"""Chores: slow work of nodes at steady times, beside the loop.

A timer of rclpy wakes its executor, which gathers every entity of every node before it runs it and
after: 5 ms of Python in a process of five nodes, all of which the loop competes with for the
interpreter. A chore takes as long as it works.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from time import monotonic
from typing import Any

from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation


class Chore:
    """Work that is due again and again.

    Args:
        period: Time from one time to the next, s of steady time.
        work: What to do.
    """

    def __init__(self, period: float, work: Callable[[], object]) -> None:
        self._period, self._work = period, work
        self.due = monotonic() + period

    def do(self, now: float) -> None:
        """Do it, if it is due at `now`; times that were missed are left out."""
        if now >= self.due:
            self.due += self._period * (1.0 + (now - self.due) // self._period)
            self._work()


class SlowExecutor(SingleThreadedExecutor):  # type: ignore[misc]  # rclpy is untyped if absent
    """Executor beside whose callbacks nobody does chores, and no node starts.

    Attributes:
        at_work: Held while a callback runs; whoever spins takes it first, and whoever does chores
            or starts a node.
    """

    def __init__(self, context: Context) -> None:
        super().__init__(context=context)
        self.at_work = Lock()

    def wait_for_ready_callbacks(self, *args: Any, **options: Any) -> Any:
        """As of rclpy; meanwhile chores may be done.

        One that destroys a subscription may do so while rclpy gathers what to wait for, which it
        does not bear (https://github.com/ros2/rclpy/issues/1284): it is to gather again.
        """
        self.at_work.release()
        try:
            while True:
                try:
                    return super().wait_for_ready_callbacks(*args, **options)
                except rclpy_implementation.InvalidHandle:
                    if not self.context.ok():
                        raise
        finally:
            self.at_work.acquire()
