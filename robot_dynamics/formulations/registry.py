"""Every formulation by name, and what a formulation looks like to a caller."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType
from typing import cast

import numpy as np

from robot_dynamics.algorithms import composite_body
from robot_dynamics.errors import check_known
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot.endpoint import Wrenches
from robot_dynamics.robot.robot import Robot

InverseDynamics = Callable[[Robot, Array, Array, Array, Wrenches], Array]
"""Signature of a formulation: tau = inverse_dynamics(robot, q, qd, qdd, wrenches).

Args:
    robot: Tree without fixed joints; n joints, followers of mimic joints included.
    q: Joint positions, shape (n,), rad or m.
    qd: Joint velocities, shape (n,), rad/s or m/s.
    qdd: Joint accelerations, shape (n,), rad/s^2 or m/s^2.
    wrenches: For a link (by index in `robot.links`), force (3,) N and moment (3,) N m about the
        link origin that the link exerts on its surroundings, in axes of the link.

Returns:
    Joint efforts tau, shape (n,), N m or N, positive along each joint axis.
"""


MassMatrix = Callable[[Robot, Array], Array]
"""Signature of a mass matrix: robot without fixed joints, q."""


EquationsOfMotion = Callable[[Robot, Array, Array, Wrenches], tuple[Array, Array]]
"""Signature of M and b of tau = M qdd + b: robot without fixed joints, q, qd, wrenches."""


FORMULATIONS: Mapping[str, str] = {
    "newton_euler": "Luh, Walker, Paul: recursive Newton-Euler, link axes",
    "augmented_body": "Renaud: Newton-Euler with augmented bodies, link axes",
    "zero_reference": "Gupta: Newton-Euler in the zero reference position, base axes",
    "kane": "Angeles, Ma, Rojas: Kane's equations, partial velocities, link axes",
    "lagrange": "Asada, Slotine: Lagrange's equations in closed form, base axes",
    "dalembert": "Lee, Lee, Nigam: generalized d'Alembert equations, structured closed form",
    "lagrange_euler": "Uicker, as Lee, Lee, Nigam print it: Lagrange-Euler, 4 x 4 matrices",
}
"""Name of every formulation, with the publication in a few words."""


DEFAULT_FORMULATION = "augmented_body"
"""The one that is taken where none is named."""


_COMPOSITE = "none in its paper: M by composite bodies, bias by its recursion"

FORWARD_ROUTES: Mapping[str, str] = {
    "newton_euler": _COMPOSITE,
    "augmented_body": f"{_COMPOSITE}; compiled, articulated bodies where they take fewer",
    "zero_reference": "its own: M and bias by one recursion with qdd left open, (39) to (44)",
    "kane": _COMPOSITE,
    "lagrange": "its own M, the inertia tensor (5-28); bias from (5-38) at qdd = 0",
    "dalembert": "its own M, the coefficients D (30); bias from (29) at qdd = 0",
    "lagrange_euler": "its own M, the coefficients D (3); bias from (2) at qdd = 0",
}
"""Route of every formulation to accelerations; all then factorise M along the tree."""


def formulation_named(formulation: str | InverseDynamics) -> InverseDynamics:
    """The inverse dynamics of one formulation, on a tree without fixed joints.

    Args:
        formulation: One of `FORMULATIONS`; or a function of that signature, such as a
            `simplified.SimplifiedModel`, which is returned as it is.

    Returns:
        The function tau = f(robot, q, qd, qdd, wrenches).

    Raises:
        UnknownNameError: If there is no formulation of that name.
    """
    if callable(formulation):
        return formulation
    return cast(InverseDynamics, _module(formulation).inverse_dynamics)


def mass_matrix_named(formulation: str | InverseDynamics) -> MassMatrix:
    """Return the mass matrix of a formulation: its own where it has one, else by composite bodies.

    Args:
        formulation: One of `FORMULATIONS`, or a function of the same signature.

    Returns:
        The function M = f(robot, q), of shape (n, n).

    Raises:
        UnknownNameError: If there is no formulation of that name.
    """
    own = _module(formulation) if isinstance(formulation, str) else composite_body
    return cast(MassMatrix, getattr(own, "mass_matrix", composite_body.mass_matrix))


def equations_of_motion_named(formulation: str | InverseDynamics) -> EquationsOfMotion:
    """Return M and bias of a formulation, by the route that `FORWARD_ROUTES` tells.

    Args:
        formulation: One of `FORMULATIONS`, or a function of the same signature.

    Returns:
        The function (M, b) = f(robot, q, qd, wrenches), of shapes (n, n) and (n,).

    Raises:
        UnknownNameError: If there is no formulation of that name.
    """
    if formulation == "zero_reference":
        direct = import_module("robot_dynamics.formulations.zero_reference_direct")
        return cast(EquationsOfMotion, direct.equations_of_motion)
    matrix, efforts = mass_matrix_named(formulation), formulation_named(formulation)

    def equations(robot: Robot, q: Array, qd: Array, wrenches: Wrenches) -> tuple[Array, Array]:
        return matrix(robot, q), efforts(robot, q, qd, np.zeros(len(robot.joints)), wrenches)

    return equations


def _module(name: str) -> ModuleType:
    check_known("formulation", name, "robot_dynamics.formulations", FORMULATIONS)
    return import_module(f"robot_dynamics.formulations.{name}")
