"""Motions of the worked examples for which the papers compute torques.

Each is a function of time that returns joint positions, velocities and
accelerations. Two of them are given by the hand, so that the inverse kinematics of
the arm belongs to them, in closed form.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from robot_dynamics.errors import RobotError, check_known
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.kinematics.inverse.inverse_kinematics import InverseKinematics
from robot_dynamics.kinematics.jacobian import frame_jacobian
from robot_dynamics.papers.paper_arms import INCH
from robot_dynamics.papers.zero_reference_hand import HandMotion, hand_motion
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.zero_position import ZeroReference
from robot_dynamics.robot.zero_reference_tables import HAND, hand_of
from robot_dynamics.trajectory.motions import SPLINE_KNOTS, circle_law, normal_spline, rest_to_rest
from robot_dynamics.trajectory.pose_paths import LINE_LAWS


class JointMotion(NamedTuple):
    """Joint positions, velocities and accelerations at N times, shape (N, n) each."""

    q: Array
    qd: Array
    qdd: Array


# -- PUMA-type arm on a circle: [Gupta1986] and its continuation, equations (30) to (38) ----------

CIRCLE_TIME_S = 9.0
"""Duration of the motion on the circle, s."""

ROUND_OFF = 1e-9
"""By which a solution between two branches may belong to both."""


def circle_motion(
    zero: ZeroReference,
    t: npt.ArrayLike,
    *,
    tilt: float = np.pi / 6,
    frame: str = HAND,
) -> JointMotion:
    """Joint motion of the PUMA-type arm whose hand goes once round a circle.

    Args:
        zero: The arm of the paper's tables 1 and 2.
        t: Times, shape (N,), s, from 0 to `CIRCLE_TIME_S`.
        tilt: Angle tau between the hand's axis and the normal of the circle, rad. The paper's
            number is not legible in the copies at hand. Above 22.08 degrees joint 4 makes the
            full turn that the paper describes, below it joint 6 does.
        frame: Name of the hand's frame.

    Returns:
        Positions without jumps of 2 pi along the circle, velocities, accelerations, (N, 6) each.

    Raises:
        RobotError: If the arm is not of that type, or cannot reach the circle.
    """
    times = np.atleast_1d(np.asarray(t, dtype=np.float64))
    grid = np.linspace(0.0, 2.0 * np.pi, 721)  # finer than any joint turns by pi
    on_grid = _joints(zero, grid, tilt, frame)
    psi = circle_law(times)
    q = _joints(zero, psi.angle, tilt, frame)
    nearby = np.stack([np.interp(psi.angle, grid, joint) for joint in np.unwrap(on_grid, axis=0).T])
    q = q + 2.0 * np.pi * np.round((nearby.T - q) / (2.0 * np.pi))

    qd, qdd = np.zeros_like(q), np.zeros_like(q)
    rest = np.zeros(q.shape[1])
    for i in range(len(times)):
        hand = hand_on_circle(times[i], tilt=tilt, frame=frame)
        v = 6.0 * INCH * psi.rate[i] * _tangent(psi.angle[i])  # eq. (36)
        J = frame_jacobian(zero.robot, q[i], frame)
        qd[i] = np.linalg.solve(J, np.concatenate((v, hand.omega)))  # eq. (4a)
        drift = hand_motion(zero, q[i], qd[i], rest, frame)  # J-dot qd, without forming J-dot
        wanted = np.concatenate((hand.a - drift.a, hand.alpha - drift.alpha))
        qdd[i] = np.linalg.solve(J, wanted)  # eq. (4b)
    return JointMotion(q, qd, qdd)


def hand_on_circle(t: float, *, tilt: float = np.pi / 6, frame: str = HAND) -> HandMotion:
    """Orientation, angular motion and acceleration of the hand, eqs. (31), (37) and (38).

    Arguments as for `circle_motion`.
    """
    psi, psi_dot, psi_ddot = (float(x) for x in circle_law(t))
    tangent = _tangent(psi)
    outward = np.array([0.0, np.sin(psi), np.cos(psi)])
    return HandMotion(
        rotation=_hand_rotation(psi, tilt),
        omega=np.array([-psi_dot, 0.0, 0.0]),
        alpha=np.array([-psi_ddot, 0.0, 0.0]),
        a=6.0 * INCH * (psi_ddot * tangent - psi_dot**2 * outward),
        frame=frame,
    )


def _tangent(psi: float) -> Array:
    return np.array([0.0, np.cos(psi), -np.sin(psi)])


def _hand_rotation(psi: float, tilt: float) -> Array:
    """Columns u_t, u_a x u_t, u_a of eq. (31)."""
    sine = np.sin(tilt)
    u_a = np.array([np.cos(tilt), -sine * np.sin(psi), -sine * np.cos(psi)])
    u_t = _tangent(psi)
    return np.column_stack((u_t, np.cross(u_a, u_t), u_a))


def _joints(zero: ZeroReference, psi: Array, tilt: float, frame: str) -> Array:
    """Joint positions on the circle, shape (N, 6), rad, each within one turn."""
    angle = np.asarray(psi)
    ring = [np.full(len(angle), 34.0), 6.0 * np.sin(angle), 6.0 * np.cos(angle)]
    h = INCH * np.column_stack(ring)  # eq. (30)
    return puma_type_joints(zero, h, np.array([_hand_rotation(x, tilt) for x in angle]), frame)


def puma_type_joints(zero: ZeroReference, h: Array, rotation: Array, frame: str = HAND) -> Array:
    """Solve the inverse kinematics of the PUMA-type arm on the branch of the paper's arm.

    The branch of the zero position: wrist before the shoulder, elbow up, and q5 not positive.

    Args:
        zero: The arm of the paper's table 1, of any lengths.
        h: Position of the reference point of the hand in the base, shape (N, 3), m.
        rotation: Orientation of the hand's frame in the base, shape (N, 3, 3).
        frame: Name of the hand's frame.

    Returns:
        Joint positions, shape (N, 6), rad.

    Raises:
        RobotError: If the arm is not of that type, or cannot reach a position.
    """
    _check_puma_type(zero)
    found = _inverse_kinematics(zero.robot, frame)(rotation, h)
    missed = np.flatnonzero(~found.valid.any(axis=1))
    if missed.size:
        raise RobotError(
            f"robot '{zero.robot.name}' cannot reach {h[missed[0]].tolist()} with its hand; choose "
            "a point nearer to its shoulder"
        )
    hand = hand_of(zero, frame)
    w = h - rotation @ hand.rotation.T @ (hand.b + zero.b[4] + zero.b[5])  # centre of the wrist
    q1, q3, q5 = (found.q[:, :, k] for k in (0, 2, 4))
    before = w[:, :1] * np.cos(q1) + w[:, 1:2] * np.sin(q1) > -ROUND_OFF
    wanted = found.valid & before & (np.cos(q3) > -ROUND_OFF) & (np.sin(q5) < ROUND_OFF)
    return found.q[np.arange(len(h)), np.argmax(wanted, axis=1)]


@functools.lru_cache(maxsize=4)
def _inverse_kinematics(robot: Robot, frame: str) -> InverseKinematics:
    return InverseKinematics(robot, frame)


def _check_puma_type(zero: ZeroReference) -> None:
    """Refuse an arm whose axes and joint centres do not lie as in the paper's figure 4."""
    axes = ((0, 0, 1), (0, 1, 0), (0, 1, 0), (0, 0, 1), (0, -1, 0), (0, 0, -1))
    free = ((1, 1, 1), (0, 1, 0), (1, 0, 0), (0, 0, 1), (0, 0, 0), (0, 0, 0))  # entries of b
    fits = zero.u.shape == (6, 3) and bool(
        np.allclose(zero.u, axes, atol=1e-9)
        and np.allclose(np.where(free, 0.0, zero.b), 0.0, atol=1e-9)
        and np.allclose(zero.b[0], 0.0, atol=1e-9)
    )
    if not fits:
        raise RobotError(
            f"robot '{zero.robot.name}' is not the PUMA-type arm whose inverse kinematics this is; "
            "its axes at zero must be z, y, y, z, -y, -z, the last three through one point"
        )


# -- Stanford arm: [Angeles1989], section 7.1 -----------------------------------------------------

STANFORD_TIME_S = 10.0
"""Duration of the motion of the Stanford arm, s."""


def stanford_motion(t: npt.ArrayLike) -> JointMotion:
    """Cycloidal motion of all joints of the Stanford arm.

    Args:
        t: Times, shape (N,), s, from 0 to `STANFORD_TIME_S`.

    Returns:
        theta_1, theta_2, b_3, theta_4, theta_5, theta_6 and their derivatives, shape (N, 6), rad
        and m.
    """
    time = np.atleast_1d(np.asarray(t, dtype=np.float64))[:, None]
    q0 = np.array([0.0, np.pi / 2, 0.0, 0.0, 0.0, 0.0])
    A = np.array([np.pi / 30, -np.pi / 60, 0.01, np.pi / 30, np.pi / 30, np.pi / 30])
    B = 2.0 * np.pi / STANFORD_TIME_S
    return JointMotion(
        q0 + A * (time - np.sin(B * time) / B),
        A * (1.0 - np.cos(B * time)),
        A * B * np.sin(B * time),
    )


# -- industrial arm of Thomas and Tesar: [Angeles1989], section 7.2 -------------------------------

LINE_TIME_S = 1.0
"""Duration of the motion on the line, s."""


def line_law(
    t: npt.ArrayLike, law: str = "normal_spline", knots: tuple[float, float] = SPLINE_KNOTS
) -> tuple[Array, Array, Array]:
    """y, its rate and acceleration on the line from -1 m to 1 m, shape (N,) each.

    Figure 6, which draws the paper's normal spline, is not in the copies at hand: what is said of
    its ends, and no curve, chooses `normal_spline`.

    Args:
        t: Times, shape (N,), s, from 0 to `LINE_TIME_S`.
        law: One of `LINE_LAWS`; the polynomial has no acceleration at the ends either, and no jump
            of the jerk.
        knots: The two knots of the spline as parts of the duration.

    Raises:
        UnknownNameError: If there is no such law.
        ArgumentError: If the knots do not increase within the duration.
    """
    check_known("law", law, "the line of Thomas and Tesar", LINE_LAWS)
    u = np.atleast_1d(np.asarray(t, dtype=np.float64)) / LINE_TIME_S
    s, sd, sdd = normal_spline(u, knots) if law == "normal_spline" else rest_to_rest(u)
    return 2.0 * s - 1.0, 2.0 * sd / LINE_TIME_S, 2.0 * sdd / LINE_TIME_S**2


def line_motion(
    t: npt.ArrayLike, law: str = "normal_spline", knots: tuple[float, float] = SPLINE_KNOTS
) -> JointMotion:
    """Joint motion of the arm of Thomas and Tesar whose tip moves along a line without turning.

    The tip is at x = 1.33 m, z = 1.80 m and moves in y. In closed form: the wrist moves on a
    parallel line, the three parallel axes keep the forearm level, and both outer joints undo
    the turn of the first.

    Args:
        t: Times, shape (N,), s, from 0 to `LINE_TIME_S`.
        law: One of `LINE_LAWS`.
        knots: As of `line_law`.

    Returns:
        theta_1 to theta_6 and their derivatives, shape (N, 6), rad.
    """
    y, yd, ydd = line_law(t, law, knots)
    x, h, arm = 1.33 - 0.41, 1.80 - 1.5, 1.02  # of the wrist from the shoulder; both arm lengths
    rho = np.hypot(x, y)  # horizontal distance of the wrist
    rho_d = y * yd / rho
    rho_dd = (yd**2 + y * ydd - rho_d**2) / rho

    theta_1 = np.arctan2(y, x)
    theta_1d = x * yd / rho**2
    theta_1dd = x * ydd / rho**2 - 2.0 * theta_1d * rho_d / rho

    # Triangle shoulder, elbow, wrist: two sides `arm`, third side r, at elevation gamma
    r, r_d, r_dd = rho - 0.2, rho_d, rho_dd
    c = np.hypot(r, h)
    c_d = r * r_d / c
    c_dd = (r_d**2 + r * r_dd - c_d**2) / c
    gamma = np.arctan2(h, r)
    gamma_d = -h * r_d / c**2
    gamma_dd = -h * r_dd / c**2 - 2.0 * gamma_d * c_d / c
    height = np.sqrt(4.0 * arm**2 - c**2)  # twice the height of the triangle over its third side
    beta = np.arccos(c / (2.0 * arm))
    beta_d = -c_d / height
    beta_dd = -c_dd / height - c * c_d**2 / height**3

    none = np.zeros_like(y)
    right = np.pi / 2
    return JointMotion(
        np.stack(
            (theta_1, gamma + beta, -2.0 * beta, beta - gamma, right + theta_1, right + none), 1
        ),
        np.stack((theta_1d, gamma_d + beta_d, -2.0 * beta_d, beta_d - gamma_d, theta_1d, none), 1),
        np.stack(
            (theta_1dd, gamma_dd + beta_dd, -2.0 * beta_dd, beta_dd - gamma_dd, theta_1dd, none), 1
        ),
    )
