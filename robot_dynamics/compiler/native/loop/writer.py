"""A loop over time as LLVM text; `loop_steps` defines its steps.

    run(memory, first, last, mask, record, rings...)    one block, steps first to last - 1

`memory` is the address of the block's arrays, `mask` the depth of every ring less one, `record`
the address of the record, or 0.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from robot_dynamics.compiler.graph.expression import Expression
from robot_dynamics.compiler.graph.operations import INPUT
from robot_dynamics.compiler.graph.trace import Program, use_counts
from robot_dynamics.compiler.native.ir import REALIGNED, Code, SimdType, any_lane
from robot_dynamics.compiler.native.llvm import Host
from robot_dynamics.compiler.native.loop.loop_steps import (
    LookUp,
    Normals,
    Recall,
    Record,
    Remember,
    Repeat,
    RunProgram,
    Step,
    When,
    nested,
    rings_of,
)
from robot_dynamics.compiler.native.loop.normals import normal_values
from robot_dynamics.compiler.native.program_ir import Values, emit_body
from robot_dynamics.compiler.native.trigonometry import arctangent, exact_functions, sine_cosine


class LoopWriter:
    """Writes `run` and the functions that it calls.

    Args:
        sizes: Number of entries of every array, in the order of memory.
        steps: Steps of the loop.
        lanes: Type of doubles.
        host: The target machine.

    Raises:
        ShapeError: See `rings_of`.
    """

    def __init__(
        self, sizes: Mapping[str, int], steps: tuple[Step, ...], lanes: SimdType, host: Host
    ) -> None:
        self.sizes, self.steps, self.lanes, self.host = dict(sizes), steps, lanes, host
        self.bytes = lanes.width * lanes.bytes
        self.offsets: dict[str, int] = {}
        at = 0
        for name, size in sizes.items():
            self.offsets[name] = at
            at += size * self.bytes
        self.rings = rings_of(steps, sizes)
        self._shared = {s.target for s in nested(steps) if isinstance(s, LookUp) and s.shared}
        self._functions: list[str] = []
        self._recorded = 0  # bytes of the record of one step, so far
        self._code = Code(host.typed_pointers)

    def functions(self) -> list[str]:
        """Return the text of all functions."""
        code = self._code
        code.do("br label %next")
        code.label("next")
        code.do("%k = phi i64 [ %first, %entry ], [ %k.next, %again ]")
        code.do("%record.here = phi i64 [ %record, %entry ], [ %record.next, %again ]")
        code.branch(code.let("icmp slt i64 %k, %last"), "step", "finished")
        code.label("step")
        self._write(self.steps)
        code.do("br label %again")
        code.label("again")
        code.do("%k.next = add i64 %k, 1")
        grown = code.let(f"add i64 %record.here, {self._recorded}")
        wanted = code.let("icmp ne i64 %record, 0")
        code.do(f"%record.next = select i1 {wanted}, i64 {grown}, i64 0")
        code.do("br label %next")
        code.label("finished")
        code.do("ret void")
        rings = "".join(f", i64 %ring.{name}" for name in self.rings)
        signature = (
            f"define void @run(i64 %memory, i64 %first, i64 %last, i64 %mask, i64 %record{rings})"
        )
        exact = exact_functions(self.lanes, self.host.typed_pointers)
        return [exact, *self._functions, code.function(signature)]

    def _write(self, steps: Iterable[Step]) -> None:
        for step in steps:
            if isinstance(step, (RunProgram, Normals)):
                self._call(step)
            elif isinstance(step, When):
                with self._code.when(self._positive(step.array)):
                    self._write(step.body)
            elif isinstance(step, Repeat):
                with self._code.rounds(str(step.most), partial(self._positive, step.array)):
                    self._write(step.body)
            elif isinstance(step, Remember):
                self._remember(step)
            elif isinstance(step, Recall):
                self._recall(step)
            elif isinstance(step, LookUp):
                self._look_up(step)
            else:
                self._record(step)

    # -- straight-line steps, each a function of its own -----------------------------------------

    def _call(self, step: RunProgram | Normals) -> None:
        name = f"stage_{len(self._functions)}"
        code = Code(self.host.typed_pointers)
        if isinstance(step, RunProgram):
            self._program(code, step)
        else:
            self._normals(code, step)
        code.do("ret void")
        rows = "".join(f", i64 %row.{target}" for target in sorted(self._shared))
        signature = f"define internal void @{name}(i64 %memory{rows})"
        self._functions.append(code.function(signature, f"noinline {REALIGNED}"))
        self._code.do(f"call void @{name}(i64 %memory{rows})")

    def _program(self, code: Code, step: RunProgram) -> None:
        lanes, fused = self.lanes, self.host.fused
        values = MemoryValues(
            step.program,
            step.writes,
            lambda name, i: self._load(code, name, i),
            lambda name, i, value: self._store(code, name, i, value),
        )
        emit_body(
            code,
            step.program,
            lanes,
            values,
            lambda code, angles: sine_cosine(code, lanes, angles, fused),
            lambda code, points: [arctangent(code, lanes, *point, fused) for point in points],
        )
        values.finish(step.program)

    def _normals(self, code: Code, step: Normals) -> None:
        count, whole = self.sizes[step.target], self.lanes.integer
        count += count % 2
        key = code.let(f"bitcast {self.lanes.type} {self._load(code, step.key)} to {whole}")
        turn = self._load(code, step.turn)
        turns = code.let(f"fptosi {self.lanes.type} {turn} to {whole}")
        first = code.let(f"mul {whole} {turns}, {self.lanes.whole(count)}")
        values = normal_values(code, self.lanes, key, first, count, self.host.fused)
        for i in range(self.sizes[step.target]):
            self._store(code, step.target, i, values[i])

    # -- conditions --------------------------------------------------------------------------------

    def _positive(self, array: str) -> str:
        """Return true (i1) if the only entry of an array is positive in any SIMD lane."""
        code, lanes = self._code, self.lanes
        x = self._load(code, array)
        flags = code.let(f"fcmp ogt {lanes.type} {x}, {lanes.number(0.0)}")
        return any_lane(code, lanes, flags)

    # -- the past, tables and records ------------------------------------------------------------

    def _entries(self, arrays: Iterable[str]) -> Iterator[tuple[str, int]]:
        for name in arrays:
            for i in range(self.sizes[name]):
                yield name, i

    def _remember(self, step: Remember) -> None:
        code = self._code
        length = sum(self.sizes[name] for name in step.arrays) * self.bytes
        place = code.let("and i64 %k, %mask")
        offset = code.let(f"mul i64 {place}, {length}")
        start = code.let(f"add i64 %ring.{step.ring}, {offset}")
        for j, (name, i) in enumerate(self._entries(step.arrays)):
            value = self._load(code, name, i)
            code.store(self.lanes.type, value, start, j * self.bytes, self.bytes)

    def _recall(self, step: Recall) -> None:
        code, lanes, whole = self._code, self.lanes, self.lanes.integer
        kept = self.rings[step.ring]
        length = sum(self.sizes[name] for name in kept) * self.bytes
        delay = code.let(f"fptosi {lanes.type} {self._load(code, step.delay)} to {whole}")
        starts = []
        for lane in range(lanes.width):
            wanted = code.let(f"sub i64 %k, {self._lane(delay, lane, 'i64')}")
            past = code.let(f"icmp sgt i64 {wanted}, 0")
            there = code.let(f"select i1 {past}, i64 {wanted}, i64 0")
            place = code.let(f"and i64 {there}, %mask")
            offset = code.let(f"mul i64 {place}, {length}")
            start = code.let(f"add i64 %ring.{step.ring}, {offset}")
            starts.append(code.let(f"add i64 {start}, {lane * lanes.bytes}"))
        for j, (name, i) in enumerate(self._entries(step.targets)):
            self._store(code, name, i, self._gather(starts, j * self.bytes))

    def _look_up(self, step: LookUp) -> None:
        code, lanes = self._code, self.lanes
        length = self.sizes[step.target] * lanes.bytes
        if step.shared:
            first = code.load("i64", "%memory", self.offsets[step.row])
            offset = code.let(f"mul i64 %k, {length}")
            code.do(f"%row.{step.target} = add i64 {first}, {offset}")
            return
        row = code.let(f"bitcast {lanes.type} {self._load(code, step.row)} to {lanes.integer}")
        offset = code.let(f"mul i64 %k, {length}")
        starts = [
            code.let(f"add i64 {self._lane(row, lane, 'i64')}, {offset}")
            for lane in range(lanes.width)
        ]
        alike = "true"
        for start in starts[1:]:
            same = code.let(f"icmp eq i64 {start}, {starts[0]}")
            alike = code.let(f"and i1 {alike}, {same}")
        shared, own, after = (code.fresh(stem) for stem in ("shared", "own", "after"))
        code.branch(alike, shared, own)
        for label, rows in ((shared, starts[:1]), (own, starts)):
            code.label(label)
            for i in range(self.sizes[step.target]):
                value = self._gather(rows, i * lanes.bytes)
                self._store(code, step.target, i, value)
            code.do(f"br label %{after}")
        code.label(after)

    def _record(self, step: Record) -> None:
        code = self._code
        with code.when(code.let("icmp ne i64 %record.here, 0")):
            for name, i in self._entries(step.arrays):
                value = self._load(code, name, i)
                code.store(self.lanes.type, value, "%record.here", self._recorded, 8)
                self._recorded += self.bytes

    # -- vectors ---------------------------------------------------------------------------------

    def _load(self, code: Code, array: str, i: int = 0) -> str:
        if array in self._shared:
            return self._broadcast(code, code.load("double", f"%row.{array}", i * self.lanes.bytes))
        offset = self.offsets[array] + i * self.bytes
        return code.load(self.lanes.type, "%memory", offset, self.bytes)

    def _store(self, code: Code, array: str, i: int, value: str) -> None:
        offset = self.offsets[array] + i * self.bytes
        code.store(self.lanes.type, value, "%memory", offset, self.bytes)

    def _broadcast(self, code: Code, x: str) -> str:
        """Broadcast a double to all SIMD lanes."""
        lanes = self.lanes
        if lanes.width == 1:
            return x
        vector = code.let(f"insertelement {lanes.type} undef, double {x}, i32 0")
        places = ", ".join(["i32 0"] * lanes.width)
        return code.let(
            f"shufflevector {lanes.type} {vector}, {lanes.type} undef, "
            f"<{lanes.width} x i32> <{places}>"
        )

    def _lane(self, vector: str, lane: int, scalar: str) -> str:
        if self.lanes.width == 1:
            return vector
        return self._code.let(f"extractelement {self.lanes.of(scalar)} {vector}, i32 {lane}")

    def _gather(self, starts: list[str], offset: int) -> str:
        """Load one double per SIMD lane; a single start address serves all lanes."""
        code, lanes = self._code, self.lanes
        loaded = [code.load("double", start, offset) for start in starts]
        if lanes.width == 1:
            return loaded[0]
        vector = "undef"
        for lane in range(lanes.width):
            x = loaded[min(lane, len(loaded) - 1)]
            vector = code.let(f"insertelement {lanes.type} {vector}, double {x}, i32 {lane}")
        return vector


# -- inputs and outputs in memory ------------------------------------------------------------------

# The compiler would spill a value that no register can hold until its next use. Inputs and outputs
# have their own place in memory: they are loaded from there at each use and stored when known.

NEAR = 24
"""Operations for which a loaded value is reused before it is loaded again (of 32 registers)."""

Place = tuple[str, int]
"""Array and index of an entry."""


class MemoryValues(Values):
    """Values of one program.

    Args:
        program: The equations.
        writes: Array of an output, by name of the output, where the names differ.
        load: Writes the load of an entry.
        store: Writes the store of a value to an entry.
    """

    def __init__(
        self,
        program: Program,
        writes: Mapping[str, str],
        load: Callable[[str, int], str],
        store: Callable[[str, int, str], None],
    ) -> None:
        super().__init__(load)
        self._load, self._store, self._count = load, store, 0
        self._home: dict[int, Place] = {}
        self._loaded_at: dict[int, int] = {}
        self._uses = use_counts(program)
        self._inputs = {node.value: node.index for node in program.nodes if node.op == INPUT}
        self._targets: dict[int, list[Place]] = defaultdict(list)
        for name, output in program.outputs.items():
            for i, entry in enumerate(output.entries):
                self._targets[entry.index].append((writes.get(name, name), i))

    def enter(self, node: Expression) -> None:
        """See `Values`; an input is loaded where it is used."""
        self._home[node.index], self.known[node.index] = node.value, ""

    def define(self, node: Expression, name: str) -> None:
        """See `Values`; an output is stored once the input at its place has no further use."""
        super().define(node, name)
        self._count += 1
        for place in list(self._targets.get(node.index, ())):
            if self._uses.get(self._inputs.get(place, -1), 0) == 0:
                self._store(*place, name)
                self._targets[node.index].remove(place)
                self._home[node.index], self._loaded_at[node.index] = place, self._count

    def use(self, node: Expression) -> str:
        """See `Values`."""
        self._uses[node.index] -= 1
        return self.result(node)

    def result(self, node: Expression) -> str:
        """See `Values`."""
        k, last = node.index, self._loaded_at.get(node.index)
        if k in self._home and (last is None or self._count - last > NEAR):
            self.known[k], self._loaded_at[k] = self._load(*self._home[k]), self._count
        return self.known[k]

    def finish(self, program: Program) -> None:
        """Store the remaining outputs."""
        nodes = {e.index: e for output in program.outputs.values() for e in output.entries}
        waiting = [
            (place, self.result(nodes[k])) for k, left in self._targets.items() for place in left
        ]
        for place, name in waiting:
            self._store(*place, name)
