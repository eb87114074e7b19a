"""Figures 5 to 8 of [Gupta1986] and its continuation: a PUMA-type arm on a circle."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from matplotlib.figure import Figure

from robot_dynamics.formulations import zero_reference
from robot_dynamics.papers.figures.curves import PaperFigure, WorkedExample, draw_joints, torques
from robot_dynamics.papers.paper_arms import POUND_INCH, puma_type_arm
from robot_dynamics.papers.paper_motions import CIRCLE_TIME_S, circle_motion


def circle_figures(points: int) -> Iterator[PaperFigure]:
    """Joints 1 to 3 in part (a), 4 to 6 in part (b), at so many points of the motion."""
    arm, t = puma_type_arm(), np.linspace(0.0, CIRCLE_TIME_S, points)
    motion = circle_motion(arm, t)
    tau = torques(zero_reference.inverse_dynamics, arm.robot, motion) / POUND_INCH
    for number, title, name, label, values in (
        (5, "joint values", "values", "joint value (rad)", motion.q),
        (6, "joint rates", "rates", "joint rate (rad/s)", motion.qd),
        (7, "joint accelerations", "accelerations", "joint acceleration (rad/s$^2$)", motion.qdd),
        (8, "drive torques", "torques", "drive torque (lbf in)", tau),
    ):
        figure = Figure(figsize=(9.0, 3.2), layout="constrained")
        axes = figure.subplots(1, 2)
        for axis, part, first in zip(axes, ("a", "b"), (0, 3), strict=True):
            draw_joints(axis, t, values[:, first : first + 3], range(first, first + 3))
            axis.set(xlabel="time (s)", ylabel=label, title=f"({part})")
        yield PaperFigure(number, title, f"zero_reference_{number}_{name}", figure)


CIRCLE = WorkedExample(
    "A PUMA-type arm on a circle",
    """\
[Gupta1986] and its continuation, section 3, figures 5 to 8. The hand goes once round a circle of
6 in radius in nine seconds, with a cycloidal start and stop. Joint 4 makes a full turn, all other
joints return; the torques at both ends are the static ones; joints 2 and 3 carry most of the load.
The tilt of the hand is not legible in the copies at hand: 30 degrees is chosen (below 22 degrees
joint 6 would make the turn). Joint 3 does not move at all on this circle, where the paper speaks of
very small changes.""",
    (
        "zero_reference_5_values",
        "zero_reference_6_rates",
        "zero_reference_7_accelerations",
        "zero_reference_8_torques",
    ),
    circle_figures,
)
