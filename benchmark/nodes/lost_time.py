"""What the machine takes from a process that would like to compute all the time."""

from __future__ import annotations

import time
from pathlib import Path


def lost_time(seconds: float) -> tuple[float, float, float]:
    """What a thread that only computes loses.

    Returns:
        Part of the time lost to other processes, part lost to the host of a
        virtual machine, and the longest gap, s.
    """
    waited = _waited()
    begin = last = time.monotonic_ns()
    end, lost, longest = begin + round(seconds * 1e9), 0, 0
    while last < end:
        now = time.monotonic_ns()
        gap = now - last
        if gap > 50_000:
            lost += gap
            longest = max(longest, gap)
        last = now
    known = _waited() - waited
    return known / seconds, max(0.0, 1e-9 * lost - known) / seconds, 1e-9 * longest


def _waited() -> float:
    """Time that this thread has waited for a processor, s."""
    try:
        return 1e-9 * int(Path("/proc/thread-self/schedstat").read_text().split()[1])
    except OSError:
        return 0.0
