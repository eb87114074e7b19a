"""Kernels of many samples, as LLVM text: one sample per vector lane.

Arrays arrive as users hold them. Mostly they have one row per sample: a block of W rows
(8 doubles or 16 floats in a 512-bit register) is loaded and turned in registers
(`SampleRows`), so that each input entry becomes one vector with a lane per sample; the
equations run once on vectors; the results are turned back. Arrays whose samples lie side by
side, one column per entry (`SampleColumns`), need no turning; their code is separate.

    block      W samples at the given addresses
    remainder  fewer samples, through copies that are filled up with zeros
    batch      any number of samples: whole blocks, the last of which may overlap
               the one before; the remainder only where there is no whole block
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from robot_dynamics.compiler.graph.trace import Program, Shape
from robot_dynamics.compiler.native.entry import native_entry as python
from robot_dynamics.compiler.native.entry.entry_code import EntryWriter, Extent, entry_functions
from robot_dynamics.compiler.native.ir import REALIGNED, Code, SimdType, argument
from robot_dynamics.compiler.native.llvm import Host
from robot_dynamics.compiler.native.program_ir import FiniteCheck, Values, emit_body
from robot_dynamics.compiler.native.trigonometry import arctangent, exact_functions, sine_cosine

# -- rows of samples as vectors -------------------------------------------------------------------

_CHUNK_BYTES = 32  # bytes of a row that are transposed together; half as many are slower


def transpose(code: Code, lanes: SimdType, vectors: list[str]) -> list[str]:
    """Transpose every square of B x B lanes that B vectors form, side by side.

    Blocks off the diagonal change places, of size B/2, then B/4, down to single lanes. Doing it
    twice changes nothing.
    """
    vectors, width = list(vectors), lanes.width
    size = len(vectors) // 2
    while size:
        upper = [i if not i & size else width + i - size for i in range(width)]
        lower = [i + size if not i & size else width + i for i in range(width)]
        for k in range(len(vectors)):
            if not k & size:
                a, b = vectors[k], vectors[k + size]
                vectors[k] = shuffle(code, lanes, a, b, upper)
                vectors[k + size] = shuffle(code, lanes, a, b, lower)
        size //= 2
    return vectors


def shuffle(code: Code, lanes: SimdType, a: str, b: str, picks: list[int]) -> str:
    """Pick lanes from a, and from b where the number is `width` or more."""
    mask = ", ".join(f"i32 {i}" for i in picks)
    kind = lanes.vector
    return code.let(f"shufflevector {kind} {a}, {kind} {b}, <{len(picks)} x i32> <{mask}>")


@dataclass(eq=False)
class SampleRows:
    """W rows of numbers in memory, as vectors with one lane per row.

    Columns are handled in chunks of B = 4 doubles or 8 floats, fewer in shorter rows. A vector
    holds W/B pieces of rows: vector v has those of lanes v, v + B, ... side by side. The last chunk
    ends with the row and so may overlap the one before: no piece ever leaves its row.

    Args:
        code: Where to write.
        lanes: Type and number of rows.
        address: Where they lie.
        length: Number of entries of one row.
        check: Gets every entry that is loaded.
    """

    code: Code
    lanes: SimdType
    address: str
    length: int
    check: FiniteCheck | None = None
    _columns: dict[int, str] = field(default_factory=dict, init=False)

    @cached_property
    def piece(self) -> SimdType:
        """Part of a row in one chunk."""
        most = min(_CHUNK_BYTES // self.lanes.bytes, self.lanes.width, max(1, self.length))
        return SimdType(self.lanes.scalar, 1 << (most.bit_length() - 1))

    def column(self, column: int) -> str:
        """Return the vector of one column; its chunk is loaded on first use."""
        if column not in self._columns:
            first = self._chunk(column)
            rows = [self._load(v, first) for v in range(self.piece.width)]
            for k, vector in enumerate(transpose(self.code, self.lanes, rows)):
                self._columns.setdefault(first + k, vector)
        return self._columns[column]

    def store(self, columns: list[str]) -> None:
        """Write all columns."""
        size = self.piece.width
        for first in dict.fromkeys(self._chunk(column) for column in range(self.length)):
            chunk = transpose(self.code, self.lanes, columns[first : first + size])
            for v, vector in enumerate(chunk):
                self._store(vector, v, first)

    def _chunk(self, column: int) -> int:
        """Return the first column of the chunk that holds a column."""
        size = self.piece.width
        return min(column - column % size, self.length - size)

    def _load(self, v: int, first: int) -> str:
        """Return vector v of a chunk: pieces of rows, joined two by two."""
        part = self.piece
        pieces = [
            self.code.load(part.vector, self.address, self._offset(lane, first), part.bytes)
            for lane in range(v, self.lanes.width, part.width)
        ]
        while len(pieces) > 1:
            everything = list(range(2 * part.width))
            pieces = [
                shuffle(self.code, part, a, b, everything)
                for a, b in zip(pieces[::2], pieces[1::2], strict=True)
            ]
            part = SimdType(part.scalar, 2 * part.width)
        if self.check:
            self.check.add(pieces[0])
        return pieces[0]

    def _store(self, vector: str, v: int, first: int) -> None:
        part = self.piece
        for k, lane in enumerate(range(v, self.lanes.width, part.width)):
            picks = list(range(k * part.width, (k + 1) * part.width))
            piece = shuffle(self.code, self.lanes, vector, vector, picks)
            self.code.store(part.vector, piece, self.address, self._offset(lane, first), part.bytes)

    def _offset(self, lane: int, column: int) -> int:
        return (lane * self.length + column) * self.lanes.bytes


@dataclass(eq=False)
class SampleColumns:
    """W neighbours in each of several columns in memory, as vectors with one lane per sample.

    Args:
        code: Where to write.
        lanes: Type and number of samples.
        address: Where the first column lies.
        stride: Bytes from column to column.
        check: Gets every entry that is loaded.
    """

    code: Code
    lanes: SimdType
    address: str
    stride: str
    check: FiniteCheck | None = None
    _columns: dict[int, str] = field(default_factory=dict, init=False)

    def column(self, column: int) -> str:
        """Return the vector of one column, loaded on first use."""
        if column not in self._columns:
            kind, size = self.lanes.vector, self.lanes.bytes
            vector = self.code.load(kind, self._place(column), align=size)
            self._columns[column] = vector
            if self.check:
                self.check.add(vector)
        return self._columns[column]

    def store(self, columns: Sequence[str]) -> None:
        """Write all columns."""
        for column, vector in enumerate(columns):
            self.code.store(self.lanes.vector, vector, self._place(column), align=self.lanes.bytes)

    def _place(self, column: int) -> str:
        offset = self.code.let(f"mul i64 {self.stride}, {column}")
        return self.code.let(f"add i64 {self.address}, {offset}")


# -- the kernels ----------------------------------------------------------------------------------

_MOST_STACK_BYTES = 65_536  # bytes; threads of some platforms have little


@dataclass(frozen=True)
class BatchLimits:
    """Numbers of samples at which a call takes another way.

    Args:
        release: From here on the entry lets other Python threads run meanwhile.
        threads: The most that the entry takes where there may be several threads.
        alone: The most that it takes on one thread; the rest is done in blocks.
    """

    release: int
    threads: int
    alone: int


@dataclass(frozen=True)
class BatchWriter:
    """Writes the functions of a batch.

    They take addresses of inputs, then of outputs; then by how many bytes the address of every
    input grows from block to block, 0 where one sample stands for all. With columns the bytes from
    column to column follow, for every input, and once for all outputs.

        i1  block(...)          W samples; true if an input is not finite, and then nothing is
                                written
        i1  remainder(count, ...)
        i64 batch(count, ...)   `count` samples; returns the number of samples done

    Args:
        inputs: Shape of one sample of every input.
        outputs: Shape of one sample of every output.
        lanes: Type and number of samples that a block holds.
        host: The machine.
        columns: Samples lie side by side.
    """

    inputs: Mapping[str, Shape]
    outputs: Mapping[str, Shape]
    lanes: SimdType
    host: Host
    columns: bool = False

    def functions(self, program: Program, finite: bool) -> list[str]:
        """Write `block`, `remainder` and `batch`; `finite`: check inputs."""
        exact = exact_functions(self.lanes, self.host.typed_pointers)
        return [exact, self._block(program, finite), self._remainder(), self._batch()]

    def _code(self) -> Code:
        return Code(self.host.typed_pointers)

    def _sizes(self, arrays: Mapping[str, Shape]) -> dict[str, int]:
        return {name: math.prod(shape) for name, shape in arrays.items()}

    def _parameters(self, addresses: str = "at") -> list[str]:
        """Names of the parameters; of addresses with another prefix."""
        names = [f"%{addresses}_{name}" for name in (*self.inputs, *self.outputs)]
        names += [f"%step.{name}" for name in self.inputs]
        if self.columns:
            names += [*(f"%stride.{name}" for name in self.inputs), "%stride"]
        return names

    def _block(self, program: Program, finite: bool) -> str:
        code, lanes = self._code(), self.lanes
        check = FiniteCheck(code, lanes) if finite else None
        sizes, results = self._sizes(self.inputs), self._sizes(self.outputs)
        loaded: dict[str, SampleColumns | SampleRows] = {
            name: SampleColumns(code, lanes, argument(name), f"%stride.{name}", check)
            if self.columns
            else SampleRows(code, lanes, argument(name), size, check)
            for name, size in sizes.items()
        }
        outputs = emit_body(
            code,
            program,
            lanes,
            Values(lambda name, i: loaded[name].column(_place(self.inputs[name], i, self.columns))),
            lambda code, angles: sine_cosine(code, lanes, angles, self.host.fused),
            lambda code, points: [arctangent(code, lanes, *x, self.host.fused) for x in points],
        )
        if check:
            for name, size in sizes.items():
                for i in range(size):
                    loaded[name].column(i)  # loads what the equations do not use
            code.branch_rarely(check.failed(), "refuse", "write")
            code.label("refuse")
            code.do("ret i1 true")
            code.label("write")
        for name, values in outputs.items():
            if self.columns:
                places = [_place(self.outputs[name], i, True) for i in range(results[name])]
                in_order = [value for _, value in sorted(zip(places, values, strict=True))]
                SampleColumns(code, lanes, argument(name), "%stride").store(in_order)
            else:
                SampleRows(code, lanes, argument(name), results[name]).store(values)
        code.do("ret i1 false")
        parameters = ", ".join(f"i64 {name}" for name in self._parameters())
        return code.function(f"define internal i1 @block({parameters})", f"noinline {REALIGNED}")

    def _remainder(self) -> str:
        """Write the function for fewer samples than a block, beside the arrays."""
        code, lanes = self._code(), self.lanes
        sample = {
            name: size * lanes.bytes
            for name, size in self._sizes({**self.inputs, **self.outputs}).items()
        }
        total = sum(64 * -(-lanes.width * size // 64) for size in sample.values())
        on_stack = total <= _MOST_STACK_BYTES
        start = code.stack("i8", total) if on_stack else code.let(f"call i64 @malloc(i64 {total})")
        if not on_stack:
            code.branch_rarely(code.let(f"icmp eq i64 {start}, 0"), "no_memory", "ready")
            code.label("no_memory")
            code.do("ret i1 true")
            code.label("ready")
        spare, offset = {}, 0
        for name, size in sample.items():
            spare[name] = code.let(f"add i64 {start}, {offset}")
            offset += 64 * -(-lanes.width * size // 64)
        row = lanes.width * lanes.bytes
        for name in self.inputs:
            code.fill(spare[name], str(lanes.width * sample[name]))
            self._copy(code, spare[name], argument(name), name, sample[name], inward=True)
        addresses = [spare[name] for name in sample] + ["0"] * len(self.inputs)
        addresses += [str(row)] * (len(self.inputs) + 1) if self.columns else []
        bad = code.let(f"call i1 @block({', '.join(f'i64 {x}' for x in addresses)})")
        code.branch_rarely(bad, "finished", "deliver")
        code.label("deliver")
        for name in self.outputs:
            self._copy(code, argument(name), spare[name], name, sample[name], inward=False)
        code.do("br label %finished")
        code.label("finished")
        if not on_stack:
            code.do(f"call void @free(i64 {start})")
        code.do(f"ret i1 {bad}")
        parameters = ", ".join(f"i64 {name}" for name in self._parameters())
        signature = f"define internal i1 @remainder(i64 %count, {parameters})"
        return code.function(signature, "noinline")

    def _copy(
        self, code: Code, target: str, source: str, name: str, size: int, inward: bool
    ) -> None:
        """Write the copy of `count` samples of an array to the spare place, or back."""
        if not self.columns:
            code.copy(target, source, code.let(f"mul i64 %count, {size}"))
            return
        length = code.let(f"mul i64 %count, {self.lanes.bytes}")
        own, spare = f"%stride.{name}" if inward else "%stride", self.lanes.width * self.lanes.bytes
        with code.rounds(str(size // self.lanes.bytes)) as i:
            far, near = code.let(f"mul i64 {i}, {own}"), code.let(f"mul i64 {i}, {spare}")
            to, start = (near, far) if inward else (far, near)
            places = code.let(f"add i64 {target}, {to}"), code.let(f"add i64 {source}, {start}")
            code.copy(*places, length)

    def _batch(self) -> str:
        """Write the loop over blocks."""
        code, lanes = self._code(), self.lanes
        width, everything = lanes.width, {**self.inputs, **self.outputs}
        here = self._parameters("here")
        step = {name: f"%step.{name}" for name in self.inputs}
        for name, size in self._sizes(self.outputs).items():
            step[name] = str(width * lanes.bytes * (1 if self.columns else size))
        code.branch(code.let(f"icmp ult i64 %count, {width}"), "few", "many")
        code.label("few")
        bad = code.let(f"call i1 @remainder(i64 %count, {_typed(self._parameters())})")
        code.do(f"ret i64 {code.let(f'select i1 {bad}, i64 0, i64 %count')}")
        code.label("many")
        last = code.let(f"sub i64 %count, {width}")
        code.do("br label %next")
        code.label("next")
        code.do("%done = phi i64 [ 0, %many ], [ %done.next, %advance ]")
        for name in everything:
            start = argument(name)
            code.do(f"%here_{name} = phi i64 [ {start}, %many ], [ %next.{name}, %advance ]")
        code.branch_rarely(code.let(f"call i1 @block({_typed(here)})"), "refuse", "whole")
        code.label("whole")
        left = code.let(f"sub i64 {last}, %done")  # samples after this block
        # The last block ends with the last sample and may begin inside the one before
        short = code.let(f"icmp ult i64 {left}, {width}")
        forward = code.let(f"select i1 {short}, i64 {left}, i64 {width}")
        code.do(f"%done.next = add i64 %done, {forward}")
        code.branch(code.equal("i64", left, "0"), "finished", "advance")
        code.label("advance")
        for name in everything:
            bytes_ = code.let(f"mul i64 {forward}, {step[name]}")
            by = code.let(f"lshr i64 {bytes_}, {width.bit_length() - 1}")
            code.do(f"%next.{name} = add i64 %here_{name}, {by}")
        code.do("br label %next")
        code.label("refuse")
        code.do("ret i64 %done")
        code.label("finished")
        code.do("ret i64 %count")
        signature = f"define i64 @batch(i64 %count, {_typed(self._parameters())})"
        return code.function(signature)

    # -- the entry ------------------------------------------------------------------------------

    def entry(self, limits: BatchLimits) -> list[str]:
        """Write the entry of `batch`, on the calling thread."""
        code = self._code()
        entry = EntryWriter(code, self.lanes.scalar, many=True, columns=self.columns)
        spare = self._spare(code)
        out = entry.find_arguments(self.inputs)
        entry.count = "-1"
        arrays = [code.load("i64", entry.places, 8 * k) for k in range(len(self.inputs))]
        ndims = [entry.check_array(array, 0) for array in arrays]
        some = "false"  # is a batch
        for ndim, shape in zip(ndims, self.inputs.values(), strict=True):
            some = code.let(f"or i1 {some}, {code.equal('i32', ndim, str(len(shape) + 1))}")
        entry.require(some)
        checked = [
            self._input(entry, *each)
            for each in zip(arrays, ndims, self.inputs.values(), spare, strict=True)
        ]
        entry.require(code.let(f"icmp sgt i64 {entry.count}, 0"))
        most = code.let(f"select i1 {entry.alone}, i64 {limits.alone}, i64 {limits.threads}")
        entry.require(code.let(f"icmp ule i64 {entry.count}, {most}"))
        stride = code.let(f"mul i64 {entry.count}, {self.lanes.bytes}")
        after = [x.step for x in checked]
        after += [*(x.stride for x in checked), stride] if self.columns else []

        def compute(results: Sequence[str]) -> str:
            values = [entry.count, *(x.extent.start for x in checked), *results, *after]
            return code.equal("i64", code.let(f"call i64 @run({_typed(values)})"), entry.count)

        memory = [x.extent for x in checked]
        functions = entry_functions(entry, out, self.outputs, compute, memory)
        return [self._run(limits.release), self._replicate(), *functions]

    def _spare(self, code: Code) -> list[str]:
        """Reserve a block for every input, for one sample that stands for all; "" where none is."""
        counts = [max(1, size) * self.lanes.width for size in self._sizes(self.inputs).values()]
        fits = sum(counts) * self.lanes.bytes <= _MOST_STACK_BYTES
        return [code.stack(self.lanes.scalar, count) if fits else "" for count in counts]

    def _input(
        self, entry: EntryWriter, array: str, ndim: str, shape: Shape, spare: str
    ) -> _Checked:
        """Require a good array, of as many samples as those before or of a single one."""
        code, lanes, size = entry.code, self.lanes, math.prod(shape)
        many, one, turned, replicated, ready = (
            code.fresh(x) for x in ("many", "one", "turned", "replicated", "ready")
        )
        alone = spare and not (self.columns and len(shape) > 1)  # whose order is another one
        dimensions = code.load("i64", array, python.DIMENSIONS)
        data = code.load("i64", array, python.DATA)
        flags = code.load("i32", array, python.FLAGS, align=4)
        code.branch(code.equal("i32", ndim, str(len(shape) + 1)), many, one if alone else "slow")
        code.label(many)
        count = code.load("i64", dimensions)
        first = code.equal("i64", entry.count, "-1")
        entry.require(code.let(f"or i1 {first}, {code.equal('i64', count, entry.count)}"))
        entry.check_shape(dimensions, shape, first=1)
        column = code.let(f"mul i64 {count}, {lanes.bytes}")
        step, stride, length = str(lanes.width * size * lanes.bytes), "0", size
        extent = code.let(f"mul i64 {column}, {length}")
        if self.columns:
            step, stride = str(lanes.width * lanes.bytes), column
            if len(shape) == 1:
                strides = code.load("i64", array, python.STRIDES)
                stride = code.load("i64", strides, 8)
                inner = code.equal("i64", code.load("i64", strides), str(lanes.bytes))
                apart = code.let(f"icmp sge i64 {stride}, {column if size > 1 else stride}")
                entry.require(code.let(f"and i1 {inner}, {apart}"))
                before = code.let(f"mul i64 {stride}, {max(0, size - 1)}")
                extent = code.let(f"add i64 {before}, {column}")
            else:
                self._require_flag(entry, flags, python.F_CONTIGUOUS)
        else:
            self._require_flag(entry, flags, python.C_CONTIGUOUS)
        place = Extent(data, extent)
        if not alone:
            entry.count = count
            return _Checked(place, step, stride)
        code.do(f"br label %{turned}")
        code.label(turned)
        code.do(f"br label %{ready}")
        code.label(one)
        entry.require(code.equal("i32", ndim, str(len(shape))))
        entry.check_shape(dimensions, shape)
        self._require_flag(entry, flags, python.C_CONTIGUOUS)
        code.do(f"call void @replicate(i64 {spare}, i64 {data}, i64 {size})")
        code.do(f"br label %{replicated}")
        code.label(replicated)
        code.do(f"br label %{ready}")
        code.label(ready)

        def either(of_many: str, of_one: str) -> str:
            return code.let(f"phi i64 [ {of_many}, %{turned} ], [ {of_one}, %{replicated} ]")

        entry.count = either(count, entry.count)
        place = Extent(either(data, spare), either(extent, "0"))
        width = str(lanes.width * lanes.bytes)
        return _Checked(place, either(step, "0"), either(stride, width) if self.columns else "")

    def _require_flag(self, entry: EntryWriter, flags: str, flag: int) -> None:
        masked = entry.code.let(f"and i32 {flags}, {flag}")
        entry.require(entry.code.equal("i32", masked, str(flag)))

    def _run(self, release: int) -> str:
        """Write `run`: `batch`, during which other Python threads may run if it takes long."""
        code, values = self._code(), ["%count", *self._parameters()]
        code.branch(code.let(f"icmp ult i64 %count, {release}"), "hold", "release")
        code.label("hold")
        code.do(f"ret i64 {code.let(f'call i64 @batch({_typed(values)})')}")
        code.label("release")
        state = code.let("call i64 @PyEval_SaveThread()")
        done = code.let(f"call i64 @batch({_typed(values)})")
        code.do(f"call void @PyEval_RestoreThread(i64 {state})")
        code.do(f"ret i64 {done}")
        return code.function(f"define internal i64 @run({_typed(values)})", "noinline")

    def _replicate(self) -> str:
        """Write `replicate`: `size` numbers of one sample as W samples."""
        code, lanes = self._code(), self.lanes
        with code.rounds("%size") as i:
            offset = code.let(f"mul i64 {i}, {lanes.bytes}")
            here = code.let(f"add i64 %source, {offset}")
            number = code.load(lanes.scalar, here, align=lanes.bytes)
            for lane in range(lanes.width):
                if self.columns:
                    place = code.let(f"mul i64 {i}, {lanes.width * lanes.bytes}")
                    place = code.let(f"add i64 {place}, {lane * lanes.bytes}")
                else:
                    row = code.let(f"mul i64 %size, {lane * lanes.bytes}")
                    place = code.let(f"add i64 {row}, {offset}")
                place = code.let(f"add i64 %target, {place}")
                code.store(lanes.scalar, number, place, align=lanes.bytes)
        code.do("ret void")
        signature = "define internal void @replicate(i64 %target, i64 %source, i64 %size)"
        return code.function(signature, "noinline")


@dataclass(frozen=True)
class _Checked:
    """Values for one input: its memory, and its parameters `step` and `stride`."""

    extent: Extent
    step: str
    stride: str


def _typed(values: Sequence[str]) -> str:
    return ", ".join(f"i64 {value}" for value in values)


def _place(shape: Shape, index: int, columns: bool) -> int:
    """Number of the column of an entry; columns count the first axis fastest."""
    if not columns or len(shape) < 2:
        return index
    place, stride = 0, math.prod(shape)
    for size in reversed(shape):
        stride //= size
        index, at = divmod(index, size)
        place += at * stride
    return place
