"""Methods whose place native entries take, and give up again where somebody replaces them.

A builtin function among the attributes of an object is called without a Python frame in
between. It also hides what the class has under that name, so it may stand there only while
the class's method is the one that the entry was made for: not in a subclass with a method
of its own, and not after somebody has set another on the class, as tests do.
"""

from __future__ import annotations

import functools
import inspect
import weakref
from abc import ABCMeta
from collections.abc import Callable
from typing import Any, TypeVar

from robot_dynamics.compiler.kernel import Kernel

Method = TypeVar("Method", bound=Callable[..., Any])

_methods: dict[str, Callable[..., Any]] = {}
_entered: weakref.WeakSet[Any] = weakref.WeakSet()  # objects with entries


def native_method(method: Method) -> Method:
    """Mark a method whose place an entry may take."""
    _methods[method.__name__] = method
    return method


class WithNativeMethods(ABCMeta):
    """Class of classes with native methods: what is set on a class is obeyed by its objects."""

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


def enter(thing: Any, name: str, kernel: Kernel) -> None:
    """Let the native entry of a kernel take the place of a method, where that is possible."""
    method = _methods[name]
    if getattr(type(thing), name, None) is not method:
        return
    entry = kernel.native_entry(
        name + _signature(method),
        inspect.getdoc(method) or "",
        functools.partial(method, thing),
    )
    if entry is not None:
        thing.__dict__[name] = entry
        _entered.add(thing)


def leave(thing: Any, name: str) -> None:
    """Give the place back to the method."""
    if is_entry(name, thing.__dict__.get(name)):
        del thing.__dict__[name]


def is_entry(name: str, attribute: Any) -> bool:
    """Whether an attribute of an object is a native entry."""
    return name in _methods and inspect.isbuiltin(attribute)


@functools.lru_cache(maxsize=32)
def _signature(method: Callable[..., Any]) -> str:
    """The parameters after self, as builtin functions show them: without annotations."""
    parameters = list(inspect.signature(method).parameters.values())[1:]
    plain = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in parameters]
    return str(inspect.Signature(plain))
