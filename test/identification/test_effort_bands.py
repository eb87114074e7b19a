"""Bands around predicted efforts: coverage, files, and regimes."""

import functools
from dataclasses import replace

import numpy as np
import pytest
import yaml

from benchmark.effort_bands import simulated
from recorded_motion import Simulated
from robot_dynamics.control import Friction
from robot_dynamics.errors import RecordingError
from robot_dynamics.identification import (
    Drives,
    identify,
    read_parameters,
    validate,
    write_parameters,
)
from robot_dynamics.identification.effort_bands import Levels, calibrated
from robot_dynamics.identification.regimes import AT_REST, MOVING, REVERSING, regimes
from robot_dynamics.recordings.signals import signals
from robot_dynamics.simulation import perturbed

ARM = Simulated.of("planar_2r")
FRICTION = Friction(np.zeros(1), np.array([0.3]))


@functools.cache
def found():
    return identify(ARM.urdf, ARM.recording(noise=0.02, duration=40.0))


def judged(bands, seed):
    return validate(
        found().robot, ARM.recording(seed=seed, noise=0.02, duration=40.0),
        friction=found().friction, rotor_inertia=found().rotor_inertia, bands=bands,
        cutoff=found().cutoff,
    )  # fmt: skip


@pytest.mark.thorough
def test_bands_hold_95_percent_of_the_samples_of_other_motions():
    """400 samples, about 100 of them independent, have their share to 2 %, in 3 deviations to 6."""
    shares = [
        (one.samples, side.within)
        for seed in (5, 6)
        for fit in judged(found().bands, seed).fits
        for one in fit.regimes
        if one.samples > 200
        for side in (one.filtered, one.recorded)
    ]
    assert len(shares) > 6
    counts, within = np.array(shares).T
    assert 0.93 < np.average(within, weights=counts) < 0.98
    assert within.min() > 0.89


@pytest.mark.thorough
def test_widths_along_a_motion_hold_95_percent_of_the_efforts_as_recorded():
    recording = ARM.recording(seed=5, noise=0.02, duration=40.0)
    time, below_cutoff, as_recorded = found().band_widths(recording)
    residual = recording.tau - found().predict(recording)
    at_times = np.column_stack([np.interp(time, recording.time, x) for x in residual.T])
    assert (below_cutoff < as_recorded).all()
    within = np.mean(np.abs(at_times) < as_recorded)
    assert 0.9 < within < 0.99  # of samples of which some hundred are independent


def scaled(factor):
    """Bands of another width, beside the deviations of parameters."""
    bands = found().bands
    levels = {
        name: Levels(factor * one.level, factor * one.per_speed)
        for name, one in (("filtered", bands.filtered), ("recorded", bands.recorded))
    }
    return replace(bands, **levels)


@pytest.mark.parametrize(
    ("factor", "kind", "joints"), [(1.0, "", 0), (0.5, "too narrow", 2), (3.0, "too wide", 2)]
)
def test_the_verdict_names_bands_that_hold_too_little_or_too_much(factor, kind, joints):
    report = judged(scaled(factor), 5)
    lines = [reason for reason in report.reasons if "95 % bands" in reason]
    assert len(lines) == bool(kind)
    assert report.narrow == (kind == "too narrow")
    assert (", with bands that are too narrow" in str(report).split("\n")[0]) == report.narrow
    for line in lines:
        assert line.startswith(f"the 95 % bands are {kind}: they hold ")
        assert line.count("% of joint 'joint_") == joints


def test_a_motion_that_is_faster_than_the_training_is_named():
    bands, named = found().bands, []
    for slow in ([10.0, 10.0], [10.0, 0.1]):
        bent = replace(bands, slow=bands.slow * np.array(slow))
        named.append([r for r in judged(bent, 5).reasons if "extrapolated" in r])
    none, (line,) = named
    assert not none
    assert line.startswith("joint 'joint_2' moves with up to ")


@pytest.mark.thorough
def test_bands_hold_in_a_motion_that_is_slower_than_the_training():
    """Maxwell slip and Stribeck friction, at a fifth of the speed; 67 % by levels of motion."""
    robot = ARM.urdf
    rubs = np.array([[0.02], [0.04]]) * robot.limits.effort
    true = perturbed(robot, 0.3, 0)
    recording, noise = simulated(true, 2, 60.0, rubs)
    result = identify(robot, recording)
    slower, _ = simulated(true, 52, 60.0, rubs, noise, speed=0.2)
    report = validate(
        result.robot, slower, friction=result.friction, rotor_inertia=result.rotor_inertia,
        cutoff=result.cutoff, bands=result.bands,
    )  # fmt: skip
    assert not report.narrow, str(report)


def test_a_report_without_bands_has_no_coverage():
    assert all(np.isnan(one.filtered.within) for f in judged(None, 5).fits for one in f.regimes)


@pytest.mark.parametrize("correlation", [1, 20])
def test_levels_are_the_quantile_of_the_residuals_beside_the_parameters(correlation):
    rng = np.random.default_rng(0)
    noise = np.repeat(rng.normal(size=(20_000 // correlation, 1)), correlation, axis=0)
    speed = np.linspace(0.0, 2.0, len(noise))[:, None]
    residual = noise * (1.0 + 0.5 * speed)
    still = np.zeros_like(residual)
    regime = np.full(residual.shape, MOVING)
    levels = calibrated(residual, still, regime, speed, FRICTION)
    within = np.mean(np.abs(residual) <= levels.widths(regime, speed))
    assert within == pytest.approx(0.95, abs=0.01)
    assert levels.per_speed[0] / levels.level[MOVING, 0] == pytest.approx(0.5, rel=0.3)
    # The parameters bear the whole of it
    none = calibrated(residual, 10.0 * np.abs(residual), regime, speed, FRICTION)
    assert none.level[MOVING, 0] == 0.0


def test_a_joint_that_was_never_at_rest_may_be_held_by_its_dry_friction():
    residual = np.random.default_rng(0).normal(size=(1000, 1))
    regime = np.full(residual.shape, MOVING)
    still = np.zeros_like(residual)
    level = calibrated(residual, still, regime, still, FRICTION).level[:, 0]
    assert level[REVERSING] == level[MOVING]
    assert level[AT_REST] == pytest.approx(level[MOVING] + 0.3)


def test_many_samples_of_few_stops_are_few():
    """Friction holds each of 20 stops with another effort."""
    rng = np.random.default_rng(0)
    regime = np.full((20_000, 1), MOVING)
    residual = rng.normal(size=regime.shape)
    for k in range(20):
        own = slice(1000 * k, 1000 * k + 500)
        regime[own], residual[own] = AT_REST, 0.1 * residual[own] + rng.normal()
    stops = np.abs(residual[regime == AT_REST].reshape(20, -1).mean(axis=1))
    still = np.zeros_like(residual)
    level = calibrated(residual, still, regime, still, FRICTION).level[AT_REST, 0]
    assert np.sort(stops)[-2] < level  # of 20 the second but largest holds 95 %


def test_a_single_reversal_is_judged_by_the_residuals_of_motion_too():
    """Nine values of 1 where it reverses are one sample; of motion there are a thousand."""
    noise = np.random.default_rng(0).normal(size=(1000, 1))
    regime = np.full(noise.shape, MOVING)
    regime[500:509] = REVERSING
    still = np.zeros_like(noise)
    levels = []
    for size in (0.01, 1.0):
        residual = np.where(regime == REVERSING, size, noise)
        levels.append(calibrated(residual, still, regime, still, FRICTION).level[REVERSING, 0])
    assert 2.0 < levels[0] < levels[1] < 4.0  # deviations of motion; its own say 0.1 and 12


def test_bands_are_read_as_they_were_written(tmp_path):
    path, bands = tmp_path / "arm.yaml", found().bands
    write_parameters(path, ARM.urdf, Drives(found().friction, found().rotor_inertia, bands))
    read = read_parameters(path, ARM.urdf).bands
    for name in ("filtered", "recorded"):
        one, other = getattr(read, name), getattr(bands, name)
        np.testing.assert_allclose(one.level, other.level, rtol=1e-4)
        np.testing.assert_allclose(one.per_speed, other.per_speed, rtol=1e-4)
    assert read.names == bands.names
    np.testing.assert_allclose(read.covariance, bands.covariance, rtol=1e-4)
    np.testing.assert_array_equal(read.covariance, read.covariance.T)
    nodes = yaml.safe_load(path.read_text())
    assert "bands" not in nodes["/**"]["ros__parameters"]  # others would warn about them
    monitor, controller = (
        nodes[f"/**/{name}_node"]["ros__parameters"]["bands"] for name in ("monitor", "controller")
    )
    assert monitor == controller
    own = monitor["joint_1"]
    assert own["moving"] == pytest.approx(bands.recorded.level[MOVING, 0], rel=1e-4)
    assert own["slow"] == pytest.approx(bands.recorded.level[REVERSING:, 0].max(), rel=1e-4)


@pytest.mark.parametrize(
    ("key", "value"),
    [("cutoff", "x"), ("joints", ["a", "b"]), ("covariance", [1.0]), ("slow", [float("nan")] * 2)],
)
def test_bands_of_something_else_are_refused_in_one_line(tmp_path, key, value):
    path = tmp_path / "arm.yaml"
    write_parameters(path, ARM.urdf, Drives(found().friction, found().rotor_inertia, found().bands))
    content = yaml.safe_load(path.read_text())
    content["/**/identification"]["ros__parameters"]["bands"][key] = value
    path.write_text(yaml.safe_dump(content))
    with pytest.raises(RecordingError) as refused:
        read_parameters(path, ARM.urdf)
    assert str(refused.value) == (
        f"{path}: the bands under /**/identification are not those that `robot-dynamics identify` "
        "writes for joints joint_1, joint_2; identify again, or remove them"
    )


def test_regimes_are_moving_reversing_and_at_rest():
    """To and fro for 8 s, then a rest of 4 s between two moves."""
    time = np.arange(0.0, 16.0, 0.01)
    swing = np.where(time < 8.0, np.sin(1.5 * np.pi * time / 2.0), 0.0)
    q = swing + np.clip(time - 12.0, 0.0, None)
    recording = replace(ARM.recording(rate=100.0, duration=16.0), time=time, qd=None,
                        q=np.column_stack([q, 0.0 * q]), tau=np.zeros((1600, 2)))  # fmt: skip
    motion = signals(recording, 3.0)
    found = regimes(motion, least=np.full(2, 0.05))
    at = dict(zip(np.round(motion.time, 1), found, strict=True))

    def nearest(t):
        return at[min(at, key=lambda x: abs(x - t))].tolist()

    assert nearest(2.0 / 3.0 * 2.0) == [MOVING, AT_REST]  # middle of a swing
    assert nearest(2.0) == [REVERSING, AT_REST]
    assert nearest(10.0) == [AT_REST, AT_REST]
    assert nearest(14.0) == [MOVING, AT_REST]


def test_levels_without_growth_are_those_of_the_regime():
    levels = Levels(np.array([[1.0], [2.0], [3.0]]), np.array([0.5]))
    regime = np.array([[MOVING], [REVERSING], [AT_REST]])
    np.testing.assert_array_equal(levels.widths(regime, -np.full((3, 1), 2.0)), [[2], [2], [3]])


def test_a_joint_that_moves_slower_than_it_was_trained_has_its_widest_level():
    levels = Levels(np.array([[1.0], [2.0], [3.0]]), np.array([0.5]))
    speed = np.array([[0.1], [0.29], [0.31], [8.0]])
    found = levels.widths(np.full((4, 1), MOVING), speed, np.array([0.1]))
    np.testing.assert_allclose(found, [[3.0], [3.0], [1.155], [5.0]])
