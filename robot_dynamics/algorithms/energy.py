"""Kinetic and potential energy of a tree.

Konig's theorem about the origin of every link instead of its mass centre, so that
both energies are linear in mass, first and second moment.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from robot_dynamics.algorithms.change_of_frame import ChangeOfFrame
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot.robot import Robot
from robot_dynamics.spatial import cross


def kinetic_energy(robot: Robot, q: Array, qd: Array) -> Any:
    """Compute the kinetic energy of all links.

    Args:
        robot: Tree without fixed joints; n joints, followers of mimic joints included.
        q: Joint positions, shape (n,), rad or m.
        qd: Joint velocities, shape (n,).

    Returns:
        Kinetic energy, a scalar, J.
    """
    zero = np.zeros(3)
    w, v = [zero], [zero]  # angular velocity; linear velocity of the link origin; axes of the link
    energy: Any = 0.0
    for k, joint in enumerate(robot.joints):
        frame, parent = ChangeOfFrame(joint, q[k]), robot.parents[k]
        w_i = frame.vector_to_child(w[parent])
        v_i = frame.vector_to_child(v[parent] + cross(w[parent], frame.p))
        if joint.type.rotates:
            w_i = w_i + joint.axis * qd[k]
        else:
            v_i = v_i + joint.axis * qd[k]
        w.append(w_i)
        v.append(v_i)
        body = robot.links[k + 1].inertia
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
