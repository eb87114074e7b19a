"""Properties that are computed once, without a lock.

`functools.cached_property` of Python 3.10 and 3.11 holds one lock for all objects of a
class while it computes: threads wait for each other's robots, and a child of a fork, in
which the thread that holds the lock does not exist, waits for ever.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


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
