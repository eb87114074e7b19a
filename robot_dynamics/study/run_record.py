"""Repeat one run of a study and record every step."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robot_dynamics.control.limits import effort_limits
from robot_dynamics.control.model import continuous_joints
from robot_dynamics.simulation.closed_loop import Log
from robot_dynamics.study.plan import StudyPlan
from robot_dynamics.study.runs import Chunk, runner
from robot_dynamics.study.study_table import StudyTable, table_of
from robot_dynamics.trajectory.waypoints import Waypoints

BRAKING_S = 0.5
"""Time to stop at the end of a displayed motion, s."""


class RunRecord(NamedTuple):
    """Record of one run.

    Args:
        log: Every step, in the form of the scalar simulation.
        table: Row of the run in the table of the study.
    """

    log: Log
    table: StudyTable

    def waypoints(self, rate: float = 100.0) -> Waypoints:
        """Return the motion as waypoints at a rate in Hz.

        A run may end in motion but a trajectory must not, so it brakes for `BRAKING_S` s more.
        """
        log = self.log
        step = max(1, round(1.0 / (rate * (log.t[1] - log.t[0])))) if len(log.t) > 1 else 1
        t, q, qd = log.t[::step], log.q[::step], log.qd[::step]
        return Waypoints(
            log.joint_names,
            np.append(t, t[-1] + BRAKING_S),
            np.vstack([q, q[-1] + 0.5 * BRAKING_S * qd[-1]]),
            np.vstack([qd, np.zeros_like(qd[-1])]),
        )


def replay(plan: StudyPlan, run: int, mode: str = "") -> RunRecord:
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
    robot, n = plan.robot, plan.robot.dof
    reference = own.references[run % len(plan.motions)]
    q, qd, tau = (result.record[name][:, 0] for name in ("q", "qd", "tau"))
    log = Log(
        robot.joint_names,
        np.arange(plan.steps) * plan.plant_step,
        q,
        qd,
        reference[:, :n],
        reference[:, n : 2 * n],
        tau,
        np.abs(tau) >= effort_limits(robot),
        continuous_joints(robot),
    )
    return RunRecord(log, table)
