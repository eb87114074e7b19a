"""Equations as functions of PyTorch, with autograd, `torch.func` and leading axes.

Tensors on a CPU go to kernels, and derivatives of any order to kernels of their own. On other
devices PyTorch evaluates the equations. `torch.compile` takes one operator for each evaluation and
for its gradient. `torch.export` takes the equations, which run where this package is not.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from robot_dynamics.compiler.arrays.differentiable import (
    CompiledEquations,
    LibraryFunction,
    arrays_of,
    of_one_shape,
)
from robot_dynamics.foundation.arrays import real_numbers
from robot_dynamics.foundation.lazy import needed

_PURPOSE = "a function of PyTorch"


def torch_function(equations: CompiledEquations, name: str) -> Callable[..., Any]:
    """Make a function of tensors of shape (..., *input) with any leading axes.

    Its results are a tensor of shape (..., *output), or a named tuple of several.

    Raises:
        MissingPackageError: If PyTorch is not installed.
    """
    torch = needed("torch", _PURPOSE, "torch")
    kernel = equations.kernel
    by_kernel = _autograd(torch, equations)
    in_graph = _in_graph(torch, equations)

    def tensor(given: Any) -> Any:
        if not isinstance(given, torch.Tensor):
            given = torch.as_tensor(real_numbers("", given))
        if given.is_complex():
            raise TypeError
        return given

    def function(*given: Any) -> Any:
        if torch.compiler.is_compiling():
            return in_graph(*given)
        tensors = arrays_of(kernel.inputs, given, tensor)
        arrays = of_one_shape(torch, kernel.inputs, _of_one_type(torch, tensors))
        if arrays[0].device.type == "cpu":
            return kernel.results(by_kernel(*arrays))
        return kernel.results(equations.by_library("torch", _PURPOSE)(*arrays))

    text = f"Evaluate '{name}' on tensors of shape (..., n); autograd and torch.func apply."
    return LibraryFunction(function, name, kernel.inputs, text)


def _autograd(torch: Any, equations: CompiledEquations) -> Callable[..., tuple[Any, ...]]:
    """Evaluate equations by their kernel, with a rule for their derivatives."""
    kernel = equations.kernel
    inputs, outputs = list(kernel.inputs.values()), list(kernel.outputs.values())
    pushforward = functools.cache(lambda: _autograd(torch, equations.pushforward))
    pullback = functools.cache(lambda: _autograd(torch, equations.pullback))

    class Equations(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(*arrays: Any) -> tuple[Any, ...]:
            leading = arrays[0].shape[: arrays[0].ndim - len(inputs[0])]
            flat = [
                a.detach().reshape((-1, *shape)).numpy()
                for a, shape in zip(arrays, inputs, strict=True)
            ]
            found = kernel(*flat)
            results = found if isinstance(found, tuple) else (found,)
            return tuple(
                torch.from_numpy(result).reshape((*leading, *shape))
                for result, shape in zip(results, outputs, strict=True)
            )

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx: Any, *weights: Any) -> tuple[Any, ...]:
            return pullback()(*ctx.saved_tensors, *weights)

        @staticmethod
        def jvp(ctx: Any, *changes: Any) -> tuple[Any, ...]:
            arrays = ctx.saved_tensors
            known = [
                torch.zeros_like(array) if change is None else change
                for array, change in zip(arrays, changes, strict=True)
            ]
            return pushforward()(*arrays, *known)

        @staticmethod
        def vmap(info: Any, in_dims: tuple[Any, ...], *arrays: Any) -> tuple[Any, Any]:
            moved = [
                a.expand(info.batch_size, *a.shape) if d is None else a.movedim(d, 0)
                for a, d in zip(arrays, in_dims, strict=True)
            ]
            return Equations.apply(*moved), (0,) * len(outputs)

    evaluate: Callable[..., tuple[Any, ...]] = Equations.apply
    return evaluate


def _in_graph(torch: Any, equations: CompiledEquations) -> Callable[..., Any]:
    """Evaluate equations in a graph that PyTorch compiles or exports, which it traces through."""
    kernel = equations.kernel
    shapes, results = list(kernel.inputs.values()), kernel.results
    leaves = getattr(torch.compiler, "is_exporting", torch.compiler.is_compiling)  # since 2.7

    def evaluate(*given: Any) -> Any:
        tensors = _of_one_type(torch, [torch.as_tensor(one) for one in given])
        leading = torch.broadcast_shapes(
            *[a.shape[: a.ndim - len(shape)] for a, shape in zip(tensors, shapes, strict=True)]
        )
        arrays = [
            a.expand(*leading, *shape).contiguous()
            for a, shape in zip(tensors, shapes, strict=True)
        ]
        if leaves() or arrays[0].device.type != "cpu":
            return results(equations.by_library("torch", _PURPOSE)(*arrays))
        return results(tuple(operator(key, arrays)))

    operator, key = _operator(torch), _registered(equations)
    return evaluate


_in_graphs: dict[str, CompiledEquations] = {}
"""Equations of the operator by their key, as long as the process lives."""


def _registered(equations: CompiledEquations) -> str:
    """Return the key by which the operator finds equations."""
    _in_graphs.setdefault(equations.key, equations)
    return equations.key


@functools.cache
def _operator(torch: Any) -> Callable[[str, list[Any]], list[Any]]:
    """Register the operator `robot_dynamics::evaluate` with PyTorch."""

    def evaluate(key: str, arrays: list[Any]) -> list[Any]:
        kernel = _in_graphs[key].kernel
        inputs, outputs = kernel.inputs.values(), kernel.outputs.values()
        leading = arrays[0].shape[: arrays[0].ndim - len(next(iter(inputs)))]
        flat = [a.reshape((-1, *s)).numpy() for a, s in zip(arrays, inputs, strict=True)]
        found = kernel(*flat)
        several = found if isinstance(found, tuple) else (found,)
        return [
            torch.from_numpy(result).reshape((*leading, *shape))
            for result, shape in zip(several, outputs, strict=True)
        ]

    def fake(key: str, arrays: list[Any]) -> list[Any]:
        kernel = _in_graphs[key].kernel
        leading = arrays[0].shape[: arrays[0].ndim - len(next(iter(kernel.inputs.values())))]
        return [arrays[0].new_empty((*leading, *shape)) for shape in kernel.outputs.values()]

    def keep(ctx: Any, inputs: tuple[str, list[Any]], output: list[Any]) -> None:
        ctx.key, arrays = inputs
        ctx.save_for_backward(*arrays)

    def backward(ctx: Any, weights: list[Any]) -> tuple[None, list[Any]]:
        gradient = _registered(_in_graphs[ctx.key].pullback)
        return None, operator(gradient, [*ctx.saved_tensors, *weights])

    def batched(info: Any, axes: Any, key: str, arrays: list[Any]) -> tuple[list[Any], list[int]]:
        front = [
            a.expand(info.batch_size, *a.shape) if axis is None else a.movedim(axis, 0)
            for a, axis in zip(arrays, axes[1], strict=True)
        ]
        found = operator(key, front)
        return found, [0] * len(found)

    operator = torch.library.custom_op(
        "robot_dynamics::evaluate",
        evaluate,
        mutates_args=(),
        schema="(str key, Tensor[] arrays) -> Tensor[]",
    )
    operator.register_fake(fake)
    operator.register_autograd(backward, setup_context=keep)
    if hasattr(operator, "register_vmap"):
        operator.register_vmap(batched)
    evaluated: Callable[[str, list[Any]], list[Any]] = operator
    return evaluated


def _of_one_type(torch: Any, tensors: list[Any]) -> list[Any]:
    """Convert tensors to one float type."""
    dtype = functools.reduce(torch.promote_types, (tensor.dtype for tensor in tensors))
    if dtype not in (torch.float32, torch.float64):
        dtype = torch.promote_types(dtype, torch.float32)
    return [tensor.to(dtype) for tensor in tensors]
