"""Repeat one run of a study and record every step."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robot_dynamics.control.limits import effort_limits
from robot_dynamics.control.model import continuous_joints
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.simulation.closed_loop import Log
from robot_dynamics.study.plan import StudyPlan
from robot_dynamics.study.runs import Chunk, runner
from robot_dynamics.study.study_table import StudyTable, table_of
from robot_dynamics.trajectory.waypoints import Waypoints

BRAKING_S = 0.5
"""Time to stop at the end of a displayed motion, s."""


class Replay(NamedTuple):
    """Record of one run.

    Args:
        t: Times of the steps, shape (N,), s.
        q: Positions, shape (N, n), rad or m.
        qd: Velocities, shape (N, n).
        tau: Efforts that acted, shape (N, n), N m or N.
        q_d: Desired positions, shape (N, n).
        qd_d: Desired velocities, shape (N, n).
        table: Row of the run in the table of the study.
    """

    t: Array
    q: Array
    qd: Array
    tau: Array
    q_d: Array
    qd_d: Array
    table: StudyTable

    @property
    def log(self) -> Log:
        """The run in the form of the scalar simulation."""
        robot = self.table.plan.robot
        saturated = np.abs(self.tau) >= effort_limits(robot)
        columns = (self.t, self.q, self.qd, self.q_d, self.qd_d, self.tau, saturated)
        return Log(robot.joint_names, *columns, continuous_joints(robot))

    def waypoints(self, rate: float = 100.0) -> Waypoints:
        """Return the motion as waypoints at a rate in Hz.

        A run may end in motion but a trajectory must not, so it brakes for `BRAKING_S` s more.
        """
        step = max(1, round(1.0 / (rate * (self.t[1] - self.t[0])))) if len(self.t) > 1 else 1
        at = slice(None, None, step)
        t, q, qd = self.t[at], self.q[at], self.qd[at]
        return Waypoints(
            self.table.plan.robot.joint_names,
            np.append(t, t[-1] + BRAKING_S),
            np.vstack([q, q[-1] + 0.5 * BRAKING_S * qd[-1]]),
            np.vstack([qd, np.zeros_like(qd[-1])]),
        )


def replay(plan: StudyPlan, run: int, mode: str = "") -> Replay:
    """Repeat one run of a study, with the same bits.

    Args:
        plan: The study.
        run: Index of the run.
        mode: One of the plan's modes; by default the first.
    """
    mode = mode or plan.modes[0]
    own = runner(plan, mode)
    result = own.run(run, run + 1, record=True)
    chunk = Chunk(plan.modes.index(mode), run, run + 1)
    table = table_of(plan, {chunk: dict(result.statistics)})
    n = plan.robot.dof
    reference = own.references[run % len(plan.motions)]
    q_d, qd_d = reference[:, :n], reference[:, n : 2 * n]
    t = np.arange(plan.steps) * plan.plant_step
    kept = {name: values[:, 0] for name, values in result.record.items()}
    return Replay(t, kept["q"], kept["qd"], kept["tau"], q_d, qd_d, table)
