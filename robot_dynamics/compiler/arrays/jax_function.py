"""Equations as functions of JAX: jit, vmap, jvp, grad.

On a CPU a function calls the code of its kernel from within XLA, and its derivatives, of any
order, call kernels of their own. On other devices XLA compiles the same equations, and `jax.export`
takes them, which run where this package is not.
"""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from numpy.ma import MaskedArray

from robot_dynamics.compiler.arrays.differentiable import (
    CompiledEquations,
    LibraryFunction,
    arrays_of,
    of_one_shape,
)
from robot_dynamics.compiler.native.native_kernel import NativeKernel
from robot_dynamics.compiler.native.xla_handler import xla_handler
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
    value = _Evaluation(equations)

    def array(given: Any) -> Any:
        real = jax.numpy.asarray(given)
        if jax.numpy.iscomplexobj(real):
            raise TypeError
        return real

    def evaluate(*given: Any) -> Any:
        arrays = arrays_of(inputs, given, array)
        arrays = of_one_shape(jax.numpy, inputs, _of_one_type(jax.numpy, arrays))
        return equations.kernel.results(tuple(_primitive().bind(*arrays, of=value)))

    compiled = jax.jit(evaluate)

    def function(*given: Any) -> Any:
        if MaskedArray not in map(type, given):
            try:
                return compiled(*given)
            except TypeError:  # JAX takes a list or text for no array
                pass
        return compiled(*arrays_of(inputs, given, array))

    text = f"Evaluate '{name}' on arrays of shape (..., n); jit, vmap and grad apply."
    return LibraryFunction(function, name, inputs, text)


@dataclass(frozen=True, eq=False)
class _Evaluation:
    """Equations, and how they are transposed.

    Args:
        equations: What is evaluated.
        linear: Number of last inputs that the outputs are linear in.
        transposed: Equations of the transposed linear function; None if there is no such input.
    """

    equations: CompiledEquations
    linear: int = 0
    transposed: CompiledEquations | None = None


@lru_cache(maxsize=1)
def _primitive() -> Any:
    """Return the primitive that evaluates equations, with its rules.

    A primitive, since other ways to set the rules of a function serve only forward or only reverse
    derivatives.
    """
    jax, ad = imported("jax"), imported("jax.interpreters.ad")
    batching, mlir = imported("jax.interpreters.batching"), imported("jax.interpreters.mlir")
    primitive = imported("jax.extend.core").Primitive("robot_dynamics")
    primitive.multiple_results = True

    def evaluate(*arrays: Any, of: _Evaluation) -> tuple[Any, ...]:
        return _evaluation(jax, of.equations)(*arrays)

    def shapes(*arrays: Any, of: _Evaluation) -> list[Any]:
        kernel = of.equations.kernel
        first = next(iter(kernel.inputs.values()))
        leading = arrays[0].shape[: arrays[0].ndim - len(first)]
        kind = arrays[0].dtype
        return [jax.core.ShapedArray((*leading, *s), kind) for s in kernel.outputs.values()]

    def batched(arrays: Any, axes: Any, *, of: _Evaluation) -> Any:
        (size,) = {a.shape[k] for a, k in zip(arrays, axes, strict=True) if k is not None}
        front = [
            jax.numpy.broadcast_to(a, (size, *a.shape))
            if k is None
            else jax.numpy.moveaxis(a, k, 0)
            for a, k in zip(arrays, axes, strict=True)
        ]
        results = primitive.bind(*front, of=of)
        return results, (0,) * len(results)

    def pushed(primals: Any, tangents: Any, *, of: _Evaluation) -> Any:
        fixed = len(primals) - of.linear
        changes = [ad.instantiate_zeros(tangent) for tangent in tangents]
        if of.linear and all(type(tangent) is ad.Zero for tangent in tangents[:fixed]):
            moved = primitive.bind(*primals[:fixed], *changes[fixed:], of=of)
        else:
            forward, back = of.equations.pushforward, of.equations.pullback
            rule = _Evaluation(forward, len(changes), back)
            moved = primitive.bind(*primals, *changes, of=rule)
        return primitive.bind(*primals, of=of), moved

    def transposed(weights: Any, *arrays: Any, of: _Evaluation) -> list[Any]:
        fixed = len(arrays) - of.linear
        assert of.transposed is not None
        back = _Evaluation(of.transposed, len(weights), of.equations)
        known = [ad.instantiate_zeros(weight) for weight in weights]
        found = primitive.bind(*arrays[:fixed], *known, of=back)
        wanted = [ad.is_undefined_primal(array) for array in arrays[fixed:]]
        return [None] * fixed + [x if w else None for x, w in zip(found, wanted, strict=True)]

    def plain(*arrays: Any, of: _Evaluation) -> tuple[Any, ...]:
        return of.equations.by_library("jax", _PURPOSE)(*arrays)

    here = mlir.lower_fun(evaluate, multiple_results=True)
    elsewhere = mlir.lower_fun(plain, multiple_results=True)

    def lowered(context: Any, *arrays: Any, of: _Evaluation) -> Any:
        # What leaves this process, by jax.export, finds no kernel
        leaves = context.module_context.lowering_parameters.for_export
        return (elsewhere if leaves else here)(context, *arrays, of=of)

    primitive.def_impl(evaluate)
    primitive.def_abstract_eval(shapes)
    mlir.register_lowering(primitive, lowered)
    batching.primitive_batchers[primitive] = batched
    ad.primitive_jvps[primitive] = pushed
    ad.primitive_transposes[primitive] = transposed
    return primitive


def _evaluation(jax: Any, equations: CompiledEquations) -> Callable[..., tuple[Any, ...]]:
    """Evaluate equations by their kernel on a CPU, else as XLA compiles them."""
    by_kernel = _native(equations)

    def by_xla(*arrays: Any) -> tuple[Any, ...]:
        return equations.by_library("jax", _PURPOSE)(*arrays)

    def evaluate(*arrays: Any) -> tuple[Any, ...]:
        if not isinstance(equations.kernel, NativeKernel):
            return by_xla(*arrays)
        if jax.default_backend() == "cpu":
            return by_kernel(*arrays)
        chosen: tuple[Any, ...] = jax.lax.platform_dependent(*arrays, cpu=by_kernel, default=by_xla)
        return chosen

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


def _of_one_type(jnp: Any, given: list[Any]) -> list[Any]:
    """Convert arguments to arrays of one float type, of at least 32 bits."""
    dtype = jnp.result_type(jnp.float32, *given)
    return [jnp.asarray(array, dtype) for array in given]
