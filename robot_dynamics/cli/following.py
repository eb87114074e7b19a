"""Follow a motion with running nodes, with a progress bar on the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from robot_dynamics.simulation import Log

if TYPE_CHECKING:
    from robot_dynamics.nodes.composition import Composed
    from robot_dynamics.nodes.runtime.loop_statistics import TimingReport

SETTLE_S = 2.0
"""Time to come to rest between two runs, s."""

REFRESH_S = 0.25
"""Time between two updates of the display, s: drawing it costs the nodes processor time."""


def progress_bar(console: Console) -> Progress:
    """Return a progress bar per run, which `follow` refreshes."""
    return Progress(
        TextColumn("{task.description:26}"),
        BarColumn(),
        TextColumn("{task.percentage:3.0f} %  {task.fields[state]}"),
        console=console,
        auto_refresh=False,
    )


def follow(nodes: Composed, name: str, progress: Progress) -> tuple[Log, dict[str, TimingReport]]:
    """Follow the motion of trajectory_node once.

    Args:
        nodes: Running nodes.
        name: Name on the display.
        progress: From `progress_bar`.

    Returns:
        The log, and the timing of the nodes.
    """
    duration = nodes.trajectory.waypoints.duration
    task = progress.add_task(name, total=SETTLE_S + duration, state="")
    _wait(nodes, SETTLE_S, progress, task, "settling")
    nodes.reset_timings()
    nodes.collector.start()
    nodes.trajectory.send()
    _wait(nodes, duration, progress, task, "moving")
    log, timings = nodes.collector.stop(), nodes.timings
    worst = 1e3 * max(log.rms_error)
    held = timings[nodes.controller.NAME].held
    state = f"worst RMS {worst:.3f} mrad or mm, {held:.0f} Hz"
    progress.update(task, completed=SETTLE_S + duration, state=state)
    progress.refresh()
    return log, timings


def _wait(nodes: Composed, seconds: float, progress: Progress, task: TaskID, state: str) -> None:
    """Wait in the time of the nodes, which may be simulated."""
    clock, passed = nodes.trajectory.get_clock(), 0.0
    begin = clock.now().nanoseconds
    while passed < seconds:
        progress.update(task, state=state)
        progress.refresh()
        nodes.sleep(min(REFRESH_S, seconds - passed))
        before, passed = passed, min(seconds, (clock.now().nanoseconds - begin) / 1e9)
        progress.advance(task, passed - before)
