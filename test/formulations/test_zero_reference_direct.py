"""Direct dynamics in the zero reference position."""

import functools

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_array_equal

from oracles import (
    SINGULAR_EXAMPLES,
    example_id,
    example_robot,
    example_urdfs,
    pin_model,
    relative_error,
    with_exact_right_angles,
)
from python_kernel import compile_python
from robot_dynamics.algorithms.composite_body import factorise, solve
from robot_dynamics.compiler.graph.optimize import optimize
from robot_dynamics.compiler.graph.trace import trace
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.errors import ArgumentError, ShapeError, SingularMassMatrixError
from robot_dynamics.formulations import forward_dynamics as by_any_route
from robot_dynamics.formulations import inverse_dynamics
from robot_dynamics.formulations.zero_reference_direct import equations_of_motion
from robot_dynamics.papers.paper_arms import puma_type_arm
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.transforms import merge_fixed
from robot_dynamics.simulation.integrators import integrate
from robot_dynamics.spatial import Inertia
from strategies import random_state, robots, seeds

forward_dynamics = functools.partial(by_any_route, formulation="zero_reference")

# of M and of bias torques; float64 on both sides, worst of 2000 random trees 8e-13
ROUND_OFF = 1e-10


def solve_tolerance(M):
    """Return the error of solving with M: round-off times its condition."""
    return 1e-12 + (1e-13 * np.linalg.cond(M) if len(M) > 0 else 0.0)


@pytest.mark.parametrize(
    "path",
    [path for path in example_urdfs() if path.name not in SINGULAR_EXAMPLES],
    ids=example_id,
)
def test_every_example_agrees_with_pinocchio(path):
    robot = example_robot(path)
    q, qd, qdd = random_state(robot, seed=4)
    model = pin_model(robot, with_exact_right_angles(path))
    tau = model.inverse(q, qd, qdd)
    found = forward_dynamics(robot, q, qd, tau)
    tolerance = solve_tolerance(model.mass_matrix(q))
    assert relative_error(found, qdd) < tolerance, robot.name
    assert relative_error(found, model.forward(q, qd, tau)) < tolerance, robot.name


@given(robots(), seeds())
def test_the_equations_of_random_trees_agree_with_pinocchio(robot, seed):
    q, qd, _ = random_state(robot, seed)
    tree, model = merge_fixed(robot), pin_model(robot)
    E, e0 = tree.coupling.matrix, tree.coupling.offset
    H, h = equations_of_motion(tree, E @ q + e0, E @ qd, {})
    assert relative_error(E.T @ H @ E, model.mass_matrix(q)) < ROUND_OFF
    assert relative_error(E.T @ h, model.bias(q, qd)) < ROUND_OFF


@given(robots(max_joints=9), seeds())
def test_what_no_branch_shares_stays_exactly_zero(robot, seed):
    tree = merge_fixed(robot)
    n = len(tree.joints)
    rng = np.random.default_rng(seed)
    H, _ = equations_of_motion(tree, rng.uniform(-3.0, 3.0, n), rng.normal(size=n), {})
    assert_array_equal(H, H.T)
    for k in range(n):
        path, i = set(), k + 1
        while i > 0:
            path.add(i - 1)
            i = tree.parents[i - 1]
        for j in range(k):
            assert j in path or H[k, j] == 0.0


@given(robots(branches=False), seeds())
def test_forward_dynamics_undoes_inverse_dynamics_under_an_endpoint_wrench(robot, seed):
    q, qd, qdd = random_state(robot, seed)
    tree = merge_fixed(robot)
    wrench, frame = np.random.default_rng(seed + 1).normal(size=6), tree.tips[0]
    tau = inverse_dynamics(robot, q, qd, qdd, wrench=wrench, frame=frame)
    found = forward_dynamics(robot, q, qd, tau, wrench=wrench, frame=frame)
    E = tree.coupling.matrix
    H, _ = equations_of_motion(tree, E @ q + tree.coupling.offset, E @ qd, {})
    # in units of the torques: a light fingertip turns their round-off into accelerations
    M = E.T @ H @ E
    assert relative_error(M @ found, M @ qdd) < 1e-9


def test_it_can_be_traced():
    robot = puma_type_arm().robot
    program = trace(
        "arm",
        lambda q, qd, tau: forward_dynamics(robot, q, qd, tau),
        {"q": (6,), "qd": (6,), "tau": (6,)},
    )
    state = random_state(robot, seed=3)
    expected = forward_dynamics(robot, *state)
    assert relative_error(compile_python(program)(*state), expected) < ROUND_OFF


def test_the_compiled_forward_dynamics_are_the_papers():
    """Its operations are those of the recursion with qdd open, and of no mass matrix beside."""
    arm = Dynamics(puma_type_arm().robot, "zero_reference", cache=False)
    tree = merge_fixed(arm.robot)

    def by_the_paper(q, qd, tau):
        H, h = equations_of_motion(tree, q, qd, {})
        parents = tuple(range(-1, 5))
        L, inverse_D = factorise(H, parents)
        return {"qdd": solve(L, inverse_D, parents, tau - h)}

    shapes = {"q": (6,), "qd": (6,), "tau": (6,)}
    expected = optimize(trace("forward", by_the_paper, shapes))
    assert arm.program("forward").digest == expected.digest
    q, qd, qdd = random_state(arm.robot, seed=5)
    assert relative_error(arm.forward(q, qd, arm.inverse(q, qd, qdd)), qdd) < 1e-10


# -- simulation by predictor and corrector ----------------------------------------------------


def energy(robot, q, qd):
    """Kinetic and potential energy by Pinocchio, J."""
    model = pin_model(robot)
    model.pin.computeKineticEnergy(model.model, model.data, q, qd)
    model.pin.computePotentialEnergy(model.model, model.data, q)
    return model.data.kinetic_energy + model.data.potential_energy


def test_a_free_fall_by_predictor_and_corrector_keeps_its_energy_to_the_order_of_the_method():
    # the arm of the paper with link 4 as a body can be (1.385 for 1.585), from a bent pose
    robot = puma_type_arm().robot
    start = np.array([0.2, -0.4, 0.3, 0.5, 0.8, -0.3])
    drift = []
    for step in (4e-3, 2e-3):
        motion = integrate(
            lambda t, q, qd: forward_dynamics(robot, q, qd, np.zeros(6)),
            start,
            np.zeros(6),
            duration=0.2,
            step=step,
            method="adams_bashforth_moulton",
        )
        drift.append(
            abs(energy(robot, motion.q[-1], motion.qd[-1]) - energy(robot, start, 0 * start))
        )
    moved = np.max(np.abs(motion.q[-1] - start))
    assert moved > 0.2  # rad: it does fall
    assert drift[1] < 1e-5  # J, of about 10 J that change hands
    assert drift[1] < drift[0] / 8.0  # order 4 divides the error by 16


# -- refusals ---------------------------------------------------------------------------------


def test_a_joint_that_moves_no_inertia_is_named():
    robot = puma_type_arm().robot
    links = [*robot.links[:-1], type(robot.links[-1])("link_7", Inertia.zero())]
    hollow = Robot("hollow", tuple(links), robot.joints, robot.gravity)
    state = np.full(6, 0.3)
    with pytest.raises(SingularMassMatrixError) as caught:
        forward_dynamics(hollow, state, state, state)
    assert str(caught.value) == (
        "robot 'hollow': joint 'joint_6' moves no inertia, so that its acceleration has no answer; "
        "give a link it carries mass, or lock it"
    )


def test_wrong_shapes_and_numbers_name_the_argument():
    robot, zero = puma_type_arm().robot, np.zeros(6)
    with pytest.raises(ShapeError, match=r"tau must have shape \(6,\), got \(5,\)"):
        forward_dynamics(robot, zero, zero, np.zeros(5))
    with pytest.raises(ArgumentError, match=r"qd\[2\] is nan; every entry must be finite"):
        forward_dynamics(robot, zero, np.array([0, 0, np.nan, 0, 0, 0]), zero)
