"""A compiled loop over time that runs blocks of SIMD lanes one after the other, on threads."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from robot_dynamics.compiler.native import cache, llvm
from robot_dynamics.compiler.native.ir import SimdType, module
from robot_dynamics.compiler.native.loop.loop_steps import Record, Step, nested
from robot_dynamics.compiler.native.loop.writer import LoopWriter
from robot_dynamics.compiler.native.parallel import run_blocks
from robot_dynamics.foundation.arrays import Array

_ALIGNMENT_BYTES = 64  # bytes, of a vector

STEPS_TOGETHER = 1000
"""Steps of blocks in one piece of work; Ctrl-C is handled between two pieces."""


class NativeLoop:
    """Steps on named arrays, for blocks of SIMD lanes; see `loop_steps`.

    Args:
        sizes: Number of entries of every array.
        steps: The steps, or a function that returns them and is called only to compile.
        key: Fingerprint of everything that the steps depend on, to find code on disk without them.

    Attributes:
        width: SIMD lanes of a block.

    Raises:
        BackendError: If there is no usable llvmlite.
    """

    def __init__(
        self,
        sizes: Mapping[str, int],
        steps: tuple[Step, ...] | Callable[[], tuple[Step, ...]],
        key: str = "",
    ) -> None:
        host = llvm.host()
        lanes = SimdType("double", host.lanes("double"))
        self.width, self.sizes = lanes.width, dict(sizes)
        ends = np.cumsum([0, *sizes.values()]).tolist()
        self._start = dict(zip(sizes, ends, strict=False))
        self._length = ends[-1]
        about, code = _built(sizes, steps, key, lanes, host)
        self._rings, self._recorded = about["rings"], about["recorded"]
        self._code = llvm.Loaded(code, ["run"])
        prototype = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * (5 + len(self._rings)))
        self._run = prototype(self._code.address("run"))

    def memory(self, count: int) -> Array:
        """Return zeros for the arrays of `count` SIMD lanes, shape (blocks, entries, width)."""
        return _aligned((-(-count // self.width), self._length, self.width))

    def array(self, memory: Array, name: str) -> Array:
        """Return a view of an array in `memory`, shape (blocks, size, width)."""
        start = self._start[name]
        return memory[:, start : start + self.sizes[name]]

    def set(self, memory: Array, name: str, values: Array) -> None:
        """Write an array; the last row also fills the unused SIMD lanes of the last block.

        Args:
            memory: From `memory`.
            name: Name of the array.
            values: One row per SIMD lane, shape (N, size), or one for all: shape (size,), a number.
        """
        place = self.array(memory, name)
        blocks, size, width = place.shape
        rows = np.atleast_2d(np.asarray(values, dtype=place.dtype))
        rows = np.broadcast_to(rows, (rows.shape[0], size))
        if len(rows) > 1 or blocks * width == 1:
            rows = np.concatenate([rows, np.repeat(rows[-1:], blocks * width - len(rows), axis=0)])
            place[:] = np.swapaxes(rows.reshape(blocks, width, size), 1, 2)
        else:
            place[:] = rows[0][None, :, None]

    def get(self, memory: Array, name: str, count: int) -> Array:
        """Read an array, shape (count, size)."""
        rows = np.swapaxes(self.array(memory, name), 1, 2)
        return rows.reshape(-1, self.sizes[name])[:count].copy()

    def stepper(self, memory: Array) -> Callable[[], None]:
        """Return a function that runs one step of the first block, without rings or a record.

        Args:
            memory: From `memory`; the function keeps it and this loop alive.
        """
        at, run, kept = _address(memory), self._run, (self, memory)

        def step(_kept: object = kept) -> None:
            run(at, 0, 1, 0, 0)

        return step

    def run(
        self,
        memory: Array,
        steps: int,
        *,
        depth: int = 1,
        record: bool = False,
        threads: int = 1,
        done: Callable[[int], None] | None = None,
    ) -> dict[str, Array]:
        """Run all steps of every block.

        Args:
            memory: Of all blocks; changed in place.
            steps: Number of steps, from step 0.
            depth: Depth of the ring buffers in steps, the present one included; rounded up to a
                power of two.
            record: Whether to return the arrays of `Record`.
            threads: Number of threads that share the blocks.
            done: Called with the number of blocks finished since the last call.

        Returns:
            Recorded arrays, shape (steps, N, size) for N SIMD lanes in all; empty without a record.
        """
        blocks = len(memory)
        depth = 1 << max(depth - 1, 0).bit_length()
        row = sum(self._recorded.values())
        kept = np.empty((blocks, steps, row, self.width)) if record else None
        first, stride = _address(memory), memory.strides[0]

        def work(start: int, stop: int) -> int:
            rings = [_aligned((depth, size, self.width)) for size in self._rings]
            places = [_address(ring) for ring in rings]
            for b in range(start, stop):
                to = 0 if kept is None else _address(kept[b])
                self._run(first + b * stride, 0, steps, depth - 1, to, *places)
                if done is not None:
                    done(1)
            return stop - start

        # Each block begins with empty ring buffers
        together = 1 if self._rings else max(1, STEPS_TOGETHER // max(steps, 1))
        run_blocks(work, blocks, max(1, min(together, -(-blocks // threads))), threads)
        if kept is None:
            return {}
        rows = np.moveaxis(kept, 3, 1).reshape(blocks * self.width, steps, row)
        found, at = {}, 0
        for name, size in self._recorded.items():
            found[name] = np.swapaxes(rows[:, :, at : at + size], 0, 1)
            at += size
        return found


def _built(
    sizes: Mapping[str, int],
    steps: tuple[Step, ...] | Callable[[], tuple[Step, ...]],
    key: str,
    lanes: SimdType,
    host: llvm.Host,
) -> tuple[Mapping[str, Any], bytes]:
    """Return metadata and object code, from disk or else from the compiler."""
    around = cache.environment(host)

    def name_of(text: str) -> str:
        return "" if around is None else cache.key_of("loop", text, *around)

    def compiled() -> tuple[Mapping[str, Any], bytes]:
        made = steps if isinstance(steps, tuple) else steps()
        writer = LoopWriter(sizes, made, lanes, host)
        text = module(writer.functions(), [lanes], host.typed_pointers)
        recorded = [array for s in nested(made) if isinstance(s, Record) for array in s.arrays]
        about = {
            "name": "loop",
            "rings": [sum(sizes[array] for array in arrays) for arrays in writer.rings.values()],
            "recorded": {array: sizes[array] for array in recorded},
        }
        by_text = "" if key else name_of(text)
        return cache.kept(by_text, lambda: (about, llvm.compile_object(text)))

    return cache.kept(name_of(key) if key else "", compiled)


def _aligned(shape: tuple[int, ...]) -> Array:
    """Return zeros with the alignment of vectors."""
    size = int(np.prod(shape))
    buffer = np.zeros(size + _ALIGNMENT_BYTES // 8)
    first = -_address(buffer) % _ALIGNMENT_BYTES // 8
    return buffer[first : first + size].reshape(shape)


def _address(array: npt.NDArray[Any]) -> int:
    return int(array.ctypes.data)
