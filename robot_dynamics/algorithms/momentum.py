"""Generalized momentum of a tree, and its rate of change without joint efforts.

Lagrange's equations are d/dt (dT/dqd) = tau + dL/dq with L = T - U. The momentum p = dT/dqd is
M qd, and dL/dq is C^T qd - g for the matrix C of Christoffel symbols: together they predict the
motion under efforts without accelerations and without C ([DeLucaMattone2003], eq. (9)).

Both follow from the momentum of all links outward of a joint, so one pass outward and one inward
give them. A joint velocity changes the velocities of these links by the joint's axis, a joint
position by the cross product of their parent's velocity and the axis.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from robot_dynamics.algorithms.change_of_frame import ChangeOfFrame
from robot_dynamics.algorithms.energy import link_velocities
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot.endpoint import Wrenches
from robot_dynamics.robot.robot import Robot
from robot_dynamics.spatial import cross


def momentum(robot: Robot, q: Array, qd: Array, wrenches: Wrenches) -> tuple[Array, Array]:
    """Compute the generalized momentum and its rate of change without joint efforts.

    Args:
        robot: Tree without fixed joints; n joints, followers of mimic joints included.
        q: Joint positions, shape (n,), rad or m.
        qd: Joint velocities, shape (n,).
        wrenches: That links exert on their surroundings; they act back on the robot.

    Returns:
        p = M qd, shape (n,), N m s or N s, and dL/dq - J^T w = C^T qd - g - J^T w, shape (n,),
        N m or N.
    """
    n, zero = len(robot.joints), np.zeros(3)
    X_PL = [ChangeOfFrame(joint, q[k]) for k, joint in enumerate(robot.joints)]
    w, v = link_velocities(robot, X_PL, qd)
    gravity = [robot.gravity]
    # Of a link and all that is outward of it, about the origin of the link, in its axes
    P, L = [zero], [zero]  # linear and angular momentum
    for k, X in enumerate(X_PL):
        body, w_k, v_k = robot.links[k + 1].inertia, w[k + 1], v[k + 1]
        gravity.append(X.vector_to_child(gravity[robot.parents[k]]))
        P.append(body.mass * v_k + cross(w_k, body.first_moment))
        L.append(body.second_moment @ w_k + cross(body.first_moment, v_k))

    mass = [link.inertia.mass for link in robot.links]
    moment = [link.inertia.first_moment for link in robot.links]
    exerted = {i: wrench for i, wrench in wrenches.items() if i > 0}
    p: list[Any] = [0.0] * n
    rate: list[Any] = [0.0] * n
    for k in reversed(range(n)):
        i, X, joint, parent = k + 1, X_PL[k], robot.joints[k], robot.parents[k]
        pull = mass[i] * gravity[i], cross(moment[i], gravity[i])
        out = exerted.get(i, (zero, zero))
        if joint.type.rotates:
            p[k] = joint.axis @ L[i]
            rate[k] = joint.axis @ (cross(L[i], w[i]) + cross(P[i], v[i]) + pull[1] - out[1])
        else:
            p[k] = joint.axis @ P[i]
            rate[k] = joint.axis @ (cross(P[i], w[i]) + pull[0] - out[0])
        if parent == 0:
            continue
        P_p, L_p = X.wrench_to_parent(P[i], L[i])
        P[parent], L[parent] = P[parent] + P_p, L[parent] + L_p
        moment[parent] = moment[parent] + X.vector_to_parent(moment[i]) + mass[i] * X.p
        mass[parent] = mass[parent] + mass[i]
        if i in exerted:
            added = X.wrench_to_parent(*out)
            before = exerted.get(parent, (zero, zero))
            exerted[parent] = before[0] + added[0], before[1] + added[1]
    return np.array(p), np.array(rate)
