"""What is computed or imported when it is first needed, in any thread and beside forks.

A child of a fork has one thread: a lock that another one held is never released in it, be it
LLVM's, Python's own on a module that is being imported, or that of `functools.cached_property` of
Python 3.10 and 3.11, which is one for all objects of a class while it computes.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from importlib import import_module
from typing import Any, Generic, TypeVar, overload

from robot_dynamics.errors import MissingPackageError

T = TypeVar("T")

lock = threading.RLock()
"""What a fork of the process waits for."""


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release
    )


def imported(module: str) -> Any:
    """Import a module late, where it is slow to import and seldom needed, safe from forks."""
    with lock:
        return import_module(module)


def needed(module: str, purpose: str, extra: str) -> Any:
    """Import a module of an optional package where it is used.

    Args:
        module: Its name.
        purpose: What needs it, for the message.
        extra: The extra of this package that brings it.

    Raises:
        MissingPackageError: If it is not installed; the line says how to get it.
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
    """Like that of functools; threads that ask at once may each compute it, and agree on one."""

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
