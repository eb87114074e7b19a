"""The plant of elastic joints: MuJoCo, closed forms, stability, energy; plain and compiled."""

import mujoco
import numpy as np
import pytest

from choices import first
from elastic_arm import DISC, addresses, elastic, two_mass_model
from robot_dynamics.control.friction import Friction
from robot_dynamics.control.two_masses import fastest_mode
from robot_dynamics.errors import ArgumentError
from robot_dynamics.robot import read_urdf
from robot_dynamics.simulation import Plant
from robot_dynamics.simulation.compiled_plant import CompiledPlant

# Runge-Kutta steps of 50 us on both sides: worst of links and motors 5e-13 rad; a stiffness 0.1 %
# off gives 4e-6, a damping 1 % off 1e-5
SAME_MOTION = 1e-6
ROUND_OFF = 1e-9


@pytest.mark.parametrize("name", first(["ur5"], ["ur5", "panda"]))
@pytest.mark.parametrize("kind", [Plant, CompiledPlant])
def test_an_elastic_plant_moves_as_two_masses_in_mujoco(name, kind):
    robot, rotors = elastic(name, 1e4, 10.0)
    n, step, steps = robot.dof, 5e-5, 4000
    q = 0.1 + 0.2 * np.arange(n)
    tau = 5.0 * np.cos(np.arange(n))
    none = Friction.none(n)
    plant = kind(robot, q, friction=none, limit_effort=False, rotor_inertia=rotors, step=step)
    plant.place_motors(q + 0.01, np.zeros(n))
    model = two_mass_model(name, robot, rotors)
    model.opt.integrator, model.opt.timestep = mujoco.mjtIntegrator.mjINT_RK4, step
    data = mujoco.MjData(model)
    links, motors = addresses(model, robot)
    data.qpos[links], data.qpos[motors] = q, q + 0.01
    data.qfrc_applied[motors] = tau
    if kind is Plant:
        steps //= 10
    for _ in range(steps):
        plant.step(tau)
        mujoco.mj_step(model, data)
    assert np.abs(data.qpos[links] - q).max() > 1e-3  # it has moved
    np.testing.assert_allclose(plant.q, data.qpos[links], atol=SAME_MOTION)
    np.testing.assert_allclose(plant.motor_q, data.qpos[motors], atol=SAME_MOTION)
    np.testing.assert_allclose(plant.qd, data.qvel[links], atol=1e-4)


@pytest.mark.parametrize(
    "integrator", first(["semi_implicit_euler"], ["runge_kutta", "semi_implicit_euler"])
)
@pytest.mark.parametrize("memory", first([0.5], [0.0, 0.5]))
def test_the_compiled_plant_moves_as_the_plain_one(integrator, memory):
    robot, rotors = elastic("ur5", {"elbow_joint": 1e4, "wrist_2_joint": 3e3}, 5.0)
    friction = Friction(
        np.full(6, 2.0), np.full(6, 3.0), np.full(6, 1.0), load=np.full(6, 0.02),
        memory=np.full(6, memory),
    )  # fmt: skip
    q = np.array([0.0, -1.0, 3.1, 0.0, 0.5, 0.0])  # the elbow moves against its stop at pi
    options = {"friction": friction, "stops": True, "rotor_inertia": rotors}
    plants = [kind(robot, q, integrator=integrator, **options) for kind in (Plant, CompiledPlant)]
    at_stop = []
    for k in range(200):
        for plant in plants:
            tau = np.array([30.0, -20.0, 150.0, 5.0, 8.0, 1.0]) * np.cos(0.02 * k)
            plant.step(tau, np.array([1.0, 2.0, -3.0, 0.0, 1.5, 0.0]))
            at_stop.append(plant.q[2] > robot.limits.upper[2] - 1e-6)
    plain, compiled = plants
    assert any(at_stop)
    assert not all(at_stop[100:])
    for name in ("q", "qd", "motor_q", "motor_qd", "tau"):
        np.testing.assert_allclose(getattr(compiled, name), getattr(plain, name), atol=ROUND_OFF)


def test_a_link_stops_at_its_range_while_its_motor_winds_up():
    robot, rotors = elastic("ur5", 1e4, 40.0)
    q = np.array([0.0, -1.5, 3.0, 0.0, 0.5, 0.0])
    plant = CompiledPlant(robot, q, stops=True, rotor_inertia=rotors)
    hold = plant.dynamics.gravity(q)
    for _ in range(2000):
        plant.step(hold + 100.0 * (np.arange(6) == 2))
    upper = robot.limits.upper[2]
    assert plant.q[2] == pytest.approx(upper, abs=1e-9)
    # at rest the spring bears the command: (theta - q) = tau / K
    assert plant.motor_q[2] - upper == pytest.approx(plant.tau[2] / 1e4, abs=1e-6)


def swinging(stiffness, damping=0.0, **how):
    """A disc of 0.5 kg m^2 about a vertical axis on the spring of a motor of 0.2 kg m^2."""
    robot = read_urdf(DISC).with_joint_elasticity(stiffness, damping)
    plant = Plant(robot, [0.0], rotor_inertia=[0.2], limit_effort=False, **how)
    plant.place_motors([0.01], [0.0])
    return plant


def test_two_discs_swing_in_closed_form():
    K, D, M, B = 800.0, 1.0, 0.5, 0.2
    plant = swinging(K, D)
    mu = M * B / (M + B)
    w0, decay = np.sqrt(K / mu), D / (2.0 * mu)
    w = np.sqrt(w0**2 - decay**2)
    for _ in range(500):
        plant.step(np.zeros(1))
    t = plant.time
    twist = 0.01 * np.exp(-decay * t) * (np.cos(w * t) + decay / w * np.sin(w * t))
    # Runge-Kutta at w h = 0.075: error per radian (w h)^4 / 120, over 37 rad
    assert (plant.motor_q - plant.q)[0] == pytest.approx(twist, abs=1e-7)
    assert M * plant.q[0] + B * plant.motor_q[0] == pytest.approx(B * 0.01, abs=1e-12)
    fastest, joint = fastest_mode(plant.robot, plant.dynamics, np.array([0.2]))
    assert (fastest, joint) == (pytest.approx(w0), "turn")


@pytest.mark.thorough
@pytest.mark.parametrize("stiffness", first([8e5], [8e2, 8e5, 8e8, 8e11]))
def test_implicit_springs_are_stable_and_keep_their_energy(stiffness):
    plant = swinging(stiffness, integrator="semi_implicit_euler")
    most = []
    for _ in range(20000):
        plant.step(np.zeros(1))
        most.append(abs(plant.motor_q[0] - plant.q[0]))
    assert max(most) < 0.0145  # sqrt(2) of the first twist where the steps are longest
    assert max(most[-2000:]) > 0.99 * max(most[:2000])  # no numerical damping


def test_an_elastic_arm_stands_where_its_springs_bear_gravity():
    robot, rotors = elastic("panda", 5e3, 10.0)
    q = np.array([0.1, 0.5, -0.2, -1.5, 0.3, 1.8, 0.0])
    plant = CompiledPlant(robot, q, rotor_inertia=rotors)
    hold = plant.dynamics.gravity(q)
    np.testing.assert_allclose(plant.motor_q - q, hold / 5e3, atol=1e-12)
    for _ in range(300):
        plant.step(hold)
    np.testing.assert_allclose(plant.q, q, atol=1e-9)
    np.testing.assert_allclose(plant.spring_effort, hold, atol=1e-6)


def test_encoders_measure_the_side_that_they_are_on():
    plant = swinging(800.0)
    plant.step(np.ones(1))
    sides = {side: plant.measured(side) for side in ("link", "motor", "both")}
    assert sides["link"] == (plant.q, plant.qd)
    assert (sides["motor"][0], sides["motor"][1]) == (plant.motor_q, plant.motor_qd)
    assert (sides["both"][0], sides["both"][1]) == (plant.q, plant.motor_qd)
    assert plant.q[0] != plant.motor_q[0]


def test_an_elastic_joint_needs_a_motor_with_inertia():
    robot = read_urdf(DISC).with_joint_elasticity(100.0)
    message = "joint 'turn' is elastic, but its rotor has no inertia; give rotor_inertia at the "
    with pytest.raises(ArgumentError, match=message):
        Plant(robot)


def test_a_spring_too_fast_for_the_steps_is_refused_with_the_remedy():
    message = "oscillates at up to 3.99e.05 Hz .* take the integrator semi_implicit_euler"
    with pytest.raises(ArgumentError, match=message):
        swinging(9e11)


@pytest.mark.parametrize("kind", [Plant, CompiledPlant])
def test_a_push_acts_on_the_link(kind):
    robot = read_urdf(DISC).with_joint_elasticity(800.0, 40.0)
    plant = kind(robot, [0.0], rotor_inertia=[0.2], limit_effort=False)
    for _ in range(1000):
        plant.step(np.array([-3.0]), np.array([3.0]))
    # the spring bears the push, and nothing moves on
    assert plant.motor_q[0] - plant.q[0] == pytest.approx(-3.0 / 800.0, rel=1e-6)
    assert plant.tau[0] == -3.0
