"""Gains of elastic joints: Routh's limit of one joint, and arms that come to rest in simulation."""

from dataclasses import replace

import numpy as np
import pytest

from choices import first
from elastic_arm import DISC, ROTORS, arm_of
from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.control import Friction, Gains, Model
from robot_dynamics.control.gains import ideal_gains
from robot_dynamics.control.sampled_loop import Sampling
from robot_dynamics.control.sampling.loop_tuning import LoopTuning
from robot_dynamics.control.sampling.resonance import SpringLoop
from robot_dynamics.control.sampling.tuning import Tuner
from robot_dynamics.control.stability import stability_limit
from robot_dynamics.control.two_masses import TwoMasses
from robot_dynamics.simulation import ElasticController, simulate
from robot_dynamics.simulation.compiled_plant import CompiledPlant
from robot_dynamics.trajectory import Trajectory
from robot_dynamics.trajectory.motions import middle_pose

M, B, K, D = 0.5, 0.2, 800.0, 1.5


def disc(encoders):
    robot = read_urdf(DISC).with_joint_elasticity(K, D)
    gains = Gains([1.0], [1.0])
    return Model(Dynamics(robot), gains, rotor_inertia=np.array([B]), encoders=encoders)


def largest(loop, ratio, high=1e4):
    """Velocity gain at the limit of stability."""
    low = 0.0
    for _ in range(50):
        middle = (low + high) / 2.0
        stable = loop.is_stable(np.array([ratio * middle]), np.array([middle]))
        low, high = (middle, high) if stable else (low, middle)
    return low


def test_encoders_on_the_link_reach_the_limit_of_routh():
    # M B s^3 + D (M+B) s^2 + (K (M+B) + D kd) s + K kd for kp = 0
    limit = D * K * (M + B) ** 2 / (M * B * K - D**2 * (M + B))
    loop = SpringLoop.of(disc("link")).sampled(np.array([[[M]]]), Sampling(1e-5, 0.0))[0]
    assert largest(loop, 1e-2) == pytest.approx(limit, rel=5e-3)


@pytest.mark.parametrize("encoders", ["motor", "both"])
def test_damping_by_the_motor_has_no_such_limit(encoders):
    link, other = (
        SpringLoop.of(disc(side)).sampled(np.array([[[M]]]), Sampling(1e-5, 0.0))[0]
        for side in ("link", encoders)
    )
    assert largest(other, 1e-2) > 500.0 * largest(link, 1e-2)


def test_a_rigid_joint_has_the_limit_of_the_rigid_rule():
    robot = read_urdf(DISC)
    rigid = SpringLoop(TwoMasses(1), np.full(1, np.inf), np.zeros(1), np.zeros(1), "link")
    for period, delay in ((1e-3, 0.0), (1e-3, 2.3e-3), (4e-3, 5e-3)):
        loop = rigid.sampled(Dynamics(robot).mass_matrix(np.zeros((1, 1))), Sampling(period, delay))
        limit = stability_limit(5.0, period, delay) * M
        assert largest(loop[-1], 5.0) == pytest.approx(limit, rel=1e-3)


def twisting_arm(name, ratio, encoders, *, fitting=True):
    """Largest rates of the springs in two windows after a push, with damping of a ratio, rad/s."""
    rotors, rigid = np.array(ROTORS[name]), Dynamics(arm_of(name).with_gravity(np.zeros(3)))
    inertia = np.diag(rigid.mass_matrix(middle_pose(rigid.robot)))
    damping = 2.0 * ratio * np.sqrt(1e4 * inertia * rotors / (inertia + rotors))
    robot = rigid.robot.with_joint_elasticity(1e4, damping)
    arm = Dynamics(robot)
    wanted = ideal_gains(arm)
    model = Model(arm, wanted, rotor_inertia=rotors, encoders=encoders)
    if fitting:
        model = Tuner(arm).model(model, wanted, 20.0, Sampling.of(1e-3))
    plant = CompiledPlant(robot, friction=Friction.none(robot.dof), rotor_inertia=rotors)
    motion = Trajectory.hold(robot.joint_names, middle_pose(robot))
    law, rates = ElasticController(model, motion, period=1e-3), []

    def pushed(t, desired, measured):
        rates.append(np.abs(plant.motor_qd - plant.qd).max())
        return law(t, desired, measured) + (5.0 if t < 5e-3 else 0.0)

    simulate(plant, pushed, motion, duration=2.0, encoders=encoders, command_delay=1e-3)
    return max(rates[100:300]), max(rates[1800:])


@pytest.mark.parametrize("encoders", first(["both"], ["link", "motor", "both"]))
@pytest.mark.parametrize("ratio", first([0.01], [0.05, 0.01]))
@pytest.mark.parametrize("name", first(["ur5"], ["ur5", "panda"]))
def test_fitted_gains_let_the_oscillation_die_out(name, ratio, encoders):
    early, late = twisting_arm(name, ratio, encoders)
    assert late < 0.5 * early


def test_gains_that_know_no_springs_make_it_grow():
    early, late = twisting_arm("ur5", 0.01, "link", fitting=False)
    assert early > 1.0
    assert late > 1.0


def test_a_loop_says_which_elastic_joints_have_lower_gains():
    model = disc("link")
    tuning = LoopTuning(model.dynamics, Gains([280.0], [28.0]), 20.0, 1e-3)
    for k in range(1000):
        tuning.feed(1e-3 * k, 0.0)
    fitting, line = tuning.retune(model)
    assert fitting.inertia_weighted
    assert "; gains are lowered for elastic joints, turn to 0.0" in line
    assert line.endswith(f"the mass matrix, at a bandwidth of {fitting.bandwidth:.3g} rad/s")


def test_a_share_of_the_resonance_limits_the_bandwidth_on_either_side():
    resonance = np.sqrt(K * (1.0 / M + 1.0 / B))
    wanted = Gains([400.0 * (M + B)], [40.0 * (M + B)])  # 20 rad/s
    for encoders, share in (("motor", 0.1), ("link", 0.005)):
        model = replace(disc(encoders), resonance_share=share)
        fitting = Tuner(model.dynamics).model(model, wanted, 20.0, Sampling.of(1e-3))
        own = np.sqrt(fitting.gains.kp[0] / (M + B))
        assert own == pytest.approx(share * resonance, rel=1e-6)
        assert fitting.gains.kd[0] / wanted.kd[0] == pytest.approx(own / 20.0)
        assert fitting.bandwidth == pytest.approx(share * resonance, rel=1e-6)


def test_the_line_names_joints_and_resonances():
    model = disc("link")
    wanted = Gains([280.0], [28.0])
    tuner = Tuner(model.dynamics)
    fitting = tuner.model(model, wanted, 20.0, Sampling.of(1e-3))
    hertz = np.sqrt(K * (1.0 / M + 1.0 / B)) / (2.0 * np.pi)
    line = tuner.lowered_joints(fitting, wanted)
    assert line.startswith("turn to 0.0")
    assert line.endswith(f" of p (resonance {hertz:.3g} Hz)")
    motor = tuner.model(disc("motor"), wanted, 20.0, Sampling.of(1e-3))
    assert tuner.lowered_joints(motor, wanted) == ""
    assert fitting.bandwidth < 5.0 < motor.bandwidth
