"""The entries themselves, as LLVM text: of one sample, and of a batch into new arrays."""

from __future__ import annotations

import math
from collections.abc import Mapping

from robot_dynamics.compiler.graph.trace import Shape
from robot_dynamics.compiler.native.entry.entry_writer import EntryWriter
from robot_dynamics.compiler.native.entry.native_entry import (
    DATA,
    FUNCTIONS,
    OBJECTS,
    OWNS_DATA,
    TUPLE_SIZE,
    TYPE,
    WEAK_REFERENCES,
    WRITEABLE,
)
from robot_dynamics.compiler.native.ir import Code, Lanes


def single_entry(
    inputs: Mapping[str, Shape], outputs: Mapping[str, Shape], scalar: str, typed_pointers: bool
) -> list[str]:
    """Write the entry of `single`, the kernel of one sample of "double" or "float".

    It is `call(self, args, nargs, kwnames)`, a builtin function of CPython whose `self` is the
    Python function for unusual calls.
    """
    code = Code(typed_pointers)
    entry = EntryWriter(code, scalar)
    entry.require(entry.equal("i64", "%nargs", str(len(inputs))))
    out = code.let("call i64 @find_out(i64 %args, i64 %nargs, i64 %kwnames)")
    entry.require(code.let(f"icmp ne i64 {out}, 0"))
    data = entry.check_inputs(inputs)
    code.branch(entry.equal("i64", out, entry.object("none")), "fresh", "given")
    code.label("given")
    entry.run_into(out, data, outputs)
    code.label("fresh")
    entry.reuse_result(data, outputs)
    arrays = [entry.new_array("", shape) for shape in outputs.values()]
    entry.run_single([*data, *entry.data_of(arrays)], otherwise="drop")
    functions = _finish(entry, arrays, remember=True)
    return [*_reusable(outputs, scalar, typed_pointers), _item(typed_pointers), *functions]


def batch_entry(
    inputs: Mapping[str, Shape],
    outputs: Mapping[str, Shape],
    lanes: Lanes,
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
    entry.require(entry.equal("i64", "%nargs", str(len(inputs))))
    entry.require(entry.equal("i64", "%kwnames", "0"))
    data = entry.check_inputs(inputs, batch=True)
    arrays = [entry.new_array(entry.count, shape) for shape in outputs.values()]
    results = [code.load("i64", array, DATA) for array in arrays]
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
    entry.unless(entry.equal("i64", done, entry.count), "drop")
    return _finish(entry, arrays)


def _find_out(typed_pointers: bool) -> str:
    """Write `find_out`: the argument `out`, None if there is none, 0 for other keywords."""
    code = Code(typed_pointers)
    entry = EntryWriter(code, "double")
    none, out, threads = (entry.object(name) for name in ("none", "out", "threads"))
    values = code.let("add i64 %args, " + code.let("shl i64 %nargs, 3"))
    code.branch(entry.equal("i64", "%kwnames", "0"), "plain", "keywords")
    code.label("plain")
    code.do(f"ret i64 {none}")
    code.label("keywords")
    size = code.load("i64", "%kwnames", TUPLE_SIZE)
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
    code.branch(entry.equal("i64", name, out), "take", "other")
    code.label("take")
    code.do("br label %again")
    code.label("other")
    code.branch(entry.equal("i64", name, threads), "count", "unknown")
    code.label("count")  # the Python function says what is no number of threads
    code.branch(entry.equal("i64", value, none), "again", "unknown")
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
    kind = code.load("i64", "%things", TYPE)
    code.branch(entry.equal("i64", kind, entry.object("list")), "of_list", "of_tuple")
    for each, getter in (("of_list", "PyList_GetItem"), ("of_tuple", "PyTuple_GetItem")):
        code.label(each)
        code.do(f"ret i64 {code.let(f'call i64 @{getter}(i64 %things, i64 %i)')}")
    return code.function("define internal i64 @item(i64 %things, i64 %i)")


def _reusable(outputs: Mapping[str, Shape], scalar: str, typed_pointers: bool) -> list[str]:
    """Write `reusable`: the remembered result of that number if nobody else holds it, else 0."""
    code = Code(typed_pointers)
    entry = EntryWriter(code, scalar)
    result = code.let(f"call i64 @PyList_GetItem(i64 {entry.object('remembered')}, i64 %number)")
    if len(outputs) > 1:
        entry.require_unshared(result, "results")
    arrays = entry.arrays_of(result, outputs)
    for array, shape in zip(arrays, outputs.values(), strict=True):
        entry.require_unshared(array, "ndarray")
        weak = code.load("i64", array, WEAK_REFERENCES)
        entry.require(entry.equal("i64", weak, "0"))
        flags = OWNS_DATA | WRITEABLE
        entry.check_shape(entry.check_array(array, len(shape), flags), shape)
    code.do(f"ret i64 {result}")
    code.label("slow")
    code.do("ret i64 0")
    return [code.function("define internal i64 @reusable(i64 %number)")]


def _finish(entry: EntryWriter, arrays: list[str], remember: bool = False) -> list[str]:
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
    code.branch(entry.equal("i64", following, none), "python", "following")
    code.label("following")
    others = arguments.replace("%self", following)
    code.do(f"%found = call i64 @PyObject_Vectorcall({others})")
    code.branch(entry.equal("i64", "%found", none), "declined", "taken")
    code.label("taken")
    code.do("ret i64 %found")
    code.label("declined")
    code.do(f"call void @Py_DecRef(i64 {none})")
    code.do("br label %python")
    code.label("python")
    code.do(f"%answer = call i64 @PyObject_Vectorcall({arguments})")
    code.do("ret i64 %answer")
    for label, made in entry.failures:  # no memory: the exception is set
        code.label(label)
        for array in made:
            code.do(f"call void @Py_DecRef(i64 {array})")
        code.do("ret i64 0")
    declared = [
        f"declare {result} @{name}({types})\n" for name, (result, types) in FUNCTIONS.items()
    ]
    slots = f"@objects = global [{len(OBJECTS)} x i64] zeroinitializer\n"
    slots += "@newest = internal global i64 0\n"
    find_out = _find_out(code.typed_pointers)
    return [
        *declared,
        slots,
        *entry.constants,
        find_out,
        code.function(f"define i64 @call({arguments})"),
    ]
