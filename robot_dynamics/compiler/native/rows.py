"""Rows of samples in memory, as vectors with one lane per sample, and back.

Arrays hold one row per sample. The equations need one vector per column, with a
lane for each of W samples. Two ways lead from one to the other: pieces of rows
are loaded and transposed (`_Transposed`), or the block is read as it lies and sifted
(`_Sifted`), which is faster for short rows of floats.
"""

from __future__ import annotations

import math
from typing import Protocol

from robot_dynamics.compiler.native.ir import Code, Lanes
from robot_dynamics.compiler.native.program_ir import FiniteCheck

_CHUNK_BYTES = 32  # bytes of a row that are transposed together; half as many are slower

_SIFTED = 16
"""Lanes of the vectors that short rows are sifted into: blends are cheap in 512 bits only."""


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
    # Longer ones need more masks than there are registers for, and pieces of rows are faster then
    if lanes.width == _SIFTED and length in (1, 2, 3, 4, 6):
        return _Sifted(code, lanes, address, length, check)
    return _Transposed(code, lanes, address, length, check)


def _row_of_lane(lanes: Lanes) -> list[int]:
    """The row that every lane holds: any order will do that all arrays have in common."""
    if lanes.width != _SIFTED:
        return list(range(lanes.width))
    return [lane // 4 + 4 * (lane % 4) for lane in range(lanes.width)]  # the cheapest to sift


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
    holds W/B pieces of rows: vector v has those of lanes v, v + B, ... side by side. The last chunk
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
        self.row_of_lane = _row_of_lane(lanes)
        most = min(_CHUNK_BYTES // lanes.bytes, lanes.width, max(1, length))
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
            self.code.load(part.vector, self.address, self._offset(lane, first), part.bytes)
            for lane in range(v, self.lanes.width, part.width)
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
        for k, lane in enumerate(range(v, self.lanes.width, part.width)):
            picks = list(range(k * part.width, (k + 1) * part.width))
            piece = shuffle(self.code, self.lanes, vector, vector, picks)
            self.code.store(part.vector, piece, self.address, self._offset(lane, first), part.bytes)

    def _offset(self, lane: int, column: int) -> int:
        return (self.row_of_lane[lane] * self.length + column) * self.lanes.bytes


class _Sifted:
    """Rows of few floats, read from end to end, 16 rows at once.

    A row is an odd number of units, of 1, 2 or 4 entries. Unit c of each row lies in other lanes
    of each vector that rows are read into, because that odd number and the number of lanes have
    no common factor: lane by lane it is picked into one vector, and put in order there. Units of
    several entries are then taken apart within 128 bits. Both are cheaper than to pick any lanes
    of two registers.
    """

    def __init__(
        self, code: Code, lanes: Lanes, address: str, length: int, check: FiniteCheck | None
    ) -> None:
        self.code = code
        self.lanes = lanes
        self.address = address
        self.check = check
        self.size = math.gcd(length, 4)  # entries of a unit
        self.units = length // self.size  # of a row
        self.rows = lanes.width // self.size  # that as many vectors hold as a row has units
        self._columns: list[str] = []

    def column(self, column: int) -> str:
        """The vector of one column; all are loaded on first use."""
        if not self._columns:
            groups = [
                [self._load(group * self.units + k) for k in range(self.units)]
                for group in range(self.size)
            ]
            for c in range(self.units):
                self._columns += self._take_apart([self._unit(group, c) for group in groups])
        return self._columns[column]

    def store(self, columns: list[str]) -> None:
        """Write all columns."""
        parts = [
            self._put_together(columns[k : k + self.size])
            for k in range(0, len(columns), self.size)
        ]
        for group in range(self.size):
            units = [self._scatter(part[group], c) for c, part in enumerate(parts)]
            for k in range(self.units):
                vector = units[0]
                for c in range(1, self.units):
                    here = [(k * self.rows + u) % self.units == c for u in range(self.rows)]
                    vector = self._blend(vector, units[c], here)
                self._store(vector, group * self.units + k)

    def _unit(self, vectors: list[str], c: int) -> str:
        """Unit c of every row of a group, in the order of `_row_of_lane`."""
        place = [row * self.units + c for row in range(self.rows)]
        vector = vectors[0]
        for k in range(1, self.units):
            there = {at % self.rows for at in place if at // self.rows == k}
            vector = self._blend(vector, vectors[k], [u in there for u in range(self.rows)])
        return self._permute(vector, [place[row] % self.rows for row in self._order()])

    def _scatter(self, vector: str, c: int) -> str:
        """The inverse of `_unit`: every unit in the lane in which rows have it."""
        lane = {(row * self.units + c) % self.rows: lane for lane, row in enumerate(self._order())}
        return self._permute(vector, [lane[u] for u in range(self.rows)])

    def _order(self) -> list[int]:
        """Row of a group in each lane of units."""
        step = 4 // self.size
        return [lane // step + 4 * (lane % step) for lane in range(self.rows)]

    def _take_apart(self, vectors: list[str]) -> list[str]:
        """Columns of one unit of all rows, from its vectors in every group."""
        if self.size != 2:
            return transpose(self.code, self.lanes, vectors)
        a, b = vectors
        return [self._by_fours(a, b, (e, 2 + e, 4 + e, 6 + e)) for e in (0, 1)]

    def _put_together(self, columns: list[str]) -> list[str]:
        """The inverse of `_take_apart`."""
        if self.size != 2:
            return transpose(self.code, self.lanes, columns)
        a, b = columns
        return [self._by_fours(a, b, (g, 4 + g, 1 + g, 5 + g)) for g in (0, 2)]

    def _by_fours(self, a: str, b: str, picks: tuple[int, ...]) -> str:
        """In every four lanes, pick from those of a, and of b where the number is 4 or more."""
        width = self.lanes.width
        fours = range(0, width, 4)
        everywhere = [j + i + (width - 4) * (i >= 4) for j in fours for i in picks]
        return shuffle(self.code, self.lanes, a, b, everywhere)

    def _blend(self, a: str, b: str, of_b: list[bool]) -> str:
        """Unit for unit, that of a, or that of b."""
        picks = [u + self.rows * other for u, other in enumerate(of_b)]
        return shuffle(self.code, self.lanes, a, b, self._entries(picks))

    def _permute(self, vector: str, units: list[int]) -> str:
        return shuffle(self.code, self.lanes, vector, vector, self._entries(units))

    def _entries(self, units: list[int]) -> list[int]:
        return [u * self.size + e for u in units for e in range(self.size)]

    def _load(self, k: int) -> str:
        lanes = self.lanes
        place = k * lanes.width * lanes.bytes
        vector = self.code.load(lanes.type, self.address, place, lanes.bytes)
        if self.check:
            self.check.add(vector)
        return vector

    def _store(self, vector: str, k: int) -> None:
        lanes = self.lanes
        place = k * lanes.width * lanes.bytes
        self.code.store(lanes.type, vector, self.address, place, lanes.bytes)
