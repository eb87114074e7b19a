"""What a compiled program looks like to a caller, whichever back end made it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import namedtuple
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeAlias, TypeVar

import numpy.typing as npt

from robot_dynamics.compiler.graph.count import OperationCount

if TYPE_CHECKING:
    from robot_dynamics.compiler.graph.trace import Program, Shape

Results = Any
"""One array, or a named tuple with one array per output."""

Given: TypeAlias = "Program | Callable[[], Program]"
"""Equations, or a function that makes them, called only when they are needed."""


class Backend(Protocol):
    """A function that builds kernels: all that a new back end has to be."""

    def __call__(
        self, program: Given, *, key: str | None = ..., finite: bool = ..., use_cache: bool = ...
    ) -> Kernel:
        """Build a kernel; arguments as in `backends.compile_program`."""


def program_of(given: Given) -> Program:
    """The equations themselves."""
    return given() if callable(given) else given


_results: dict[tuple[str, tuple[str, ...]], type[Any]] = {}
Class = TypeVar("Class", bound=type[Any])


def results_of(name: str) -> Callable[[Class], Class]:
    """Mark the named tuple that the kernel of that name answers with."""

    def register(cls: Class) -> Class:
        _results[name, cls._fields] = cls
        return cls

    return register


def results_class(name: str, fields: tuple[str, ...]) -> type[Any]:
    """The named tuple of the results of a kernel; one that nobody has written is made here."""
    if (name, fields) not in _results:
        made = namedtuple(name, fields)  # type: ignore[misc]

        def reduced(results: tuple[Any, ...]) -> tuple[Any, ...]:
            return _restored, (name, fields, tuple(results))

        made.__reduce__ = reduced  # type: ignore[assignment,method-assign]
        _results[name, fields] = made
    return _results[name, fields]


def _restored(name: str, fields: tuple[str, ...], values: tuple[Any, ...]) -> Any:
    return results_class(name, fields)(*values)


class Kernel(ABC):
    """A compiled program: a function of arrays.

    Attributes:
        name: Name of the program.
        inputs: Shape of every input, in the order of the arguments.
        outputs: Shape of every output, in the order of the results.
        operation_count: Operations of one evaluation.
        results_class: Named tuple of several outputs; None if there is only one.
        has_entry: Whether `native_entry` makes one.
    """

    has_entry = False

    def __init__(
        self,
        name: str,
        inputs: Mapping[str, Shape],
        outputs: Mapping[str, Shape],
        operations: OperationCount,
    ) -> None:
        self.name = name
        self.inputs = inputs
        self.outputs = outputs
        self.operation_count = operations
        self.results_class = results_class(name, tuple(outputs)) if len(outputs) != 1 else None

    @property
    @abstractmethod
    def program(self) -> Program:
        """The equations."""

    @abstractmethod
    def __call__(
        self, *arrays: npt.ArrayLike, out: Any = None, threads: int | None = None
    ) -> Results:
        """Evaluate the equations.

        Args:
            arrays: One per input, shape S of `inputs` for one sample or (N, *S) for a batch; one
                sample beside batches stands for all N. Float64 arrays are read in place, float32
                arrays throughout give float32 results, anything else is converted.
            out: Array to write the only output to, or a sequence of one per output. A batch that
                is refused for an entry that is not finite has overwritten some of its rows.
            threads: Largest number of threads for a batch; by default one per processor.

        Returns:
            The output, shape as in `outputs` or (N, ...), or a named tuple of all outputs.

        Raises:
            ShapeError: If a shape does not fit; the message names the argument.
            ArgumentError: If an argument holds no numbers, or NaN or infinity where checked; or if
                `threads` is no whole number from 1 on.
        """

    def results(self, arrays: tuple[npt.NDArray[Any], ...]) -> Results:
        """What a call returns: the only output itself, or all of them in a named tuple."""
        return arrays[0] if self.results_class is None else self.results_class(*arrays)

    def native_entry(
        self, signature: str, text: str, unusual: Callable[..., Results]
    ) -> Callable[..., Results] | None:
        """A builtin function for ordinary calls of one sample, or None where there is none.

        Args:
            signature: Its name and parameters, as `inspect` shows them.
            text: Its docstring.
            unusual: What it passes all other calls to.
        """
        return None

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"kernel '{self.name}' is code of this process; pickle or copy the Dynamics it is of"
        )

    def __repr__(self) -> str:
        inputs = ", ".join(f"{n}{list(s)}" for n, s in self.inputs.items())
        outputs = ", ".join(f"{n}{list(s)}" for n, s in self.outputs.items())
        return f"<{type(self).__name__} {self.name}({inputs}) -> {outputs}>"
