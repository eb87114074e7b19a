"""Extraction: numbers out of bytes whose other bytes are known, by one native call.

The same takes Python and NumPy a dozen calls, most of them with cold caches in a loop that sleeps.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from robot_dynamics.compiler.native import cache, llvm
from robot_dynamics.compiler.native.entry import native_entry
from robot_dynamics.compiler.native.ir import Code, module
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.units import NS_PER_S

ABSOLUTE = 2**32
"""Least source of a copy that is an address; a smaller one is an offset in the message."""

_NAN = np.full(1, np.nan)

NOWHERE = int(_NAN.__array_interface__["data"][0])
"""Source of a copy of a number that the message lacks."""

_INTEGERS = ("PyLong_AsLongLong", "PyLong_FromLongLong")
_DECLARED = [f"declare i64 @{name}(i64)" for name in _INTEGERS]

_HEAD = 7
"""Numbers in a plan before the copies."""


class Extraction:
    """Plan of the copies from messages that differ in their numbers and their stamp alone.

    Args:
        known: Bytes that all of them begin with; their number is a multiple of four.
        mask: 0xff for every byte that is the same in all, else 0; as long.
        stamp: Offset of the stamp: int32 of seconds, uint32 of nanoseconds.
        copies: Source and target of each number: its offset, or `NOWHERE`; and an address, which
            must be valid for as long as this lives.
        required: Number of copies, from the first on, whose numbers must not be NaN.
        largest: Square beyond which numbers are not copied.

    Attributes:
        plan: First argument of `extract`.
    """

    def __init__(
        self,
        known: bytes,
        mask: bytes,
        stamp: int,
        copies: Sequence[tuple[int, int]],
        required: int,
        largest: float,
    ) -> None:
        self._kept = [np.frombuffer(part, np.uint8) for part in (known, mask)]
        words, places = len(known) // 4, map(address_of, self._kept)
        limit = np.array([largest]).view(np.int64)
        head = [words, *places, stamp, required, *limit, len(copies)]
        self._plan = np.array([*head, *np.ravel(copies)], dtype=np.int64)
        self.plan = address_of(self._plan)


def address_of(array: Array) -> int:
    """Return the address of the first entry of an array."""
    return int(array.__array_interface__["data"][0])


@lru_cache(maxsize=1)
def extractor() -> Callable[[int, bytes, int], int]:
    """Return the function `extract(plan, data, last)`.

    It copies the numbers of a message and returns its stamp, ns. It returns -1, and has copied
    nothing, if the message differs from the known bytes, if a required number is NaN or the square
    of any is too large, or if its stamp is not zero and less than a second before `last`, ns. The
    message must be as long as the known bytes, or longer.
    """
    code = Code(llvm.host().typed_pointers)
    words, known, mask, stamp_at, required, _, copies = (
        code.load("i64", "%plan", 8 * i) for i in range(_HEAD)
    )
    largest = code.load("double", "%plan", 8 * (_HEAD - 2))

    def require(condition: str) -> None:
        go_on = code.fresh("ok")
        code.branch(condition, go_on, "other")
        code.label(go_on)

    def pair(i: str) -> tuple[str, str]:
        """Return the address of the source of a copy, and that of its target in the plan."""
        at = code.let(f"add i64 %plan, {code.let(f'shl i64 {i}, 4')}")
        source = code.load("i64", at, 8 * _HEAD)
        near = code.let(f"icmp ult i64 {source}, {ABSOLUTE}")
        base = code.let(f"select i1 {near}, i64 %data, i64 0")
        return code.let(f"add i64 {base}, {source}"), at

    with code.rounds(words) as i:
        offset = code.let(f"shl i64 {i}, 2")
        given, own, counts = (
            code.load("i32", code.let(f"add i64 {start}, {offset}"), align=1)
            for start in ("%data", known, mask)
        )
        differs = code.let(f"and i32 {code.let(f'xor i32 {given}, {own}')}, {counts}")
        require(code.equal("i32", differs, "0"))
    place = code.let(f"add i64 %data, {stamp_at}")
    seconds = code.let(f"sext i32 {code.load('i32', place, align=1)} to i64")
    rest = code.let(f"zext i32 {code.load('i32', place, 4, align=1)} to i64")
    stamp = code.let(f"add i64 {code.let(f'mul i64 {seconds}, {NS_PER_S}')}, {rest}")
    require(code.let(f"icmp sge i64 {stamp}, 0"))
    # Back by 1 ns to a second less 1 ns: one comparison of numbers without sign
    back = code.let(f"sub i64 {code.let(f'sub i64 %last, {stamp}')}, 1")
    far = code.let(f"icmp uge i64 {back}, {NS_PER_S - 1}")
    require(code.let(f"or i1 {far}, {code.equal('i64', stamp, '0')}"))
    with code.rounds(copies) as i:
        number = code.load("double", pair(i)[0], align=1)
        square = code.let(f"fmul double {number}, {number}")
        is_nan = code.let(f"fcmp uno double {square}, {square}")
        optional = code.let(f"icmp sge i64 {i}, {required}")
        require(code.let(f"fcmp ule double {square}, {largest}"))
        require(code.let(f"or i1 {optional}, {code.equal('i1', is_nan, 'false')}"))
    with code.rounds(copies) as i:
        source, at = pair(i)
        target = code.load("i64", at, 8 * _HEAD + 8)
        code.store("i64", code.load("i64", source, align=1), target)
    code.do(f"ret i64 {stamp}")
    code.label("other")
    code.do("ret i64 -1")
    function = code.function("define i64 @extract(i64 %plan, i64 %data, i64 %last)")
    text = module([function, _entry(code.typed_pointers)], [], code.typed_pointers)
    text = "\n".join([*_DECLARED, text])
    imports = {name: native_entry.function_address(name) for name in _INTEGERS}
    loaded = llvm.Loaded(cache.object_code("extract", text), ["extract", "call"], imports)
    if native_entry.available():  # takes a fifth of the time of ctypes
        about = "extract(plan, data, last, /)", "See `extraction.extractor`."
        return native_entry.builtin(loaded, *about, native_entry.FASTCALL, loaded)
    # It keeps the interpreter: to give it up and take it again costs more than the copies
    prototype = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_char_p, ctypes.c_int64)
    extract = prototype(loaded.address("extract"))
    extract.code = loaded  # type: ignore[attr-defined]  # lives as long as the function
    found: Callable[[int, bytes, int], int] = extract
    return found


def _entry(typed_pointers: bool) -> str:
    """Write the function that CPython calls with three objects: integer, bytes and integer."""
    code = Code(typed_pointers)
    plan, data, last = (code.load("i64", "%args", 8 * i) for i in range(3))
    plan, last = (code.let(f"call i64 @{_INTEGERS[0]}(i64 {x})") for x in (plan, last))
    content = code.let(f"add i64 {data}, {bytes.__basicsize__ - 1}")
    stamp = code.let(f"call i64 @extract(i64 {plan}, i64 {content}, i64 {last})")
    code.do(f"ret i64 {code.let(f'call i64 @{_INTEGERS[1]}(i64 {stamp})')}")
    return code.function("define i64 @call(i64 %self, i64 %args, i64 %count)")
