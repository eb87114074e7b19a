"""Draw a recorded run: positions, tracking errors, and efforts beside those of the model.

robot-dynamics plot run.mcap                     -> run.png
robot-dynamics plot run.mcap --output out.pdf --robot ur5
robot-dynamics plot run.mcap --joints elbow_joint,wrist_1_joint
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from robot_dynamics.cli.arguments import load_robot, output_file, say
from robot_dynamics.cli.output import check_picture, save_picture
from robot_dynamics.control import effort_limits
from robot_dynamics.errors import check_known
from robot_dynamics.foundation.names import plot_text
from robot_dynamics.foundation.numbers import SPACES
from robot_dynamics.foundation.pictures import new_figure, with_gaps
from robot_dynamics.robot import Robot
from robot_dynamics.robot.joint_units import joint_unit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from robot_dynamics.recordings.recorded_motion import RecordedMotion

MEASURED, DESIRED = "#0072b2", "#d55e00"
"""Colours that every kind of colour vision tells apart."""

MOST_POINTS = 4000
"""Least number of points that are left of a thinned curve: finer than print resolution."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command line of the verb."""
    parser.add_argument("recording", type=Path, help="an .mcap, a .db3, or the folder of a bag")
    parser.add_argument("-o", "--output", type=output_file, metavar="FILE", help="picture to write")
    parser.add_argument("--joints", metavar="JOINT,...", help="joints to draw (default: all)")
    parser.add_argument(
        "--robot", default=None, help="name or URDF path (default: the robot that was recorded)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Draw the picture."""
    from robot_dynamics.recordings.recorded_motion import read_motion  # noqa: PLC0415

    output = arguments.output or arguments.recording.with_suffix(".png")
    check_picture(output)
    say("drawing")
    motion = read_motion(arguments.recording)
    robot = motion.robot() if arguments.robot is None else load_robot(arguments.robot)
    joints = None
    if arguments.joints is not None:
        joints = [name.strip(SPACES) for name in arguments.joints.split(",")]
        for name in joints:
            check_known("joint", name, f"robot '{robot.name}'", robot.joint_names)
    save_picture(figure(motion, robot, joints), output_file(output))
    print(f"picture: {output}")
    return 0


def figure(motion: RecordedMotion, robot: Robot, joints: Sequence[str] | None = None) -> Figure:
    """Return a figure with a row for each of some joints, by default of all that were recorded.

    No line is drawn over gaps of the recording.
    """
    states = motion.states.ordered(robot.joint_names)
    recorded = np.flatnonzero(np.isfinite(states.position).any(axis=0))
    if not len(recorded):
        states = motion.states_of(robot)  # names a joint that is missing
    shown = [robot.joint_names[k] for k in recorded] if joints is None else joints
    t0 = states.stamp[0]
    t = 1e-9 * (states.stamp - t0)
    thin = slice(None, None, max(1, len(t) // MOST_POINTS))
    cut = with_gaps(t[thin])
    desired = motion.topics.get("reference")
    reference = None if desired is None else desired.ordered(robot.joint_names)
    picture = new_figure(figsize=(13.0, 1.2 + 1.7 * len(shown)), dpi=100, layout="constrained")
    axes = picture.subplots(len(shown), 3, squeeze=False, sharex=True)
    limits = effort_limits(robot)
    for row, name in zip(axes, shown, strict=True):
        k = robot.joint_names.index(name)
        joint, limit = robot.joint(name), limits[k]
        position, error, effort = row
        position.plot(cut(t[thin]), cut(states.position[thin, k]), color=MEASURED, label="measured")
        position.set_ylabel(f"{plot_text(name)}\n{joint_unit(joint, 'position')}")
        if reference is not None:
            at = 1e-9 * (reference.stamp - t0)
            own = with_gaps(at[thin])
            q_d = reference.position[:, k]
            position.plot(
                own(at[thin]), own(q_d[thin]), "--", lw=1.0, color=DESIRED, label="desired"
            )
            apart = with_gaps(at)  # no error where there is no reference
            e = np.interp(t, apart(at), apart(q_d)) - states.position[:, k]
            error.plot(cut(t[thin]), cut(1e3 * e[thin]), color=MEASURED)
            effort.plot(own(at[thin]), own(reference.effort[thin, k]), "--", lw=1.0,
                        color=DESIRED, label="feedforward")  # fmt: skip
        error.set_ylabel(f"m{joint_unit(joint, 'position')}")
        effort.plot(cut(t[thin]), cut(states.effort[thin, k]), color=MEASURED, label="measured")
        # A limit far above the efforts would flatten their curves
        if np.isfinite(limit) and (np.abs(states.effort[:, k]) > 0.4 * limit).any():
            for side in (-limit, limit):
                effort.axhline(side, color="0.5", ls=":", label="limit")
        effort.set_ylabel(joint_unit(joint, "effort"))
        for axis in row:
            axis.grid(color="#eeeeee")
            axis.margins(x=0)
    for axis, title in zip(axes[0], ("position", "tracking error", "effort"), strict=True):
        axis.set_title(title)
    for axis in axes[-1]:
        axis.set_xlabel("time, s")
    lines = {
        line.get_label(): line
        for axis in picture.axes
        for line in axis.get_lines()
        if not str(line.get_label()).startswith("_")
    }
    picture.legend(handles=[*lines.values()], loc="outside lower center", ncols=len(lines))
    picture.suptitle(plot_text(f"{robot.name}: {motion.path.name}"))
    return picture
