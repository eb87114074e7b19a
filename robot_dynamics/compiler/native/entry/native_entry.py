"""The native entry as Python sees it: what it reads of arrays, its function, whose place it takes.

The fields of an array are read where a 64-bit CPython with its global lock keeps them
(`PyObject`, `PyArrayObject`: layouts fixed since NumPy 1.7). `available` tests that
on real arrays; elsewhere, and where $ROBOT_DYNAMICS_NATIVE_ENTRY is 0, every call
takes the Python function.

A builtin function among the attributes of an object is called without a Python frame in
between. It is made when the method is first read, without any code, and calls the Python method.
The first call fetches the code and puts it into the function: who keeps the function keeps the
code. It also hides what the class has under that name, so it may stand there only while
the class's method is the one that the entry was made for: not in a subclass with a method
of its own, and not after another one was set on the class, as tests do.
"""

from __future__ import annotations

import ctypes
import functools
import inspect
import os
import sys
import threading
import weakref
from abc import ABCMeta
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from types import MethodType
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

from robot_dynamics.compiler.native.llvm import Loaded
from robot_dynamics.foundation.lazy import lock

# -- where the fields of an array lie -----------------------------------------------------------

# Of PyObject and PyArrayObject, in bytes
REFERENCES, TYPE, DATA, NDIM, DIMENSIONS, STRIDES, DESCR, FLAGS = 0, 8, 16, 24, 32, 40, 56, 64
WEAK_REFERENCES = 72
VECTORCALL_OFFSET = 56  # of PyTypeObject, read on Python 3.10 alone
TUPLE_SIZE = 16
TUPLE_ITEMS, LIST_ITEMS = tuple.__basicsize__, 24  # the latter is where their address is
TUPLE_HASH = 24 if tuple.__basicsize__ > 24 else 0  # Python 3.14 keeps it; -1: not computed yet
C_CONTIGUOUS, F_CONTIGUOUS, OWNS_DATA, ALIGNED, WRITEABLE = 0x1, 0x2, 0x4, 0x100, 0x400
MOST_DIMENSIONS = 64  # of any array of NumPy

KEYWORD_INPUTS = {"wrench": 1, "payload": 2, "gravity": 4}
"""Inputs that methods take by keyword, each with its bit in the number of their combination."""


def beside_of(inputs: Iterable[str]) -> int:
    """The sum of the inputs of `KEYWORD_INPUTS` among those of a kernel."""
    return sum(bit for name, bit in KEYWORD_INPUTS.items() if name in inputs)


KEYWORDS = (*KEYWORD_INPUTS, "frame", "out", "threads")

# Objects that the entry compares with; their addresses are filled in after loading
OBJECTS = (
    *("ndarray", "descr", "none", "one", "tuple", "list", "results", "remembered", *KEYWORDS),
    "float32",  # the dtype
    "next",  # an entry to try before the Python function, or None
    "alone",  # what an entry is bound to that does not try it, or 0
    # Of the entry that takes the place of a method, else 0: what it is bound to, its frame, the
    # addresses of the table of its `MethodEntry` and of `Entries.last`
    *("method", "place", "table", "last"),
)
REMEMBERED = 2, 16  # results at least and, of small ones, at most
SMALL_BYTES = 32_768  # that more than the least of them take
MOST_REMEMBERED_BYTES = 2**22  # of a result for many samples

CALL_IS_INLINE = sys.version_info < (3, 11)
"""True where only the headers of CPython define `PyObject_Vectorcall`."""

# Functions of CPython and NumPy that the entry calls, with result and argument types
_TO_CALL = {"PyObject_Vectorcall": ("i64", "i64, i64, i64, i64")}
if CALL_IS_INLINE:
    _TO_CALL = {
        "PyThreadState_Get": ("i64", ""),
        "_PyObject_MakeTpCall": ("i64", "i64, i64, i64, i64, i64"),
    }
FUNCTIONS = {
    **_TO_CALL,
    "PyList_GetItem": ("i64", "i64, i64"),
    "PyList_SetItem": ("i32", "i64, i64, i64"),
    "PyTuple_GetItem": ("i64", "i64, i64"),
    "PyTuple_SetItem": ("i32", "i64, i64, i64"),
    "PyType_GenericAlloc": ("i64", "i64, i64"),
    "Py_IncRef": ("void", "i64"),
    "Py_DecRef": ("void", "i64"),
    "PyEval_SaveThread": ("i64", ""),
    "PyEval_RestoreThread": ("void", "i64"),
    "PyBytes_FromStringAndSize": ("i64", "i64, i64"),
    "PyArray_New": ("i64", "i64, i32, i64, i32, i64, i64, i32, i32, i64"),
}
_PYARRAY_TYPE, _PYARRAY_NEW = 2, 93  # positions in NumPy's table of C functions


@functools.lru_cache(maxsize=1)
def available() -> bool:
    """True where native code may look into arrays: 64-bit CPython with its global lock."""
    if os.environ.get("ROBOT_DYNAMICS_NATIVE_ENTRY") == "0":
        return False
    if sys.implementation.name != "cpython" or sys.maxsize <= 2**32:
        return False
    if "t" in getattr(sys, "abiflags", ""):  # free-threaded; Windows may not say, the samples do
        return False
    known = _numpy_table() is not None and _sequences_hold() and _calls_hold()
    return known and all(_layout_holds(array) for array in _samples())


def _sequences_hold() -> bool:
    """Compare where the entry reads items of lists and tuples with where they are."""
    things = [object(), object()]
    pair = tuple(things)
    word = ctypes.c_int64.from_address
    items = word(id(things) + LIST_ITEMS).value
    found = [word(place + 8).value for place in (items, id(pair) + TUPLE_ITEMS)]
    return found == [id(things[1])] * 2 and word(id(pair) + TUPLE_SIZE).value == len(pair)


def _calls_hold() -> bool:
    """Compare the code that calls a function as it is read from there with what CPython has."""
    return not CALL_IS_INLINE or _code_that_calls(_calls_hold) == function_address(
        "_PyFunction_Vectorcall"
    )


def _samples() -> list[np.ndarray[Any, Any]]:
    fixed = np.zeros((2, 3), np.float32)
    fixed.setflags(write=False)
    return [np.zeros(()), np.zeros(5), np.zeros((4, 3, 2))[:, ::2], fixed]


def _layout_holds(array: np.ndarray[Any, Any]) -> bool:
    """Compare the fields as the entry reads them with what NumPy says."""

    def word(offset: int) -> int:
        return ctypes.c_int64.from_address(id(array) + offset).value

    def words(offset: int) -> list[int]:
        first = word(offset)
        return [ctypes.c_int64.from_address(first + 8 * i).value for i in range(array.ndim)]

    def half(offset: int) -> int:
        return ctypes.c_int32.from_address(id(array) + offset).value

    def references_are_counted() -> bool:
        before = half(REFERENCES), word(WEAK_REFERENCES)
        strong, weak = array, weakref.ref(array)
        after = half(REFERENCES), word(WEAK_REFERENCES)
        del strong, weak
        return before[0] + 1 == after[0] and before[1] == 0 != after[1]

    flags = (
        (C_CONTIGUOUS, array.flags.c_contiguous),
        (F_CONTIGUOUS, array.flags.f_contiguous),
        (WRITEABLE, array.flags.writeable),
        (OWNS_DATA, array.flags.owndata),
    )
    return (
        word(TYPE) == id(type(array))
        and word(DATA) == array.ctypes.data
        and half(NDIM) == array.ndim
        and words(DIMENSIONS) == list(array.shape)
        and words(STRIDES) == list(array.strides)
        and word(DESCR) == id(array.dtype)
        and all(bool(half(FLAGS) & bit) == on for bit, on in flags)
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


def function_address(name: str) -> int:
    """Address of a function of CPython."""
    return ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0


def _code_that_calls(function: Callable[..., Any]) -> int:
    """Address of code with FASTCALL_WITH_KEYWORDS that calls a Python or partial function."""
    if not CALL_IS_INLINE:
        return function_address("PyObject_Vectorcall")
    word = ctypes.c_int64.from_address
    return word(id(function) + word(id(type(function)) + VECTORCALL_OFFSET).value).value


def imports() -> dict[str, int]:
    """Addresses of the functions that entries call."""
    addresses = {name: function_address(name) for name in FUNCTIONS if name != "PyArray_New"}
    addresses["PyArray_New"] = _numpy_table()[_PYARRAY_NEW]
    return addresses


# -- builtin functions whose code is the loaded machine code ------------------------------------


_DTYPE = {"double": np.dtype(np.float64), "float": np.dtype(np.float32)}


class _MethodDef(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class _Behind(functools.partial[Any]):
    """The Python function of an entry, on one object; stands for that object in a pickle.

    A builtin function is pickled as an attribute of what it is bound to.
    """

    def __reduce__(self) -> Any:
        return _same, self.args[:1]


def _same(thing: Any) -> Any:
    return thing


FASTCALL, FASTCALL_WITH_KEYWORDS = 0x0080, 0x0080 | 0x0002
"""Calling conventions of a builtin function: `METH_FASTCALL`, alone or with `METH_KEYWORDS`."""

# CPython reads the definition of a builtin function even while it frees the function, in an order
# that a garbage collection leaves open. 32 bytes per kernel are cheap enough to keep.
_definitions: list[_MethodDef] = []


@functools.lru_cache(maxsize=64)
def _documentation(signature: str, text: str) -> bytes:
    """Text of a builtin function for help and inspect.signature; one for all robots."""
    return f"{signature}\n--\n\n{text}".encode()


def follow_with(code: Loaded, entry: Callable[..., Any]) -> None:
    """Let the entries of some code try another entry, one that answers None to unusual calls."""
    code.following = entry
    slots = (ctypes.c_int64 * len(OBJECTS)).from_address(code.address("objects"))
    slots[OBJECTS.index("next")] = id(entry)


def builtin_function(
    code: Loaded,
    signature: str,
    text: str,
    scalar: str,
    unusual: Callable[..., Any],
    results: type | None = None,
    alone: bool = False,
) -> Callable[..., Any]:
    """Make the entry `call` of loaded code a function of Python.

    Args:
        code: Loaded code with an entry.
        signature: Name and parameters that the function shows, such as "f(q, *, out=None)".
        text: Its docstring.
        scalar: "double" or "float", as the entry was written for.
        unusual: Takes the calls that the entry does not.
        results: Named tuple of several outputs.
        alone: Try no other entry before the Python function.
    """
    behind = _Behind(unusual)
    behind.kept = code, results  # type: ignore[attr-defined]  # live as long as the function
    _fill_objects(code, scalar, results, {"alone": id(behind) if alone else 0})
    return builtin(code, signature, text, FASTCALL_WITH_KEYWORDS, behind)


def _fill_objects(code: Loaded, scalar: str, results: type | None, own: Mapping[str, int]) -> None:
    """Tell the entry of loaded code the addresses of what it compares with."""
    if not code.kept:
        code.kept += [None] * max(REMEMBERED)
    objects = {
        "remembered": code.kept,
        "next": code.following,
        "tuple": tuple,
        "list": list,
        "ndarray": np.ndarray,
        "descr": _DTYPE[scalar],
        "float32": _DTYPE["float"],
        "none": None,
        "one": 1,  # CPython has a single object for each small number
        "results": results,
        **{name: sys.intern(name) for name in KEYWORDS},
    }
    addresses = {**{name: id(value) for name, value in objects.items()}, **own}
    slots = (ctypes.c_int64 * len(OBJECTS)).from_address(code.address("objects"))
    slots[:] = [addresses.get(name, 0) for name in OBJECTS]


def builtin(
    code: Loaded, signature: str, text: str, convention: int, behind: object
) -> Callable[..., Any]:
    """Make the function `call` of loaded code a function of Python.

    Args:
        code: Loaded code, which has to live as long as the function.
        signature: Name and parameters that the function shows.
        text: Its docstring.
        convention: `FASTCALL` or `FASTCALL_WITH_KEYWORDS`.
        behind: What it is bound to, and keeps alive.
    """
    return _defined(signature, text, convention, code.address("call"), behind).function


class _Defined(NamedTuple):
    """A builtin function, and its definition, where CPython finds its code at every call."""

    function: Callable[..., Any]
    definition: _MethodDef


def _defined(signature: str, text: str, convention: int, address: int, behind: object) -> _Defined:
    """Make a builtin function of the code at an address; arguments as of `builtin`."""
    name = signature.partition("(")[0].encode()
    definition = _MethodDef(name, address, convention, _documentation(signature, text))
    _definitions.append(definition)
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype = ctypes.py_object
    make.argtypes = [ctypes.POINTER(_MethodDef), ctypes.py_object, ctypes.c_void_p]
    return _Defined(make(ctypes.byref(definition), behind, None), definition)


# -- methods whose place entries take -----------------------------------------------------------


Method = TypeVar("Method", bound=Callable[..., Any])

_methods: dict[str, Callable[..., Any]] = {}


class Entries:
    """The entries of one object, by method."""

    def __init__(self) -> None:
        self._methods: dict[str, MethodEntry] = {}
        self._last = (ctypes.c_int64 * 2)()
        self._load: tuple[object, object] | None = None
        self._lock = threading.Lock()

    def of(self, name: str, thing: Any) -> MethodEntry:
        """The entry of a method of the object, made when it is first asked for."""
        known = self._methods.get(name)
        return known or self._methods.setdefault(name, MethodEntry(self, name, thing))

    def remember(self, load: object, numbers: object) -> None:
        """Let entries take these numbers for this load."""
        with self._lock:
            self._last[0] = 0
            self._load = load, numbers
            self._last[:] = [id(load), id(numbers)]

    @property
    def last(self) -> int:
        """Where the addresses of the last load and its numbers are."""
        return ctypes.addressof(self._last)


class MethodEntry:
    """The builtin function that takes the place of a method of an object.

    It calls the method until it has code: first that of the kernel that is first called, then that
    of the kernel without inputs of `KEYWORD_INPUTS`, from which all others are reached.

    Args:
        entries: Those of the object.
        name: Name of the method.
        thing: The object.

    Attributes:
        function: The builtin function.
    """

    def __init__(self, entries: Entries, name: str, thing: Any) -> None:
        method = _methods[name]
        self._entries = entries
        self._table = (ctypes.c_int64 * 2 ** len(KEYWORD_INPUTS))()  # where each combination begins
        self._codes: dict[int, tuple[Any, ...]] = {}  # may be running whenever another one is added
        self._behind = _Behind(method, thing)
        self._behind.kept = self  # type: ignore[attr-defined]  # lives as long as the function
        about = name + _signature(method), inspect.getdoc(method) or ""
        first = _code_that_calls(self._behind)
        self.function, self._definition = _defined(
            *about, FASTCALL_WITH_KEYWORDS, first, self._behind
        )

    def add(
        self, code: Loaded, inputs: Iterable[str], results: type | None, frame: str | None
    ) -> None:
        """Add the code of a kernel, unless there is one for the same inputs of `KEYWORD_INPUTS`.

        Args:
            code: Loaded code with an entry.
            inputs: Names of the inputs of the kernel.
            results: Named tuple of several outputs.
            frame: Argument `frame` of the calls that it takes, or None.
        """
        beside = beside_of(inputs)
        if beside in self._codes:  # no wait for a thread that compiles
            return
        with lock:
            if beside in self._codes:
                return
            own = {
                "method": id(self._behind),
                "place": 0 if frame is None else id(frame),
                "table": ctypes.addressof(self._table),
                "last": self._entries.last,
            }
            _fill_objects(code, "double", results, own)
            self._table[beside] = code.address("beside" if beside else "call")
            if beside == 0 or not self._codes:
                self._definition.function = code.address("call")
            self._codes[beside] = code, results, frame


_entered: weakref.WeakSet[Any] = weakref.WeakSet()  # objects with entries

ENTRIES = "_entries"
"""Attribute of an object that holds its entries."""


def entries_of(thing: Any) -> Entries:
    """The entries of an object."""
    entries: Entries = thing.__dict__.setdefault(ENTRIES, Entries())
    return entries


class _NativeMethod:
    """A method whose place an entry takes when it is read from an object.

    Args:
        method: The method, which is what the class shows.
    """

    def __init__(self, method: Callable[..., Any]) -> None:
        functools.update_wrapper(cast(Any, self), method)
        self._name, self._method = method.__name__, method

    def __get__(self, thing: Any, owner: type | None = None) -> Callable[..., Any]:
        if thing is None:
            return self._method
        if not (thing._takes_entries and _has_place(thing, self._name)):
            return MethodType(self._method, thing)
        entry: Callable[..., Any] = entries_of(thing).of(self._name, thing).function
        _entered.add(thing)
        return cast(Callable[..., Any], thing.__dict__.setdefault(self._name, entry))


def _has_place(thing: Any, name: str) -> bool:
    """Return whether an entry may stand for a method of an object.

    Its class may have another method of that name, which calls this one through super().
    """
    return getattr(type(thing), name, None) is _methods[name]


def native_method(method: Method) -> Method:
    """Mark a method whose place an entry may take; without entries its kernel is asked first."""
    if not available():
        return cast(Method, _kernel_first(method))
    _methods[method.__name__] = method
    return cast(Method, _NativeMethod(method))


def _kernel_first(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that hands arrays of one motion to the kernel, once that is known.

    Attribute `_resolved` of an object has such kernels by the names of their methods.
    """
    name = method.__name__

    @functools.wraps(method)
    def call(thing: Any, *arrays: Any, **given: Any) -> Any:
        kernel = None if given else thing._resolved.get(name)
        answer = None if kernel is None else kernel.usual(arrays)
        return method(thing, *arrays, **given) if answer is None else answer

    return call


class WithNativeMethods(ABCMeta):
    """Class of classes with native methods: what is set on a class is obeyed by its objects.

    Attribute `_takes_entries` of an object says whether entries take its calls.
    """

    def __setattr__(cls, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        cls._leave(name)

    def __delattr__(cls, name: str) -> None:
        super().__delattr__(name)
        cls._leave(name)

    def _leave(cls, name: str) -> None:
        if name in _methods:
            for thing in list(_entered):
                if isinstance(thing, cls):
                    leave(thing, name)


def enter(thing: Any, name: str, kernel: Any, frame: str | None = None) -> None:
    """Let the entry that takes the place of a method go to a kernel, which has an entry."""
    if _has_place(thing, name):
        kernel.add_to(entries_of(thing).of(name, thing), frame)


def leave(thing: Any, name: str) -> None:
    """Give the place back to the method."""
    if is_entry(name, thing.__dict__.get(name)):
        del thing.__dict__[name]


def is_entry(name: str, attribute: Any) -> bool:
    """Return whether an attribute of an object is a native entry."""
    return name in _methods and inspect.isbuiltin(attribute)


@functools.lru_cache(maxsize=32)
def _signature(method: Callable[..., Any]) -> str:
    """The parameters after self, as builtin functions show them: without annotations."""
    parameters = list(inspect.signature(method).parameters.values())[1:]
    plain = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in parameters]
    return str(inspect.Signature(plain))
