"""Follow a motion with running nodes, and show its progress on the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from robot_dynamics.cli.output import Printer
from robot_dynamics.cli.progress_line import stages
from robot_dynamics.foundation.progress import Progress
from robot_dynamics.simulation import Log

if TYPE_CHECKING:
    from robot_dynamics.nodes.composition import Composed
    from robot_dynamics.nodes.runtime.loop_statistics import TimingReport

SETTLE_S = 2.0
"""Time to come to rest between two runs, s."""

REFRESH_S = 0.25
"""Time between two updates of the display, s: drawing it costs the nodes processor time."""


def follow(nodes: Composed, name: str, show: Printer) -> tuple[Log, dict[str, TimingReport]]:
    """Follow the motion of trajectory_node once, and print the worst error.

    Args:
        nodes: Running nodes.
        name: Name on the display.
        show: Prints the result.

    Returns:
        The log, and the timing of the nodes.
    """
    duration = nodes.trajectory.waypoints.duration
    with stages() as progress:
        _wait(nodes, SETTLE_S, progress, f"{name}: settling")
        nodes.reset_timings()
        nodes.collector.start()
        nodes.trajectory.send()
        _wait(nodes, duration, progress, f"{name}: moving")
        log, timings = nodes.collector.stop(), nodes.timings
    worst = 1e3 * max(log.rms_error)
    held = timings[nodes.controller.NAME].held
    show(f"{name}: worst RMS {worst:.3f} mrad or mm, {held:.0f} Hz")
    return log, timings


def _wait(nodes: Composed, seconds: float, progress: Progress, stage: str) -> None:
    """Wait in the time of the nodes, which may be simulated."""
    clock, passed = nodes.trajectory.get_clock(), 0.0
    begin = clock.now().nanoseconds
    while passed < seconds:
        progress(stage, passed / seconds)
        nodes.sleep(min(REFRESH_S, seconds - passed))
        passed = min(seconds, (clock.now().nanoseconds - begin) / 1e9)
