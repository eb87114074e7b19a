"""LLVM text of the entry for one sample, and the parts that the entry for a batch shares.

An unusual argument branches to the block `slow`, which calls the Python function. An entry
itself refuses nothing, so its rules are short.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import combinations

from robot_dynamics.compiler.graph.trace import Shape
from robot_dynamics.compiler.native.entry import native_entry as python
from robot_dynamics.compiler.native.ir import Code, SimdType

# -- the entries --------------------------------------------------------------------------------


def single_entry(
    inputs: Mapping[str, Shape], outputs: Mapping[str, Shape], scalar: str, typed_pointers: bool
) -> list[str]:
    """Write the entry of `single`, the kernel of one sample of "double" or "float".

    It is `call(self, args, nargs, kwnames)`, a builtin function of CPython whose `self` is the
    Python function for unusual calls.
    """
    code = Code(typed_pointers)
    entry = EntryWriter(code, scalar)
    entry.require(code.equal("i64", "%nargs", str(len(inputs))))
    out = code.let("call i64 @find_out(i64 %args, i64 %nargs, i64 %kwnames)")
    entry.require(code.let(f"icmp ne i64 {out}, 0"))
    data = entry.check_inputs(inputs)
    code.branch(code.equal("i64", out, entry.object("none")), "fresh", "given")
    code.label("given")
    entry.run_into(out, data, outputs)
    code.label("fresh")
    entry.reuse_result(data, outputs)
    arrays = [entry.new_array("", shape) for shape in outputs.values()]
    entry.run_single([*data, *entry.data_of(arrays)], otherwise="drop")
    functions = finish(entry, arrays, remember=True)
    return [*_reusable(outputs, scalar, typed_pointers), _item(typed_pointers), *functions]


def _find_out(typed_pointers: bool) -> str:
    """Write `find_out`: the argument `out`, None if there is none, 0 for other keywords."""
    code = Code(typed_pointers)
    entry = EntryWriter(code, "double")
    none, out, threads = (entry.object(name) for name in ("none", "out", "threads"))
    values = code.let("add i64 %args, " + code.let("shl i64 %nargs, 3"))
    code.branch(code.equal("i64", "%kwnames", "0"), "plain", "keywords")
    code.label("plain")
    code.do(f"ret i64 {none}")
    code.label("keywords")
    size = code.load("i64", "%kwnames", python.TUPLE_SIZE)
    code.do("br label %next")
    code.label("next")
    code.do("%i = phi i64 [ 0, %keywords ], [ %i.next, %again ]")
    code.do(f"%found = phi i64 [ {none}, %keywords ], [ %found.next, %again ]")
    code.branch(code.let(f"icmp ult i64 %i, {size}"), "look", "finished")
    code.label("finished")
    code.do("ret i64 %found")
    code.label("look")
    name = code.let("call i64 @PyTuple_GetItem(i64 %kwnames, i64 %i)")
    value = code.load("i64", code.let(f"add i64 {values}, " + code.let("shl i64 %i, 3")))
    code.branch(code.equal("i64", name, out), "take", "other")
    code.label("take")
    code.do("br label %again")
    code.label("other")
    code.branch(code.equal("i64", name, threads), "count", "unknown")
    code.label("count")  # the Python function says what is no number of threads
    code.branch(code.equal("i64", value, none), "again", "unknown")
    code.label("again")
    code.do(f"%found.next = phi i64 [ {value}, %take ], [ %found, %count ]")
    code.do("%i.next = add i64 %i, 1")
    code.do("br label %next")
    code.label("unknown")
    code.do("ret i64 0")
    return code.function("define internal i64 @find_out(i64 %args, i64 %nargs, i64 %kwnames)")


def _item(typed_pointers: bool) -> str:
    """Write `item`: an entry of a list or of any kind of tuple."""
    code = Code(typed_pointers)
    entry = EntryWriter(code, "double")
    kind = code.load("i64", "%things", python.TYPE)
    code.branch(code.equal("i64", kind, entry.object("list")), "of_list", "of_tuple")
    for each, getter in (("of_list", "PyList_GetItem"), ("of_tuple", "PyTuple_GetItem")):
        code.label(each)
        code.do(f"ret i64 {code.let(f'call i64 @{getter}(i64 %things, i64 %i)')}")
    return code.function("define internal i64 @item(i64 %things, i64 %i)")


def _reusable(outputs: Mapping[str, Shape], scalar: str, typed_pointers: bool) -> list[str]:
    """Write `reusable`: a remembered result by number if it has no other reference, else 0."""
    code = Code(typed_pointers)
    entry = EntryWriter(code, scalar)
    result = code.let(f"call i64 @PyList_GetItem(i64 {entry.object('remembered')}, i64 %number)")
    if len(outputs) > 1:
        entry.require_unshared(result, "results")
    arrays = entry.arrays_of(result, outputs)
    for array, shape in zip(arrays, outputs.values(), strict=True):
        entry.require_unshared(array, "ndarray")
        weak = code.load("i64", array, python.WEAK_REFERENCES)
        entry.require(code.equal("i64", weak, "0"))
        flags = python.OWNS_DATA | python.WRITEABLE
        entry.check_shape(entry.check_array(array, len(shape), flags), shape)
    code.do(f"ret i64 {result}")
    code.label("slow")
    code.do("ret i64 0")
    return [code.function("define internal i64 @reusable(i64 %number)")]


def finish(entry: EntryWriter, arrays: list[str], remember: bool = False) -> list[str]:
    """Return the arrays; write the blocks for what went wrong, and the functions."""
    code, answer = entry.code, entry.answer(arrays)
    if remember:
        entry.remember(answer)
    code.do(f"ret i64 {answer}")
    code.label("drop")  # an input is not finite: the Python function says which
    for array in arrays:
        code.do(f"call void @Py_DecRef(i64 {array})")
    code.do("br label %slow")
    code.label("slow")
    arguments = "i64 %self, i64 %args, i64 %nargs, i64 %kwnames"
    following, none = entry.object("next"), entry.object("none")
    code.branch(code.equal("i64", following, none), "python", "following")
    code.label("following")
    others = arguments.replace("%self", following)
    code.do(f"%found = call i64 @PyObject_Vectorcall({others})")
    code.branch(code.equal("i64", "%found", none), "declined", "taken")
    code.label("taken")
    code.do("ret i64 %found")
    code.label("declined")
    code.do(f"call void @Py_DecRef(i64 {none})")
    code.do("br label %python")
    code.label("python")
    code.do(f"%answer = call i64 @PyObject_Vectorcall({arguments})")
    code.do("ret i64 %answer")
    entry.write_failures()
    find_out = _find_out(code.typed_pointers)
    return [
        *declarations(),
        "@newest = internal global i64 0\n",
        *entry.constants,
        find_out,
        code.function(f"define i64 @call({arguments})"),
    ]


def declarations() -> list[str]:
    """Write the functions that an entry calls and the objects that it compares with."""
    declared = [
        f"declare {result} @{name}({types})\n" for name, (result, types) in python.FUNCTIONS.items()
    ]
    return [*declared, f"@objects = global [{len(python.OBJECTS)} x i64] zeroinitializer\n"]


# -- the pieces that they are written from ------------------------------------------------------


TYPE_NUMBER = {"double": 12, "float": 11}  # NPY_DOUBLE, NPY_FLOAT


class EntryWriter:
    """Writes pieces of one entry into `code`."""

    def __init__(self, code: Code, scalar: str) -> None:
        self.code = code
        self.lanes = SimdType(scalar)
        self.constants: list[str] = []
        self.count = ""  # N of a batch
        self.scratch = code.stack("i64", python.MOST_DIMENSIONS)  # dimensions of a new array
        self.made: list[str] = []  # arrays
        self.failures: list[tuple[str, list[str]]] = []  # label, and what to drop there

    def object(self, name: str) -> str:
        """Address of one of the objects to compare with."""
        place = self.code.address_of("objects", f"[{len(python.OBJECTS)} x i64]")
        return self.code.load("i64", place, 8 * python.OBJECTS.index(name))

    def unless(self, condition: str, otherwise: str) -> None:
        """Go on if the condition holds, else to another block."""
        go_on = self.code.fresh("ok")
        self.code.branch(condition, go_on, otherwise)
        self.code.label(go_on)

    def require(self, condition: str) -> None:
        """Go on if the condition holds, else take the Python function."""
        self.unless(condition, "slow")

    def require_unshared(self, thing: str, kind: str) -> None:
        """Require an object of one of the types in `OBJECTS` that has a single reference."""
        self.require(
            self.code.equal("i64", self.code.load("i64", thing, python.TYPE), self.object(kind))
        )
        references = self.code.load("i32", thing, python.REFERENCES, align=4)
        self.require(self.code.equal("i32", references, "1"))

    def check_array(self, array: str, ndim: int, flags: int = 0) -> str:
        """Require a C-contiguous array of the right dtype; returns where its dimensions are."""
        code = self.code
        kind = code.load("i64", array, python.TYPE)
        self.require(self.code.equal("i64", kind, self.object("ndarray")))
        given = code.load("i32", array, python.FLAGS, align=4)
        wanted = python.C_CONTIGUOUS | python.ALIGNED | flags
        masked = code.let(f"and i32 {given}, {wanted}")
        dims = code.load("i32", array, python.NDIM, align=4)
        descr = code.load("i64", array, python.DESCR)
        self.require(
            self.code.all(
                [
                    self.code.equal("i32", masked, str(wanted)),
                    self.code.equal("i32", dims, str(ndim)),
                    self.code.equal("i64", descr, self.object("descr")),
                ]
            )
        )
        return code.load("i64", array, python.DIMENSIONS)

    def check_inputs(self, inputs: Mapping[str, Shape], batch: bool = False) -> list[str]:
        """Require good arrays of one number of samples; returns where their data are."""
        data = []
        for k, shape in enumerate(inputs.values()):
            array = self.code.load("i64", "%args", 8 * k)
            dimensions = self.check_array(array, len(shape) + batch)
            if batch:
                count = self.code.load("i64", dimensions)
                if self.count:
                    self.require(self.code.equal("i64", count, self.count))
                self.count = self.count or count
            self.check_shape(dimensions, shape, first=int(batch))
            data.append(self.code.load("i64", array, python.DATA))
        return data

    def check_shape(self, dimensions: str, shape: Shape, first: int = 0) -> None:
        """Require the dimensions from number `first` on to be those of one sample."""
        sizes = [
            self.code.equal("i64", self.code.load("i64", dimensions, 8 * (first + i)), str(size))
            for i, size in enumerate(shape)
        ]
        if sizes:
            self.require(self.code.all(sizes))

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

    def write_failures(self) -> None:
        """Write the blocks after a failure: there is no memory, and the exception is set."""
        for label, made in self.failures:
            self.code.label(label)
            for array in made:
                self.code.do(f"call void @Py_DecRef(i64 {array})")
            self.code.do("ret i64 0")

    def run_single(self, addresses: list[str], otherwise: str) -> None:
        """Run the kernel of one sample; go elsewhere if an input is not finite."""
        arguments = ", ".join(f"i64 {address}" for address in addresses)
        bad = self.code.let(f"call i32 @single({arguments})")
        self.unless(self.code.equal("i32", bad, "0"), otherwise)

    def arrays_of(self, things: str, outputs: Mapping[str, Shape]) -> list[str]:
        """The arrays of a result, of a list or of a tuple; for one output it is the array."""
        if len(outputs) == 1:
            return [things]
        return [
            self.code.let(f"call i64 @item(i64 {things}, i64 {i})") for i in range(len(outputs))
        ]

    def data_of(self, arrays: list[str]) -> list[str]:
        """Where the numbers of arrays lie."""
        return [self.code.load("i64", array, python.DATA) for array in arrays]

    def run_into(self, out: str, data: list[str], outputs: Mapping[str, Shape]) -> None:
        """Run the kernel into the arrays of the caller and return them."""
        code = self.code
        if len(outputs) > 1:
            kind = code.load("i64", out, python.TYPE)
            known = [
                self.code.equal("i64", kind, self.object(n)) for n in ("tuple", "list", "results")
            ]
            either = code.let(f"or i1 {known[0]}, {known[1]}")
            self.require(code.let(f"or i1 {either}, {known[2]}"))
            size = code.load("i64", out, python.TUPLE_SIZE)
            self.require(self.code.equal("i64", size, str(len(outputs))))
        arrays = self.arrays_of(out, outputs)
        for array, shape in zip(arrays, outputs.values(), strict=True):
            self.check_shape(self.check_array(array, len(shape), python.WRITEABLE), shape)
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
        for number in range(python.REMEMBERED):
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
        """Return the result of a call, which owns the arrays: the only one, or a named tuple."""
        return arrays[0] if len(arrays) == 1 else self.named_tuple(len(arrays), arrays.__getitem__)

    def named_tuple(self, size: int, item: Callable[[int], str]) -> str:
        """Return a named tuple, which owns its items."""
        code, kind = self.code, self.object("results")
        answer = code.let(f"call i64 @PyType_GenericAlloc(i64 {kind}, i64 {size})")
        self.fail_if_null(answer)
        if python.TUPLE_HASH:
            code.store("i64", "-1", answer, python.TUPLE_HASH)
        for i in range(size):
            code.let(f"call i32 @PyTuple_SetItem(i64 {answer}, i64 {i}, i64 {item(i)})")
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
