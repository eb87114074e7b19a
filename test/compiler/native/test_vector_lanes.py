"""Equations that put numbers side by side: what is computed, in registers of every width."""

import ctypes
import dataclasses

import numpy as np
import pytest

from robot_dynamics.compiler.graph.expression import LANE, PACK
from robot_dynamics.compiler.graph.trace import trace
from robot_dynamics.compiler.native import llvm
from robot_dynamics.compiler.native.ir import Lanes, module
from robot_dynamics.compiler.native.vector_lanes import single_functions_of_vectors
from robot_dynamics.errors import TraceError

pytest.importorskip("llvmlite")

WIDTHS = (2, 4, 8)  # doubles in a register
GUARD = 7.0


def run(program, width, inputs, finite=True):
    """Evaluate a program in registers of `width` doubles; None if it refuses its inputs."""
    host = dataclasses.replace(llvm.host(), vector_bits=64 * width)
    functions = single_functions_of_vectors(program, host, finite)
    types = Lanes("double"), Lanes("double", width)
    code = llvm.Loaded(
        llvm.compile_object(module(functions, types, host.typed_pointers)), ["single"]
    )
    memory = {
        name: np.full(len(output.entries) + 16, GUARD) for name, output in program.outputs.items()
    }
    results = {name: memory[name][8:-8] for name in memory}
    arrays = [*(np.ascontiguousarray(x, dtype=float) for x in inputs), *results.values()]
    single = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_int64] * len(arrays))
    refused = single(code.address("single"))(*(x.ctypes.data for x in arrays))
    for name, guarded in memory.items():
        assert np.all(guarded[:8] == GUARD), f"written before {name}"
        assert np.all(guarded[-8:] == GUARD), f"written after {name}"
    if refused:
        assert all(np.all(x == GUARD) for x in results.values()), "written although refused"
        return None
    return {name: x.reshape(program.outputs[name].shape) for name, x in results.items()}


def vectors_of(rows):
    """Rows of symbols as vectors."""
    return [row[0].side_by_side(row) for row in rows]


def written_out(vectors, width):
    return np.array([[vector.lane(k) for k in range(width)] for vector in vectors])


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("n", [2, 3, 7, 9])
def test_arithmetic_acts_on_every_lane(n, width):
    def equations(x, y, s):
        a, b = vectors_of([x, y])
        return {"z": written_out([(a * b - 2.0 * b) * s[0] + a, -a], n)}

    rng = np.random.default_rng(n)
    x, y, s = rng.normal(size=n), rng.normal(size=n), rng.normal(size=1)
    program = trace("lanes", equations, {"x": (n,), "y": (n,), "s": (1,)})
    expected = [(x * y - 2.0 * y) * s + x, -x]
    # A fused operation rounds once instead of twice
    np.testing.assert_allclose(
        run(program, width, [x, y, s])["z"], expected, rtol=1e-14, atol=1e-15
    )


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("shape", [(2, 3), (7, 3), (3, 8), (8, 8), (12, 27)])
def test_transposed_vectors_have_rows_for_columns(shape, width):
    rows, columns = shape

    def equations(A):
        return {"B": written_out(A[0, 0].transposed(vectors_of(A), columns), rows)}

    A = np.random.default_rng(0).normal(size=shape)
    program = trace("turned", equations, {"A": shape})
    np.testing.assert_array_equal(run(program, width, [A])["B"], A.T)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("n", [2, 5, 11])
def test_rows_of_a_result_may_mix_vectors_and_zeros(n, width):
    pick = np.random.default_rng(n).integers(0, 3, (n, n))

    def equations(x, y):
        a, b = vectors_of([x, y])
        sources = [a.lane, (a + b).lane, lambda _: 0.0]
        return {"z": np.array([[sources[pick[i, k]](k) for k in range(n)] for i in range(n)])}

    x, y = np.random.default_rng(1).normal(size=(2, n))
    program = trace("mixed", equations, {"x": (n,), "y": (n,)})
    expected = np.choose(pick, [x, x + y, np.zeros(n)])
    np.testing.assert_array_equal(run(program, width, [x, y])["z"], expected)


@pytest.mark.parametrize("width", WIDTHS)
def test_registers_full_of_zeros_or_ones_leave_nothing_to_compute(width):
    n = 2 * width
    numbers = np.array([[0.0] * width + [3.0] * width, [1.0] * width + [-2.0] * width])

    def equations(x):
        a = x[0].side_by_side(x)
        zeros, ones = (x[0].side_by_side(row) for row in numbers)
        return {"z": written_out([a * zeros, a * ones, a + zeros, a - zeros, zeros - a], n)}

    x = np.random.default_rng(2).normal(size=n)
    zeros, ones = numbers
    expected = [x * zeros, x * ones, x + zeros, x - zeros, zeros - x]
    found = run(trace("folded", equations, {"x": (n,)}), width, [x])["z"]
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("width", WIDTHS)
def test_sines_of_lanes_and_scalars_of_vectors_can_be_mixed(width):
    def equations(q):
        a = q[0].side_by_side([np.sin(q[0]), np.cos(q[1]), q[2] * q[2]])
        return {"y": np.array([(a * a).lane(1) + np.sin((a + a).lane(2))])}

    q = np.array([0.3, -0.4, 0.5])
    found = run(trace("waves", equations, {"q": (3,)}), width, [q])["y"]
    np.testing.assert_allclose(found, np.cos(q[1]) ** 2 + np.sin(2.0 * q[2] ** 2), rtol=1e-14)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_inputs_that_are_not_finite_are_refused_before_anything_is_written(bad):
    program = trace("y", lambda x: {"y": written_out(vectors_of([x]), 3)}, {"x": (3,)})
    assert run(program, 4, [[1.0, bad, 2.0]]) is None


def test_equal_constants_side_by_side_are_one_number():
    def equations(x):
        assert float(x[0].side_by_side([2.0, 2.0])) == 2.0
        assert x[0].side_by_side([2.0, 3.0]).op == PACK
        return x

    trace("constants", equations, {"x": (1,)})


def test_a_lane_of_packed_numbers_is_the_number():
    def equations(x):
        packed = x[0].side_by_side(x)
        assert packed.lane(1) is x[1]
        assert (packed * packed).lane(1).op == LANE
        return x

    trace("lanes", equations, {"x": (2,)})


def test_only_numbers_stand_side_by_side():
    with pytest.raises(TraceError, match="only numbers and symbols"):
        trace("text", lambda x: x[0].side_by_side([x[0], "text"]), {"x": (1,)})
