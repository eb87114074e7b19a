"""Real time: what the system can do so that a thread is woken on time."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Sequence
from contextlib import ExitStack, suppress


def sharpen_timers() -> None:
    """Ask Linux to wake this thread on time: by default it may add 50 us to every sleep."""
    if sys.platform == "linux":
        pr_set_timerslack, nanoseconds = 29, 1
        ctypes.CDLL(None).prctl(pr_set_timerslack, nanoseconds)


def scheduled(priority: int, cpus: Sequence[int], stack: ExitStack) -> str:
    """Schedule this thread as asked, as far as the system allows it, until `stack` ends.

    Args:
        priority: Real-time priority (SCHED_FIFO), 1 to 99; 0 for ordinary scheduling.
        cpus: Processors to run on; empty for all.
        stack: Puts everything back.

    Returns:
        What came of it, in words.
    """
    words = with_priority(priority, stack)
    return f"{words}, {on_processors(cpus, stack)}" if cpus else words


def on_processors(cpus: Sequence[int], stack: ExitStack) -> str:
    """Keep this thread on some processors until `stack` ends; what came of it, in words."""
    wanted = ", ".join(map(str, cpus))
    if not hasattr(os, "sched_setaffinity"):
        return "any processor (cpu_affinity is only supported on Linux)"
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, cpus)
    except OSError:
        there = ", ".join(map(str, sorted(before)))
        return f"any processor (cpu_affinity {wanted} refused: there are {there})"
    stack.callback(os.sched_setaffinity, 0, before)
    return f"on processor {wanted}"


def with_priority(priority: int, stack: ExitStack) -> str:
    """Schedule this thread before all ordinary ones, if the system allows it, until `stack` ends.

    The other threads of the process come right after it: one that held the
    interpreter and waited behind an ordinary process would keep the loop waiting.

    Returns:
        What came of it, in words.
    """
    if priority <= 0:
        return "ordinary scheduling"
    if sys.platform != "linux":
        return "ordinary scheduling (real-time priority is only supported on Linux)"
    own = threading.get_native_id()
    try:
        _schedule(own, os.SCHED_FIFO, priority)
    except OSError as error:
        return (
            f"ordinary scheduling (real-time priority {priority} refused: {error.strerror}; "
            "allow it with ulimit -r or in /etc/security/limits.conf)"
        )
    stack.callback(_schedule, own, os.SCHED_OTHER, 0)
    for thread in map(int, os.listdir("/proc/self/task")):
        if thread != own and priority > 1:
            with suppress(OSError):  # it may just have ended
                _schedule(thread, os.SCHED_FIFO, priority - 1)
                stack.callback(_schedule, thread, os.SCHED_OTHER, 0)
    return f"real-time scheduling, priority {priority}"


def _schedule(thread: int, policy: int, priority: int) -> None:
    with suppress(ProcessLookupError):
        os.sched_setscheduler(thread, policy, os.sched_param(priority))
