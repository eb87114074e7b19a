"""Load rows of samples as vectors with one lane per sample, and store such vectors as rows.

Arrays hold one row per sample. The equations need one vector per column, with a
lane for each of W samples: pieces of rows are loaded and transposed in registers.
"""

from __future__ import annotations

from robot_dynamics.compiler.native.ir import Code, SimdType
from robot_dynamics.compiler.native.program_ir import FiniteCheck

_CHUNK_BYTES = 32  # bytes of a row that are transposed together; half as many are slower


def transpose(code: Code, lanes: SimdType, vectors: list[str]) -> list[str]:
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


def shuffle(code: Code, lanes: SimdType, a: str, b: str, picks: list[int]) -> str:
    """Pick lanes from a, and from b where the number is `width` or more."""
    mask = ", ".join(f"i32 {i}" for i in picks)
    kind = lanes.vector
    return code.let(f"shufflevector {kind} {a}, {kind} {b}, <{len(picks)} x i32> <{mask}>")


class SampleRows:
    """W rows of numbers in memory, as vectors with one lane per row.

    Columns are handled in chunks of B = 4 doubles or 8 floats, fewer in shorter rows. A vector
    holds W/B pieces of rows: vector v has those of lanes v, v + B, ... side by side. The last chunk
    ends with the row and so may overlap the one before: no piece ever leaves its row.

    Args:
        code: Where to write.
        lanes: Type and number of rows.
        address: Where they lie.
        length: Number of entries of one row.
        check: Gets every entry that is loaded.
    """

    def __init__(
        self,
        code: Code,
        lanes: SimdType,
        address: str,
        length: int,
        check: FiniteCheck | None = None,
    ) -> None:
        self.code = code
        self.lanes = lanes
        self.address = address
        self.length = length
        self.check = check
        most = min(_CHUNK_BYTES // lanes.bytes, lanes.width, max(1, length))
        self.piece = SimdType(lanes.scalar, 1 << (most.bit_length() - 1))
        self._columns: dict[int, str] = {}

    def column(self, column: int) -> str:
        """Return the vector of one column; its chunk is loaded on first use."""
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
        """Return the first column of the chunk that holds a column."""
        size = self.piece.width
        return min(column - column % size, self.length - size)

    def _load(self, v: int, first: int) -> str:
        """Return vector v of a chunk: pieces of rows, joined two by two."""
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
            part = SimdType(part.scalar, 2 * part.width)
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
        return (lane * self.length + column) * self.lanes.bytes
