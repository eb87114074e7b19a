"""Bearing loads: the forces and moments that links exert on each other at the joints.

[Gupta1986] and its continuation to dynamics, equations (27) and (28). Efforts are
the components along the joint axes; the bearings of a joint carry all the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from robot_dynamics.errors import ArgumentError, unknown_name
from robot_dynamics.formulations.zero_reference import (
    joint_forces,
    motion_from_base,
    starred_vectors,
)
from robot_dynamics.foundation.arrays import Array, vector
from robot_dynamics.robot.endpoint import wrench_argument
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.transforms import merge_fixed
from robot_dynamics.robot.zero_position import ZeroReference

COLLARS = ("child", "parent")
"""Links that may bear the collar of a prismatic joint: the one that moves, or the one before."""


@dataclass(frozen=True, eq=False)
class JointReactions:
    """Actions of the parent link of each moving joint on the child link.

    Args:
        joints: Names of the n moving joints, followers of mimic joints included, in tree order.
        force: Forces, shape (n, 3), N, in axes of the child link.
        moment: Moments about the joint centres, shape (n, 3), N m, in axes of the child link.
        axis: Joint axes, shape (n, 3), in axes of the child link.
        effort: Component that the actuator provides, shape (n,), N m (revolute) or N (prismatic).
        rotates: Whether a joint is revolute, shape (n,).

    The joint centre is the origin of the child link; where the collar of a prismatic joint is on
    the parent, it is the place of that origin at joint position zero.
    """

    joints: tuple[str, ...]
    force: Array
    moment: Array
    axis: Array
    effort: Array
    rotates: npt.NDArray[np.bool_]

    @property
    def bearing_force(self) -> Array:
        """Force without the actuator's, shape (n, 3), N: what the bearings carry."""
        actuator = np.where(self.rotates, 0.0, self.effort)
        return self.force - actuator[:, None] * self.axis

    @property
    def bearing_moment(self) -> Array:
        """Moment without the actuator's, shape (n, 3), N m: what the bearings carry."""
        actuator = np.where(self.rotates, self.effort, 0.0)
        return self.moment - actuator[:, None] * self.axis


def joint_reactions(
    robot: Robot,
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    qdd: npt.ArrayLike,
    *,
    wrench: npt.ArrayLike | None = None,
    frame: str | None = None,
    collar: str | Mapping[str, str] = "child",
) -> JointReactions:
    """Compute the forces and moments in all joints during a motion.

    Args:
        robot: Any robot; n independent joints in the order of `robot.joint_names`.
        q: Joint positions, shape (n,), rad (revolute) or m (prismatic).
        qd: Joint velocities, shape (n,), rad/s or m/s.
        qdd: Joint accelerations, shape (n,), rad/s^2 or m/s^2.
        wrench: Force (N) and moment (N m) about the origin of `frame` that the robot exerts on
            its surroundings there, shape (6,), in the axes of `frame`.
        frame: Link or named frame where the wrench acts; by default the only tip of the robot.
        collar: Link that bears the collar of the prismatic joints, "child" or "parent"; or this
            by joint name, "child" for the rest. The moment depends on it, the effort does not.

    Returns:
        Reactions of all moving joints. A mimic joint has the effort that its own link needs: how
        the coupling passes it on is not part of the model.

    Raises:
        ShapeError: If an argument does not have the shape above.
        ArgumentError: If an entry is not a finite number, or a collar is on neither link.
        UnknownNameError: If there is no such frame, or no joint of a name in `collar`.
    """
    tree = merge_fixed(robot)
    n = robot.dof
    q, qd, qdd = vector("q", q, n), vector("qd", qd, n), vector("qdd", qdd, n)
    wrenches = wrench_argument(tree, wrench, frame)
    collar_before = _collars_on_parent(tree, collar)
    E, e0 = tree.coupling.matrix, tree.coupling.offset

    zero = ZeroReference.from_robot(tree)
    v = starred_vectors(zero, E @ q + e0, collar_before)
    loads = joint_forces(zero, v, motion_from_base(zero, v, E @ qd, E @ qdd), wrenches)
    to_link = [R.T for R in v.axes[1:]]
    return JointReactions(
        joints=tuple(joint.name for joint in tree.joints),
        force=np.array([R @ F for R, F in zip(to_link, loads.F, strict=True)]),
        moment=np.array([R @ T for R, T in zip(to_link, loads.T, strict=True)]),
        axis=np.array([joint.axis for joint in tree.joints]),
        effort=loads.f,
        rotates=np.array([joint.type.rotates for joint in tree.joints]),
    )


def _collars_on_parent(tree: Robot, collar: str | Mapping[str, str]) -> set[int]:
    sliding = {joint.name: k for k, joint in enumerate(tree.joints) if not joint.type.rotates}
    by_name = dict.fromkeys(sliding, collar) if isinstance(collar, str) else collar
    on = {"collar": collar} if isinstance(collar, str) else by_name
    for name, link in on.items():
        if link not in COLLARS:
            raise ArgumentError(f"collar of '{name}' is on '{link}'; choose 'child' or 'parent'")
    for name in by_name:
        if name not in sliding:
            raise unknown_name("prismatic joint", name, f"robot '{tree.name}'", sliding)
    return {sliding[name] for name, link in by_name.items() if link == "parent"}
