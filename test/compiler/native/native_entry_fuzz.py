"""Throw random calls at the native entries of kernels: python native_entry_fuzz.py [CALLS [SEED]].

Behind the entries stands a function that only notes that it was asked. So every
call shows what the entry itself decided, and is compared with the rules in plain
Python: what it takes must be exactly what the rules allow, what it computes must
be right, and nothing around the results may change. Run it as the tests do, with
Python's and the C library's own checks of memory switched on:

    export PYTHONMALLOC=debug MALLOC_CHECK_=3 MALLOC_PERTURB_=85
    python -X faulthandler native_entry_fuzz.py 1000000
"""

from __future__ import annotations

import itertools
import random
import sys
import weakref
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "helpers"))

from programs import chain, everything_program, inverse_program
from python_kernel import compile_python
from robot_dynamics.compiler.graph.trace import trace
from robot_dynamics.compiler.native.entry.native_entry import builtin_function
from robot_dynamics.compiler.native.native_kernel import _Batch, compile_native

DECLINED = object()


class Subclass(np.ndarray):
    """An array that the entry must leave to Python."""


class Target:
    """One entry, with the rules that it must follow."""

    def __init__(self, program, scalar, layout):
        self.kernel = compile_native(program, finite=True, use_cache=False)
        self.reference = compile_python(program)
        self.dtype = np.dtype(np.float64 if scalar == "double" else np.float32)
        self.batch, self.columns = layout != "single", layout == "columns"
        code = self.kernel._code
        if self.batch:
            code = _Batch(self.kernel, self.kernel._builder, scalar, self.columns).code
        elif scalar == "float":
            _, code = self.kernel._builder.single("float")
        self.held = []  # results of earlier calls, with copies of what they were
        self.rng = random.Random(0)
        # The slots of the code are filled anew, so that declined calls come to `decline`
        self.entry = builtin_function(
            code, "fuzzed()", "", scalar, self.decline, self.kernel.results_class
        )
        self.tolerance = 1e-11 if scalar == "double" else 1e-3

    def decline(self, *arrays, **keywords):
        """The Python function behind the entry."""
        return DECLINED

    def shapes(self, count):
        lead = (count,) if self.batch else ()
        inputs = [(*lead, *s) for s in self.kernel.inputs.values()]
        return inputs, [(*lead, *s) for s in self.kernel.outputs.values()]

    def accepts(self, arrays, keywords):
        """The rules."""
        inputs = list(self.kernel.inputs.values())
        names = (sys.intern("out"), sys.intern("threads"))
        if len(arrays) != len(inputs):
            return False
        if not all(any(given is name for name in names) for given in keywords):
            return False
        if keywords.get("threads") not in (None, 1):
            return False
        counts = set()
        for array, shape in zip(arrays, inputs, strict=True):
            if not self.plain(array):
                return False
            many = self.batch and array.ndim == len(shape) + 1
            if many:
                counts.add(array.shape[0])
            if array.shape[int(many) :] != shape:
                return False
            if not (self.in_order(array, shape) if many else array.flags.c_contiguous):
                return False
            if not (many or not self.columns or len(shape) < 2):
                return False
            if not np.isfinite(array).all():
                return False
        if self.batch and (len(counts) != 1 or counts == {0}):
            return False
        lead = tuple(counts)
        out = keywords.get("out")
        if out is None:
            return True
        shapes = list(self.kernel.outputs.values())
        if len(shapes) > 1 and type(out) not in (tuple, list, self.kernel.results_class):
            return False
        given = [out] if len(shapes) == 1 else list(out)
        return (
            len(given) == len(shapes)
            and all(
                self.plain(x)
                and x.flags.writeable
                and x.shape == (*lead, *shape)
                and (x.flags.f_contiguous if self.columns else x.flags.c_contiguous)
                for x, shape in zip(given, shapes, strict=True)
            )
            and not any(np.shares_memory(a, b) for a, b in itertools.combinations(given, 2))
        )

    def plain(self, array):
        return (
            type(array) is np.ndarray
            and array.dtype == self.dtype
            and array.dtype.isnative
            and array.flags.aligned
        )

    def in_order(self, array, shape):
        """Return whether the samples of a batch lie as the entry takes them."""
        if not self.columns:
            return array.flags.c_contiguous
        if len(shape) != 1:
            return array.flags.f_contiguous
        apart = shape[0] <= 1 or array.strides[1] >= len(array) * array.itemsize
        return array.strides[0] == array.itemsize and apart


def targets():
    arm, planar = inverse_program(chain(5)), inverse_program(chain(2))
    column = trace("column", lambda x: {"y": x[:, 0] * 2.0}, {"x": (3, 1)})
    chosen = [(p, "double", "single") for p in (arm, planar, column)]
    chosen += [(everything_program(), s, "single") for s in ("double", "float")]
    for layout in ("rows", "columns"):
        programs = arm, everything_program()
        chosen += [(p, s, layout) for p in programs for s in ("double", "float")]
    return [Target(*each) for each in chosen]


def random_array(rng, shape, dtype):
    """An array of about that shape, dtype and layout, or something else altogether."""
    spoil = rng.random()
    numbers = np.random.default_rng(rng.getrandbits(32))
    if spoil < 0.06:
        shape = list(shape)
        if shape and rng.random() < 0.6:
            shape[rng.randrange(len(shape))] = rng.choice([0, 1, 2, 3, 5, 6, 7])
        elif rng.random() < 0.5:
            shape.insert(rng.randrange(len(shape) + 1), rng.choice([0, 1, 2]))
        elif shape:
            shape.pop(rng.randrange(len(shape)))
    if 0.06 <= spoil < 0.10:
        dtype = np.dtype(rng.choice(["f4", "f8", ">f8", "f2", "i8", "O", "c16", "V8", "U3"]))
    array = numbers.normal(size=tuple(shape))
    if 0.10 <= spoil < 0.12:
        return rng.choice([None, 1.0, "text", b"12345678", object(), array.tolist(), range(5), ...])
    if 0.12 <= spoil < 0.15 and array.size:
        array.flat[rng.randrange(array.size)] = rng.choice([np.nan, np.inf, -np.inf])
    if dtype.kind in "VU":
        return np.zeros(tuple(shape), dtype)
    with np.errstate(all="ignore"):
        array = array.astype(dtype)
    layout = rng.random()
    if layout < 0.03:
        wide = np.zeros((*array.shape, 2), array.dtype)[..., 0]
        wide[...] = array
        return wide
    if layout < 0.06:
        return np.asfortranarray(array)
    if layout < 0.08 and array.dtype != object:
        raw = np.frombuffer(b"\0" + array.tobytes(), array.dtype, offset=1)
        return raw.reshape(array.shape)
    if layout < 0.10:
        return array.view(Subclass)
    if layout < 0.12:
        array.setflags(write=False)
    if layout < 0.13 and array.ndim:
        return array[::-1]
    if layout < 0.14:
        return np.broadcast_to(array[..., :1], array.shape) if array.ndim else array
    return array


def random_results(rng, target, shapes):
    """Arrays for several outputs, mostly good ones, in a tuple, a list or something else."""
    arrays = [
        random_array(rng, shape, target.dtype)
        if rng.random() < 0.2
        else np.zeros(shape, target.dtype, order="F" if target.columns else "C")
        for shape in shapes
    ]
    if rng.random() < 0.1:
        arrays[-1] = arrays[0]
    elif rng.random() < 0.2:
        arrays = in_one_piece(rng, shapes, target.dtype)
    if rng.random() < 0.1:
        arrays = arrays[1:] if rng.random() < 0.5 else [*arrays, arrays[0]]
    make = rng.choice([tuple, list, iter])
    if len(arrays) == len(shapes) and rng.random() < 0.3:
        return target.kernel.results_class(*arrays)
    return make(arrays)


def in_one_piece(rng, shapes, dtype):
    """Arrays in one piece of memory, each at the end of the one before or just within it."""
    sizes = [int(np.prod(shape)) for shape in shapes]
    memory, start, arrays = np.zeros(sum(sizes), dtype), 0, []
    for shape, size in zip(shapes, sizes, strict=True):
        start = max(start - (rng.random() < 0.2), 0)
        arrays.append(memory[start : start + size].reshape(shape))
        start += size
    return arrays


def columns_of(rng, array):
    """An array with its samples side by side, mostly, where it is one; sometimes a slice."""
    if type(array) is not np.ndarray or array.ndim < 2 or rng.random() < 0.1:
        return array
    if rng.random() < 0.3:
        apart = np.zeros((*array.shape[::-1][:-1], len(array) + rng.randrange(4)), array.dtype)
        array, given = apart.T[: len(array)], array
        array[...] = given
        return array
    return np.asfortranarray(array)


def random_call(rng, target):
    """Arguments and keywords, mostly good ones."""
    count = rng.choice([0, 1, 2, 7, 8, 9, 16, 17, 40])
    inputs, outputs = target.shapes(count)
    arrays = [random_array(rng, shape, target.dtype) for shape in inputs]
    if target.batch and rng.random() < 0.1:
        k = rng.randrange(len(arrays))
        arrays[k] = random_array(rng, inputs[k][1:], target.dtype)
    if target.columns:
        arrays = [columns_of(rng, array) for array in arrays]
    if rng.random() < 0.02:
        arrays = arrays[: rng.randrange(len(arrays))]
    elif rng.random() < 0.02:
        arrays = arrays + [arrays[0]] * rng.choice([1, 2, 30])
    keywords, guarded = {}, None
    if rng.random() < 0.3:
        kind = rng.random()
        if len(outputs) > 1 and kind < 0.8:
            keywords["out"] = random_results(rng, target, outputs)
        elif kind < 0.6:
            guarded = np.full(int(np.prod(outputs[0])) + 16, 7.0, target.dtype)
            order = "F" if target.columns and rng.random() < 0.9 else "C"
            keywords["out"] = guarded[8:-8].reshape(outputs[0], order=order)
            if rng.random() < 0.1:
                guarded.setflags(write=False)
                keywords["out"].setflags(write=False)
        elif kind < 0.8:
            keywords["out"] = random_array(rng, outputs[0], target.dtype)
        else:
            keywords["out"] = None
    if rng.random() < 0.1:
        keywords["threads"] = rng.choice([None, 1, 2])
    if rng.random() < 0.02:
        keywords[rng.choice(["in", "outs", "out2", "Out"])] = 1
    if rng.random() < 0.5:  # keywords in the other order, and text that is not interned
        keywords = {"".join(list(k)): v for k, v in reversed(keywords.items())}
    return arrays, keywords, guarded


def check(target, arrays, keywords, guarded):
    """Make one call and compare it with the rules."""
    out = keywords.get("out")
    several = list(out) if isinstance(out, (tuple, list)) else []
    watched = [x for x in (*arrays, out, *several) if isinstance(x, np.ndarray)]
    references = [sys.getrefcount(x) for x in watched]
    answer = target.entry(*arrays, **keywords)
    accepted = answer is not DECLINED
    assert accepted == target.accepts(arrays, keywords), (accepted, arrays, keywords)
    if guarded is not None:
        assert np.all(guarded[:8] == 7.0), "written before the results"
        assert np.all(guarded[-8:] == 7.0), "written after the results"
        left = accepted or target.batch  # of which some samples may be done before one is refused
        assert left or np.all(guarded == 7.0), "written although declined"
    if accepted:
        if out is not None:
            assert [id(x) for x in results_of(target, answer)] == [id(x) for x in several or [out]]
        check_results(target, arrays, answer)
        if out is None:
            hold(target, answer)
    del answer
    assert references == [sys.getrefcount(x) for x in watched], "a reference is lost or kept"
    return accepted


def results_of(target, answer):
    """The arrays that a call returned."""
    return [answer] if len(target.kernel.outputs) == 1 else list(answer)


def hold(target, answer):
    """Hold on to a result in one of many ways, and see that earlier ones are what they were."""
    for kept, copy in target.held:
        assert np.array_equal(np.asarray(kept()), copy), "written while held"
    array = results_of(target, answer)[-1]
    copy = array.copy()
    view, memory, weak = array[...], memoryview(array), weakref.ref(array)
    ways = (
        lambda: array,
        lambda: results_of(target, answer)[-1],
        lambda: view,
        lambda: memory,
        lambda: copy if weak() is None else weak(),
    )
    target.held.append((target.rng.choice(ways), copy))
    if len(target.held) > 3:
        target.held.pop(target.rng.randrange(len(target.held)))


def check_results(target, arrays, answer):
    """Compare with the same equations in Python."""
    expected = results_of(target, target.reference(*arrays))
    for found, right in zip(results_of(target, answer), expected, strict=True):
        assert type(found) is np.ndarray
        assert (found.shape, found.dtype) == (right.shape, target.dtype)
        scale = np.abs(right).max(initial=1.0)
        np.testing.assert_allclose(found, right, rtol=0, atol=target.tolerance * scale)


def main(calls=20_000, seed=0):
    rng = random.Random(seed)
    everyone = targets()
    taken = 0
    for number in range(calls):
        target = rng.choice(everyone)
        try:
            taken += check(target, *random_call(rng, target))
        except AssertionError as error:
            raise AssertionError(
                f"call {number} of seed {seed} on {target.kernel}: {error}"
            ) from error
    print(f"{calls} calls, {taken} taken by the entries, {calls - taken} left to Python")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
