"""One moment of a robot as the page shows it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot import Inertia, Robot, merge_fixed
from robot_dynamics.robot.base_motion import BaseMotion
from robot_dynamics.spatial import Pose, rotation_from_quaternion


@dataclass(frozen=True, eq=False)
class Snapshot:
    """One moment of a robot with n joints.

    Args:
        time: s, on any clock.
        q: Measured positions, shape (n,), rad or m.
        qd: Measured velocities, shape (n,).
        qdd: Estimated accelerations, shape (n,).
        tau: Acting or measured efforts, shape (n,), N m or N; NaN if unknown.
        q_d: Desired positions, shape (n,), or None without a reference.
        payload: Load that the tool carries, or None.
        push: Force on the tool from outside, shape (3,), N, axes of the root link, or None.
        wrench: Force (N) over moment (N m) that the tool is to exert, about its origin and in its
            axes, shape (6,), or None.
        end_effector: Pose of the end effector in the root link, where a law in task space controls
            it, or None.
        target: Pose that it is to reach, or None.
        base: Motion of the root link, or None if it stands.
        base_position: Its position in the world, shape (3,), m, or None.
    """

    time: float
    q: Array
    qd: Array
    qdd: Array
    tau: Array
    q_d: Array | None = None
    payload: Inertia | None = None
    push: Array | None = None
    wrench: Array | None = None
    end_effector: Pose | None = None
    target: Pose | None = None
    base: BaseMotion | None = None
    base_position: Array | None = None

    @property
    def base_pose(self) -> Pose:
        """Pose of the root link in the world."""
        if self.base is None or self.base_position is None:
            return Pose.identity()
        return Pose(rotation_from_quaternion(np.asarray(self.base.orientation)), self.base_position)


def wxyz(rotation: Array) -> Array:
    """Return a rotation as viser takes it, the quaternion w, x, y, z, shape (4,)."""
    return np.roll(Rotation.from_matrix(rotation).as_quat(), 1)


def tool_frame(robot: Robot) -> str:
    """Return the frame that carries a load: the tip, or the last link common to all tips.

    If the tips have only the root in common, the first tip carries the load.
    """
    tree = merge_fixed(robot)
    if len(tree.tips) == 1:
        return tree.tips[0]
    paths = [tree.path_to(tree.frame(tip).link) for tip in tree.tips]
    shared = [joint for joint in paths[0] if all(joint in path for path in paths)]
    return tree.links[max(shared) + 1].name if shared else tree.tips[0]
