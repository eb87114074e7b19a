"""Laws in task space against closed forms, other libraries and another controller's law."""

from functools import cache

import numpy as np
import pinocchio
import pytest
import scipy.linalg
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.compiler.kernel import compile_program
from robot_dynamics.control.end_effector import EndEffectorEquations, task_program
from robot_dynamics.control.task_space import (
    CONSISTENT,
    IMPEDANCE,
    KINEMATIC,
    OPERATIONAL_SPACE,
    StableSpring,
    input_shapes,
    rotation_vector,
    spring_moment,
    stop_efforts,
    task_equations,
)
from robot_dynamics.robot import find_robot

FINGER, END_EFFECTOR = "panda_finger_joint1", "panda_hand"
POSE = np.array([0.2, -0.4, 0.3, -2.0, 0.2, 1.7, 0.6])  # far from singularities
REST, NONE = np.zeros(7), np.zeros(6)
STIFFNESS = np.array([400.0, 500.0, 600.0, 30.0, 40.0, 50.0])


@cache
def arm():
    return Dynamics(read_urdf(find_robot("panda")).with_locked({FINGER: 0.0}))


@cache
def kernel(mode, projector=CONSISTENT):
    compiled = compile_program(task_program(arm(), END_EFFECTOR, mode, projector))
    return lambda x: compiled(*x.values())


def inputs(q=POSE, qd=REST, **given):
    """Inputs of a law that holds the end effector at the pose of `POSE`."""
    pose = arm().pose(POSE, END_EFFECTOR)
    x = {name: np.zeros(shape) for name, shape in input_shapes(7).items()}
    x |= {"q": q, "qd": qd, "rotation": pose.rotation, "position": pose.position}
    x |= {"axes": np.eye(3), "root": np.diag(np.sqrt(STIFFNESS)), "mobility": np.eye(6)}
    x |= {"largest": np.full(6, 10.0), "selection": np.ones(6), "held": np.ones(6)}
    x |= {"posture": POSE, "numbers": np.array([1.0, 1e6, 0.1, 0.0, 0.0, 1e6])}
    x |= {"fastest": np.full(7, np.inf)}
    return x | given


def states(seed):
    rng = np.random.default_rng(seed)
    return rng, POSE + rng.uniform(-0.3, 0.3, 7), rng.normal(size=7)


def acceleration(q, qd, effort, external=NONE):
    """Of end effector and joints under an effort beside gravity and a wrench on the former."""
    J = arm().jacobian(q, END_EFFECTOR)
    qdd = arm().forward(q, qd, effort + arm().gravity(q) + J.T @ external)
    return J @ qdd + arm().drift(q, qd, END_EFFECTOR), qdd


# -- rotations ------------------------------------------------------------------------------------


@given(st.integers(0, 10**6), st.sampled_from([1e-12, 1e-6, 0.1, 1.0, 3.0, np.pi - 1e-7]))
def test_a_rotation_vector_is_accurate_at_every_angle(seed, angle):
    axis = np.random.default_rng(seed).normal(size=3)
    phi = axis * (angle / np.linalg.norm(axis))
    R = Rotation.from_rotvec(phi).as_matrix()
    # The entries of R hold the angle to a few units of round-off
    assert np.abs(rotation_vector(R) - phi).max() < 1e-14


def test_half_a_turn_has_a_rotation_vector_of_length_pi():
    for axis in np.eye(3):
        found = rotation_vector(2.0 * np.outer(axis, axis) - np.eye(3))
        assert np.allclose(np.abs(found), np.pi * axis, rtol=0.0, atol=1e-15)


@given(st.integers(0, 10**6))
def test_a_free_axis_only_has_to_point_the_right_way(seed):
    rng = np.random.default_rng(seed)
    axis = rng.normal(size=3)
    axis /= np.linalg.norm(axis)
    R = Rotation.random(random_state=seed).as_matrix()
    found = rotation_vector(R, axis)
    swing = Rotation.from_rotvec(found).as_matrix()
    assert np.abs(swing @ axis - R @ axis).max() < 1e-13
    assert abs(found @ np.cross(axis, R @ axis)) == pytest.approx(
        np.linalg.norm(found) * np.linalg.norm(np.cross(axis, R @ axis)), abs=1e-12
    )  # the shortest way there


@given(st.integers(0, 10**6), st.floats(1e-9, 3.0))
def test_the_moment_of_a_spring_is_the_gradient_of_its_potential(seed, angle):
    rng = np.random.default_rng(seed)
    K = np.diag(rng.uniform(1.0, 100.0, 3))
    phi = rng.normal(size=3)
    phi *= angle / np.linalg.norm(phi)
    target, h = Rotation.from_rotvec(phi).as_matrix(), 1e-5
    moment = spring_moment(phi, K @ phi)

    def potential(turn):
        turned = rotation_vector(target @ Rotation.from_rotvec(turn).as_matrix().T)
        return 0.5 * turned @ K @ turned

    for axis in np.eye(3):
        slope = (potential(h * axis) - potential(-h * axis)) / (2.0 * h)
        # Central differences: h^2 times third derivatives of order 100, and round-off of 1e-14 / h
        assert -slope == pytest.approx(moment @ axis, abs=1e-6)


# -- damping --------------------------------------------------------------------------------------


@given(st.integers(0, 10**6))
def test_every_mode_of_the_end_effector_has_the_damping_ratio(seed):
    rng = np.random.default_rng(seed)
    F, G = rng.normal(size=(2, 6, 6))
    A, K = F @ F.T + 0.3 * np.eye(6), G @ G.T + 0.3 * np.eye(6)
    spring = StableSpring.of(A, np.linalg.cholesky(K), 1e8)  # rad/s: K itself
    D = np.column_stack([spring.damping(0.7, v) for v in np.eye(6)])
    squares, modes = scipy.linalg.eigh(K, np.linalg.inv(A))
    if squares.max() / squares.min() > 1e3:
        return  # beyond the range of the five terms
    expected = np.diag(2.0 * 0.7 * np.sqrt(squares))
    error = np.abs(modes.T @ D @ modes - expected).max() / expected.max()
    assert error < 1e-3  # the terms are within 7.4e-4


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**31), stable=st.floats(5.0, 500.0))
def test_no_direction_is_stiffer_than_the_loop_bears_and_others_stay_as_given(seed, stable):
    rng = np.random.default_rng(seed)
    mixed = rng.normal(size=(6, 6))
    A = mixed @ np.diag(10.0 ** rng.uniform(-1.0, 1.5, 6)) @ mixed.T / 6.0
    K = np.diag(10.0 ** rng.uniform(1.0, 3.0, 6))
    spring = StableSpring.of(A, np.sqrt(K), stable)
    used = np.column_stack([spring.pull(np.sqrt(K) @ e) for e in np.eye(6)])
    D = np.column_stack([spring.damping(0.7, v) for v in np.eye(6)])
    np.testing.assert_allclose(used, used.T, rtol=1e-6, atol=1e-9 * K.max())
    given, found = (np.sort(scipy.linalg.eigvals(A @ X).real) for X in (K, used))
    x = given / stable**2
    # Each mode for itself: the two matrices have the same modes
    np.testing.assert_allclose(found, given / (x + 1.0 / (1.0 + x)), rtol=1e-6)
    assert (found < stable**2).all()
    near = given < 0.1 * stable**2
    assert (found[near] > 0.99 * given[near]).all()
    # D A D = 4 z^2 K, as far as the approximation of the root goes
    spread = (given * (x + 1.0 / (1.0 + x))).max() / (given * (x + 1.0 / (1.0 + x))).min()
    if spread < 1e2:
        np.testing.assert_allclose(D @ A @ D, 4.0 * 0.7**2 * used, atol=5e-3 * used.max())


# -- the laws -------------------------------------------------------------------------------------


@pytest.mark.thorough
@settings(deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([IMPEDANCE, OPERATIONAL_SPACE]))
def test_the_kernel_is_the_law(seed, mode):
    rng, q, qd = states(seed)
    x = inputs(q, qd, twist=rng.normal(size=6), acceleration=rng.normal(size=6))
    found = kernel(mode)(x)
    plain = task_equations(EndEffectorEquations.of(arm(), END_EFFECTOR, None), mode, CONSISTENT, x)
    for name, values in plain.items():
        # Other order of operations; efforts of 1e3 N m through two inverses
        assert np.allclose(getattr(found, name), values, rtol=1e-9, atol=1e-9), name


@settings(deadline=None)
@given(st.integers(0, 10**6))
def test_operational_space_obeys_the_chosen_equation(seed):
    rng, q, qd = states(seed)
    F, D = rng.normal(size=(2, 6, 6))
    inertia, damping = F @ F.T + np.eye(6), D @ D.T
    twist, wanted, wrench = rng.normal(size=(3, 6))
    x = inputs(
        q, qd, twist=twist, acceleration=wanted, wrench=wrench, damping=damping,
        mobility=np.linalg.inv(inertia), numbers=np.array([0.0, 1e6, 0.1, 2.0, 5.0, 1e6]),
    )  # fmt: skip
    found = kernel(OPERATIONAL_SPACE)(x)
    a, _ = acceleration(q, qd, found.effort)
    e, ed, edd = found.error, twist - arm().jacobian(q, END_EFFECTOR) @ qd, wanted - a
    force = np.diag(STIFFNESS) @ e
    force[3:] = spring_moment(e[3:], force[3:])
    left = inertia @ edd + damping @ ed + force
    assert np.abs(left + wrench).max() < 1e-9 * max(1.0, np.abs(left).max())


@settings(deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.7]))
def test_an_end_effector_held_at_rest_never_gains_energy_and_keeps_it_without_damping(seed, ratio):
    _, q, qd = states(seed)
    x = inputs(q, qd, numbers=np.array([ratio, 1e6, 0.1, 0.0, 5.0 * ratio, 1e6]))
    found = kernel(IMPEDANCE)(x)
    h = 1e-5

    def spring(q):
        e = kernel(IMPEDANCE)(inputs(q)).error
        return 0.5 * e @ (STIFFNESS * e)

    _, qdd = acceleration(q, qd, found.effort)
    M = arm().mass_matrix(q)
    Md = (arm().mass_matrix(q + h * qd) - arm().mass_matrix(q - h * qd)) / (2.0 * h)
    stored = (spring(q + h * qd) - spring(q - h * qd)) / (2.0 * h)
    power = qd @ M @ qdd + 0.5 * qd @ Md @ qd + stored
    if ratio:
        assert power < 0.0
    else:
        assert abs(power) < 1e-6 * (1.0 + abs(stored))  # differences, as above


@settings(deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([IMPEDANCE, OPERATIONAL_SPACE]))
def test_consistent_null_space_motion_does_not_move_the_end_effector(seed, mode):
    rng, q, qd = states(seed)
    x = inputs(q, qd, posture=rng.uniform(-1.0, 1.0, 7))
    idle = {**x, "numbers": np.array([1.0, 1e6, 0.1, 3.0, 5.0, 1e6])}
    still, moved = kernel(mode)(x), kernel(mode)(idle)
    a, _ = acceleration(q, qd, still.effort)
    b, _ = acceleration(q, qd, moved.effort)
    assert np.abs(moved.effort - still.effort).max() > 1e-3
    assert np.abs(a - b).max() < 1e-9


@pytest.mark.thorough
@settings(deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([CONSISTENT, KINEMATIC]))
def test_the_law_of_another_controller_agrees_where_the_two_coincide(seed, projector):
    """Cartesian impedance as `crisp_controllers` has it, with Pinocchio: a target at rest."""
    rng, q, qd = states(seed)
    posture = q + rng.uniform(-0.3, 0.3, 7)
    stiffness, damping = 400.0 * np.ones(6), np.diag(rng.uniform(10.0, 40.0, 6))
    stiffness[3:] = 30.0
    w, d = 2.0, 5.0
    x = inputs(
        q, qd, root=np.diag(np.sqrt(stiffness)), damping=damping, posture=posture,
        largest=np.array([0.05] * 3 + [0.3] * 3), numbers=np.array([0.0, 1e6, 0.1, w, d, 1e6]),
    )  # fmt: skip
    model = pinocchio.buildModelFromUrdf(str(find_robot("panda")))
    locked = [model.getJointId(name) for name in (FINGER, "panda_finger_joint2")]
    model = pinocchio.buildReducedModel(model, locked, np.zeros(model.nq))
    data, frame = model.createData(), model.getFrameId(END_EFFECTOR)
    pinocchio.forwardKinematics(model, data, q)
    pinocchio.updateFramePlacements(model, data)
    J = pinocchio.computeFrameJacobian(model, data, q, frame, pinocchio.LOCAL_WORLD_ALIGNED)
    M = pinocchio.crba(model, data, q)
    M = np.triu(M) + np.triu(M, 1).T
    error = np.concatenate(
        [
            x["position"] - data.oMf[frame].translation,
            pinocchio.log3(x["rotation"] @ data.oMf[frame].rotation.T),
        ]
    )
    error = np.clip(error, -x["largest"], x["largest"])
    if projector == CONSISTENT:
        N = np.eye(7) - J.T @ np.linalg.inv(J @ np.linalg.inv(M) @ J.T) @ J @ np.linalg.inv(M)
    else:
        N = np.eye(7) - J.T @ np.linalg.pinv(J.T)
    secondary = M @ (w**2 * (posture - q) - d * qd)
    expected = J.T @ (stiffness * error - damping @ (J @ qd)) + N @ secondary
    found = kernel(IMPEDANCE, projector)(x).effort
    # The kinematic projector is regularised by 1e-9; isotropic springs turn about the error alone
    assert np.abs(found - expected).max() < 1e-6 * np.abs(expected).max()


def test_a_free_axis_and_a_force_leave_the_other_directions_alone():
    _, q, qd = states(3)
    down = np.array([0.0, 0.0, 1.0])
    x = inputs(q, qd, free_axis=down, wrench=np.array([0.0, 0.0, -10.0, 0.0, 0.0, 0.0]))
    x["selection"] = np.array([1.0, 1.0, 0.0, 1.0, 1.0, 1.0])
    found = kernel(OPERATIONAL_SPACE)(x)
    a, _ = acceleration(q, qd, found.effort)
    turn = arm().pose(q, END_EFFECTOR).rotation @ down
    # No pull about the free axis: the same effort when the target turns about it
    turned = {**x, "rotation": x["rotation"] @ Rotation.from_rotvec(0.4 * down).as_matrix()}
    other = kernel(OPERATIONAL_SPACE)(turned)
    assert np.abs(other.effort - found.effort).max() < 1e-9
    assert abs(turn @ found.error[3:]) < 1e-12
    # At rest the end effector exerts the force, and is held against it by nothing else
    at_rest = inputs(POSE, free_axis=down, wrench=x["wrench"], selection=x["selection"])
    effort = kernel(OPERATIONAL_SPACE)(at_rest).effort
    assert np.abs(effort - arm().jacobian(POSE, END_EFFECTOR).T @ x["wrench"]).max() < 1e-9
    assert np.isfinite(a).all()


@settings(deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 6))
def test_a_stop_obeys_the_principle_of_least_constraint(seed, joint):
    """Of all accelerations within the bound it leaves the nearest by M: Gauss's principle."""
    rng, q, _ = states(seed)
    M, free = arm().mass_matrix(q), 10.0 * rng.normal(size=7)
    lower, upper = np.full((2, 7), [[-1e12], [1e12]])
    lower[joint], upper[joint] = -1.0, 1.0
    inverse, L = np.linalg.inv(M), np.linalg.cholesky(M)
    found = free + inverse @ stop_efforts(inverse, free, lower, upper)
    nearest = scipy.optimize.lsq_linear(L.T, L.T @ free, (lower, upper), tol=1e-14).x
    assert np.abs(L.T @ (found - nearest)).max() < 1e-7 * np.abs(L.T @ free).max()


@settings(deadline=None)
@given(st.integers(0, 10**6))
def test_stops_only_resist(seed):
    rng, q, _ = states(seed)
    inverse = np.linalg.inv(arm().mass_matrix(q))
    free, upper = rng.normal(size=(2, 7))
    efforts = stop_efforts(inverse, free, np.full(7, -1e12), upper)
    # A stop that a sweep gives up again leaves round-off of efforts of order one over `inverse`
    small = 1e-12 / np.diagonal(inverse).min()
    assert (efforts <= small).all()
    assert (efforts < -small).any() == (free > upper).any()


@pytest.mark.thorough
@pytest.mark.parametrize("direction", range(6))
def test_an_impedance_settles_where_the_spring_holds_the_wrench(direction):
    wrench = np.zeros(6)
    wrench[direction] = (5.0, 5.0, 5.0, 0.5, 0.5, 0.5)[direction]
    q, qd, dt = POSE.copy(), np.zeros(7), 1e-3
    law = kernel(IMPEDANCE)
    for _ in range(6000):
        found = law(inputs(q, qd, numbers=np.array([1.0, 1e6, 0.1, 0.0, 5.0, 1e6])))
        _, qdd = acceleration(q, qd, found.effort, wrench)
        qd = qd + dt * qdd
        q = q + dt * qd
    assert np.abs(found.error + wrench / STIFFNESS).max() < 1e-6
