"""ConfiguredStep: the step of a robot, its configuration, and the first values of its vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from robot_dynamics.control.configuration import Configuration, Defaults
from robot_dynamics.control.fields import Layout
from robot_dynamics.control.intake import LOADS
from robot_dynamics.control.parameters import OF_SETTINGS, PARAMETERS, Parameter
from robot_dynamics.control.refusals import refusal_words
from robot_dynamics.control.step import Step
from robot_dynamics.control.task_space import CONSISTENT
from robot_dynamics.errors import ArgumentError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.numbers import counted

INTERFACES = "command_interfaces"


class ConfiguredStep:
    """The controller of ros2_control for a robot, before it is compiled.

    Args:
        defaults: The robot and its defaults.
        base_moves: Whether the motion of the base is an input.
        projector: Into the null space of the modes in task space.
    """

    def __init__(
        self, defaults: Defaults, *, base_moves: bool = False, projector: str = CONSISTENT
    ) -> None:
        self.dynamics, self.robot = defaults.dynamics, defaults.dynamics.robot
        self.step = Step.of(
            defaults.dynamics,
            defaults.endpoint,
            base_moves=base_moves,
            frame=defaults.end_effector,
            projector=projector,
        )
        self.configuration = Configuration(defaults, self.step.settings)

    def initial(self, parameters: Array | None = None) -> dict[str, Array]:
        """Return the first values of all vectors, by the names of their layouts.

        Args:
            parameters: Vector of `Configuration.parameters`; None for the defaults.
        """
        if parameters is None:
            parameters = self.configuration.parameters.initial()
        found = self.configuration(parameters)
        arrived = self.step.arrived.initial()
        views = self.step.arrived.views(arrived)
        load, at = np.asarray(found["load"], dtype=np.float64), 0
        for name, size in LOADS.items():
            views[f"{name}_goal"][:] = load[at : at + size]
            at += size
        views["base"][:3] = views["gravity_goal"]
        return {
            "state": self.step.state.initial(),
            "arrived": arrived,
            "settings": np.asarray(found["settings"], dtype=np.float64),
            "parameters": parameters,
            "refusal": self.configuration.refusal.initial(),
        }

    def check(self, parameters: Array) -> None:
        """Check a vector of parameters.

        Raises:
            ArgumentError: If the controller would refuse it.
        """
        if refused := self._words(parameters, "refused"):
            raise ArgumentError(refused)

    def noticed(self, parameters: Array) -> str:
        """Return what the controller would say of parameters that it accepts; empty for nothing."""
        return self._words(parameters, "noticed")

    def _words(self, parameters: Array, kind: str) -> str:
        layout, found = self.configuration.refusal, self.configuration(parameters)["refusal"]
        return refusal_words({name: layout.of(found, name) for name in layout}, self.robot, kind)


def parameter_vector(
    layout: Layout, joint_names: Sequence[str], values: Mapping[str, Any]
) -> tuple[Array, list[str]]:
    """Return the vector of given parameters, and the names of those that are none of the step.

    Args:
        layout: `Configuration.parameters`.
        joint_names: Order of the joints.
        values: By the names that ROS 2 gives them, such as gains.shoulder.p.

    Raises:
        ArgumentError: If a value is not allowed, or there is no such joint.
    """
    vector, others = layout.initial(), []
    views = layout.views(vector)
    for name, value in values.items():
        first, _, rest = name.partition(".")
        joint, _, last = rest.rpartition(".")
        of_joint = f"{first}.{last}"
        if name in OF_SETTINGS and not OF_SETTINGS[name].per_joint:
            views[name][:] = allowed(name, OF_SETTINGS[name], value)
        elif of_joint in OF_SETTINGS and OF_SETTINGS[of_joint].per_joint:
            if joint not in joint_names:
                known = ", ".join(joint_names)
                raise ArgumentError(f"{name}: no joint '{joint}'; the joints are {known}")
            i = list(joint_names).index(joint)
            views[of_joint][i] = allowed(name, OF_SETTINGS[of_joint], value)
        elif name == INTERFACES:
            kinds = PARAMETERS[name].choices
            if not isinstance(value, (list, tuple)) or not set(map(str, value)) <= set(kinds):
                some = ", ".join(kinds)
                raise ArgumentError(
                    f"{name}: {value} is not allowed; give a list of some of {some}"
                )
            for kind in kinds[:2]:
                views[f"takes_{kind}"][:] = kind in value
        else:
            others.append(name)
    return vector, others


def allowed(name: str, parameter: Parameter, value: Any) -> Array:
    """Return a value as numbers, of any shape.

    Args:
        name: Name for the message, with that of the joint.
        parameter: Its kind, choices and range.
        value: What a parameter file holds: a number, a text, true or false, or a list of these.

    Raises:
        ArgumentError: If the parameter may not have it.
    """
    given = tuple(value) if isinstance(value, list) else value
    entries = given if isinstance(given, tuple) else (given,)
    is_bool, is_text = parameter.type == "bool", bool(parameter.choices)
    try:
        # To Python true is the number 1, which would be the second of the choices
        if not all(
            (isinstance(x, bool), isinstance(x, str)) == (is_bool, is_text) for x in entries
        ):
            raise TypeError
        numbers = np.asarray(parameter.number(given), dtype=np.float64)
    except (TypeError, ValueError):
        what = f"choose among {', '.join(parameter.choices)}" if is_text else "give a number"
        what = "give false or true, without quotes" if is_bool else what
        raise ArgumentError(f"{name}: {value} is not allowed; {what}") from None
    size = parameter.length or 1
    if numbers.size != size:
        raise ArgumentError(f"{name}: {counted(numbers.size, 'number')}; give {size}")
    low, high = parameter.low, parameter.high
    inside = (low is None or numbers >= low) & (high is None or numbers <= high)
    if not np.all(inside & np.isfinite(numbers)):
        raise ArgumentError(f"{name}: {value} is not within {low:g} to {high:g}")
    return numbers
