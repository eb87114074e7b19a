"""Random numbers of a counter: native code and Python have the same, and they are normal."""

import numpy as np
import pytest

from robot_dynamics.compiler.native.loop.loop_steps import Normals, Record
from robot_dynamics.compiler.native.loop.native_loop import NativeLoop
from robot_dynamics.compiler.native.loop.normals import normals

# Logarithm, sine and cosine of two libraries: 2 units in the last place of a number up to 8
ROUND_OFF = 1e-14


def test_native_code_draws_the_numbers_of_python():
    keys = np.array([0, 1, 2**63 + 5, 2**64 - 1, 977, 12345678901234567], dtype=np.uint64)
    steps = (Normals("noise", "key", "turn"), Record(("noise",)))
    loop = NativeLoop({"noise": 6, "key": 1, "turn": 1}, steps)
    memory = loop.memory(len(keys))
    loop.set(memory, "key", keys.view(np.float64)[:, None])
    for turn in (0.0, 1.0, 5000.0):
        loop.set(memory, "turn", np.array([turn]))
        ours = loop.run(memory, 1, record=True)["noise"][0, : len(keys)]
        assert ours == pytest.approx(normals(keys, int(6 * turn), 6), abs=ROUND_OFF)


def test_numbers_are_normal_and_streams_do_not_know_of_each_other():
    from scipy import stats  # here: every worker imports this file, and this takes 0.3 s

    drawn = normals(np.arange(50, dtype=np.uint64) * np.uint64(977), 0, 4000)
    assert stats.kstest(drawn.ravel(), "norm").pvalue > 0.001
    neighbours = np.corrcoef(drawn)[np.triu_indices(50, 1)]
    # 1225 correlations of 4000 pairs each: the largest of such is about 3.3 / sqrt(4000) = 0.052
    assert np.abs(neighbours).max() < 0.08


def test_a_number_depends_on_its_place_alone():
    whole = normals(42, 0, 100)
    assert np.array_equal(whole[40:60], normals(42, 40, 20))
