"""Accuracy of the sine and cosine of native code."""

import math

import numpy as np
import pytest

from robot_dynamics.compiler.graph.trace import trace
from robot_dynamics.compiler.native.native_kernel import compile_native
from robot_dynamics.compiler.native.trigonometry import LIMIT_RAD

pytest.importorskip("llvmlite")

# Promised: 2 units in the last place of the result
ULPS = 2.0


@pytest.fixture(scope="module")
def waves():
    """Kernel of sine and cosine, of one sample (packed scalars) or a batch (vectors)."""
    program = trace("waves", lambda x: {"s": np.sin(x), "c": np.cos(x)}, {"x": (4,)})
    return compile_native(program, use_cache=False)


def angles(dtype, limit):
    """Uniform at every scale, and the neighbours of multiples of pi/4, where errors peak."""
    rng = np.random.default_rng(0)
    uniform = rng.uniform(-limit, limit, 200_000)
    scales = rng.uniform(-1, 1, 100_000) * 10.0 ** rng.uniform(-12, math.log10(limit), 100_000)
    k = rng.integers(-int(limit / math.pi * 4) + 1, int(limit / math.pi * 4), 100_000)
    multiples = (k * (np.longdouble(math.pi) / 4)).astype(dtype)
    # Every way to round a multiple: the number itself and both neighbours
    near = [np.nextafter(multiples, dtype(s)) for s in (-np.inf, np.inf)]
    x = np.concatenate([uniform.astype(dtype), scales.astype(dtype), multiples, *near])
    x = np.concatenate([x[np.abs(x) < limit], np.zeros(4, dtype)])
    return x[: len(x) // 4 * 4].reshape(-1, 4)


def ulps(found, exact):
    """Error in units of the last place of the exact result."""
    spacing = np.spacing(np.abs(exact).astype(found.dtype)).astype(np.longdouble)
    return np.abs(found.astype(np.longdouble) - exact) / spacing


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("limit", [1.0, 1e5])
def test_batches_are_accurate_to_two_units_in_the_last_place(waves, dtype, limit):
    x = angles(dtype, limit)
    s, c = waves(x)
    assert s.dtype == dtype
    # Oracle: the C library in extended precision
    assert ulps(s, np.sin(x.astype(np.longdouble))).max() < ULPS
    assert ulps(c, np.cos(x.astype(np.longdouble))).max() < ULPS


def test_single_calls_are_accurate_to_two_units_in_the_last_place(waves):
    x = angles(np.float64, 1e5)[::50]
    results = [waves(row) for row in x]
    assert ulps(np.array([r.s for r in results]), np.sin(x.astype(np.longdouble))).max() < ULPS
    assert ulps(np.array([r.c for r in results]), np.cos(x.astype(np.longdouble))).max() < ULPS


HUGE = [LIMIT_RAD, -LIMIT_RAD, 1.5e5, 1e22, -1e300, 2.0**100]


@pytest.mark.parametrize("huge", HUGE)
def test_huge_angles_are_those_of_the_c_library(waves, huge):
    one = waves([huge, 0.5, -huge, 0.0])
    many = waves(np.full((11, 4), huge))
    assert one.s[0] == math.sin(huge)
    assert one.c[2] == math.cos(huge)
    assert np.all(many.s == math.sin(huge))
    assert np.all(many.c == math.cos(huge))


def test_a_huge_angle_does_not_spoil_its_neighbours(waves):
    x = np.random.default_rng(1).uniform(-3, 3, (20, 4))
    x[7, 2] = 1e20
    s, _ = waves(x)
    # All lanes of the group go through the C library, which rounds to the nearest or next
    np.testing.assert_allclose(s, np.sin(x), rtol=0, atol=2.3e-16)


@pytest.mark.parametrize("bad", [math.inf, -math.inf, math.nan])
def test_infinity_and_nan_give_nan_in_their_entry_only(waves, bad):
    for s, c in (
        waves([0.5, bad, 0.5, 0.5]),
        [r[3] for r in waves(np.full((9, 4), [0.5, bad, 0.5, 0.5]))],
    ):
        assert math.isnan(s[1])
        assert math.isnan(c[1])
        np.testing.assert_allclose(s[[0, 2, 3]], math.sin(0.5), rtol=1e-15)


def test_zero_is_exact(waves):
    s, c = waves([0.0, -0.0, 0.0, 0.0])
    assert list(s) == [0.0] * 4
    assert list(c) == [1.0] * 4


def test_angles_that_depend_on_other_sines(waves):
    program = trace("nested", lambda x: np.sin(x + 2.0 * np.cos(3.0 * np.sin(x))), {"x": (5,)})
    kernel = compile_native(program, use_cache=False)
    x = np.random.default_rng(2).normal(size=(13, 5))
    expected = np.sin(x + 2.0 * np.cos(3.0 * np.sin(x)))
    # An error of 2 ulp grows by at most 6, twice over
    np.testing.assert_allclose(kernel(x), expected, rtol=0, atol=1e-14)
    np.testing.assert_allclose(kernel(x[0]), expected[0], rtol=0, atol=1e-14)
