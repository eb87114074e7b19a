"""LLVM text of the entry for one sample, and the parts that the entry for a batch shares.

An unusual argument branches to the block `slow`, which calls the Python function. An entry
itself refuses nothing, so its rules are short.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product

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
    out = entry.find_arguments(inputs)
    data = entry.check_inputs(inputs)

    def compute(results: Sequence[str]) -> str:
        return entry.run_single([*data, *results])

    return entry_functions(entry, out, outputs, compute)


def entry_functions(
    entry: EntryWriter,
    out: str,
    outputs: Mapping[str, Shape],
    compute: Callable[[Sequence[str]], str],
    inputs: Sequence[Extent] = (),
) -> list[str]:
    """Write the rest of an entry whose inputs are checked: where results go, and all functions.

    Args:
        entry: The entry so far.
        out: Value of the argument `out`.
        outputs: Shape of one sample of every output.
        compute: Writes the computation into results at given addresses; i1, true if it was done.
        inputs: Memory that results must not lie in.
    """
    code = entry.code
    code.branch(code.equal("i64", out, entry.object("none")), "fresh", "given")
    code.label("given")
    entry.run_into(out, outputs, compute, inputs)
    code.label("fresh")
    entry.reuse_result(outputs, compute)
    arrays = [entry.new_array(shape) for shape in outputs.values()]
    entry.unless(compute(entry.data_of(arrays)), "drop")
    functions = _finish(entry, arrays, outputs)
    return [*_reusable(entry, outputs), _item(code.typed_pointers), *functions]


def _find_keywords(typed_pointers: bool) -> str:
    """Write `find_keywords`: stores the values of `KEYWORDS`; 0 if there are other keywords.

    A value None is stored as 0, like one that is absent: it is every default.
    """
    code = Code(typed_pointers)
    entry = EntryWriter(code, "double")
    values = code.let("add i64 %args, " + code.let("shl i64 %nargs, 3"))
    size = code.load("i64", "%kwnames", python.TUPLE_SIZE)
    none = entry.object("none")
    code.do("br label %next")
    code.label("next")
    code.do("%i = phi i64 [ 0, %entry ], [ %i.next, %again ]")
    code.branch(code.let(f"icmp ult i64 %i, {size}"), "look", "finished")
    code.label("finished")
    code.do("ret i64 1")
    code.label("look")
    offset = code.let("shl i64 %i, 3")
    name = code.load("i64", code.let(f"add i64 %kwnames, {offset}"), python.TUPLE_ITEMS)
    given = code.load("i64", code.let(f"add i64 {values}, {offset}"))
    value = code.let(f"select i1 {code.equal('i64', given, none)}, i64 0, i64 {given}")
    for k, keyword in enumerate(python.KEYWORDS):
        take, other = code.fresh("take"), code.fresh("other")
        code.branch(code.equal("i64", name, entry.object(keyword)), take, other)
        code.label(take)
        code.store("i64", value, "%found", 8 * k)
        code.do("br label %again")
        code.label(other)
    code.do("ret i64 0")
    code.label("again")
    code.do("%i.next = add i64 %i, 1")
    code.do("br label %next")
    return code.function(
        "define internal i64 @find_keywords(i64 %args, i64 %nargs, i64 %kwnames, i64 %found)"
    )


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


def _reusable(entry: EntryWriter, outputs: Mapping[str, Shape]) -> list[str]:
    """Write `reusable`: a remembered result by number if it has no other reference, else 0."""
    code = Code(entry.code.typed_pointers)
    entry = EntryWriter(code, entry.lanes.scalar, entry.many, entry.columns)
    entry.count = "%count"
    items = code.load("i64", entry.object("remembered"), python.LIST_ITEMS)
    result = code.load("i64", code.let(f"add i64 {items}, {code.let('shl i64 %number, 3')}"))
    if len(outputs) > 1:
        entry.require_unshared(result, "results")
    arrays = entry.arrays_of(result, outputs)
    for array, shape in zip(arrays, outputs.values(), strict=True):
        entry.require_unshared(array, "ndarray")
        weak = code.load("i64", array, python.WEAK_REFERENCES)
        entry.require(code.equal("i64", weak, "0"))
        entry.check_result(array, shape, python.OWNS_DATA | python.WRITEABLE)
    code.do(f"ret i64 {result}")
    code.label("slow")
    code.do("ret i64 0")
    return [code.function("define internal i64 @reusable(i64 %number, i64 %count)")]


def _finish(entry: EntryWriter, arrays: list[str], outputs: Mapping[str, Shape]) -> list[str]:
    """Return the arrays; write the blocks for what went wrong, and the functions."""
    code, answer = entry.code, entry.answer(arrays)
    entry.remember(answer, outputs)
    code.do(f"ret i64 {answer}")
    code.label("drop")  # an input is not finite: the Python function says which
    for array in arrays:
        code.do(f"call void @Py_DecRef(i64 {array})")
    code.do("br label %slow")
    code.label("slow")
    arguments = ENTRY_PARAMETERS
    following, none = entry.object("next"), entry.object("none")
    alone = code.equal("i64", "%self", entry.object("alone"))
    last = code.let(f"or i1 {alone}, {code.equal('i64', following, none)}")
    code.branch(last, "python", "following")
    code.label("following")
    others = arguments.replace("%self", following)
    code.do(f"%taken.answer = call i64 @PyObject_Vectorcall({others})")
    code.branch(code.equal("i64", "%taken.answer", none), "declined", "taken")
    code.label("taken")
    code.do("ret i64 %taken.answer")
    code.label("declined")
    code.do(f"call void @Py_DecRef(i64 {none})")
    code.do("br label %python")
    code.label("python")
    code.do(f"%answer = call i64 @PyObject_Vectorcall({arguments})")
    code.do("ret i64 %answer")
    entry.write_failures()
    return [
        *declarations(),
        f"@newest = internal global i64 {entry.remembered(outputs) - 1}\n",
        *entry.constants,
        _find_keywords(code.typed_pointers),
        code.function(f"define i64 @beside({arguments}, i64 %found)")
        if entry.own
        else code.function(f"define i64 @call({arguments})"),
        *([entry.call_function()] if entry.own else []),
    ]


def declarations() -> list[str]:
    """Write the functions that an entry calls and the objects that it compares with."""
    declared = [
        f"declare {result} @{name}({types})\n" for name, (result, types) in python.FUNCTIONS.items()
    ]
    if python.CALL_IS_INLINE:
        declared.append(_call_of_any_object())
    return [*declared, f"@objects = global [{len(python.OBJECTS)} x i64] zeroinitializer\n"]


def _call_of_any_object() -> str:
    """Write `PyObject_Vectorcall` for a Python that has it in its headers alone."""
    code = Code(typed_pointers=False)  # there are no pointers
    state = code.let("call i64 @PyThreadState_Get()")
    answer = code.let(f"call i64 @_PyObject_MakeTpCall(i64 {state}, {ENTRY_PARAMETERS})")
    code.do(f"ret i64 {answer}")
    return code.function(f"define internal i64 @PyObject_Vectorcall({ENTRY_PARAMETERS})")


# -- the pieces that they are written from ------------------------------------------------------


ENTRY_PARAMETERS = "i64 %self, i64 %args, i64 %nargs, i64 %kwnames"
TYPE_NUMBER = {"double": 12, "float": 11}  # NPY_DOUBLE, NPY_FLOAT


@dataclass(frozen=True)
class Extent:
    """Memory of one array: its first address, and its number of bytes."""

    start: str
    size: str


class EntryWriter:
    """Writes pieces of one entry into `code`.

    Args:
        code: Where to write.
        scalar: "double" or "float".
        many: The arrays of results have a number of samples as first dimension.
        columns: That dimension is the innermost in memory.
    """

    def __init__(self, code: Code, scalar: str, many: bool = False, columns: bool = False) -> None:
        self.code = code
        self.lanes = SimdType(scalar)
        self.many, self.columns = many, columns
        self.constants: list[str] = []
        self.count = "0"  # N of a batch
        self.scratch = code.stack("i64", python.MOST_DIMENSIONS)  # dimensions of a new array
        self.places = "%args"  # address of the arguments, one after the other
        self.own = 0  # sum of the inputs of `KEYWORD_INPUTS` that the kernel has
        self.alone = "false"  # i1: the caller wants a single thread
        self.made: list[str] = []  # arrays
        self.failures: list[tuple[str, list[str]]] = []  # label, and what to drop there

    # -- arguments ------------------------------------------------------------------------------

    def find_arguments(self, inputs: Mapping[str, Shape]) -> str:
        """Find the arguments of a call, and return `out` or None.

        A kernel takes its inputs in order. The entry of a method (`self` is the object `method`)
        takes those of `KEYWORD_INPUTS` by keyword: its table says where the code for a combination
        of them begins, with the keywords found.
        """
        code, none = self.code, self.object("none")
        self.own = python.beside_of(inputs)
        if self.own:
            return self._find_beside(inputs)
        found = code.stack("i64", len(python.KEYWORDS))
        code.branch(code.equal("i64", "%kwnames", "0"), "positional", "keywords")
        code.label("keywords")
        self._find_keywords(found)
        out, one, beside, frame = self._found(found)
        code.do("br label %keywords.found")
        code.label("keywords.found")
        code.branch(code.equal("i64", beside, "0"), "usual", "method")
        code.label("method")
        self.require(code.equal("i64", "%self", self.object("method")))
        self._go_on(beside, found)
        code.label("usual")
        self.require(code.equal("i64", frame, "0"))
        code.do("br label %keywords.taken")
        code.label("keywords.taken")
        code.do("br label %arguments")
        code.label("positional")
        code.do("br label %arguments")
        code.label("arguments")
        out = code.let(f"phi i64 [ {out}, %keywords.taken ], [ {none}, %positional ]")
        self.alone = code.let(f"phi i1 [ {one}, %keywords.taken ], [ false, %positional ]")
        self.require(code.equal("i64", "%nargs", str(len(inputs))))
        return out

    def _find_beside(self, inputs: Mapping[str, Shape]) -> str:
        """Find arguments, with keywords that are in `%found` already."""
        code = self.code
        gathered = code.stack("i64", len(inputs))
        out, self.alone, beside, frame = self._found("%found")
        code.branch(code.equal("i64", "%self", self.object("method")), "method", "kernel")
        code.label("method")
        code.branch(code.equal("i64", beside, str(self.own)), "gather", "others")
        code.label("others")
        self._go_on(beside, "%found")
        code.label("gather")
        motion = [name for name in inputs if name not in python.KEYWORD_INPUTS]
        self.require(code.equal("i64", "%nargs", str(len(motion))))
        self.require(code.equal("i64", frame, self.object("place")))
        for k, name in enumerate(inputs):
            if name in motion:
                value = code.load("i64", "%args", 8 * motion.index(name))
            else:
                value = code.load("i64", "%found", 8 * python.KEYWORDS.index(name))
            if name == "payload":
                last = self.object("last")
                self.require(code.equal("i64", value, code.load("i64", last)))
                value = code.load("i64", last, 8)
            code.store("i64", value, gathered, 8 * k)
        code.do("br label %gathered")
        code.label("gathered")
        code.do("br label %arguments")
        code.label("kernel")
        self.require(code.equal("i64", code.let(f"or i64 {beside}, {frame}"), "0"))
        self.require(code.equal("i64", "%nargs", str(len(inputs))))
        code.do("br label %in_order")
        code.label("in_order")
        code.do("br label %arguments")
        code.label("arguments")
        self.places = code.let(f"phi i64 [ {gathered}, %gathered ], [ %args, %in_order ]")
        return out

    def _find_keywords(self, found: str) -> None:
        """Store the values of keywords; there are some, all known."""
        for k in range(len(python.KEYWORDS)):
            self.code.store("i64", "0", found, 8 * k)
        arguments = f"i64 %args, i64 %nargs, i64 %kwnames, i64 {found}"
        known = self.code.let(f"call i64 @find_keywords({arguments})")
        self.require(self.code.let(f"icmp ne i64 {known}, 0"))

    def _found(self, found: str) -> tuple[str, str, str, str]:
        """`out` or None, whether to use one thread, the sum of `KEYWORD_INPUTS`, and `frame`."""
        code, none = self.code, self.object("none")

        def value(name: str) -> str:
            return code.load("i64", found, 8 * python.KEYWORDS.index(name))

        threads, given = value("threads"), value("out")
        one = code.equal("i64", threads, self.object("one"))
        default = code.equal("i64", threads, "0")  # Python says what is no number of threads
        self.require(code.let(f"or i1 {default}, {one}"))
        out = code.let(f"select i1 {code.equal('i64', given, '0')}, i64 {none}, i64 {given}")
        beside = "0"
        for name, bit in python.KEYWORD_INPUTS.items():
            present = code.let(f"icmp ne i64 {value(name)}, 0")
            bits = code.let(f"select i1 {present}, i64 {bit}, i64 0")
            beside = code.let(f"or i64 {beside}, {bits}")
        return out, one, beside, value("frame")

    def _go_on(self, beside: str, found: str) -> None:
        """Return what the code for other inputs beside the motion returns."""
        code = self.code
        row = code.let(f"add i64 {self.object('table')}, {code.let(f'shl i64 {beside}, 3')}")
        there = code.load("i64", row)
        self.require(code.let(f"icmp ne i64 {there}, 0"))
        function = code.at(there, f"i64 ({', '.join(['i64'] * 5)})").rpartition(" ")[2]
        values = f"{ENTRY_PARAMETERS}, i64 {found}"
        code.do(f"ret i64 {code.let(f'call i64 {function}({values})')}")

    def call_function(self) -> str:
        """Write `call` for code whose entry begins with the keywords found."""
        code = Code(self.code.typed_pointers)
        entry = EntryWriter(code, self.lanes.scalar)
        found = code.stack("i64", len(python.KEYWORDS))
        code.branch(code.equal("i64", "%kwnames", "0"), "none", "some")
        code.label("none")
        for k in range(len(python.KEYWORDS)):
            code.store("i64", "0", found, 8 * k)
        code.do("br label %known")
        code.label("some")
        entry._find_keywords(found)
        code.do("br label %known")
        code.label("known")
        code.do(f"ret i64 {code.let(f'call i64 @beside({ENTRY_PARAMETERS}, i64 {found})')}")
        code.label("slow")
        code.do(f"ret i64 {code.let(f'call i64 @PyObject_Vectorcall({ENTRY_PARAMETERS})')}")
        return code.function(f"define i64 @call({ENTRY_PARAMETERS})")

    # -- checks ---------------------------------------------------------------------------------

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
        references = self.code.load("i32", thing, python.REFERENCES, align=4)
        self.require(self.code.equal("i32", references, "1"))
        self.require(
            self.code.equal("i64", self.code.load("i64", thing, python.TYPE), self.object(kind))
        )

    def check_array(self, array: str, flags: int) -> str:
        """Require an array of the right dtype with these flags; return its number of dimensions."""
        code = self.code
        kind = code.load("i64", array, python.TYPE)
        self.require(code.equal("i64", kind, self.object("ndarray")))
        given = code.load("i32", array, python.FLAGS, align=4)
        wanted = python.ALIGNED | flags
        masked = code.let(f"and i32 {given}, {wanted}")
        descr = code.load("i64", array, python.DESCR)
        self.require(
            code.all(
                [
                    code.equal("i32", masked, str(wanted)),
                    code.equal("i64", descr, self.object("descr")),
                ]
            )
        )
        return code.load("i32", array, python.NDIM, align=4)

    def check_inputs(self, inputs: Mapping[str, Shape]) -> list[str]:
        """Require good arrays of one sample each; returns where their data are."""
        data = []
        for k, shape in enumerate(inputs.values()):
            array = self.code.load("i64", self.places, 8 * k)
            ndim = self.check_array(array, python.C_CONTIGUOUS)
            self.require(self.code.equal("i32", ndim, str(len(shape))))
            self.check_shape(self.code.load("i64", array, python.DIMENSIONS), shape)
            data.append(self.code.load("i64", array, python.DATA))
        return data

    def check_result(self, array: str, shape: Shape, flags: int) -> None:
        """Require an array that results can be written to."""
        code = self.code
        order = python.F_CONTIGUOUS if self.columns else python.C_CONTIGUOUS
        ndim = self.check_array(array, flags | order)
        self.require(code.equal("i32", ndim, str(len(shape) + self.many)))
        dimensions = code.load("i64", array, python.DIMENSIONS)
        if self.many:
            self.require(code.equal("i64", code.load("i64", dimensions), self.count))
        self.check_shape(dimensions, shape, first=int(self.many))

    def check_shape(self, dimensions: str, shape: Shape, first: int = 0) -> None:
        """Require the dimensions from number `first` on to be those of one sample."""
        sizes = [
            self.code.equal("i64", self.code.load("i64", dimensions, 8 * (first + i)), str(size))
            for i, size in enumerate(shape)
        ]
        if sizes:
            self.require(self.code.all(sizes))

    # -- results --------------------------------------------------------------------------------

    def new_array(self, shape: Shape) -> str:
        """Make the array of a result, shape S or (N, *S)."""
        code = self.code
        if self.many:
            code.store("i64", self.count, self.scratch)
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
            f"i32 {TYPE_NUMBER[self.lanes.scalar]}, i64 0, i64 0, i32 0, "
            f"i32 {int(self.columns)}, i64 0)"
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

    def run_single(self, addresses: Sequence[str]) -> str:
        """Run the kernel of one sample; i1, false if an input is not finite."""
        arguments = ", ".join(f"i64 {address}" for address in addresses)
        return self.code.equal("i32", self.code.let(f"call i32 @single({arguments})"), "0")

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

    def run_into(
        self,
        out: str,
        outputs: Mapping[str, Shape],
        compute: Callable[[Sequence[str]], str],
        inputs: Sequence[Extent],
    ) -> None:
        """Compute into the arrays of the caller and return them."""
        code = self.code
        if len(outputs) > 1:
            kind = code.load("i64", out, python.TYPE)
            known = [code.equal("i64", kind, self.object(n)) for n in ("tuple", "list", "results")]
            either = code.let(f"or i1 {known[0]}, {known[1]}")
            self.require(code.let(f"or i1 {either}, {known[2]}"))
            size = code.load("i64", out, python.TUPLE_SIZE)
            self.require(code.equal("i64", size, str(len(outputs))))
        arrays = self.arrays_of(out, outputs)
        for array, shape in zip(arrays, outputs.values(), strict=True):
            self.check_result(array, shape, python.WRITEABLE)
        places = self.data_of(arrays)
        results = [
            Extent(place, self.size_of(shape))
            for place, shape in zip(places, outputs.values(), strict=True)
        ]
        for a, b in (*combinations(results, 2), *product(inputs, results)):
            ends = [code.let(f"add i64 {x.start}, {x.size}") for x in (a, b)]
            before = code.let(f"icmp ule i64 {ends[0]}, {b.start}")
            after = code.let(f"icmp ule i64 {ends[1]}, {a.start}")
            self.require(code.let(f"or i1 {before}, {after}"))
        self.require(compute(places))
        for array in arrays:
            code.do(f"call void @Py_IncRef(i64 {array})")
        self.made = list(arrays)
        code.do(f"ret i64 {self.answer(arrays)}")
        self.made = []

    def size_of(self, shape: Shape) -> str:
        """Bytes of an array, shape S or (N, *S)."""
        size = math.prod(shape) * self.lanes.bytes
        return self.code.let(f"mul i64 {self.count}, {size}") if self.many else str(size)

    def reuse_result(
        self, outputs: Mapping[str, Shape], compute: Callable[[Sequence[str]], str]
    ) -> None:
        """Compute into a remembered result and return that, or go on if there is none.

        The reference is counted first: other threads may run meanwhile.
        """
        code, numbers = self.code, ["0", "1"]
        if self.remembered(outputs) > len(numbers):
            oldest = self._oldest(outputs)
            tried = code.let(f"icmp ult i64 {oldest}, 2")
            numbers.append(code.let(f"select i1 {tried}, i64 2, i64 {oldest}"))
        for number in numbers:
            use, go_on, failed = code.fresh("use"), code.fresh("none"), code.fresh("refused")
            result = code.let(f"call i64 @reusable(i64 {number}, i64 {self.count})")
            code.branch(code.let(f"icmp ne i64 {result}, 0"), use, go_on)
            code.label(use)
            arrays = self.arrays_of(result, outputs)
            code.do(f"call void @Py_IncRef(i64 {result})")
            if number not in ("0", "1"):  # the next call tries the one after it
                code.store("i64", number, code.address_of("newest", "i64"))
            self.unless(compute(self.data_of(arrays)), failed)
            code.do(f"ret i64 {result}")
            code.label(failed)
            code.do(f"call void @Py_DecRef(i64 {result})")
            code.do("br label %slow")
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

    def remembered(self, outputs: Mapping[str, Shape]) -> int:
        """Number of results to remember: few large ones, so that they take little memory."""
        size = sum(math.prod(shape) for shape in outputs.values()) * self.lanes.bytes
        few, most = python.REMEMBERED
        return few if self.many else max(few, min(most, python.SMALL_BYTES // max(1, size)))

    def _oldest(self, outputs: Mapping[str, Shape]) -> str:
        """Number of the result that was remembered first."""
        code = self.code
        number = code.let("add i64 1, " + code.load("i64", code.address_of("newest", "i64")))
        last = code.let(f"icmp uge i64 {number}, {self.remembered(outputs)}")
        return code.let(f"select i1 {last}, i64 0, i64 {number}")

    def remember(self, result: str, outputs: Mapping[str, Shape]) -> None:
        """Remember a result in place of the oldest one, if it is not very large."""
        code = self.code
        if self.many:
            size = sum(math.prod(shape) for shape in outputs.values()) * self.lanes.bytes
            most = python.MOST_REMEMBERED_BYTES // max(1, size)
            code.branch(code.let(f"icmp ule i64 {self.count}, {most}"), "remember", "return")
            code.label("remember")
        number = self._oldest(outputs)
        code.store("i64", number, code.address_of("newest", "i64"))
        code.do(f"call void @Py_IncRef(i64 {result})")
        remembered = self.object("remembered")
        code.let(f"call i32 @PyList_SetItem(i64 {remembered}, i64 {number}, i64 {result})")
        if self.many:
            code.do("br label %return")
            code.label("return")
