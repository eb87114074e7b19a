"""The interface of a compiled program, and the function that compiles one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import namedtuple
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Protocol, TypeAlias, TypeVar

import numpy.typing as npt

from robot_dynamics.compiler.operation_count import OperationCount
from robot_dynamics.foundation.lazy import imported

if TYPE_CHECKING:
    from robot_dynamics.compiler.graph.trace import Program, Shape


class RowChoice(NamedTuple):
    """Rows of the outputs of a kernel that an entry returns.

    Attributes:
        results: Class of the results, a named tuple.
        fields: Output for each of its fields whose rows are copied.
        measure: Output of shape (s,): rows up to `limit` are returned.
        limit: The largest measure.
        flag: Output of shape (s,), 1.0 in a row that is flagged.
        verdict: Output of one entry: zero or more in an ordinary call, `special` in one whose other
            items differ. Other negative numbers leave the call to Python.
        special: See `verdict`.
        inputs: Field that holds the inputs of a special call, as bytes.
        error: Kernel that measures the first input.
        exact: Measure from which on the first input is repaired.
        repair: Kernel from the first input to the one that takes its place.
    """

    results: type
    fields: Mapping[str, str]
    measure: str
    limit: float
    flag: str
    verdict: str
    special: float
    inputs: str
    error: Kernel
    exact: float
    repair: Kernel


class RowEntry(Protocol):
    """The entry of one kernel that returns some rows of its outputs.

    Attributes:
        function: The builtin function.
    """

    function: Callable[..., Any]

    def bound(self, signature: str, text: str, unusual: Callable[..., Any]) -> Callable[..., Any]:
        """Return a builtin function with a signature and text of its own."""

    def remember(self, digits: list[int], special: bool, items: tuple[Any, ...]) -> None:
        """Set the items of results with a choice of rows."""


Results = Any
"""One array, or a named tuple with one array per output."""

Given: TypeAlias = "Program | Callable[[], Program]"
"""Equations, or a function that returns them and is called only when they are needed."""


class Backend(Protocol):
    """A function that builds kernels; a new back end only needs this signature."""

    def __call__(
        self, program: Given, *, key: str | None = ..., finite: bool = ..., use_cache: bool = ...
    ) -> Kernel:
        """Build a kernel; arguments as in `compile_program`."""


def program_of(given: Given) -> Program:
    """The equations themselves."""
    return given() if callable(given) else given


_results: dict[tuple[str, tuple[str, ...]], type[Any]] = {}
Class = TypeVar("Class", bound=type[Any])


def results_of(name: str) -> Callable[[Class], Class]:
    """Register the decorated named tuple as the result type of the kernel of that name."""

    def register(cls: Class) -> Class:
        _results[name, cls._fields] = cls
        return cls

    return register


def results_class(name: str, fields: tuple[str, ...]) -> type[Any]:
    """Return the named tuple of a kernel's results; create it if none is registered."""
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
        has_entry: Whether `native_entry` makes one, and the entry of a method can go to its code.
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
            arrays: One per input, shape S of `inputs` for one sample or (N, *S) for a batch. One
                sample beside batches is used for all N. Float64 arrays are read in place. If all
                arrays are float32, so are the results. Everything else is converted.
            out: Array for the only output, or a sequence with one array per output. If a batch
                fails because an entry is not finite, some rows may already be overwritten.
            threads: Largest number of threads for a batch; by default one per processor.

        Returns:
            The output, shape as in `outputs` or (N, ...), or a named tuple of all outputs.

        Raises:
            ShapeError: If a shape does not fit; the message names the argument.
            ArgumentError: If an argument is not numeric, if it holds NaN or infinity and the kernel
                checks for them, or if `threads` is not a positive integer.
        """

    def usual(self, arrays: tuple[Any, ...]) -> Results | None:
        """Evaluate one sample of float64 arrays without a native entry; None for all other calls.

        Args:
            arrays: One per input, of any type.
        """
        return None

    def results(self, arrays: tuple[npt.NDArray[Any], ...]) -> Results:
        """Return a single output itself, several as a named tuple."""
        return arrays[0] if self.results_class is None else self.results_class(*arrays)

    def native_entry(
        self,
        signature: str,
        text: str,
        unusual: Callable[..., Results],
        *,
        alone: bool = False,
    ) -> Callable[..., Results] | None:
        """Return a builtin function for ordinary calls, or None if unsupported.

        Args:
            signature: Its name and parameters, as `inspect` shows them.
            text: Its docstring.
            unusual: Function that receives all other calls.
            alone: Leave everything but one sample of float64 to `unusual`.
        """
        return None

    def row_entry(
        self, choice: RowChoice, signature: str, text: str, unusual: Callable[..., Any]
    ) -> RowEntry | None:
        """Return the entry that returns some rows of the outputs, or None if unsupported.

        Args:
            choice: The rows.
            signature: Its name and parameters, as `inspect` shows them.
            text: Its docstring.
            unusual: Function that receives all other calls.
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


def compile_program(
    program: Given,
    *,
    key: str | None = None,
    finite: bool = False,
    use_cache: bool = True,
    backend: Backend | None = None,
) -> Kernel:
    """Build a kernel.

    Args:
        program: The equations, or a function that returns them. The function is not called if the
            kernel is found on disk.
        key: Fingerprint of everything that the equations depend on; by default their digest.
        finite: Refuse NaN and infinity in arguments.
        use_cache: Look for native code on disk and keep it there.
        backend: By default `native.native_kernel.compile_native`.

    Raises:
        BackendError: If there is no usable llvmlite.
    """
    if backend is None:  # imported late: it imports this module
        backend = imported("robot_dynamics.compiler.native.native_kernel").compile_native
    return backend(program, key=key, finite=finite, use_cache=use_cache)
