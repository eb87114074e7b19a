"""All nodes composed in one process.

    python -m benchmark.nodes.composed_process ROBOT RATE SECONDS [PRIORITY]

Prints their timing and processor time as JSON.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Sequence

from robot_dynamics.nodes.composition import composed


def run(robot: str, rate: float, seconds: float, priority: int = 0) -> dict[str, object]:
    """Run the nodes for a while.

    Returns:
        Statistics of every node, s and Hz; processor time per s.
    """
    logging.getLogger("robot_dynamics").setLevel(logging.ERROR)
    with composed(robot, rate=rate, priority=priority) as nodes:
        nodes.sleep(2.0)
        print("composed is ready", flush=True)
        nodes.reset_timings()
        used = time.process_time()
        nodes.sleep(seconds)
        used = time.process_time() - used
        timings, scheduling = nodes.timings, nodes.scheduling
    return {
        "scheduling": scheduling,
        "cpu": used / seconds,
        "nodes": {
            name: {
                "requested": report.requested,
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
