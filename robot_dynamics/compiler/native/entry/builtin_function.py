"""Entries as functions of Python: builtin functions whose code is the loaded machine code."""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from robot_dynamics.compiler.native.entry.array_layout import OBJECTS, REMEMBERED
from robot_dynamics.compiler.native.llvm import Loaded

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
"""How a builtin function takes its arguments: `METH_FASTCALL`, alone or with `METH_KEYWORDS`."""

# CPython reads the definition of a builtin function even while it frees the function, in an order
# that a garbage collection leaves open. 32 bytes per kernel are cheap enough to keep.
_definitions: list[_MethodDef] = []


@functools.lru_cache(maxsize=64)
def _documentation(signature: str, text: str) -> bytes:
    """What help and inspect.signature read of a builtin function; one copy for all robots."""
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
) -> Callable[..., Any]:
    """Make the entry `call` of loaded code a function of Python.

    Args:
        code: Loaded code with an entry.
        signature: Name and parameters that the function shows, such as "f(q, *, out=None)".
        text: Its docstring.
        scalar: "double" or "float", as the entry was written for.
        unusual: Takes the calls that the entry does not.
        results: Named tuple of several outputs.
    """
    if not code.kept:
        code.kept += [None] * REMEMBERED
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
    slots = (ctypes.c_int64 * len(OBJECTS)).from_address(code.address("objects"))
    slots[:] = [id(objects[name]) for name in OBJECTS]
    behind = _Behind(unusual)
    behind.kept = code, results  # type: ignore[attr-defined]  # live as long as the function
    return builtin(code, signature, text, FASTCALL_WITH_KEYWORDS, behind)


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
    name = signature.partition("(")[0].encode()
    about = _documentation(signature, text)
    definition = _MethodDef(name, code.address("call"), convention, about)
    _definitions.append(definition)
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype = ctypes.py_object
    make.argtypes = [ctypes.POINTER(_MethodDef), ctypes.py_object, ctypes.c_void_p]
    function: Callable[..., Any] = make(ctypes.byref(definition), behind, None)
    return function
