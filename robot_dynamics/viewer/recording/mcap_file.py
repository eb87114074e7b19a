"""An MCAP file that is complete at every moment, whatever becomes of its writer.

Each `flush` writes a small chunk with what has come, and behind it an index of all chunks, which
the next flush overwrites. So a file whose writer was killed opens in everything that reads MCAP,
up to the last flush. Small chunks are packed into one when they are many.
"""

from __future__ import annotations

import os
from functools import cache
from io import SEEK_SET
from pathlib import Path
from struct import Struct
from zlib import crc32

import zstandard
from mcap.data_stream import RecordBuilder
from mcap.opcode import Opcode
from mcap.records import (
    Channel,
    Chunk,
    ChunkIndex,
    DataEnd,
    Footer,
    Header,
    McapRecord,
    Schema,
    Statistics,
)
from rosbags.typesys import Stores, get_typestore

from robot_dynamics.errors import RecordingError

MAGIC = b"\x89MCAP0\r\n"

PACKED_BYTES = 2**20
"""Size from where on what has come is packed into one chunk, bytes."""

FILLER = 0x80
"""First kind of record that MCAP leaves to us; readers skip it."""

# Struct, and not the records of mcap, for what there is thousands of
_HEAD = Struct("<BQ")  # kind and length of a record
_MESSAGE = Struct("<BQHIQQ")  # with channel, sequence, time of arrival and of publication
_MESSAGE_INDEX = Struct("<BQHI")  # with channel and length of its entries
_ENTRY = Struct("<QQ")  # time of a message, and its place in the chunk
_CLOSING = 13 + 29 + len(MAGIC)  # bytes of the records DataEnd and Footer, and of the end


class _Chunk:
    """Records that will be one chunk."""

    def __init__(self) -> None:
        self.data, self.span = bytearray(), (2**63, 0)
        self._entries: dict[int, bytearray] = {}

    @property
    def holds_messages(self) -> bool:
        return bool(self._entries)

    def add_message(self, channel: int, stamp: int, record: bytes) -> None:
        self._entries.setdefault(channel, bytearray()).extend(_ENTRY.pack(stamp, len(self.data)))
        self.data += record
        self.span = min(self.span[0], stamp), max(self.span[1], stamp)

    def records(self, at: int, compression: str) -> tuple[bytes, bytes]:
        """The chunk with where its messages are, and its entry in the index of a file.

        Args:
            at: Where in the file it will stand.
            compression: "zstd" or none.
        """
        data, (first, last) = bytes(self.data), self.span
        packed = zstandard.compress(data, 1) if compression else data
        records = RecordBuilder()
        Chunk(
            compression=compression,
            data=packed,
            message_start_time=first,
            message_end_time=last,
            uncompressed_crc=crc32(data),
            uncompressed_size=len(data),
        ).write(records)
        length, offsets = records.count, {}
        for channel, entries in self._entries.items():
            offsets[channel] = at + records.count
            size = _MESSAGE_INDEX.size - _HEAD.size + len(entries)
            records.write(_MESSAGE_INDEX.pack(Opcode.MESSAGE_INDEX, size, channel, len(entries)))
            records.write(entries)
        index = ChunkIndex(
            chunk_length=length,
            chunk_start_offset=at,
            compression=compression,
            compressed_size=len(packed),
            message_end_time=last,
            message_index_length=records.count - length,
            message_index_offsets=offsets,
            message_start_time=first,
            uncompressed_size=len(data),
        )
        return records.end(), _written(index)


class _Chunks:
    """Chunks of a file: where they end, and their entries in its index."""

    def __init__(self, end: int, index: bytes = b"", count: int = 0) -> None:
        self.end, self.index, self.count = end, index, count

    def with_one(self, data: bytes, index: bytes) -> _Chunks:
        return _Chunks(self.end + len(data), self.index + index, self.count + 1)


class McapFile:
    """Writes ROS 2 messages, as they are serialized, into a new file.

    Args:
        path: File to make.

    Raises:
        RecordingError: If it exists, or cannot be written.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        try:
            self._file = self.path.open("xb", buffering=0)
        except FileExistsError:
            raise RecordingError(f"{path}: exists already; name a new file") from None
        except OSError as error:
            raise RecordingError(f"{path}: cannot be written: {error.strerror}") from None
        self._schemas: dict[str, Schema] = {}
        self._declared = b""  # schemas and channels, as they stand in the index
        self._counts: dict[int, int] = {}
        self._span = (2**63, 0)
        self._size = 0
        head = MAGIC + _written(Header(profile="ros2", library="robot_dynamics"))
        self._packed = self._flushed = _Chunks(len(head))
        self._put(0, head, self._packed)
        self._unpacked, self._unflushed = _Chunk(), _Chunk()  # messages since then

    def channel(self, topic: str, kind: str) -> int:
        """A channel for messages of a type such as "sensor_msgs/msg/JointState"."""
        records = RecordBuilder()
        schema = self._schemas.get(kind)
        if schema is None:
            text = message_definition(kind).encode()
            schema = Schema(id=len(self._schemas) + 1, name=kind, encoding="ros2msg", data=text)
            schema.write(records)
            self._schemas[kind] = schema
        channel = Channel(
            id=len(self._counts) + 1,
            topic=topic,
            message_encoding="cdr",
            metadata={"offered_qos_profiles": ""},
            schema_id=schema.id,
        )
        channel.write(records)
        self._counts[channel.id] = 0
        declared = records.end()
        self._declared += declared
        for chunk in (self._unpacked, self._unflushed):
            chunk.data += declared
        return channel.id

    def write(self, channel: int, stamp: int, data: bytes) -> None:
        """Add a message.

        Args:
            channel: As `channel` gave it.
            stamp: When it came, ns.
            data: The message, serialized (CDR).
        """
        length = _MESSAGE.size - _HEAD.size + len(data)
        record = _MESSAGE.pack(Opcode.MESSAGE, length, channel, 0, stamp, stamp) + data
        for chunk in (self._unpacked, self._unflushed):
            chunk.add_message(channel, stamp, record)
        self._counts[channel] += 1
        self._span = min(self._span[0], stamp), max(self._span[1], stamp)
        if len(self._unpacked.data) >= PACKED_BYTES:
            self._pack()

    def flush(self) -> None:
        """Bring everything so far into the file, and leave it complete.

        Raises:
            RecordingError: If the disk is full or gone.
        """
        if self._unflushed.holds_messages:
            chunk = self._unflushed.records(self._flushed.end, "")
            self._flushed = self._put(self._flushed.end, chunk[0], self._flushed.with_one(*chunk))
            self._unflushed = _Chunk()

    def close(self) -> None:
        """Write what is left, and close the file."""
        self._size = 0  # it may become shorter
        self._pack()
        self._file.truncate()
        self._file.close()

    def _pack(self) -> None:
        """Put one chunk in the place of those since the last time."""
        data, chunks = b"", self._packed
        if self._unpacked.holds_messages:
            data, index = self._unpacked.records(chunks.end, "zstd")
            chunks = chunks.with_one(data, index)
            self._unpacked, self._unflushed = _Chunk(), _Chunk()
        self._flushed = self._put(self._packed.end, data, chunks)
        self._packed = chunks

    def _put(self, at: int, data: bytes, chunks: _Chunks) -> _Chunks:
        """Write data and the index behind it in one go; the chunks that the file then has.

        The file never becomes shorter, as nothing may stand behind the index: what is left is
        filled by a record that means nothing.
        """
        summary = self._summary(chunks)
        room = self._size - (at + len(data) + len(summary) + _CLOSING)
        if room > 0:
            room = max(room - _HEAD.size, 0)
            data += _HEAD.pack(FILLER, room) + bytes(room)
        data += _written(DataEnd(data_section_crc=0))
        footer = Footer(at + len(data), summary_offset_start=0, summary_crc=0)
        everything = b"".join((data, summary, _written(footer), MAGIC))
        try:
            self._file.seek(at, SEEK_SET)
            if self._file.write(everything) != len(everything):
                raise OSError(0, "the disk is full")
        except OSError as error:
            raise RecordingError(f"{self.path}: cannot be written: {error.strerror}") from None
        self._size = at + len(everything)
        return chunks

    def _summary(self, chunks: _Chunks) -> bytes:
        """What a reader looks up of a file of these chunks."""
        count = sum(self._counts.values())
        first, last = self._span if count else (0, 0)
        statistics = Statistics(
            attachment_count=0,
            channel_count=len(self._counts),
            channel_message_counts=self._counts,
            chunk_count=chunks.count,
            message_count=count,
            message_end_time=last,
            message_start_time=first,
            metadata_count=0,
            schema_count=len(self._schemas),
        )
        return b"".join((self._declared, _written(statistics), chunks.index))


def _written(record: McapRecord) -> bytes:
    records = RecordBuilder()
    record.write(records)
    return bytes(records.end())


@cache
def message_definition(kind: str) -> str:
    """The definition of a type of message with those of all it contains, as bags hold it.

    Raises:
        RecordingError: If the type is not known.
    """
    store = get_typestore(Stores.ROS2_JAZZY)
    try:
        definition, _ = store.generate_msgdef(kind, ros_version=2)
    except Exception as error:
        raise RecordingError(f"no definition of message {kind} ({error})") from None
    return str(definition)
