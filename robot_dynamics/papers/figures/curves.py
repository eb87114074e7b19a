"""Curves of the joints over time, in one style."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from robot_dynamics.foundation.arrays import Array
from robot_dynamics.papers.paper_motions import JointMotion
from robot_dynamics.robot.robot import Robot

# Readers with any colour vision can distinguish them; in print the line style does
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#111111")
STYLES = ("-", "--", "-.", (0, (4, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (7, 2)))


class PaperFigure(NamedTuple):
    """One figure of a paper.

    Attributes:
        number: As printed.
        title: What it shows.
        name: Of its file, without suffix.
        figure: The drawing.
    """

    number: int | str
    title: str
    name: str
    figure: Figure


class WorkedExample(NamedTuple):
    """An arm and its motion.

    Attributes:
        title: What is shown.
        about: What was chosen where the print leaves it open.
        names: Of its figures, in their order.
        figures: Draws them, with so many points of a curve.
    """

    title: str
    about: str
    names: tuple[str, ...]
    figures: Callable[[int], Iterable[PaperFigure]]


def torques(formulation: Callable[..., Array], robot: Robot, motion: JointMotion) -> Array:
    """Efforts of a formulation along a motion, shape (N, n), N m or N."""
    return np.array([formulation(robot, *state, {}) for state in zip(*motion, strict=True)])


def draw_joints(axis: Axes, t: Array, values: Array, joints: Sequence[int]) -> None:
    """One curve for each column, named by its joint in a legend."""
    for column, joint in enumerate(joints):
        axis.plot(
            t,
            values[:, column],
            color=COLOURS[joint],
            linestyle=STYLES[joint],
            label=f"joint {joint + 1}",
        )
    axis.legend(frameon=False, fontsize=8)
    axis.grid(alpha=0.25)


def draw_one_each(axes: Sequence[Axes], t: Array, tau: Array, style: str, label: str) -> None:
    """One small plot for each joint."""
    for joint, axis in enumerate(axes):
        colour = COLOURS[0] if style == "-" else COLOURS[1]
        axis.plot(t, tau[:, joint], style, color=colour, label=label)
        axis.set(title=f"joint {joint + 1}", xlabel="time (s)", ylabel="torque (N m)")
        axis.grid(alpha=0.25)
        if np.ptp(tau[:, joint]) < 1e-9:  # a straight line, and not a picture of round-off
            axis.set_ylim(-1.0, 1.0)


def shared_legend(figure: Figure, axis: Axes) -> None:
    """One legend above all plots of a figure."""
    figure.legend(*axis.get_legend_handles_labels(), loc="outside upper center", ncols=2)
