"""The native entry: what it takes, what it leaves, and that it holds."""

import gc
import os
import subprocess
import sys
import sysconfig
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest

from programs import chain, everything_program, inverse_program, random_inputs
from python_kernel import compile_python
from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.compiler.graph.trace import trace
from robot_dynamics.compiler.native.entry import native_entry
from robot_dynamics.compiler.native.native_kernel import NativeKernel, compile_native
from robot_dynamics.errors import ArgumentError, ShapeError
from robot_dynamics.robot import find_robot

pytest.importorskip("llvmlite")

CALLS = int(os.environ.get("NATIVE_ENTRY_FUZZ_CALLS", "10000"))


@pytest.mark.skipif(not native_entry.available(), reason="this Python has no native entries")
@pytest.mark.thorough
def test_random_calls_never_get_past_the_rules():
    """In a process of its own, whose crash is a failure, with checks of memory switched on."""
    checks = {"PYTHONMALLOC": "debug", "MALLOC_CHECK_": "3", "MALLOC_PERTURB_": "85"}
    package = str(Path(native_entry.__file__).parents[4])
    script = Path(__file__).with_name("native_entry_fuzz.py")
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
    off = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
    off |= os.environ.get("ROBOT_DYNAMICS_NATIVE_ENTRY") == "0"
    assert native_entry.available() is not off


SWITCHED_OFF = """
import inspect, sys
import numpy as np
from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.robot import find_robot
arm = Dynamics(read_urdf(find_robot("planar_2r")), cache=False)
inverse, motion, entered = arm.inverse, np.ones((3, 2)), []
inverse(*motion)
sys.setprofile(lambda frame, event, _: event == "call" and entered.append(frame.f_code.co_name))
tau = inverse(*motion)
sys.setprofile(None)
print(*entered)
print(inspect.ismethod(arm.inverse), inspect.isbuiltin(type(arm.kernel("inverse")).__call__))
print(*tau)
"""


def test_one_switch_takes_the_entry_away():
    package = str(Path(native_entry.__file__).parents[4])
    done = subprocess.run(
        [sys.executable, "-c", SWITCHED_OFF],
        env={**os.environ, "ROBOT_DYNAMICS_NATIVE_ENTRY": "0", "PYTHONPATH": package},
        capture_output=True,
        text=True,
        check=True,
    )
    entered, kinds, torques = done.stdout.splitlines()
    assert entered == "call usual"  # each one more takes a tenth of the time
    assert kinds == "True False"
    arm = Dynamics(read_urdf(find_robot("planar_2r")))
    expected = arm.inverse(*np.ones((3, 2)))
    np.testing.assert_allclose([float(x) for x in torques.split()], expected, rtol=1e-7)  # printed


def test_a_layout_that_does_not_hold_is_noticed(monkeypatch):
    monkeypatch.setattr(native_entry, "NDIM", native_entry.NDIM + 4)
    assert not all(native_entry._layout_holds(array) for array in native_entry._samples())


@pytest.mark.skipif(not native_entry.available(), reason="this Python has no native entries")
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
    monkeypatch.setattr(native_entry, "available", lambda: False)
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


def test_without_entries_results_are_of_their_own_in_every_thread(monkeypatch):
    kernel = compile_native(everything_program(), finite=True, use_cache=False)
    calls = [random_inputs(kernel.inputs, seed) for seed in range(6)]
    expected = [[x.copy() for x in kernel(*arguments)] for arguments in calls]
    monkeypatch.setattr(native_entry, "available", lambda: False)
    kernel = compile_native(everything_program(), finite=True, use_cache=False)
    agreed = []

    def check():
        for _ in range(50):
            held = [kernel(*arguments) for arguments in calls]
            with pytest.raises(ArgumentError, match="is nan"):
                kernel(*[np.full_like(x, np.nan) for x in calls[0]])
            agreed.append(
                all(
                    np.array_equal(x, y)
                    for results, known in zip(held, expected, strict=True)
                    for x, y in zip(results, known, strict=True)
                )
            )

    threads = [threading.Thread(target=check) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert agreed == [True] * 200


def test_without_entries_strided_arrays_and_other_types_have_the_same_results(monkeypatch):
    monkeypatch.setattr(native_entry, "available", lambda: False)
    kernel = compile_native(inverse_program(chain(3)), finite=True, use_cache=False)
    q, qd, qdd = random_inputs(kernel.inputs, seed=1)
    expected = kernel(q, qd, qdd)
    strided = [np.repeat(x, 2)[::2] for x in (q, qd, qdd)]
    swapped = [x.astype(x.dtype.newbyteorder()) for x in (q, qd, qdd)]
    for arguments in (strided, swapped, [x.tolist() for x in (q, qd, qdd)]):
        np.testing.assert_array_equal(kernel(*arguments), expected)
    with pytest.raises(ShapeError, match="qd must have shape"):
        kernel(q, qd[:2], qdd)
    with pytest.raises(ArgumentError, match="expected 3 arguments"):
        kernel(q, qd)
    with pytest.raises(ArgumentError, match="masked"):
        kernel(q, np.ma.masked_array(qd, [True, False, False]), qdd)
    np.testing.assert_array_equal(kernel(q, qd, qdd), expected)


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


# -- results that are written again ----------------------------------------------------------


def arm_and_motions(count, joints=3):
    kernel = compile_native(inverse_program(chain(joints)), use_cache=False)
    return kernel, [random_inputs(kernel.inputs, seed) for seed in range(count)]


def test_results_that_somebody_holds_stay_as_they_are():
    kernel, motions = arm_and_motions(20)
    results = [kernel(*motion) for motion in motions]
    views = [kernel(*motion)[1:] for motion in motions]
    memory = [memoryview(kernel(*motion)) for motion in motions]
    for motion, result, view, raw in zip(motions, results, views, memory, strict=True):
        expected = kernel(*motion)
        np.testing.assert_array_equal(result, expected)
        np.testing.assert_array_equal(view, expected[1:])
        np.testing.assert_array_equal(np.asarray(raw), expected)


def test_several_results_have_no_hash_as_arrays_have_none():
    """Python 3.14 keeps the hash of a tuple in it."""
    several = compile_native(trace("two", lambda x: {"a": 2.0 * x, "b": x + 1.0}, {"x": (2,)}))
    with pytest.raises(TypeError, match="unhashable"):
        hash(several(np.zeros(2)))


def test_parts_of_a_result_that_somebody_holds_stay_as_they_are():
    kernel = compile_native(everything_program(), use_cache=False)
    arguments = [random_inputs(kernel.inputs, seed) for seed in range(10)]
    held = [kernel(*each).matrix for each in arguments]
    for each, matrix in zip(arguments, held, strict=True):
        np.testing.assert_array_equal(matrix, kernel(*each).matrix)


def test_a_result_that_is_only_known_by_a_weak_reference_stays_as_it_is():
    kernel, (motion, other) = arm_and_motions(2)
    known = weakref.ref(kernel(*motion))
    expected = kernel(*motion).copy()
    for _ in range(3):
        kernel(*other)
        assert known() is None or np.array_equal(known(), expected)


@pytest.mark.skipif(not native_entry.available(), reason="this Python has no native entries")
def test_a_loop_that_lets_its_results_go_makes_no_new_arrays():
    kernel, motions = arm_and_motions(20)
    places = set()
    for motion in motions:
        tau = kernel(*motion)  # the one before is let go after this call
        places.add((id(tau), tau.ctypes.data))
    assert len(places) == 2


def change_shape(result):
    result.shape = (3, 1)


@pytest.mark.parametrize(
    "change", [change_shape, lambda result: result.setflags(write=False)], ids=["shape", "flags"]
)
def test_a_result_that_its_holder_has_changed_is_not_used_again(change):
    kernel, motions = arm_and_motions(8)
    expected = [kernel(*motion).copy() for motion in motions]
    for motion, right in zip(motions, expected, strict=True):
        result = kernel(*motion)
        assert result.shape == (3,)
        assert result.flags.writeable
        np.testing.assert_array_equal(result, right)
        change(result)
        del result


def test_a_kernel_is_freed_with_the_results_that_it_remembers():
    kernel, (motion,) = arm_and_motions(1)
    result = weakref.ref(kernel(*motion))
    assert result() is not None or not native_entry.available()
    del kernel
    gc.collect()
    assert result() is None


# -- arrays of the caller for several results, and single calls of float32 ---------------------


@pytest.mark.skipif(not native_entry.available(), reason="this Python has no native entries")
@pytest.mark.parametrize("kind", ["tuple", "list", "results"])
def test_several_results_are_written_into_arrays_of_the_caller(monkeypatch, kind):
    kernel = compile_native(everything_program(), finite=True, use_cache=False)
    arguments = random_inputs(kernel.inputs, seed=4)
    expected = kernel(*arguments)
    make = {"tuple": tuple, "list": list, "results": lambda x: kernel.results_class(*x)}[kind]
    out = make([np.full_like(x, np.nan) for x in expected])
    monkeypatch.setattr(NativeKernel, "__call__", lambda *_, **__: pytest.fail("a Python call"))
    found = kernel(*arguments, out=out)
    assert type(found) is kernel.results_class
    for mine, given, right in zip(found, out, expected, strict=True):
        assert mine is given
        np.testing.assert_array_equal(mine, right)


def two_results(compiled):
    program = trace("two", lambda x: {"a": x * 2.0, "b": x * 3.0}, {"x": (4,)})
    return compiled(program, use_cache=False)


@pytest.mark.parametrize("compiled", [compile_native, compile_python])
@pytest.mark.parametrize("samples", [None, 5])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shared", [1, 4])  # numbers of each result
def test_results_of_the_caller_that_share_memory_are_refused(compiled, samples, dtype, shared):
    kernel = two_results(compiled)
    shape = (4,) if samples is None else (samples, 4)
    size = int(np.prod(shape))
    memory = np.full(2 * size - shared, 7.0, dtype)
    out = memory[:size].reshape(shape), memory[size - shared :].reshape(shape)
    with pytest.raises(ArgumentError) as refusal:
        kernel(np.ones(shape, dtype), out=out)
    assert str(refusal.value) == "out: a and b share memory; give arrays of their own"
    np.testing.assert_array_equal(memory, 7.0)  # nothing is written


@pytest.mark.parametrize("compiled", [compile_native, compile_python])
def test_results_side_by_side_share_no_memory(compiled):
    kernel = two_results(compiled)
    x, memory = np.arange(4.0), np.zeros((4, 2))
    kernel(x, out=(memory[:, 0], memory[:, 1]))  # their ranges overlap, their numbers do not
    np.testing.assert_array_equal(memory, np.stack([x * 2.0, x * 3.0], axis=1))
    memory = np.zeros(8)
    kernel(x, out=(memory[:4], memory[4:]))
    np.testing.assert_array_equal(memory, [*(x * 2.0), *(x * 3.0)])


@pytest.mark.parametrize("out", [5, np.zeros(4), [np.zeros(4)]])
def test_results_that_are_not_one_array_each_are_refused(out):
    with pytest.raises(ArgumentError, match=r"^out must hold 2 arrays \(a, b\)$"):
        two_results(compile_native)(np.zeros(4), out=out)


@pytest.mark.skipif(not native_entry.available(), reason="this Python has no native entries")
def test_only_the_first_single_call_of_float32_reaches_python(monkeypatch):
    kernel = compile_native(inverse_program(chain(3)), use_cache=False)
    exact = random_inputs(kernel.inputs, seed=1)
    motion = [x.astype(np.float32) for x in exact]
    first = kernel(*motion)
    assert first.dtype == np.float32
    # Inputs and operations round to 24 bits; torques are of the order of 10
    np.testing.assert_allclose(first, kernel(*exact), rtol=1e-4, atol=1e-4)
    monkeypatch.setattr(NativeKernel, "__call__", lambda *_, **__: pytest.fail("a Python call"))
    np.testing.assert_array_equal(kernel(*motion), first)
    out = np.zeros(3, np.float32)
    assert kernel(*motion, out=out) is out
    np.testing.assert_array_equal(out, first)


def test_single_calls_of_float32_refuse_what_is_not_finite():
    kernel = compile_native(inverse_program(chain(3)), finite=True, use_cache=False)
    good = [x.astype(np.float32) for x in random_inputs(kernel.inputs, seed=1)]
    kernel(*good)
    bad = np.array([0.0, np.nan, 0.0], np.float32)
    for _ in range(2):
        with pytest.raises(ArgumentError, match=r"qd\[1\] is nan"):
            kernel(good[0], bad, good[2])
