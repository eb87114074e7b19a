"""A motion ends at its last point, with any combination of fields."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robot_dynamics.trajectory import Follower, Waypoints

NAMES = ("shoulder", "elbow")
CONTINUOUS = 1e-6  # float64, and central differences of a quintic over 1 us


def follow(velocities, accelerations, q0=(0.3, 0.4)):
    """A follower that is sent through two points, and the second."""
    points = np.array([[0.2, 0.5], [0.1, 0.6]])
    follower = Follower(NAMES, np.array(q0))
    follower.accept(
        Waypoints(NAMES, np.array([0.3, 0.6]), points, velocities, accelerations), now=1.0
    )
    return follower, points[-1]


@pytest.mark.parametrize(
    ("velocities", "accelerations"),
    [
        (None, None),  # a spline
        (np.zeros((2, 2)), None),  # cubics: they end under acceleration
        (np.zeros((2, 2)), np.zeros((2, 2))),
        (np.zeros((2, 2)), np.array([[0.0, 0.0], [-9.0, 4.0]])),  # as time-optimal motions end
    ],
)
def test_a_motion_comes_to_rest_at_its_last_point(velocities, accelerations):
    follower, goal = follow(velocities, accelerations)
    state = follower.sample(1e9)
    np.testing.assert_allclose(state.q, goal, atol=1e-12)  # round-off of a few polynomials
    assert not np.any(state.qd)


@settings(max_examples=30)
@given(end=st.lists(st.floats(-20.0, 20.0), min_size=2, max_size=2))
def test_the_end_is_passed_by_a_few_milliradians_at_most_and_without_a_step(end):
    accelerations = np.array([[0.0, 0.0], end])
    follower, goal = follow(np.zeros((2, 2)), accelerations)
    t = np.linspace(1.6, 1.8, 2001)
    q, qd, qdd = (
        np.array(x) for x in zip(*(follower.sample(float(now)) for now in t), strict=True)
    )
    # A quintic that fades an acceleration a out over T strays by 0.0173 a T^2
    assert np.abs(q - goal).max() <= 0.0174 * 20.0 * 0.1**2
    # Between samples 0.1 ms apart: jerk of at most 9 a / T
    assert np.abs(np.diff(qdd, axis=0)).max() <= 9.1 * max(*map(abs, end), 1e-3) / 0.1 * 1.1e-4
    np.testing.assert_allclose(np.diff(q, axis=0), (qd[1:] + qd[:-1]) * 0.5e-4, atol=CONTINUOUS)
