"""The checked door: how a call from Python reaches native code.

The entry of a kernel is itself native code, written in LLVM text beside the
kernel, with the calling convention of CPython's builtin functions. It looks at
every argument (a real NumPy array, of the right type, shape and layout), makes
the result and runs the kernel. Whatever is unusual in any way goes to an
ordinary Python function instead, which converts or raises: the entry never
refuses anything itself, so its rules can be short.

Making arrays takes longer than the equations of a small arm. An entry therefore
remembers its last two results and writes one of them again once nobody else holds it,
or any part or view of it: two, because in `tau = f(q)` the last result is let go only
after the next one is made.

The fields of an array are read where a 64-bit CPython with its global lock keeps
them (`PyObject`, `PyArrayObject`: layouts fixed since NumPy 1.7). `available`
tests that on real arrays; elsewhere every call takes the Python function.
"""

from __future__ import annotations

import ctypes
import functools
import math
import sys
import sysconfig
import weakref
from collections.abc import Callable, Mapping
from importlib import import_module
from itertools import combinations
from typing import Any

import numpy as np

from robot_dynamics.compiler.graph.trace import Shape
from robot_dynamics.compiler.native.ir import Code, Lanes
from robot_dynamics.compiler.native.llvm import Loaded

# Where the fields of PyObject and PyArrayObject lie, in bytes
_REFERENCES, _TYPE, _DATA, _NDIM, _DIMENSIONS, _DESCR, _FLAGS = 0, 8, 16, 24, 32, 56, 64
_WEAK_REFERENCES = 72
_TUPLE_SIZE = 16
_C_CONTIGUOUS, _OWNS_DATA, _ALIGNED, _WRITEABLE = 0x1, 0x4, 0x100, 0x400
_MOST_DIMENSIONS = 64  # of any array of NumPy
_TYPE_NUMBER = {"double": 12, "float": 11}  # NPY_DOUBLE, NPY_FLOAT
_DTYPE = {"double": np.dtype(np.float64), "float": np.dtype(np.float32)}

# Functions of CPython and NumPy that the entry calls, with result and argument types
_FUNCTIONS = {
    "PyObject_Vectorcall": ("i64", "i64, i64, i64, i64"),
    "PyList_GetItem": ("i64", "i64, i64"),
    "PyList_SetItem": ("i32", "i64, i64, i64"),
    "PyTuple_GetItem": ("i64", "i64, i64"),
    "PyTuple_SetItem": ("i32", "i64, i64, i64"),
    "PyType_GenericAlloc": ("i64", "i64, i64"),
    "Py_IncRef": ("void", "i64"),
    "Py_DecRef": ("void", "i64"),
    "PyEval_SaveThread": ("i64", ""),
    "PyEval_RestoreThread": ("void", "i64"),
    "PyArray_New": ("i64", "i64, i32, i64, i32, i64, i64, i32, i32, i64"),
}
_PYARRAY_TYPE, _PYARRAY_NEW = 2, 93  # positions in NumPy's table of C functions

# Objects that the entry compares with; their addresses are filled in after loading
_OBJECTS = (
    *("ndarray", "descr", "none", "out", "threads", "tuple", "list", "results", "remembered"),
    "next",  # an entry to try before the Python function, or None
)
_REMEMBERED = 2  # results


@functools.lru_cache(maxsize=1)
def available() -> bool:
    """True where native code may look into arrays: 64-bit CPython with its global lock."""
    if sys.implementation.name != "cpython" or sys.maxsize <= 2**32:
        return False
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return False
    if not hasattr(ctypes.pythonapi, "PyObject_Vectorcall"):  # Python 3.10 has it inline only
        return False
    return _numpy_table() is not None and all(_layout_holds(array) for array in _samples())


def _samples() -> list[np.ndarray[Any, Any]]:
    fixed = np.zeros((2, 3), np.float32)
    fixed.setflags(write=False)
    return [np.zeros(()), np.zeros(5), np.zeros((4, 3, 2))[:, ::2], fixed]


def _layout_holds(array: np.ndarray[Any, Any]) -> bool:
    """Compare the fields as the entry reads them with what NumPy says."""

    def word(offset: int) -> int:
        return ctypes.c_int64.from_address(id(array) + offset).value

    def half(offset: int) -> int:
        return ctypes.c_int32.from_address(id(array) + offset).value

    def references_are_counted() -> bool:
        before = half(_REFERENCES), word(_WEAK_REFERENCES)
        strong, weak = array, weakref.ref(array)
        after = half(_REFERENCES), word(_WEAK_REFERENCES)
        del strong, weak
        return before[0] + 1 == after[0] and before[1] == 0 != after[1]

    flags = (
        (_C_CONTIGUOUS, array.flags.c_contiguous),
        (_WRITEABLE, array.flags.writeable),
        (_OWNS_DATA, array.flags.owndata),
    )
    return (
        word(_TYPE) == id(type(array))
        and word(_DATA) == array.ctypes.data
        and half(_NDIM) == array.ndim
        and [
            ctypes.c_int64.from_address(word(_DIMENSIONS) + 8 * i).value for i in range(array.ndim)
        ]
        == list(array.shape)
        and word(_DESCR) == id(array.dtype)
        and all(bool(half(_FLAGS) & bit) == on for bit, on in flags)
        and references_are_counted()
    )


@functools.lru_cache(maxsize=1)
def _numpy_table() -> Any:
    """NumPy's table of C functions, or None if it is not where it has always been."""
    core = "numpy._core" if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else "numpy.core"
    try:
        umath = import_module(f"{core}._multiarray_umath")
    except ImportError:
        return None
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = ctypes.cast(pointer(umath._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))
    return table if table[_PYARRAY_TYPE] == id(np.ndarray) else None


def imports() -> dict[str, int]:
    """Addresses of the functions that entries call."""
    addresses = {
        name: ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0
        for name in _FUNCTIONS
        if name != "PyArray_New"
    }
    addresses["PyArray_New"] = _numpy_table()[_PYARRAY_NEW]
    return addresses


# -- writing the entry ----------------------------------------------------------------------------


def single_entry(
    inputs: Mapping[str, Shape], outputs: Mapping[str, Shape], scalar: str, typed_pointers: bool
) -> list[str]:
    """Write the entry of `single`, the kernel of one sample of "double" or "float".

    It is `call(self, args, nargs, kwnames)`, a builtin function of CPython whose `self` is the
    Python function for unusual calls.
    """
    code = Code(typed_pointers)
    entry = _Entry(code, scalar)
    entry.require(entry.equal("i64", "%nargs", str(len(inputs))))
    out = code.let("call i64 @find_out(i64 %args, i64 %nargs, i64 %kwnames)")
    entry.require(code.let(f"icmp ne i64 {out}, 0"))
    data = entry.check_inputs(inputs)
    code.branch(entry.equal("i64", out, entry.object("none")), "fresh", "given")
    code.label("given")
    entry.run_into(out, data, outputs)
    code.label("fresh")
    entry.reuse_result(data, outputs)
    arrays = [entry.new_array("", shape) for shape in outputs.values()]
    entry.run_single([*data, *entry.data_of(arrays)], otherwise="drop")
    functions = entry.finish(arrays, remember=True)
    return [*_reusable(outputs, scalar, typed_pointers), _item(typed_pointers), *functions]


def batch_entry(
    inputs: Mapping[str, Shape],
    outputs: Mapping[str, Shape],
    lanes: Lanes,
    release_from: int,
    typed_pointers: bool,
) -> list[str]:
    """Write the entry of `batch`, on the calling thread and into new arrays.

    Args:
        inputs: Shape of one sample of every input.
        outputs: Shape of one sample of every output.
        lanes: Type and number of samples of a block.
        release_from: Number of samples from which on other Python threads may run meanwhile.
        typed_pointers: As in `Code`.
    """
    code = Code(typed_pointers)
    entry = _Entry(code, lanes.scalar)
    entry.require(entry.equal("i64", "%nargs", str(len(inputs))))
    entry.require(entry.equal("i64", "%kwnames", "0"))
    data = entry.check_inputs(inputs, batch=True)
    arrays = [entry.new_array(entry.count, shape) for shape in outputs.values()]
    results = [code.load("i64", array, _DATA) for array in arrays]
    steps = [str(lanes.width * math.prod(s) * lanes.bytes) for s in inputs.values()]
    arguments = ", ".join(f"i64 {x}" for x in (entry.count, *data, *results, *steps))
    code.branch(code.let(f"icmp ult i64 {entry.count}, {release_from}"), "hold", "release")
    code.label("hold")
    code.do(f"%done.hold = call i64 @batch({arguments})")
    code.do("br label %done")
    code.label("release")
    state = code.let("call i64 @PyEval_SaveThread()")
    code.do(f"%done.release = call i64 @batch({arguments})")
    code.do(f"call void @PyEval_RestoreThread(i64 {state})")
    code.do("br label %done")
    code.label("done")
    done = code.let("phi i64 [ %done.hold, %hold ], [ %done.release, %release ]")
    entry.unless(entry.equal("i64", done, entry.count), "drop")
    return entry.finish(arrays)


def _find_out(typed_pointers: bool) -> str:
    """Write `find_out`: the argument `out`, None if there is none, 0 for other keywords."""
    code = Code(typed_pointers)
    entry = _Entry(code, "double")
    none, out, threads = (entry.object(name) for name in ("none", "out", "threads"))
    values = code.let("add i64 %args, " + code.let("shl i64 %nargs, 3"))
    code.branch(entry.equal("i64", "%kwnames", "0"), "plain", "keywords")
    code.label("plain")
    code.do(f"ret i64 {none}")
    code.label("keywords")
    size = code.load("i64", "%kwnames", _TUPLE_SIZE)
    code.do("br label %next")
    code.label("next")
    code.do("%i = phi i64 [ 0, %keywords ], [ %i.next, %again ]")
    code.do(f"%found = phi i64 [ {none}, %keywords ], [ %found.next, %again ]")
    code.branch(code.let(f"icmp ult i64 %i, {size}"), "look", "finished")
    code.label("finished")
    code.do("ret i64 %found")
    code.label("look")
    name = code.let("call i64 @PyTuple_GetItem(i64 %kwnames, i64 %i)")
    code.branch(entry.equal("i64", name, out), "take", "other")
    code.label("take")
    value = code.load("i64", code.let(f"add i64 {values}, " + code.let("shl i64 %i, 3")))
    code.do("br label %again")
    code.label("other")  # the number of threads means nothing to one sample
    code.branch(entry.equal("i64", name, threads), "again", "unknown")
    code.label("again")
    code.do(f"%found.next = phi i64 [ {value}, %take ], [ %found, %other ]")
    code.do("%i.next = add i64 %i, 1")
    code.do("br label %next")
    code.label("unknown")
    code.do("ret i64 0")
    return code.function("define internal i64 @find_out(i64 %args, i64 %nargs, i64 %kwnames)")


def _item(typed_pointers: bool) -> str:
    """Write `item`: an entry of a list or of any kind of tuple."""
    code = Code(typed_pointers)
    entry = _Entry(code, "double")
    kind = code.load("i64", "%things", _TYPE)
    code.branch(entry.equal("i64", kind, entry.object("list")), "of_list", "of_tuple")
    for each, getter in (("of_list", "PyList_GetItem"), ("of_tuple", "PyTuple_GetItem")):
        code.label(each)
        code.do(f"ret i64 {code.let(f'call i64 @{getter}(i64 %things, i64 %i)')}")
    return code.function("define internal i64 @item(i64 %things, i64 %i)")


def _reusable(outputs: Mapping[str, Shape], scalar: str, typed_pointers: bool) -> list[str]:
    """Write `reusable`: the remembered result of that number if nobody else holds it, else 0."""
    code = Code(typed_pointers)
    entry = _Entry(code, scalar)
    result = code.let(f"call i64 @PyList_GetItem(i64 {entry.object('remembered')}, i64 %number)")
    if len(outputs) > 1:
        entry.require_unshared(result, "results")
    arrays = entry.arrays_of(result, outputs)
    for array, shape in zip(arrays, outputs.values(), strict=True):
        entry.require_unshared(array, "ndarray")
        weak = code.load("i64", array, _WEAK_REFERENCES)
        entry.require(entry.equal("i64", weak, "0"))
        flags = _OWNS_DATA | _WRITEABLE
        entry.check_shape(entry.check_array(array, len(shape), flags), shape)
    code.do(f"ret i64 {result}")
    code.label("slow")
    code.do("ret i64 0")
    return [code.function("define internal i64 @reusable(i64 %number)")]


class _Entry:
    """Pieces of an entry; whatever is unusual branches to the block `slow`."""

    def __init__(self, code: Code, scalar: str) -> None:
        self.code = code
        self.lanes = Lanes(scalar)
        self.constants: list[str] = []
        self.count = ""  # N of a batch
        self.scratch = code.stack("i64", _MOST_DIMENSIONS)  # dimensions of a new array
        self.made: list[str] = []  # arrays
        self.failures: list[tuple[str, list[str]]] = []  # label, and what to drop there

    def object(self, name: str) -> str:
        """Address of one of the objects to compare with."""
        place = self.code.address_of("objects", f"[{len(_OBJECTS)} x i64]")
        return self.code.load("i64", place, 8 * _OBJECTS.index(name))

    def unless(self, condition: str, otherwise: str) -> None:
        """Go on if the condition holds, else to another block."""
        go_on = self.code.fresh("ok")
        self.code.branch(condition, go_on, otherwise)
        self.code.label(go_on)

    def require(self, condition: str) -> None:
        """Go on if the condition holds, else take the Python function."""
        self.unless(condition, "slow")

    def equal(self, kind: str, a: str, b: str) -> str:
        """Equality, i1."""
        return self.code.let(f"icmp eq {kind} {a}, {b}")

    def all(self, conditions: list[str]) -> str:
        """Conjunction, i1."""
        total = conditions[0]
        for c in conditions[1:]:
            total = self.code.let(f"and i1 {total}, {c}")
        return total

    def require_unshared(self, thing: str, kind: str) -> None:
        """Require an object of one of the types in `_OBJECTS` that has a single reference."""
        self.require(self.equal("i64", self.code.load("i64", thing, _TYPE), self.object(kind)))
        references = self.code.load("i32", thing, _REFERENCES, align=4)
        self.require(self.equal("i32", references, "1"))

    def check_array(self, array: str, ndim: int, flags: int = 0) -> str:
        """Require a C-contiguous array of the right dtype; returns where its dimensions are."""
        code = self.code
        kind = code.load("i64", array, _TYPE)
        self.require(self.equal("i64", kind, self.object("ndarray")))
        given = code.load("i32", array, _FLAGS, align=4)
        wanted = _C_CONTIGUOUS | _ALIGNED | flags
        masked = code.let(f"and i32 {given}, {wanted}")
        dims = code.load("i32", array, _NDIM, align=4)
        descr = code.load("i64", array, _DESCR)
        self.require(
            self.all(
                [
                    self.equal("i32", masked, str(wanted)),
                    self.equal("i32", dims, str(ndim)),
                    self.equal("i64", descr, self.object("descr")),
                ]
            )
        )
        return code.load("i64", array, _DIMENSIONS)

    def check_inputs(self, inputs: Mapping[str, Shape], batch: bool = False) -> list[str]:
        """Require good arrays of one number of samples; returns where their data are."""
        data = []
        for k, shape in enumerate(inputs.values()):
            array = self.code.load("i64", "%args", 8 * k)
            dimensions = self.check_array(array, len(shape) + batch)
            if batch:
                count = self.code.load("i64", dimensions)
                if self.count:
                    self.require(self.equal("i64", count, self.count))
                self.count = self.count or count
            self.check_shape(dimensions, shape, first=int(batch))
            data.append(self.code.load("i64", array, _DATA))
        return data

    def check_shape(self, dimensions: str, shape: Shape, first: int = 0) -> None:
        """Require the dimensions from number `first` on to be those of one sample."""
        sizes = [
            self.equal("i64", self.code.load("i64", dimensions, 8 * (first + i)), str(size))
            for i, size in enumerate(shape)
        ]
        if sizes:
            self.require(self.all(sizes))

    def new_array(self, count: str, shape: Shape) -> str:
        """Make the array of a result, shape S or (N, *S)."""
        code = self.code
        if count:
            code.store("i64", count, self.scratch)
            for i, size in enumerate(shape):
                code.store("i64", str(size), self.scratch, 8 * (i + 1))
            dimensions, ndim = self.scratch, len(shape) + 1
        elif shape:
            name, kind = f"shape{len(self.constants)}", f"[{len(shape)} x i64]"
            sizes = ", ".join(f"i64 {size}" for size in shape)
            self.constants.append(f"@{name} = private constant {kind} [{sizes}]\n")
            dimensions, ndim = code.address_of(name, kind), len(shape)
        else:
            dimensions, ndim = "0", 0
        array = code.let(
            f"call i64 @PyArray_New(i64 {self.object('ndarray')}, i32 {ndim}, i64 {dimensions}, "
            f"i32 {_TYPE_NUMBER[self.lanes.scalar]}, i64 0, i64 0, i32 0, i32 0, i64 0)"
        )
        self.fail_if_null(array)
        self.made.append(array)
        return array

    def fail_if_null(self, result: str) -> None:
        """Hand an exception of CPython on to the caller, after dropping the arrays made so far."""
        failed = self.code.fresh("failed")
        self.unless(self.code.let(f"icmp ne i64 {result}, 0"), failed)
        self.failures.append((failed, list(self.made)))

    def run_single(self, addresses: list[str], otherwise: str) -> None:
        """Run the kernel of one sample; go elsewhere if an input is not finite."""
        arguments = ", ".join(f"i64 {address}" for address in addresses)
        bad = self.code.let(f"call i32 @single({arguments})")
        self.unless(self.equal("i32", bad, "0"), otherwise)

    def arrays_of(self, things: str, outputs: Mapping[str, Shape]) -> list[str]:
        """The arrays of a result, of a list or of a tuple; for one output it is the array."""
        if len(outputs) == 1:
            return [things]
        return [
            self.code.let(f"call i64 @item(i64 {things}, i64 {i})") for i in range(len(outputs))
        ]

    def data_of(self, arrays: list[str]) -> list[str]:
        """Where the numbers of arrays lie."""
        return [self.code.load("i64", array, _DATA) for array in arrays]

    def run_into(self, out: str, data: list[str], outputs: Mapping[str, Shape]) -> None:
        """Run the kernel into the arrays of the caller and return them."""
        code = self.code
        if len(outputs) > 1:
            kind = code.load("i64", out, _TYPE)
            known = [self.equal("i64", kind, self.object(n)) for n in ("tuple", "list", "results")]
            either = code.let(f"or i1 {known[0]}, {known[1]}")
            self.require(code.let(f"or i1 {either}, {known[2]}"))
            size = code.load("i64", out, _TUPLE_SIZE)
            self.require(self.equal("i64", size, str(len(outputs))))
        arrays = self.arrays_of(out, outputs)
        for array, shape in zip(arrays, outputs.values(), strict=True):
            self.check_shape(self.check_array(array, len(shape), _WRITEABLE), shape)
        places = self.data_of(arrays)
        sizes = [math.prod(shape) * self.lanes.bytes for shape in outputs.values()]
        for (a, a_size), (b, b_size) in combinations(zip(places, sizes, strict=True), 2):
            a_end, b_end = code.let(f"add i64 {a}, {a_size}"), code.let(f"add i64 {b}, {b_size}")
            before, after = (
                code.let(f"icmp ule i64 {x}, {y}") for x, y in ((a_end, b), (b_end, a))
            )
            self.require(code.let(f"or i1 {before}, {after}"))
        self.run_single([*data, *places], otherwise="slow")
        for array in arrays:
            code.do(f"call void @Py_IncRef(i64 {array})")
        self.made = list(arrays)
        code.do(f"ret i64 {self.answer(arrays)}")
        self.made = []

    def reuse_result(self, data: list[str], outputs: Mapping[str, Shape]) -> None:
        """Run the kernel into a remembered result and return that, or go on if there is none."""
        code = self.code
        for number in range(_REMEMBERED):
            use, go_on = code.fresh("use"), code.fresh("none")
            result = code.let(f"call i64 @reusable(i64 {number})")
            code.branch(code.let(f"icmp ne i64 {result}, 0"), use, go_on)
            code.label(use)
            arrays = self.arrays_of(result, outputs)
            self.run_single([*data, *self.data_of(arrays)], otherwise="slow")
            code.do(f"call void @Py_IncRef(i64 {result})")
            code.do(f"ret i64 {result}")
            code.label(go_on)

    def answer(self, arrays: list[str]) -> str:
        """What a call returns, owning the arrays: the only one, or a named tuple."""
        if len(arrays) == 1:
            return arrays[0]
        code, kind = self.code, self.object("results")
        answer = code.let(f"call i64 @PyType_GenericAlloc(i64 {kind}, i64 {len(arrays)})")
        self.fail_if_null(answer)
        for i, array in enumerate(arrays):
            code.let(f"call i32 @PyTuple_SetItem(i64 {answer}, i64 {i}, i64 {array})")
        return answer

    def remember(self, result: str) -> None:
        """Remember a result in place of the older one."""
        code = self.code
        place = code.address_of("newest", "i64")
        number = code.let("xor i64 1, " + code.load("i64", place))
        code.store("i64", number, place)
        code.do(f"call void @Py_IncRef(i64 {result})")
        remembered = self.object("remembered")
        code.let(f"call i32 @PyList_SetItem(i64 {remembered}, i64 {number}, i64 {result})")

    def finish(self, arrays: list[str], remember: bool = False) -> list[str]:
        """Return the arrays; write the blocks for what went wrong, and the functions."""
        code, answer = self.code, self.answer(arrays)
        if remember:
            self.remember(answer)
        code.do(f"ret i64 {answer}")
        code.label("drop")  # an input is not finite: the Python function says which
        for array in arrays:
            code.do(f"call void @Py_DecRef(i64 {array})")
        code.do("br label %slow")
        code.label("slow")
        arguments = "i64 %self, i64 %args, i64 %nargs, i64 %kwnames"
        following, none = self.object("next"), self.object("none")
        code.branch(self.equal("i64", following, none), "python", "following")
        code.label("following")
        others = arguments.replace("%self", following)
        code.do(f"%found = call i64 @PyObject_Vectorcall({others})")
        code.branch(self.equal("i64", "%found", none), "declined", "taken")
        code.label("taken")
        code.do("ret i64 %found")
        code.label("declined")
        code.do(f"call void @Py_DecRef(i64 {none})")
        code.do("br label %python")
        code.label("python")
        code.do(f"%answer = call i64 @PyObject_Vectorcall({arguments})")
        code.do("ret i64 %answer")
        for label, made in self.failures:  # no memory: the exception is set
            code.label(label)
            for array in made:
                code.do(f"call void @Py_DecRef(i64 {array})")
            code.do("ret i64 0")
        declared = [
            f"declare {result} @{name}({types})\n" for name, (result, types) in _FUNCTIONS.items()
        ]
        slots = f"@objects = global [{len(_OBJECTS)} x i64] zeroinitializer\n"
        slots += "@newest = internal global i64 0\n"
        find_out = _find_out(code.typed_pointers)
        return [
            *declared,
            slots,
            *self.constants,
            find_out,
            code.function(f"define i64 @call({arguments})"),
        ]


# -- making the builtin function ------------------------------------------------------------------


class _MethodDef(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


_FASTCALL_WITH_KEYWORDS = 0x0080 | 0x0002

# CPython reads the definition of a builtin function even while it frees the function, in an order
# that a garbage collection leaves open. 32 bytes per kernel are cheap enough to keep.
_definitions: list[_MethodDef] = []


def follow_with(code: Loaded, entry: Callable[..., Any]) -> None:
    """Let the entries of some code try another entry, one that answers None to unusual calls."""
    code.following = entry
    slots = (ctypes.c_int64 * len(_OBJECTS)).from_address(code.address("objects"))
    slots[_OBJECTS.index("next")] = id(entry)


def builtin_function(
    code: Loaded,
    signature: str,
    scalar: str,
    unusual: Callable[..., Any],
    results: type | None = None,
) -> Callable[..., Any]:
    """Make the entry `call` of loaded code a function of Python.

    Args:
        code: Loaded code with an entry.
        signature: Name and parameters that the function shows, such as "f(q, *, out=None)".
        scalar: "double" or "float", as the entry was written for.
        unusual: Takes the calls that the entry does not.
        results: Named tuple of several outputs.
    """
    if not code.kept:
        code.kept += [None] * _REMEMBERED
    objects = {
        "remembered": code.kept,
        "next": code.following,
        "tuple": tuple,
        "list": list,
        "ndarray": np.ndarray,
        "descr": _DTYPE[scalar],
        "none": None,
        "out": sys.intern("out"),
        "threads": sys.intern("threads"),
        "results": results,
    }
    slots = (ctypes.c_int64 * len(_OBJECTS)).from_address(code.address("objects"))
    slots[:] = [id(objects[name]) for name in _OBJECTS]
    name = signature.partition("(")[0].encode()
    doc = f"{signature}\n--\n\nEvaluate compiled equations; see `Kernel`.".encode()
    definition = _MethodDef(name, code.address("call"), _FASTCALL_WITH_KEYWORDS, doc)
    _definitions.append(definition)
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype = ctypes.py_object
    make.argtypes = [ctypes.POINTER(_MethodDef), ctypes.py_object, ctypes.c_void_p]
    behind = functools.partial(unusual)
    behind.kept = code, results  # type: ignore[attr-defined]  # live as long as the function
    return make(ctypes.byref(definition), behind, None)
