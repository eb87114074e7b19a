"""A controller and a plant together: what feedforward is worth."""

import numpy as np
import pytest

from choices import first
from robot_dynamics.control import Friction, Model, Reference, gains_for, pd_feedforward
from robot_dynamics.control.laws import MODES
from robot_dynamics.errors import ArgumentError
from robot_dynamics.simulation import Plant, simulate, with_mass_scaled
from robot_dynamics.simulation.sensors import Imperfections, Sensor
from robot_dynamics.trajectory import excitation, interpolate, polynomial_345


@pytest.fixture(scope="module")
def model(panda):
    return Model(panda, gains_for(panda), Friction.of(panda.robot))


@pytest.fixture(scope="module")
def motion(panda):
    return interpolate(excitation(panda.robot, 4.0))


def controller(model, mode):
    """A mode of `MODES`, fed with the efforts of the desired motion."""
    law = MODES[mode].effort

    def control(t, desired, measured):
        reference = Reference(desired.q, desired.qd, model.feedforward(*desired))
        return law(model, reference, measured)

    return control


def rms(plant, model, mode, motion):
    return simulate(plant, controller(model, mode), motion).rms_error


def test_feedforward_tracks_at_least_twenty_times_better_than_the_same_pd_alone(model, motion):
    plant = Plant(model.dynamics.robot, dynamics=model.dynamics)
    ratio = rms(plant, model, "pd", motion) / rms(plant, model, "feedforward", motion)
    assert ratio.min() > 20.0, dict(zip(model.dynamics.robot.joint_names, ratio, strict=True))


@pytest.mark.parametrize("factor", first([1.1], [0.9, 1.1]))
def test_feedforward_tracks_better_with_every_mass_ten_percent_off(model, motion, factor):
    plant = Plant(with_mass_scaled(model.dynamics.robot, factor))
    ratio = rms(plant, model, "pd", motion) / rms(plant, model, "feedforward", motion)
    # With gravity the cause of most of the error, 10 % of it stays: about ten times better
    assert ratio.min() > 3.0, dict(zip(model.dynamics.robot.joint_names, ratio, strict=True))


@pytest.mark.parametrize("mode", ["feedforward", "computed_torque"])
def test_a_model_without_error_tracks_as_well_as_the_cycle_allows(model, motion, mode):
    plant = Plant(model.dynamics.robot, dynamics=model.dynamics)
    error = rms(plant, model, mode, motion)
    # Efforts are held over a cycle, so act half a cycle late: at accelerations up to 5 rad/s^2 and
    # bandwidths down to 3 rad/s this makes jerk * h / 2 / w^2, below 1e-3 rad
    assert error.max() < 1e-3


def test_at_a_hold_pd_with_gravity_leaves_no_error_where_pd_sags(model, panda):
    names, q = panda.robot.joint_names, np.array([0.0, 0.5, 0.0, -1.5, 0.0, 1.8, 0.0])
    hold = interpolate(polynomial_345(names, q, q, 3.0))
    plant = Plant(panda.robot, q, dynamics=panda)
    sag = simulate(plant, controller(model, "pd"), hold).error[-1]
    still = simulate(plant, controller(model, "pd_gravity"), hold).error[-1]
    assert np.abs(sag).max() > 0.01
    assert np.abs(still).max() < 1e-6


def test_tracking_survives_noise_delay_and_losses(model, motion):
    plant = Plant(model.dynamics.robot, dynamics=model.dynamics)
    how = Imperfections(position_noise=1e-4, velocity_noise=1e-2, delay=2, loss=0.1, seed=5)
    log = simulate(plant, controller(model, "feedforward"), motion, sensor=Sensor(how))
    # Noise of 0.01 rad/s times kd (50 N m s/rad and 4 kg m^2 at most) shakes by 0.1 rad/s^2; a
    # delay of 2 ms at 1 rad/s looks like 2e-3 rad; each well below this over the bandwidth
    assert log.peak_error.max() < 0.02


def test_the_log_has_one_row_a_cycle_and_efforts_within_limits(model, motion):
    robot = model.dynamics.robot
    plant = Plant(robot, dynamics=model.dynamics)
    log = simulate(plant, controller(model, "feedforward"), motion, rate=500.0, duration=0.1)
    assert log.t.tolist() == pytest.approx([0.002 * k for k in range(51)])
    assert log.q.shape == log.tau.shape == log.saturated.shape == (51, robot.dof)
    assert np.all(log.peak_effort <= robot.limits.effort)
    np.testing.assert_array_equal(log.q[0], motion.sample(0.0).q)


def test_a_saturated_joint_is_marked(pendulum):
    motion = interpolate(polynomial_345(("hinge",), [0.0], [0.5], 1.0))
    log = simulate(Plant(pendulum), lambda t, desired, measured: np.array([9.0]), motion)
    assert log.saturated.all()
    assert np.all(log.tau == 5.0)


def test_a_continuous_joint_is_compared_by_the_shorter_way_round():
    from robot_dynamics.robot.urdf.reader import read_urdf

    wheel = read_urdf(
        '<robot name="wheel"><link name="base"/><link name="rim"><inertial><mass value="1"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        '<joint name="axle" type="continuous"><parent link="base"/><child link="rim"/>'
        '<axis xyz="0 0 1"/></joint></robot>'
    )
    motion = interpolate(polynomial_345(("axle",), [0.0], [0.1], 0.1))
    plant = Plant(wheel)
    log = simulate(plant, lambda t, desired, measured: np.zeros(1), motion)
    turned = type(log)(**{**vars(log), "q": log.q + 4 * np.pi})
    np.testing.assert_allclose(turned.error, log.error, rtol=0.0, atol=1e-12)


def test_a_trajectory_of_other_joints_is_refused(pendulum, motion):
    with pytest.raises(ArgumentError) as refusal:
        simulate(Plant(pendulum), lambda *_: np.zeros(1), motion)
    assert str(refusal.value) == (
        f"trajectory has joints {', '.join(motion.joint_names)} but the plant hinge; "
        "give both the same, in the same order"
    )


def test_a_rate_that_does_not_fit_the_step_is_refused(pendulum):
    motion = interpolate(polynomial_345(("hinge",), [0.0], [0.5], 1.0))
    with pytest.raises(ArgumentError) as refusal:
        simulate(Plant(pendulum), lambda *_: np.zeros(1), motion, rate=300.0)
    assert str(refusal.value) == (
        "rate 300 Hz: a cycle is not a whole number of plant steps of 0.001 s; "
        "choose another rate or step"
    )


def test_the_pd_law_of_the_comparison_uses_the_same_gains(model):
    desired, measured = np.full((2, 7), 0.1), np.zeros((2, 7))
    reference = Reference(desired[0], desired[1], np.full(7, 5.0))
    with_model = pd_feedforward(reference, measured_state(measured), model.gains)
    alone = MODES["pd"].effort(model, reference, measured_state(measured))
    np.testing.assert_allclose(with_model - alone, 5.0, rtol=1e-12)


def measured_state(rows):
    from robot_dynamics.control import Measured

    return Measured(*rows)
