"""CDR: the offsets of names, lengths and numbers in the bytes of a message.

The Common Data Representation of DDS-XTypes 1.3, section 7.4.1 (XCDR version 1, plain,
little-endian): four bytes of encapsulation, then every field, aligned to its own size relative to
the end of these bytes. Text and sequences begin with their length, text ends with a zero. Senders
leave arbitrary values in the bytes that align the fields.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np

from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.units import NS_PER_S

ENCAPSULATION = b"\x00\x01\x00\x00"
"""First bytes of plain little-endian CDR."""

DOUBLE, FLOAT64 = 8, np.dtype("<f8")
"""Size of a float64 in bytes, and its type."""

STAMP = struct.Struct("<iI")
"""A builtin_interfaces/Time: seconds and nanoseconds."""


class Layout:
    """Layout of messages with known texts and lengths and any numbers.

    Built field by field, in the order of the message.
    """

    def __init__(self) -> None:
        self._bytes = bytearray(ENCAPSULATION)
        self._known = bytearray(b"\xff" * len(ENCAPSULATION))  # 0 where a byte may be anything
        self._stamp = 0
        self._first, self._rows, self._count = 0, 0, 0  # sequences that are not empty: where they
        # begin, how many there are, and how long each is
        self._shape, self._strides = (0, 0), (DOUBLE, DOUBLE)
        self._parts: tuple[tuple[int, bytes], ...] = ()

    # -- building -----------------------------------------------------------------------------

    def stamp(self) -> Layout:
        """Add a builtin_interfaces/Time of any value; one in a message."""
        self._stamp = self._free(DOUBLE)
        return self

    def whole(self, value: int) -> Layout:
        """Add a uint32."""
        self._align(4)
        self._bytes += struct.pack("<I", value)
        self._known += b"\xff" * 4
        return self

    def text(self, value: str) -> Layout:
        """Add a string."""
        encoded = value.encode() + b"\x00"
        self.whole(len(encoded))
        self._bytes += encoded
        self._known += b"\xff" * len(encoded)
        return self

    def texts(self, values: Sequence[str]) -> Layout:
        """Add a sequence of strings."""
        self.whole(len(values))
        for value in values:
            self.text(value)
        return self

    def numbers(self, count: int) -> Layout:
        """Add a sequence of `count` float64 of any value; all later ones have this length."""
        self.whole(count)
        if count:  # an empty sequence is not aligned
            self._align(DOUBLE)
            at = self._free(DOUBLE * count)
            self._first = self._first or at
            self._rows, self._count = self._rows + 1, count
            self._shape, self._strides = (self._rows, count), (self._stride, DOUBLE)
        return self

    def _align(self, size: int) -> None:
        self._free(-(len(self._bytes) - len(ENCAPSULATION)) % size)

    def _free(self, size: int) -> int:
        offset = len(self._bytes)
        self._bytes += bytes(size)
        self._known += bytes(size)
        return offset

    @property
    def size(self) -> int:
        """Return the size of the message, bytes."""
        return len(self._bytes)

    @property
    def known(self) -> tuple[bytes, bytes]:
        """Return the bytes of a message, and a mask: 0xff where they are fixed, else 0."""
        return bytes(self._bytes), bytes(self._known)

    @property
    def stamp_at(self) -> int:
        """Return the offset of the stamp."""
        return self._stamp

    def place(self, row: int, i: int) -> int:
        """Return the offset of entry i of a sequence of numbers; see `rows`."""
        return self._first + row * self._stride + i * DOUBLE

    # -- reading ------------------------------------------------------------------------------

    def fits(self, data: bytes) -> bool:
        """Return whether a message has these texts and lengths; bytes behind its end do not count.

        Usually the bytes that align fields are those of the last message too, which is fast.
        """
        if len(data) < self.size:
            return False
        for start, was in self._parts:
            if not data.startswith(was, start):
                break
        else:
            if self._parts:
                return True
        given, own, known = (
            np.frombuffer(x, dtype=np.uint8, count=self.size)
            for x in (data, self._bytes, self._known)
        )
        if ((given ^ own) & known).any():
            return False
        self._parts = tuple((where.start, data[where]) for where in self._between())
        return True

    def _between(self) -> list[slice]:
        """Return the parts of the message without numbers."""
        free = [(self._stamp, self._stamp + DOUBLE)] if self._stamp else []
        starts = [self._first + i * self._stride for i in range(self._rows)]
        free += [(at, at + DOUBLE * self._count) for at in starts]
        ends = [0, *(x for pair in free for x in pair), self.size]
        return [slice(a, b) for a, b in zip(ends[::2], ends[1::2], strict=True) if a < b]

    def read_stamp(self, data: bytes) -> int:
        """Return the stamp of a message that fits, ns."""
        seconds, nanoseconds = STAMP.unpack_from(data, self._stamp)
        return int(seconds * NS_PER_S + nanoseconds)

    def rows(self, data: bytes | bytearray) -> Array:
        """Return the sequences of numbers of a message that fits, as rows of a view into its bytes.

        Returns:
            Numbers, shape (sequences that are not empty, length).
        """
        return np.ndarray(self._shape, FLOAT64, data, self._first, self._strides)

    @property
    def _stride(self) -> int:
        """Return the offset between sequences: 8 bytes more, of lengths or of alignment."""
        return DOUBLE * (self._count + 1)

    # -- writing ------------------------------------------------------------------------------

    def blank(self) -> bytearray:
        """Return a new message with every number zero."""
        return bytearray(self._bytes)

    def write_stamp(self, data: bytearray, ns: int) -> None:
        """Write a stamp, ns, into a message of this layout."""
        STAMP.pack_into(data, self._stamp, *divmod(ns, NS_PER_S))
