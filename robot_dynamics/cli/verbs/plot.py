"""Draw a recorded run: positions, tracking errors, and efforts beside those of the model.

robot-dynamics plot run.mcap                     -> run.png
robot-dynamics plot run.mcap --output out.pdf --robot ur5
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from robot_dynamics.cli.arguments import load_robot, output_file, say
from robot_dynamics.cli.output import save_picture
from robot_dynamics.control import effort_limits
from robot_dynamics.errors import ArgumentError
from robot_dynamics.foundation.names import plot_text
from robot_dynamics.robot import Robot

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from robot_dynamics.recordings.recorded_motion import RecordedMotion

MOST_POINTS = 4000
"""Least number of points that are left of a thinned curve: finer than print resolution."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command line of the verb."""
    parser.add_argument("recording", type=Path, help="an .mcap, a .db3, or the folder of a bag")
    parser.add_argument("--output", type=output_file, metavar="FILE", help="picture to write")
    parser.add_argument(
        "--robot", default=None, help="name or URDF path (default: the robot that was recorded)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Draw the picture."""
    from matplotlib.backend_bases import FigureCanvasBase  # noqa: PLC0415

    from robot_dynamics.recordings.recorded_motion import read_motion  # noqa: PLC0415

    output = arguments.output or arguments.recording.with_suffix(".png")
    if output.suffix[1:].lower() not in FigureCanvasBase.get_supported_filetypes():
        raise ArgumentError(f"{output}: no kind of picture; use .png, .pdf or .svg")
    say("drawing")
    motion = read_motion(arguments.recording)
    robot = motion.robot() if arguments.robot is None else load_robot(arguments.robot)
    save_picture(figure(motion, robot), output_file(output))
    print(f"picture: {output}")
    return 0


def figure(motion: RecordedMotion, robot: Robot) -> Figure:
    """Return a figure with a row per joint."""
    from matplotlib.figure import Figure  # noqa: PLC0415

    names = robot.joint_names
    states = motion.states.ordered(names)
    t0 = states.stamp[0]
    t = 1e-9 * (states.stamp - t0)
    step = max(1, len(t) // MOST_POINTS)
    desired = motion.topics.get("reference")
    reference = None if desired is None else desired.ordered(names)
    picture = Figure(figsize=(13.0, 1.0 + 1.7 * len(names)), dpi=100, layout="constrained")
    axes = picture.subplots(len(names), 3, squeeze=False, sharex=True)
    for k, (name, limit) in enumerate(zip(names, effort_limits(robot), strict=True)):
        position, error, effort = axes[k]
        rotates = robot.joint(name).type.rotates
        position.plot(t[::step], states.position[::step, k], label="measured")
        position.set_ylabel(f"{plot_text(name)}\n{'rad' if rotates else 'm'}")
        if reference is not None:
            at = 1e-9 * (reference.stamp - t0)
            position.plot(at[::step], reference.position[::step, k], "--", lw=1.0, label="desired")
            e = np.interp(t, at, reference.position[:, k]) - states.position[:, k]
            error.plot(t[::step], 1e3 * e[::step])
            effort.plot(at[::step], reference.effort[::step, k], "--", lw=1.0, label="feedforward")
        error.set_ylabel("mrad" if rotates else "mm")
        effort.plot(t[::step], states.effort[::step, k], label="measured")
        # A limit far above the efforts would flatten their curves
        if np.isfinite(limit) and np.nanmax(np.abs(states.effort[:, k])) > 0.4 * limit:
            for side in (-limit, limit):
                effort.axhline(side, color="0.5", ls=":")
        effort.set_ylabel("N m" if rotates else "N")
    for axis, title in zip(axes[0], ("position", "tracking error", "effort"), strict=True):
        axis.set_title(title)
    for axis in axes[-1]:
        axis.set_xlabel("time, s")
    axes[0][0].legend(fontsize="small")
    axes[0][2].legend(fontsize="small")
    picture.suptitle(plot_text(f"{robot.name}: {motion.path.name}"))
    return picture
