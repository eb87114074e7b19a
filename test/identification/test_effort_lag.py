"""The lag of efforts behind the motion is found, reported and taken out."""

import re
from dataclasses import replace

import numpy as np
import pytest

from recorded_motion import Simulated, series
from robot_dynamics.identification import identify
from robot_dynamics.identification.effort_lag import effort_lag
from robot_dynamics.identification.friction_and_bodies import Fit
from robot_dynamics.recordings.recording import Recording
from robot_dynamics.recordings.signals import joint_signals

ARM = Simulated.of("planar_2r")
RATE = 250.0


def recording(lag, noise=0.02):
    """A motion whose efforts are those of `lag` s before."""
    time = np.arange(0.0, 20.0, 1.0 / RATE)
    q, qd, _ = series(time, ARM.urdf.dof)
    tau = ARM.efforts(*series(time - lag, ARM.urdf.dof))
    random = np.random.default_rng(0).normal(size=tau.shape)
    return Recording(time, q, qd, tau + noise * np.abs(tau).max(axis=0) * random, "run")


def lag_of(*recordings):
    return effort_lag(Fit(ARM.urdf, joint_signals(recordings), np.eye(ARM.urdf.dof)))


@pytest.mark.parametrize("lag", [-0.01, 0.0, 0.005, 0.02, 0.05])
def test_the_lag_of_efforts_is_found_within_a_millisecond(lag):
    assert lag_of(recording(lag)).seconds == pytest.approx(lag, abs=1e-3)  # noise of 2 %
    assert lag_of(recording(lag, noise=0.0)).seconds == pytest.approx(lag, abs=5e-5)


def test_several_recordings_have_one_lag():
    parts = recording(0.02).between(0.0, 8.0), recording(0.02).between(8.0, 20.0)
    assert lag_of(*parts).seconds == pytest.approx(0.02, abs=1e-3)


def test_identify_reports_a_lag_and_the_option_that_takes_it_out():
    late = recording(0.02)
    found = identify(ARM.urdf, late, physical=False)
    (text,) = [w.text for w in found.report.quality_warnings if "efforts come" in w.text]
    said = re.fullmatch(
        r"run: efforts come ([\d.]+) ms after the motion; without that lag the residual is "
        r"([\d.]+) times smaller: --effort-lag=([\d.]+) takes it out",
        text,
    )
    milliseconds, ratio, option = map(float, said.groups())
    assert milliseconds == pytest.approx(1e3 * option) == pytest.approx(20.0, abs=1.0)
    assert ratio > 2.0
    corrected = identify(ARM.urdf, late.with_earlier_efforts(0.02), physical=False)
    assert not any("efforts come" in w.text for w in corrected.report.quality_warnings)
    worst = [max(fit.rms for fit in one.report.fits) for one in (found, corrected)]
    assert worst[1] < worst[0]


@pytest.mark.parametrize("lag", [0.25, -0.25])
def test_no_lag_is_suggested_at_an_end_of_the_range(lag):
    found = identify(ARM.urdf, recording(lag), physical=False)
    texts = [w.text for w in found.report.quality_warnings]
    assert not any("--effort-lag" in text for text in texts)
    assert (
        "run: no lag of the efforts within 100 ms fits the motion; they are noise, come later or "
        "earlier still, or are of other joints, signs or units: check how they were recorded"
    ) in texts


def test_efforts_in_time_give_no_report():
    found = identify(ARM.urdf, recording(0.0), physical=False)
    assert not any("efforts come" in w.text for w in found.report.quality_warnings)


def test_efforts_that_come_earlier_by_the_lag_are_those_of_the_motion():
    late = replace(recording(0.02, noise=0.0), qd=None)
    in_time, exact = late.with_earlier_efforts(0.02), recording(0.0, noise=0.0)
    assert in_time.time[-1] == pytest.approx(exact.time[-1] - 0.02)
    # 5 samples of 4 ms: no interpolation
    np.testing.assert_allclose(in_time.tau, exact.tau[: len(in_time.time)], atol=1e-9)
