"""Equations as functions of CasADi."""

from __future__ import annotations

from typing import Any

from robot_dynamics.compiler.arrays.differentiable import CompiledEquations
from robot_dynamics.compiler.source.array_libraries import library_function


def casadi_function(equations: CompiledEquations, name: str) -> Any:
    """Make a `casadi.Function` of column vectors with named inputs and outputs.

    Raises:
        MissingPackageError: If CasADi is not installed.
    """
    return library_function("casadi", equations.program, "a function of CasADi")
