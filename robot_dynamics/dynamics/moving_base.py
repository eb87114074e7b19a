"""Kernels of a robot on a base that moves in a given way, by those of the floating robot.

Where the base of the floating robot has an acceleration that is found, here it is given; the wrench
that is given there is found here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from robot_dynamics.algorithms import second_derivatives
from robot_dynamics.algorithms.composite_body import elimination_parents, factorise, solve
from robot_dynamics.algorithms.derivatives import accelerations_of
from robot_dynamics.dynamics.kernels import SECOND, Equations
from robot_dynamics.dynamics.variant import Shape, Variant
from robot_dynamics.errors import ArgumentError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot.robot import Robot

AT_ORIGIN = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)

Floating = Callable[[str, Variant], Equations]
"""Equations of the floating robot by name of kernel and variant."""


def on_moving_base(name: str, floating: Floating, tree: Robot, variant: Variant) -> Equations:
    """Write a kernel of `MOVED` with the input `base` beside the motion of the joints.

    Args:
        name: Name of the kernel.
        floating: Equations of the floating robot.
        tree: The robot on a fixed base, without fixed joints.
        variant: Inputs of the kernel beside the motion.

    Raises:
        ArgumentError: If gravity is an input beside that of the base.
    """
    if variant.gravity:
        raise ArgumentError("a moving base has gravity among its own numbers; give base alone")

    def of(part: str) -> Equations:
        mass = part == "mass_matrix"  # which neither wrench nor gravity changes
        given = replace(variant, wrench_at=None) if mass else replace(variant, gravity=True)
        return floating(part, replace(given, friction=given.friction and not mass))

    parents = elimination_parents(tree)
    n, about = tree.dof, dict(of(name.replace("_second_", "_")).inputs)
    about.pop("gravity", None)
    motion: dict[str, Shape] = {x: (n,) for x in ("q", "qd", "qdd", "tau") if about.pop(x, None)}

    def function(base: Array, **values: Array) -> Any:
        return MOVED[name](_State(of, base, values, parents))

    return Equations({**motion, "base": (15,), **about}, function)


@dataclass(frozen=True, eq=False)
class _State:
    """Values of all inputs, and the results of kernels of the floating robot with them."""

    of: Callable[[str], Equations]
    base: Array
    values: dict[str, Array]
    parents: tuple[int, ...]

    def __call__(self, kernel: str, **changed: Any) -> Any:
        n, values = len(self.parents), {**self.values, **changed}
        at_rest, (gravity, twist, acceleration) = changed.get("rest"), np.split(self.base, (3, 9))
        still = np.zeros(6)
        full = {
            "q": np.concatenate([AT_ORIGIN, values["q"]]),
            "qd": np.concatenate([still if at_rest else twist, values.get("qd", np.zeros(n))]),
            "qdd": np.concatenate(
                [still if at_rest else acceleration, values.get("qdd", np.zeros(n))]
            ),
            "gravity": gravity,
        }
        equations = self.of(kernel)
        return equations.function(**{x: full.get(x, values.get(x)) for x in equations.inputs})

    def solved(self) -> tuple[Array, Array, Array, Array]:
        """Accelerations of the joints, the base wrench, and the factors of the mass matrix."""
        M, b = self("mass_matrix"), self("inverse")
        L, inverse_D = factorise(M[6:, 6:], self.parents)
        qdd = solve(L, inverse_D, self.parents, self.values["tau"] - b[6:])
        return qdd, b[:6] + M[:6, 6:] @ qdd, L, inverse_D


def _efforts(x: Array) -> dict[str, Array]:
    return {"tau": x[6:], "base_wrench": x[:6]}


def _forward(state: _State) -> dict[str, Array]:
    qdd, wrench, *_ = state.solved()
    return {"qdd": qdd, "base_wrench": wrench}


def _inverse_derivatives(state: _State, **changed: Array) -> dict[str, Array]:
    return {x: part[6:, 6:] for x, part in state("inverse_derivatives", **changed).items()}


def _forward_derivatives(state: _State) -> dict[str, Array]:
    qdd, _, L, inverse_D = state.solved()
    d = _inverse_derivatives(state, qdd=qdd)
    parts = accelerations_of(d["dtau_dq"], d["dtau_dqd"], L, inverse_D, state.parents)
    return dict(zip(("dqdd_dq", "dqdd_dqd", "dqdd_dtau"), parts, strict=True))


def _inverse_second_derivatives(state: _State, **changed: Array) -> dict[str, Array]:
    motion = {**state.values, **changed}

    def at(q: Array, qd: Array, qdd: Array) -> list[Array]:
        return list(_inverse_derivatives(state, q=q, qd=qd, qdd=qdd).values())

    q, qd, qdd = (motion[x] for x in ("q", "qd", "qdd"))
    parts = second_derivatives.inverse_second_derivatives(at, q, qd, qdd)
    return dict(zip(SECOND["inverse"], parts, strict=True))


def _forward_second_derivatives(state: _State) -> dict[str, Array]:
    of_efforts: Any = tuple(_inverse_second_derivatives(state, qdd=state.solved()[0]).values())
    first: Any = tuple(_forward_derivatives(state).values())
    parts = second_derivatives.forward_second_derivatives(of_efforts, first)
    return dict(zip(SECOND["forward"], parts, strict=True))


MOVED: dict[str, Callable[[_State], Any]] = {
    "inverse": lambda state: _efforts(state("inverse")),
    "bias": lambda state: _efforts(state("inverse")),
    "gravity": lambda state: _efforts(state("inverse", rest=True)),
    "forward": _forward,
    "inverse_derivatives": _inverse_derivatives,
    "forward_derivatives": _forward_derivatives,
    "inverse_second_derivatives": _inverse_second_derivatives,
    "forward_second_derivatives": _forward_second_derivatives,
    "energy": lambda state: state("energy"),
    "momentum": lambda state: {x: part[6:] for x, part in state("momentum").items()},
    "regressor": lambda state: {"Y": state("regressor")},
}
"""Kernels that depend on the motion of the base."""
