"""What was desired a moment ago."""

import numpy as np
import pytest

from robot_dynamics.control.reference_history import KEPT, ReferenceHistory

# Round-off of numbers around one
EXACT = 1e-12


def desired_at(history, time):
    """Positions and velocities that were desired at a time, or None."""
    segment = history.around(time, np.zeros(1))
    return None if segment is None else segment.desired()


def filled(count=50, step=0.01):
    """A motion q = t^2 / 2, sampled."""
    history = ReferenceHistory(0.1)
    for k in range(count):
        t = 10.0 + k * step
        history.add(t, np.array([[0.5 * t**2], [t]]))
    return history


def test_what_was_desired_at_an_entry_is_that_entry():
    q, qd = desired_at(filled(), 10.2)
    np.testing.assert_allclose([q[0], qd[0]], [0.5 * 10.2**2, 10.2], rtol=EXACT)


def test_between_entries_it_is_interpolated():
    q, qd = desired_at(filled(), 10.205)
    # A chord of a parabola of curvature 1 over 0.01 is 0.01^2 / 8 off
    np.testing.assert_allclose([q[0], qd[0]], [0.5 * 10.205**2, 10.205], rtol=0.0, atol=1.3e-5)


def test_after_the_last_entry_the_motion_goes_on_with_its_velocity():
    q, qd = desired_at(filled(), 10.49 + 0.05)
    np.testing.assert_allclose([q[0], qd[0]], [0.5 * 10.49**2 + 0.05 * 10.49, 10.49], rtol=EXACT)


def test_before_the_first_entry_the_motion_came_with_its_velocity():
    q, _ = desired_at(filled(), 9.95)
    np.testing.assert_allclose(q[0], 50.0 - 0.05 * 10.0, rtol=EXACT)


def test_the_motion_does_not_go_on_for_ever_and_never_jumps():
    history = filled()
    ahead = [desired_at(history, 10.49 + gap)[0][0] for gap in (0.099, 0.1, 0.2, 0.5)]
    np.testing.assert_allclose(ahead, ahead[1], rtol=0.0, atol=0.011)  # 1 ms of 10.5 rad/s
    assert ahead[1] == ahead[2] == ahead[3]


@pytest.mark.parametrize("time", [0.0, 8.9, 11.6, 1e9])
def test_a_time_of_another_clock_is_compared_with_nothing(time):
    assert desired_at(filled(), time) is None


def test_without_entries_there_is_nothing_to_compare_with():
    assert desired_at(ReferenceHistory(0.1), 0.0) is None


def test_old_entries_are_dropped_and_the_newest_kept():
    history = filled(count=1000)
    assert desired_at(history, 10.0) is None
    oldest = 10.0 + 2 * KEPT * 0.01
    q, _ = desired_at(history, oldest - 0.5)  # extrapolated from the oldest by 0.1 s at most
    np.testing.assert_allclose(q[0], 0.5 * oldest**2 - 0.1 * oldest, rtol=EXACT)
    q, _ = desired_at(history, 10.0 + 990 * 0.01)
    np.testing.assert_allclose(q[0], 0.5 * 19.9**2, rtol=EXACT)


def test_when_the_clock_is_set_back_what_was_desired_before_is_forgotten():
    history = filled()
    history.add(5.0, np.array([[1.0], [0.0]]))
    assert desired_at(history, 10.2) is None
    assert desired_at(history, 5.0)[0][0] == 1.0


def test_entries_are_copies():
    history, state = ReferenceHistory(0.1), np.ones((2, 1))
    history.add(0.0, state)
    state[:] = 7.0
    assert desired_at(history, 0.0)[0][0] == 1.0
