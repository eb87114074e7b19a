"""Rows of samples in memory, as vectors with one lane per sample, and back.

Arrays hold one row per sample. The equations need one vector per column, with a
lane for each of W samples. Two ways lead from one to the other: pieces of rows
are loaded and transposed (`_Transposed`), or the block is read as it lies and its
entries are dealt out (`_Dealt`), which is faster for rows of few, small factors.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from robot_dynamics.compiler.ir import Code, FiniteCheck, Lanes

_CHUNK = 32  # bytes of a row that are transposed together; half as many are slower


class Rows(Protocol):
    """W rows of numbers in memory, as vectors with one lane per row."""

    def column(self, column: int) -> str:
        """The vector of one column, loaded on first use."""

    def store(self, columns: list[str]) -> None:
        """Write all columns."""


def rows_at(
    code: Code, lanes: Lanes, address: str, length: int, check: FiniteCheck | None = None
) -> Rows:
    """The rows at an address.

    Args:
        code: Where to write.
        lanes: Type and number of rows.
        address: Where they lie.
        length: Number of entries of one row.
        check: Gets every entry that is loaded.
    """
    # Dealing takes any lanes of two registers at once, cheap only in registers of 512 bits, and
    # pays for as many as three steps: floats in rows of 2, 3, 4, 6 or 8
    if lanes.width == 16 and length in (2, 3, 4, 6, 8):
        return _Dealt(code, lanes, address, length, check)
    return _Transposed(code, lanes, address, length, check)


def transpose(code: Code, lanes: Lanes, vectors: list[str]) -> list[str]:
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


def shuffle(code: Code, lanes: Lanes, a: str, b: str, picks: list[int]) -> str:
    """Pick lanes from a, and from b where the number is `width` or more."""
    mask = ", ".join(f"i32 {i}" for i in picks)
    kind = lanes.vector
    return code.let(f"shufflevector {kind} {a}, {kind} {b}, <{len(picks)} x i32> <{mask}>")


class _Transposed:
    """W rows of numbers in memory, as vectors with one lane per row.

    Columns are handled in chunks of B = 4 doubles or 8 floats, fewer in shorter rows. A vector
    holds W/B pieces of rows: vector v has rows v, v + B, v + 2B, ... side by side. The last chunk
    ends with the row and so may overlap the one before: no piece ever leaves its row.
    """

    def __init__(
        self, code: Code, lanes: Lanes, address: str, length: int, check: FiniteCheck | None
    ) -> None:
        self.code = code
        self.lanes = lanes
        self.address = address
        self.length = length
        self.check = check
        most = min(_CHUNK // lanes.bytes, lanes.width, max(1, length))
        self.piece = Lanes(lanes.scalar, 1 << (most.bit_length() - 1))
        self._columns: dict[int, str] = {}

    def column(self, column: int) -> str:
        """The vector of one column; its chunk is loaded on first use."""
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
        """First column of the chunk that holds a column."""
        size = self.piece.width
        return min(column - column % size, self.length - size)

    def _load(self, v: int, first: int) -> str:
        """Vector v of a chunk: pieces of rows, joined two by two."""
        part = self.piece
        pieces = [
            self.code.load(part.vector, self.address, self._offset(row, first), part.bytes)
            for row in range(v, self.lanes.width, part.width)
        ]
        while len(pieces) > 1:
            everything = list(range(2 * part.width))
            pieces = [
                shuffle(self.code, part, a, b, everything)
                for a, b in zip(pieces[::2], pieces[1::2], strict=True)
            ]
            part = Lanes(part.scalar, 2 * part.width)
        if self.check:
            self.check.add(pieces[0])
        return pieces[0]

    def _store(self, vector: str, v: int, first: int) -> None:
        part = self.piece
        for k, row in enumerate(range(v, self.lanes.width, part.width)):
            picks = list(range(k * part.width, (k + 1) * part.width))
            piece = shuffle(self.code, self.lanes, vector, vector, picks)
            self.code.store(part.vector, piece, self.address, self._offset(row, first), part.bytes)

    def _offset(self, row: int, column: int) -> int:
        return (row * self.length + column) * self.lanes.bytes


class _Dealt:
    """W rows of numbers in memory, read from end to end without regard to rows.

    As many vectors as a row has entries hold the block; every second (or third) entry goes to
    another hand, and each hand is dealt out again until it is a column.
    """

    def __init__(
        self, code: Code, lanes: Lanes, address: str, length: int, check: FiniteCheck | None
    ) -> None:
        self.code = code
        self.lanes = lanes
        self.address = address
        self.length = length
        self.check = check
        self._columns: list[str] = []

    def column(self, column: int) -> str:
        """The vector of one column; all are loaded on first use."""
        if not self._columns:
            kind, size = self.lanes.type, self.lanes.bytes
            places = [k * self.lanes.width * size for k in range(self.length)]
            vectors = [self.code.load(kind, self.address, place, size) for place in places]
            if self.check:
                for vector in vectors:
                    self.check.add(vector)
            self._columns = self._deal(vectors)
        return self._columns[column]

    def store(self, columns: list[str]) -> None:
        """Write all columns."""
        size = self.lanes.bytes
        for k, vector in enumerate(self._collect(columns)):
            self.code.store(
                self.lanes.type, vector, self.address, k * self.lanes.width * size, size
            )

    def _deal(self, vectors: list[str]) -> list[str]:
        if len(vectors) == 1:
            return vectors
        p, width = _hands(len(vectors)), self.lanes.width
        groups = [vectors[k : k + p] for k in range(0, len(vectors), p)]
        hands = [
            self._deal([self._pick(group, range(r, p * width, p)) for group in groups])
            for r in range(p)
        ]
        return [hands[k % p][k // p] for k in range(len(vectors))]

    def _collect(self, columns: list[str]) -> list[str]:
        """The inverse of `_deal`."""
        if len(columns) == 1:
            return columns
        p, width = _hands(len(columns)), self.lanes.width
        hands = [self._collect(columns[r::p]) for r in range(p)]
        return [
            self._pick(group, [e % p * width + e // p for e in range(k * width, (k + 1) * width)])
            for group in zip(*hands, strict=True)
            for k in range(p)
        ]

    def _pick(self, vectors: Sequence[str], positions: Iterable[int]) -> str:
        """The entries at these positions of two or three vectors, seen as one sequence."""
        code, lanes, width, wanted = self.code, self.lanes, self.lanes.width, list(positions)
        first = [p if p < 2 * width else 0 for p in wanted]
        result = shuffle(code, lanes, vectors[0], vectors[1], first)
        for vector in vectors[2:]:
            rest = [p - width if p >= 2 * width else i for i, p in enumerate(wanted)]
            result = shuffle(code, lanes, result, vector, rest)
        return result


def _hands(count: int) -> int:
    return 2 if count % 2 == 0 else 3
