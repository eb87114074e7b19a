"""Native kernels refuse what does not fit, by name, and write nothing then."""

import numpy as np
import pytest

from programs import random_motion
from robot_dynamics.compiler.graph.trace import trace
from robot_dynamics.compiler.native.native_kernel import compile_native
from robot_dynamics.errors import ArgumentError, ShapeError

pytest.importorskip("llvmlite")


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda q: q[:-1], ShapeError, r"qd must have shape (5,) or (N, 5), got (4,)"),
        (
            lambda q: q[None, None, 1:],
            ShapeError,
            "qd must have shape (5,) or (N, 5), got (1, 1, 4)",
        ),
        (lambda q: np.float64(1.0), ShapeError, "qd must have shape (5,) or (N, 5), got ()"),
        (lambda q: 1.0, ShapeError, "qd must have shape (5,) or (N, 5), got ()"),
        (lambda q: None, ArgumentError, "qd must hold real numbers, got None"),
        (lambda q: [None] * 5, ArgumentError, "qd must hold real numbers, got [None, None,"),
        (lambda q: "text", ArgumentError, "qd must hold real numbers, got 'text'"),
        (lambda q: q + 1j, ArgumentError, "qd must hold real numbers, got array("),
        (lambda q: [1.0, [2.0], 3.0, 4.0, 5.0], ArgumentError, "qd must hold real numbers, got [1"),
        (lambda q: ["1.0"] * 5, ArgumentError, "qd must hold real numbers"),
    ],
)
def test_an_argument_that_does_not_fit_is_named(arm, kernel, change, error, message):
    q, qd, qdd = random_motion(arm, 18)
    with pytest.raises(error) as raised:
        kernel(q, change(qd), qdd)
    assert str(raised.value).startswith(message)


def test_batches_of_different_size_are_named(arm, kernel):
    q, qd, qdd = random_motion(arm, 19, samples=6)
    with pytest.raises(ShapeError, match=r"^qdd has 5 samples but q has 6$"):
        kernel(q, qd, qdd[:5])


def test_a_first_argument_that_does_not_fit_is_named_too(kernel):
    for q in (1.0, np.zeros(4), np.zeros((2, 5, 1))):
        with pytest.raises(ShapeError, match=r"^q must have shape \(5,\) or \(N, 5\), got"):
            kernel(q, np.zeros(5), np.zeros(5))


def test_missing_arguments_are_listed(arm, kernel):
    with pytest.raises(ArgumentError, match=r"^expected 3 arguments \(q, qd, qdd\), got 2$"):
        kernel(np.zeros(5), np.zeros(5))


@pytest.mark.parametrize(
    ("out", "error", "message"),
    [
        (np.zeros(4), ShapeError, r"out must have shape \(5,\), got \(4,\)"),
        (np.zeros((1, 5)), ShapeError, r"out must have shape \(5,\), got \(1, 5\)"),
        (np.zeros(5, int), ArgumentError, "out must be an array of floats, got int64"),
        (np.broadcast_to(0.0, 5), ArgumentError, "out must be an array that can be written to"),
        ([0.0] * 5, ArgumentError, "out must be an array"),
        (3, ArgumentError, "out must be an array"),
    ],
)
def test_an_output_that_does_not_fit_is_refused(arm, kernel, out, error, message):
    with pytest.raises(error, match=message):
        kernel(*random_motion(arm, 20), out=out)


def test_unknown_keywords_are_refused(arm, kernel):
    with pytest.raises(TypeError, match="unexpected keyword argument 'speed'"):
        kernel(*random_motion(arm, 21), speed=2)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("samples", [None, 1, 8, 21])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_entries_that_are_not_finite_are_named(arm, careful, bad, samples, dtype):
    arguments = [a.astype(dtype) for a in random_motion(arm, 22, samples)]
    where = (2,) if samples is None else (samples // 2, 2)
    arguments[1][where] = bad
    index = "".join(f"[{i}]" for i in where)
    with pytest.raises(ArgumentError) as raised:
        careful(*arguments)
    assert str(raised.value) == f"qd{index} is {bad}; every entry must be finite"


def test_entries_that_the_equations_do_not_use_are_checked_too():
    program = trace("f", lambda x: x[:1], {"x": (3,)})
    kernel = compile_native(program, finite=True, use_cache=False)
    for x in (np.array([1.0, 2.0, np.nan]), np.array([[1.0, 2.0, np.nan]])):
        with pytest.raises(ArgumentError, match="is nan; every entry must be finite"):
            kernel(x)


def test_entries_that_are_not_finite_are_named_in_any_block_and_thread(arm, careful):
    arguments = random_motion(arm, 23, samples=120_000)
    arguments[2][99_999, 4] = np.nan
    with pytest.raises(ArgumentError, match=r"^qdd\[99999\]\[4\] is nan"):
        careful(*arguments, threads=2)


def test_nothing_is_written_when_one_sample_is_refused(arm, careful):
    q, qd, qdd = random_motion(arm, 24)
    qd[0] = np.nan
    out = np.full(arm.dof, 7.0)
    with pytest.raises(ArgumentError):
        careful(q, qd, qdd, out=out)
    assert np.all(out == 7.0)


def test_large_finite_numbers_are_not_refused(arm, careful):
    q = np.full(arm.dof, 1e300)
    assert np.all(np.isfinite(careful(q, q * 0, q * 0)))


def test_one_sample_beside_none_is_looked_at_all_the_same(careful):
    q, none = np.full(5, np.nan), np.zeros((0, 5))
    with pytest.raises(ArgumentError, match=r"^q\[0\] is nan"):
        careful(q, none, none)
    assert careful(np.zeros(5), none, none).shape == (0, 5)
