"""Capacity of the joints against gravity: the worst pose of every joint over the workspace."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot.joint_units import unit_of
from robot_dynamics.trajectory.motions import sample_poses

POSES, SEARCH_STEPS = 2000, 12
"""Number of random poses, and of local steps from the worst one, each half of the one before."""


class WorstGravity(NamedTuple):
    """Largest effort of gravity of one joint, N m or N, and its pose, shape (n,), rad or m."""

    effort: float
    q: Array


def worst_gravity(dynamics: Dynamics) -> list[WorstGravity]:
    """Search the pose with the largest effort of gravity for every joint.

    Random poses within the ranges, then a pattern search from the worst of them.

    Args:
        dynamics: Equations of the robot, of n joints.
    """
    if not dynamics.robot.dof:
        return []
    limits, poses = dynamics.robot.limits, sample_poses(dynamics.robot, POSES)
    efforts = np.abs(dynamics.gravity(poses))
    step_size = (poses.max(axis=0) - poses.min(axis=0)) / 4.0
    found = []
    for i in range(dynamics.robot.dof):
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


def overloaded_joints(dynamics: Dynamics) -> list[str]:
    """Describe every joint whose effort limit is below its worst gravity, with the pose."""
    robot, lines = dynamics.robot, []
    for i, (effort, q) in enumerate(worst_gravity(dynamics)):
        limit = float(robot.limits.effort[i])
        if 0.0 < limit < effort:
            unit = unit_of(robot, i, "effort")
            names = robot.joint_names
            pose = ", ".join(f"{name} {x:.3g}" for name, x in zip(names, q, strict=True))
            lines.append(
                f"joint '{names[i]}': gravity needs up to {effort:.4g} {unit}, beyond its effort "
                f"limit of {limit:.4g} {unit}, at {pose}"
            )
    return lines
