"""Kernels of many samples, as LLVM text: one sample per vector lane.

Arrays arrive as users hold them, one row per sample. A block of W rows (8 doubles
or 16 floats in a 512-bit register) is loaded and turned in registers (`SampleRows`), so
that each input entry becomes one vector with a lane per sample; the equations run
once on vectors; the results are turned back.

    block      W samples at the given addresses
    remainder  fewer samples, through copies that are filled up with zeros
    batch      any number of samples: whole blocks, then the remainder
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from robot_dynamics.compiler.graph.trace import Program, Shape
from robot_dynamics.compiler.native.entry.entry_code import EntryWriter, finish
from robot_dynamics.compiler.native.ir import Code, SimdType, argument
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

    def __init__(
        self,
        code: Code,
        lanes: SimdType,
        address: str,
        length: int,
        check: FiniteCheck | None = None,
    ) -> None:
        self.code = code
        self.lanes = lanes
        self.address = address
        self.length = length
        self.check = check
        most = min(_CHUNK_BYTES // lanes.bytes, lanes.width, max(1, length))
        self.piece = SimdType(lanes.scalar, 1 << (most.bit_length() - 1))
        self._columns: dict[int, str] = {}

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


# -- the kernels ----------------------------------------------------------------------------------

_MOST_STACK_BYTES = 65_536  # bytes; threads of some platforms have little


def batch_functions(program: Program, lanes: SimdType, host: Host, finite: bool) -> list[str]:
    """Write `block`, `remainder` and `batch`.

    Both take a list of addresses: inputs first, then outputs.

        i1  block(addresses)               W samples; true if an input is not finite, and then
                                           nothing is written
        i64 batch(count, addresses, steps) `count` samples; steps are what the address of every
                                           input grows by from block to block, in bytes; returns
                                           the number of samples done

    Args:
        program: The equations.
        lanes: Type and number of samples that a block holds.
        host: The machine.
        finite: Check inputs.
    """
    sizes = {name: math.prod(shape) for name, shape in program.inputs.items()}
    results = {name: math.prod(output.shape) for name, output in program.outputs.items()}
    return [
        exact_functions(lanes, host.typed_pointers),
        _block(program, lanes, host, sizes, results, finite),
        _remainder(lanes, host, sizes, results),
        _batch(lanes, host, sizes, results),
    ]


def _block(
    program: Program,
    lanes: SimdType,
    host: Host,
    sizes: dict[str, int],
    results: dict[str, int],
    finite: bool,
) -> str:
    code = Code(host.typed_pointers)
    check = FiniteCheck(code, lanes) if finite else None
    rows = {
        name: SampleRows(code, lanes, argument(name), size, check) for name, size in sizes.items()
    }
    outputs = emit_body(
        code,
        program,
        lanes,
        Values(lambda name, i: rows[name].column(i)),
        lambda code, angles: sine_cosine(code, lanes, angles, host.fused),
        lambda code, points: [arctangent(code, lanes, *point, host.fused) for point in points],
    )
    if check:
        for name, size in sizes.items():
            for i in range(size):
                rows[name].column(i)  # loads what the equations do not use
        bad = check.failed()
        code.branch_rarely(bad, "refuse", "write")
        code.label("refuse")
        code.do("ret i1 true")
        code.label("write")
    for name, values in outputs.items():
        SampleRows(code, lanes, argument(name), results[name]).store(values)
    code.do("ret i1 false")
    parameters = ", ".join(f"i64 {argument(name)}" for name in (*sizes, *results))
    return code.function(f"define internal i1 @block({parameters})", "noinline")


def _remainder(lanes: SimdType, host: Host, sizes: dict[str, int], results: dict[str, int]) -> str:
    """Write `i1 remainder(count, addresses)`: fewer samples than a block, beside the arrays."""
    code = Code(host.typed_pointers)
    sample = {name: size * lanes.bytes for name, size in {**sizes, **results}.items()}
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
    for name in sizes:
        code.fill(spare[name], str(lanes.width * sample[name]))
        length = code.let(f"mul i64 %count, {sample[name]}")
        code.copy(spare[name], argument(name), length)
    bad = code.let(f"call i1 @block({', '.join(f'i64 {spare[name]}' for name in sample)})")
    code.branch_rarely(bad, "finished", "deliver")
    code.label("deliver")
    for name in results:
        length = code.let(f"mul i64 %count, {sample[name]}")
        code.copy(argument(name), spare[name], length)
    code.do("br label %finished")
    code.label("finished")
    if not on_stack:
        code.do(f"call void @free(i64 {start})")
    code.do(f"ret i1 {bad}")
    parameters = ", ".join(f"i64 {argument(name)}" for name in sample)
    signature = f"define internal i1 @remainder(i64 %count, {parameters})"
    return code.function(signature, "noinline")


def _batch(lanes: SimdType, host: Host, sizes: dict[str, int], results: dict[str, int]) -> str:
    """Write the loop over blocks."""
    code = Code(host.typed_pointers)
    width, everything = lanes.width, {**sizes, **results}
    step = {name: f"%step.{name}" for name in sizes}
    step |= {name: str(width * size * lanes.bytes) for name, size in results.items()}
    here = ", ".join(f"i64 %here.{name}" for name in everything)
    code.do("br label %next")
    code.label("next")
    code.do("%done = phi i64 [ 0, %entry ], [ %done.next, %advance ]")
    for name in everything:
        start = argument(name)
        code.do(f"%here.{name} = phi i64 [ {start}, %entry ], [ %next.{name}, %advance ]")
    left = code.let("sub i64 %count, %done")
    code.branch(code.let(f"icmp uge i64 {left}, {width}"), "whole", "rest")

    code.label("whole")
    code.branch_rarely(code.let(f"call i1 @block({here})"), "refuse", "advance")
    code.label("advance")
    code.do(f"%done.next = add i64 %done, {width}")
    for name in everything:
        code.do(f"%next.{name} = add i64 %here.{name}, {step[name]}")
    code.do("br label %next")

    code.label("rest")
    code.branch(code.let(f"icmp eq i64 {left}, 0"), "finished", "part")
    code.label("part")
    bad = code.let(f"call i1 @remainder(i64 {left}, {here})")
    code.branch_rarely(bad, "refuse", "finished")
    code.label("refuse")
    code.do("ret i64 %done")
    code.label("finished")
    code.do("ret i64 %count")
    parameters = [f"i64 {argument(name)}" for name in everything]
    parameters += [f"i64 %step.{name}" for name in sizes]
    signature = f"define i64 @batch(i64 %count, {', '.join(parameters)})"
    return code.function(signature)


def batch_entry(
    inputs: Mapping[str, Shape],
    outputs: Mapping[str, Shape],
    lanes: SimdType,
    release_from: int,
    typed_pointers: bool,
) -> list[str]:
    """Write the entry of `batch`, on the calling thread and into new arrays.

    Args:
        inputs: Shape of one sample of every input.
        outputs: Shape of one sample of every output.
        lanes: Type and number of samples of a block.
        release_from: Number of samples from which on other Python threads may run meanwhile.
        typed_pointers: As in `Code`.
    """
    code = Code(typed_pointers)
    entry = EntryWriter(code, lanes.scalar)
    entry.require(code.equal("i64", "%nargs", str(len(inputs))))
    entry.require(code.equal("i64", "%kwnames", "0"))
    data = entry.check_inputs(inputs, batch=True)
    arrays = [entry.new_array(entry.count, shape) for shape in outputs.values()]
    results = entry.data_of(arrays)
    steps = [str(lanes.width * math.prod(s) * lanes.bytes) for s in inputs.values()]
    arguments = ", ".join(f"i64 {x}" for x in (entry.count, *data, *results, *steps))
    code.branch(code.let(f"icmp ult i64 {entry.count}, {release_from}"), "hold", "release")
    code.label("hold")
    code.do(f"%done.hold = call i64 @batch({arguments})")
    code.do("br label %done")
    code.label("release")
    state = code.let("call i64 @PyEval_SaveThread()")
    code.do(f"%done.release = call i64 @batch({arguments})")
    code.do(f"call void @PyEval_RestoreThread(i64 {state})")
    code.do("br label %done")
    code.label("done")
    done = code.let("phi i64 [ %done.hold, %hold ], [ %done.release, %release ]")
    entry.unless(code.equal("i64", done, entry.count), "drop")
    return finish(entry, arrays)
