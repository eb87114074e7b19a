import numpy as np
import pytest

from recorded_motion import Simulated, series
from robot_dynamics.errors import ArgumentError, RecordingError
from robot_dynamics.identification import Recording
from robot_dynamics.recordings.signals import cutoff_of, joint_signals, signals

ARM = Simulated.of("planar_2r")


def test_motion_below_the_edge_passes_without_shift():
    recording = ARM.recording(noise=0.0, duration=20.0)
    motion = signals(recording)
    for got, true in zip((motion.q, motion.qd, motion.qdd), series(motion.time, 2), strict=True):
        # a Butterworth of fourth order, twice, takes 1e-4 at a third of its cutoff
        inside = slice(10, -10)
        np.testing.assert_allclose(got[inside], true[inside], atol=2e-3 * np.abs(true).max())


def test_derivatives_of_irregular_samples_are_those_of_regular_ones():
    recording = ARM.recording(noise=0.0, duration=20.0, jitter=0.9, velocities=False)
    motion = signals(recording)
    true = series(motion.time, 2)
    inside = slice(10, -10)
    np.testing.assert_allclose(
        motion.qdd[inside], true[2][inside], atol=5e-3 * np.abs(true[2]).max()
    )


def test_model_columns_pass_the_filter_of_the_efforts():
    recording = ARM.recording(noise=0.0)
    sign = np.sign(recording.qd)
    stepping = Recording(recording.time, recording.q, recording.qd, sign)
    motion = signals(stepping)
    difference = np.abs(motion.low_pass(lambda path: np.sign(path.qd)) - motion.tau)
    assert np.quantile(difference, 0.99) < 0.1  # a zero crossing may fall between other samples
    assert np.abs(np.sign(motion.qd) - motion.tau).max() > 0.5


def test_edge_follows_the_motion():
    cutoffs = []
    for period in (10.0, 4.0):
        time = np.arange(0.0, 20.0, 0.004)
        q, qd, _ = series(time, 2, period=period)
        cutoffs.append(cutoff_of(Recording(time, q, qd, q)))
    assert cutoffs[0] == 3.0  # the lowest
    assert 5.0 < cutoffs[1] <= 10.0


def test_parts_between_gaps_do_not_mix():
    recording = ARM.recording(noise=0.0, duration=20.0)
    kept = (recording.time < 9.0) | (recording.time > 11.0)
    cut = Recording(
        recording.time[kept], recording.q[kept], recording.qd[kept], recording.tau[kept]
    )
    motion = signals(cut)
    assert set(motion.part) == {0, 1}
    assert not ((motion.time > 9.0) & (motion.time < 11.0)).any()
    true = series(motion.time, 2)[2]
    np.testing.assert_allclose(motion.qdd, true, atol=4e-2 * np.abs(true).max())


def test_an_edge_beyond_half_the_rate_is_refused():
    with pytest.raises(ArgumentError, match="filter cutoff is 200 Hz; give more than 0 and less"):
        signals(ARM.recording(), 200.0)


def test_a_recording_that_is_too_short_is_refused():
    short = ARM.recording(duration=0.3)
    with pytest.raises(RecordingError, match="record longer, or give a higher filter cutoff"):
        signals(short, 1.0)


def test_a_recording_of_gaps_alone_is_refused():
    time = np.append(0.01 * np.arange(50), 1e7)
    q = np.sin(time)[:, None]
    with pytest.raises(RecordingError, match=r"51 states, most of them 10 ms apart, lie within 1e"):
        cutoff_of(Recording(time, q, q, q))


def test_several_recordings_pass_one_filter_that_the_fastest_needs():
    time = np.arange(0.0, 20.0, 0.004)
    slow, fast = (
        Recording(time, q, qd, q)
        for q, qd, _ in (series(time, 2, period=period) for period in (10.0, 4.0))
    )
    motion = joint_signals([slow, fast])
    assert motion.cutoff == cutoff_of(fast) > cutoff_of(slow)
    alone = signals(fast, motion.cutoff)
    np.testing.assert_array_equal(motion.tau[motion.part == 1], alone.tau)
    sparse = Recording(*(x[::10] for x in (time, slow.q, slow.qd, slow.q)))
    assert joint_signals([fast, sparse]).cutoff == pytest.approx(0.2 * 25.0)  # of its rate


def test_friction_sees_stops_that_the_low_pass_blurs():
    step = 0.002
    time = np.arange(0.0, 20.0, step)
    s = np.clip((time % 4.0) / 2.0, 0.0, 1.0)  # moves of 2 s, rests of 2 s
    q = np.floor(time / 4.0) + s**3 * (10.0 - 15.0 * s + 6.0 * s * s)
    recording = Recording(time, 1e-4 * np.round(q / 1e-4)[:, None], None, q[:, None])
    motion = signals(recording, thinned=False)
    true = np.gradient(q, step)
    near = (np.abs(true) < 0.1) & (time > 0.5) & (time < 19.5)
    seen, blurred = (
        np.sqrt(np.mean((x[:, 0] - true[: len(x)])[near[: len(x)]] ** 2))
        for x in (motion.paths[0].qd, motion.qd)
    )
    assert seen < 7e-4  # rad/s that steps of 1e-4 rad leave behind 10 ms
    assert seen < 0.5 * blurred


def test_friction_sees_a_joint_rest_and_creep_through_encoder_steps():
    step = 0.002
    time = np.arange(0.0, 20.0, step)
    s = np.clip((time % 4.0) / 2.0, 0.0, 1.0)
    displacement = 0.3 * s**3 * (10.0 - 15.0 * s + 6.0 * s * s)
    q = np.column_stack(
        [np.where((time // 4.0) % 2, 0.3 - displacement, displacement), 3e-4 * time]
    )
    recording = Recording(time, 1e-4 * np.round(q / 1e-4), None, q)
    motion = signals(recording, thinned=False)
    (path,) = motion.paths
    true, time = np.gradient(q, step, axis=0)[: len(path.qd)], time[: len(path.qd)]
    rests = (time % 4.0 > 2.1) & (time % 4.0 < 3.9)
    np.testing.assert_array_equal(path.qd[rests, 0], 0.0)
    starts = (time > 4.0) & (time < 4.12)  # the first step comes 55 ms after the start
    error, slope = path.qd[starts, 0] - true[starts, 0], np.abs(true[starts, 0]).max()
    assert np.sqrt(np.mean(error**2)) < 0.03 * slope
    assert np.mean(path.qd[:, 1]) == pytest.approx(3e-4, rel=0.02)  # a step in 0.33 s is no rest
