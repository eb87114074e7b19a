"""Forces between links at rest, (4-1) to (4-6), and the duality of section 4.1.3 on real arms."""

import numpy as np
import pytest
from hypothesis import given

from oracles import relative_error
from robot_dynamics import Dynamics
from robot_dynamics.errors import ShapeError
from robot_dynamics.formulations import inverse_dynamics
from robot_dynamics.kinematics import frame_jacobian, frame_pose, mobility
from robot_dynamics.papers.joint_reactions import joint_reactions
from robot_dynamics.robot import find_robot, read_urdf
from robot_dynamics.statics import (
    balancing_wrench,
    coupling_forces,
    endpoint_compliance,
    endpoint_stiffness,
    joint_efforts,
    principal_compliances,
)
from strategies import random_state, robots, seeds

ROUND_OFF = 1e-11  # float64, sums in another order; one wrong sign gives 1e-2 and more


@given(robots(), seeds())
def test_efforts_of_the_links_in_balance_are_those_of_a_robot_at_rest(robot, seed):
    q, _, _ = random_state(robot, seed)
    rng, rest = np.random.default_rng(seed), np.zeros(robot.dof)
    frame = robot.links[rng.integers(1, len(robot.links))].name
    wrench = rng.normal(size=6) * 10
    found = coupling_forces(robot, q, wrench=wrench, frame=frame).efforts
    expected = inverse_dynamics(robot, q, rest, rest, wrench=wrench, frame=frame)
    assert relative_error(found, expected) < ROUND_OFF


@given(robots(), seeds())
def test_without_gravity_the_efforts_are_the_transposed_jacobian_times_the_wrench(robot, seed):
    """The theorem (4-7), which the book proves by virtual work, here link by link."""
    q, _, _ = random_state(robot, seed)
    frame, light = robot.links[-1].name, robot.with_gravity((0.0, 0.0, 0.0))
    wrench = np.random.default_rng(seed).normal(size=6)
    found = coupling_forces(light, q, wrench=wrench, frame=frame).efforts
    R = frame_pose(robot, q, frame).rotation
    in_base = np.concatenate([R @ wrench[:3], R @ wrench[3:]])
    assert relative_error(found, joint_efforts(frame_jacobian(robot, q, frame), in_base)) < 1e-10


@given(robots(), seeds())
def test_reactions_are_those_of_the_equations_of_motion_at_rest(robot, seed):
    q, _, _ = random_state(robot, seed)
    rest = np.zeros(robot.dof)
    found, moving = coupling_forces(robot, q), joint_reactions(robot, q, rest, rest)
    assert found.joints == moving.joints
    for k, name in enumerate(found.joints):
        child = next(joint.child for joint in robot.joints if joint.name == name)
        R = frame_pose(robot, q, child).rotation
        scale = 1.0 + np.abs(found.force).max() + np.abs(found.moment).max()
        for ours, theirs in (
            (found.force, moving.force),
            (found.moment, moving.moment),
            (found.reaction_force, moving.bearing_force),
            (found.reaction_moment, moving.bearing_moment),
        ):
            assert np.abs(ours[k] - R @ theirs[k]).max() < 1e-10 * scale, name


def test_the_base_bears_the_weight_of_all_links():
    robot = read_urdf(find_robot("ur5"))
    found = coupling_forces(robot, [0.3, -1.0, 1.2, -0.4, 0.8, 0.2])
    still = ("world", "base_link")
    moving = sum(link.inertia.mass for link in robot.links if link.name not in still)
    assert found.force[0] == pytest.approx(-robot.gravity * moving, rel=1e-12)


def test_a_wrench_of_symbols_gives_efforts_of_symbols():
    sympy = pytest.importorskip("sympy")
    robot = read_urdf(find_robot("planar_2r"))
    f = sympy.symbols("f")
    found = coupling_forces(robot, [0.3, 0.9], wrench=[f, 0, 0, 0, 0, 0])
    number = coupling_forces(robot, [0.3, 0.9], wrench=[2.0, 0, 0, 0, 0, 0])
    efforts = [float(sympy.sympify(x).subs(f, 2.0)) for x in found.efforts]
    assert efforts == pytest.approx(number.efforts)


def test_a_wrench_of_wrong_shape_is_named():
    with pytest.raises(ShapeError, match=r"wrench must have shape \(6,\)"):
        coupling_forces(read_urdf(find_robot("planar_2r")), [0.3, 0.9], wrench=[1.0])


# -- duality: a redundant and a singular arm ------------------------------------------------------


def assert_dual(J, rank):
    """Section 4.1.3: dimensions, and which spaces are orthogonal complements."""
    spaces, (m, n) = mobility(J), J.shape
    assert spaces.rank == rank
    assert spaces.moved.shape[1] + spaces.idle.shape[1] == n  # (3-41)
    assert spaces.efforts.shape[1] + spaces.lost.shape[1] == m  # the same of the transpose
    assert J @ spaces.idle == pytest.approx(np.zeros((m, n - rank)), abs=1e-12)  # S_3 = N(J)
    assert J.T @ spaces.lost == pytest.approx(np.zeros((n, m - rank)), abs=1e-12)  # S_2 = N(J^T)
    return spaces


def test_duality_of_a_redundant_arm():
    """The Panda: one motion of the elbow moves no tip, and no force balances its efforts."""
    arm = Dynamics(read_urdf(find_robot("panda")))
    J = arm.jacobian(np.array([0.3, -0.5, 0.2, -1.8, 0.4, 1.6, 0.7, 0.0]), "panda_hand")[:, :7]
    spaces = assert_dual(J, rank=6)
    found = balancing_wrench(J, spaces.idle[:, 0])
    assert not found.exists and found.unique


def test_duality_of_a_singular_arm():
    """The UR5 with its wrist straight: one direction is lost, and its structure bears forces."""
    arm = Dynamics(read_urdf(find_robot("ur5")))
    J = arm.jacobian(np.array([0.3, -1.0, 1.2, -0.4, 0.0, 0.2]), "tool0")
    spaces = assert_dual(J, rank=5)
    assert joint_efforts(J, spaces.lost[:, 0]) == pytest.approx(np.zeros(6), abs=1e-12)
    found = balancing_wrench(J, joint_efforts(J, np.arange(6.0)))
    assert found.exists and not found.unique
    assert endpoint_stiffness(J, np.ones(6)).rigid.shape == (6, 1)  # infinite stiffness there


def test_rectangular_jacobians_of_some_directions_are_dual_too():
    arm = Dynamics(read_urdf(find_robot("ur5")))
    J = arm.jacobian(np.array([0.3, -1.0, 1.2, -0.4, 0.5, 0.2]), "tool0")
    assert_dual(J[:3], rank=3)
    assert_dual(J[:, :4], rank=4)


def test_principal_compliances_are_the_roots_of_4_32():
    C = np.array([[3.0, 1.0], [1.0, 2.0]])
    (a_1, a_3), (_, a_2) = C @ C
    root = np.sqrt((a_1 - a_2) ** 2 + 4 * a_3**2)
    printed = np.sqrt([(a_1 + a_2 + root) / 2, (a_1 + a_2 - root) / 2])
    assert principal_compliances(C)[0] == pytest.approx(printed, rel=1e-14)


def test_compliance_4_26_in_symbols():
    sympy = pytest.importorskip("sympy")
    t_1, t_2, l_1, l_2, k_1, k_2 = sympy.symbols("t1 t2 l1 l2 k1 k2", positive=True)
    s_1, c_1, s_12, c_12 = (f(a) for a in (t_1, t_1 + t_2) for f in (sympy.sin, sympy.cos))
    J = np.array([[-l_1 * s_1 - l_2 * s_12, -l_2 * s_12], [l_1 * c_1 + l_2 * c_12, l_2 * c_12]])
    x, y = l_1 * c_1 + l_2 * c_12, l_1 * s_1 + l_2 * s_12
    mixed = -x * y / k_1 - l_2**2 * c_12 * s_12 / k_2
    book = [
        [y**2 / k_1 + l_2**2 * s_12**2 / k_2, mixed],
        [mixed, x**2 / k_1 + l_2**2 * c_12**2 / k_2],
    ]
    ours = endpoint_compliance(J, [k_1, k_2])
    for a in range(2):
        for b in range(2):
            assert sympy.simplify(ours[a, b] - book[a][b]) == 0
