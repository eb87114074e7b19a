"""The way to a kernel: native code where that is possible, else Python."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import lru_cache

from robot_dynamics.compiler.kernel import Backend, Given, Kernel
from robot_dynamics.compiler.native.native_kernel import compile_native
from robot_dynamics.errors import BackendError, unknown_name
from robot_dynamics.lazy import imported

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
    python = imported("robot_dynamics.compiler.source.python")  # nobody needs it but who comes here
    kernel: Kernel = python.compile_python(program, finite=finite)
    return kernel


BACKENDS: Mapping[str, Backend] = {
    "auto": compile_auto,
    "native": compile_native,
    "python": _compile_python,
}
"""Every back end that makes kernels, by name."""


def backend_named(backend: str | Backend) -> Backend:
    """The back end of that name; any other function with that signature is one itself.

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
        program: The equations, or a function that makes them, called only when they are needed:
            a kernel that is found on disk needs no tracing.
        key: Fingerprint of everything that the equations depend on; by default their digest.
        finite: Refuse NaN and infinity in arguments.
        use_cache: Look for native code on disk and keep it there.
        backend: One of `BACKENDS`, or a function of the same signature.

    Raises:
        BackendError: If native code is asked for and there is no usable llvmlite.
        UnknownNameError: If there is no such back end.
    """
    made_by = backend_named(backend)
    return made_by(program, key=key, finite=finite, use_cache=use_cache)


@lru_cache(maxsize=8)
def _warn_once(reason: str) -> None:
    _log.warning("equations run in Python, about 100 times slower: %s", reason)
