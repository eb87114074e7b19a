"""Kinetic and potential energy of a tree.

Konig's theorem about the origin of every link instead of its mass centre, so that
both energies are linear in mass, first and second moment.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from robot_dynamics.algorithms.change_of_frame import ChangeOfFrame
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot.robot import Robot
from robot_dynamics.spatial import cross


def link_velocities(
    robot: Robot, X_PL: Sequence[ChangeOfFrame], qd: Array
) -> tuple[list[Array], list[Array]]:
    """Compute the velocities of all links, root first, each in axes of its link.

    Args:
        robot: Tree without fixed joints; n joints, followers of mimic joints included.
        X_PL: Frame of the link that each joint carries in that of its parent.
        qd: Joint velocities, shape (n,).

    Returns:
        Angular velocity, and linear velocity of the origin of the link, shape (3,) each.
    """
    w, v = [np.zeros(3)], [np.zeros(3)]
    for k, joint in enumerate(robot.joints):
        X, parent = X_PL[k], robot.parents[k]
        w_k = X.vector_to_child(w[parent])
        v_k = X.vector_to_child(v[parent] + cross(w[parent], X.p))
        if joint.type.rotates:
            w_k = w_k + joint.axis * qd[k]
        else:
            v_k = v_k + joint.axis * qd[k]
        w.append(w_k)
        v.append(v_k)
    return w, v


def kinetic_energy(robot: Robot, q: Array, qd: Array) -> Any:
    """Compute the kinetic energy of all links.

    Args:
        robot: Tree without fixed joints; n joints, followers of mimic joints included.
        q: Joint positions, shape (n,), rad or m.
        qd: Joint velocities, shape (n,).

    Returns:
        Kinetic energy, a scalar, J.
    """
    X_PL = [ChangeOfFrame(joint, q[k]) for k, joint in enumerate(robot.joints)]
    energy: Any = 0.0
    velocities = zip(*link_velocities(robot, X_PL, qd), strict=True)
    for link, (w_i, v_i) in zip(robot.links[1:], list(velocities)[1:], strict=True):
        body = link.inertia
        of_points = body.mass / 2.0 * v_i + cross(w_i, body.first_moment)
        energy = energy + v_i @ of_points + (w_i @ (body.second_moment @ w_i)) / 2.0
    return energy


def potential_energy(robot: Robot, q: Array) -> Any:
    """Compute the potential energy of all links in the uniform field `robot.gravity`.

    It is zero for a mass at the origin of the root link. The root link counts although it does
    not move, so that inertial parameters regrouped from link to link leave the sum unchanged.

    Args:
        robot: Tree without fixed joints; n joints, followers of mimic joints included.
        q: Joint positions, shape (n,), rad or m.

    Returns:
        Potential energy, a scalar, J.
    """
    mass = [link.inertia.mass for link in robot.links]
    moment = [link.inertia.first_moment for link in robot.links]
    for k in reversed(range(len(robot.joints))):
        frame, parent = ChangeOfFrame(robot.joints[k], q[k]), robot.parents[k]
        outward = frame.vector_to_parent(moment[k + 1]) + mass[k + 1] * frame.p
        moment[parent] = moment[parent] + outward
        mass[parent] = mass[parent] + mass[k + 1]
    return -(robot.gravity @ moment[0])
