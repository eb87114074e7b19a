"""Torque regressor: joint efforts as a linear function of the base parameters.

tau = Y(q, qd, qdd) pi. A column of Y is the effort that the motion asks for when one
parameter is one and all others are zero: the inertial wrench of a unit body on one
link, which acts on the joints from that link to the base.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from robot_dynamics.algorithms.base_parameters import BaseParameters, base_columns
from robot_dynamics.formulations.augmented_body import LinkKinematics, forward, gyroscopic
from robot_dynamics.foundation.arrays import Array, vector
from robot_dynamics.foundation.scalars import lowered
from robot_dynamics.robot.free_joints import motion_of
from robot_dynamics.robot.joint_frames import joint_frames
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.transforms import merge_fixed
from robot_dynamics.spatial import PARAMETERS, body_with, cross


@dataclass(frozen=True, eq=False)
class Regressor:
    """The regressor of a robot over its base parameters.

    Args:
        tree: The robot without fixed joints, in joint frames.
        columns: Link (by index in `tree.links`) and inertial parameter of each column.
        parameters: The base parameters, in the order of the columns.
    """

    tree: Robot
    columns: tuple[tuple[int, str], ...]
    parameters: BaseParameters

    @staticmethod
    def of(robot: Robot) -> Regressor:
        """Find the base parameters of any robot."""
        tree = joint_frames(merge_fixed(robot))
        return Regressor(tree, *base_columns(tree))

    def __call__(self, q: Array, qd: Array, qdd: Array, gravity: Array | None = None) -> Array:
        """Y, shape (n, p), at a state of the n independent joints; on any scalar."""
        loaded = self.tree if gravity is None else replace(self.tree, gravity=gravity)
        joints, (tree, *state) = self.tree.coupling, motion_of(loaded, q, qd, qdd)
        motion = forward(tree, *state)
        efforts = [_efforts(self.tree, motion, i, symbol) for i, symbol in self.columns]
        return joints.columns(np.column_stack(efforts))


def regressor(robot: Robot, q: npt.ArrayLike, qd: npt.ArrayLike, qdd: npt.ArrayLike) -> Array:
    """Compute the torque regressor over the base parameters of a robot, uncompiled.

    Args:
        robot: Any robot; n independent joints in the order of `robot.joint_names`.
        q: Joint positions, shape (n,), rad or m.
        qd: Joint velocities, shape (n,).
        qdd: Joint accelerations, shape (n,).

    Returns:
        Y, shape (n, p), with tau = Y @ [parameter.value for parameter in base_parameters(robot)].

    Raises:
        ShapeError: If an argument does not have the shape above.
    """
    n = robot.dof
    state = vector("q", q, robot.nq), vector("qd", qd, n), vector("qdd", qdd, n)
    return lowered(Regressor.of(robot)(*state))


def _efforts(tree: Robot, motion: LinkKinematics, i: int, symbol: str) -> Array:
    """Efforts of all joints when one inertial parameter of link i is one and no other link has any.

    Args:
        tree: Tree without fixed joints.
        motion: Of its links.
        i: Index of the link.
        symbol: One of `PARAMETERS`.

    Returns:
        Efforts, shape (n,), those of joints not between link i and the base being zero.
    """
    body = body_with(np.array([float(name == symbol) for name in PARAMETERS]))
    h, k = body.first_moment, body.second_moment
    f = body.mass * motion.alpha[i] + motion.b[i] @ h
    n = k @ motion.a[i] + gyroscopic(k, motion.delta[i]) + cross(h, motion.alpha[i])
    tau: Any = np.zeros(len(tree.joints), dtype=f.dtype)
    while i > 0:
        joint = tree.joints[i - 1]
        tau[i - 1] = joint.axis @ (n if joint.type.rotates else f)
        f = motion.R[i] @ f
        n = motion.R[i] @ n + cross(motion.p[i], f)
        i = tree.parents[i - 1]
    return np.array(tau)
