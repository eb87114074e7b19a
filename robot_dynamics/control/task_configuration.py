"""Configuration of the modes in task space: settings of the end effector from parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from robot_dynamics.control.fields import Layout
from robot_dynamics.control.gains import DEFAULT_BANDWIDTH
from robot_dynamics.control.logic import any_of, both, equal, less, negated
from robot_dynamics.control.model import Model
from robot_dynamics.control.targets import TARGET_SETTINGS
from robot_dynamics.control.task import largest_joint_speeds
from robot_dynamics.control.task_settings import (
    CONTROLLED,
    FORCE,
    SMOOTHING,
    EndEffectorMobility,
    TaskSettings,
)
from robot_dynamics.dynamics.dynamics import Dynamics

ByRate = Callable[[Any, dict[float, Any]], Any]


class TaskConfiguration:
    """The function from parameters to settings of the end effector.

    Args:
        dynamics: Equations of the robot.
        end_effector: The end effector; None without modes in task space.
        models: Models with the default feedback by update rate, Hz.
        by_rate: Returns the value of the next lower rate.
    """

    def __init__(
        self,
        dynamics: Dynamics,
        end_effector: str | None,
        models: Mapping[float, Model],
        by_rate: ByRate,
    ) -> None:
        self._by_rate, self._models, self._end_effector = by_rate, models, end_effector
        self._layout = Layout(TARGET_SETTINGS, dynamics.robot.dof)
        self._default = TaskSettings(np.ones(6), np.ones(6))
        if end_effector is not None:
            self._mobility = mobility = EndEffectorMobility(dynamics, end_effector)
            self._default = mobility.defaults(DEFAULT_BANDWIDTH)
            self._of_stiffness = {
                rate: mobility.of_stiffness(mobility.defaults(m.bandwidth), m.fastest)
                for rate, m in models.items()
            }
            self._fast = largest_joint_speeds(dynamics.robot)

    def defaults(self) -> dict[str, Any]:
        """Return the default parameters that depend on the robot."""
        return {"task.controlled": self._default.parameters["controlled"]}

    def settings(self, x: Any, rate: Any) -> dict[str, Any]:
        """Return the settings, by the names of `TARGET_SETTINGS`."""
        if self._end_effector is None:
            vector = self._layout.initial()
            vector[~np.isfinite(vector)] = 1e12
            return {name: self._layout.of(vector, name) for name in self._layout}

        models, of_stiffness = self._models, self._of_stiffness
        found = {
            name: self._by_rate(rate, {r: of_stiffness[r][name] for r in models})
            for name in next(iter(of_stiffness.values()))
        }
        bandwidth = self._by_rate(rate, {r: m.bandwidth for r, m in models.items()})
        fastest = self._by_rate(rate, {r: m.fastest for r, m in models.items()})
        given = {name: getattr(x, f"task.{name}") for name in self._default.parameters}
        return {
            **found,
            **self._mobility.settings(given, bandwidth, fastest),
            "task_returning": np.array([*given["speed"], *found["task_returning"][2:]]),
            "task_fast": self._fast,
        }

    def refuse(self, x: Any, in_task: Any, refuse: Any) -> None:
        """Refuse settings with which the end effector cannot be controlled."""
        if self._end_effector is None:
            refuse("no_end_effector", in_task, 0.0, 0.0)
        integral = getattr(x, "task.force_integral")
        gain = integral + SMOOTHING * getattr(x, "task.force_proportional")
        refuse("force_oscillates", negated(less(gain, 1.0)), gain, 1.0)
        for name in ("largest_error", "speed", "acceleration", "force_largest"):
            values = getattr(x, f"task.{name}")
            refuse(f"task_{name}", any_of(negated(less(0.0, values))), 0.0, 0.0)
        force = float(CONTROLLED.index(FORCE))
        pressing = np.array([equal(one, force) for one in getattr(x, "task.controlled")])
        undamped = negated(less(0.0, getattr(x, "task.damping_ratio")))
        on = getattr(x, "task.force_feedback")
        refuse("force_undamped", both(on, undamped, any_of(pressing)), 0.0, 0.0)
