"""Back end: native code through LLVM, compiled when needed and kept on disk.

A kernel has up to six pieces of code: `single` for one sample, `batch` for many in rows and
for many in columns, of doubles or of floats. That for one sample of doubles is built at
once, the others when they are first called. Each has a native entry (`entry`) that takes
ordinary calls, and hands others on to the next one; the Python functions here take the rest.
"""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import logging
import math
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from robot_dynamics.compiler.kernel import Given, Kernel, Results, RowChoice, program_of
from robot_dynamics.compiler.kernel_arguments import (
    Arguments,
    check_arguments,
    check_threads,
    in_columns,
)
from robot_dynamics.compiler.native import cache, llvm
from robot_dynamics.compiler.native.entry import native_entry
from robot_dynamics.compiler.native.entry.native_entry import (
    MethodEntry,
    builtin_function,
    follow_with,
)
from robot_dynamics.compiler.native.parallel import processors, run_blocks
from robot_dynamics.compiler.operation_count import OperationCount
from robot_dynamics.errors import ArgumentError
from robot_dynamics.foundation.arrays import has_masked, refuse_non_finite
from robot_dynamics.foundation.lazy import cached_property, imported

if TYPE_CHECKING:
    from robot_dynamics.compiler.graph.trace import Program, Shape
    from robot_dynamics.compiler.native.entry.chosen_rows import CompiledRowEntry

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
# result written when it is known, but not long chains (vectors) or what waits for divisions. Of
# many samples, each value takes a register, and a quarter fewer are spilled: all but what waits.
_NODES_UNSCHEDULED = 1_000

# From here on fetching the code takes longer than the operations, and constants in a table save a
# tenth of it; shorter code is as fast without
_NODES_WITH_TABLE = 2_000


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
        self._buffers: list[_Buffer] = []  # that no call uses now
        self._batches: dict[tuple[str, bool], _Batch] = {}
        self._followers: set[tuple[str, bool, bool]] = set()
        self._last_code = code  # whose entry is the last one that a call comes to
        self._kept: list[llvm.Loaded] = []  # code whose addresses were given away
        self.has_entry = native_entry.available()
        self._entry = self._own_entry(_decline) if self.has_entry else None
        if not self.has_entry:
            # An address is passed quicker than an integer
            prototype = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)
            self._buffered = prototype(code.address("buffered"))
            self._shapes = list(inputs.values())

    @property
    def program(self) -> Program:
        """Return the equations, traced again if the code came from disk."""
        return self._builder.program

    def __call__(
        self, *arrays: npt.ArrayLike, out: Any = None, threads: int | None = None
    ) -> Results:
        """See `Kernel.__call__`. Only unusual calls and batches come here, if there is an entry."""
        if self._entry is None and out is None and threads is None:
            answer = self.usual(arrays)
            if answer is not None:
                return answer
        check_threads(threads)
        if self._entry is not None:
            answer = self._by_entry(arrays, out, threads)
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
        about = self.name + signature, text, "double", unusual, self.results_class
        return builtin_function(self._code, *about)

    def native_entry(
        self,
        signature: str,
        text: str,
        unusual: Callable[..., Results],
        *,
        alone: bool = False,
    ) -> Callable[..., Results] | None:
        """See `Kernel.native_entry`."""
        if not native_entry.available():
            return None
        about = signature, text, "double", unusual, self.results_class, alone
        return builtin_function(self._code, *about)

    def add_to(self, entry: MethodEntry, frame: str | None) -> None:
        """Let the entry of a method go to the code of this kernel.

        Args:
            entry: The entry.
            frame: Argument `frame` of the calls that the kernel is for, or None.
        """
        entry.add(self._code, self.inputs, self.results_class, frame)

    def row_entry(
        self, choice: RowChoice, signature: str, text: str, unusual: Callable[..., Any]
    ) -> CompiledRowEntry | None:
        """See `Kernel.row_entry`."""
        chosen_rows: Any = imported("robot_dynamics.compiler.native.entry.chosen_rows")
        if not native_entry.available() or self.outputs[choice.measure][0] > chosen_rows.MOST_ROWS:
            return None
        error, repair = (cast(NativeKernel, x)._code for x in (choice.error, choice.repair))
        kernels = {"single": self._code, "error": error, "repair": repair}
        entry: CompiledRowEntry = chosen_rows.CompiledRowEntry(
            kernels, self.inputs, self.outputs, choice, signature, text, unusual
        )
        return entry

    @property
    def address(self) -> int:
        """Return the address of the code for one sample of doubles, valid while this lives.

        It takes the addresses of inputs and outputs as 64-bit integers.
        """
        return self._code.address("single")

    def addresses(self, scalar: str) -> tuple[int, int, int]:
        """Return the addresses of `single` and `batch`, and the states of a block of the latter."""
        code = self._code if scalar == "double" else self._builder.single(scalar)[1]
        batch = self._batch(scalar, columns=False)
        self._kept.append(code)
        return code.address("single"), batch.address, batch.width

    def _by_entry(self, arrays: tuple[Any, ...], out: Any, threads: int | None) -> Results | None:
        """Make arrays of the arguments and call the entries on them; None if they decline."""
        # An array without its mask would be another one
        if any(hasattr(a, "mask") for a in arrays) or has_masked(arrays):
            return None
        try:
            ready = [np.asarray(a) for a in arrays]
        except (TypeError, ValueError, RuntimeError):  # the last of PyTorch's gradients
            return None
        if self._entry is None or len(ready) != len(self.inputs):
            return None
        scalar = _SCALARS.get(ready[0].dtype.char) if ready else None
        if scalar is None:
            return None
        self._follow(scalar, ready)
        return self._entry(*ready, out=out, threads=1 if threads == 1 else None)

    def _follow(self, scalar: str, arrays: list[npt.NDArray[Any]]) -> None:
        """Let entries for such arrays follow those that there are."""
        shapes = self.inputs.values()
        many = any(a.ndim > len(shape) for a, shape in zip(arrays, shapes, strict=True))
        columns = many and in_columns(self.inputs, arrays)
        if (scalar, many, columns) in self._followers or (scalar, many) == ("double", False):
            return
        self._followers.add((scalar, many, columns))
        about = f"{self.name}()", "", scalar, _decline, self.results_class
        if many:
            code, before = self._batch(scalar, columns).code, self._last_code
        else:  # single samples have fewer entries before theirs
            code, before = self._builder.single(scalar)[1], self._code
            code.following = before.following
        follow_with(before, builtin_function(code, *about))
        if before is self._last_code:
            self._last_code = code

    def usual(self, arrays: tuple[Any, ...]) -> Results | None:
        """See `Kernel.usual`."""
        if self.has_entry or len(arrays) != len(self.inputs):
            return None
        try:
            buffer = self._buffers.pop()
        except IndexError:
            buffer = _buffer(self.inputs, self.outputs)
        shapes, results, (inputs, outputs, address) = self._shapes, None, buffer
        for k, array in enumerate(arrays):
            if type(array) is not _ARRAY or array.dtype is not _DOUBLE or array.shape != shapes[k]:
                break
            inputs[k][...] = array
        else:
            if self._buffered(address) == 0:
                one, make = outputs[0], self.results_class
                results = one.copy() if make is None else make(*[x.copy() for x in outputs])
        self._buffers.append(buffer)
        return results

    def _run_single(self, call: Arguments) -> None:
        bad = self._single(*map(_address, (*call.inputs, *call.outputs)))
        if bad:
            self._name_culprit(call, 0)

    def _run_batch(self, call: Arguments, threads: int) -> None:
        """Run in blocks, on threads if there is work enough for them."""
        batch = self._batch("double" if call.dtype == np.float64 else "float", call.columns)
        count = 1 if call.batch is None else call.batch
        if not count:  # a single sample stands beside no others, but is an argument
            self._builder.check_finite(self.inputs, call.inputs)
        width, size = batch.width, call.dtype.itemsize
        inputs, input_steps, strides = [], [], []  # address, bytes from sample to sample, columns
        kept = []
        for given, shape in zip(call.inputs, self.inputs.values(), strict=True):
            array, single = given, given.ndim == len(shape)
            if single and call.columns:
                array = np.repeat(given.ravel("F")[:, None], width, axis=1)
            elif single:
                array = np.stack([given] * width)
            kept.append(array)
            inputs.append(_address(array))
            input_steps.append(0 if single else size if call.columns else math.prod(shape) * size)
            apart = array.strides[1] if not single and len(shape) == 1 else count * size
            strides.append(width * size if single else apart)
        strides = [*strides, count * size] if call.columns else []
        outputs = [_address(array) for array in call.outputs]
        output_steps = [
            size if call.columns else math.prod(shape) * size for shape in self.outputs.values()
        ]
        places = list(zip([*inputs, *outputs], [*input_steps, *output_steps], strict=True))
        block_steps = [step * width for step in input_steps]

        def work(start: int, stop: int) -> int:
            here = [address + start * step for address, step in places]
            return int(batch.run(stop - start, *here, *block_steps, *strides))

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

    def _batch(self, scalar: str, columns: bool) -> _Batch:
        """Return the code for many samples, built on first use."""
        if (scalar, columns) not in self._batches:
            self._batches[scalar, columns] = _Batch(self, self._builder, scalar, columns)
        return self._batches[scalar, columns]


class _Buffer(NamedTuple):
    """Memory of one call at a known address: to ask an array for its own takes longer than a copy.

    Attributes:
        inputs: Places of the inputs.
        outputs: Places of the outputs, behind them.
        address: Where the first begins.
    """

    inputs: list[npt.NDArray[Any]]
    outputs: list[npt.NDArray[Any]]
    address: int


def _buffer(inputs: Mapping[str, Shape], outputs: Mapping[str, Shape]) -> _Buffer:
    shapes = [*inputs.values(), *outputs.values()]
    ends = np.cumsum([math.prod(shape) for shape in shapes])
    memory = np.empty(ends[-1])
    parts = zip(np.split(memory, ends[:-1]), shapes, strict=True)
    places = [part.reshape(shape) for part, shape in parts]
    return _Buffer(places[: len(inputs)], places[len(inputs) :], _address(memory))


class _Batch:
    """The code of a kernel for many samples of one type, in rows or in columns."""

    def __init__(self, kernel: NativeKernel, builder: _Builder, scalar: str, columns: bool) -> None:
        self.width = width = llvm.host().lanes(scalar)
        count = kernel.operation_count
        operations = count.arithmetic + 20 * count.sines_cosines + 10 * count.divisions + 1
        self.samples_per_block = width * max(1, _OPERATIONS_PER_BLOCK // operations // width)
        self.samples_for_threads = max(width, _OPERATIONS_FOR_THREADS // operations)
        release = max(1, _OPERATIONS_FOR_RELEASE // operations)
        limits = release, self.samples_for_threads, self.samples_per_block
        self.code = builder.batch(scalar, limits, columns)
        self.address = self.code.address("batch")
        values = 1 + 2 * len(kernel.inputs) + len(kernel.outputs)
        values += len(kernel.inputs) + 1 if columns else 0
        self.run = _function(self.code, "batch", ctypes.c_int64, values)


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
            in_order = _better_in_order(self.program)
            table = _is_matrix_of(_NODES_WITH_TABLE, self.program)
            arguments = self.program, self._host, self._finite, scalar, in_order, table
            return str(_writer().single_ir(*arguments))

        what = "single" if scalar == "double" else f"single of {scalar}"
        return self._piece(what, ["single"], ir)

    def batch(self, scalar: str, limits: tuple[int, int, int], columns: bool) -> llvm.Loaded:
        """Return the code for many samples; limits as in `BatchLimits`."""

        def ir() -> str:
            arguments = self.program, self._host, self._finite, scalar, limits, columns
            return str(_writer().batch_ir(*arguments))

        what = f"batch of {scalar}{' in columns' if columns else ''}"
        return self._piece(what, ["batch"], ir)[1]

    def _piece(
        self, what: str, symbols: list[str], ir: Callable[[], str]
    ) -> tuple[Mapping[str, Any], llvm.Loaded]:
        """Return object code from disk, else from the compiler."""
        imports = {}
        if native_entry.available():
            symbols = [*symbols, "call", "objects"]
            imports = native_entry.imports()
        elif what == "single":
            symbols = [*symbols, "buffered"]
        around = cache.environment(self._host) if self._use_cache else None
        name = ""
        if around is not None:
            options = f"finite={self._finite}, entry={native_entry.available()}"
            name = cache.key_of(what, self._key or self.program.digest, options, *around)

        def compiled() -> tuple[Mapping[str, Any], bytes]:
            level = 1 if len(self.program.nodes) > _NODES_FOR_LEVEL_1 else 2
            scheduled = not _better_in_order(self.program, many="batch" in symbols)
            code = llvm.compile_object(ir(), level, scheduled)
            _log.debug("compiled %s, %s: %d bytes", self.program.name, what, len(code))
            return _about(self.program), code

        about, code = cache.kept(name, compiled)
        if native_entry.available() and native_entry.beside_of(about["inputs"]):
            symbols = [*symbols, "beside"]
        return about, llvm.Loaded(code, symbols, imports)


def _better_in_order(program: Program, many: bool = False) -> bool:
    """Return whether code, of one sample or of many, is faster in the order of the equations."""
    large = many or _is_matrix_of(_NODES_UNSCHEDULED, program)
    return large and not _operation_count(program).divisions


def _is_matrix_of(nodes: int, program: Program) -> bool:
    """Return whether a result is a matrix, or of more axes, and takes more than so many nodes."""
    matrix = any(len(output.shape) >= 2 for output in program.outputs.values())
    return matrix and len(program.nodes) > nodes


def _writer() -> Any:
    """Import the writer of code; a kernel that is found on disk does without it."""
    return imported("robot_dynamics.compiler.native.kernel_ir")


def _operation_count(program: Program) -> OperationCount:
    count: OperationCount = imported("robot_dynamics.compiler.graph.trace").operation_count(program)
    return count


_ARRAY, _DOUBLE = np.ndarray, np.dtype(np.float64)
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
