"""Lazy computation and lazy imports that are safe with threads and forks.

The child of a fork has one thread, so a lock that another thread held at the fork is never released
in it. This concerns the lock of LLVM, Python's import locks, and `functools.cached_property` of
Python 3.10 and 3.11, which has one lock for all objects of a class.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any, Generic, TypeVar, overload

from robot_dynamics.errors import MissingPackageError

T = TypeVar("T")

lock = threading.RLock()
"""Lock that is held while the process forks."""


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release
    )


def imported(module: str) -> Any:
    """Import a module that is slow to import and seldom needed, under the fork lock."""
    with lock:
        return import_module(module)


class _Postponed(ModuleType):
    """A module whose code runs when something is first read from it.

    `importlib.util.LazyLoader` would run it at the next import: that reads `__spec__`.
    """

    def __getattr__(self, name: str) -> Any:
        with lock:
            if type(self) is _Postponed:
                self.__class__ = ModuleType  # type: ignore[assignment]
                self.__spec__.loader.exec_module(self)  # type: ignore[union-attr]
        return getattr(self, name)


def postpone(module: str) -> None:
    """Let other packages import a module, and load it when something is first read from it."""
    with lock:
        spec = None if module in sys.modules else find_spec(module)
        if spec is not None and spec.loader is not None:
            sys.modules[module] = module_from_spec(spec)
            sys.modules[module].__class__ = _Postponed
            package, _, name = module.rpartition(".")
            if package:  # an import that finds the module leaves its package as it is
                setattr(sys.modules[package], name, sys.modules[module])


def needed(module: str, purpose: str, extra: str) -> Any:
    """Import a module of an optional package.

    Args:
        module: Name of the module.
        purpose: Feature that needs it, for the message.
        extra: Extra of this package that installs it.

    Raises:
        MissingPackageError: If it is not installed; the message says how to install it.
    """
    try:
        return imported(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        raise MissingPackageError(
            f"{purpose} needs {package}; install it with pip install 'robot_dynamics[{extra}]'"
        ) from None


class cached_property(Generic[T]):
    """Like `functools.cached_property` without a lock: all threads get the first stored value."""

    def __init__(self, function: Callable[[Any], T]) -> None:
        self.function = function
        self.__doc__ = function.__doc__

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self.name = name

    @overload
    def __get__(self, thing: None, owner: type[Any]) -> cached_property[T]: ...

    @overload
    def __get__(self, thing: object, owner: type[Any]) -> T: ...

    def __get__(self, thing: object | None, owner: type[Any]) -> cached_property[T] | T:
        if thing is None:
            return self
        known: T = thing.__dict__.setdefault(self.name, self.function(thing))
        return known
