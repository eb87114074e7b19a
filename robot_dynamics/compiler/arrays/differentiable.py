"""Equations with their derivatives, as array libraries take them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from robot_dynamics.compiler.graph.derivative import pullback, pushforward
from robot_dynamics.compiler.graph.optimize import optimize
from robot_dynamics.compiler.graph.trace import Program, Shape
from robot_dynamics.compiler.kernel import Backend, Kernel, compile_program
from robot_dynamics.compiler.source.array_libraries import library_function
from robot_dynamics.errors import ArgumentError, ShapeError, shown
from robot_dynamics.foundation.lazy import cached_property


class CompiledEquations:
    """Equations and their derivatives of any order, each traced or compiled when first needed.

    Args:
        trace: Makes the program.
        key: Fingerprint of everything that the equations depend on; None for the program's digest.
        use_cache: Keep native code on disk.
        backend: As in `compile_program`.
    """

    def __init__(
        self,
        trace: Callable[[], Program],
        key: str | None,
        use_cache: bool,
        backend: Backend | None,
    ) -> None:
        self._trace = trace
        self._key = key
        self._use_cache = use_cache
        self._backend = backend
        self._by_library: dict[str, Callable[..., Any]] = {}

    @cached_property
    def program(self) -> Program:
        """The simplified equations."""
        return self._trace()

    @cached_property
    def pushforward(self) -> CompiledEquations:
        """Changes of the outputs, from the inputs and changes of them."""
        return self._derived("pushforward", pushforward)

    @cached_property
    def pullback(self) -> CompiledEquations:
        """Gradients by the inputs, from the inputs and weights of the outputs."""
        return self._derived("pullback", pullback)

    def _derived(self, name: str, derive: Callable[[Program], Program]) -> CompiledEquations:
        key = self._key and f"{self._key}/{name}"
        return CompiledEquations(
            lambda: optimize(derive(self.program)), key, self._use_cache, self._backend
        )

    @cached_property
    def kernel(self) -> Kernel:
        """Code that answers NaN with NaN, as array libraries do."""
        return compile_program(
            lambda: self.program,
            key=self._key,
            use_cache=self._use_cache,
            backend=self._backend,
        )

    def by_library(self, library: str, purpose: str) -> Callable[..., tuple[Any, ...]]:
        """Return the function that an array library evaluates itself, written when first needed.

        Args:
            library: One of `ARRAY_LIBRARIES`.
            purpose: What needs it, for the error.

        Raises:
            MissingPackageError: If it is not installed.
        """
        if library not in self._by_library:
            self._by_library[library] = library_function(library, self.program, purpose)
        function = self._by_library[library]

        def evaluate(*arrays: Any) -> tuple[Any, ...]:
            results = function(*arrays)
            return tuple(results.values()) if isinstance(results, dict) else (results,)

        return evaluate

    @property
    def key(self) -> str:
        """Fingerprint of the equations."""
        return self._key or self.program.digest


class LibraryFunction:
    """A function of an array library, with named arguments, that pickles as its robot does.

    Args:
        function: Takes the arguments in their order.
        name: Name of the kernel.
        inputs: Names of the arguments.
        text: Its docstring.

    Attributes:
        made_by: What makes it again in another process, as `__reduce__` returns it.
    """

    def __init__(
        self, function: Callable[..., Any], name: str, inputs: Iterable[str], text: str
    ) -> None:
        self._function = function
        self.__name__ = self.__qualname__ = name
        self.__doc__ = text
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        self.__signature__ = inspect.Signature([inspect.Parameter(x, kind) for x in inputs])
        self.made_by: tuple[Callable[..., Any], tuple[Any, ...]] | None = None

    def __call__(self, *given: Any, **named: Any) -> Any:
        """Evaluate the equations; arguments may be given by name."""
        if named:
            try:
                given = self.__signature__.bind(*given, **named).args
            except TypeError as error:
                raise ArgumentError(f"{self.__name__}: {error}") from None
        return self._function(*given)

    def __repr__(self) -> str:
        return f"{self.__name__}{self.__signature__}"

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        if self.made_by is None:
            raise TypeError(f"{self!r} is of no robot, and does not pickle")
        return self.made_by


def arrays_of(
    inputs: Mapping[str, Shape], given: Sequence[Any], convert: Callable[[Any], Any]
) -> list[Any]:
    """Convert arguments to arrays of a library.

    Args:
        inputs: Shape of one sample of every input.
        given: The arguments.
        convert: Makes an array of one argument, or raises TypeError if it is not of real numbers.

    Raises:
        ArgumentError: If there are more or fewer arguments than inputs, or one is no array.
    """
    if len(given) != len(inputs):
        raise ArgumentError(
            f"expected {len(inputs)} arguments ({', '.join(inputs)}), got {len(given)}"
        )
    arrays = []
    for name, argument in zip(inputs, given, strict=True):
        try:
            arrays.append(convert(argument))
        except (TypeError, ValueError, RuntimeError, OverflowError):
            raise ArgumentError(f"{name} must hold real numbers, got {shown(argument)}") from None
    return arrays


def of_one_shape(library: Any, inputs: Mapping[str, Shape], arrays: Sequence[Any]) -> list[Any]:
    """Broadcast arguments to the same leading axes.

    Args:
        library: Module with the functions `broadcast_shapes` and `broadcast_to`.
        inputs: Shape of one sample of every input.
        arrays: The arguments, arrays of that library.

    Raises:
        ShapeError: If a shape does not end with that of one sample, or leading axes differ.
    """
    leading = []
    for (name, shape), array in zip(inputs.items(), arrays, strict=True):
        first = array.ndim - len(shape)
        if first < 0 or tuple(array.shape[first:]) != shape:
            wanted = ", ".join(["...", *map(str, shape)])
            raise ShapeError(f"{name} must have shape ({wanted}), got {tuple(array.shape)}")
        leading.append(array.shape[:first])
    try:
        common = library.broadcast_shapes(*leading)
    except (ValueError, RuntimeError):
        shapes = [f"{x} {tuple(array.shape)}" for x, array in zip(inputs, arrays, strict=True)]
        raise ShapeError(
            f"the leading axes of the arguments must be equal, or 1; got {', '.join(shapes)}"
        ) from None
    return [
        library.broadcast_to(array, (*common, *shape))
        for array, shape in zip(arrays, inputs.values(), strict=True)
    ]
