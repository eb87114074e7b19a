"""Where the frames of a robot are, and how fast they move.

Plain arithmetic on any scalar, as the equations of motion are: on floats it
computes numbers, on symbols it is traced and compiled.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from robot_dynamics.errors import ArgumentError
from robot_dynamics.formulations import vector
from robot_dynamics.formulations.change_of_frame import ChangeOfFrame
from robot_dynamics.formulations.vectors import Array, cross
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.transforms import merge_fixed

Axes = Literal["base", "frame"]
"""Axes in which a Jacobian is expressed: those of the root link, or of the frame itself."""


class FramePose(NamedTuple):
    """Pose of a frame in the root link: p_base = rotation @ p_frame + translation.

    Unlike `Pose` it holds arrays of any scalar, symbols and complex numbers too.

    Attributes:
        rotation: Shape (3, 3).
        translation: Position of the origin of the frame, shape (3,), m.
    """

    rotation: Array
    translation: Array


def frame_pose(robot: Robot, q: npt.ArrayLike, frame: str) -> FramePose:
    """Compute where a frame is.

    Args:
        robot: Any robot; n independent joints in the order of `robot.joint_names`.
        q: Joint positions, shape (n,), rad or m.
        frame: Name of a link or of a frame fixed to one.

    Returns:
        Pose of the frame in the root link.

    Raises:
        UnknownNameError: If there is no such frame.
        ShapeError: If q does not have one entry per independent joint.
    """
    tree, positions = _tree_positions(robot, q)
    place = tree.frame(frame)
    R, p = place.pose.rotation, place.pose.translation
    for k in reversed(_path(tree, place.link)):
        change = ChangeOfFrame(tree.joints[k], positions[k])
        R = np.column_stack([change.vector_to_parent(column) for column in R.T])
        p = change.vector_to_parent(p) + change.p
    return FramePose(R, p)


def link_poses(robot: Robot, q: npt.ArrayLike) -> dict[str, FramePose]:
    """Compute where every link and every named frame is.

    Args:
        robot: Any robot; n independent joints in the order of `robot.joint_names`.
        q: Joint positions, shape (n,), rad or m.

    Returns:
        Pose in the root link of everything in `robot.frame_names`, by name.

    Raises:
        ShapeError: If q does not have one entry per independent joint.
    """
    tree, positions = _tree_positions(robot, q)
    poses = [FramePose(np.eye(3), np.zeros(3))]
    for k, joint in enumerate(tree.joints):
        R_P, p_P = poses[tree.parents[k]]
        change = ChangeOfFrame(joint, positions[k])
        R_T = np.column_stack([change.vector_to_child(row) for row in R_P])
        poses.append(FramePose(R_T.T, R_P @ change.p + p_P))
    named = {}
    for name in robot.frame_names:
        place = tree.frame(name)
        R, p = poses[tree.link_index(place.link)]
        named[name] = FramePose(R @ place.pose.rotation, R @ place.pose.translation + p)
    return named


def frame_jacobian(
    robot: Robot, q: npt.ArrayLike, frame: str, axes: Axes = "base"
) -> Array:
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
    tree, positions = _tree_positions(robot, q)
    place = tree.frame(frame)
    columns: dict[int, tuple[Array, Array]] = {}
    if axes == "frame":
        # From the frame inward: R and p of the frame in the link that joint k carries
        R, p = place.pose.rotation, place.pose.translation
        for k in reversed(_path(tree, place.link)):
            joint = tree.joints[k]
            b = R.T @ joint.axis
            columns[k] = (R.T @ cross(joint.axis, p), b) if joint.type.rotates else (b, 0.0 * b)
            change = ChangeOfFrame(joint, positions[k])
            R = np.column_stack([change.vector_to_parent(column) for column in R.T])
            p = change.vector_to_parent(p) + change.p
    else:
        ...
    J_tree: Any = np.zeros((6, len(tree.joints)), dtype=positions.dtype)
    for k, (linear, angular) in columns.items():
        J_tree[:3, k], J_tree[3:, k] = linear, angular
    return J_tree @ tree.coupling.matrix
