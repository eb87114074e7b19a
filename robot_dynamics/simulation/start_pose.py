"""Start pose of a simulated arm, from which its end effector can move in every direction."""

from __future__ import annotations

import itertools

import numpy as np

from robot_dynamics.foundation.arrays import Array
from robot_dynamics.kinematics import frame_jacobian, link_poses
from robot_dynamics.robot.endpoint import end_effector_by_rule
from robot_dynamics.robot.robot import Robot
from robot_dynamics.trajectory.motions import middle_pose

SINGULAR = 0.03
"""Smallest singular value of the Jacobian, relative to the largest, of a pose that is singular."""

BEND, SHARE = np.pi / 2.0, 0.8
"""Angle by which joints are bent, rad, at most this share of half their range."""

MOST_BENT = 5
"""Number of joints that may be bent."""

GOOD = 0.5
"""Share of the best pose from which a pose with fewer bent joints is preferred."""


def start_pose(robot: Robot) -> Array:
    """Return the middle of each joint's range, or a bent pose if the arm is singular there.

    Only arms whose end effector can move in all six directions are bent. No link crosses the plane
    z = 0 of the root link, if that is possible.

    Args:
        robot: The robot.

    Returns:
        Joint positions, shape (n,), rad or m.
    """
    middle, end_effector = middle_pose(robot), end_effector_by_rule(robot)
    if end_effector is None or robot.dof < 6 or _dexterity(robot, middle, end_effector) > SINGULAR:
        return middle
    poses = np.array(list(_bent(robot, middle, end_effector)))
    found = np.array([_dexterity(robot, q, end_effector) for q in poses])
    above = np.array([_is_above(robot, q) for q in poses])
    if above.any():
        found = np.where(above, found, 0.0)
    if found.max() <= SINGULAR:
        return middle
    bends = (poses != middle).sum(axis=1)
    good = found >= GOOD * found.max()
    return np.asarray(poses[np.lexsort((-found, bends, ~good))[0]])


def _bent(robot: Robot, middle: Array, end_effector: str) -> list[Array]:
    """Return poses in which joints between the first and the last of the arm are bent."""
    J = frame_jacobian(robot, middle, end_effector)
    turns = np.array([joint.type.rotates for joint in robot.independent_joints])
    arm = np.flatnonzero(np.abs(J).max(axis=0) > 0.0)[1:-1]
    bent = [i for i in arm if turns[i]][:MOST_BENT]
    half = SHARE * np.minimum(robot.limits.upper - middle, middle - robot.limits.lower)[bent]
    angle, found = np.minimum(BEND, half), []
    for signs in itertools.product((0.0, -1.0, 1.0), repeat=len(bent)):
        q = middle.copy()
        q[bent] += signs * angle
        found.append(q)
    return found


def _dexterity(robot: Robot, q: Array, end_effector: str) -> float:
    """Return the smallest singular value of the Jacobian of the end effector over the largest."""
    J = frame_jacobian(robot, q, end_effector)
    J[:3] /= max(float(np.linalg.norm(J[:3], axis=0).max()), 1e-9)
    values = np.linalg.svd(J, compute_uv=False)
    return float(values[-1] / values[0])


def _is_above(robot: Robot, q: Array) -> bool:
    """Return whether no link is behind the plane on which the root link stands or hangs."""
    return all(pose.translation[2] >= -1e-6 for pose in link_poses(robot, q).values())
