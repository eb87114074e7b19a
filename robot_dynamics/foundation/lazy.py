"""Lazy computation and lazy imports that are safe with threads and forks.

The child of a fork has one thread, so a lock that another thread held at the fork is never released
in it. This concerns the lock of LLVM, Python's import locks, and `functools.cached_property` of
Python 3.10 and 3.11, which has one lock for all objects of a class.
"""

from __future__ import annotations

import ast
import os
import sys
import threading
from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
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


def late(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package whose names are imported at first use.

    The imports that it writes for type checkers tell where each name is.

    Args:
        package: Its name.
    """

    @lru_cache(maxsize=1)
    def homes() -> dict[str, str]:
        """Return the module of each name."""
        loader: Any = sys.modules[package].__loader__
        return {
            alias.name: str(node.module)
            for node in ast.walk(ast.parse(loader.get_source(package)))
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{package}.")
            for alias in node.names
        }

    def get(name: str) -> Any:
        if name.startswith("__") or name not in homes():
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        return getattr(import_module(homes()[name]), name)

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes()})

    return get, names


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
