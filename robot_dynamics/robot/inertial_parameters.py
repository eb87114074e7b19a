"""Inertial parameters of a body, and moving them between bodies without changing any torque.

A body is ten numbers: mass, first moment h, rotational inertia I. Held as the
4x4 pseudo-inertia J = integral (r, 1) (r, 1)^T dm they transform like
coordinates, J' = T J T^T, and the part of J that the motion of a joint cannot
move is a projection: for a revolute joint what lies on its axis (a massive line:
m, h_z, S_zz), for a prismatic joint the block S, as the link does not rotate
in its parent. `regroup` gives this part to the parent, link by link, which is the
augmented body of Renaud carried to its end ([Renaud1987], conclusion).

Regrouped bodies have no mass and moments that no solid has. They give the same
torques, mass matrix and energy, and must not be shown as the bodies of a robot.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.robot.joint import Joint
from robot_dynamics.robot.link import Link
from robot_dynamics.robot.robot import Robot
from robot_dynamics.spatial.inertia import Inertia
from robot_dynamics.spatial.pose import Pose

PARAMETERS = ("m", "hx", "hy", "hz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
"""Names of the inertial parameters of a body: kg, kg m and kg m^2, about the link origin."""

UPPER = np.triu_indices(3)
"""Where the entries of a symmetric matrix stand that count: loops ask for them in every cycle."""


# -- one body --------------------------------------------------------------------------------


def inertial_parameters(body: Inertia) -> Array:
    """The ten numbers of a body in the order of `PARAMETERS`, shape (10,).

    Ixy, Ixz and Iyz are entries of the matrix (the negative of products of inertia).
    """
    return np.array([body.mass, *body.first_moment, *body.second_moment[UPPER]])


def body_with(parameters: Array) -> Inertia:
    """The body with these ten numbers, in the order of `PARAMETERS`, shape (10,)."""
    xx, xy, xz, yy, yz, zz = parameters[4:]
    return Inertia(
        parameters[0], parameters[1:4], np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    )


def second_mass_moment(body: Inertia) -> Array:
    """S = integral r r^T dm about the link origin, shape (3, 3), kg m^2: 1/2 tr(I) - I."""
    (xx, _, _), (_, yy, _), (_, _, zz) = body.second_moment
    return 0.5 * (xx + yy + zz) * np.eye(3) - body.second_moment


def pseudo_inertia(body: Inertia) -> Array:
    """J = [[S, h], [h^T, m]], shape (4, 4): integral (r, 1) (r, 1)^T dm."""
    h = body.first_moment.reshape(3, 1)
    return np.block([[second_mass_moment(body), h], [h.T, np.array([[body.mass]])]])


def body_of(J: Array) -> Inertia:
    """The body with this pseudo-inertia, shape (4, 4)."""
    S = J[:3, :3]
    return Inertia(J[3, 3], J[:3, 3], (S[0, 0] + S[1, 1] + S[2, 2]) * np.eye(3) - S)


# -- between bodies --------------------------------------------------------------------------

CLEARABLE: Mapping[str, Callable[[Array], float]] = MappingProxyType(
    {
        "hx": lambda J: J[0, 3],
        "hy": lambda J: J[1, 3],
        "Sxx": lambda J: J[0, 0],
        "Syy": lambda J: J[1, 1],
        "Sxy": lambda J: J[0, 1],
        "Sxz": lambda J: J[0, 2],
        "Syz": lambda J: J[1, 2],
        "Sxx-Syy": lambda J: J[0, 0] - J[1, 1],
    }
)
"""What a mass left in the child of a link can clear in the link, as functions of J."""


def regroup(robot: Robot, shared: Mapping[int, str] | None = None) -> Robot:
    """Move what each joint cannot move to the link before it, tips to base.

    Args:
        robot: Tree without fixed joints.
        shared: The mass that lies on a revolute joint may stand in either of its links. For a
            joint (by index), a name of `CLEARABLE`: as much of it is left in the child, at its
            origin, as clears that quantity in the parent. Ignored where no mass of the size of
            the robot's can do that.

    Returns:
        A robot with the same joint efforts, mass matrix and energy. Without shared masses its
        moving links have at most seven (revolute) or four (prismatic) inertial parameters. Its
        bodies are not physical.
    """
    shared = {} if shared is None else shared
    T = [homogeneous(joint.origin) for joint in robot.joints]
    J = [pseudo_inertia(link.inertia) for link in robot.links]
    for i in reversed(range(1, len(robot.links))):
        for c, quantity in shared.items():
            if robot.parents[c] == i:
                mass_point = _point_mass(J[i], T[c], CLEARABLE[quantity], _total_mass(robot))
                J[c + 1] = J[c + 1] + mass_point
                J[i] = J[i] - T[c] @ mass_point @ T[c].T
        P = immovable(robot.joints[i - 1])
        moved = P @ J[i] @ P
        parent = robot.parents[i - 1]
        J[i] = J[i] - moved
        J[parent] = J[parent] + T[i - 1] @ moved @ T[i - 1].T
    links = [Link(link.name, body_of(J_i)) for link, J_i in zip(robot.links, J, strict=True)]
    return replace(robot, links=tuple(links))


def immovable(joint: Joint) -> Array:
    """Projection P, shape (4, 4): the motion of the joint does not move P J P, child axes."""
    P = np.zeros((4, 4))
    if joint.type.rotates:
        P[:3, :3] = np.outer(joint.axis, joint.axis)
        P[3, 3] = 1.0
    else:
        P[:3, :3] = np.eye(3)
    return P


def _point_mass(J: Array, T: Array, quantity: Callable[[Array], float], largest: float) -> Array:
    """Pseudo-inertia of the mass at the child's origin that has as much of a quantity as J."""
    at_origin = np.zeros((4, 4))
    of_one_kilogram = quantity(T @ _UNIT_MASS @ T.T)
    if abs(quantity(J)) <= largest * abs(of_one_kilogram):
        at_origin[3, 3] = quantity(J) / of_one_kilogram if of_one_kilogram != 0.0 else 0.0
    return at_origin


_UNIT_MASS = np.diag([0.0, 0.0, 0.0, 1.0])


def _total_mass(robot: Robot) -> float:
    return float(sum(link.inertia.mass for link in robot.links))


def homogeneous(X: Pose) -> Array:
    """The pose as a matrix T, shape (4, 4)."""
    T: Any = np.zeros((4, 4), dtype=np.result_type(X.rotation, X.translation))
    T[:3, :3], T[:3, 3], T[3, 3] = X.rotation, X.translation, 1.0
    return np.array(T)


def outward_bodies(robot: Robot) -> list[Inertia]:
    """Each link with all links outward of it as one rigid body, at joint positions zero.

    Their size is what numbers of a link are compared with to be called negligible.
    """
    bodies = [link.inertia for link in robot.links]
    for k in reversed(range(len(robot.joints))):
        parent = robot.parents[k]
        bodies[parent] = bodies[parent] + bodies[k + 1].expressed_in(robot.joints[k].origin)
    return bodies


def first_moment_size(body: Inertia) -> float:
    """Size of a first moment that this body could have, kg m: sqrt(m tr S) bounds |h|."""
    return float(np.sqrt(abs(body.mass * np.trace(second_mass_moment(body)))))
