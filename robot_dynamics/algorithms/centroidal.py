"""Momentum of all links together about their common centre of mass: [OrinGoswami2008].

A robot whose root link is free has the momentum of all links as the momenta of its first six
coordinates. Mass matrix and momentum of that robot therefore hold all of it, and no equation
is written here again. The root link itself, which does not move, counts for nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from robot_dynamics.algorithms import composite_body
from robot_dynamics.algorithms.momentum import momentum as generalized_momentum
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot.kinematic_tree import Link
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.transforms import merge_fixed
from robot_dynamics.spatial import cross


def momentum_matrix(robot: Robot, q: Array) -> tuple[Array, Array, Any]:
    """Compute the centroidal momentum matrix, the centre of mass and the mass.

    Args:
        robot: Tree without fixed joints; m joints, followers of mimic joints included.
        q: Joint positions, shape (m,), rad or m.

    Returns:
        A, shape (6, m): momentum (N s) over angular momentum about the centre of mass (N m s), in
        axes of the root link, for unit joint velocities; the centre of mass in the root link,
        shape (3,), m; and the mass of all links but the root, kg.
    """
    M = composite_body.mass_matrix(*_on_free_root(robot, q))
    mass = M[0, 0]
    c = np.array([M[1, 5], M[2, 3], M[0, 4]]) * (1.0 / mass)
    linear, angular = M[:3, 6:], M[3:6, 6:]
    return np.vstack([linear, angular - cross(c, linear)]), c, mass


def momentum(robot: Robot, q: Array, qd: Array) -> Array:
    """Compute the momentum over the angular momentum about the centre of mass, shape (6,).

    Args:
        robot: Tree without fixed joints; m joints, followers of mimic joints included.
        q: Joint positions, shape (m,), rad or m.
        qd: Joint velocities, shape (m,).
    """
    tree, x = _on_free_root(robot, q)
    p, _ = generalized_momentum(tree, x, np.concatenate([np.zeros(6), qd]), {})
    _, c, _ = momentum_matrix(robot, q)
    return np.concatenate([p[:3], p[3:6] - cross(c, p[:3])])


def _on_free_root(robot: Robot, q: Array) -> tuple[Robot, Array]:
    """The robot with a massless root link on a floating joint at zero, and its positions."""
    bare = replace(robot, links=(Link(robot.root), *robot.links[1:]))
    return merge_fixed(bare.with_floating_base()), np.concatenate([np.zeros(6), q])
