"""References of a preceding controller: their time, and what counts as none."""

import numpy as np
import pytest

from robot_dynamics.control.chained_reference import chained_reference

LEAD = 1e-3
NAN = np.nan
NONE = np.full(2, NAN)


def motion(t):
    """Position, velocity and acceleration of a motion with constant acceleration."""
    a, v = np.array([2.0, -3.0]), np.array([0.5, 0.1])
    return np.array([v * t + 0.5 * a * t * t, v + a * t, a])


def written(*rows):
    return np.array([*rows, *[NONE] * (4 - len(rows))])


def test_values_of_a_later_time_give_the_reference_of_now():
    found = chained_reference(written(*motion(0.2 + LEAD)), 0.0, LEAD)
    now = np.array([found[name] for name in ("q", "qd", "qdd")])
    np.testing.assert_allclose(now, motion(0.2), rtol=1e-14)
    assert (found["comes"], found["with_velocities"], found["has_tau"]) == (1.0, 1.0, 0.0)
    np.testing.assert_array_equal(found["tau"], 0.0)


def test_positions_alone_are_a_reference_until_velocities_are_written():
    found = chained_reference(written([0.1, 0.2]), 0.0, LEAD)
    assert (found["comes"], found["with_velocities"]) == (1.0, 0.0)
    np.testing.assert_array_equal(found["q"], [0.1, 0.2])
    for velocities in (NONE, np.array([0.3, NAN])):
        found = chained_reference(written([0.1, 0.2], velocities), 1.0, LEAD)
        assert (found["comes"], found["with_velocities"]) == (0.0, 1.0)


@pytest.mark.parametrize("wrong", [NAN, np.inf, -1e7])
def test_a_position_that_is_no_number_is_no_reference(wrong):
    assert chained_reference(written([0.1, wrong], np.zeros(2)), 0.0, LEAD)["comes"] == 0.0
    found = chained_reference(written([0.1, 0.2], np.zeros(2), [wrong, 1.0]), 0.0, LEAD)
    assert found["comes"] == 1.0
    np.testing.assert_array_equal(found["qdd"], [0.0, 1.0])


def test_efforts_count_only_if_every_joint_has_one():
    moves = np.zeros((3, 2))
    for tau, has in (([1.0, -2.0], 1.0), ([1.0, NAN], 0.0), ([1.0, 1e12], 0.0)):
        found = chained_reference(np.array([*moves, tau]), 0.0, LEAD)
        assert found["has_tau"] == has
        assert found["tau"][0] == 1.0
        assert np.isfinite(found["tau"]).all()
