"""The augmented-body recursion with fewer operations, for a robot in joint frames.

The equations are those of `augmented_body`, written differently for a tree whose
revolute joints rotate about the z axes of their links
(`robot_dynamics.robot.joint_frames`) and whose bodies may be regrouped
(`robot_dynamics.robot.transforms.regroup`):

* Column of b. The acceleration of a point on a joint axis does not depend on that
  joint, so the z column of the tensor b of a link is a column of its parent's. This
  column is rotated instead of the angular acceleration, whose x and y components then
  follow from it; the products of the joint rate with the angular velocity disappear.
* Axis rotations. The rotation between two links is Rz(gamma) Rx(alpha) Rz(theta + q).
  Constant angles are mostly right angles, which cost nothing (`spatial`).
* Unrotated axes. Vectors of link i may be written in axes that do not rotate with its joint.
  Constants of the link are then rotated instead. On a run of parallel joints these are a few
  numbers, and no vector needs rotating between the links of the run.
* Second moments S = integral r r^T dm about the link origin, in place of the rotational
  inertia: the inertial moment of a body is the skew-symmetric part of b S, and
  regrouping leaves S with a zero where the joint axis is.

This module moves no mass to the parent (`regroup` may have done so before), so that
the weight of a link enters as m alpha and f = e.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from robot_dynamics.errors import RobotError
from robot_dynamics.formulations.augmented_body import tensor_b
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot.endpoint import Wrenches
from robot_dynamics.robot.joint_frames import Residual, in_length_unit
from robot_dynamics.robot.robot import Robot
from robot_dynamics.spatial import (
    AxisRotation,
    cosine_and_sine_of_sum,
    cross,
    second_mass_moment,
    to_child,
    to_parent,
)

# -- the rotation of a joint: Rz(gamma) Rx(alpha) Rz(theta + q) ---------------------------------


@dataclass(frozen=True)
class Angle:
    """Angle about z: a constant, kept as its cosine and sine, plus joint positions."""

    cos: float = 1.0
    sin: float = 0.0
    variable: Any = 0.0
    varies: bool = False

    def plus(self, other: Angle, sign: float = 1.0) -> Angle:
        """This angle plus, or with sign -1 minus, another."""
        sin = sign * other.sin
        return Angle(
            self.cos * other.cos - self.sin * sin,
            self.sin * other.cos + self.cos * sin,
            self.variable + sign * other.variable,
            self.varies or other.varies,
        )

    def cos_sin(self) -> tuple[Any, Any]:
        """Cosine and sine."""
        if not self.varies:
            return self.cos, self.sin
        return cosine_and_sine_of_sum(self.cos, self.sin, self.variable)

    def about_z(self) -> list[AxisRotation]:
        """Return the rotation about z by this angle, or an empty list if it is zero."""
        if not self.varies and self.sin == 0.0 and self.cos == 1.0:
            return []
        return [AxisRotation(2, *self.cos_sin())]

    def turn(self, v: Array) -> Array:
        """Rz v."""
        return to_parent(self.about_z(), v)

    def turn_tensor(self, S: Array) -> Array:
        """Rz S Rz^T of a symmetric tensor."""
        if not self.about_z():
            return S
        c, s = self.cos_sin()
        cs, ss = c * s, s * s
        difference, xy2 = S[0, 0] - S[1, 1], 2.0 * S[0, 1]
        change = difference * ss + xy2 * cs  # S_xx S_yy exchange this much
        xy = S[0, 1] + difference * cs - xy2 * ss
        xz, yz = c * S[0, 2] - s * S[1, 2], s * S[0, 2] + c * S[1, 2]
        return np.array([[S[0, 0] - change, xy, xz], [xy, S[1, 1] + change, yz], [xz, yz, S[2, 2]]])


def split_at_link(R0: Array, to_parent_link: Angle) -> tuple[list[AxisRotation], Angle]:
    """Split the rotation of a joint at position zero: R0 = Rz(gamma) Rx(alpha) Rz(theta).

    Args:
        R0: Orientation of the link in its parent at joint position zero.
        to_parent_link: Angle from the axes of vectors of the parent to the parent's own; it is
            added to gamma.

    Returns:
        The rotations Rz(gamma) Rx(alpha), and the remaining angle theta about z.
    """
    cos_alpha = R0[2, 2]
    if R0[0, 2] == 0.0:
        gamma, sin_alpha = Angle(), -R0[1, 2]
    else:
        sin_alpha = math.hypot(R0[0, 2], R0[1, 2])
        gamma = Angle(-R0[1, 2] / sin_alpha, R0[0, 2] / sin_alpha)
    gamma = to_parent_link.plus(gamma)
    tilt = [] if cos_alpha == 1.0 and sin_alpha == 0.0 else [AxisRotation(0, cos_alpha, sin_alpha)]
    if sin_alpha == 0.0:  # parallel axes: theta and gamma are about the same axis
        return tilt, Angle(R0[0, 0], cos_alpha * R0[1, 0]).plus(gamma, cos_alpha)
    theta = Angle(R0[2, 1] / sin_alpha, R0[2, 0] / sin_alpha)
    return gamma.about_z() + tilt, theta


def split_at_base(R0: Array, alpha_0: Array) -> tuple[Angle, Array]:
    """Choose axes before a joint on the base, where any constant axes are possible.

    Returns:
        The angle about z from these axes to the link at joint position zero, chosen so that
        gravity has no y component; and alpha_0 in these axes.
    """
    alpha = R0.T @ alpha_0
    if alpha.dtype == object or alpha[1] == 0.0:
        return Angle(), alpha
    across = math.hypot(alpha[0], alpha[1])
    if across < 1e-15 * np.linalg.norm(alpha):  # round-off of R0
        return Angle(), np.array([0.0, 0.0, alpha[2]])
    theta = Angle(alpha[0] / across, -alpha[1] / across)
    return theta, np.array([across, 0.0, alpha[2]])


# -- the recursion ------------------------------------------------------------------------------


Z = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True)
class RecursionOptions:
    """Options of the recursion at one link; no torque depends on them.

    Args:
        unrotated: Write vectors of the link in axes that do not rotate with its joint.
        diagonal: Entry of the diagonal of b computed from the column instead of a third square:
            "xx", "yy" or, with all three squares, "".
        column: Rotate the z column of b (see the module); otherwise the angular acceleration, as
            printed.
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
        options: One per joint; by default all axes rotate with their joints.

    Returns:
        Joint efforts, shape (n,), N m or N, positive along each joint axis.

    Raises:
        RobotError: If a revolute joint does not turn about the z axis of its link.
    """
    n = len(robot.joints)
    options = [RecursionOptions()] * n if options is None else options
    zero = np.zeros(3)
    turns: list[list[AxisRotation]] = [[]]  # from the axes of the parent to those of link i
    to_link = [Angle()]  # from the axes that vectors of link i are written in, to the link's own
    p = [zero]  # p_(i-1,i), axes of the parent
    omega, a, alpha, b = [zero], [zero], [-robot.gravity], [np.zeros((3, 3))]

    # Forward, base to tips
    before: list[AxisRotation]  # the rotations of turns that precede the joint's own
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
        a_P = to_child(turns_i, a[parent])  # with a column, only z is used below
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
    """Compute the inertial moment of a body about its origin: integral r x (b r) dm, shape (3,).

    It is the skew-symmetric part of b S. Differences on the diagonal of b are differences of
    squares of omega.
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


# -- a reduced robot ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ReducedRobot:
    """A robot whose inverse dynamics takes few operations, with the options of its recursion.

    Args:
        robot: Tree in joint frames with regrouped bodies, which are not physical. Frames of the
            original links are among its named frames. SI units.
        options: Options of the recursion at each link.
        length_unit: Length unit of the equations, m.
        residual: Largest change of a constant, by snapping.
        torque_residual: Largest change of a torque or an acceleration by snapping and round-off,
            relative to the largest, at random states.
    """

    robot: Robot
    options: tuple[RecursionOptions, ...]
    length_unit: float
    residual: Residual
    torque_residual: float = 0.0

    def inverse_dynamics(
        self, robot: Robot, q: Array, qd: Array, qdd: Array, wrenches: Wrenches
    ) -> Array:
        """Compute joint efforts: a formulation to use in place of `augmented_body`.

        Args:
            robot: `self.robot`, possibly with another gravity or with a payload added to its
                bodies, as numbers or symbols.
            q: Joint positions, shape (n,), rad or m.
            qd: Joint velocities, shape (n,).
            qdd: Joint accelerations, shape (n,).
            wrenches: Force and moment that links of `robot` exert on their surroundings.

        Returns:
            Joint efforts, shape (n,), N m or N.
        """
        unit = self.length_unit
        per_unit = np.array([1.0 if j.type.rotates else 1.0 / unit for j in robot.joints])
        tau = inverse_dynamics(
            in_length_unit(robot, unit),
            q * per_unit,
            qd * per_unit,
            qdd * per_unit,
            {i: (force * unit, moment) for i, (force, moment) in wrenches.items()},
            self.options,
        )
        return tau * per_unit
