"""Derivatives of every output of a kernel with respect to every input, as equations.

They are derivatives of the traced equations. Those of efforts and accelerations with respect to
the motion also come from the recursions of `algorithms.derivatives`.
"""

from __future__ import annotations

import numpy as np

from robot_dynamics.compiler.graph.derivative import jacobian
from robot_dynamics.dynamics.kernels import Equations, Formulation, equations_of
from robot_dynamics.dynamics.variant import Variant
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot.robot import Robot

_RECURSIVE = {
    "inverse": "inverse_derivatives",
    "bias": "inverse_derivatives",
    "gravity": "inverse_derivatives",
    "forward": "forward_derivatives",
}
"""Kernels that compute derivatives of others with respect to the motion."""


def derivative_name(output: str, x: str) -> str:
    """Name of the derivatives of an output with respect to an input."""
    return f"d{output}_d{x}"


def has_recursion(name: str, variant: Variant) -> bool:
    """Return whether a recursion computes derivatives of the kernel."""
    return name in _RECURSIVE and not variant.friction


def differentiated(
    name: str, tree: Robot, formulation: Formulation, variant: Variant, *, recursion: bool = False
) -> Equations:
    """The derivatives of a kernel: for outputs and inputs by name, shape (*output, *input).

    Args:
        name: One of `KERNELS`.
        tree: The robot without fixed joints.
        formulation: As in `equations_of`.
        variant: Inputs beside the motion.
        recursion: Take derivatives with respect to the motion from a recursion.
    """
    plain = equations_of(name, tree, formulation, variant)
    recursive = None
    if recursion:
        recursive = equations_of(_RECURSIVE[name], tree, formulation, variant)

    def function(**arrays: Array) -> dict[str, Array]:
        known: dict[str, Array] = {}
        if recursive is not None:
            still = {x: np.zeros(s) for x, s in recursive.inputs.items() if x not in arrays}
            known = dict(recursive.function(**arrays, **still))
            if "M" in known:
                known["dtau_dqdd"] = known["M"]
        outputs = plain.function(**arrays)
        found = {}
        for output, values in ({plain.output: outputs} if plain.output else outputs).items():
            for x, array in arrays.items():
                key = derivative_name(output, x)
                found[key] = known[key] if key in known else _derivatives(values, array)
        return found

    return Equations(plain.inputs, function)


def _derivatives(values: Array, array: Array) -> Array:
    inputs = list(array.flat)
    outputs = [inputs[0].graph.lift(value) for value in np.asarray(values).flat]
    return jacobian(outputs, inputs).reshape(np.shape(values) + array.shape)
