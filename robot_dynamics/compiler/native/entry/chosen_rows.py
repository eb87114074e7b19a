"""An entry whose results hold some rows of a kernel's outputs, beside objects that Python made.

A kernel computes all rows. The entry copies those that count into new arrays, and puts them into a
named tuple. Its other items depend on the choice of rows alone, and on whether the call is special:
they come from a table that Python fills. The result of a special call also holds the inputs.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from robot_dynamics.compiler.graph.trace import Shape
from robot_dynamics.compiler.kernel import RowChoice
from robot_dynamics.compiler.native import cache, llvm
from robot_dynamics.compiler.native.entry import native_entry as python
from robot_dynamics.compiler.native.entry.entry_code import (
    ENTRY_PARAMETERS,
    EntryWriter,
    declarations,
)
from robot_dynamics.compiler.native.ir import Code, SimdType, module, number_text

MOST_ROWS = 8
"""The table has an item per choice: of each row 0, 1 or 2, see `CompiledRowEntry.remember`."""


class CompiledRowEntry:
    """The entry of one kernel.

    Args:
        kernels: Code of the kernel for one sample, "single", and of `RowChoice.error` and `repair`;
            they live as long as the entry.
        inputs: Its inputs.
        outputs: Its outputs.
        choice: The rows.
        signature: Name and parameters that the function shows.
        text: Its docstring.
        unusual: Takes the calls that the entry does not, and those with a new choice of rows.

    Attributes:
        function: The builtin function.
    """

    def __init__(
        self,
        kernels: Mapping[str, llvm.Loaded],
        inputs: Mapping[str, Shape],
        outputs: Mapping[str, Shape],
        choice: RowChoice,
        signature: str,
        text: str,
        unusual: Callable[..., Any],
    ) -> None:
        rows = outputs[choice.measure][0]
        ir = _module(inputs, outputs, choice, llvm.host().typed_pointers)
        imports = python.imports() | {name: x.address("single") for name, x in kernels.items()}
        code = cache.object_code("chosen rows", ir)
        self._code = llvm.Loaded(code, ["call", "objects", "table"], imports)
        self._table = (ctypes.c_int64 * (2 * 3**rows)).from_address(self._code.address("table"))
        self._code.kept += [None] * max(python.REMEMBERED) + [kernels]
        self._results = choice.results
        self.function = self.bound(signature, text, unusual)

    def bound(self, signature: str, text: str, unusual: Callable[..., Any]) -> Callable[..., Any]:
        """Return a builtin function for the calls of this entry; see `CompiledRowEntry`."""
        about = signature, text, "double", unusual, self._results
        return python.builtin_function(self._code, *about)

    def remember(self, digits: list[int], special: bool, items: tuple[Any, ...]) -> None:
        """Set the items of results with a choice of rows.

        Args:
            digits: For each row 0 if it is left out, 2 if it is flagged, else 1.
            special: Whether these are the results of special calls.
            items: The items; those of `RowChoice.fields` are not used, and in a special call not
                that of `RowChoice.inputs`.
        """
        self._code.kept.append(items)
        key = sum(digit * 3**k for k, digit in enumerate([*digits, special]))
        self._table[key] = id(items)


def _gather(entry: EntryWriter, array: str, shape: Shape, target: str) -> None:
    """Copy an array of float64 or float32, of any strides, to consecutive places."""
    code = entry.code
    kind = code.load("i64", array, python.TYPE)
    entry.require(code.equal("i64", kind, entry.object("ndarray")))
    flags = code.load("i32", array, python.FLAGS, align=4)
    aligned = code.let(f"and i32 {flags}, {python.ALIGNED}")
    entry.require(code.let(f"icmp ne i32 {aligned}, 0"))
    ndim = code.load("i32", array, python.NDIM, align=4)
    entry.require(code.equal("i32", ndim, str(len(shape))))
    entry.check_shape(code.load("i64", array, python.DIMENSIONS), shape)
    descr, data = (code.load("i64", array, field) for field in (python.DESCR, python.DATA))
    places = code.load("i64", array, python.STRIDES)
    strides = [code.load("i64", places, 8 * axis) for axis in range(len(shape))]
    double, other, single, copied = (code.fresh(x) for x in ("double", "other", "float", "copied"))
    code.branch(code.equal("i64", descr, entry.object("descr")), double, other)
    code.label(other)
    code.branch(code.equal("i64", descr, entry.object("float32")), single, "slow")
    for label, scalar in ((double, "double"), (single, "float")):
        code.label(label)
        for number, indices in enumerate(np.ndindex(*shape)):
            at = data
            for index, step in zip(indices, strides, strict=True):
                at = code.let(f"add i64 {at}, " + code.let(f"mul i64 {step}, {index}"))
            value = code.load(scalar, at, align=4)
            if scalar == "float":
                value = code.let(f"fpext float {value} to double")
            code.store("double", value, target, 8 * number)
        code.do(f"br label %{copied}")
    code.label(copied)


def _chosen(
    code: Code, buffers: Mapping[str, str], choice: RowChoice, s: int, special: str
) -> tuple[list[str], str]:
    """Return whether each of s rows is returned, i1, and where the table has their items."""
    returned: list[str] = []
    key = code.let(f"select i1 {special}, i64 {3**s}, i64 0")
    limit, one = (number_text(x, "double") for x in (choice.limit, 1.0))
    for i in range(s):
        measure, flag = (
            code.load("double", buffers[x], 8 * i) for x in (choice.measure, choice.flag)
        )
        returned.append(code.let(f"fcmp ole double {measure}, {limit}"))
        flagged = code.let(f"fcmp oeq double {flag}, {one}")
        digit = code.let(f"select i1 {flagged}, i64 {2 * 3**i}, i64 {3**i}")
        part = code.let(f"select i1 {returned[i]}, i64 {digit}, i64 0")
        key = code.let(f"add i64 {key}, {part}")
    return returned, key


def _rows(
    entry: EntryWriter,
    outputs: Mapping[str, Shape],
    buffers: Mapping[str, str],
    choice: RowChoice,
    returned: list[str],
) -> dict[str, str]:
    """Copy the rows that are returned into new arrays; return the array of each field."""
    code, numbers = entry.code, ["0"]
    for one in returned:
        numbers.append(code.let(f"add i64 {numbers[-1]}, " + code.let(f"zext i1 {one} to i64")))
    entry.count = numbers[-1]
    shapes = {field: outputs[output][1:] for field, output in choice.fields.items()}
    arrays = {field: entry.new_array(shape) for field, shape in shapes.items()}
    targets = entry.data_of(list(arrays.values()))
    for i, one in enumerate(returned):
        with code.when(one):
            for target, (field, output) in zip(targets, choice.fields.items(), strict=True):
                size = 8 * math.prod(shapes[field])
                to = code.let(f"add i64 {target}, " + code.let(f"mul i64 {numbers[i]}, {size}"))
                code.copy(to, code.let(f"add i64 {buffers[output]}, {i * size}"), str(size))
    return arrays


def _module(
    inputs: Mapping[str, Shape],
    outputs: Mapping[str, Shape],
    choice: RowChoice,
    typed_pointers: bool,
) -> str:
    """Write the module; its function `call` is as that of `single_entry`."""
    code = Code(typed_pointers)
    entry = EntryWriter(code, "double", many=True)
    buffers = {name: code.stack("double", math.prod(s)) for name, s in outputs.items()}
    sizes = [math.prod(shape) for shape in inputs.values()]
    own, bytes_of_own = code.stack("double", sum(sizes)), 8 * sum(sizes)
    repaired, error = code.stack("double", sizes[0]), code.stack("double", 1)
    kept = code.stack("i64", 1)

    # the inputs, one after the other
    entry.require(code.equal("i64", "%nargs", str(len(inputs))))
    entry.require(code.equal("i64", "%kwnames", "0"))
    data = [code.let(f"add i64 {own}, {8 * sum(sizes[:k])}") for k in range(len(sizes))]
    for k, (target, shape) in enumerate(zip(data, inputs.values(), strict=True)):
        _gather(entry, code.load("i64", "%args", 8 * k), shape, target)
    code.let(f"call i32 @error(i64 {data[0]}, i64 {error})")
    exact = f"fcmp olt double {code.load('double', error)}, {number_text(choice.exact, 'double')}"
    code.branch(code.let(exact), "compute", "repair")
    code.label("repair")
    code.let(f"call i32 @repair(i64 {data[0]}, i64 {repaired})")
    code.copy(data[0], repaired, str(8 * sizes[0]))
    code.do("br label %compute")

    # all rows
    code.label("compute")
    entry.require(entry.run_single([*data, *buffers.values()]))
    verdict = code.load("double", buffers[choice.verdict])
    ordinary = code.let(f"fcmp oge double {verdict}, 0.0")
    special = code.let(f"fcmp oeq double {verdict}, {number_text(choice.special, 'double')}")
    entry.require(code.let(f"or i1 {ordinary}, {special}"))
    s = outputs[choice.measure][0]
    returned, key = _chosen(code, buffers, choice, s, special)
    table = f"[{2 * 3**s} x i64]"
    place = code.let(f"add i64 {code.address_of('table', table)}, " + code.let(f"shl i64 {key}, 3"))
    items = code.load("i64", place)
    entry.require(code.let(f"icmp ne i64 {items}, 0"))
    fields: tuple[str, ...] = choice.results._fields  # type: ignore[attr-defined]

    def shared(field: str) -> str:
        item = code.let(f"call i64 @PyTuple_GetItem(i64 {items}, i64 {fields.index(field)})")
        code.do(f"call void @Py_IncRef(i64 {item})")
        return item

    # the result
    code.branch(special, "special", "ordinary")
    code.label("special")
    copy = code.let(f"call i64 @PyBytes_FromStringAndSize(i64 {own}, i64 {bytes_of_own})")
    code.store("i64", copy, kept)
    code.do("br label %result")
    code.label("ordinary")
    code.store("i64", shared(choice.inputs), kept)
    code.do("br label %result")
    code.label("result")
    made = {choice.inputs: code.load("i64", kept)}
    entry.fail_if_null(made[choice.inputs])
    entry.made.append(made[choice.inputs])
    made |= _rows(entry, outputs, buffers, choice, returned)

    def item(k: int) -> str:
        return made.get(fields[k]) or shared(fields[k])

    code.do(f"ret i64 {entry.named_tuple(len(fields), item)}")
    code.label("slow")
    code.do(f"%answer = call i64 @PyObject_Vectorcall({ENTRY_PARAMETERS})")
    code.do("ret i64 %answer")
    entry.write_failures()
    kernel = ", ".join(["i64"] * (len(inputs) + len(outputs)))
    parts = [
        f"declare i32 @single({kernel})\n",
        "declare i32 @error(i64, i64)\n",
        "declare i32 @repair(i64, i64)\n",
        f"@table = global {table} zeroinitializer\n",
        *declarations(),
        *entry.constants,
        code.function(f"define i64 @call({ENTRY_PARAMETERS})"),
    ]
    return module(parts, [SimdType("double")], typed_pointers)
