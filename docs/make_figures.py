"""Draw the worked examples of two papers as their figures show them, into docs/figures.

    python docs/make_figures.py

[Gupta1986] and its continuation, figures 5 to 8: joint values, rates, accelerations and
torques of the PUMA-type arm on its circle, joints 1 to 3 in part (a) and 4 to 6 in part (b).
[Angeles1989], figures 4 to 8: joint motion and torques of the Stanford arm, the motion along the
line, joint motion and torques of the arm of Thomas and Tesar.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
import numpy.typing as npt

mpl.use("Agg")  # no display needed

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from robot_dynamics.formulations import kane, zero_reference
from robot_dynamics.papers.paper_arms import (
    POUND_INCH,
    puma_type_arm,
    stanford_arm,
    thomas_tesar_arm,
)
from robot_dynamics.papers.paper_motions import (
    CIRCLE_TIME,
    LINE_TIME,
    STANFORD_TIME,
    JointMotion,
    circle_motion,
    line_law,
    line_motion,
    stanford_motion,
)
from robot_dynamics.robot.robot import Robot

Array = npt.NDArray[np.float64]
FOLDER = Path(__file__).parent / "figures"
POINTS = 361

# Told apart by readers with any colour vision, and by the line style in print
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#111111")
STYLES = ("-", "--", "-.", (0, (4, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (7, 2)))


def main() -> None:
    """Draw all figures."""
    FOLDER.mkdir(exist_ok=True)
    plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
    zero_reference_figures()
    stanford_figures()
    thomas_tesar_figures()


# -- PUMA-type arm on a circle ----------------------------------------------------------------


def zero_reference_figures() -> None:
    """Figures 5 to 8 of the zero reference position paper."""
    arm, t = puma_type_arm(), np.linspace(0.0, CIRCLE_TIME, POINTS)
    motion = circle_motion(arm, t)
    torque = _torques(zero_reference.inverse_dynamics, arm.robot, motion) / POUND_INCH
    for number, name, label, values in (
        (5, "values", "joint value (rad)", motion.q),
        (6, "rates", "joint rate (rad/s)", motion.qd),
        (7, "accelerations", "joint acceleration (rad/s$^2$)", motion.qdd),
        (8, "torques", "drive torque (lbf in)", torque),
    ):
        figure, axes = plt.subplots(1, 2, figsize=(9.0, 3.2), layout="constrained")
        for part, first in (("a", 0), ("b", 3)):
            _curves(axes[first // 3], t, values[:, first : first + 3], range(first, first + 3))
            axes[first // 3].set(xlabel="time (s)", ylabel=label, title=f"({part})")
        _save(figure, f"zero_reference_{number}_{name}")


# -- Stanford arm -----------------------------------------------------------------------------


def stanford_figures() -> None:
    """Figures 4 and 5 of the Kane paper."""
    t = np.linspace(0.0, STANFORD_TIME, POINTS)
    motion = stanford_motion(t)
    figure, (angles, boom) = plt.subplots(1, 2, figsize=(9.0, 3.2), layout="constrained")
    _curves(angles, t, np.degrees(motion.q[:, :2]), range(2))
    angles.lines[0].set_label("joints 1, 4, 5 and 6")
    angles.legend(frameon=False, fontsize=8)
    angles.set(xlabel="time (s)", ylabel="joint angle (degrees)")
    _curves(boom, t, motion.q[:, [2]], (2,))
    boom.set(xlabel="time (s)", ylabel="joint 3, boom $b_3$ (m)")
    _save(figure, "kane_4_stanford_motion")

    figure, rows = plt.subplots(2, 3, figsize=(9.0, 5.0), layout="constrained")
    for reading, style in (("legible", "-"), ("classic", "--")):
        tau = _torques(kane.inverse_dynamics, stanford_arm(reading), motion)
        _one_each(rows.ravel(), t, tau, style, f'reading "{reading}"')
    rows[0, 2].set_ylabel("force (N)")
    _shared_legend(figure, rows[0, 0])
    _save(figure, "kane_5_stanford_torques")


# -- arm of Thomas and Tesar ------------------------------------------------------------------


def thomas_tesar_figures() -> None:
    """Figures 6 to 8 of the Kane paper."""
    t = np.linspace(0.0, LINE_TIME, POINTS)
    figure, axes = plt.subplots(1, 3, figsize=(9.0, 2.8), layout="constrained")
    labels = ("y (m)", "velocity (m/s)", "acceleration (m/s$^2$)")
    for axis, values, label in zip(axes, line_law(t), labels, strict=True):
        axis.plot(t, values, color=COLOURS[0])
        axis.set(xlabel="time (s)", ylabel=label)
        axis.grid(alpha=0.25)
    _save(figure, "kane_6_line")

    motion = line_motion(t)
    figure, axis = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
    _curves(axis, t, np.degrees(motion.q), range(6))
    axis.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    axis.set(xlabel="time (s)", ylabel="joint angle (degrees)")
    _save(figure, "kane_7_thomas_tesar_motion")

    figure, rows = plt.subplots(2, 3, figsize=(9.0, 5.0), layout="constrained")
    for reading, style in (("printed", "-"), ("distal", "--")):
        tau = _torques(kane.inverse_dynamics, thomas_tesar_arm(reading), motion)
        _one_each(rows.ravel(), t, tau, style, f'reading "{reading}"')
    _shared_legend(figure, rows[0, 0])
    _save(figure, "kane_8_thomas_tesar_torques")


# -- shared -----------------------------------------------------------------------------------


def _torques(formulation: Callable[..., Array], robot: Robot, motion: JointMotion) -> Array:
    return np.array([formulation(robot, *state, {}) for state in zip(*motion, strict=True)])


def _curves(axis: Axes, t: Array, values: Array, joints: Sequence[int]) -> None:
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


def _one_each(axes: Sequence[Axes], t: Array, tau: Array, style: str, label: str) -> None:
    """One small plot for each joint."""
    for joint, axis in enumerate(axes):
        colour = COLOURS[0] if style == "-" else COLOURS[1]
        axis.plot(t, tau[:, joint], style, color=colour, label=label)
        axis.set(title=f"joint {joint + 1}", xlabel="time (s)", ylabel="torque (N m)")
        axis.grid(alpha=0.25)
        if np.ptp(tau[:, joint]) < 1e-9:  # a straight line, and not a picture of round-off
            axis.set_ylim(-1.0, 1.0)


def _shared_legend(figure: Figure, axis: Axes) -> None:
    figure.legend(*axis.get_legend_handles_labels(), loc="outside upper center", ncols=2)


def _save(figure: Figure, name: str) -> None:
    # without the version of matplotlib in the file, the same curves give the same bytes
    figure.savefig(FOLDER / f"{name}.png", dpi=100, metadata={"Software": ""})
    plt.close(figure)
    print(f"docs/figures/{name}.png")


if __name__ == "__main__":
    main()
