"""One run of a study again, step by step."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.control.effort_limits import effort_limits
from robot_dynamics.control.model import continuous_joints
from robot_dynamics.simulation.closed_loop import Log
from robot_dynamics.study.plan import StudyPlan
from robot_dynamics.study.runs import Chunk, bench
from robot_dynamics.study.study_table import StudyTable, table_of
from robot_dynamics.trajectory.waypoints import Waypoints

BRAKING_S = 0.5
"""Time in which a motion that is shown comes to rest, s."""


class Replay(NamedTuple):
    """One run.

    Args:
        t: Times of the steps, shape (N,), s.
        q: Positions, shape (N, n), rad or m.
        qd: Velocities, shape (N, n).
        tau: Efforts that acted, shape (N, n), N m or N.
        q_d: Desired positions, shape (N, n).
        qd_d: Desired velocities, shape (N, n).
        table: Its row.
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
        """The run as the scalar simulation tells one."""
        robot = self.table.plan.robot
        saturated = np.abs(self.tau) >= effort_limits(robot)
        what = (self.t, self.q, self.qd, self.q_d, self.qd_d, self.tau, saturated)
        return Log(robot.joint_names, *what, continuous_joints(robot))

    def waypoints(self, rate: float = 100.0) -> Waypoints:
        """The motion as points of a trajectory, to be shown or sent; so many a second.

        A run may end while it moves, a trajectory may not: it brakes evenly in `BRAKING_S` s more.
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
    """Do one run of a study again, the same bit for bit.

    Args:
        plan: The study.
        run: Number of the run.
        mode: One of the plan's modes; by default the first.
    """
    mode = mode or plan.modes[0]
    own = bench(plan, mode)
    lanes = own.run(run, run + 1, record=True)
    chunk = Chunk(plan.modes.index(mode), run, run + 1)
    table = table_of(plan, {chunk: dict(lanes.statistics)})
    n = plan.robot.dof
    reference = own.references[run % len(plan.motions)]
    q_d, qd_d = reference[:, :n], reference[:, n : 2 * n]
    t = np.arange(plan.steps) * plan.plant_step
    kept = {name: values[:, 0] for name, values in lanes.record.items()}
    return Replay(t, kept["q"], kept["qd"], kept["tau"], q_d, qd_d, table)
