"""Equations as functions of PyTorch, with autograd, `torch.func` and leading axes.

Tensors on a CPU go to kernels, and derivatives of any order to kernels of their own. On other
devices PyTorch evaluates the equations.
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

    def tensor(given: Any) -> Any:
        if not isinstance(given, torch.Tensor):
            given = torch.as_tensor(real_numbers("", given))
        if given.is_complex():
            raise TypeError
        return given

    def function(*given: Any) -> Any:
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


def _of_one_type(torch: Any, tensors: list[Any]) -> list[Any]:
    """Convert tensors to one float type."""
    dtype = functools.reduce(torch.promote_types, (tensor.dtype for tensor in tensors))
    if dtype not in (torch.float32, torch.float64):
        dtype = torch.promote_types(dtype, torch.float32)
    return [tensor.to(dtype) for tensor in tensors]
