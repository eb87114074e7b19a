"""Back end: native code through LLVM, compiled when needed and kept on disk.

A kernel has up to four pieces of code: `single` for one sample and `batch` for many,
of doubles or of floats. That for one sample of doubles is built at once, the others
when they are first called. Each has a native entry (`entry`) that takes ordinary calls; the
Python functions here take the others.
"""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import logging
import math
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from robot_dynamics.compiler.kernel import Given, Kernel, Results, program_of
from robot_dynamics.compiler.kernel_arguments import (
    Arguments,
    check_arguments,
    check_threads,
)
from robot_dynamics.compiler.native import cache, llvm
from robot_dynamics.compiler.native.entry import native_entry
from robot_dynamics.compiler.native.entry.native_entry import builtin_function, follow_with
from robot_dynamics.compiler.native.parallel import processors, run_blocks
from robot_dynamics.compiler.operation_count import OperationCount
from robot_dynamics.errors import ArgumentError
from robot_dynamics.foundation.arrays import has_masked, refuse_non_finite
from robot_dynamics.foundation.lazy import cached_property, imported

if TYPE_CHECKING:
    from robot_dynamics.compiler.graph.trace import Program

_log = logging.getLogger(__name__)

# Durations in operations; a vector of eight doubles does about ten of them per nanosecond
_OPERATIONS_PER_BLOCK = 200_000_000  # a few ms, after which Ctrl-C is handled
_OPERATIONS_FOR_THREADS = 20_000_000  # handing work to a thread costs tens of microseconds
_OPERATIONS_FOR_RELEASE = 200_000  # releasing the global lock costs a fraction of a microsecond

# From here on the second level of LLVM's code generator takes up to five times as long as the
# first, and the code is no faster
_NODES_FOR_LEVEL_1 = 6_000

# LLVM's scheduler takes one sample for one region and begins the entries of a matrix far ahead of
# their end, which keeps a tenth more values on the stack; another 5 % lie there if results are
# written at the end. So many operations are 5 to 15 % faster in the order of the equations, each
# result written when it is known, but not long chains (vectors) or what waits for divisions.
_NODES_UNSCHEDULED = 1_000


def compile_native(
    program: Given,
    *,
    key: str | None = None,
    finite: bool = False,
    use_cache: bool = True,
) -> NativeKernel:
    """Build a kernel of native code, or fetch it from disk.

    Args:
        program: The equations, or a function that makes them; it is called only when code has
            to be compiled, so a kernel that is found on disk costs no tracing.
        key: Fingerprint of everything that the equations depend on; by default their digest.
        finite: Refuse NaN and infinity in arguments.
        use_cache: Look on disk and keep the code there.

    Raises:
        BackendError: If there is no usable llvmlite.
    """
    # A call looks `__call__` up in the class, and a builtin function found there is called as it
    # is, without a Python frame in between: so every kernel is the only object of its class.
    own_class = type("NativeKernel", (NativeKernel,), {})
    kernel: NativeKernel = own_class(_Builder(program, key, finite, use_cache))
    if native_entry.available():
        own_class.__call__ = kernel._own_entry()  # type: ignore[method-assign]
    return kernel


class NativeKernel(Kernel):
    """A program as native code; see `compile_native`."""

    def __init__(self, builder: _Builder) -> None:
        about, code = builder.single()
        inputs = {name: tuple(shape) for name, shape in about["inputs"].items()}
        outputs = {name: tuple(shape) for name, shape in about["outputs"].items()}
        super().__init__(about["name"], inputs, outputs, OperationCount(**about["operations"]))
        self._builder = builder
        self._code = code
        self._single = _function(code, "single", ctypes.c_int32, len(inputs) + len(outputs))
        self._batches: dict[str, _Batch] = {}
        self._kept: list[llvm.Loaded] = []  # code whose addresses were given away
        self._ndim = len(next(iter(inputs.values()), ()))  # of one sample of the first input
        self.has_entry = native_entry.available()
        self._entry = self._own_entry(_decline) if self.has_entry else None

    @property
    def program(self) -> Program:
        """Return the equations, traced again if the code came from disk."""
        return self._builder.program

    def __call__(
        self, *arrays: npt.ArrayLike, out: Any = None, threads: int | None = None
    ) -> Results:
        """See `Kernel.__call__`. Only unusual calls and batches come here."""
        check_threads(threads)
        if out is None and self._entry is not None:
            answer = self._by_entry(arrays, threads)
            if answer is not None:
                return answer
        call = check_arguments(self.inputs, self.outputs, arrays, out)
        if call.batch is None and call.dtype == np.float64:
            self._run_single(call)
        else:
            self._run_batch(call, processors() if threads is None else threads)
        return self.results(call.finish())

    def _own_entry(self, unusual: Callable[..., Results] | None = None) -> Callable[..., Results]:
        """Return the native entry that replaces `__call__`, or the one that it tries."""
        unusual = unusual or functools.partial(NativeKernel.__call__, self)
        signature = f"({', '.join(self.inputs)}, /, *, out=None, threads=None)"
        text = "Evaluate compiled equations; see `Kernel`."
        return self._entry_of("double", self.name + signature, text, unusual)

    def _entry_of(
        self, scalar: str, signature: str, text: str, unusual: Callable[..., Results]
    ) -> Callable[..., Results]:
        code = self._code if scalar == "double" else self._builder.single(scalar)[1]
        return builtin_function(code, signature, text, scalar, unusual, self.results_class)

    def native_entry(
        self, signature: str, text: str, unusual: Callable[..., Results]
    ) -> Callable[..., Results] | None:
        """See `Kernel.native_entry`."""
        if not native_entry.available():
            return None
        return self._entry_of("double", signature, text, unusual)

    def addresses(self, scalar: str) -> tuple[int, int, int]:
        """Return the addresses of `single` and `batch`, and the states of a block of the latter."""
        code = self._code if scalar == "double" else self._builder.single(scalar)[1]
        batch = self._batch(scalar)
        self._kept.append(code)
        return code.address("single"), batch.address, batch.width

    def _by_entry(self, arrays: tuple[Any, ...], threads: int | None) -> Results | None:
        """Make arrays of the arguments and call an entry on them; return None if it declines."""
        # An array without its mask would be another one
        if any(hasattr(a, "mask") for a in arrays) or has_masked(arrays):
            return None
        try:
            ready = [np.asarray(a) for a in arrays]
        except (TypeError, ValueError, RuntimeError):  # the last of PyTorch's gradients
            return None
        scalar = _SCALARS.get(ready[0].dtype.char) if ready else None
        if scalar is None:
            return None
        if ready[0].ndim == self._ndim:
            if scalar == "float" and self._code.following is None:
                follow_with(self._code, self._entry_of("float", f"{self.name}()", "", _decline))
            return self._entry(*ready) if self._entry else None
        if ready[0].ndim != self._ndim + 1:
            return None
        batch = self._batch(scalar)
        limit = batch.samples_per_block if threads == 1 else batch.samples_for_threads
        return batch.entry(*ready) if batch.entry and len(ready[0]) <= limit else None

    def _run_single(self, call: Arguments) -> None:
        bad = self._single(*map(_address, (*call.inputs, *call.outputs)))
        if bad:
            self._name_culprit(call, 0)

    def _run_batch(self, call: Arguments, threads: int) -> None:
        """Run in blocks, on threads if there is work enough for them."""
        batch = self._batch("double" if call.dtype == np.float64 else "float")
        count = 1 if call.batch is None else call.batch
        if not count:  # a single sample stands beside no others, but is an argument
            self._builder.check_finite(self.inputs, call.inputs)
        width = batch.width
        inputs, input_steps = [], []  # address of every input, and bytes from sample to sample
        kept = []
        for array, shape in zip(call.inputs, self.inputs.values(), strict=True):
            single = array.ndim == len(shape)
            kept.append(np.stack([array] * width) if single else array)
            inputs.append(_address(kept[-1]))
            input_steps.append(0 if single else math.prod(shape) * array.itemsize)
        outputs = [_address(array) for array in call.outputs]
        output_steps = [math.prod(shape) * call.dtype.itemsize for shape in self.outputs.values()]
        places = list(zip([*inputs, *outputs], [*input_steps, *output_steps], strict=True))
        block_steps = [step * width for step in input_steps]

        def work(start: int, stop: int) -> int:
            here = [address + start * step for address, step in places]
            return int(batch.run(stop - start, *here, *block_steps))

        block = batch.samples_per_block
        if threads > 1 and count > batch.samples_for_threads:
            share = -(-count // (4 * threads))  # a few blocks for every thread even out the load
            block = min(block, width * -(-share // width))
        else:
            threads = 1
        given_up = run_blocks(work, count, block, threads)
        if given_up is not None:
            self._name_culprit(call, given_up)

    def _name_culprit(self, call: Arguments, start: int) -> None:
        """Raise the error for an input that is not finite, at sample `start` or soon after."""
        for (name, shape), array in zip(self.inputs.items(), call.inputs, strict=True):
            refuse_non_finite(name, array, start if array.ndim > len(shape) else 0)
        raise ArgumentError("an argument changed while the equations read it; pass a copy")

    def _batch(self, scalar: str) -> _Batch:
        """Return the code for many samples, built on first use."""
        if scalar not in self._batches:
            self._batches[scalar] = _Batch(self, self._builder, scalar)
        return self._batches[scalar]


class _Batch:
    """The code of a kernel for many samples of one type."""

    def __init__(self, kernel: NativeKernel, builder: _Builder, scalar: str) -> None:
        self.width = width = llvm.host().lanes(scalar)
        count = kernel.operation_count
        operations = count.arithmetic + 20 * count.sines_cosines + 10 * count.divisions + 1
        self.samples_per_block = width * max(1, _OPERATIONS_PER_BLOCK // operations // width)
        self.samples_for_threads = max(width, _OPERATIONS_FOR_THREADS // operations)
        release_from = max(1, _OPERATIONS_FOR_RELEASE // operations)
        self._code = builder.batch(scalar, release_from)
        self.address = self._code.address("batch")
        values = 1 + 2 * len(kernel.inputs) + len(kernel.outputs)
        self.run = _function(self._code, "batch", ctypes.c_int64, values)
        self.entry: Callable[..., Results] | None = None
        if native_entry.available():
            self.entry = builtin_function(
                self._code, f"{kernel.name}()", "", scalar, _decline, kernel.results_class
            )


def _decline(*_: Any, **__: Any) -> None:
    """Return None: the answer of an entry that leaves unusual calls to its caller."""


class _Builder:
    """Makes the pieces of code of one kernel, or finds them on disk."""

    def __init__(
        self,
        program: Given,
        key: str | None,
        finite: bool,
        use_cache: bool,
    ) -> None:
        self._given = program
        self._finite = finite
        self._use_cache = use_cache
        self._host = llvm.host()
        self._key = key

    @cached_property
    def program(self) -> Program:
        """The equations."""
        return program_of(self._given)

    def check_finite(self, names: Iterable[str], arrays: Iterable[npt.NDArray[Any]]) -> None:
        """Refuse entries that are not finite, where no code does."""
        if self._finite:
            for name, array in zip(names, arrays, strict=True):
                refuse_non_finite(name, array)

    def single(self, scalar: str = "double") -> tuple[Mapping[str, Any], llvm.Loaded]:
        """Return the facts about the kernel, and the code for one sample."""

        def ir() -> str:
            at_once = _better_in_order(self.program)
            arguments = self.program, self._host, self._finite, scalar, at_once
            return str(_writer().single_ir(*arguments))

        what = "single" if scalar == "double" else f"single of {scalar}"
        return self._piece(what, ["single"], ir)

    def batch(self, scalar: str, release_from: int) -> llvm.Loaded:
        """Return the code for many samples."""

        def ir() -> str:
            arguments = self.program, self._host, self._finite, scalar, release_from
            return str(_writer().batch_ir(*arguments))

        return self._piece(f"batch of {scalar}", ["batch"], ir)[1]

    def _piece(
        self, what: str, symbols: list[str], ir: Callable[[], str]
    ) -> tuple[Mapping[str, Any], llvm.Loaded]:
        """Return object code from disk, else from the compiler."""
        imports = {}
        if native_entry.available():
            symbols = [*symbols, "call", "objects"]
            imports = native_entry.imports()
        around = cache.environment(self._host) if self._use_cache else None
        name = ""
        if around is not None:
            options = f"finite={self._finite}, entry={native_entry.available()}"
            name = cache.key_of(what, self._key or self.program.digest, options, *around)
        found = cache.load(name) if name else None
        if found is not None:
            about, code = found
        else:
            about = _about(self.program)
            level = 1 if len(self.program.nodes) > _NODES_FOR_LEVEL_1 else 2
            scheduled = "single" not in symbols or not _better_in_order(self.program)
            code = llvm.compile_object(ir(), level, scheduled)
            _log.debug("compiled %s, %s: %d bytes", self.program.name, what, len(code))
            if name:
                cache.store(name, about, code)
        return about, llvm.Loaded(code, symbols, imports)


def _better_in_order(program: Program) -> bool:
    """Return whether the code of one sample is faster in the order of the equations."""
    matrix = any(len(output.shape) == 2 for output in program.outputs.values())
    divides = _operation_count(program).divisions > 0
    return matrix and not divides and len(program.nodes) > _NODES_UNSCHEDULED


def _writer() -> Any:
    """Import the writer of code; a kernel that is found on disk does without it."""
    return imported("robot_dynamics.compiler.native.kernel_ir")


def _operation_count(program: Program) -> OperationCount:
    count: OperationCount = imported("robot_dynamics.compiler.graph.trace").operation_count(program)
    return count


_SCALARS = {"d": "double", "f": "float"}


def _about(program: Program) -> dict[str, Any]:
    """Return the facts that a kernel needs about its program, for JSON."""
    return {
        "name": program.name,
        "inputs": dict(program.inputs),
        "outputs": {name: output.shape for name, output in program.outputs.items()},
        "operations": dataclasses.asdict(_operation_count(program)),
    }


def _function(code: llvm.Loaded, symbol: str, result: Any, integers: int) -> Callable[..., Any]:
    """Return a native function of integers that lets other threads run."""
    prototype = ctypes.CFUNCTYPE(result, *[ctypes.c_int64] * integers)
    return prototype(code.address(symbol))


def _address(array: npt.NDArray[Any]) -> int:
    return int(array.__array_interface__["data"][0])
