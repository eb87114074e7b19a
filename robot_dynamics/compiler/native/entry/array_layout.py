"""Where the fields of an array lie, and whether that holds on this interpreter.

The fields are read where a 64-bit CPython with its global lock keeps them
(`PyObject`, `PyArrayObject`: layouts fixed since NumPy 1.7). `available` tests that
on real arrays; elsewhere, and where $ROBOT_DYNAMICS_NATIVE_ENTRY is 0, every call
takes the Python function.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys
import sysconfig
import weakref
from importlib import import_module
from typing import Any

import numpy as np

# Where the fields of PyObject and PyArrayObject lie, in bytes
REFERENCES, TYPE, DATA, NDIM, DIMENSIONS, DESCR, FLAGS = 0, 8, 16, 24, 32, 56, 64
WEAK_REFERENCES = 72
TUPLE_SIZE = 16
TUPLE_HASH = 24 if tuple.__basicsize__ > 24 else 0  # Python 3.14 keeps it; -1: not computed yet
C_CONTIGUOUS, OWNS_DATA, ALIGNED, WRITEABLE = 0x1, 0x4, 0x100, 0x400
MOST_DIMENSIONS = 64  # of any array of NumPy

# Objects that the entry compares with; their addresses are filled in after loading
OBJECTS = (
    *("ndarray", "descr", "none", "out", "threads", "tuple", "list", "results", "remembered"),
    "next",  # an entry to try before the Python function, or None
)
REMEMBERED = 2  # results

# Functions of CPython and NumPy that the entry calls, with result and argument types
FUNCTIONS = {
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


@functools.lru_cache(maxsize=1)
def available() -> bool:
    """True where native code may look into arrays: 64-bit CPython with its global lock."""
    if os.environ.get("ROBOT_DYNAMICS_NATIVE_ENTRY") == "0":
        return False
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
        before = half(REFERENCES), word(WEAK_REFERENCES)
        strong, weak = array, weakref.ref(array)
        after = half(REFERENCES), word(WEAK_REFERENCES)
        del strong, weak
        return before[0] + 1 == after[0] and before[1] == 0 != after[1]

    flags = (
        (C_CONTIGUOUS, array.flags.c_contiguous),
        (WRITEABLE, array.flags.writeable),
        (OWNS_DATA, array.flags.owndata),
    )
    return (
        word(TYPE) == id(type(array))
        and word(DATA) == array.ctypes.data
        and half(NDIM) == array.ndim
        and [ctypes.c_int64.from_address(word(DIMENSIONS) + 8 * i).value for i in range(array.ndim)]
        == list(array.shape)
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


def imports() -> dict[str, int]:
    """Addresses of the functions that entries call."""
    addresses = {
        name: ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0
        for name in FUNCTIONS
        if name != "PyArray_New"
    }
    addresses["PyArray_New"] = _numpy_table()[_PYARRAY_NEW]
    return addresses
