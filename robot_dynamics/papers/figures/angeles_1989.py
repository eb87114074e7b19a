"""Figures 4 to 8 of [Angeles1989]: the Stanford arm, and the arm of Thomas and Tesar on a line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from robot_dynamics.formulations import kane
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.papers.figures.curves import (
    COLOURS,
    PaperFigure,
    WorkedExample,
    draw_joints,
    draw_one_each,
    shared_legend,
    torques,
)
from robot_dynamics.papers.paper_arms import stanford_arm, thomas_tesar_arm
from robot_dynamics.papers.paper_motions import (
    LINE_TIME_S,
    STANFORD_TIME_S,
    JointMotion,
    line_law,
    line_motion,
    stanford_motion,
)
from robot_dynamics.robot.robot import Robot


def _torques_of(
    arm: Callable[[str], Robot], readings: tuple[str, str], t: Array, motion: JointMotion
) -> tuple[Figure, np.ndarray[Any, Any]]:
    """Return a figure of the efforts of six joints in two readings of an arm, and its axes."""
    figure = Figure(figsize=(9.0, 5.0), layout="constrained")
    rows = figure.subplots(2, 3)
    for reading, style in zip(readings, ("-", "--"), strict=True):
        tau = torques(kane.inverse_dynamics, arm(reading), motion)
        draw_one_each(rows.ravel(), t, tau, style, f'reading "{reading}"')
    return figure, rows


# -- Stanford arm -----------------------------------------------------------------------------


def stanford_figures(points: int) -> Iterator[PaperFigure]:
    """Figures 4 and 5, at so many points of the motion."""
    t = np.linspace(0.0, STANFORD_TIME_S, points)
    motion = stanford_motion(t)
    figure = Figure(figsize=(9.0, 3.2), layout="constrained")
    angles, boom = figure.subplots(1, 2)
    draw_joints(angles, t, np.degrees(motion.q[:, :2]), range(2))
    angles.lines[0].set_label("joints 1, 4, 5 and 6")
    angles.legend(frameon=False, fontsize=8)
    angles.set(xlabel="time (s)", ylabel="joint angle (degrees)")
    draw_joints(boom, t, motion.q[:, [2]], (2,))
    boom.set(xlabel="time (s)", ylabel="joint 3, boom $b_3$ (m)")
    yield PaperFigure(4, "joint motion", "kane_4_stanford_motion", figure)

    figure, rows = _torques_of(stanford_arm, ("legible", "classic"), t, motion)
    rows[0, 2].set_ylabel("force (N)")
    shared_legend(figure, rows[0, 0])
    yield PaperFigure(5, "torques and force", "kane_5_stanford_torques", figure)


STANFORD = WorkedExample(
    "The Stanford arm",
    """\
[Angeles1989], section 7.1, figures 4 and 5. All joints move along one cycloid in ten seconds. Of
the table of the arm two readings are possible. "Legible" takes the signs that can be made out, and
the motion lowers the boom; "classic" is the arm as it was built, and the motion raises it.""",
    ("kane_4_stanford_motion", "kane_5_stanford_torques"),
    stanford_figures,
)


# -- arm of Thomas and Tesar ------------------------------------------------------------------


def thomas_tesar_figures(points: int) -> Iterator[PaperFigure]:
    """Figures 6 to 8, at so many points of the motion."""
    t = np.linspace(0.0, LINE_TIME_S, points)
    figure = Figure(figsize=(9.0, 2.8), layout="constrained")
    labels = ("y (m)", "velocity (m/s)", "acceleration (m/s$^2$)")
    laws = zip(line_law(t), line_law(t, "polynomial"), labels, strict=True)
    for axis, (values, other, label) in zip(figure.subplots(1, 3), laws, strict=True):
        axis.plot(t, values, color=COLOURS[0], label="normal spline")
        axis.plot(t, other, color="0.6", linestyle=":", label="polynomial 3-4-5")
        axis.set(xlabel="time (s)", ylabel=label)
        axis.grid(alpha=0.25)
    shared_legend(figure, figure.axes[0])
    yield PaperFigure(6, "motion along the line", "kane_6_line", figure)

    motion = line_motion(t)
    figure = Figure(figsize=(6.5, 3.6), layout="constrained")
    axis = figure.subplots()
    draw_joints(axis, t, np.degrees(motion.q), range(6))
    axis.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    axis.set(xlabel="time (s)", ylabel="joint angle (degrees)")
    yield PaperFigure(7, "joint motion", "kane_7_thomas_tesar_motion", figure)

    figure, rows = _torques_of(thomas_tesar_arm, ("printed", "distal"), t, motion)
    shared_legend(figure, rows[0, 0])
    yield PaperFigure(8, "torques", "kane_8_thomas_tesar_torques", figure)


THOMAS_TESAR = WorkedExample(
    "The arm of Thomas and Tesar",
    """\
[Angeles1989], section 7.2, figures 6 to 8. The tip moves 2 m along a line in one second without
turning. The normal spline of the paper is defined elsewhere, and its curve is not in the copies at
hand. Of it is said that it has no velocity and no acceleration at its ends: a natural spline does
not suffice for that, nor a complete one. Drawn is the cubic spline that is both at once, with the
fewest knots that allow it, at thirds of the way, beside the polynomial of fifth degree with the
same ends. The inertial data have two readings: "printed", in the frame that the paper states, and
"distal", at the far end of each link, where they make better sense.""",
    ("kane_6_line", "kane_7_thomas_tesar_motion", "kane_8_thomas_tesar_torques"),
    thomas_tesar_figures,
)
