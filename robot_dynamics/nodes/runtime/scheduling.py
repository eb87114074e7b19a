"""Real-time scheduling of a thread: priority, processors, locked memory, timers."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Sequence
from contextlib import ExitStack, suppress

MCL_CURRENT, MCL_FUTURE = 1, 2
"""Flags of sys/mman.h: lock present and future memory."""


def sharpen_timers() -> None:
    """Have Linux wake this thread on time: by default it may add 50 us to every sleep."""
    if sys.platform == "linux":
        pr_set_timerslack, nanoseconds = 29, 1
        ctypes.CDLL(None).prctl(pr_set_timerslack, nanoseconds)


def scheduled(priority: int, cpus: Sequence[int], stack: ExitStack) -> str:
    """Schedule this thread as far as the system allows, until `stack` ends.

    Args:
        priority: Real-time priority (SCHED_FIFO), 1 to 99; 0 for ordinary scheduling.
        cpus: Processors to run on; empty for all.
        stack: Restores the previous scheduling.

    Returns:
        The resulting scheduling, in words.
    """
    words = with_priority(priority, stack)
    return f"{words}, {on_processors(cpus, stack)}" if cpus else words


def with_locked_memory(stack: ExitStack) -> str:
    """Lock all memory of this process into RAM until `stack` ends.

    Only if the system sets no limit: beyond one, the next allocation would fail.

    Returns:
        The result, in words.
    """
    if sys.platform != "linux":
        return "memory not locked (lock_memory is only supported on Linux)"
    allowed = lockable_memory()
    if allowed is not None:
        return (
            f"memory not locked (lock_memory refused: {allowed // 1024} KiB allowed; allow it with "
            "ulimit -l unlimited or in /etc/security/limits.conf)"
        )
    system = ctypes.CDLL(None, use_errno=True)
    if system.mlockall(MCL_CURRENT | MCL_FUTURE):
        return f"memory not locked (lock_memory refused: {os.strerror(ctypes.get_errno())})"
    stack.callback(system.munlockall)
    return "memory locked"


def lockable_memory() -> int | None:
    """Return the memory that this process may lock, bytes; None without a limit."""
    import resource  # noqa: PLC0415  # not on every system

    soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    return None if soft == resource.RLIM_INFINITY or os.geteuid() == 0 else soft


def on_processors(cpus: Sequence[int], stack: ExitStack) -> str:
    """Pin this thread to processors until `stack` ends; return the result, in words."""
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
    """Give this thread a real-time priority, if the system allows it, until `stack` ends.

    The other threads of the process get the next lower one: a thread that held the interpreter
    and waited behind an ordinary process would delay the loop.

    Returns:
        The result, in words.
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
