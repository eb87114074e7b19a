"""Pictures of recordings."""

import numpy as np

from robot_dynamics.foundation.pictures import with_gaps


def test_no_line_is_drawn_over_a_gap():
    time = np.concatenate([np.arange(0.0, 1.0, 0.1), np.arange(2.0, 3.0, 0.1)])
    cut = with_gaps(time)
    at = cut(time)
    assert np.flatnonzero(np.isnan(at)).tolist() == [10]
    np.testing.assert_array_equal(at[~np.isnan(at)], time)
    values = cut(np.column_stack([time, 2.0 * time]))
    assert values.shape == (21, 2) and np.isnan(values[10]).all()


def test_samples_without_a_gap_stay_as_they_are():
    for time in (np.arange(0.0, 1.0, 0.1), np.array([3.0]), np.array([])):
        np.testing.assert_array_equal(with_gaps(time)(time), time)
