"""Equations as functions of JAX: jit, vmap, jvp, grad.

On a CPU a function calls the code of its kernel from within XLA, and its derivatives, of any
order, call kernels of derivatives. On other devices XLA compiles the same equations.
"""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Callable
from typing import Any

from robot_dynamics.compiler.arrays.differentiable import (
    CompiledEquations,
    described,
    of_one_shape,
)
from robot_dynamics.compiler.native.native_kernel import NativeKernel
from robot_dynamics.compiler.native.xla_handler import xla_handler
from robot_dynamics.compiler.source.array_libraries import library_function
from robot_dynamics.foundation import lazy
from robot_dynamics.foundation.lazy import imported, needed
from robot_dynamics.version import __version__

_PURPOSE = "a function of JAX"

_handlers: dict[str, Any] = {}  # registered with XLA, which calls them as long as the process lives


def jax_function(equations: CompiledEquations, name: str) -> Callable[..., Any]:
    """Make a function of arrays of shape (..., *input) with any leading axes.

    Its results are an array of shape (..., *output), or a named tuple of several.

    Raises:
        MissingPackageError: If JAX is not installed.
    """
    jax = needed("jax", _PURPOSE, "jax")
    inputs = equations.kernel.inputs
    value = _with_derivatives(jax, equations)

    @jax.jit
    def evaluate(*arrays: Any) -> Any:
        given = of_one_shape(jax.numpy, inputs, _of_one_type(jax.numpy, arrays))
        return equations.kernel.results(value(*given))

    def function(*arrays: Any) -> Any:
        return evaluate(*arrays)

    text = f"Evaluate '{name}' on arrays of shape (..., n); jit, vmap and grad apply."
    return described(function, name, inputs, text)


def _with_derivatives(jax: Any, equations: CompiledEquations) -> Callable[..., tuple[Any, ...]]:
    """Evaluate equations, with a rule for their derivatives."""
    value = jax.custom_jvp(_evaluation(jax, equations))

    def by_kernel(primals: Any, tangents: Any) -> Any:
        results = value(*primals)
        parts = iter(_with_derivatives(jax, equations.derivatives)(*primals))
        changes = []
        for result in results:
            change = jax.numpy.zeros_like(result)
            for tangent, part in zip(tangents, parts, strict=False):
                if not isinstance(tangent, jax.custom_derivatives.SymbolicZero):
                    change = change + _product(part, tangent)
            changes.append(change)
        return results, tuple(changes)

    value.defjvp(by_kernel, symbolic_zeros=True)
    return value


def _product(part: Any, tangent: Any) -> Any:
    """Multiply derivatives (..., *output, n) with a change (..., n) of an input."""
    between = (1,) * (part.ndim - tangent.ndim)
    return (part * tangent.reshape(*tangent.shape[:-1], *between, tangent.shape[-1])).sum(-1)


def _evaluation(jax: Any, equations: CompiledEquations) -> Callable[..., tuple[Any, ...]]:
    """Evaluate equations by their kernel on a CPU, else as XLA compiles them."""
    by_kernel, by_xla = _native(equations), _traced(equations)

    def evaluate(*arrays: Any) -> tuple[Any, ...]:
        if not (isinstance(equations.kernel, NativeKernel) and hasattr(jax, "ffi")):
            return by_xla(*arrays)
        if jax.default_backend() == "cpu":
            return by_kernel(*arrays)
        chosen: tuple[Any, ...] = jax.lax.platform_dependent(*arrays, cpu=by_kernel, default=by_xla)
        return chosen

    return evaluate


def _traced(equations: CompiledEquations) -> Callable[..., tuple[Any, ...]]:
    def evaluate(*arrays: Any) -> tuple[Any, ...]:
        results = library_function("jax", equations.program, _PURPOSE)(*arrays)
        return tuple(results.values()) if isinstance(results, dict) else (results,)

    return evaluate


def _native(equations: CompiledEquations) -> Callable[..., tuple[Any, ...]]:
    def evaluate(*arrays: Any) -> tuple[Any, ...]:
        jax, kernel = imported("jax"), equations.kernel
        dtype = arrays[0].dtype
        leading = arrays[0].shape[: arrays[0].ndim - len(next(iter(kernel.inputs.values())))]
        types = [jax.ShapeDtypeStruct((*leading, *s), dtype) for s in kernel.outputs.values()]
        target = _target(equations, "double" if dtype == "float64" else "float")
        return tuple(jax.ffi.ffi_call(target, types, vmap_method="broadcast_all")(*arrays))

    return evaluate


def _target(equations: CompiledEquations, scalar: str) -> str:
    """Register the handler of a kernel with XLA, once in a process, and return its name."""
    text = f"{equations.key} {scalar} {__version__}"
    name = f"robot_dynamics_{hashlib.sha256(text.encode()).hexdigest()[:24]}"
    with lazy.lock:
        if name not in _handlers:
            ffi = imported("jax.ffi")
            assert isinstance(equations.kernel, NativeKernel)
            code = xla_handler(equations.kernel, scalar)
            prototype = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
            capsule = ffi.pycapsule(prototype(code.address("handler")))
            ffi.register_ffi_target(name, capsule, platform="cpu")
            _handlers[name] = code, equations.kernel
    return name


def _of_one_type(jnp: Any, given: tuple[Any, ...]) -> list[Any]:
    """Convert arguments to arrays of one float type, of at least 32 bits."""
    dtype = jnp.result_type(jnp.float32, *given)
    return [jnp.asarray(array, dtype) for array in given]
