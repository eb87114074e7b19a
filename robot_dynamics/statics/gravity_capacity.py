"""Capacity of the joints against gravity: the worst pose of every joint over the workspace."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot.joint_units import unit_of
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.transforms import merge_fixed
from robot_dynamics.trajectory.motions import sample_poses

POSES, SEARCH_STEPS = 2000, 12
"""Number of random poses, and of local steps from the worst one, each half of the one before."""


class WorstGravity(NamedTuple):
    """Largest effort of gravity of one joint, N m or N, and its pose, shape (n,), rad or m."""

    effort: float
    q: Array


def worst_gravity(dynamics: Dynamics, joints: Iterable[int]) -> list[WorstGravity]:
    """Search the pose with the largest effort of gravity for each of some joints.

    Random poses within the ranges, then a pattern search from the worst of them.

    Args:
        dynamics: Equations of the robot, of n joints.
        joints: The joints, by index.
    """
    limits, poses = dynamics.robot.limits, sample_poses(dynamics.robot, POSES)
    efforts = np.abs(dynamics.gravity(poses))
    step_size = (poses.max(axis=0) - poses.min(axis=0)) / 4.0
    found = []
    for i in joints:
        k = int(np.argmax(efforts[:, i]))
        q, worst = poses[k], float(efforts[k, i])
        for step in range(SEARCH_STEPS):
            moves = np.diag(step_size * 0.5**step)
            moved = True
            while moved:
                near = np.clip(np.vstack([q + moves, q - moves]), limits.lower, limits.upper)
                tau = np.abs(dynamics.gravity(near)[:, i])
                k = int(np.argmax(tau))
                moved = bool(tau[k] > worst * (1.0 + 1e-9))  # round-off must not go on forever
                if moved:
                    q, worst = near[k], float(tau[k])
        found.append(WorstGravity(worst, q))
    return found


def gravity_bound(robot: Robot) -> Array:
    """Return efforts that gravity exceeds in no pose, shape (n,), N m or N.

    The lever of a link is at most the distances between the joints on the way to it, in line.
    """
    tree, g = merge_fixed(robot), np.linalg.norm(robot.gravity)
    masses = [float(link.inertia.mass) for link in tree.links]
    about_origin = [float(np.linalg.norm(link.inertia.first_moment)) for link in tree.links]
    about_axis = [
        float(np.linalg.norm(np.cross(joint.axis, link.inertia.first_moment)))
        for joint, link in zip(tree.joints, tree.links[1:], strict=True)
    ]
    ends = tree.coupling.positions(robot.limits.lower), tree.coupling.positions(robot.limits.upper)
    travels = np.abs(ends).max(axis=0)
    bounds = np.zeros(len(tree.joints))
    for k in reversed(range(len(tree.joints))):
        joint, i, parent = tree.joints[k], k + 1, tree.parents[k]
        axis_P, p = joint.origin.rotation @ joint.axis, joint.origin.translation
        across = g if parent else np.linalg.norm(np.cross(axis_P, robot.gravity))
        bounds[k] = across * about_axis[k] if joint.type.rotates else g * masses[i]
        if not parent or not masses[i]:
            continue
        travel = 0.0 if joint.type.rotates else float(travels[k])
        masses[parent] += masses[i]
        about_origin[parent] += about_origin[i] + masses[i] * (np.linalg.norm(p) + travel)
        lever = np.linalg.norm(np.cross(tree.joints[parent - 1].axis, p))
        about_axis[parent - 1] += about_origin[i] + masses[i] * (lever + travel)
    followed: Array = np.abs(tree.coupling.matrix).T @ bounds
    return followed


def overloaded_joints(robot: Robot) -> list[str]:
    """Describe every joint whose effort limit is below its worst gravity, with the pose."""
    limits, lines = robot.limits.effort, []
    suspects = np.flatnonzero((limits > 0.0) & ~(gravity_bound(robot) <= limits)).tolist()
    if not suspects:
        return []
    dynamics = Dynamics(robot, "newton_euler")  # to reduce a robot takes longer than the search
    for i, (effort, q) in zip(suspects, worst_gravity(dynamics, suspects), strict=True):
        limit = float(limits[i])
        if limit < effort:
            unit = unit_of(robot, i, "effort")
            names = robot.joint_names
            pose = ", ".join(f"{name} {x:.3g}" for name, x in zip(names, q, strict=True))
            lines.append(
                f"joint '{names[i]}': gravity needs up to {effort:.4g} {unit}, beyond its effort "
                f"limit of {limit:.4g} {unit}, at {pose}"
            )
    return lines
