"""An MCAP file that is complete at every moment, whatever becomes of its writer.

After each chunk comes an index of all chunks so far, which the next chunk overwrites. So a file
whose writer was killed opens in everything that reads MCAP, up to the last `flush`.
"""

from __future__ import annotations

import os
from functools import cache
from io import SEEK_SET
from pathlib import Path
from typing import Any
from zlib import crc32

import zstandard
from mcap.data_stream import RecordBuilder
from mcap.records import (
    Channel,
    Chunk,
    ChunkIndex,
    DataEnd,
    Footer,
    Header,
    Message,
    MessageIndex,
    Schema,
    Statistics,
)
from rosbags.typesys import Stores, get_typestore

from robot_dynamics.errors import RecordingError

MAGIC = b"\x89MCAP0\r\n"

LARGEST_CHUNK_BYTES = 4 * 2**20
"""Size from where on a chunk is written before its time, bytes."""

FLUSH_PERIOD_S = 0.5
"""Time after which what has come should be in the file, s: what a killed writer may lose."""


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
        self._schemas: list[Schema] = []
        self._channels: list[Channel] = []
        self._indexes: list[ChunkIndex] = []
        self._counts: dict[int, int] = {}
        self._span = (0, 0)
        self._begin_chunk()
        header = RecordBuilder()
        Header(profile="ros2", library="robot_dynamics").write(header)
        self._end = 0  # of the data; behind it is the index
        self._put(MAGIC + header.end())

    def _begin_chunk(self) -> None:
        self._chunk = RecordBuilder()
        self._messages: dict[int, MessageIndex] = {}
        self._chunk_span: tuple[int, int] | None = None

    def channel(self, topic: str, kind: str) -> int:
        """A channel for messages of a type such as "sensor_msgs/msg/JointState"."""
        schema = next((s for s in self._schemas if s.name == kind), None)
        if schema is None:
            text = message_definition(kind).encode()
            schema = Schema(id=len(self._schemas) + 1, name=kind, encoding="ros2msg", data=text)
            schema.write(self._chunk)
            self._schemas.append(schema)
        channel = Channel(
            id=len(self._channels) + 1,
            topic=topic,
            message_encoding="cdr",
            metadata={"offered_qos_profiles": ""},
            schema_id=schema.id,
        )
        channel.write(self._chunk)
        self._channels.append(channel)
        self._counts[channel.id] = 0
        return channel.id

    def write(self, channel: int, stamp: int, data: bytes) -> None:
        """Add a message.

        Args:
            channel: As `channel` gave it.
            stamp: When it came, ns.
            data: The message, serialized (CDR).
        """
        index = self._messages.setdefault(channel, MessageIndex(channel_id=channel, records=[]))
        index.records.append((stamp, self._chunk.count))
        Message(
            channel_id=channel, log_time=stamp, publish_time=stamp, sequence=0, data=data
        ).write(self._chunk)
        self._counts[channel] += 1
        first, last = self._chunk_span or (stamp, stamp)
        self._chunk_span = min(first, stamp), max(last, stamp)
        if self._chunk.count > LARGEST_CHUNK_BYTES:
            self.flush()

    def flush(self) -> None:
        """Bring everything so far into the file, and leave it complete.

        Raises:
            RecordingError: If the disk is full or gone.
        """
        try:
            self._put(self._chunk_records() if self._chunk_span is not None else b"")
        except OSError as error:
            raise RecordingError(f"{self.path}: cannot be written: {error.strerror}") from None

    def close(self) -> None:
        """Write what is left, and close the file."""
        self.flush()
        self._file.close()

    def _put(self, data: bytes) -> None:
        """Write data where the index stands, and the index behind it, in one go: it only grows."""
        self._file.seek(self._end, SEEK_SET)
        self._end += len(data)
        everything = data + self._index(self._end)
        if self._file.write(everything) != len(everything):
            raise OSError(0, "the disk is full")

    def _chunk_records(self) -> bytes:
        """The chunk and where its messages are; a new one begins."""
        assert self._chunk_span is not None
        data = self._chunk.end()
        packed = zstandard.compress(data, 1)
        first, last = self._chunk_span
        records = RecordBuilder()
        Chunk(
            compression="zstd",
            data=packed,
            message_start_time=first,
            message_end_time=last,
            uncompressed_crc=crc32(data),
            uncompressed_size=len(data),
        ).write(records)
        length, offsets = records.count, {}
        for channel, index in self._messages.items():
            offsets[channel] = self._end + records.count
            index.write(records)
        self._indexes.append(
            ChunkIndex(
                chunk_length=length,
                chunk_start_offset=self._end,
                compression="zstd",
                compressed_size=len(packed),
                message_end_time=last,
                message_index_length=records.count - length,
                message_index_offsets=offsets,
                message_start_time=first,
                uncompressed_size=len(data),
            )
        )
        begun = len(self._indexes) > 1
        self._span = (min(self._span[0], first) if begun else first, max(self._span[1], last))
        self._begin_chunk()
        return records.end()

    def _index(self, end: int) -> bytes:
        """What closes the file if nothing more comes; `end` is where the data ends."""
        records = RecordBuilder()
        DataEnd(data_section_crc=0).write(records)
        start = end + records.count
        statistics = Statistics(
            attachment_count=0,
            channel_count=len(self._channels),
            channel_message_counts=self._counts,
            chunk_count=len(self._indexes),
            message_count=sum(self._counts.values()),
            message_end_time=self._span[1],
            message_start_time=self._span[0],
            metadata_count=0,
            schema_count=len(self._schemas),
        )
        summary: list[Any] = [*self._schemas, *self._channels, statistics, *self._indexes]
        for record in summary:
            record.write(records)
        Footer(summary_start=start, summary_offset_start=0, summary_crc=0).write(records)
        return records.end() + MAGIC


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
