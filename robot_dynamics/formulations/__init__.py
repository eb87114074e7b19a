"""Equations of motion: one publication, one file, one signature.

Every formulation is written once, in plain arithmetic on any scalar, on a tree
of moving joints. `registry` knows them by name, `uncompiled` evaluates one of any robot.
"""

from robot_dynamics.formulations.registry import (
    DEFAULT_FORMULATION,
    FORMULATIONS,
    FORWARD_ROUTES,
    EquationsOfMotion,
    InverseDynamics,
    MassMatrix,
    equations_of_motion_named,
    formulation_named,
    mass_matrix_named,
)
from robot_dynamics.formulations.uncompiled import forward_dynamics, inverse_dynamics

__all__ = [
    "DEFAULT_FORMULATION",
    "FORMULATIONS",
    "FORWARD_ROUTES",
    "EquationsOfMotion",
    "InverseDynamics",
    "MassMatrix",
    "equations_of_motion_named",
    "formulation_named",
    "forward_dynamics",
    "inverse_dynamics",
    "mass_matrix_named",
]
