"""Simulate drives that close their own loop along a trajectory, without ROS."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np

from robot_dynamics.control.controller import Controller
from robot_dynamics.control.guard import FLAWS, Flaw
from robot_dynamics.control.laws import Measured, Reference
from robot_dynamics.control.model import Model, continuous_joints
from robot_dynamics.control.settings import DRIVE, Settings
from robot_dynamics.control.status import GIVEN_UP
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.simulation.closed_loop import Log
from robot_dynamics.simulation.drive_loop import drive_effort
from robot_dynamics.simulation.plant import Plant
from robot_dynamics.trajectory.trajectory import Trajectory

LEAD_S = 0.5
"""Time for which the arm is held before its motion begins, s."""

FIELDS = ("position", "velocity", "effort")

logger = logging.getLogger(__name__)


def simulate_drives(
    plant: Plant, model: Model, trajectory: Trajectory, rate: float, fields: Sequence[str] = FIELDS
) -> Log:
    """Let drives follow a trajectory.

    With efforts the commands are those of `Controller` with `feedback: drive`; without, those of a
    joint_trajectory_controller, which writes the reference of the next cycle.

    Args:
        plant: The robot, with steps of at most `drive_loop.PERIOD_S`.
        model: The arm of the controller, with the gains of the drives.
        trajectory: Desired motion, from time zero.
        rate: Commands per second; a cycle is a whole number of steps of the plant.
        fields: Which of `FIELDS` the drives get; the others count as zero.

    Returns:
        The motion from time zero. A stop of the controller is logged as a warning.
    """
    steps = round(1.0 / (rate * plant.step_time))
    lead, cycles = round(LEAD_S * rate), int(np.floor(trajectory.duration * rate)) + 1
    t = np.arange(-lead, cycles) / rate
    desired, ahead = (
        trajectory.sample(np.maximum(t, 0.0)),
        trajectory.sample(np.clip(t + 1.0 / rate, 0.0, trajectory.duration)),
    )
    controller = Controller(model, Settings(feedback=DRIVE, longest_cycle=5.0 / rate))
    none, follows = np.zeros(plant.robot.dof), True
    plant.reset(desired.q[0])
    rows = np.empty((4, len(t), plant.robot.dof))
    for k, now in enumerate(t):
        rows[0, k], rows[1, k] = plant.q, plant.qd
        command = np.array([ahead.q[k], ahead.qd[k], none])
        if "effort" in fields:
            q, qd, qdd = (row[k] for row in desired)
            controller.set_state(Measured(plant.q, plant.qd), float(now))
            controller.set_reference(Reference(q, qd, none), float(now))
            # Accelerations in place of efforts, which the step computes for the middle of a cycle
            controller.arrived["came_qdd"][:], controller.arrived["came_has_tau"][0] = qdd, 0.0
            controller.update(float(now))
            if follows and controller.status in GIVEN_UP:
                logger.warning("after %.3g s the arm stops: %s", max(now, 0.0), _why(controller))
                follows = False
            command = np.array(
                [controller.field(x) for x in ("commanded_position", "commanded_velocity", "tau")]
            )
        if "velocity" not in fields:
            command[1] = 0.0
        for _ in range(steps):
            plant.step(drive_effort(command, Measured(plant.q, plant.qd), model.gains))
        rows[2, k], rows[3, k] = plant.tau, plant.saturated
    q, qd, tau, saturation = rows[:, lead:]
    of: dict[str, Array] = {"q_d": desired.q[lead:], "qd_d": desired.qd[lead:]}
    turning = continuous_joints(plant.robot)
    return Log(trajectory.joint_names, t[lead:], q, qd, **of, tau=tau, saturated=saturation > 0.0,
               continuous=turning)  # fmt: skip


def _why(controller: Controller) -> str:
    """Return why a controller no longer follows, in words."""
    if controller.stopped_by is not None:
        return controller.stopped_by
    robot, i = controller.model.dynamics.robot, int(controller.field("flaw_joint").item())
    flaw, value = (controller.field(name).item() for name in ("flaw", "flaw_value"))
    return f"{controller.status.words}: {FLAWS[Flaw(int(flaw))].line(robot, i, value)}"
