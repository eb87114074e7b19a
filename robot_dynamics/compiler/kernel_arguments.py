"""Checks and conversions of kernel arguments, for calls that the native entry declines.

A kernel takes each input as one sample, shape S, or as a batch, shape (N, *S). Here it may have
more leading axes, shape (N, k, *S), which the results get too.
Lists, other dtypes and non-contiguous arrays are converted here. An argument that
cannot be converted raises an error that names it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from robot_dynamics.errors import ArgumentError, ShapeError, shown
from robot_dynamics.foundation.arrays import Array, real_numbers

if TYPE_CHECKING:
    from robot_dynamics.compiler.graph.trace import Shape


@dataclass(frozen=True, eq=False)
class Arguments:
    """Inputs and outputs of one call, ready to be read and written.

    Args:
        inputs: Arrays of one dtype, each one sample or a batch; C-contiguous unless `columns`.
        outputs: Arrays to write to, of the same dtype; C-contiguous unless `columns`.
        answers: Arrays to return: `outputs`, or the caller's arrays where they differ.
        batch: Number of samples N; None for a single one.
        dtype: float64 or float32.
        columns: Samples of every batch lie side by side in memory; see `in_columns`.
        results: The outputs with all leading axes, in which `outputs` has one axis.
    """

    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]
    answers: tuple[Array, ...]
    batch: int | None
    dtype: np.dtype[Any]
    columns: bool = False
    results: tuple[Array, ...] = ()

    def finish(self) -> tuple[Array, ...]:
        """Copy results into arrays of the caller that could not be written directly."""
        for answer, result in zip(self.answers, self.results or self.outputs, strict=True):
            if answer is not result:
                answer[...] = result
        return self.answers


def in_columns(shapes: Mapping[str, Shape], arrays: Sequence[Array]) -> bool:
    """Return whether samples lie side by side in memory, all entries of batches in columns.

    A column of an entry is contiguous, such as one of the transpose of an array (n, N). Columns of
    vectors may lie apart, as those of a slice do. What can be taken as rows, is.
    """
    batches = [
        (array, shape)
        for array, shape in zip(arrays, shapes.values(), strict=True)
        if array.ndim == len(shape) + 1
    ]
    if all(array.flags.c_contiguous for array, _ in batches):
        return False
    return all(_has_columns(array, shape) for array, shape in batches)


def _has_columns(array: Array, shape: Shape) -> bool:
    if len(shape) != 1:
        return array.flags.f_contiguous
    apart = shape[0] <= 1 or array.strides[1] >= len(array) * array.itemsize
    return array.strides[0] == array.itemsize and apart


def check_threads(threads: int | None) -> None:
    """Raise ArgumentError if `threads` is neither None nor a positive integer."""
    if threads is None or (type(threads) is int and threads >= 1):
        return  # isinstance with an abstract class would double the time of a call
    if not (isinstance(threads, Integral) and threads >= 1):
        raise ArgumentError(f"threads must be a whole number from 1 on, got {shown(threads)}")


def check_arguments(
    shapes: Mapping[str, Shape],
    outputs: Mapping[str, Shape],
    arrays: Sequence[Any],
    out: Any = None,
) -> Arguments:
    """Check and convert the arguments of a call.

    If every input is float32, it stays float32; all other inputs become float64. A single
    sample beside batches is used for all N rows.

    Args:
        shapes: Shape of one sample of every input.
        outputs: Shape of one sample of every output.
        arrays: The arguments, one per input.
        out: Array for the only output, or a sequence of one array per output.

    Raises:
        ShapeError: If a shape does not fit.
        ArgumentError: If an argument is missing or holds no numbers, or if an array given as `out`
            cannot be written to or shares memory with another one.
    """
    names = list(shapes)
    if len(arrays) != len(names):
        raise ArgumentError(
            f"expected {len(names)} arguments ({', '.join(names)}), got {len(arrays)}"
        )
    converted = [real_numbers(name, value) for name, value in zip(names, arrays, strict=True)]
    single = np.float32 if _all_float32(converted) else np.float64
    dtype: np.dtype[Any] = np.dtype(single)
    lead = _leading_axes(shapes, converted)
    converted = [a.astype(dtype, copy=False) for a in converted]
    if len(lead) > 1:
        converted = [
            a if a.shape == shape else a.reshape((math.prod(lead), *shape))
            for a, shape in zip(converted, shapes.values(), strict=True)
        ]
    batch = math.prod(lead) if lead else None
    columns = len(lead) < 2 and in_columns(shapes, converted)
    inputs = tuple(
        a
        if columns and a.ndim > len(shape)
        else np.ascontiguousarray(a).reshape(a.shape)  # which makes an array () one of (1,)
        for a, shape in zip(converted, shapes.values(), strict=True)
    )
    results, answers = _outputs(outputs, lead, dtype, out, inputs, "F" if columns else "C")
    if len(lead) < 2:
        return Arguments(inputs, results, answers, batch, dtype, columns)
    flat = tuple(
        result.reshape((batch, *shape))
        for result, shape in zip(results, outputs.values(), strict=True)
    )
    return Arguments(inputs, flat, answers, batch, dtype, columns, results)


def _all_float32(arrays: Sequence[Array]) -> bool:
    return bool(arrays) and all(a.dtype == np.float32 for a in arrays)


def _leading_axes(shapes: Mapping[str, Shape], arrays: Sequence[Array]) -> Shape:
    """Return the axes before those of one sample, which all arrays but single samples have."""
    lead: Shape = ()
    first = ""
    for (name, shape), array in zip(shapes.items(), arrays, strict=True):
        if array.shape == shape:
            continue
        before = array.ndim - len(shape)
        if before < 1 or array.shape[before:] != shape:
            one, many = _written(shape), _written(("N", *shape))
            raise ShapeError(f"{name} must have shape {one} or {many}, got {_written(array.shape)}")
        own = array.shape[:before]
        if not lead:
            lead, first = own, name
        elif lead != own:
            samples = [str(one[0]) if len(one) == 1 else _written(one) for one in (own, lead)]
            raise ShapeError(f"{name} has {samples[0]} samples but {first} has {samples[1]}")
    return lead


def _outputs(
    shapes: Mapping[str, Shape],
    lead: Shape,
    dtype: np.dtype[Any],
    out: Any,
    inputs: tuple[Array, ...],
    order: Literal["C", "F"],
) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
    """Arrays to write to and arrays to hand back."""
    wanted = [(*lead, *shape) for shape in shapes.values()]
    if out is None:
        made = tuple(np.empty(shape, dtype, order) for shape in wanted)
        return made, made
    one = len(wanted) == 1
    given = (out,) if one else tuple(out) if isinstance(out, Iterable) else ()
    if len(given) != len(wanted):
        raise ArgumentError(f"out must hold {len(wanted)} arrays ({', '.join(shapes)})")
    results: list[Array] = []
    for name, shape, target in zip(shapes, wanted, given, strict=True):
        label = "out" if one else f"out for '{name}'"
        if not isinstance(target, np.ndarray) or not target.flags.writeable:
            raise ArgumentError(f"{label} must be an array that can be written to")
        if hasattr(target, "mask"):
            raise ArgumentError(f"{label} is a masked array, whose mask would hide the result")
        if target.dtype.kind != "f":
            raise ArgumentError(f"{label} must be an array of floats, got {target.dtype}")
        if target.shape != shape:
            raise ShapeError(
                f"{label} must have shape {_written(shape)}, got {_written(target.shape)}"
            )
        flags = target.flags
        contiguous = flags.c_contiguous if order == "C" else flags.f_contiguous
        usable = target.dtype == dtype and flags.behaved and contiguous
        overlaps = any(np.may_share_memory(target, a) for a in inputs)
        results.append(target if usable and not overlaps else np.empty(shape, dtype, order))
    for (first, a), (second, b) in combinations(zip(shapes, given, strict=True), 2):
        if np.shares_memory(a, b):  # one would be written over the other
            raise ArgumentError(f"out: {first} and {second} share memory; give arrays of their own")
    return tuple(results), given


def _written(shape: Sequence[Any]) -> str:
    """A shape as Python writes a tuple, with N unquoted."""
    inner = ", ".join(str(n) for n in shape)
    return f"({inner},)" if len(shape) == 1 else f"({inner})"
