"""Accuracy of the arctangent of native code, and its special values."""

import numpy as np
import pytest

from robot_dynamics.compiler.graph.trace import trace
from robot_dynamics.compiler.native.native_kernel import compile_native

pytest.importorskip("llvmlite")

# Promised: 2 units in the last place of the result
ULPS = 2.0

SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 5e-324, -1e-323, 1e308, -1.7e308]


@pytest.fixture(scope="module")
def angle():
    """Kernel of four angles, of one sample (packed scalars) or a batch (vectors)."""
    program = trace("angle", lambda y, x: {"phi": np.arctan2(y, x)}, {"y": (4,), "x": (4,)})
    return compile_native(program, use_cache=False)


def points(dtype, decades, samples):
    """Points of sizes that differ by so many powers of ten, and some on axes and diagonals."""
    rng = np.random.default_rng(decades)
    y, x = rng.uniform(-1.0, 1.0, (2, samples, 4)) * 10.0 ** rng.uniform(
        -decades, decades, (2, samples, 4)
    )
    y[: samples // 4] = x[: samples // 4] * rng.choice([-1.0, 0.0, 0.5, 1.0, 2.0], 4)
    return y.astype(dtype), x.astype(dtype)


def ulps(found, y, x):
    """Error in units of the last place; the oracle is the C library in extended precision."""
    exact = np.arctan2(y.astype(np.longdouble), x.astype(np.longdouble))
    return np.abs(found.astype(np.longdouble) - exact) / np.spacing(np.abs(exact).astype(y.dtype))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("decades", [0, 4, 12])
def test_batches_are_accurate_to_two_units_in_the_last_place(angle, dtype, decades):
    y, x = points(dtype, decades, 50_000)
    found = angle(y, x)
    assert found.dtype == dtype
    assert ulps(found, y, x).max() < ULPS


def test_single_calls_are_accurate_to_two_units_in_the_last_place(angle):
    y, x = points(np.float64, 2, 2_000)
    found = np.array([angle(*point) for point in zip(y, x, strict=True)])
    assert ulps(found, y, x).max() < ULPS


def test_zeros_infinities_and_the_ends_of_the_range_are_those_of_the_c_library(angle):
    y, x = (np.resize(a, (31, 4)) for a in np.meshgrid(SPECIAL, SPECIAL))
    exact = np.arctan2(y, x)
    alone = np.array([angle(*point) for point in zip(y, x, strict=True)])
    for found in (angle(y, x), alone):
        np.testing.assert_allclose(found, exact, rtol=4.5e-16, atol=0.0)  # two units
        numbers = ~np.isnan(exact)
        np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(exact[numbers]))
