"""Gupta's equations for a given motion of the hand, and the position of the hand.

[Gupta1986] and its continuation to dynamics: displacements of section 2, and section 3 in the
order of the paper, from the hand to the base, by the equations of `zero_reference`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from robot_dynamics.formulations.zero_reference import (
    MassCentreMotion,
    Vectors,
    centripetal,
    current_vectors,
    joint_forces,
    motion_from_base,
    outward,
    starred_vectors,
)
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot.endpoint import Wrenches
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.zero_position import ZeroReference
from robot_dynamics.robot.zero_reference_tables import HAND, Hand, hand_of
from robot_dynamics.spatial import Pose, cross, rotation_about


@dataclass(frozen=True, eq=False)
class HandMotion:
    """Motion of a hand as its trajectory prescribes it, in base axes.

    Args:
        rotation: Orientation R_0H of the hand's frame, shape (3, 3): columns u_t, u_a x u_t, u_a.
        omega: Angular velocity, shape (3,), rad/s.
        alpha: Angular acceleration, shape (3,), rad/s^2.
        a: Acceleration of the reference point h, shape (3,), m/s^2.
        frame: Name of the hand's frame.
    """

    rotation: Array
    omega: Array
    alpha: Array
    a: Array
    frame: str = HAND


def inverse_dynamics_from_hand(
    robot: Robot, q: Array, qd: Array, qdd: Array, wrenches: Wrenches, hand: HandMotion
) -> Array:
    """Compute the same efforts where the motion of the hand is what is given.

    Equations (18) to (29) in the order of the paper, from the hand to the base. Branches that
    leave the path to the hand follow outwards. The joint motion must be that of the hand: the
    equations do not ask twice for what both say.

    Args:
        robot: As for `inverse_dynamics`, and so are q, qd, qdd and wrenches.
        q: Joint positions.
        qd: Joint velocities.
        qdd: Joint accelerations.
        wrenches: Forces and moments that links exert on their surroundings.
        hand: Motion of the hand.

    Returns:
        Joint efforts f, shape (n,), N m or N, positive along each joint axis.

    Raises:
        UnknownNameError: If the robot has no frame of the hand's name.
    """
    zero = ZeroReference.from_robot(robot)
    vectors = starred_vectors(zero, q)
    motion = motion_from_hand(zero, vectors, qd, qdd, hand)
    return joint_forces(zero, vectors, motion, wrenches).f


# -- section 2: displacements, equations (1) to (3) -----------------------------------------------


def displacement(u: Array, P: Array, theta: Any, s: Any) -> Pose:
    """Eq. (1b): turn by theta about, and shift by s along, the line of direction u through P.

    The 4 x 4 matrix [D(theta, s, u, P)] is [R, s u - (R - 1) P; 0, 1]; a `Pose` holds its two
    blocks.

    Args:
        u: Unit vector u_ok, shape (3,).
        P: A point P_ok on the line, shape (3,), m.
        theta: Angle, rad.
        s: Shift, m.
    """
    R = rotation_about(u, theta)
    return Pose(R, u * s - (R @ P - P))


def displacements(zero: ZeroReference, q: Array) -> list[Pose]:
    """Displacement of every link from its zero to its current position: products (1a).

    Args:
        zero: Description of n joints.
        q: Joint positions, shape (n,), rad or m.

    Returns:
        One pose per link, the base first; its rotation is [R_k] of eq. (3).
    """
    D = [Pose.identity()]
    P = zero.centres
    for k, joint in enumerate(zero.robot.joints):
        theta, s = (q[k], 0.0) if joint.type.rotates else (0.0, q[k])
        D.append(D[zero.robot.parents[k]] @ displacement(joint.axis, P[k], theta, s))
    return D


def hand_position(zero: ZeroReference, q: Array, frame: str = HAND) -> Hand:
    """Current hand: h and the unit vectors u_a and u_t, by eq. (1a).

    Args:
        zero: Description of n joints.
        q: Joint positions, shape (n,), rad or m.
        frame: Name of the hand's frame.

    Returns:
        As at the zero position, but `b` is the position of h in the base.

    Raises:
        UnknownNameError: If there is no such frame.
    """
    hand = hand_of(zero, frame)
    D_h = displacements(zero, q)[hand.link]
    P_oh = hand.b if hand.link == 0 else zero.centres[hand.link - 1] + hand.b
    h = D_h.rotation @ P_oh + D_h.translation
    return Hand(hand.link, h, D_h.rotation @ hand.u_oa, D_h.rotation @ hand.u_ot)


def hand_motion(
    zero: ZeroReference, q: Array, qd: Array, qdd: Array, frame: str = HAND
) -> HandMotion:
    """Motion of a hand that given joint motion produces, in base axes.

    Args:
        zero: Description of n joints.
        q: Joint positions, shape (n,), rad or m.
        qd: Joint velocities, shape (n,).
        qdd: Joint accelerations, shape (n,).
        frame: Name of the hand's frame.

    Raises:
        UnknownNameError: If there is no such frame.
    """
    motion = motion_from_base(zero, current_vectors(zero, q), qd, qdd)
    hand, i = hand_position(zero, q, frame), hand_of(zero, frame).link
    G = displacements(zero, q)[i]
    P_oG = (zero.centres[i - 1] if i > 0 else np.zeros(3)) + zero.s[i]
    Gh = hand.b - (G.rotation @ P_oG + G.translation)
    omega, alpha = motion.omega[i], motion.alpha[i]
    a_h = motion.a_G[i] + cross(alpha, Gh) + centripetal(omega, Gh)
    return HandMotion(hand.rotation, omega, alpha, a_h, frame)


# -- section 3: motion, from the hand -------------------------------------------------------------


def motion_from_hand(
    zero: ZeroReference, v: Vectors, qd: Array, qdd: Array, given: HandMotion
) -> MassCentreMotion:
    """Motion of all links, from the hand to the base and from there along other branches.

    The vectors must be starred ones.
    """
    robot, hand = zero.robot, hand_of(zero, given.frame)
    motion = MassCentreMotion.at_rest(len(robot.links))
    i = hand.link
    R_h = given.rotation @ hand.rotation.T  # rotation of the hand from its zero position
    omega, alpha = R_h.T @ given.omega, R_h.T @ given.alpha
    Gh = hand.b - zero.s[i]
    motion.omega[i], motion.alpha[i] = omega, alpha
    motion.a_G[i] = R_h.T @ given.a - cross(alpha, Gh) - centripetal(omega, Gh)
    path = set()
    while i > 0:
        path.add(i - 1)
        _inward(robot, v, qd, qdd, i - 1, motion)
        i = robot.parents[i - 1]
    for k in range(len(robot.joints)):
        if k not in path:
            outward(robot, v, qd, qdd, k, motion)
    return motion


def _inward(robot: Robot, v: Vectors, qd: Array, qdd: Array, k: int, m: MassCentreMotion) -> None:
    """Motion of the link before joint k from that of the link it carries, as printed.

    Equations (5), (6) and (9) to (11), and (18), (19) and (22) to (24).
    """
    i, p = k + 1, robot.parents[k]
    R, u, GP, PG = v.R[k], v.u[k], v.GP[k], v.PG[i]
    a_P = m.a_G[i] - cross(m.alpha[i], PG) - centripetal(m.omega[i], PG)  # eqs. (9), (22)
    if robot.joints[k].type.rotates:
        m.omega[p] = R @ m.omega[i] - u * qd[k]  # eqs. (5), (18)
        coriolis = cross(m.omega[p], u * qd[k])
        m.alpha[p] = R @ m.alpha[i] - u * qdd[k] - coriolis  # eqs. (6), (19)
        a_P = R @ a_P  # eqs. (10), (23)
    else:
        m.omega[p], m.alpha[p] = R @ m.omega[i], R @ m.alpha[i]
        a_P = R @ a_P - u * qdd[k] - 2.0 * cross(m.omega[p], u * qd[k])
    m.a_G[p] = a_P - cross(m.alpha[p], GP) - centripetal(m.omega[p], GP)  # eqs. (11), (24)
