"""Follow a motion with running nodes, and show its progress on the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from robot_dynamics.cli.output import Printer
from robot_dynamics.cli.progress_line import stages
from robot_dynamics.simulation import Log

if TYPE_CHECKING:
    from robot_dynamics.nodes.composition import Composed
    from robot_dynamics.nodes.runtime.loop_statistics import TimingReport


def follow(nodes: Composed, name: str, show: Printer) -> tuple[Log, dict[str, TimingReport]]:
    """Follow the motion of trajectory_node once, and print the worst error.

    Args:
        nodes: Running nodes.
        name: Name on the display.
        show: Prints the result.

    Returns:
        The log, and the timing of the nodes.
    """
    with stages() as progress:
        log = nodes.follow(lambda stage, done: progress(f"{name}: {stage}", done))
        timings = nodes.timings
    worst = 1e3 * max(log.rms_error)
    held = timings[nodes.controller.NAME].held
    show(f"{name}: worst RMS {worst:.3f} mrad or mm, {held:.0f} Hz")
    return log, timings
