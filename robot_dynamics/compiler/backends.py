"""Back ends that compile a program to a kernel: native code where possible, else Python."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import lru_cache

from robot_dynamics.compiler.kernel import Backend, Given, Kernel
from robot_dynamics.compiler.native.native_kernel import compile_native
from robot_dynamics.errors import BackendError, unknown_name
from robot_dynamics.foundation.lazy import imported

_log = logging.getLogger(__name__)


def compile_auto(
    program: Given, *, key: str | None = None, finite: bool = False, use_cache: bool = True
) -> Kernel:
    """Build a kernel of native code, or of Python where there is no usable llvmlite."""
    try:
        return compile_native(program, key=key, finite=finite, use_cache=use_cache)
    except BackendError as error:
        _warn_once(str(error))
    return _compile_python(program, finite=finite)


def _compile_python(
    program: Given, *, key: str | None = None, finite: bool = False, use_cache: bool = True
) -> Kernel:
    # Imported late: only this back end needs it
    python = imported("robot_dynamics.compiler.source.python")
    kernel: Kernel = python.compile_python(program, finite=finite)
    return kernel


BACKENDS: Mapping[str, Backend] = {
    "auto": compile_auto,
    "native": compile_native,
    "python": _compile_python,
}
"""Back ends by name."""


def backend_named(backend: str | Backend) -> Backend:
    """Return the back end of that name, or the argument itself if it is a function.

    Raises:
        UnknownNameError: If there is no such back end.
    """
    if isinstance(backend, str) and backend in BACKENDS:
        return BACKENDS[backend]
    if callable(backend):
        return backend
    raise unknown_name("backend", str(backend), "robot_dynamics.compiler", BACKENDS)


def compile_program(
    program: Given,
    *,
    key: str | None = None,
    finite: bool = False,
    use_cache: bool = True,
    backend: str | Backend = "auto",
) -> Kernel:
    """Build a kernel.

    Args:
        program: The equations, or a function that returns them. The function is not called if the
            kernel is found on disk.
        key: Fingerprint of everything that the equations depend on; by default their digest.
        finite: Refuse NaN and infinity in arguments.
        use_cache: Look for native code on disk and keep it there.
        backend: One of `BACKENDS`, or a function of the same signature.

    Raises:
        BackendError: If native code is asked for and there is no usable llvmlite.
        UnknownNameError: If there is no such back end.
    """
    return backend_named(backend)(program, key=key, finite=finite, use_cache=use_cache)


@lru_cache(maxsize=8)
def _warn_once(reason: str) -> None:
    _log.warning("equations run in Python, about 100 times slower: %s", reason)
