"""Timers: periodic slow work of nodes in a thread beside the loop.

A timer of rclpy wakes its executor, which collects every entity of every node before and after the
callback: 5 ms of Python in a process of five nodes, during which the loop competes for the
interpreter. A `LoopTimer` costs only its own work.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from time import monotonic
from typing import Any

from rclpy.context import Context
from rclpy.exceptions import InvalidHandle
from rclpy.executors import SingleThreadedExecutor


class LoopTimer:
    """Periodic work.

    Args:
        period: Period, s of steady time.
        work: Function to call.

    Attributes:
        due: Time of the next call, s of `time.monotonic`; the first is one period from now.
    """

    def __init__(self, period: float, work: Callable[[], object]) -> None:
        self._period, self._work = period, work
        self.due = monotonic() + period

    def run_if_due(self, now: float) -> None:
        """Run the work if it is due at `now`, s of `time.monotonic`; skip missed periods.

        An error of the work is passed on; the next call is due as if there were none.
        """
        if now >= self.due:
            self.due += self._period * (1.0 + (now - self.due) // self._period)
            self._work()


class SlowExecutor(SingleThreadedExecutor):  # type: ignore[misc]  # rclpy is untyped if absent
    """Executor whose callbacks exclude timers and the start of nodes.

    Attributes:
        busy: Lock held while a callback or a timer runs or a node starts; take it before spinning.
    """

    def __init__(self, context: Context) -> None:
        super().__init__(context=context)
        self.busy = Lock()

    def wait_for_ready_callbacks(self, *args: Any, **options: Any) -> Any:
        """Wait as rclpy does; timers may run meanwhile.

        A timer may destroy a subscription while rclpy collects its entities, which raises an
        error (https://github.com/ros2/rclpy/issues/1284); the collection is then repeated.
        """
        self.busy.release()
        try:
            while True:
                try:
                    return super().wait_for_ready_callbacks(*args, **options)
                except InvalidHandle:
                    if not self.context.ok():
                        raise
        finally:
            self.busy.acquire()
