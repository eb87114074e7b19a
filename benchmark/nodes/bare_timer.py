"""A timer and nothing else: what the machine does to a process that only wants to be woken.

    python -m benchmark.nodes.bare_timer RATE SECONDS [BUSY]

Sleeps to the same absolute times as a loop of that rate, counts what it misses
in the same way, and prints what it has seen as JSON. With BUSY it computes for
that part of every period, as a node would: who is on a processor more often is
more often there when something else takes it away.
"""

from __future__ import annotations

import json
import sys
import time
from array import array
from collections.abc import Sequence

import numpy as np

from robot_dynamics.nodes.runtime.scheduling import sharpen_timers

LATE = 1_000_000
"""Delay from which a wake-up is listed with its time, ns."""


def run(rate: float, seconds: float, busy: float = 0.0) -> dict[str, object]:
    """Be woken `rate` times a second for a while.

    Args:
        rate: Rate, Hz.
        seconds: How long.
        busy: Part of every period in which to compute.

    Returns:
        Rates in Hz, delays in s, and the times, s on the steady clock, of late wake-ups.
    """
    sharpen_timers()
    period = round(1e9 / rate)
    turns = range(_turns(busy / rate))
    delays, when = array("q"), array("q")
    missed = 0
    begin = due = time.monotonic_ns() + period
    end = begin + round(seconds * 1e9)
    while due < end:
        left = due - time.monotonic_ns()
        if left > 0:
            time.sleep(left * 1e-9)
        now = time.monotonic_ns()
        late = now - due
        delays.append(late)
        when.append(now)
        skipped = late // period
        missed += skipped
        due += (skipped + 1) * period
        for _ in turns:
            pass
    late_s = 1e-9 * np.array(delays)
    listed = np.flatnonzero(np.array(delays) > LATE)
    return {
        "requested": rate,
        "held": (len(delays) - 1) / (1e-9 * (when[-1] - when[0])),
        "cycles": len(delays),
        "missed": missed,
        "median": float(np.median(late_s)),
        "p99": float(np.quantile(late_s, 0.99)),
        "worst": float(late_s.max()),
        "late": [[1e-9 * when[k], 1e-9 * delays[k]] for k in listed.tolist()],
        "cpu": time.process_time() / seconds,
    }


def _turns(seconds: float) -> int:
    """Turns of an empty loop that take so long when nothing disturbs them."""
    if seconds <= 0.0:
        return 0
    best, count = float("inf"), 10_000
    for _ in range(50):
        begin = time.perf_counter()
        for _ in range(count):
            pass
        best = min(best, time.perf_counter() - begin)
    return round(seconds * count / best)


def main(arguments: Sequence[str]) -> int:
    """Print the result as JSON."""
    print(json.dumps(run(*map(float, arguments))), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
