"""A result is written again only when nobody can look at it: everybody who could, one by one."""

import array
import collections
import ctypes
import functools
import gc
import io
import itertools
import pickle
import sys
import threading
import weakref
from importlib import import_module
from importlib.util import find_spec

import numpy as np
import pytest

from programs import chain, everything_program, inverse_program, random_inputs
from robot_dynamics.compiler.native.entry import native_entry
from robot_dynamics.compiler.native.native_kernel import compile_native

pytest.importorskip("llvmlite")


@pytest.fixture(scope="module")
def kernel():
    return compile_native(inverse_program(chain(3)), use_cache=False)


@pytest.fixture(scope="module")
def motions(kernel):
    return [random_inputs(kernel.inputs, seed) for seed in range(8)]


class Interface:
    """What reads an array by its array interface and keeps the array."""

    def __init__(self, result):
        self.result = result
        self.__array_interface__ = result.__array_interface__


def in_an_exception(result):
    try:
        raise ValueError
    except ValueError as error:
        return error  # its traceback holds this frame, and the frame holds the result


def in_a_generator(result):
    def wait(result):
        yield
        yield result

    generator = wait(result)
    next(generator)
    return generator


def of_exception(error):
    return error.__traceback__.tb_frame.f_locals["result"]


def of_doubles(pointer):
    return np.array([pointer[i] for i in range(3)])


def numba_view(result):
    return import_module("numba").njit(lambda x: x[:])(result)


def torch_view(result):
    return import_module("torch").from_numpy(result)


WAYS = {
    "itself": (lambda result: result, np.asarray),
    "slice": (lambda result: result[:], np.asarray),
    "slice of a slice": (lambda result: result[::-1][:], lambda view: view[::-1]),
    "reshaped": (lambda result: result.reshape(1, 3), lambda view: view[0]),
    "other type": (lambda result: result.view(np.int64), lambda view: view.view(float)),
    "strided": (np.lib.stride_tricks.as_strided, np.asarray),
    "iterator": (lambda result: result.flat, lambda flat: flat.base.copy()),
    "nditer": (np.nditer, lambda it: np.array([float(x) for x in it])),
    "memoryview": (memoryview, np.asarray),
    "cast memoryview": (lambda result: memoryview(result).cast("B"), np.frombuffer),
    "frombuffer": (np.frombuffer, np.asarray),
    "ctypes buffer": ((ctypes.c_double * 3).from_buffer, np.asarray),
    "ctypes pointer": (
        lambda result: result.ctypes.data_as(ctypes.POINTER(ctypes.c_double)),
        of_doubles,
    ),
    "as_ctypes": (np.ctypeslib.as_ctypes, np.asarray),
    "dlpack": (np.from_dlpack, np.asarray),
    "dlpack capsule": (
        lambda result: (result.__dlpack__(), result)[0],
        lambda capsule: np.from_dlpack(Capsule(capsule)),
    ),
    "array interface": (Interface, np.asarray),
    "field of a structure": (
        lambda result: result.view([("a", float, (3,))])["a"],
        lambda field: field[0],
    ),
    "pickle buffer": (pickle.PickleBuffer, np.asarray),
    "tuple": (lambda result: (result,), lambda held: held[0]),
    "object array": (lambda result: np.array([result, None], object), lambda held: held[0]),
    "closure": (lambda result: lambda: result, lambda function: function()),
    "partial": (lambda result: functools.partial(np.copy, result), lambda function: function()),
    "bound method": (lambda result: result.copy, lambda method: method()),
    "iterator of rows": (iter, lambda rows: np.array(list(rows))),
    "frame of an exception": (in_an_exception, of_exception),
    "generator that waits": (in_a_generator, next),
    "default of a function": (lambda result: lambda x=result: x, lambda function: function()),
    "thread local": (
        lambda result: vars(threading.local()).setdefault("x", result),
        np.asarray,
    ),
}
OTHERS = {"numba": (numba_view, np.asarray), "torch": (torch_view, lambda tensor: tensor.numpy())}
WAYS |= {name: way for name, way in OTHERS.items() if find_spec(name)}


class Capsule:
    def __init__(self, capsule):
        self.capsule = capsule

    def __dlpack__(self, **_):
        return self.capsule

    def __dlpack_device__(self):
        return 1, 0


@pytest.mark.parametrize("way", WAYS)
def test_whoever_can_still_look_at_a_result_sees_it_unchanged(kernel, motions, way):
    hold, look = WAYS[way]
    expected = [kernel(*motion).copy() for motion in motions]
    held = [hold(kernel(*motion)) for motion in motions]
    for motion in itertools.chain(motions, motions):
        kernel(*motion)
    gc.collect(1)  # all that is young
    for holder, right in zip(held, expected, strict=True):
        np.testing.assert_array_equal(look(holder), right)


def test_a_result_that_is_an_argument_of_the_next_call_is_read_before_it_is_written(kernel):
    """The first argument of each call is a result that nobody else holds."""
    ones = np.ones(3)
    nested = kernel(kernel(kernel(ones, ones, ones), ones, ones), ones, ones)
    step = kernel(ones, ones, ones).copy()
    step = kernel(step, ones, ones).copy()
    np.testing.assert_array_equal(nested, kernel(step, ones, ones))


def test_of_several_results_one_alone_keeps_all_from_being_written():
    kernel = compile_native(everything_program(), use_cache=False)
    arguments = [random_inputs(kernel.inputs, seed) for seed in range(6)]
    held = [kernel(*each)[-1] for each in arguments]
    for each, mine in zip(arguments, held, strict=True):
        np.testing.assert_array_equal(mine, kernel(*each)[-1])


def test_a_result_seen_through_a_weak_reference_is_never_another_one(kernel, motions):
    seen = [(weakref.ref(kernel(*motion)), kernel(*motion).copy()) for motion in motions]
    for motion in motions:
        kernel(*motion)
    for reference, right in seen:
        result = reference()
        assert result is None or np.array_equal(result, right)


def test_what_a_profiler_sees_of_results_stays_as_it_is(kernel, motions):
    """sys.setprofile is told of every call of a builtin function; its frames are looked at."""
    frames = []

    def watch(frame, event, argument):
        if event == "c_return":
            frames.append(dict(frame.f_locals))

    expected = [kernel(*motion).copy() for motion in motions]
    results = []
    sys.setprofile(watch)
    try:
        for motion in motions:
            tau = kernel(*motion)
            results.append(np.copy(tau))
    finally:
        sys.setprofile(None)
    np.testing.assert_array_equal(results, expected)
    assert frames


def test_bytes_written_from_a_result_are_those_of_the_call(kernel, motions):
    stream, whole = io.BytesIO(), array.array("d")
    for motion in motions:
        stream.write(kernel(*motion))
        whole.frombytes(memoryview(kernel(*motion)).cast("B"))
    expected = np.array([kernel(*motion).copy() for motion in motions])
    np.testing.assert_array_equal(np.frombuffer(stream.getvalue()).reshape(-1, 3), expected)
    np.testing.assert_array_equal(np.array(whole).reshape(-1, 3), expected)


@pytest.mark.skipif(not native_entry.available(), reason="this Python has no native entries")
def test_a_caller_who_holds_the_latest_results_gets_no_new_arrays(kernel, motions):
    """The kernel's list, which the garbage collector finds, keeps its arrays."""
    held = collections.deque((kernel(*motions[0]) for _ in range(40)), maxlen=5)
    (remembered,) = (x for x in gc.get_referrers(held[0]) if type(x) is list)
    before = [id(x) for x in remembered]
    for motion in motions * 5:
        held.append(kernel(*motion))
    assert [id(x) for x in remembered] == before
