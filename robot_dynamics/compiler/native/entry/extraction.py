"""Extraction: numbers out of the bytes of a message whose other bytes are known, natively.

What takes a dozen calls of Python and NumPy, most of them with cold caches, is here one function:
it compares, checks and copies, or does nothing at all. See docs/wire.md.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence

import numpy as np

from robot_dynamics.compiler.native import cache, llvm
from robot_dynamics.compiler.native.entry import native_entry
from robot_dynamics.compiler.native.entry.native_entry import FASTCALL, TYPE, builtin
from robot_dynamics.compiler.native.ir import Code, number_text
from robot_dynamics.errors import BackendError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.units import NS_PER_S

BYTES_SIZE, BYTES_DATA = 16, bytes.__basicsize__ - 1
"""Where a bytes object keeps its length and its content."""

LARGEST = 1e150
"""Numbers whose squares, added up, stay finite; larger ones are left to who refuses them."""


HEAD = ("length", "size", "stamp", "required", "copies")
"""64-bit integers that a plan begins with; pairs of source and target follow, then known bytes and
their mask."""

WORD = 8
"""Bytes of an integer, or of a number."""

FUNCTIONS = ("PyLong_AsLongLong", "PyLong_FromLongLong", "Py_IncRef")


def plan_of(
    length: int,
    known: bytes,
    mask: bytes,
    stamp: int,
    copies: Sequence[tuple[int, int]],
    required: int,
) -> bytes:
    """Encode what `extract` does with messages of one kind.

    Args:
        length: Bytes of such a message.
        known: What it begins with.
        mask: 0xff where that has to be so, 0 where it may be anything; as long.
        stamp: Where its stamp stands: int32 of seconds, uint32 of nanoseconds.
        copies: Where each number, a float64, stands in the message; and the address that it goes
            to, which has to be valid for as long as the plan is used.
        required: How many of them, from the first on, have to be finite.
    """
    head = np.array([length, len(known), stamp, required, len(copies)], dtype=np.int64)
    return head.tobytes() + np.array(copies, dtype=np.int64).tobytes() + known + mask


def address_of(array: Array) -> int:
    """Address of the first entry of an array."""
    return int(array.__array_interface__["data"][0])


@functools.lru_cache(maxsize=1)
def extractor() -> Callable[[bytes, bytes, int], int | None] | None:
    """The function `extract(data, plan, last)`; None where there is no native code.

    It returns the stamp of the message, ns, after it has copied the numbers. It returns None, and
    has changed nothing, if the message is of another kind, if a number that is required is not
    finite or is very large, or if the stamp is less than a second before `last`, ns, and not zero.
    """
    if not native_entry.available():
        return None
    try:
        text = _module(llvm.host().typed_pointers)
        code = llvm.Loaded(cache.object_code("extraction", text), ["call", "objects"], _imports())
    except BackendError:
        return None
    slots = (ctypes.c_int64 * 2).from_address(code.address("objects"))
    slots[:] = [id(bytes), id(None)]
    text = "Copy the numbers of a message to where they go; return its stamp, ns, or None."
    return builtin(code, "extract(data, plan, last, /)", text, FASTCALL, code)


def _imports() -> dict[str, int]:
    return {
        name: ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0
        for name in FUNCTIONS
    }


def _module(typed_pointers: bool) -> str:
    return "\n".join(
        [
            "@objects = global [2 x i64] zeroinitializer",
            "declare i64 @PyLong_AsLongLong(i64)",
            "declare i64 @PyLong_FromLongLong(i64)",
            "declare void @Py_IncRef(i64)",
            "declare double @llvm.fabs.f64(double)",
            _Writer(typed_pointers).function(),
        ]
    )


class _Writer:
    """Writes the function; what is unusual goes to the block `slow`."""

    def __init__(self, typed_pointers: bool) -> None:
        self.code = Code(typed_pointers)

    def function(self) -> str:
        """The text of `call`."""
        code = self.code
        self._require("icmp eq i64 %count, 3")
        objects = [code.load("i64", "%args", WORD * i) for i in range(3)]
        place = code.address_of("objects", "[2 x i64]")
        is_bytes = code.load("i64", place)
        for thing in objects[:2]:
            self._require(f"icmp eq i64 {code.load('i64', thing, TYPE)}, {is_bytes}")
        given = code.load("i64", objects[0], BYTES_SIZE)
        self._data, self._plan = (code.let(f"add i64 {x}, {BYTES_DATA}") for x in objects[:2])
        length, size, stamp, required, copies = (
            code.load("i64", self._plan, WORD * i, align=1) for i in range(len(HEAD))
        )
        self._require(f"icmp eq i64 {given}, {length}")
        pairs = code.let(f"add i64 {self._plan}, {WORD * len(HEAD)}")
        known = code.let(f"add i64 {pairs}, " + code.let(f"mul i64 {copies}, {2 * WORD}"))
        self._compare(known, size)
        time = self._stamp(stamp, objects[2])
        self._each(required, lambda i: self._finite(pairs, i))
        self._each(copies, lambda i: self._copy(pairs, i))
        code.do(f"ret i64 {code.let(f'call i64 @PyLong_FromLongLong(i64 {time})')}")
        code.label("slow")
        nothing = code.load("i64", code.address_of("objects", "[2 x i64]"), WORD)
        code.do(f"call void @Py_IncRef(i64 {nothing})")
        code.do(f"ret i64 {nothing}")
        return code.function("define i64 @call(i64 %self, i64 %args, i64 %count)")

    def _require(self, condition: str) -> None:
        """Go on if a condition holds."""
        go_on = self.code.fresh("ok")
        self.code.branch(self.code.let(condition), go_on, "slow")
        self.code.label(go_on)

    def _each(self, count: str, body: Callable[[str], None]) -> None:
        """Write a loop over 0, 1, ... `count` - 1, which is not negative."""
        code = self.code
        before, test, inside, after = (code.fresh(x) for x in ("before", "test", "body", "after"))
        more = code.fresh("more")
        code.do(f"br label %{before}")
        code.label(before)
        code.do(f"br label %{test}")
        code.label(test)
        code.do(f"%{inside}.i = phi i64 [ 0, %{before} ], [ %{inside}.next, %{more} ]")
        code.branch(code.let(f"icmp slt i64 %{inside}.i, {count}"), inside, after)
        code.label(inside)
        body(f"%{inside}.i")
        code.do(f"br label %{more}")
        code.label(more)
        code.do(f"%{inside}.next = add i64 %{inside}.i, 1")
        code.do(f"br label %{test}")
        code.label(after)

    def _compare(self, known: str, size: str) -> None:
        """Require the known bytes, eight at a time; the last eight overlap those before."""
        code = self.code
        mask = code.let(f"add i64 {known}, {size}")
        last = code.let(f"sub i64 {size}, {WORD}")
        words = code.let(f"udiv i64 {code.let(f'add i64 {size}, {WORD - 1}')}, {WORD}")

        def word(i: str) -> None:
            next_one = code.let(f"mul i64 {i}, {WORD}")
            before_last = code.let(f"icmp slt i64 {next_one}, {last}")
            offset = code.let(f"select i1 {before_last}, i64 {next_one}, i64 {last}")
            given, own, compared = (
                code.load("i64", code.let(f"add i64 {start}, {offset}"), align=1)
                for start in (self._data, known, mask)
            )
            differs = code.let(f"and i64 {code.let(f'xor i64 {given}, {own}')}, {compared}")
            self._require(f"icmp eq i64 {differs}, 0")

        self._each(words, word)

    def _stamp(self, offset: str, last: str) -> str:
        """Require a stamp, ns, that is zero, not before the last, or 1 s or more before it."""
        code = self.code
        place = code.let(f"add i64 {self._data}, {offset}")
        seconds = code.let(f"sext i32 {code.load('i32', place, align=1)} to i64")
        rest = code.let(f"zext i32 {code.load('i32', place, 4, align=1)} to i64")
        stamp = code.let(f"add i64 {code.let(f'mul i64 {seconds}, {NS_PER_S}')}, {rest}")
        before = code.let(f"call i64 @PyLong_AsLongLong(i64 {last})")
        back = code.let(f"sub i64 {before}, {stamp}")
        # Back by 1 to a second less 1 ns: one comparison of numbers without sign
        little = code.let(f"icmp ult i64 {code.let(f'sub i64 {back}, 1')}, {NS_PER_S - 1}")
        present = code.let(f"icmp ne i64 {stamp}, 0")
        wrong = code.let(f"and i1 {little}, {present}")
        self._require(f"xor i1 {wrong}, true")
        return stamp

    def _source(self, pairs: str, i: str) -> tuple[str, str]:
        """Where copy i stands in the message, and where its target is in the plan."""
        pair = self.code.let(f"add i64 {pairs}, {self.code.let(f'mul i64 {i}, {2 * WORD}')}")
        offset = self.code.load("i64", pair, align=1)
        return self.code.let(f"add i64 {self._data}, {offset}"), pair

    def _finite(self, pairs: str, i: str) -> None:
        number = self.code.load("double", self._source(pairs, i)[0], align=1)
        size = self.code.let(f"call double @llvm.fabs.f64(double {number})")
        self._require(f"fcmp olt double {size}, {number_text(LARGEST, 'double')}")

    def _copy(self, pairs: str, i: str) -> None:
        source, pair = self._source(pairs, i)
        number = self.code.load("i64", source, align=1)
        target = self.code.load("i64", pair, WORD, align=1)
        self.code.store("i64", number, target)
