"""The checked entry: what it takes, what it leaves, and that it holds."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from programs import chain, everything_program, inverse_program, random_inputs
from robot_dynamics.compiler import door
from robot_dynamics.compiler.native import NativeKernel, compile_native
from robot_dynamics.errors import ArgumentError, ShapeError

pytest.importorskip("llvmlite")

CALLS = int(os.environ.get("DOOR_FUZZ_CALLS", "30000"))


@pytest.mark.skipif(not door.available(), reason="this Python has no checked entries")
def test_random_calls_never_get_past_the_rules():
    """In a process of its own, whose crash is a failure, with checks of memory switched on."""
    checks = {"PYTHONMALLOC": "debug", "MALLOC_CHECK_": "3", "MALLOC_PERTURB_": "85"}
    package = str(Path(door.__file__).parents[2])
    script = Path(__file__).with_name("door_fuzz.py")
    finished = subprocess.run(
        [sys.executable, "-X", "faulthandler", str(script), str(CALLS)],
        env={**os.environ, **checks, "PYTHONPATH": package},
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr[-2000:]
    calls, taken = (int(finished.stdout.split()[i]) for i in (0, 2))
    assert calls == CALLS
    assert CALLS // 5 < taken < CALLS // 2  # both sides of the rules were tried


@pytest.mark.skipif(
    sys.implementation.name != "cpython" or sys.maxsize < 2**32, reason="not a 64-bit CPython"
)
def test_the_layout_of_arrays_is_recognised_here():
    """Otherwise every call would be slow, and no test would notice."""
    free_threaded = bool(door.sysconfig.get_config_var("Py_GIL_DISABLED"))
    assert door.available() is not free_threaded


def test_a_layout_that_does_not_hold_is_noticed(monkeypatch):
    monkeypatch.setattr(door, "_NDIM", door._NDIM + 4)
    assert not all(door._layout_holds(array) for array in door._samples())


@pytest.mark.skipif(not door.available(), reason="this Python has no checked entries")
def test_ordinary_calls_do_not_reach_python(monkeypatch):
    kernel = compile_native(inverse_program(chain(3)), use_cache=False)
    q, qd, qdd = random_inputs(kernel.inputs, seed=1)
    expected = kernel(q, qd, qdd)
    monkeypatch.setattr(NativeKernel, "__call__", lambda *_, **__: pytest.fail("a Python call"))
    out = np.zeros(3)
    np.testing.assert_array_equal(kernel(q, qd, qdd), expected)
    np.testing.assert_array_equal(kernel(q, qd, qdd, out=out), expected)
    np.testing.assert_array_equal(kernel(q, qd, qdd, out=None, threads=None), expected)


def test_without_entries_every_call_works_through_python(monkeypatch):
    monkeypatch.setattr(door, "available", lambda: False)
    kernel = compile_native(everything_program(), finite=True, use_cache=False)
    assert type(kernel) is not NativeKernel or "__call__" not in vars(type(kernel))
    with_entries = everything_program()
    monkeypatch.undo()
    reference = compile_native(with_entries, finite=True, use_cache=False)
    for samples in (None, 1, 20):
        arguments = random_inputs(kernel.inputs, 2, samples)
        for found, expected in zip(kernel(*arguments), reference(*arguments), strict=True):
            np.testing.assert_array_equal(found, expected)
    with pytest.raises(ShapeError, match="x must have shape"):
        kernel([1.0], np.eye(2), 0.0)
    with pytest.raises(ArgumentError, match=r"A\[0\]\[1\] is nan"):
        kernel(np.zeros(3), np.array([[0.0, np.nan], [0.0, 0.0]]), 0.0)


def test_exceptions_of_the_python_function_come_through():
    kernel = compile_native(inverse_program(chain(2)), use_cache=False)

    class Rude:
        def __array__(self, dtype=None, copy=None):
            raise ZeroDivisionError("rude")

    with pytest.raises(ZeroDivisionError, match="rude"):
        kernel(Rude(), np.zeros(2), np.zeros(2))


def test_an_allocation_that_fails_is_a_memory_error():
    kernel = compile_native(inverse_program(chain(2)), use_cache=False)
    # Rows that share one sample: a batch of 2^58 rows in 16 bytes, results of 2^62 bytes
    huge = np.broadcast_to(np.zeros(2), (2**58, 2))
    with pytest.raises((MemoryError, ValueError)):
        kernel(huge, huge, huge)
