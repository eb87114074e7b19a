"""Coordinates of motors: gears, remote drives, absolute angles.

[AsadaSlotine1986], examples 5-3 and 5-4. A motor that stands on another link than the one
before its joint turns by the sum of the joint angles in between, so the coordinates of
all motors are p = J q with a constant J, and by virtual work Q = J^T (motor efforts), (5-48).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from robot_dynamics.algorithms.base_axes import base_axes
from robot_dynamics.errors import RobotError, unknown_name
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot.actuator_coordinates import LinearCoordinates
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.transforms import merge_fixed

PARALLEL = 1e-9
"""Largest sine between axes that count as parallel: URDFs round their angles to some digits."""


def gear_coordinates(robot: Robot, reductions: Mapping[str, float]) -> LinearCoordinates:
    """Motor angles behind gears: p_i = reduction_i q_i.

    Args:
        robot: Any robot.
        reductions: Turns of the motor for one of the joint, by joint; 1 for all others.

    Raises:
        UnknownNameError: If there is no such joint.
        SingularCoordinatesError: If a reduction is zero.
    """
    ratio = dict.fromkeys(robot.joint_names, 1.0)
    for joint, reduction in reductions.items():
        if joint not in ratio:
            raise unknown_name("joint", joint, f"robot '{robot.name}'", ratio)
        ratio[joint] = float(reduction)
    matrix = np.diag(list(ratio.values()))
    return LinearCoordinates("gears", robot.joint_names, matrix, np.zeros(robot.dof))


def remote_drives(robot: Robot, mounted_on: Mapping[str, str]) -> LinearCoordinates:
    """Motor angles where motors stand on other links than the one before their joint.

    Example 5-3: motor 2 on the base drives joint 2 through a chain that passes joint 1, so it
    turns by theta_1 + theta_2. The joints that the chain passes must be parallel to the driven
    one (or slide); give the matrix of other drives to `LinearCoordinates`.

    Args:
        robot: Any robot.
        mounted_on: Link that carries the motor, by joint; all other motors sit at their joints.

    Raises:
        UnknownNameError: If there is no such joint or link.
        RobotError: If the joint slides, a joint on the way is not parallel, or the link is not on
            the way inward.
    """
    tree = merge_fixed(robot)
    rows = np.eye(len(tree.joints))
    moving = [joint.name for joint in tree.joints]
    signs = _parallel_signs(tree)
    for joint, link in mounted_on.items():
        if joint not in robot.joint_names:
            raise unknown_name("joint", joint, f"robot '{robot.name}'", robot.joint_names)
        if not robot.joint(joint).type.rotates:
            raise RobotError(
                f"joint '{joint}' slides: a chain that passes other joints turns; give the matrix "
                "of this drive to LinearCoordinates"
            )
        mount = tree.link_index(tree.frame(link).link)
        j = k = moving.index(joint)
        while tree.parents[k] != mount:
            k = tree.parents[k] - 1
            if k < 0:
                raise RobotError(
                    f"the motor of joint '{joint}' cannot stand on link '{link}', which does not "
                    "lie between the joint and the base; name a link that carries the joint"
                )
            if tree.joints[k].type.rotates:
                if signs[j, k] == 0.0:
                    raise RobotError(
                        f"the drive of joint '{joint}' from link '{link}' passes joint "
                        f"'{moving[k]}', which is not parallel to it; give the matrix of this "
                        "drive to LinearCoordinates"
                    )
                rows[j, k] = signs[j, k]
    return _of_moving_joints("remote drives", robot, rows)


def absolute_angles(robot: Robot) -> LinearCoordinates:
    """Angles of links from where their axis stops being parallel: from the base if planar.

    Example 5-4: p_1 = theta_1, p_2 = theta_1 + theta_2. The sum runs inward over parallel joints,
    past sliding ones, and ends at the first joint of another direction. Antiparallel joints
    count with a minus sign.

    Args:
        robot: Any robot.
    """
    tree = merge_fixed(robot)
    rows = np.eye(len(tree.joints))
    signs = _parallel_signs(tree)
    for j, joint in enumerate(tree.joints):
        k = tree.parents[j] - 1
        while joint.type.rotates and k >= 0:
            if tree.joints[k].type.rotates:
                if signs[j, k] == 0.0:
                    break
                rows[j, k] = signs[j, k]
            k = tree.parents[k] - 1
    return _of_moving_joints("absolute angles", robot, rows)


def _parallel_signs(tree: Robot) -> Array:
    """1 or -1 for joints with parallel or antiparallel axes at q = 0, else 0, shape (m, m)."""
    b = np.array(base_axes(tree, np.zeros(len(tree.joints))).b).reshape(-1, 3)
    sine = np.linalg.norm(np.cross(b[:, None, :], b[None, :, :]), axis=2)
    return np.where(sine < PARALLEL, np.sign(b @ b.T), 0.0)


def _of_moving_joints(name: str, robot: Robot, rows: Array) -> LinearCoordinates:
    """Coordinates of independent joints from a matrix over all moving joints."""
    independent = [k for k, joint in enumerate(robot.moving_joints) if joint.mimic is None]
    joints = robot.coupling
    matrix = rows[independent] @ joints.matrix
    return LinearCoordinates(name, robot.joint_names, matrix, rows[independent] @ joints.offset)
