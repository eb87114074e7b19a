"""Items of [AsadaSlotine1986], chapters 2 to 5.

The book prints formulas in symbols and hardly a number: printed is what a formula gives for the
numbers chosen here, ours what the function of this package gives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.formulations import inverse_dynamics, lagrange, newton_euler
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.kinematics import (
    InverseKinematics,
    frame_jacobian,
    frame_pose,
    mobility,
    resolved_rates,
    weighted_inverse,
)
from robot_dynamics.papers.book_arms import planar_two_link, polar_arm
from robot_dynamics.papers.counts.closed_forms import closed_form_count
from robot_dynamics.papers.counts.newton_euler_count import compare_newton_euler
from robot_dynamics.papers.euler_angles import ROLL_PITCH_YAW, euler_angles
from robot_dynamics.papers.generalized_coordinates import (
    absolute_angles,
    endpoint_coordinates,
    remote_drives,
)
from robot_dynamics.papers.infinitesimal_rotations import (
    consecutive_rotations,
    infinitesimal_angles,
    infinitesimal_rotation,
)
from robot_dynamics.papers.items.item import (
    EXACT,
    Item,
    Row,
    count_row,
    matrix,
    row,
    seconds_of,
    slower_machine,
)
from robot_dynamics.papers.paper_arms import five_revolute_one_prismatic_arm, stanford_arm
from robot_dynamics.papers.singular_track import singular_track, unit_arm_angles, unit_arm_rates
from robot_dynamics.papers.transformed_equations import transformed_equations
from robot_dynamics.robot.denavit_hartenberg import TOOL, denavit_hartenberg
from robot_dynamics.robot.robot import Robot
from robot_dynamics.spatial import Pose, rotation_about
from robot_dynamics.statics import (
    coupling_forces,
    endpoint_compliance,
    joint_efforts,
    moved_wrench,
    principal_compliances,
)

X_AXIS, Y_AXIS, Z_AXIS = np.eye(3)

ARM = {"l1": 1.0, "lc1": 0.5, "lc2": 0.4, "m1": 10.0, "m2": 8.0, "I1": 0.9, "I2": 0.7, "g": 9.81}
"""Numbers of the planar arm of figure 5-2."""

Q, QD, QDD = np.array([[0.3, 0.9], [0.7, -1.1], [1.5, -0.4]])

SIX = np.array([0.4, 0.8, 0.7, -0.5, 0.6, 1.1])
"""Joint positions of the 5-R-1-P arm."""

LENGTHS = (0.6, 0.2, 0.15)
"""l_0, l_1 and l_2 of the 5-R-1-P arm, m."""

SMALL = 1e-4
"""An angle that counts as infinitesimal, rad: what is neglected is its square."""


def _planar(tip: float | None = None, **others: float) -> Robot:
    return planar_two_link(**{**ARM, **others}, tip=tip)


# -- chapter 2: geometry --------------------------------------------------------------------------


def _turned_frame() -> Iterator[Row]:
    angle, (u, v, w) = 0.7, (0.3, -0.2, 0.5)
    X = Pose(rotation_about(Z_AXIS, np.array(angle)), np.zeros(3))
    x, (c, s) = X.rotation @ [u, v, w], (np.cos(angle), np.sin(angle))
    yield row("x, y, z of (2-15)", (u * c - v * s, u * s + v * c, w), x)
    yield row("u, v, w back, (2-12)", (u, v, w), X.inverse().rotation @ x)


def _turned_point() -> Iterator[Row]:
    point, angle = np.array([0.3, -0.2, 0.0]), 0.7
    turned = rotation_about(Z_AXIS, np.array(angle)) @ point
    yield row("length (m)", np.linalg.norm(point), np.linalg.norm(turned))
    by = np.arctan2(turned[1], turned[0]) - np.arctan2(point[1], point[0])
    yield row("angle (rad)", angle, by)


def _euler(phi: float, theta: float, psi: float) -> Array:
    """(2-16): R = Rz(phi) Rx(theta) Rz(psi)."""
    turns = [rotation_about(axis, np.array(angle))
             for axis, angle in ((Z_AXIS, phi), (X_AXIS, theta), (Z_AXIS, psi))]  # fmt: skip
    return turns[0] @ turns[1] @ turns[2]


def _euler_angles() -> Iterator[Row]:
    phi, theta, psi = angles = (0.4, 1.1, -0.7)
    found = euler_angles(_euler(*angles))
    yield row("phi, theta, psi (rad)", angles, found.first)
    yield row("the second solution (rad)", (phi + np.pi, -theta, psi + np.pi), found.second)
    turns = [rotation_about(axis, np.array(angle))
             for axis, angle in zip((Z_AXIS, Y_AXIS, X_AXIS), angles, strict=True)]  # fmt: skip
    turned = euler_angles(turns[0] @ turns[1] @ turns[2], ROLL_PITCH_YAW)
    yield row("roll, pitch, yaw of section 2.1.3 (rad)", angles, turned.first)


def _homogeneous() -> Iterator[Row]:
    R, p = _euler(0.4, 1.1, -0.7), np.array([0.3, -0.5, 0.2])
    inverse = Pose(R, p).inverse()
    yield from matrix("(2-30), rotation", R.T, inverse.rotation)
    yield row("(2-30), translation (m)", -R.T @ p, inverse.translation)


def _open_chain() -> Iterator[Row]:
    """(2-39) along the chain of example 2-4, link by link."""
    arm = five_revolute_one_prismatic_arm(*LENGTHS)
    table, T = denavit_hartenberg(arm, TOOL), np.eye(4)
    for i, A in enumerate(_matrices(SIX), start=1):
        T = T @ A
        yield row(f"origin of frame {i} (m)", T[:3, 3], _chain(table.transform, i).translation)


def _chain(transform: Callable[[int, float], Pose], i: int) -> Pose:
    X = Pose.identity()
    for k in range(1, i + 1):
        X = X @ transform(k, SIX[k - 1])
    return X


def _matrices(q: Array) -> list[Array]:
    """A_1 to A_6 of (2-38)."""
    (l_0, l_1, l_2), c, s = LENGTHS, np.cos(q), np.sin(q)
    return [
        np.array(A, dtype=np.float64)
        for A in (
            [[c[0], 0, -s[0], 0], [s[0], 0, c[0], 0], [0, -1, 0, l_0], [0, 0, 0, 1]],
            [[c[1], 0, s[1], 0], [s[1], 0, -c[1], 0], [0, 1, 0, l_1], [0, 0, 0, 1]],
            [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, q[2]], [0, 0, 0, 1]],
            [[c[3], 0, -s[3], 0], [s[3], 0, c[3], 0], [0, -1, 0, 0], [0, 0, 0, 1]],
            [[c[4], 0, s[4], 0], [s[4], 0, -c[4], 0], [0, 1, 0, 0], [0, 0, 0, 1]],
            [[c[5], -s[5], 0, 0], [s[5], c[5], 0, 0], [0, 0, 1, l_2], [0, 0, 0, 1]],
        )
    ]


def _table_2_1() -> Iterator[Row]:
    l_0, l_1, l_2 = LENGTHS
    found = denavit_hartenberg(five_revolute_one_prismatic_arm(*LENGTHS), TOOL)
    printed = ((-90, 0, l_0), (90, 0, l_1), (0, 0, 0), (-90, 0, 0), (90, 0, 0), (0, 0, l_2))
    for k, numbers in enumerate(printed):
        ours = found.rows[k]
        name = f"alpha (deg), a, d (m), link {k + 1}"
        yield row(name, numbers, (np.degrees(ours.alpha), ours.a, ours.d), EXACT)
    A, pose = _matrices(SIX), frame_pose(five_revolute_one_prismatic_arm(*LENGTHS), SIX, TOOL)
    T = np.linalg.multi_dot(A)
    yield row("(2-39), tip (m)", T[:3, 3], pose.translation)
    yield from matrix("(2-39), orientation", T[:3, :3], pose.rotation)


def _solutions() -> Iterator[Row]:
    """(2-45) to (2-63): two solutions at the shoulder, two at the wrist, d_3 > 0."""
    l_0, l_1, l_2 = LENGTHS
    arm = five_revolute_one_prismatic_arm(*LENGTHS)
    T = np.linalg.multi_dot(_matrices(SIX))
    R, p = T[:3, :3], T[:3, 3]
    w = p - l_2 * R[:, 2]  # (2-45)
    found = InverseKinematics(arm, TOOL)(R, p)
    ours = found.q[found.q[:, 2] > 0.0]
    for shoulder, sign in (("left", 1.0), ("right", -1.0)):
        root = sign * np.sqrt(w[0] ** 2 + w[1] ** 2 - l_1**2)
        t_1 = 2.0 * np.arctan2(-w[0] + root, l_1 + w[1])  # (2-52)
        along = w[0] * np.cos(t_1) + w[1] * np.sin(t_1)
        t_2, d_3 = np.arctan2(along, w[2] - l_0), np.hypot(along, w[2] - l_0)  # (2-53), (2-54)
        A = _matrices(np.array([t_1, t_2, d_3, 0.0, 0.0, 0.0]))
        inner = np.linalg.multi_dot(A[:3])[:3, :3]
        n, t, b = (inner.T @ R).T  # (2-56)
        for half_turn in (0.0, np.pi):  # (2-63)
            t_4 = np.arctan2(b[1], b[0]) + half_turn  # (2-60)
            c, s = np.cos(t_4), np.sin(t_4)
            t_5 = np.arctan2(b[0] * c + b[1] * s, b[2])  # (2-61)
            t_6 = np.arctan2(-n[0] * s + n[1] * c, -t[0] * s + t[1] * c)  # (2-62)
            book = np.array([t_1, t_2, d_3, t_4, t_5, t_6])
            turns = np.array([1.0, 1.0, 0.0, 1.0, 1.0, 1.0])
            near = [q - 2.0 * np.pi * turns * np.round((q - book) / (2.0 * np.pi)) for q in ours]
            best = min(near, key=lambda q: float(np.abs(q - book).max()))
            yield row(f"{shoulder} shoulder, theta_4 {'+ pi' if half_turn else ''} (rad, m)",
                      book, best)  # fmt: skip
    yield row("solutions with d_3 > 0", 4, len(ours), 0.0)


def _pieper() -> Iterator[Row]:
    """Three axes that meet: the solutions of such an arm put the tip where it was."""
    arm = stanford_arm()
    q = np.array([0.3, 1.1, 0.1, 0.4, -0.7, 0.2])
    pose = frame_pose(arm, q, TOOL)
    ik = InverseKinematics(arm, TOOL)
    found = ik(pose.rotation, pose.translation)
    yield row("solutions of the Stanford arm, in closed form", 8, int(np.sum(found.valid)), 0.0)
    for k in np.flatnonzero(found.valid):
        place = frame_pose(arm, found.q[k], TOOL).translation
        yield row(f"tip of solution {k + 1} (m)", pose.translation, place)


# -- chapter 3: differential motion ---------------------------------------------------------------


def _planar_jacobian() -> Iterator[Row]:
    l_2, (t_1, t_12) = 0.8, (Q[0], Q.sum())
    s_1, c_1, s_12, c_12 = np.sin(t_1), np.cos(t_1), np.sin(t_12), np.cos(t_12)
    l_1 = ARM["l1"]
    printed = [[-l_1 * s_1 - l_2 * s_12, -l_2 * s_12], [l_1 * c_1 + l_2 * c_12, l_2 * c_12]]
    yield from matrix("J (m)", printed, frame_jacobian(_planar(l_2), Q, "tip")[:2])


def _infinitesimal() -> Iterator[Row]:
    a, b = SMALL * np.array([0.3, -0.5, 0.8]), SMALL * np.array([-0.7, 0.2, 0.4])
    finite = rotation_about(X_AXIS, np.array(SMALL))
    yield row("(3-9), about x, and the finite rotation", finite,
              infinitesimal_rotation(SMALL * X_AXIS), SMALL**2)  # fmt: skip
    A, B = infinitesimal_rotation(a), infinitesimal_rotation(b)
    yield row("(3-11), both orders", B @ A, A @ B, SMALL**2)
    x, y, z = a
    printed = [[1.0, -z, y], [z, 1.0, -x], [-y, x, 1.0]]
    yield from matrix("(3-12)", printed, A, EXACT)
    together = infinitesimal_rotation(consecutive_rotations(a, b))
    yield row("(3-13), one after the other", A @ B, together, SMALL**2)
    yield row("(3-14), the vector of the product (rad)", a + b, infinitesimal_angles(A @ B),
              SMALL**2)  # fmt: skip


def _polar_jacobian() -> Iterator[Row]:
    q = SIX[:3]
    (c_1, c_2), (s_1, s_2), d_3 = np.cos(q[:2]), np.sin(q[:2]), q[2]
    printed = [
        [-d_3 * s_1 * s_2, d_3 * c_1 * c_2, c_1 * s_2],
        [d_3 * c_1 * s_2, d_3 * s_1 * c_2, s_1 * s_2],
        [0.0, -d_3 * s_2, c_2],
        [0.0, -s_1, 0.0],
        [0.0, c_1, 0.0],
        [1.0, 0.0, 0.0],
    ]
    yield from matrix("(3-32)", printed, frame_jacobian(polar_arm(), q, TOOL))


def _rates() -> Iterator[Row]:
    J, v = frame_jacobian(_planar(1.0), Q, "tip")[:2], np.array([0.3, -0.8])
    yield row("(3-35), (3-36) joint velocities (rad/s)", unit_arm_rates(Q, v), resolved_rates(J, v))
    yield row("(3-37) determinant of J", np.sin(Q[1]), np.linalg.det(J))
    for stretched in (0.0, np.pi):
        spaces = mobility(frame_jacobian(_planar(1.0), [0.3, stretched], "tip")[:2])
        across = np.array([-np.sin(0.3), np.cos(0.3)])
        yield row(f"directions left with theta_2 = {stretched:.3g}", 1, spaces.rank, 0.0)
        yield row("(3-38) the one across the arm", 1.0, abs(spaces.moved[:, 0] @ across))


def _track() -> Iterator[Row]:
    track = singular_track(points=2001)
    near = np.linalg.norm(track.position, axis=1) < 0.15
    ends = (track.times < 0.02 * track.times[-1]) | (track.times > 0.98 * track.times[-1])
    calm = ~ends & ~near & (np.abs(track.position).max(axis=1) < 1.5)
    fast, usual = np.abs(track.rates), np.abs(track.rates[calm]).max()
    for place, chosen in (("A and D", ends), ("the path from B to C", near)):
        excessive = float(fast[chosen].max() > 5.0 * usual)
        yield row(f"rates near {place} are excessive: five times the usual", 1.0, excessive, 0.0)
    for k in (100, 900, 1900):
        J = frame_jacobian(_planar(1.0), track.angles[k], "tip")[:2]
        at = f"{track.times[k]:.3g} s"
        yield row(f"speed of the endpoint at {at} (m/s)", 1.0, np.linalg.norm(J @ track.rates[k]))
    yield row("angles of B (rad)", unit_arm_angles([[0.1, 0.0]])[0], _elbow(0.1))


def _elbow(distance: float) -> Array:
    """Both angles of the unit arm whose endpoint is on the x axis, the elbow below it."""
    half = np.arccos(distance / 2.0)
    return np.array([-half, 2.0 * half])


def _redundant() -> Iterator[Row]:
    J = np.array([[0.3, -0.5, 0.8], [0.1, 0.4, -0.2]])
    spaces = mobility(J)
    yield row("(3-41) dim R(J) + dim N(J)", 3, spaces.rank + spaces.idle.shape[1], 0.0)
    yield row("(3-42) J times the null space", np.zeros(2), J @ spaces.idle)
    W = np.array([[2.0, 0.3, 0.0], [0.3, 1.0, 0.1], [0.0, 0.1, 0.5]])
    V = np.linalg.inv(W)
    yield from matrix("(3-49)", V @ J.T @ np.linalg.inv(J @ V @ J.T), weighted_inverse(J, W))
    yield from matrix("(3-50)", J.T @ np.linalg.inv(J @ J.T), weighted_inverse(J))
    both = np.hstack([spaces.efforts, spaces.idle])
    yield row("section 4.1.3: R(J^T) and N(J) are complements", np.eye(3), both.T @ both)


# -- chapter 4: statics ---------------------------------------------------------------------------


def _balance() -> Iterator[Row]:
    arm, still = _planar(0.8), np.zeros(2)
    found = coupling_forces(arm, Q)
    yield row("(4-5) joint efforts in balance (N m)", inverse_dynamics(arm, Q, still, still),
              found.efforts)  # fmt: skip
    weight = ARM["g"] * (ARM["m1"] + ARM["m2"])
    yield row("(4-1) force on the base: all weights (N)", weight, np.linalg.norm(found.force[0]))
    J, F, dq = frame_jacobian(arm, Q, "tip")[:2], np.array([2.0, -3.0]), np.array([0.1, -0.2])
    yield row("(4-9) virtual work of force and efforts (J)", F @ (J @ dq), joint_efforts(J, F) @ dq)


def _equivalent_torques() -> Iterator[Row]:
    J, l_1, l_2 = frame_jacobian(_planar(0.8), Q, "tip")[:2], ARM["l1"], 0.8
    s_1, c_1, s_12, c_12 = np.sin(Q[0]), np.cos(Q[0]), np.sin(Q.sum()), np.cos(Q.sum())
    F_x, F_y = F = np.array([2.0, -3.0])
    first = (-l_1 * s_1 - l_2 * s_12) * F_x + (l_1 * c_1 + l_2 * c_12) * F_y
    second = -l_2 * s_12 * F_x + l_2 * c_12 * F_y
    yield row("(4-12) tau (N m)", (first, second), joint_efforts(J, F))


def _screw() -> Iterator[Row]:
    x, y, z = r = np.array([0.1, -0.2, 0.3])
    T = np.eye(6)
    T[3:, :3] = [[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]
    P = np.array([1.0, 2.0, 3.0, 0.4, 0.5, 0.6])
    yield row("(4-17) force and moment at the screw", T @ P, moved_wrench(Pose(np.eye(3), r), P))


def _compliance() -> Iterator[Row]:
    l_1, l_2, k_1, k_2 = ARM["l1"], 0.8, 1000.0, 400.0
    s_1, c_1, s_12, c_12 = np.sin(Q[0]), np.cos(Q[0]), np.sin(Q.sum()), np.cos(Q.sum())
    x, y = l_1 * c_1 + l_2 * c_12, l_1 * s_1 + l_2 * s_12
    mixed = -x * y / k_1 - l_2**2 * c_12 * s_12 / k_2
    printed = [[y**2 / k_1 + l_2**2 * s_12**2 / k_2, mixed],
               [mixed, x**2 / k_1 + l_2**2 * c_12**2 / k_2]]  # fmt: skip
    C = endpoint_compliance(frame_jacobian(_planar(l_2), Q, "tip")[:2], (k_1, k_2))
    yield from matrix("(4-26) C (m/N)", printed, C)


def _principal() -> Iterator[Row]:
    C = np.array([[3.0, 1.0], [1.0, 2.0]])
    (a_1, a_3), (_, a_2) = C @ C
    root = np.sqrt((a_1 - a_2) ** 2 + 4.0 * a_3**2)
    printed = np.sqrt([(a_1 + a_2 + root) / 2.0, (a_1 + a_2 - root) / 2.0])
    found, E = principal_compliances(C)
    yield row("(4-32) largest and smallest deflection (m)", printed, found)
    yield from matrix("(4-34) E^T C E", np.diag(printed), E.T @ C @ E)


# -- chapter 5: dynamics --------------------------------------------------------------------------


def _printed_inertia(q: Array) -> tuple[float, float, float]:
    """H_11, H_12 and H_22 of (5-12)."""
    a, c_2 = ARM, float(np.cos(q[1]))
    H_22 = a["m2"] * a["lc2"] ** 2 + a["I2"]
    H_12 = a["m2"] * a["l1"] * a["lc2"] * c_2 + H_22
    H_11 = a["m1"] * a["lc1"] ** 2 + a["I1"] + a["I2"]
    H_11 += a["m2"] * (a["l1"] ** 2 + a["lc2"] ** 2 + 2.0 * a["l1"] * a["lc2"] * c_2)
    return H_11, H_12, H_22


def printed_torques(q: Array, qd: Array, qdd: Array) -> Array:
    """Evaluate (5-11) and (5-12) for the numbers of `ARM`, N m."""
    a, (H_11, H_12, H_22) = ARM, _printed_inertia(q)
    h, c_1, c_12 = a["m2"] * a["l1"] * a["lc2"] * np.sin(q[1]), np.cos(q[0]), np.cos(q.sum())
    G_2 = a["m2"] * a["lc2"] * a["g"] * c_12
    G_1 = (a["m1"] * a["lc1"] + a["m2"] * a["l1"]) * a["g"] * c_1 + G_2
    first = H_11 * qdd[0] + H_12 * qdd[1] - h * qd[1] ** 2 - 2.0 * h * qd[0] * qd[1] + G_1
    return np.array([first, H_22 * qdd[1] + H_12 * qdd[0] + h * qd[0] ** 2 + G_2])


def _newton_euler() -> Iterator[Row]:
    ours = newton_euler.inverse_dynamics(_planar(), Q, QD, QDD, {})
    yield row("(5-11) tau (N m)", printed_torques(Q, QD, QDD), ours)


def _growing_inertia() -> Iterator[Row]:
    a = ARM
    for t_2 in (0.0, 0.9, np.pi):
        L_squared = a["l1"] ** 2 + a["lc2"] ** 2 + 2.0 * a["l1"] * a["lc2"] * np.cos(t_2)
        printed = a["m1"] * a["lc1"] ** 2 + a["I1"] + a["m2"] * L_squared + a["I2"]
        H = lagrange.mass_matrix(_planar(), [0.3, t_2])
        yield row(f"(5-14) H_11 with theta_2 = {t_2:.3g} (kg m^2)", printed, H[0, 0])
    tau = inverse_dynamics(_planar(g=0.0), Q, np.zeros(2), np.array([0.0, 1.3]))
    interaction = a["I2"] + a["m2"] * (a["lc2"] ** 2 + a["l1"] * a["lc2"] * np.cos(Q[1]))
    yield row("(5-15) interaction torque, held by joint 1 (N m)", interaction * 1.3, tau[0])


def _velocity_torques() -> Iterator[Row]:
    a, arm = ARM, _planar(g=0.0)
    h = a["m2"] * a["l1"] * a["lc2"] * np.sin(Q[1])
    C = lagrange.coriolis_matrix(arm, Q, QD)
    printed = (-h * QD[1] ** 2 - 2.0 * h * QD[0] * QD[1], h * QD[0] ** 2)
    yield row("(5-16) to (5-19) centrifugal and Coriolis (N m)", printed, C @ QD)
    moving = (inverse_dynamics(arm, Q, qd, np.zeros(2)) for qd in ((0.7, 0.0), (0.0, -1.1)))
    one, two = (np.asarray(tau) for tau in moving)
    yield row("figure 5-4, joint 1 alone turns (N m)", (0.0, h * 0.7**2), one)
    yield row("joint 2 alone turns (N m)", (-h * 1.1**2, 0.0), two)


def _lagrange() -> Iterator[Row]:
    ours = lagrange.inverse_dynamics(_planar(), Q, QD, QDD, {})
    yield row("(5-11) tau (N m)", printed_torques(Q, QD, QDD), ours)
    H_11, H_12, H_22 = _printed_inertia(Q)
    yield from matrix("(5-12) H (kg m^2)", [[H_11, H_12], [H_12, H_22]],
                      lagrange.mass_matrix(_planar(), Q))  # fmt: skip


def _remote() -> Iterator[Row]:
    arm = _planar()
    found = transformed_equations(arm, remote_drives(arm, {"joint2": "base"}), Q)
    ours = found.joint_efforts(np.array([2.0, 3.0]))
    yield row("(5-48) Q of the motor torques 2 and 3 (N m)", (5.0, 3.0), ours)


def _absolute() -> Iterator[Row]:
    arm = _planar()
    found = transformed_equations(arm, absolute_angles(arm), Q)
    H_11, H_12, H_22 = _printed_inertia(Q)
    printed = [[H_11 + H_22 - 2.0 * H_12, H_12 - H_22], [H_12 - H_22, H_22]]
    yield from matrix("(5-62) H* (kg m^2)", printed, found.H)
    yield from matrix("(5-61) inverse of J", [[1.0, 0.0], [-1.0, 1.0]], found.J_inverse)
    tau = printed_torques(Q, QD, QDD)
    yield row("(5-63) Q* (N m)", (tau[0] - tau[1], tau[1]), found.generalized_force(tau))


def _endpoint() -> Iterator[Row]:
    arm = _planar(1.0)
    found = transformed_equations(arm, endpoint_coordinates(arm, "tip", ["x", "y"]), Q)
    c_12, s_12 = np.cos(Q.sum()), np.sin(Q.sum())
    inverse = np.array([[c_12, s_12], [-np.cos(Q[0]) - c_12, -np.sin(Q[0]) - s_12]]) / np.sin(Q[1])
    yield from matrix("inverse of J by (3-35), (3-36)", inverse, found.J_inverse)
    H_11, H_12, H_22 = _printed_inertia(Q)
    H = np.array([[H_11, H_12], [H_12, H_22]])
    yield from matrix("(5-51) H* (kg)", inverse.T @ H @ inverse, found.H)


def _moving_base() -> Iterator[Row]:
    """(5-94) and figure 5-15: the base accelerates upwards by g, and gravity is gone."""
    falling = inverse_dynamics(_planar(g=0.0), Q, QD, QDD)
    ours = newton_euler.inverse_dynamics(_planar(), Q, QD, QDD, {})
    yield row("torques with the weight less those without: G of (5-12) (N m)",
              printed_torques(Q, np.zeros(2), np.zeros(2)), ours - falling)  # fmt: skip
    arm = stanford_arm()
    q, qd, qdd = np.full((3, 6), 0.3)
    by_lagrange = lagrange.inverse_dynamics(arm, q, qd, qdd, {})
    yield row("Luh-Walker-Paul and Lagrange on the Stanford arm (N m, N)", by_lagrange,
              newton_euler.inverse_dynamics(arm, q, qd, qdd, {}), 1e-10)  # fmt: skip


def _counts() -> Iterator[Row]:
    ours = closed_form_count(6, "lagrange_euler").multiplications
    reason = "-58082: not explained: the book cites it and does not say how it was counted"
    cited = row("Lagrange-Euler, six joints, 5.3.1 (mult)", 66271, ours, 0.0, reasons=(reason,))
    yield cited._replace(unexplained=np.array([-58082.0]))
    comparison = compare_newton_euler()
    yield count_row("Luh-Walker-Paul, six joints, 5.3.4", comparison, (-144, -186))


def _time() -> Iterator[Row]:
    arm = Dynamics(stanford_arm(), "newton_euler")
    q, qd, qdd = np.full((3, 6), 0.3)
    seconds = seconds_of(lambda: arm.inverse(q, qd, qdd))
    yield slower_machine("six joint torques (s)", 0.0045, seconds)


CHOSEN = "The book has symbols: the numbers are chosen."
EXPLAINS = "The figure explains symbols; the numbers are chosen."

ITEMS = (
    Item("example-2-1", "turned frame, figures 2-1, 2-3, 2-4", "(2-9), (2-12), (2-15)",
         "spatial.Pose", _turned_frame, CHOSEN),
    Item("example-2-2", "turned point, figures 2-2, 2-5", "(2-9)", "spatial.rotation_about",
         _turned_point, CHOSEN),
    Item("figure-2-6", "Euler angles", "(2-16) to (2-20)", "papers.euler_angles.euler_angles",
         _euler_angles, CHOSEN),
    Item("example-2-3", "inverse of a homogeneous transformation, figure 2-7", "(2-22), (2-30)",
         "spatial.Pose", _homogeneous, CHOSEN),
    Item("figure-2-8", "open kinematic chain, figures 2-8 to 2-13", "(2-35), (2-36)",
         "robot.denavit_hartenberg.Table", _open_chain, EXPLAINS),
    Item("table-2-1", "the 5-R-1-P arm, example 2-4, figure 2-14", "(2-38), (2-39)",
         "papers.paper_arms.five_revolute_one_prismatic_arm", _table_2_1, CHOSEN),
    Item("section-2-3-2", "its inverse kinematics, figures 2-15 to 2-17", "(2-40) to (2-63)",
         "kinematics.InverseKinematics", _solutions, CHOSEN),
    Item("section-2-3-3", "Pieper's condition", "section 2.3.3", "kinematics.InverseKinematics",
         _pieper, "Shown on the Stanford arm, whose last three axes meet."),
    Item("figure-3-1", "the planar arm and its Jacobian, figure 3-6", "(3-1) to (3-6), (3-34)",
         "kinematics.frame_jacobian", _planar_jacobian, CHOSEN),
    Item("infinitesimal", "infinitesimal rotations, figures 3-2, 3-3", "(3-9) to (3-14)",
         "papers.infinitesimal_rotations.infinitesimal_rotation", _infinitesimal,
         "What is neglected is the square of the angles, 1e-8. (3-13) is printed with the signs of "
         "the transposed matrix; (3-12) is right."),
    Item("example-3-1", "Jacobian of the polar arm, figures 3-4, 3-5", "(3-32)",
         "kinematics.frame_jacobian", _polar_jacobian, CHOSEN),
    Item("example-3-2", "joint velocities, singular configurations", "(3-33) to (3-38)",
         "kinematics.resolved_rates", _rates, "Links of 1 m, as in the book."),
    Item("figure-3-8", "tracking near singular points, figure 3-7", "example 3-2",
         "papers.singular_track.singular_track", _track,
         "The track is lost, and chosen as the text tells of it.", "book_3_8_rates"),
    Item("figure-3-9", "range and null spaces, figure 4-6; weighted optimum", "(3-39) to (3-50)",
         "kinematics.weighted_inverse", _redundant, CHOSEN),
    Item("figure-4-1", "forces between links, virtual work, figures 4-1 to 4-4", "(4-1) to (4-10)",
         "statics.coupling_forces", _balance, EXPLAINS),
    Item("example-4-1", "equivalent joint torques, figure 4-5", "(4-12)", "statics.joint_efforts",
         _equivalent_torques, CHOSEN),
    Item("example-4-2", "wrist sensor and screw, figure 4-7", "(4-13) to (4-17)",
         "statics.moved_wrench", _screw, CHOSEN),
    Item("figure-4-8", "endpoint compliance", "(4-18) to (4-26)", "statics.endpoint_compliance",
         _compliance, "(4-26) is scrambled in print, and rebuilt from (4-24)."),
    Item("figure-4-9", "principal compliances", "(4-27) to (4-34)",
         "statics.principal_compliances", _principal,
         "The ellipse is lost: drawn along the track of figure 3-7.", "book_ellipsoids"),
    Item("example-5-1", "Newton-Euler equations of the planar arm, figures 5-1, 5-2",
         "(5-1) to (5-12)", "formulations.newton_euler.inverse_dynamics", _newton_euler, CHOSEN),
    Item("figure-5-3", "inertia that depends on the configuration", "(5-14), (5-15)",
         "formulations.lagrange.mass_matrix", _growing_inertia, CHOSEN),
    Item("figure-5-4", "centrifugal and Coriolis torque, figure 5-5", "(5-16) to (5-19)",
         "formulations.lagrange.coriolis_matrix", _velocity_torques, CHOSEN),
    Item("example-5-2", "Lagrange's equations of the planar arm, figure 5-6", "(5-20) to (5-45)",
         "formulations.lagrange.inverse_dynamics", _lagrange, CHOSEN),
    Item("example-5-3", "remote drive, figure 5-7", "(5-46) to (5-48)",
         "papers.generalized_coordinates.remote_drives", _remote, CHOSEN),
    Item("example-5-4", "absolute angles, figure 5-8", "(5-59) to (5-64)",
         "papers.generalized_coordinates.absolute_angles", _absolute, CHOSEN),
    Item("example-5-5", "endpoint coordinates, figure 5-9", "(5-49) to (5-56)",
         "papers.transformed_equations.transformed_equations", _endpoint,
         "(5-65) is not the inverse of (3-34); printed is the one of (3-35) and (3-36)."),
    Item("figure-5-10", "recursion of Luh, Walker and Paul, figures 5-10 to 5-15",
         "(5-66) to (5-94)", "formulations.newton_euler.inverse_dynamics", _moving_base, CHOSEN),
    Item("counts", "operations of six joints", "sections 5.3.1, 5.3.4",
         "papers.counts.newton_euler_count.compare_newton_euler", _counts,
         "852 multiplications are printed; the 738 additions are those of [Angeles1989]. The steps "
         "are not in the book."),
    Item("time", "six joint torques on a PDP 11/45, assembly language", "section 5.3.4",
         "formulations.newton_euler.inverse_dynamics", _time,
         "Printed: 4.5 ms on average, in floating point. Ours is the compiled kernel, called from "
         "Python, on the Stanford arm."),
)  # fmt: skip
