"""Geometric Jacobian of a frame, its derivative in time, and the drift of the frame."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from robot_dynamics.algorithms.change_of_frame import ChangeOfFrame
from robot_dynamics.errors import ArgumentError
from robot_dynamics.foundation.arrays import Array, vector
from robot_dynamics.foundation.scalars import lowers
from robot_dynamics.kinematics.forward_kinematics import frame_motion, tree_positions
from robot_dynamics.robot.free_joints import free_joints as has_parts
from robot_dynamics.robot.free_joints import twist_rates
from robot_dynamics.robot.kinematic_tree import Frame, Joint
from robot_dynamics.robot.robot import Robot
from robot_dynamics.spatial import cross

Axes = Literal["base", "frame"]
"""Axes of a Jacobian: those of the root link, or those of the frame itself."""


@lowers
def frame_jacobian(robot: Robot, q: npt.ArrayLike, frame: str, axes: Axes = "base") -> Array:
    """Compute the geometric Jacobian of a frame.

    Its transpose turns a wrench [force; moment] that the robot exerts at the frame, in the same
    axes, into the joint efforts that it costs.

    Args:
        robot: Any robot; n independent joints in the order of `robot.joint_names`.
        q: Joint positions, shape (n,), rad or m.
        frame: Name of a link or of a frame fixed to one.
        axes: "base" for the axes of the root link, "frame" for those of the frame. In both the
            linear velocity is that of the origin of the frame.

    Returns:
        J, shape (6, n): [linear velocity (m/s); angular velocity (rad/s)] = J @ qd.

    Raises:
        UnknownNameError: If there is no such frame.
        ArgumentError: If `axes` is neither "base" nor "frame".
        ShapeError: If q does not have one entry per independent joint.
    """
    if axes not in ("base", "frame"):
        raise ArgumentError(f"axes must be 'base' or 'frame', got {axes!r}")
    tree, positions = tree_positions(robot, q)
    place = tree.frame(frame)
    path = tree.path_to(place.link)
    changes = {k: ChangeOfFrame(tree.joints[k], positions[k]) for k in path}
    columns = _columns_in_base if axes == "base" else _columns_in_frame
    J: Any = np.zeros((6, len(tree.joints)), dtype=positions.dtype)
    for k, (linear, angular) in columns(tree, changes, place).items():
        J[:3, k], J[3:, k] = linear, angular
    return J @ tree.coupling.matrix


def _columns_in_base(
    tree: Robot, changes: Mapping[int, ChangeOfFrame], place: Frame
) -> dict[int, tuple[Array, Array]]:
    """Linear and angular velocity of the frame for a unit velocity of every joint on its path."""
    R_WL, p_WL = np.eye(3), np.zeros(3)  # link L that joint k carries, in the root W
    axes: dict[int, tuple[Array, Array]] = {}
    for k, change in changes.items():
        p_WL = p_WL + R_WL @ change.p
        R_WL = np.array([change.vector_to_child(row) for row in R_WL])
        axes[k] = p_WL, R_WL @ tree.joints[k].axis
    p_WF = p_WL + R_WL @ place.pose.translation
    return {k: _screw(tree.joints[k], b, p_WF - p_WL) for k, (p_WL, b) in axes.items()}


def _columns_in_frame(
    tree: Robot, changes: Mapping[int, ChangeOfFrame], place: Frame
) -> dict[int, tuple[Array, Array]]:
    """As `_columns_in_base`, by going inward: only the joints outward of joint k matter."""
    R_LF, p_LF = place.pose.rotation, place.pose.translation  # in the link L that joint k carries
    columns: dict[int, tuple[Array, Array]] = {}
    for k, change in reversed(list(changes.items())):
        linear, angular = _screw(tree.joints[k], tree.joints[k].axis, p_LF)
        columns[k] = R_LF.T @ linear, R_LF.T @ angular
        R_LF = np.column_stack([change.vector_to_parent(column) for column in R_LF.T])
        p_LF = change.vector_to_parent(p_LF) + change.p
    return columns


def _screw(joint: Joint, b: Array, r: Array) -> tuple[Array, Array]:
    """Velocity of a point at r from the joint, and angular velocity, at unit joint velocity."""
    return (cross(b, r), b) if joint.type.rotates else (b, np.zeros(3))


# -- its derivative ------------------------------------------------------------------------------


@lowers
def frame_jacobian_derivative(
    robot: Robot, q: npt.ArrayLike, qd: npt.ArrayLike, frame: str
) -> Array:
    """Differentiate the geometric Jacobian of a frame in time, in axes of the root link.

    Args:
        robot: Any robot; n independent joints in the order of `robot.joint_names`.
        q: Joint positions, shape (n,), rad or m.
        qd: Joint velocities, shape (n,), rad/s or m/s.
        frame: Name of a link or of a frame fixed to one.

    Returns:
        Jd, shape (6, n): acceleration of the frame = J @ qdd + Jd @ qd, linear over angular.

    Raises:
        UnknownNameError: If there is no such frame.
        ShapeError: If q or qd does not have one entry per independent joint.
    """
    tree, positions = tree_positions(robot, q)
    qd = vector("qd", qd, robot.dof)
    rates = tree.coupling.matrix @ qd
    place = tree.frame(frame)
    # Link L reached so far, in axes of the root W: its axes, origin, and how fast these move
    R_WL, p_WL, v_WL, w_WL = np.eye(3), np.zeros(3), np.zeros(3), np.zeros(3)
    axes: list[tuple[int, Array, Array, Array, Array]] = []  # (3,) each, axes of W
    for k in tree.path_to(place.link):
        joint, change = tree.joints[k], ChangeOfFrame(tree.joints[k], positions[k])
        arm = R_WL @ change.p
        p_WL, v_WL = p_WL + arm, v_WL + cross(w_WL, arm)
        R_WL = np.array([change.vector_to_child(row) for row in R_WL])
        b = R_WL @ joint.axis
        bd = cross(w_WL, b)  # a joint does not turn its own axis
        if joint.type.rotates:
            w_WL = w_WL + b * rates[k]
        else:
            v_WL = v_WL + b * rates[k]
        axes.append((k, p_WL, v_WL, b, bd))
    arm = R_WL @ place.pose.translation
    p_WF, v_WF = p_WL + arm, v_WL + cross(w_WL, arm)
    Jd: Any = np.zeros((6, len(tree.joints)), dtype=np.result_type(positions, rates))
    for k, p_WL, v_WL, b, bd in axes:
        if tree.joints[k].type.rotates:
            Jd[:3, k], Jd[3:, k] = cross(bd, p_WF - p_WL) + cross(b, v_WF - v_WL), bd
        else:
            Jd[:3, k] = bd
    Jd = Jd @ tree.coupling.matrix
    return Jd - frame_jacobian(robot, q, frame) @ twist_rates(tree, qd) if has_parts(tree) else Jd


@lowers
def frame_drift(robot: Robot, q: npt.ArrayLike, qd: npt.ArrayLike, frame: str) -> Array:
    """Compute the acceleration that a frame has without joint accelerations, Jd @ qd.

    [Gupta1986], eq. (4b); a recursion, which needs no Jacobian.

    Args:
        robot: Any robot; n independent joints in the order of `robot.joint_names`.
        q: Joint positions, shape (n,), rad or m.
        qd: Joint velocities, shape (n,), rad/s or m/s.
        frame: Name of a link or of a frame fixed to one.

    Returns:
        Linear over angular acceleration, shape (6,), m/s^2 and rad/s^2, axes of the root link.

    Raises:
        UnknownNameError: If there is no such frame.
        ShapeError: If q or qd does not have one entry per independent joint.
    """
    return frame_motion(robot, q, qd, np.zeros(robot.dof), frame).acceleration
