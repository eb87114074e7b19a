"""All nodes composed in one process, and where their late cycles come from.

    python -m benchmark.nodes.composed_process ROBOT RATE SECONDS [PRIORITY]

A watcher runs in the loop with them. It reads what the system says of the
loop's thread: time on a processor, time waiting for one. A turn that comes late
is put down to what took the time. Prints what it has seen as JSON.
"""

from __future__ import annotations

import gc
import json
import logging
import os
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmark.nodes.processes import own_domain
from robot_dynamics.nodes.runtime.composition import composed

LATE = 1.0
"""Periods by which a turn is late that is looked into."""

WATCHER = "watcher"

CAUSES = (
    "another process had the processor",
    "a garbage collection",
    "another thread of this process had the interpreter",
    "running, but more slowly: the host had the processor",
    "woken late by the system",
)


class Watcher:
    """Notes, once in every turn of a loop, where the time since the last one went.

    Args:
        rate: Rate of the loop, Hz.
    """

    def __init__(self, rate: float) -> None:
        self.period = 1.0 / rate
        self.turns = 0
        self.late: list[dict[str, float | str]] = []
        self._own: int | None = None
        self._others: list[int] = []
        self._last = (0.0, 0.0, 0.0, 0.0)
        self._busy = 0.0
        self._before = 0.0
        self._collected = 0.0
        self._collecting = 0.0
        gc.callbacks.append(self._on_collection)

    def _on_collection(self, phase: str, _info: dict[str, Any]) -> None:
        now = time.monotonic()
        if phase == "start":
            self._collecting = now
        else:
            self._collected += now - self._collecting

    def reset(self) -> None:
        """Begin anew with the next turn."""
        self._last = (0.0, 0.0, 0.0, 0.0)
        self.turns = 0
        self.late.clear()

    def tick(self) -> None:
        """Note one turn."""
        if self._own is None:
            self._open()
        now = time.monotonic()
        cpu, waited = _schedule(self._own)
        others = sum(_schedule(file)[0] for file in self._others)
        collected = self._collected
        was, self._last = self._last, (now, cpu, waited, others)
        self.turns += 1
        if was[0] == 0.0:
            self._busy = 0.0
            self._before = collected
            return
        over = now - was[0] - self.period
        used = cpu - was[1]
        # What a turn takes by itself, slowly forgotten
        self._busy += 0.01 * (min(used, 2.0 * self._busy or used) - self._busy)
        if over > LATE * self.period:
            shares = (
                waited - was[2],
                collected - self._before,
                others - was[3],
                max(0.0, used - self._busy - (collected - self._before)),
            )
            most = max(range(4), key=shares.__getitem__)
            cause = CAUSES[most] if shares[most] > 0.4 * over else CAUSES[4]
            self.late.append({"at": now, "late": over, "cause": cause})
        self._before = collected

    def _open(self) -> None:
        """Find the threads; this is called in that of the loop."""
        own = threading.get_native_id()
        self._own = _open(own)
        mine = {thread.native_id for thread in threading.enumerate()} - {own}
        self._others = [_open(thread) for thread in mine if thread is not None]


def _open(thread: int) -> int:
    return os.open(f"/proc/self/task/{thread}/schedstat", os.O_RDONLY)


def _schedule(file: int | None) -> tuple[float, float]:
    """Time on a processor and time waiting for one, s."""
    if file is None:
        return 0.0, 0.0
    try:
        on, waiting = os.pread(file, 64, 0).split()[:2]
    except ProcessLookupError:  # a thread that has ended takes no more
        return 0.0, 0.0
    return 1e-9 * int(on), 1e-9 * int(waiting)


def run(robot: str, rate: float, seconds: float, priority: int = 0) -> dict[str, object]:
    """Run the nodes for a while.

    Returns:
        Statistics of every node, s and Hz; late turns with their causes; processor time per s.
    """
    watcher = Watcher(rate)
    logging.getLogger("robot_dynamics").setLevel(logging.ERROR)
    with composed(robot, rate=rate, domain=own_domain(), priority=priority) as nodes:
        if Path("/proc/self/schedstat").exists():
            nodes.process.loop.add(WATCHER, rate, watcher.tick)
        nodes.sleep(2.0)
        print("composed is ready", flush=True)
        nodes.reset_timings()
        watcher.reset()
        used = time.process_time()
        nodes.sleep(seconds)
        used = time.process_time() - used
        timings = {name: report for name, report in nodes.timings.items() if name != WATCHER}
        late = list(watcher.late)
        turns, scheduling = watcher.turns, nodes.scheduling
    return {
        "scheduling": scheduling,
        "turns": turns,
        "late": late,
        "cpu": used / seconds,
        "nodes": {
            name: {
                "asked": report.asked,
                "held": report.held,
                "cycles": report.cycles,
                "missed": report.missed,
                "median": report.late_median,
                "p99": report.late_p99,
                "worst": report.late_max,
                "busy": report.busy_median,
            }
            for name, report in timings.items()
        },
    }


def main(arguments: Sequence[str]) -> int:
    """Print the result as JSON."""
    robot, rate, seconds = arguments[0], float(arguments[1]), float(arguments[2])
    priority = int(arguments[3]) if len(arguments) > 3 else 0
    print(json.dumps(run(robot, rate, seconds, priority)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
