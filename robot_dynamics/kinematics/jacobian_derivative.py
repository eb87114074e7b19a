"""How the Jacobian of a frame changes in time: its derivative, and the drift of the frame."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from robot_dynamics.algorithms.change_of_frame import ChangeOfFrame
from robot_dynamics.arrays import Array, vector
from robot_dynamics.kinematics.forward_kinematics import frame_motion, tree_positions
from robot_dynamics.robot.robot import Robot
from robot_dynamics.spatial.rotation import cross


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
    rates = tree.coupling.matrix @ vector("qd", qd, robot.dof)
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
    return Jd @ tree.coupling.matrix


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
