"""The way to a kernel: native code where that is possible, else Python."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import lru_cache

from robot_dynamics.compiler.kernel import Kernel
from robot_dynamics.compiler.native import compile_native
from robot_dynamics.compiler.python import compile_python
from robot_dynamics.compiler.trace import Program
from robot_dynamics.errors import BackendError, unknown_name

_log = logging.getLogger(__name__)

BACKENDS = {
    "auto": "native code, or Python where there is no usable llvmlite",
    "native": "LLVM through llvmlite",
    "python": "straight-line Python in the interpreter",
}
"""Name of every back end that makes kernels, in a few words."""


def compile_program(
    program: Program | Callable[[], Program],
    *,
    key: str | None = None,
    finite: bool = False,
    use_cache: bool = True,
    backend: str = "auto",
) -> Kernel:
    """Build a kernel.

    Args:
        program: The equations, or a function that makes them, called only when they are needed:
            a kernel that is found on disk needs no tracing.
        key: Fingerprint of everything that the equations depend on; by default their digest.
        finite: Refuse NaN and infinity in arguments.
        use_cache: Look for native code on disk and keep it there.
        backend: One of `BACKENDS`.

    Raises:
        BackendError: If native code is asked for and there is no usable llvmlite.
        UnknownNameError: If there is no such back end.
    """
    if backend not in BACKENDS:
        raise unknown_name("backend", backend, "robot_dynamics.compiler", BACKENDS)
    if backend != "python":
        try:
            return compile_native(program, key=key, finite=finite, use_cache=use_cache)
        except BackendError as error:
            if backend == "native":
                raise
            _warn_once(str(error))
    return compile_python(program if isinstance(program, Program) else program(), finite=finite)


@lru_cache(maxsize=8)
def _warn_once(reason: str) -> None:
    _log.warning("equations run in Python, about 100 times slower: %s", reason)
