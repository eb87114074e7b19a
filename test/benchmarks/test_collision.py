"""The judgement of pushes in the benchmark of collisions."""

import numpy as np

from benchmark.collision.motions import PERIOD_S, found_after, long_enough


def test_a_contact_lasts_as_long_as_the_monitor_asks():
    above = np.zeros((30, 2), dtype=bool)
    above[3:8, 0] = True  # five states: 4 ms
    above[10:17, 1] = True
    found = long_enough(above)
    assert not found[:, 0].any()
    assert np.flatnonzero(found[:, 1]).tolist() == [15, 16]
    np.testing.assert_allclose(found_after(found), [np.inf, 15 * PERIOD_S])
