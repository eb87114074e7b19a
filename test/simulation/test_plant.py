"""The simulated robot against closed forms and another integrator."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robot_dynamics.control import Friction
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.errors import (
    ArgumentError,
    ShapeError,
    SimulationError,
    SingularMassMatrixError,
)
from robot_dynamics.simulation import Plant, integrate
from robot_dynamics.spatial import Inertia
from strategies import robots

G = 9.81


def run(plant, tau, seconds):
    """Steps of a constant effort; returns positions and velocities after each, (N, n) each."""
    tau = np.atleast_1d(np.asarray(tau, dtype=float))
    states = []
    for _ in range(round(seconds / plant.step_time)):
        plant.step(tau)
        states.append((plant.q, plant.qd))
    q, qd = zip(*states, strict=True)
    return np.array(q), np.array(qd)


def test_a_block_slides_as_newton_says(slider):
    plant = Plant(slider)
    run(plant, 7.0, 0.5)  # (7 N - 3 N) / 2 kg = 2 m/s^2
    assert plant.qd[0] == pytest.approx(1.0, rel=1e-9)
    assert plant.q[0] == pytest.approx(0.25, rel=1e-9)
    assert plant.qdd[0] == pytest.approx(2.0)


def test_rotors_are_accelerated_too(slider):
    plant = Plant(slider, rotor_inertia=[6.0])
    run(plant, 7.0, 0.5)  # (7 N - 3 N) / (2 kg + 6 kg) = 0.5 m/s^2
    assert plant.qd[0] == pytest.approx(0.25, rel=1e-9)


def test_a_block_that_is_pushed_less_than_its_friction_does_not_move_at_all(slider):
    plant = Plant(slider)
    q, qd = run(plant, 2.99, 1.0)
    assert not q.any() and not qd.any()
    run(plant, 3.02, 0.1)
    assert plant.qd[0] == pytest.approx(0.02 / 2.0 * 0.1)


def test_a_sliding_block_comes_to_rest_once_and_stays(slider):
    plant = Plant(slider)
    plant.reset([0.0], [0.6])  # 3 N / 2 kg: rests after 0.4 s and 0.12 m
    q, qd = run(plant, 0.0, 1.0)
    stopped = int(np.argmax(qd[:, 0] == 0.0))
    assert (stopped + 1) * plant.step_time == pytest.approx(0.4, abs=1.5 * plant.step_time)
    assert q[-1, 0] == pytest.approx(0.12, abs=1e-3)
    assert not qd[stopped:].any()
    assert np.all(q[stopped:] == q[stopped])


def test_stiction_holds_more_than_sliding_friction(slider):
    friction = Friction(np.zeros(1), np.array([3.0]), np.array([2.0]), np.array([0.05]))
    plant = Plant(slider, friction=friction)
    _, qd = run(plant, 4.9, 0.1)
    assert not qd.any()
    run(plant, 5.1, 1.0)  # breaks away, and then only sliding friction is left
    assert plant.qdd[0] == pytest.approx((5.1 - 3.0) / 2.0, rel=1e-3)


def test_damping_far_too_stiff_for_the_step_is_stable(slider):
    plant = Plant(slider, friction=Friction(np.array([1e6]), np.zeros(1)))
    _, qd = run(plant, 10.0, 0.1)  # 1e6 * 1e-3 / 2: 500 times the stability limit of Euler
    assert qd[-1, 0] == pytest.approx(10.0 / 1e6, rel=1e-2)


def test_a_damped_block_slows_down_exponentially(slider):
    plant = Plant(slider, friction=Friction(np.array([4.0]), np.zeros(1)))
    plant.reset([0.0], [1.0])
    run(plant, 0.0, 0.5)
    # Damping is of order one in the step: h d / m = 2e-3 a step, half of it in the exponent
    assert plant.qd[0] == pytest.approx(np.exp(-4.0 / 2.0 * 0.5), rel=2e-3)


def test_a_pendulum_swings_with_its_period(pendulum):
    plant = Plant(pendulum)
    plant.reset([0.01])
    q, _ = run(plant, 0.0, 4.0)
    crossings = np.flatnonzero((q[:-1, 0] > 0.0) & (q[1:, 0] <= 0.0)) * plant.step_time
    period = 2.0 * np.pi * np.sqrt((0.1 + 2.0 * 0.25) / (2.0 * G * 0.5))
    # Amplitude 0.01 rad lengthens it by 6e-6; crossings are known to a step
    assert np.diff(crossings)[0] == pytest.approx(period, abs=2e-3)


def test_a_joint_rubs_more_under_load_and_more_in_one_direction(pendulum):
    friction = Friction([0.3], [0.2], load=[0.15], offset=[0.1])
    plant = Plant(pendulum, [0.4], friction=friction, limit_effort=False)
    for direction in (1.0, -1.0):
        plant.reset([0.4], [direction])
        for _ in range(20):
            plant.step(np.array([4.0]))
        borne = plant.dynamics.inverse(plant.q, plant.qd, plant.qdd)
        rubbed = friction.smooth(plant.qd, 1e-6, borne)
        # The load is that of the step before, and velocities are those of its end
        np.testing.assert_allclose(plant.tau, borne + rubbed, rtol=3e-3)


def test_without_friction_a_step_is_one_of_the_runge_kutta_method(panda):
    n = panda.robot.dof
    q = np.array([0.3, 0.4, -0.2, -1.5, 0.1, 1.8, 0.5])
    tau = np.linspace(-2.0, 2.0, n)
    plant = Plant(panda.robot, q, dynamics=panda, friction=Friction.none(n))
    run(plant, tau, 0.2)
    motion = integrate(
        lambda t, q, qd: panda.forward(q, qd, tau), q, np.zeros(n), duration=0.2, step=1e-3
    )
    np.testing.assert_allclose(plant.q, motion.q[-1], rtol=0.0, atol=1e-12)  # the same sums


@settings(max_examples=6)
@given(robots(max_joints=4), st.integers(0, 1000))
def test_friction_only_ever_takes_energy(robot, seed):
    arm = Dynamics(robot.with_gravity((0.0, 0.0, 0.0)), cache=False)
    rng = np.random.default_rng(seed)
    plant = Plant(robot.with_gravity((0.0, 0.0, 0.0)), dynamics=arm)
    plant.reset(rng.uniform(-0.5, 0.5, robot.dof), rng.uniform(-1.0, 1.0, robot.dof))
    kinetic = [arm.energy(plant.q, plant.qd)[0]]
    for _ in range(200):
        plant.step(np.zeros(robot.dof))
        kinetic.append(arm.energy(plant.q, plant.qd)[0])
    # A joint that sticks between two samples is stopped at the end of the step, to order h^2
    assert np.all(np.diff(kinetic) <= 1e-5 * max(kinetic[0], 1e-3))


@st.composite
def light_joints(draw):
    """A robot without gravity, with friction and rotors of any order of magnitude."""
    robot = draw(robots(max_joints=3)).with_gravity((0.0, 0.0, 0.0))
    viscous, dry, rotor = (
        10.0 ** np.array([draw(st.floats(*exponents)) for _ in range(robot.dof)])
        for exponents in ((-4.0, 3.0), (-4.0, 1.0), (-6.0, 0.0))
    )
    return robot, Friction(viscous, dry * draw(st.integers(0, 1))), rotor, draw(st.integers(0, 99))


def kinetic_energy(plant):
    M = plant.dynamics.mass_matrix(plant.q) + np.diag(plant._rotors.diagonal())
    return plant.qd @ M @ plant.qd / 2.0


@settings(max_examples=12, deadline=None)
@given(light_joints(), st.sampled_from(["runge_kutta", "semi_implicit_euler"]))
def test_a_joint_that_friction_stops_within_a_step_gains_no_energy(light, integrator):
    robot, friction, rotor, seed = light
    options = {"friction": friction, "rotor_inertia": rotor, "integrator": integrator}
    plant, rng = (
        Plant(robot, dynamics=Dynamics(robot, cache=False), **options),
        np.random.default_rng(seed),
    )
    plant.reset(rng.uniform(-0.5, 0.5, robot.dof), rng.uniform(-0.3, 0.3, robot.dof))
    energy = [kinetic_energy(plant)]
    for _ in range(100):
        plant.step(np.zeros(robot.dof))
        energy.append(kinetic_energy(plant))
    # Both conserve energy to the order of the step: 0.3 mrad of motion change an inertia so little
    assert np.all(np.diff(energy) <= 2e-3 * energy[0])


@settings(max_examples=12, deadline=None)
@given(light_joints())
def test_a_plant_agrees_with_short_explicit_steps_where_these_are_stable(light):
    robot, friction, rotor, seed = light
    arm, rng, n = Dynamics(robot, cache=False), np.random.default_rng(seed), robot.dof
    friction = Friction(friction.viscous, np.zeros(n))
    q, qd, tau = rng.uniform(-0.5, 0.5, n), rng.uniform(-0.3, 0.3, n), rng.uniform(-1.0, 1.0, n)
    M = arm.mass_matrix(q) + np.diag(rotor)
    rates = np.linalg.eigvals(np.linalg.solve(M, np.diag(friction.viscous)))
    h = min(1e-3 / np.abs(rates).max(), 1e-4)
    plant = Plant(robot, dynamics=arm, friction=friction, rotor_inertia=rotor, limit_effort=False,
                  step=h)  # fmt: skip
    plant.reset(q, qd)
    for _ in range(100):
        plant.step(tau)
        for _ in range(4):
            M = arm.mass_matrix(q) + np.diag(rotor)
            acting = tau - friction.viscous * qd - arm.bias(q, qd)
            qd = qd + h / 4 * np.linalg.solve(M, acting)
            q = q + h / 4 * qd
    # Damping is of order one: h times its rate is 1e-3 a step
    size = np.abs(qd).max() + np.abs(plant.qd).max()
    np.testing.assert_allclose(plant.qd, qd, rtol=0.0, atol=2e-3 * size)


@settings(max_examples=6)
@given(robots(max_joints=4), st.integers(0, 1000))
def test_an_arm_whose_friction_outweighs_gravity_stays_exactly_where_it_is(robot, seed):
    arm = Dynamics(robot, cache=False)
    q = np.random.default_rng(seed).uniform(-0.5, 0.5, robot.dof)
    enough = 1.01 * np.abs(arm.gravity(q)) + 1e-6
    plant = Plant(robot, q, dynamics=arm, friction=Friction(np.zeros(robot.dof), enough))
    for _ in range(50):
        plant.step(np.zeros(robot.dof))
    np.testing.assert_array_equal(plant.q, q)
    assert not plant.qd.any()


def test_efforts_are_cut_at_the_limits_of_the_urdf(pendulum):
    plant = Plant(pendulum)
    plant.step(np.array([7.0]))
    assert plant.tau.tolist() == [5.0]
    assert plant.saturated.tolist() == [True]
    free = Plant(pendulum, limit_effort=False)
    free.step(np.array([7.0]))
    assert free.tau.tolist() == [7.0]


def test_a_stop_stops_a_joint_dead_and_lets_it_go_again(pendulum):
    plant = Plant(pendulum, stops=True, limit_effort=False)
    q, qd = run(plant, 30.0, 2.0)
    assert q.max() <= 1.0 + 1e-12
    assert q[-1, 0] == pytest.approx(1.0)
    assert qd[-1, 0] == 0.0
    q, _ = run(plant, -30.0, 0.1)
    assert q[-1, 0] < 0.9


def test_a_moving_arm_does_not_pass_its_stops(panda):
    limits = panda.robot.limits
    plant = Plant(panda.robot, dynamics=panda, stops=True)
    q, _ = run(plant, [60.0, -60.0, 30.0, 60.0, 10.0, -10.0, 10.0], 1.5)
    overshoot = np.maximum(q - limits.upper, limits.lower - q).max()
    # The stop acts from the step after it is touched: 1e-3 s at no more than 10 rad/s
    assert overshoot < 1e-2
    assert np.any(q >= limits.upper - 1e-6)


def test_resetting_forgets_the_motion(pendulum):
    plant = Plant(pendulum)
    run(plant, 3.0, 0.3)
    plant.reset([0.2], [0.1])
    assert (plant.q.tolist(), plant.qd.tolist(), plant.time) == ([0.2], [0.1], 0.0)


def test_by_default_it_starts_at_zero_or_the_nearest_limit(pendulum):
    joint = pendulum.joints[0]
    shifted = replace(joint, limits=replace(joint.limits, lower=0.3, upper=0.8))
    assert Plant(replace(pendulum, joints=(shifted,))).q.tolist() == [0.3]


def test_an_effort_that_is_no_number_is_refused_and_changes_nothing(pendulum):
    plant = Plant(pendulum, [0.5])
    with pytest.raises(ArgumentError, match=r"tau\[0\] is nan"):
        plant.step(np.array([np.nan]))
    with pytest.raises(ShapeError, match=r"tau must have shape \(1,\), got \(2,\)"):
        plant.step(np.zeros(2))
    assert (plant.q.tolist(), plant.time) == ([0.5], 0.0)


def test_a_motion_that_runs_away_names_the_joint(pendulum):
    plant = Plant(pendulum, limit_effort=False)
    with pytest.raises(SimulationError) as failure:
        for _ in range(2000):
            plant.step(np.array([1e308]))
    assert str(failure.value).startswith("joint 'hinge' diverged at ")
    assert str(failure.value).endswith("s; use a shorter step or smaller gains")


def test_a_joint_that_moves_no_inertia_is_refused(pendulum):
    bob = replace(pendulum.links[1], inertia=Inertia.zero())
    with pytest.raises(SingularMassMatrixError, match="joint 'hinge'"):
        Plant(replace(pendulum, links=(pendulum.links[0], bob)))


def test_a_step_that_is_not_positive_is_refused(pendulum):
    with pytest.raises(ArgumentError) as refusal:
        Plant(pendulum, step=0.0)
    assert str(refusal.value) == "step is 0.0 s; give a positive time"
