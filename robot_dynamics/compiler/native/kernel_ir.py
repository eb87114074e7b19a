"""The modules of a kernel as LLVM text: one sample, many samples, and their entries."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import starmap

from robot_dynamics.compiler.graph.expression import Expression, constant_value
from robot_dynamics.compiler.graph.packing import Pack, Packing, find_packs
from robot_dynamics.compiler.graph.trace import Program, Shape
from robot_dynamics.compiler.native.arctangent import packed_arctangent
from robot_dynamics.compiler.native.batch import batch_entry, batch_functions
from robot_dynamics.compiler.native.entry import native_entry
from robot_dynamics.compiler.native.entry.entry_code import single_entry
from robot_dynamics.compiler.native.ir import Code, SimdType, argument, module
from robot_dynamics.compiler.native.llvm import Host
from robot_dynamics.compiler.native.packed_values import PackedValues
from robot_dynamics.compiler.native.program_ir import FiniteCheck, Values, emit_body
from robot_dynamics.compiler.native.sincos import exact_functions, packed_sine_cosine


def single_ir(program: Program, host: Host, finite: bool, scalar: str, at_once: bool) -> str:
    """Write the module for one sample.

    Args:
        program: The equations.
        host: The target machine.
        finite: Refuse NaN and infinity in arguments.
        scalar: "double" or "float".
        at_once: Store results as soon as they are known.
    """
    functions = single_functions(program, host, finite, scalar, at_once)
    if native_entry.available():
        shapes = _shapes(program)
        functions += single_entry(program.inputs, shapes, scalar, host.typed_pointers)
    lanes = SimdType(scalar), SimdType(scalar, host.lanes(scalar))
    return module(functions, lanes, host.typed_pointers)


def batch_ir(program: Program, host: Host, finite: bool, scalar: str, release_from: int) -> str:
    """Write the module for many samples.

    Args:
        program: The equations.
        host: The target machine.
        finite: Refuse NaN and infinity in arguments.
        scalar: "double" or "float".
        release_from: Number of samples from which the entry releases the global lock.
    """
    lanes = SimdType(scalar, host.lanes(scalar))
    functions = batch_functions(program, lanes, host, finite)
    if native_entry.available():
        shapes = _shapes(program)
        functions += batch_entry(program.inputs, shapes, lanes, release_from, host.typed_pointers)
    return module(functions, [lanes], host.typed_pointers)


def _shapes(program: Program) -> dict[str, Shape]:
    return {name: output.shape for name, output in program.outputs.items()}


def single_functions(
    program: Program, host: Host, finite: bool, scalar: str = "double", at_once: bool = False
) -> list[str]:
    """Write `i32 single(addresses of inputs, then of outputs)`.

    It reads every input before it writes an output, so an output may share memory with an input.
    With `finite`, it returns 1 and writes nothing if an input is not finite.

    Args:
        program: The equations.
        host: The target machine.
        finite: Check inputs.
        scalar: Type of numbers, "double" or "float".
        at_once: Store results as soon as they are known, so that those of a large matrix do not
            stay on the stack until the end.
    """
    lanes, width = SimdType(scalar), host.lanes(scalar)
    code = Code(host.typed_pointers)

    def load(name: str, i: int) -> str:
        return code.load(lanes.type, argument(name), i * lanes.bytes, lanes.bytes)

    packing = find_packs(program, width)
    values: Values
    if at_once:
        inputs = {place: load(*place) for place in _places(program.inputs)}
        if finite:
            _refuse_non_finite(code, lanes, inputs.values())
        values = _WrittenValues(program, packing, inputs, code, lanes, width)
    else:
        values = PackedValues(load, code, lanes, packing) if packing.packs else Values(load)
    outputs = emit_body(
        code,
        program,
        lanes,
        values,
        lambda code, angles: packed_sine_cosine(code, lanes, width, angles, host.fused),
        lambda code, points: packed_arctangent(code, lanes, width, points, host.fused),
        packing,
    )
    if not at_once:
        if finite:
            _refuse_non_finite(code, lanes, starmap(load, _places(program.inputs)))
        for name, results in outputs.items():
            for i, value in enumerate(results):
                code.store(lanes.type, value, argument(name), i * lanes.bytes, lanes.bytes)
    code.do("ret i32 0")
    parameters = ", ".join(f"i64 {argument(name)}" for name in (*program.inputs, *program.outputs))
    types = dict.fromkeys([lanes, SimdType(scalar, width)])
    return [
        *(exact_functions(t, host.typed_pointers) for t in types),
        code.function(f"define i32 @single({parameters})", "nounwind"),
    ]


Place = tuple[str, int]
"""Array and flat index of an entry."""


def _places(shapes: Mapping[str, Shape]) -> list[Place]:
    return [(name, i) for name, shape in shapes.items() for i in range(math.prod(shape))]


def _refuse_non_finite(code: Code, lanes: SimdType, inputs: Iterable[str]) -> None:
    """Write code that returns 1 if an input is NaN or infinite."""
    check = FiniteCheck(code, lanes)
    for x in inputs:
        check.add(x)
    code.branch_rarely(check.failed(), "refuse", "write")
    code.label("refuse")
    code.do("ret i32 1")
    code.label("write")


class _WrittenValues(PackedValues):
    """Values that are stored to the outputs as soon as they are known; zeros several at a time.

    Args:
        program: The equations.
        packing: Packs of the program.
        inputs: Every input, loaded before the first store.
        code: Code of the function.
        lanes: Type of every value.
        width: Zeros to store at a time.
    """

    def __init__(
        self,
        program: Program,
        packing: Packing,
        inputs: Mapping[Place, str],
        code: Code,
        lanes: SimdType,
        width: int,
    ) -> None:
        super().__init__(lambda name, i: inputs[name, i], code, lanes, packing)
        self._width = width
        self._targets: dict[int, list[Place]] = defaultdict(list)
        for name, output in program.outputs.items():
            for i, entry in enumerate(output.entries):
                self._targets[entry.index].append((name, i))

    def enter(self, node: Expression) -> None:
        """See `Values`."""
        super().enter(node)
        self._write(node)

    def define(self, node: Expression, name: str) -> None:
        """See `Values`."""
        super().define(node, name)
        self._write(node)

    def define_pack(self, pack: Pack) -> None:
        """See `Values`."""
        super().define_pack(pack)
        for node in self._packing.with_negations(pack):
            self._write(node)

    def _write(self, node: Expression) -> None:
        targets = self._targets[node.index]
        most = self._width if constant_value(node) == 0.0 else 1
        while targets:
            name, first = targets[0]
            count = 1
            while targets[count : count + 1] == [(name, first + count)] and count < most:
                count += 1
            del targets[:count]
            side_by_side = SimdType(self._lanes.scalar, count)
            value = side_by_side.number(0.0) if count > 1 else self.use(node)
            place = first * side_by_side.bytes
            self._code.store(side_by_side.type, value, argument(name), place, side_by_side.bytes)
