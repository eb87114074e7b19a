"""Equations of an arm with its end effector, as the laws in task space ask for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from robot_dynamics.algorithms import composite_body
from robot_dynamics.compiler.graph.optimize import optimize
from robot_dynamics.compiler.graph.trace import Program, trace
from robot_dynamics.control.task_space import input_shapes, task_equations
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.dynamics.kernels import Equations
from robot_dynamics.dynamics.variant import Variant
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot.transforms import merge_fixed

PAYLOAD = 10
"""Numbers of the input `payload`; see `Variant`."""


@dataclass(frozen=True)
class EndEffectorEquations:
    """The equations of one arm with its load, as `task_space.TaskSpaceEquations` asks for them.

    Args:
        frame: Link or frame of the end effector.
        equations: By the names of kernels.
        parents: For the factorisation of the mass matrix.
        payload: Input `payload`, shape (10,), or None without one.
        velocity_terms: As of `Arm`.
    """

    frame: str
    equations: Mapping[str, Equations]
    parents: tuple[int, ...]
    payload: Array | None = None
    velocity_terms: Any = 1.0

    @classmethod
    def of(
        cls,
        dynamics: Dynamics,
        end_effector: str,
        payload_at: str | None,
        payload: Array | None = None,
    ) -> EndEffectorEquations:
        """Collect the equations of a robot, its end effector and the frame of payloads."""
        carrying = Variant(payload_at=payload_at)
        variants = {
            "inverse": Variant(payload_at=payload_at, gravity=True),
            "mass_matrix": carrying,
            "pose": Variant(frame=end_effector),
            "jacobian": Variant(frame=end_effector),
            "jacobian_derivative": Variant(frame=end_effector),
        }
        found = {name: next(dynamics.equations(name, how)) for name, how in variants.items()}
        parents = composite_body.elimination_parents(merge_fixed(dynamics.robot))
        return cls(end_effector, found, parents, payload)

    def _evaluate(self, name: str, *motion: Array, **values: Array) -> Any:
        found = self.equations[name]
        if "payload" in found.inputs:
            values["payload"] = np.zeros(PAYLOAD) if self.payload is None else self.payload
        return found.function(*motion, **values)

    def mass_matrix(self, q: Array) -> Array:
        """See `Arm`."""
        M: Array = self._evaluate("mass_matrix", q)
        return M

    def velocity_effort(self, q: Array, qd: Array) -> Array:
        """See `Arm`: the efforts at zero acceleration without gravity."""
        none = np.zeros(len(q))
        qd = self.velocity_terms * qd
        tau: Array = self._evaluate("inverse", q, qd, none, gravity=np.zeros(3))
        return tau

    def pose(self, q: Array) -> tuple[Array, Array]:
        """See `Arm`."""
        found = self._evaluate("pose", q)
        return found["rotation"], found["position"]

    def jacobian(self, q: Array) -> Array:
        """See `Arm`."""
        J: Array = self._evaluate("jacobian", q)
        return J

    def jacobian_derivative(self, q: Array, qd: Array) -> Array:
        """See `Arm`."""
        Jd: Array = self._evaluate("jacobian_derivative", q, qd)
        return Jd


def task_program(
    dynamics: Dynamics, end_effector: str, mode: str, projector: str, payload_at: str | None = None
) -> Program:
    """Trace a law in task space alone; its inputs are those of `input_shapes`, then `payload`."""

    def equations(**x: Array) -> dict[str, Array]:
        end = EndEffectorEquations.of(dynamics, end_effector, payload_at, x.get("payload"))
        return task_equations(end, mode, projector, x)

    shapes = dict(input_shapes(dynamics.robot.dof))
    if payload_at is not None:
        shapes["payload"] = (PAYLOAD,)
    return optimize(trace(mode, equations, shapes))
