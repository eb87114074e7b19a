"""Forward kinematics: poses, velocities and accelerations of frames.

Plain arithmetic on any scalar, as the equations of motion are: on floats it
computes numbers, on symbols it is traced and compiled.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from robot_dynamics.algorithms.change_of_frame import ChangeOfFrame
from robot_dynamics.foundation.arrays import Array, vector
from robot_dynamics.foundation.scalars import lowers
from robot_dynamics.robot.free_joints import accelerations as of_parts
from robot_dynamics.robot.free_joints import placed
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.transforms import merge_fixed
from robot_dynamics.spatial import cross


class FramePose(NamedTuple):
    """Pose of a frame in the root link: p_base = rotation @ p_frame + translation.

    Unlike `Pose` it holds arrays of any scalar, symbols and complex numbers too.

    Attributes:
        rotation: Shape (3, 3).
        translation: Position of the origin of the frame, shape (3,), m.
    """

    rotation: Array
    translation: Array


@lowers
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
    tree, positions = tree_positions(robot, q)
    place = tree.frame(frame)
    R, p = place.pose.rotation, place.pose.translation
    for k in reversed(tree.path_to(place.link)):
        change = ChangeOfFrame(tree.joints[k], positions[k])
        R = np.column_stack([change.vector_to_parent(column) for column in R.T])
        p = change.vector_to_parent(p) + change.p
    return FramePose(R, p)


@lowers
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
    tree, positions = tree_positions(robot, q)
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


class FrameMotion(NamedTuple):
    """Motion of a frame relative to the root link, in axes of the root link.

    Attributes:
        velocity: Linear velocity of the origin (m/s) over angular velocity (rad/s), shape (6,).
        acceleration: Their derivatives in time, shape (6,), m/s^2 and rad/s^2.
    """

    velocity: Array
    acceleration: Array


@lowers
def frame_motion(
    robot: Robot, q: npt.ArrayLike, qd: npt.ArrayLike, qdd: npt.ArrayLike, frame: str
) -> FrameMotion:
    """Compute how a frame moves.

    At qdd = 0 the acceleration is the product of the derivative of the Jacobian with qd.

    Args:
        robot: Any robot; n independent joints in the order of `robot.joint_names`.
        q: Joint positions, shape (n,), rad or m.
        qd: Joint velocities, shape (n,).
        qdd: Joint accelerations, shape (n,).
        frame: Name of a link or of a frame fixed to one.

    Returns:
        Velocity and acceleration of the frame.

    Raises:
        UnknownNameError: If there is no such frame.
        ShapeError: If an argument does not have one entry per independent joint.
    """
    tree, positions = tree_positions(robot, q)
    E, qd = tree.coupling.matrix, vector("qd", qd, robot.dof)
    velocities = E @ qd
    accelerations = E @ of_parts(tree, qd, vector("qdd", qdd, robot.dof))
    place = tree.frame(frame)
    # Outward along the path, all in axes of the link reached so far
    w = wd = v = a = np.zeros(3)
    for k in tree.path_to(place.link):
        joint, change = tree.joints[k], ChangeOfFrame(tree.joints[k], positions[k])
        u, ud = joint.axis * velocities[k], joint.axis * accelerations[k]
        v = change.vector_to_child(v + cross(w, change.p))
        a = change.vector_to_child(a + cross(wd, change.p) + cross(w, cross(w, change.p)))
        w, wd = change.vector_to_child(w), change.vector_to_child(wd)
        if joint.type.rotates:
            wd = wd + cross(w, u) + ud
            w = w + u
        else:
            a = a + 2.0 * cross(w, u) + ud
            v = v + u
    r = place.pose.translation
    v, a = v + cross(w, r), a + cross(wd, r) + cross(w, cross(w, r))
    R = frame_pose(robot, q, place.link).rotation
    return FrameMotion(np.concatenate([R @ v, R @ w]), np.concatenate([R @ a, R @ wd]))


def tree_positions(robot: Robot, q: npt.ArrayLike) -> tuple[Robot, Array]:
    """The robot without fixed joints, and the positions of all its joints, followers included.

    Floating and planar joints are where q has them: see `free_joints.placed`.
    """
    return placed(merge_fixed(robot), vector("q", q, robot.nq))
