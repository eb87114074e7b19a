"""Writer of MCAP files that are complete after every flush, even if the process is killed then.

`flush` writes new messages as a small chunk, and behind it an index of all chunks, which the next
flush overwrites. Therefore a file whose writer was killed opens in every reader of MCAP, up to the
last flush. Many small chunks are packed into one, so that files stay small and indices short.
`mcap.writer.Writer` writes its index only once, at the end of a recording: without that end other
programs refuse the file. Records are those of `mcap.records`.
"""

from __future__ import annotations

import os
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

from robot_dynamics.errors import RecordingError
from robot_dynamics.recordings.bag_reader import MAGIC
from robot_dynamics.recordings.ros_messages import definition

PACKED_BYTES = 2**20
"""Size from which small chunks are packed into one, bytes."""

FILLER = 0x80
"""First opcode that MCAP leaves to applications; readers skip it."""

# For messages and their index, the classes of mcap.records take twice as long
_HEAD = Struct("<BQ")  # kind and length of a record
_MESSAGE = Struct("<BQHIQQ")  # with channel, sequence, time of arrival and of publication
_MESSAGE_INDEX = Struct("<BQHI")  # with channel and length of its entries
_ENTRY = Struct("<QQ")  # time of a message, and its place in the chunk
_CLOSING = 13 + 29 + len(MAGIC)  # bytes of the records DataEnd and Footer, and of the end


class _Chunk:
    """Records of a chunk before it is written."""

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
        """Return the chunk with its message indices, and its entry in the index of the file.

        Args:
            at: Its place in the file.
            compression: "zstd" or "".
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
        return records.end(), _bytes_of(index)


class _Chunks:
    """Chunks of a file: the place of their end, and their entries in its index."""

    def __init__(self, end: int, index: bytes = b"", count: int = 0) -> None:
        self.end, self.index, self.count = end, index, count

    def extended(self, data: bytes, index: bytes) -> _Chunks:
        return _Chunks(self.end + len(data), self.index + index, self.count + 1)


class McapWriter:
    """Writes serialized ROS 2 messages into a new file.

    Args:
        path: File to create.

    Raises:
        RecordingError: If it exists or cannot be written.
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
        self._declared = b""  # schemas and channels, as in the index
        self._counts: dict[int, int] = {}
        self._span = (2**63, 0)
        self._size = 0
        head = MAGIC + _bytes_of(Header(profile="ros2", library="robot_dynamics"))
        self._packed = self._flushed = _Chunks(len(head))
        self._put(0, head, self._packed)
        self._unpacked, self._unflushed = _Chunk(), _Chunk()  # messages behind them

    def channel(self, topic: str, kind: str) -> int:
        """Add a channel for messages of a type such as "sensor_msgs/msg/JointState"."""
        records = RecordBuilder()
        schema = self._schemas.get(kind)
        if schema is None:
            text = definition(kind).encode()
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
            channel: Number from `channel`.
            stamp: Time of arrival, ns.
            data: Serialized message (CDR).
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
        """Write all messages so far into the file, and leave it complete.

        Raises:
            RecordingError: If the disk is full or gone.
        """
        if self._unflushed.holds_messages:
            chunk = self._unflushed.records(self._flushed.end, "")
            self._flushed = self._put(self._flushed.end, chunk[0], self._flushed.extended(*chunk))
            self._unflushed = _Chunk()

    def close(self) -> None:
        """Write the remaining messages, and close the file."""
        self._size = 0  # the file may become shorter now
        self._pack()
        self._file.truncate()
        self._file.close()

    def _pack(self) -> None:
        """Replace the small chunks by one compressed chunk."""
        data, chunks = b"", self._packed
        if self._unpacked.holds_messages:
            data, index = self._unpacked.records(chunks.end, "zstd")
            chunks = chunks.extended(data, index)
            self._unpacked, self._unflushed = _Chunk(), _Chunk()
        self._flushed = self._put(self._packed.end, data, chunks)
        self._packed = chunks

    def _put(self, at: int, data: bytes, chunks: _Chunks) -> _Chunks:
        """Write data and the index behind it by one call, and return the chunks of the file.

        The end of the file must be that of the index. As the file never becomes shorter, a record
        without meaning fills the gap.
        """
        summary = self._summary(chunks)
        gap = self._size - (at + len(data) + len(summary) + _CLOSING)
        if gap > 0:
            gap = max(gap - _HEAD.size, 0)
            data += _HEAD.pack(FILLER, gap) + bytes(gap)
        data += _bytes_of(DataEnd(data_section_crc=0))
        footer = Footer(at + len(data), summary_offset_start=0, summary_crc=0)
        content = b"".join((data, summary, _bytes_of(footer), MAGIC))
        try:
            self._file.seek(at, SEEK_SET)
            if self._file.write(content) != len(content):
                raise OSError(0, "the disk is full")
        except OSError as error:
            raise RecordingError(f"{self.path}: cannot be written: {error.strerror}") from None
        self._size = at + len(content)
        return chunks

    def _summary(self, chunks: _Chunks) -> bytes:
        """Return the summary section of a file of these chunks."""
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
        return b"".join((self._declared, _bytes_of(statistics), chunks.index))


def _bytes_of(record: McapRecord) -> bytes:
    records = RecordBuilder()
    record.write(records)
    return bytes(records.end())
