"""The arguments of a kernel call, checked and converted: the path for the unusual.

A kernel takes each input as one sample, shape S, or as a batch, shape (N, *S).
Lists, other dtypes and non-contiguous arrays are converted here; what cannot be
converted is an error that names the argument.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from robot_dynamics.compiler.trace import Shape
from robot_dynamics.errors import ArgumentError, ShapeError

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Arguments:
    """Inputs and outputs of one call, ready to be read and written.

    Args:
        inputs: C-contiguous arrays of one dtype, each one sample or a batch.
        outputs: Arrays to write to, new or the caller's.
        batch: Number of samples N; None for a single one.
        dtype: float64 or float32.
        write_back: Pairs (array of the caller, array in `outputs`) to copy when done.
    """

    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]
    batch: int | None
    dtype: np.dtype[Any]
    write_back: tuple[tuple[Array, Array], ...] = ()

    def finish(self) -> None:
        """Copy results into arrays of the caller that could not be written directly."""
        for target, result in self.write_back:
            target[...] = result


def check_arguments(
    shapes: Mapping[str, Shape],
    outputs: Mapping[str, Shape],
    arrays: Sequence[Any],
    out: Any = None,
    *,
    finite: bool = False,
) -> Arguments:
    """Check and convert the arguments of a call.

    float32 is kept when every array input has it; everything else becomes float64. A single
    sample beside batches stands for all N rows.

    Args:
        shapes: Shape of one sample of every input.
        outputs: Shape of one sample of every output.
        arrays: The arguments, one per input.
        out: Array for the only output, or a sequence of one array per output.
        finite: Refuse NaN and infinity.

    Raises:
        ShapeError: If a shape does not fit.
        ArgumentError: If an argument is missing, holds no numbers, is not finite, or if an array
            given as `out` cannot be written to.
    """
    names = list(shapes)
    if len(arrays) != len(names):
        raise ArgumentError(f"expected {len(names)} arguments ({', '.join(names)}), got {len(arrays)}")
    converted = [_numbers(name, value) for name, value in zip(names, arrays, strict=True)]
    single = np.float32 if _all_float32(converted) else np.float64
    dtype: np.dtype[Any] = np.dtype(single)
    batch = _batch_size(shapes, converted)
    inputs = tuple(np.ascontiguousarray(a, dtype=dtype).reshape(a.shape) for a in converted)
    if finite:
        for name, a in zip(names, inputs, strict=True):
            refuse_non_finite(name, a)
    lead: Shape = () if batch is None else (batch,)
    results, write_back = _outputs(outputs, lead, dtype, out, inputs)
    return Arguments(inputs, results, batch, dtype, write_back)


def refuse_non_finite(name: str, array: Array) -> None:
    """Raise ArgumentError naming the first entry that is NaN or infinite."""
    bad = ~np.isfinite(array)
    if bad.any():
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        index = "".join(f"[{i}]" for i in where)
        raise ArgumentError(f"{name}{index} is {array[where]}; every entry must be finite")


def _numbers(name: str, value: Any) -> Array:
    """The argument as an array of real numbers, in its own dtype where that is floating."""
    try:
        array = np.asarray(value)
        if array.dtype.kind in "biuf":
            return array
        if array.dtype.kind == "O":
            return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        pass
    raise ArgumentError(f"{name} must hold real numbers, got {_shown(value)}")


def _all_float32(arrays: Sequence[Array]) -> bool:
    return bool(arrays) and all(a.dtype == np.float32 for a in arrays)


def _batch_size(shapes: Mapping[str, Shape], arrays: Sequence[Array]) -> int | None:
    """N of a batch, None for single samples."""
    batch: int | None = None
    first = ""
    for (name, shape), array in zip(shapes.items(), arrays, strict=True):
        if array.shape == shape:
            continue
        if array.ndim != len(shape) + 1 or array.shape[1:] != shape:
            one, many = _written(shape), _written(("N", *shape))
            raise ShapeError(f"{name} must have shape {one} or {many}, got {_written(array.shape)}")
        if batch is None:
            batch, first = len(array), name
        elif batch != len(array):
            raise ShapeError(f"{name} has {len(array)} samples but {first} has {batch}")
    return batch


def _outputs(
    shapes: Mapping[str, Shape], lead: Shape, dtype: np.dtype[Any], out: Any, inputs: tuple[Array, ...]
) -> tuple[tuple[Array, ...], tuple[tuple[Array, Array], ...]]:
    wanted = [(*lead, *shape) for shape in shapes.values()]
    if out is None:
        return tuple(np.empty(shape, dtype) for shape in wanted), ()
    given = [out] if len(wanted) == 1 and isinstance(out, np.ndarray) else list(out)
    if len(given) != len(wanted):
        raise ArgumentError(f"out must hold {len(wanted)} arrays ({', '.join(shapes)})")
    results, write_back = [], []
    for name, shape, target in zip(shapes, wanted, given, strict=True):
        label = "out" if len(wanted) == 1 else f"out for '{name}'"
        if not isinstance(target, np.ndarray) or not target.flags.writeable:
            raise ArgumentError(f"{label} must be an array that can be written to")
        if target.dtype.kind != "f":
            raise ArgumentError(f"{label} must be an array of floats, got {target.dtype}")
        if target.shape != shape:
            raise ShapeError(
                f"{label} must have shape {_written(shape)}, got {_written(target.shape)}"
            )
        usable = target.dtype == dtype and target.flags.carray and type(target) is np.ndarray
        overlaps = any(np.may_share_memory(target, a) for a in (*inputs, *results))
        result = target if usable and not overlaps else np.empty(shape, dtype)
        results.append(result)
        if result is not target:
            write_back.append((target, result))
    return tuple(results), tuple(write_back)


def _written(shape: Sequence[Any]) -> str:
    """A shape as Python writes a tuple, with N unquoted."""
    inner = ", ".join(str(n) for n in shape)
    return f"({inner},)" if len(shape) == 1 else f"({inner})"


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
