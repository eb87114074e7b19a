"""The worked examples of Asada and Slotine's chapters 2 to 5, one after the other, by name.

The numbers of the figures are chosen here: the book gives symbolic parameters, but for unit links
in 3-2 and 5-5. The inverse kinematics of section 2.3.2 stands in `test_inverse_kinematics`;
examples 5-1 to 5-5 as polynomials stand in `test_lagrange` and `test_transformed_equations`.
"""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from robot_dynamics.formulations import inverse_dynamics, lagrange, newton_euler
from robot_dynamics.kinematics import (
    frame_jacobian,
    frame_pose,
    mobility,
    resolved_rates,
)
from robot_dynamics.papers.book_arms import planar_two_link, polar_arm
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
from robot_dynamics.papers.paper_arms import five_revolute_one_prismatic_arm
from robot_dynamics.papers.singular_track import singular_track, unit_arm_rates
from robot_dynamics.papers.transformed_equations import transformed_equations
from robot_dynamics.robot.denavit_hartenberg import TOOL
from robot_dynamics.spatial import Pose, rotation_about
from robot_dynamics.statics import joint_efforts, moved_wrench

Z = np.array([0.0, 0.0, 1.0])
ARM = {"l1": 1.0, "lc1": 0.5, "lc2": 0.4, "m1": 10.0, "m2": 8.0, "I1": 0.9, "I2": 0.7, "g": 9.81}
Q, QD, QDD = np.array([[0.3, 0.9], [0.7, -1.1], [1.5, -0.4]])


# -- chapter 2: geometry --------------------------------------------------------------------------


def test_example_2_1_coordinates_in_a_turned_frame():
    angle, (u, v, w) = 0.7, (0.3, -0.2, 0.5)
    X = Pose(rotation_about(Z, np.array(angle)), np.zeros(3))
    x = X.rotation @ [u, v, w] + X.translation  # (2-9)
    c, s = np.cos(angle), np.sin(angle)
    assert x == pytest.approx([u * c - v * s, u * s + v * c, w], abs=1e-15)  # (2-15)
    assert X.inverse().rotation @ x == pytest.approx([u, v, w], abs=1e-15)  # (2-12)


def test_example_2_2_the_same_matrix_turns_a_point():
    Q_point, angle = np.array([0.3, -0.2, 0.0]), 0.7
    P = rotation_about(Z, np.array(angle)) @ Q_point
    assert np.linalg.norm(P) == pytest.approx(np.linalg.norm(Q_point), abs=1e-15)
    turned = np.arctan2(P[1], P[0]) - np.arctan2(Q_point[1], Q_point[0])
    assert turned == pytest.approx(angle, abs=1e-15)


def test_example_2_3_inverse_of_a_homogeneous_transformation():
    R = Rotation.from_euler("ZXZ", [0.4, 1.1, -0.7]).as_matrix()
    X = Pose(R, np.array([0.3, -0.5, 0.2]))
    A = np.block([[R, X.translation[:, None]], [np.array([[0.0, 0.0, 0.0, 1.0]])]])  # (2-22)
    inverse = np.linalg.inv(A)
    assert X.inverse().rotation == pytest.approx(inverse[:3, :3], abs=1e-15)  # (2-30)
    assert X.inverse().translation == pytest.approx(inverse[:3, 3], abs=1e-15)


def test_example_2_4_kinematic_model_of_the_5_r_1_p_arm():
    l_0, l_1, l_2 = 0.6, 0.2, 0.15
    q = np.array([0.4, 0.8, 0.7, -0.5, 0.6, 1.1])
    c, s = np.cos(q), np.sin(q)
    A = [  # (2-38)
        [[c[0], 0, -s[0], 0], [s[0], 0, c[0], 0], [0, -1, 0, l_0], [0, 0, 0, 1]],
        [[c[1], 0, s[1], 0], [s[1], 0, -c[1], 0], [0, 1, 0, l_1], [0, 0, 0, 1]],
        [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, q[2]], [0, 0, 0, 1]],
        [[c[3], 0, -s[3], 0], [s[3], 0, c[3], 0], [0, -1, 0, 0], [0, 0, 0, 1]],
        [[c[4], 0, s[4], 0], [s[4], 0, -c[4], 0], [0, 1, 0, 0], [0, 0, 0, 1]],
        [[c[5], -s[5], 0, 0], [s[5], c[5], 0, 0], [0, 0, 1, l_2], [0, 0, 0, 1]],
    ]
    T = np.linalg.multi_dot([np.array(a, dtype=float) for a in A])  # (2-39)
    pose = frame_pose(five_revolute_one_prismatic_arm(l_0, l_1, l_2), q, TOOL)
    assert pose.rotation == pytest.approx(T[:3, :3], abs=1e-14)
    assert pose.translation == pytest.approx(T[:3, 3], abs=1e-14)


# -- chapter 3: differential motion ---------------------------------------------------------------


def test_infinitesimal_rotations_commute_and_add():
    """(3-9) to (3-14): to the first order, which finite rotations do not."""
    a, b = np.array([0.3, -0.5, 0.8]), np.array([-0.7, 0.2, 0.4])
    for size in (1e-3, 1e-4):
        assert (
            np.abs(
                infinitesimal_rotation(size * a) - Rotation.from_rotvec(size * a).as_matrix()
            ).max()
            < size**2
        )  # (3-12)
        found = infinitesimal_angles(Rotation.from_rotvec(size * a).as_matrix())
        assert found == pytest.approx(size * a, abs=size**3)  # (3-14)
        A, B = (Rotation.from_rotvec(size * v).as_matrix() for v in (a, b))
        assert np.abs(A @ B - B @ A).max() < size**2
        together = infinitesimal_rotation(consecutive_rotations(size * a, size * b))  # (3-13)
        assert np.abs(A @ B - together).max() < size**2
    finite_A, finite_B = (Rotation.from_rotvec(v).as_matrix() for v in (a, b))
    assert np.abs(finite_A @ finite_B - finite_B @ finite_A).max() > 0.1


def test_example_3_1_jacobian_of_the_polar_arm():
    q = np.array([0.4, 0.8, 0.7])
    (c_1, c_2), (s_1, s_2), d_3 = np.cos(q[:2]), np.sin(q[:2]), q[2]
    printed = [  # (3-32)
        [-d_3 * s_1 * s_2, d_3 * c_1 * c_2, c_1 * s_2],
        [d_3 * c_1 * s_2, d_3 * s_1 * c_2, s_1 * s_2],
        [0.0, -d_3 * s_2, c_2],
        [0.0, -s_1, 0.0],
        [0.0, c_1, 0.0],
        [1.0, 0.0, 0.0],
    ]
    assert frame_jacobian(polar_arm(), q, TOOL) == pytest.approx(np.array(printed), abs=1e-15)


def test_example_3_2_joint_velocities_and_singular_configurations():
    J = frame_jacobian(planar_two_link(**{**ARM, "l1": 1.0}, tip=1.0), Q, "tip")[:2]
    v = np.array([0.3, -0.8])
    assert np.linalg.det(J) == pytest.approx(np.sin(Q[1]), abs=1e-15)  # (3-37)
    assert resolved_rates(J, v) == pytest.approx(unit_arm_rates(Q, v), abs=1e-14)  # (3-35), (3-36)
    for stretched in (0.0, np.pi):
        q = [0.3, stretched]
        J = frame_jacobian(planar_two_link(**ARM, tip=1.0), q, "tip")[:2]
        spaces = mobility(J)
        assert spaces.rank == 1
        across = [-np.sin(0.3), np.cos(0.3)]
        assert abs(spaces.moved[:, 0] @ across) == pytest.approx(1.0)  # (3-38)


def test_example_3_2_rates_are_excessive_near_the_singular_points():
    track = singular_track(points=2001)
    fast = np.abs(track.rates).max(axis=1)
    length = track.times[-1]
    ends = (track.times < 0.02 * length) | (track.times > 0.98 * length)
    near_origin = np.linalg.norm(track.position, axis=1) < 0.15
    calm = ~ends & ~near_origin & (np.abs(track.position).max(axis=1) < 1.5)
    assert fast[ends].max() > 5.0 * fast[calm].max()
    assert np.abs(track.rates[near_origin, 0]).max() > 5.0 * fast[calm].max()  # between B and C
    # rates are the derivatives of the angles
    slopes = np.gradient(np.unwrap(track.angles, axis=0), track.times, axis=0)
    inner = calm & np.roll(calm, 1) & np.roll(calm, -1)
    assert slopes[inner] == pytest.approx(track.rates[inner], abs=1e-3)


# -- chapter 4: statics ---------------------------------------------------------------------------


def test_example_4_1_equivalent_joint_torques():
    J = frame_jacobian(planar_two_link(**ARM, tip=0.8), Q, "tip")[:2]
    l_1, l_2, F = 1.0, 0.8, np.array([2.0, -3.0])
    s_1, c_1, s_12, c_12 = np.sin(Q[0]), np.cos(Q[0]), np.sin(Q.sum()), np.cos(Q.sum())
    printed = [  # (4-12)
        (-l_1 * s_1 - l_2 * s_12) * F[0] + (l_1 * c_1 + l_2 * c_12) * F[1],
        -l_2 * s_12 * F[0] + l_2 * c_12 * F[1],
    ]
    assert joint_efforts(J, F) == pytest.approx(printed, abs=1e-14)


def test_example_4_2_from_the_wrist_sensor_to_the_screw():
    x, y, z = r = np.array([0.1, -0.2, 0.3])
    matrix = np.eye(6)
    matrix[3:, :3] = [[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]  # (4-17)
    P = np.array([1.0, 2.0, 3.0, 0.4, 0.5, 0.6])
    assert moved_wrench(Pose(np.eye(3), r), P) == pytest.approx(matrix @ P, abs=1e-15)


# -- chapter 5: dynamics --------------------------------------------------------------------------


def printed_torques(q, qd, qdd):
    """(5-11) and (5-12)."""
    a = ARM
    c_2, s_2, c_1, c_12 = np.cos(q[1]), np.sin(q[1]), np.cos(q[0]), np.cos(q.sum())
    coupling = a["m2"] * a["l1"] * a["lc2"]
    H_22 = a["m2"] * a["lc2"] ** 2 + a["I2"]
    H_12 = coupling * c_2 + H_22
    H_11 = a["m1"] * a["lc1"] ** 2 + a["I1"] + a["m2"] * a["l1"] ** 2 + 2 * coupling * c_2 + H_22
    h, g = coupling * s_2, a["g"]
    G_2 = a["m2"] * a["lc2"] * g * c_12
    G_1 = (a["m1"] * a["lc1"] + a["m2"] * a["l1"]) * g * c_1 + G_2
    return np.array(
        [
            H_11 * qdd[0] + H_12 * qdd[1] - h * qd[1] ** 2 - 2 * h * qd[0] * qd[1] + G_1,
            H_22 * qdd[1] + H_12 * qdd[0] + h * qd[0] ** 2 + G_2,
        ]
    )


def test_example_5_1_newton_euler_equations_of_the_planar_arm():
    tau = newton_euler.inverse_dynamics(planar_two_link(**ARM), Q, QD, QDD, {})
    assert tau == pytest.approx(printed_torques(Q, QD, QDD), rel=1e-13)


def test_5_14_inertia_seen_by_the_first_joint_grows_with_the_distance_of_the_second_link():
    for q_2 in (0.0, 0.9, np.pi):
        L_squared = ARM["l1"] ** 2 + ARM["lc2"] ** 2 + 2 * ARM["l1"] * ARM["lc2"] * np.cos(q_2)
        of_link_1 = ARM["m1"] * ARM["lc1"] ** 2 + ARM["I1"]
        H_11 = lagrange.mass_matrix(planar_two_link(**ARM), [0.3, q_2])[0, 0]
        assert pytest.approx(of_link_1 + ARM["m2"] * L_squared + ARM["I2"], rel=1e-14) == H_11


def test_5_15_interaction_torque_is_the_reaction_of_the_accelerated_second_link():
    arm = planar_two_link(**{**ARM, "g": 0.0})
    tau = inverse_dynamics(arm, Q, [0.0, 0.0], [0.0, 1.3])
    l_c2, interaction = ARM["lc2"], ARM["l1"] * ARM["lc2"] * np.cos(Q[1])
    tau_int = -(ARM["I2"] + ARM["m2"] * (l_c2**2 + interaction)) * 1.3
    assert tau[0] == pytest.approx(-tau_int, rel=1e-14)  # what the motor has to hold against it


def test_example_5_2_lagranges_equations_of_the_planar_arm():
    tau = lagrange.inverse_dynamics(planar_two_link(**ARM), Q, QD, QDD, {})
    assert tau == pytest.approx(printed_torques(Q, QD, QDD), rel=1e-13)


def test_example_5_3_remote_drive():
    arm = planar_two_link(**ARM)
    e = transformed_equations(arm, remote_drives(arm, {"joint2": "base"}), Q)
    assert e.joint_efforts(np.array([2.0, 3.0])) == pytest.approx([5.0, 3.0])  # (5-48)


def test_example_5_4_absolute_angles():
    arm = planar_two_link(**ARM)
    e = transformed_equations(arm, absolute_angles(arm), Q)
    H, H_star = lagrange.mass_matrix(arm, Q), e.H
    assert H_star[0, 0] == pytest.approx(H[0, 0] + H[1, 1] - 2 * H[0, 1], rel=1e-13)  # (5-62)
    assert H_star[0, 1] == pytest.approx(H[0, 1] - H[1, 1], rel=1e-13)
    assert H_star[1, 1] == pytest.approx(H[1, 1], rel=1e-13)


def test_example_5_5_endpoint_coordinates():
    arm = planar_two_link(**ARM, tip=1.0)
    e = transformed_equations(arm, endpoint_coordinates(arm, "tip", ["x", "y"]), Q)
    inverse = np.linalg.inv(frame_jacobian(arm, Q, "tip")[:2])
    H = lagrange.mass_matrix(arm, Q)
    assert pytest.approx(inverse.T @ H @ inverse, rel=1e-12) == e.H  # (5-51)
