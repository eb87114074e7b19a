"""Kernels in a sequence give what calls of the same kernels from Python give."""

import numpy as np
import pytest

from robot_dynamics.compiler.graph.trace import trace
from robot_dynamics.compiler.native.native_kernel import compile_native
from robot_dynamics.compiler.native.sequence import Call, KernelSequence

SHAPES = {"x": (3,), "y": (3,)}


def kernel(function):
    return compile_native(trace("one", lambda x, y: {"z": function(x, y)}, SHAPES), use_cache=False)


@pytest.fixture(scope="module")
def kernels():
    return [kernel(f) for f in (lambda x, y: x + y, lambda x, y: x * y, lambda x, y: x - y)]


@pytest.fixture
def arrays():
    rng = np.random.default_rng(1)
    return rng.normal(size=3), rng.normal(size=3), np.zeros(3), rng.normal(size=3)


@pytest.mark.parametrize("flag", [None, 0.0, 0.5, 0.51, 1.0, np.nan])
def test_a_call_is_made_if_its_flag_is_above_one_half_and_else_keeps(kernels, arrays, flag):
    x, y, out, kept = arrays
    given = None if flag is None else np.array([flag])
    KernelSequence([Call(kernels[:1], None, given, (x, y), out, kept)], None)()
    np.testing.assert_array_equal(out, x + y if flag is None or flag > 0.5 else kept)


def test_later_calls_read_what_earlier_ones_wrote(kernels, arrays):
    x, y, z, last = arrays
    calls = [
        Call(kernels[:1], None, None, (x, y), z, last),
        Call(kernels[1:2], None, z[:1], (z, y), last, last),
    ]
    z[0], x[0], y[0] = 0.0, 1.0, 2.0
    KernelSequence(calls, None)()
    np.testing.assert_array_equal(last, (x + y) * y)


def test_a_kernel_is_picked_by_its_number_and_compiled_when_it_is_first_needed(kernels, arrays):
    x, y, out, kept = arrays
    choice, asked = np.array([2.0]), []

    def compiled(index, number):
        asked.append(number)
        return kernels[number]

    first, second = np.zeros(3), np.zeros(3)
    choose = [kernels[0], None, None]
    calls = [
        Call(kernels[1:2], None, None, (x, y), first, kept),
        Call(choose, choice, None, (x, y), out, kept),
        Call(kernels[2:], None, None, (x, out), second, kept),
    ]
    sequence = KernelSequence(calls, compiled)
    for number, expected in ((2, x - y), (0, x + y), (1, x * y), (2, x - y)):
        choice[0] = number
        sequence()
        np.testing.assert_array_equal(out, expected)
        np.testing.assert_array_equal(second, x - out)
    np.testing.assert_array_equal(first, x * y)
    assert asked == [2, 1]


def test_some_calls_run_alone(kernels, arrays):
    x, y, first, kept = arrays
    second = np.zeros(3)
    calls = [
        Call(kernels[:1], None, None, (x, y), first, kept),
        Call(kernels[1:2], None, None, (x, y), second, kept),
    ]
    KernelSequence(calls, None).run(1, 1)
    np.testing.assert_array_equal(first, np.zeros(3))
    np.testing.assert_array_equal(second, x * y)
