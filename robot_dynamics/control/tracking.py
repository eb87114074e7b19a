"""Tracking: law and command of the step for a known motion, without supervision.

A simulation that compares laws knows motion and state in every cycle: nothing is joined, lost or
stopped. It evaluates the same stages as a controller that tracks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from robot_dynamics.control.controller import Controller
from robot_dynamics.control.laws import (
    ALL_MODES,
    FEEDFORWARD,
    INERTIA_WEIGHTED,
    LAWS,
    ControlLaw,
    Measured,
)
from robot_dynamics.control.laws import position_error as difference
from robot_dynamics.control.model import Model
from robot_dynamics.control.settings import Settings
from robot_dynamics.control.status import Status
from robot_dynamics.control.task import Task
from robot_dynamics.dynamics.joint_vectors import per_joint
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.trajectory.trajectory import State


def law_of(mode: int, *, inertia_weighted: bool) -> int:
    """Return the number of the law of a mode, by its number."""
    return INERTIA_WEIGHTED if mode == FEEDFORWARD and inertia_weighted else mode


def facts_of(
    law: int, mode: ControlLaw, desired: Sequence[Array], measured: Measured, error: Array
) -> dict[str, Any]:
    """Return the fields of a cycle that tracks: nothing fades, is lost, or is watched.

    Args:
        law: Number of the law.
        mode: Its mode.
        desired: Positions, velocities and accelerations, shape (n,) each.
        measured: Measured state.
        error: Position errors, shape (n,), rad or m.
    """
    return {
        **dict.fromkeys(("seen", "fresh", "trust", "begun", "follows"), 1.0),
        "status": float(Status.TRACKING),
        "law": float(law),
        "has_feedback": float(mode.feedback),
        "was_in_task": float(mode.in_task_space),
        "q": measured.q,
        "qd": measured.qd,
        "measured_q": measured.q,
        "measured_qd": measured.qd,
        "desired": np.array(desired),
        "compared": np.array(desired[:2]),
        "error": error,
        "error_rate": desired[1] - measured.qd,
    }


class Tracking:
    """The efforts of one law along a known motion.

    Args:
        model: The arm and its gains.
        settings: Mode and limits.
        limit: Largest effort, shape (n,) or one number, N m or N; by default that of the URDF.
        task: Of the modes in task space: its end effector follows that of the motion.

    Raises:
        ShapeError: If there are neither one nor n limits.
        ArgumentError: If a limit is negative or NaN, or a mode in task space gets no task.
    """

    def __init__(
        self,
        model: Model,
        settings: Settings,
        limit: Array | None = None,
        task: Task | None = None,
    ) -> None:
        if limit is not None:
            limit = per_joint("limit", limit, model.dynamics.robot.dof, may_be_infinite=True)
        self._controller = Controller(model, settings, task)
        self._task, self._mode = task, ALL_MODES[settings.mode]
        if limit is not None:
            self._controller.limit[:] = limit
        if task is not None:
            self._controller.settings_vector("task_fast")[:] = np.inf
        self._number = LAWS.index(settings.mode)

    @property
    def model(self) -> Model:
        """The arm and its gains."""
        return self._controller.model

    @model.setter
    def model(self, model: Model) -> None:
        self._controller.model = model

    def effort(
        self, desired: State, measured: Measured, dt: float, tau: Array | None = None
    ) -> Array:
        """Return the efforts of a cycle, shape (n,), N m or N.

        Args:
            desired: Desired state.
            measured: Measured state.
            dt: Time since the last cycle, s.
            tau: Efforts of the model for the desired state, shape (n,), N m or N; by default the
                step computes them.
        """
        controller = self._controller
        model, x = controller.model, controller.fields_to_write()
        arrived = controller.arrived
        if not x["begun"][0]:
            arrived["has_begin_tau"][0] = 1.0
            arrived["begin_tau"][:] = model.gravity(desired.q)
        law = law_of(self._number, inertia_weighted=model.inertia_weighted)
        error = difference(desired.q, measured.q, model.continuous)
        numbers = {
            **facts_of(law, self._mode, desired, measured, error),
            "dt": dt,
            "has_tau": float(tau is not None),
            "load": controller.load,
        }
        if tau is not None:
            numbers["reference_tau"] = tau
        if self._task is not None:
            numbers.update(_target(self._task, model, desired))
        for name, value in numbers.items():
            x[name][:] = value
        arrived["now"][0] += dt
        controller.evaluate(("follow_presliding", "law", "command"))
        return controller.commanded


def _target(task: Task, model: Model, desired: State) -> dict[str, Array]:
    """Return the target on a motion of the joints, without limits of speed."""
    arm = model.dynamics
    J, pose = arm.jacobian(desired.q, task.end_effector), arm.pose(desired.q, task.end_effector)
    return {
        "target_rotation": pose.rotation,
        "target_position": pose.position,
        "target_twist": J @ desired.qd,
        "target_acceleration": J @ desired.qdd
        + arm.drift(desired.q, desired.qd, task.end_effector),
        "posture": desired.q,
        "along": np.ones(1),
    }
