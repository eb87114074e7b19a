"""Equations with their derivatives, as array libraries take them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from robot_dynamics.compiler.graph.trace import Program
from robot_dynamics.compiler.kernel import Kernel, compile_program
from robot_dynamics.foundation.lazy import cached_property


class CompiledEquations:
    """Equations: traced, or compiled without checks of their arguments, when first needed.

    Args:
        trace: Makes the program.
        key: Fingerprint of everything that the equations depend on; None for the program's digest.
        use_cache: Keep native code on disk.
        backend: As in `compile_program`.
        derivatives: The equations of all derivatives of outputs with respect to inputs, in this
            order; None where nothing further is compiled.
    """

    def __init__(
        self,
        trace: Callable[[], Program],
        key: str | None,
        use_cache: bool,
        backend: Any,
        derivatives: CompiledEquations | None = None,
    ) -> None:
        self._trace = trace
        self._key = key
        self._use_cache = use_cache
        self._backend = backend
        self.derivatives = derivatives

    @cached_property
    def program(self) -> Program:
        """The simplified equations."""
        return self._trace()

    @cached_property
    def kernel(self) -> Kernel:
        """Code that answers NaN with NaN, as array libraries do."""
        return compile_program(
            lambda: self.program,
            key=self._key,
            use_cache=self._use_cache,
            backend=self._backend,
        )

    @property
    def key(self) -> str:
        """Fingerprint of the equations."""
        return self._key or self.program.digest


def described(
    function: Callable[..., Any], name: str, inputs: Mapping[str, Any], text: str
) -> Callable[..., Any]:
    """Give a function the name, parameters and docstring that `help` shows."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    function.__name__ = function.__qualname__ = name
    function.__doc__ = text
    function.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(x, kind) for x in inputs]
    )
    return function
