"""The pieces that entries are written from, as LLVM text.

Whatever is unusual branches to the block `slow`, where the entry calls the Python
function instead: so an entry never refuses anything itself, and its rules are short.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import combinations

from robot_dynamics.compiler.graph.trace import Shape
from robot_dynamics.compiler.native.entry.native_entry import (
    ALIGNED,
    C_CONTIGUOUS,
    DATA,
    DESCR,
    DIMENSIONS,
    FLAGS,
    MOST_DIMENSIONS,
    NDIM,
    OBJECTS,
    REFERENCES,
    REMEMBERED,
    TUPLE_HASH,
    TUPLE_SIZE,
    TYPE,
    WRITEABLE,
)
from robot_dynamics.compiler.native.ir import Code, Lanes

TYPE_NUMBER = {"double": 12, "float": 11}  # NPY_DOUBLE, NPY_FLOAT


class EntryWriter:
    """Writes pieces of one entry into `code`."""

    def __init__(self, code: Code, scalar: str) -> None:
        self.code = code
        self.lanes = Lanes(scalar)
        self.constants: list[str] = []
        self.count = ""  # N of a batch
        self.scratch = code.stack("i64", MOST_DIMENSIONS)  # dimensions of a new array
        self.made: list[str] = []  # arrays
        self.failures: list[tuple[str, list[str]]] = []  # label, and what to drop there

    def object(self, name: str) -> str:
        """Address of one of the objects to compare with."""
        place = self.code.address_of("objects", f"[{len(OBJECTS)} x i64]")
        return self.code.load("i64", place, 8 * OBJECTS.index(name))

    def unless(self, condition: str, otherwise: str) -> None:
        """Go on if the condition holds, else to another block."""
        go_on = self.code.fresh("ok")
        self.code.branch(condition, go_on, otherwise)
        self.code.label(go_on)

    def require(self, condition: str) -> None:
        """Go on if the condition holds, else take the Python function."""
        self.unless(condition, "slow")

    def equal(self, kind: str, a: str, b: str) -> str:
        """Equality, i1."""
        return self.code.let(f"icmp eq {kind} {a}, {b}")

    def all(self, conditions: list[str]) -> str:
        """Conjunction, i1."""
        total = conditions[0]
        for c in conditions[1:]:
            total = self.code.let(f"and i1 {total}, {c}")
        return total

    def require_unshared(self, thing: str, kind: str) -> None:
        """Require an object of one of the types in `OBJECTS` that has a single reference."""
        self.require(self.equal("i64", self.code.load("i64", thing, TYPE), self.object(kind)))
        references = self.code.load("i32", thing, REFERENCES, align=4)
        self.require(self.equal("i32", references, "1"))

    def check_array(self, array: str, ndim: int, flags: int = 0) -> str:
        """Require a C-contiguous array of the right dtype; returns where its dimensions are."""
        code = self.code
        kind = code.load("i64", array, TYPE)
        self.require(self.equal("i64", kind, self.object("ndarray")))
        given = code.load("i32", array, FLAGS, align=4)
        wanted = C_CONTIGUOUS | ALIGNED | flags
        masked = code.let(f"and i32 {given}, {wanted}")
        dims = code.load("i32", array, NDIM, align=4)
        descr = code.load("i64", array, DESCR)
        self.require(
            self.all(
                [
                    self.equal("i32", masked, str(wanted)),
                    self.equal("i32", dims, str(ndim)),
                    self.equal("i64", descr, self.object("descr")),
                ]
            )
        )
        return code.load("i64", array, DIMENSIONS)

    def check_inputs(self, inputs: Mapping[str, Shape], batch: bool = False) -> list[str]:
        """Require good arrays of one number of samples; returns where their data are."""
        data = []
        for k, shape in enumerate(inputs.values()):
            array = self.code.load("i64", "%args", 8 * k)
            dimensions = self.check_array(array, len(shape) + batch)
            if batch:
                count = self.code.load("i64", dimensions)
                if self.count:
                    self.require(self.equal("i64", count, self.count))
                self.count = self.count or count
            self.check_shape(dimensions, shape, first=int(batch))
            data.append(self.code.load("i64", array, DATA))
        return data

    def check_shape(self, dimensions: str, shape: Shape, first: int = 0) -> None:
        """Require the dimensions from number `first` on to be those of one sample."""
        sizes = [
            self.equal("i64", self.code.load("i64", dimensions, 8 * (first + i)), str(size))
            for i, size in enumerate(shape)
        ]
        if sizes:
            self.require(self.all(sizes))

    def new_array(self, count: str, shape: Shape) -> str:
        """Make the array of a result, shape S or (N, *S)."""
        code = self.code
        if count:
            code.store("i64", count, self.scratch)
            for i, size in enumerate(shape):
                code.store("i64", str(size), self.scratch, 8 * (i + 1))
            dimensions, ndim = self.scratch, len(shape) + 1
        elif shape:
            name, kind = f"shape{len(self.constants)}", f"[{len(shape)} x i64]"
            sizes = ", ".join(f"i64 {size}" for size in shape)
            self.constants.append(f"@{name} = private constant {kind} [{sizes}]\n")
            dimensions, ndim = code.address_of(name, kind), len(shape)
        else:
            dimensions, ndim = "0", 0
        array = code.let(
            f"call i64 @PyArray_New(i64 {self.object('ndarray')}, i32 {ndim}, i64 {dimensions}, "
            f"i32 {TYPE_NUMBER[self.lanes.scalar]}, i64 0, i64 0, i32 0, i32 0, i64 0)"
        )
        self.fail_if_null(array)
        self.made.append(array)
        return array

    def fail_if_null(self, result: str) -> None:
        """Hand an exception of CPython on to the caller, after dropping the arrays made so far."""
        failed = self.code.fresh("failed")
        self.unless(self.code.let(f"icmp ne i64 {result}, 0"), failed)
        self.failures.append((failed, list(self.made)))

    def run_single(self, addresses: list[str], otherwise: str) -> None:
        """Run the kernel of one sample; go elsewhere if an input is not finite."""
        arguments = ", ".join(f"i64 {address}" for address in addresses)
        bad = self.code.let(f"call i32 @single({arguments})")
        self.unless(self.equal("i32", bad, "0"), otherwise)

    def arrays_of(self, things: str, outputs: Mapping[str, Shape]) -> list[str]:
        """The arrays of a result, of a list or of a tuple; for one output it is the array."""
        if len(outputs) == 1:
            return [things]
        return [
            self.code.let(f"call i64 @item(i64 {things}, i64 {i})") for i in range(len(outputs))
        ]

    def data_of(self, arrays: list[str]) -> list[str]:
        """Where the numbers of arrays lie."""
        return [self.code.load("i64", array, DATA) for array in arrays]

    def run_into(self, out: str, data: list[str], outputs: Mapping[str, Shape]) -> None:
        """Run the kernel into the arrays of the caller and return them."""
        code = self.code
        if len(outputs) > 1:
            kind = code.load("i64", out, TYPE)
            known = [self.equal("i64", kind, self.object(n)) for n in ("tuple", "list", "results")]
            either = code.let(f"or i1 {known[0]}, {known[1]}")
            self.require(code.let(f"or i1 {either}, {known[2]}"))
            size = code.load("i64", out, TUPLE_SIZE)
            self.require(self.equal("i64", size, str(len(outputs))))
        arrays = self.arrays_of(out, outputs)
        for array, shape in zip(arrays, outputs.values(), strict=True):
            self.check_shape(self.check_array(array, len(shape), WRITEABLE), shape)
        places = self.data_of(arrays)
        sizes = [math.prod(shape) * self.lanes.bytes for shape in outputs.values()]
        for (a, a_size), (b, b_size) in combinations(zip(places, sizes, strict=True), 2):
            a_end, b_end = code.let(f"add i64 {a}, {a_size}"), code.let(f"add i64 {b}, {b_size}")
            before, after = (
                code.let(f"icmp ule i64 {x}, {y}") for x, y in ((a_end, b), (b_end, a))
            )
            self.require(code.let(f"or i1 {before}, {after}"))
        self.run_single([*data, *places], otherwise="slow")
        for array in arrays:
            code.do(f"call void @Py_IncRef(i64 {array})")
        self.made = list(arrays)
        code.do(f"ret i64 {self.answer(arrays)}")
        self.made = []

    def reuse_result(self, data: list[str], outputs: Mapping[str, Shape]) -> None:
        """Run the kernel into a remembered result and return that, or go on if there is none."""
        code = self.code
        for number in range(REMEMBERED):
            use, go_on = code.fresh("use"), code.fresh("none")
            result = code.let(f"call i64 @reusable(i64 {number})")
            code.branch(code.let(f"icmp ne i64 {result}, 0"), use, go_on)
            code.label(use)
            arrays = self.arrays_of(result, outputs)
            self.run_single([*data, *self.data_of(arrays)], otherwise="slow")
            code.do(f"call void @Py_IncRef(i64 {result})")
            code.do(f"ret i64 {result}")
            code.label(go_on)

    def answer(self, arrays: list[str]) -> str:
        """What a call returns, owning the arrays: the only one, or a named tuple."""
        if len(arrays) == 1:
            return arrays[0]
        code, kind = self.code, self.object("results")
        answer = code.let(f"call i64 @PyType_GenericAlloc(i64 {kind}, i64 {len(arrays)})")
        self.fail_if_null(answer)
        if TUPLE_HASH:
            code.store("i64", "-1", answer, TUPLE_HASH)
        for i, array in enumerate(arrays):
            code.let(f"call i32 @PyTuple_SetItem(i64 {answer}, i64 {i}, i64 {array})")
        return answer

    def remember(self, result: str) -> None:
        """Remember a result in place of the older one."""
        code = self.code
        place = code.address_of("newest", "i64")
        number = code.let("xor i64 1, " + code.load("i64", place))
        code.store("i64", number, place)
        code.do(f"call void @Py_IncRef(i64 {result})")
        remembered = self.object("remembered")
        code.let(f"call i32 @PyList_SetItem(i64 {remembered}, i64 {number}, i64 {result})")
