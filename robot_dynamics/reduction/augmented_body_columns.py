"""The augmented-body recursion with fewer operations, for a robot in joint frames.

The equations are those of `augmented_body`. What changes is how they are written,
for a tree whose revolute joints turn about the z axes of their links
(`robot_dynamics.robot.joint_frames`) and whose bodies may be regrouped
(`robot_dynamics.robot.inertial_parameters`):

* Column of b. The acceleration of a point on a joint axis does not depend on that
  joint, so the z column of the tensor b of a link is a column of its parent's. This
  column is rotated instead of the angular acceleration, whose x and y components then
  follow from it; the products of the joint rate with the angular velocity disappear.
* Turns. A rotation matrix between two links is Rz(gamma) Rx(alpha) Rz(theta + q): three
  turns in a plane, most of them by right angles, which cost nothing (`turns`).
* Unrotated axes. Vectors of link i may be written in axes that do not turn with its joint.
  What is constant in the link then has to be turned instead; on a run of parallel joints
  these are a few numbers, and between the links of the run nothing needs rotating.
* Second moments S = integral r r^T dm about the link origin, in place of the rotational
  inertia: the inertial moment of a body is the skew-symmetric part of b S, and
  regrouping leaves S with a zero where the joint axis is.

The masses have been regrouped before, or stand where they are: here no mass is moved
to the parent, so that the weight of a link enters as m alpha and f = e.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.errors import RobotError
from robot_dynamics.formulations.augmented_body import tensor_b
from robot_dynamics.reduction.joint_angles import Angle, split_at_base, split_at_link
from robot_dynamics.robot.endpoint import Wrenches
from robot_dynamics.robot.inertial_parameters import second_mass_moment
from robot_dynamics.robot.robot import Robot
from robot_dynamics.spatial.turns import Turn, to_child, to_parent
from robot_dynamics.spatial.vectors import cross

Z = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True)
class RecursionOptions:
    """How the recursion at one link is carried out: choices that no torque depends on.

    Args:
        unrotated: Write vectors of the link in axes that do not turn with its joint.
        diagonal: Entry of the diagonal of b that follows from the other two products of the
            column and costs no third square: "xx", "yy" or, with all three squares, "".
        column: Rotate the z column of b, as the module says; otherwise the angular acceleration,
            as printed.
    """

    unrotated: bool = False
    diagonal: str = ""
    column: bool = True


def inverse_dynamics(
    robot: Robot,
    q: Array,
    qd: Array,
    qdd: Array,
    wrenches: Wrenches,
    options: Sequence[RecursionOptions] | None = None,
) -> Array:
    """Compute the joint efforts that produce the given accelerations.

    Args:
        robot: Tree without fixed joints, in joint frames: the axis of every revolute joint is
            (0, 0, 1). Its geometry must be numbers; inertias and gravity may be symbols.
        q: Joint positions, shape (n,), rad or m.
        qd: Joint velocities, shape (n,).
        qdd: Joint accelerations, shape (n,).
        wrenches: Force and moment that links exert on their surroundings.
        options: One per joint; by default all axes turn with their joints.

    Returns:
        Joint efforts, shape (n,), N m or N, positive along each joint axis.

    Raises:
        RobotError: If a revolute joint does not turn about the z axis of its link.
    """
    n = len(robot.joints)
    options = [RecursionOptions()] * n if options is None else options
    zero = np.zeros(3)
    turns: list[list[Turn]] = [[]]  # from the axes of the parent to those of link i
    to_link = [Angle()]  # from the axes that vectors of link i are written in, to the link's own
    p = [zero]  # p_(i-1,i), axes of the parent
    omega, a, alpha, b = [zero], [zero], [-robot.gravity], [np.zeros((3, 3))]

    # Forward, base to tips
    before: list[Turn]  # those of them that are not about the joint
    for k, joint in enumerate(robot.joints):
        i, parent, rotates = k + 1, robot.parents[k], joint.type.rotates
        if rotates and not np.array_equal(joint.axis, Z):
            raise RobotError(
                f"joint '{joint.name}' does not turn about the z axis of its link; "
                "use robot_dynamics.robot.joint_frames.joint_frames first"
            )
        unrotated = options[k].unrotated if rotates else to_link[parent].varies
        R0, p0 = joint.origin.rotation, joint.origin.translation
        p_i = to_link[parent].turn(p0 if rotates else p0 + R0 @ (joint.axis * q[k]))
        if parent == 0:
            before = []
            theta, alpha_P = split_at_base(R0, alpha[0])
        else:
            before, theta = split_at_link(R0, to_link[parent])
            alpha_P = alpha[parent] + b[parent] @ p_i  # (6a)
        if rotates:
            theta = theta.plus(Angle(variable=q[k], varies=True))
        turns_i = before if unrotated else before + theta.about_z()
        turns.append(turns_i)
        to_link.append(theta if unrotated else Angle())
        p.append(p_i)

        omega_P = to_child(turns_i, omega[parent])  # (1a)
        a_P = to_child(turns_i, a[parent])  # of which only z is used below a column
        alpha_i = to_child(turns_i, alpha_P)  # (6b)
        if not rotates:
            z = to_link[i].turn(joint.axis)
            omega.append(omega_P)
            a.append(a_P)
            b.append(tensor_b(a_P, np.outer(omega_P, omega_P)) if turns_i else b[parent])
            alpha.append(alpha_i + 2.0 * (qd[k] * cross(omega_P, z)) + qdd[k] * z)  # (5), (6c)
            continue
        omega_i = omega_P + qd[k] * Z  # (1b)
        if parent > 0 and options[k].column:
            column = to_child(turns_i, b[parent] @ to_parent(before, Z))
            a_i, b_i = from_column(column, omega_i, a_P[2] + qdd[k], options[k].diagonal)
        else:
            a_i = a_P + (qd[k] * cross(omega_P, Z) + qdd[k] * Z)  # (3b)
            b_i = tensor_b(a_i, np.outer(omega_i, omega_i))
        omega.append(omega_i)
        a.append(a_i)
        b.append(b_i)
        alpha.append(alpha_i)

    # Backward, tips to base: force f and moment n that the parent exerts on link i
    f, n_ = [zero] * (n + 1), [zero] * (n + 1)
    for i, (force, moment) in wrenches.items():
        f[i], n_[i] = f[i] + to_link[i].turn(force), n_[i] + to_link[i].turn(moment)
    tau: list[Any] = [0.0] * n
    for k in reversed(range(n)):
        joint, i, parent = robot.joints[k], k + 1, robot.parents[k]
        body = robot.links[i].inertia
        h = to_link[i].turn(body.first_moment)
        S = to_link[i].turn_tensor(second_mass_moment(body))
        f[i] = f[i] + (b[i] @ h + body.mass * alpha[i])  # (7a), (8)
        n_[i] = n_[i] + inertial_moment(b[i], omega[i], S) + cross(h, alpha[i])  # (9a)
        tau[k] = n_[i][2] if joint.type.rotates else to_link[i].turn(joint.axis) @ f[i]  # (10)
        if parent > 0:
            f_P = to_parent(turns[i], f[i])  # (7b)
            f[parent] = f[parent] + f_P
            n_[parent] = n_[parent] + to_parent(turns[i], n_[i]) + cross(p[i], f_P)  # (9b)
    return np.array(tau)


# -- motion of a link ------------------------------------------------------------------------


def from_column(column: Array, omega: Array, a_z: Any, diagonal: str) -> tuple[Array, Array]:
    """Angular acceleration a and tensor b of a link from the z column of b.

    Column z of b is (omega_x omega_z + a_y, omega_y omega_z - a_x, -omega_x^2 - omega_y^2).
    """
    x, y, z = omega
    xy, xz, yz = x * y, x * z, y * z
    a = np.array([yz - column[1], column[0] - xz, a_z])
    b_xx, b_yy = -(y * y + z * z), -(x * x + z * z)
    if diagonal == "xx":
        b_xx = column[2] + (x * x - z * z)
    elif diagonal == "yy":
        b_yy = column[2] + (y * y - z * z)
    b = np.array(
        [
            [b_xx, xy - a_z, column[0]],
            [xy + a_z, b_yy, column[1]],
            [xz - a[1], yz + a[0], column[2]],
        ]
    )
    return a, b


def inertial_moment(b: Array, omega: Array, S: Array) -> Array:
    """Moment of the inertial forces of a body about its origin: integral r x (b r) dm, shape (3,).

    The skew-symmetric part of b S. Differences on the diagonal of b are differences of squares
    of omega.
    """
    xx, yy, zz = omega * omega
    return np.array(
        [
            b[2, 0] * S[0, 1] + b[2, 1] * S[1, 1] - b[1, 2] * S[2, 2]
            - (yy - zz) * S[1, 2] - b[1, 0] * S[0, 2],
            b[0, 1] * S[1, 2] - b[2, 0] * S[0, 0] + b[0, 2] * S[2, 2]
            - (zz - xx) * S[0, 2] - b[2, 1] * S[0, 1],
            b[1, 0] * S[0, 0] - b[0, 1] * S[1, 1] - (xx - yy) * S[0, 1]
            + b[1, 2] * S[0, 2] - b[0, 2] * S[1, 2],
        ]
    )  # fmt: skip
