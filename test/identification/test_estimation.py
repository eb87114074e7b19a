import functools
import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import cumulative_trapezoid

from recorded_motion import Simulated, series
from robot_dynamics import Dynamics
from robot_dynamics.control import Friction
from robot_dynamics.errors import RecordingError
from robot_dynamics.identification import Recording, identify, validate
from robot_dynamics.identification.effort_model import EffortModel
from robot_dynamics.identification.link_inertias import LinkInertias
from robot_dynamics.robot import find_robot, read_urdf
from robot_dynamics.spatial import pseudo_inertia

NOISE = 0.02  # of the largest effort of each joint, in every sample


@functools.cache
def arm(name="ur5"):
    return Simulated.of(name)


@functools.cache
def found(name="ur5"):
    return identify(arm(name).urdf, arm(name).recording(noise=NOISE))


@pytest.mark.thorough
def test_base_parameters_are_those_of_the_true_robot_to_within_their_deviations():
    true = [p.value for p in Dynamics(arm().true).base_parameters]
    off = [(p.value - t) / p.deviation for p, t in zip(found().parameters, true, strict=True)]
    # of 36 normal numbers one in ten exceeds three; filtering leaves a little more
    assert np.abs(off).max() < 4.0
    assert np.mean(np.abs(off) < 3.0) > 0.95


def test_efforts_of_another_motion_are_predicted_to_a_part_of_the_noise():
    other = arm().recording(seed=7, noise=0.0)
    error = found().predict(other) - other.tau
    # Filters feel the ends, and a step of friction is as wide as noise let it be seen
    error = np.where(np.abs(other.qd) > 0.1, error, 0.0)[200:-200]
    assert (np.sqrt(np.mean(error**2, axis=0)) < NOISE * np.abs(other.tau).max(axis=0)).all()


def test_friction_is_found():
    friction, true = found().friction, arm().friction
    moving = np.abs(Simulated.of("ur5").recording().qd).max(axis=0)
    fast, slow = 0.8 * moving, 0.3 * moving
    for speed in (fast, slow, -fast):
        at = friction.smooth(speed) - friction.offset
        np.testing.assert_allclose(at, true.smooth(speed), rtol=0.1, atol=0.15)


def test_every_body_that_is_found_exists():
    for link in found().robot.links:
        if link.inertia.mass:
            assert np.linalg.eigvalsh(pseudo_inertia(link.inertia))[0] > 0.0, link.name


def test_mass_matrix_is_positive_definite_at_random_poses():
    robot = found().robot
    q = np.random.default_rng(0).uniform(-np.pi, np.pi, (1000, robot.dof))
    assert np.linalg.eigvalsh(Dynamics(robot).mass_matrix(q)).min() > 0.0


def test_the_robot_that_is_found_has_the_efforts_of_the_base_parameters():
    result, other = found(), arm().recording(seed=3)
    qdd = np.gradient(other.qd, other.time, axis=0)
    Y = Dynamics(arm().urdf).regressor(other.q, other.qd, qdd)
    tau = Dynamics(result.robot).inverse(other.q, other.qd, qdd)
    base = np.array([p.consistent for p in result.parameters])
    # the same numbers by two ways, both in double precision
    np.testing.assert_allclose(Y @ base, tau, atol=1e-9 * np.abs(tau).max())


def test_links_with_inertia_and_no_mass_are_felt():
    """The feet of bolt, whose inertia is part of its efforts."""
    links = LinkInertias.of(read_urdf(find_robot("bolt")))
    values = [parameter.value for parameter in links.base]
    np.testing.assert_allclose(links.K @ links.parameters, values, atol=1e-12)


def test_a_wrong_urdf_is_told_from_the_identified_robot():
    other = arm().recording(seed=5)
    before = validate(arm().urdf, other)
    after = validate(found().robot, other, friction=found().friction)
    assert after.verdict == "good"
    assert (after.relative < 0.3 * before.relative).all()


@pytest.mark.thorough
def test_a_few_wild_samples_change_little():
    recording = arm().recording(noise=NOISE)
    tau = recording.tau.copy()
    tau[::97] += 3.0 * np.abs(tau).max(axis=0)
    wild = identify(arm().urdf, Recording(recording.time, recording.q, recording.qd, tau))
    true = np.array([p.value for p in Dynamics(arm().true).base_parameters])
    urdf = np.array([p.value for p in Dynamics(arm().urdf).base_parameters])
    values = np.array([p.value for p in wild.parameters])
    assert np.abs(values - true).max() < 0.3 * np.abs(urdf - true).max()


@pytest.mark.thorough
def test_irregular_stamps_without_velocities_serve_as_well():
    recording = arm().recording(noise=0.005, jitter=0.8, velocities=False)
    result = identify(arm().urdf, recording)
    assert result.report.verdict == "good"


def test_rotor_inertia_is_found_where_it_acts():
    simulated = Simulated.of("planar_2r", friction=(0.1, 0.1))
    recording = simulated.recording(noise=0.002)
    qdd = np.gradient(recording.qd, recording.time, axis=0)
    rotor = np.array([0.0, 0.4])
    driven = Recording(recording.time, recording.q, recording.qd, recording.tau + rotor * qdd)
    # only the second: that of the first joint cannot be told from the link that it turns
    assert identify(simulated.urdf, driven).rotor_inertia[1] == pytest.approx(0.4, rel=0.1)
    assert not identify(simulated.urdf, recording).rotor_inertia.any()


@pytest.mark.thorough
def test_what_no_motion_of_an_arm_can_tell_apart_is_named_instead_of_advice_to_excite_more():
    recording = arm().recording(noise=0.002)
    qdd = np.gradient(recording.qd, recording.time, axis=0)
    driven = Recording(recording.time, recording.q, recording.qd, recording.tau + 0.4 * qdd)
    reasons = identify(arm().urdf, driven, rotor_inertia=True).report.reasons
    assert (
        "no motion of this arm tells shoulder_link.Izz, upper_arm_link.Izz from rotor inertia or "
        "friction of the same effect; only their sums are identified, which is all that efforts "
        "need"
    ) in reasons
    assert not any("excite" in reason for reason in reasons)


def test_the_headline_of_a_report_names_the_worst_joint_of_its_table():
    rubbing = Simulated.of("ur5", friction=(0.05, 0.2))
    recording = rubbing.recording(noise=0.0)
    tau = recording.tau.copy()
    tau[:, 5] += 0.15 * np.sin(5.0 * recording.time)  # N m: half of its effort, little to its limit
    recording = replace(recording, tau=tau)
    report = validate(rubbing.true, recording, friction=rubbing.friction)
    assert report.verdict == "good"
    printed = [float(x) for x in re.findall(r"  ([\d.]+) %  ", str(report))]
    wrist, (headline, small) = report.fits[5], report.reasons
    worst = wrist.of("reversing").filtered
    assert headline == (
        f"at most {100 * worst.relative:.1f} % ({worst.rms:.3g} N m or N rms, "
        f"{100 * worst.of_limit:.1f} % of its limit) of an effort stays unexplained: joint "
        "'wrist_3_joint', reversing, below the cutoff, on samples that the fit did not see"
    )
    assert round(100 * worst.relative, 1) == max(x for x in printed if x != 100.0) > 15.0
    moving = wrist.of("moving").filtered
    assert small == (
        f"joint 'wrist_3_joint' is good, as {100 * moving.relative:.1f} % ({moving.rms:.3g} N m "
        f"or N rms, {100 * moving.of_limit:.1f} % of its limit) moving is below 1 % of its effort "
        "limit"
    )


def test_friction_that_grows_with_load_and_falls_with_speed_is_found():
    simulated = Simulated.of("planar_2r")
    n = simulated.urdf.dof
    simulated.friction = Friction(
        np.full(n, 0.3), np.full(n, 1.0), stiction=np.full(n, 1.0), stribeck=np.full(n, 0.3),
        load=np.full(n, 0.1), width=np.full(n, 0.02),
    )  # fmt: skip
    result = identify(simulated.urdf, simulated.recording(noise=0.002, duration=30.0))
    np.testing.assert_allclose(result.friction.load, 0.1, atol=0.03)
    np.testing.assert_allclose(result.friction.coulomb, 1.0, atol=0.25)


def test_friction_that_would_push_is_none():
    planar = Simulated.of("planar_2r")
    model = EffortModel.of(planar.urdf, planar.friction)
    pushing = tuple(-values for values in model.coefficients)
    friction = replace(model, coefficients=pushing).friction
    assert not friction.viscous.any() and not friction.coulomb.any()


def test_an_arm_without_friction_is_identified():
    frictionless = Simulated.of("planar_2r", friction=(0.0, 0.0))
    for physical in (True, False):
        found = identify(frictionless.urdf, frictionless.recording(noise=0.002), physical=physical)
        assert found.report.verdict == "good"
        assert (np.abs(found.friction.smooth(np.ones(2))) < 0.2).all()


@pytest.mark.thorough
def test_several_motions_are_identified_from_together():
    parts = [arm().recording(seed=s, duration=8.0) for s in (0, 1)]
    assert identify(arm().urdf, parts).report.verdict == "good"
    with pytest.raises(RecordingError, match="no recording is given"):
        identify(arm().urdf, [])


def test_a_payload_is_seen_as_a_model_that_no_longer_fits():
    loaded = Simulated(arm().urdf, arm().true.with_payload("tool0", mass=5.0), arm().friction)
    report = validate(found().robot, loaded.recording(seed=4), friction=found().friction)
    assert report.verdict != "good"
    assert "unexplained" in report.reasons[0]


@pytest.mark.thorough
def test_an_arm_that_brakes_hold_before_it_moves_is_identified_as_without_them():
    recording = arm("planar_2r").recording(noise=NOISE)
    held = np.arange(500)[:, None] * np.zeros(2)  # 2 s, in which the drives do nothing
    time = np.concatenate([np.arange(-500, 0) / 250.0, recording.time])
    with_brakes = Recording(
        time,
        np.concatenate([held + recording.q[0], recording.q]),
        np.concatenate([held, recording.qd]),
        np.concatenate([held, recording.tau]),
    )
    values = [
        np.array([p.value for p in identify(arm("planar_2r").urdf, one, physical=False).parameters])
        for one in (recording, with_brakes)
    ]
    deviation = np.array([p.deviation for p in found("planar_2r").parameters])
    assert (np.abs(values[1] - values[0]) < deviation).all()


def test_a_joint_that_friction_holds_while_another_moves_misleads_no_fit():
    planar = arm("planar_2r")
    time = np.arange(0.0, 20.0, 1.0 / 250.0)
    pace = np.maximum(np.sin(1.5 * time), 0.0)  # the first joint stands half of the time
    q, qd, qdd = series(time, 2)
    halting = series(cumulative_trapezoid(pace, time, initial=0.0), 2)
    q[:, 0], qd[:, 0] = halting[0][:, 0], halting[1][:, 0] * pace
    qdd[:, 0] = halting[2][:, 0] * pace**2 + halting[1][:, 0] * np.gradient(pace, time)
    tau = planar.efforts(q, qd, qdd)
    tau[:, 0] += np.where(pace > 0.0, 0.0, planar.friction.coulomb[0] * np.sin(time))
    tau += 0.002 * np.random.default_rng(0).normal(size=tau.shape) * np.abs(tau).max(axis=0)
    result = identify(planar.urdf, Recording(time, q, qd, tau))
    other = planar.recording(seed=7, noise=0.0)
    error = np.where(np.abs(other.qd) > 0.1, result.predict(other) - other.tau, 0.0)[200:-200]
    # A quarter of the noise; friction at rest that is fitted as well brings 1.3e-3
    assert (np.sqrt(np.mean(error**2, axis=0)) < 5e-4 * np.abs(other.tau).max(axis=0)).all()


@pytest.mark.thorough
def test_deviations_know_that_nobody_says_when_in_its_period_an_effort_acted():
    simulated, half = Simulated.of("ur5", friction=(0.8, 0.0)), 0.5 / 250.0
    recording = simulated.recording(noise=0.0005)
    time = recording.time
    late = np.column_stack([np.interp(time - half, time, one) for one in recording.tau.T])
    result = identify(simulated.urdf, replace(recording, tau=late))
    true = [p.value for p in Dynamics(simulated.true).base_parameters]
    off = [(p.value - t) / p.deviation for p, t in zip(result.parameters, true, strict=True)]
    assert np.abs(off).max() < 3.0
