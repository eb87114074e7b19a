"""Configuration of the modes in task space: settings of the end effector from parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from robot_dynamics.compiler.graph.piecewise import minimum
from robot_dynamics.control.fields import Layout
from robot_dynamics.control.logic import any_of, both, chosen, equal, less, negated
from robot_dynamics.control.model import Model
from robot_dynamics.control.targets import TARGET_SETTINGS
from robot_dynamics.control.task import Task
from robot_dynamics.control.task_settings import (
    CONTROLLED,
    FORCE,
    FREE,
    MOTION,
    SMOOTHING,
    EndEffectorMobility,
    TaskSettings,
)
from robot_dynamics.control.task_space import TaskNumbers
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.foundation.arrays import Array

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
        default = TaskSettings(np.ones(6), np.ones(6))
        self._controlled, self._masses = default.controlled, np.zeros(6)
        self._numbers: dict[float, dict[str, Array]] = {}
        if end_effector is not None:
            mobility = EndEffectorMobility(dynamics, end_effector)
            self._masses = mobility.masses
            within = mobility.within
            self._controlled = tuple(MOTION if within[k] else FREE for k in range(6))
            for rate, model in models.items():
                self._numbers[rate] = Task(model, end_effector).numbers(model)
        self._default = default

    def defaults(self) -> dict[str, Any]:
        """Return the default parameters that depend on the robot."""
        return {"task.controlled": [CONTROLLED.index(word) for word in self._controlled]}

    def settings(self, x: Any, rate: Any) -> dict[str, Any]:
        """Return the settings, by the names of `TARGET_SETTINGS`."""
        if self._end_effector is None:
            vector = self._layout.initial()
            vector[~np.isfinite(vector)] = 1e12
            return {name: self._layout.of(vector, name) for name in self._layout}

        def number(name: str) -> Any:
            return getattr(x, f"task.{name}")

        found = {
            name: self._by_rate(rate, {r: values[name] for r, values in self._numbers.items()})
            for name in self._layout
        }
        held = negated(equal_each(number("controlled"), CONTROLLED.index(FREE)))
        selection = equal_each(number("controlled"), CONTROLLED.index(MOTION))
        bandwidth = self._by_rate(rate, {r: m.bandwidth for r, m in self._models.items()})
        fastest = self._by_rate(rate, {r: m.fastest for r, m in self._models.items()})
        pressing = 2.0 * number("damping_ratio") * bandwidth
        default = TaskNumbers(*found["task_numbers"])
        numbers = default._replace(
            damping_ratio=number("damping_ratio"),
            posture=minimum(number("posture_frequency"), fastest),
            settling=minimum(number("settling"), fastest),
            stable=fastest,
        )
        axis = number("free_axis")
        size = np.sqrt(sum(a * a for a in axis))
        return {
            **found,
            "task_damping": np.diag(1.0 + np.zeros(6))
            * ((held - selection) * pressing * self._masses),
            "task_largest": number("largest_error"),
            "task_selection": selection,
            "task_held": held,
            "task_free_axis": chosen(less(0.0, size), axis, 0.0 * axis)
            / chosen(less(0.0, size), size, 1.0),
            "task_numbers": np.array(list(numbers)),
            "task_returning": np.array([*number("speed"), *found["task_returning"][2:]]),
            "task_feedback": self._feedback(x, held - selection, pressing),
            "task_timeout": chosen(number("force_feedback"), number("force_timeout"), -1.0),
            "task_in_frame": number("axes"),
            "task_speed": number("speed"),
            "task_acceleration": number("acceleration"),
        }

    def _feedback(self, x: Any, forces: Array, rate: Any) -> Array:
        on = both(getattr(x, "task.force_feedback"), any_of(forces * (self._masses > 0.0)))
        numbers = np.array(
            [
                getattr(x, "task.force_proportional"),
                getattr(x, "task.force_integral") * rate,
                SMOOTHING * rate,
                *getattr(x, "task.force_largest"),
            ]
        )
        return np.asarray(chosen(on, numbers, 0.0 * numbers))

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
        pressing = equal_each(getattr(x, "task.controlled"), CONTROLLED.index(FORCE))
        undamped = negated(less(0.0, getattr(x, "task.damping_ratio")))
        on = getattr(x, "task.force_feedback")
        refuse("force_undamped", both(on, undamped, any_of(pressing)), 0.0, 0.0)


def equal_each(values: Array, number: int) -> Array:
    """Return which whole numbers are this one."""
    return np.array([equal(value, float(number)) for value in values])
