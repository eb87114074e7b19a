"""Writer of MCAP files that open after every flush, even if the process is killed then.

`mcap.writer.Writer` writes a chunk when it is full, and the end of the file with its index when the
file is closed. Before, other programs refuse the file. A flush therefore writes new messages as a
small chunk, and an end without index. The full chunk replaces the small ones later. Readers go
through all of a file without index.
"""

from __future__ import annotations

import os
from pathlib import Path
from struct import Struct

from mcap.data_stream import RecordBuilder
from mcap.opcode import Opcode
from mcap.records import Channel, Chunk, DataEnd, Footer, McapRecord, Schema
from mcap.writer import Writer

from robot_dynamics.errors import RecordingError
from robot_dynamics.recordings.bag_reader import MAGIC
from robot_dynamics.recordings.ros_messages import definition

FILLER = 0x80
"""First opcode that MCAP leaves to applications; readers skip it."""

_HEAD = Struct("<BQ")  # kind and length of a record
_MESSAGE = Struct("<BQHIQQ")  # with channel, sequence, time of arrival and of publication


class McapWriter:
    """Writes serialized ROS 2 messages into a new file.

    Args:
        path: File to create.

    Raises:
        RecordingError: If it exists or cannot be written.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._file = _File(self.path)
        self._writer = Writer(self._file)
        self._writer.start(profile="ros2", library="robot_dynamics")
        self._file.write_chunk()
        self._schemas: dict[str, int] = {}
        self._unwritten, self._stamps = bytearray(), list[int]()  # since the last flush

    def channel(self, topic: str, kind: str) -> int:
        """Add a channel for messages of a type such as "sensor_msgs/msg/JointState"."""
        schema = self._schemas.get(kind)
        if schema is None:
            text = definition(kind).encode()
            schema = self._schemas[kind] = self._writer.register_schema(kind, "ros2msg", text)
            self._add(_bytes_of(Schema(schema, text, "ros2msg", kind)))
        about = {"topic": topic, "message_encoding": "cdr", "schema_id": schema}
        metadata = {"offered_qos_profiles": ""}
        channel = int(self._writer.register_channel(**about, metadata=metadata))
        self._add(_bytes_of(Channel(id=channel, **about, metadata=metadata)))
        return channel

    def write(self, channel: int, stamp: int, data: bytes) -> None:
        """Add a message.

        Args:
            channel: Number from `channel`.
            stamp: Time of arrival, ns.
            data: Serialized message (CDR).
        """
        length = _MESSAGE.size - _HEAD.size + len(data)
        self._writer.add_message(channel, stamp, data, stamp)
        self._stamps.append(stamp)
        self._add(_MESSAGE.pack(Opcode.MESSAGE, length, channel, 0, stamp, stamp) + data)

    def _add(self, record: bytes) -> None:
        """Add a record that the writer has taken; it may have filled a chunk."""
        self._unwritten += record
        if self._file.chunk:
            self._file.write_chunk()
            self._forget()

    def _forget(self) -> None:
        self._unwritten.clear()
        self._stamps.clear()

    def flush(self) -> None:
        """Write all messages so far into the file, and leave it complete.

        Raises:
            RecordingError: If the disk is full or gone.
        """
        if self._stamps:
            small = Chunk(
                compression="",
                data=bytes(self._unwritten),
                message_start_time=min(self._stamps),
                message_end_time=max(self._stamps),
                uncompressed_crc=0,
                uncompressed_size=len(self._unwritten),
            )
            self._file.append(_bytes_of(small))
            self._forget()

    def close(self) -> None:
        """Write the remaining messages and the index, and close the file."""
        self._writer.finish()
        self._file.close()


class _File:
    """The stream of a `Writer`: its chunks, and behind them records until the next chunk."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._file = path.open("xb", buffering=0)
        except FileExistsError:
            raise RecordingError(f"{path}: exists already; name a new file") from None
        except OSError as error:
            raise RecordingError(f"{path}: cannot be written: {error.strerror}") from None
        self.chunk = bytearray()  # not yet in the file
        self._chunks_end = self._records_end = self._size = 0

    def write(self, data: bytes) -> None:
        self.chunk += data

    def tell(self) -> int:
        return self._chunks_end + len(self.chunk)

    def write_chunk(self) -> None:
        """Write the chunk over the records behind the last one."""
        self._records_end = self._chunks_end
        self.append(self.chunk)
        self._chunks_end = self._records_end
        self.chunk.clear()

    def append(self, records: bytes | bytearray) -> None:
        """Write records with an end, which the next ones overwrite.

        The end of the file must be an end. As the file never becomes shorter, a record without
        meaning fills the gap.
        """
        self._put(records, self._size - self._records_end - len(records) - len(END), END)
        self._records_end += len(records)

    def close(self) -> None:
        """Write the last chunk and the index."""
        self._records_end = self._chunks_end
        self._put(self.chunk)
        self._file.truncate()
        self._file.close()

    def _put(self, records: bytes | bytearray, gap: int = 0, end: bytes = b"") -> None:
        length = max(gap - _HEAD.size, 0)
        filler = _HEAD.pack(FILLER, length) + bytes(length) if gap > 0 else b""
        content = b"".join((records, filler, end))
        try:
            self._file.seek(self._records_end)
            if self._file.write(content) != len(content):
                raise OSError(0, "the disk is full")
        except OSError as error:
            raise RecordingError(f"{self._path}: cannot be written: {error.strerror}") from None
        self._size = self._records_end + len(content)


def _bytes_of(record: McapRecord) -> bytes:
    records = RecordBuilder()
    record.write(records)
    return bytes(records.end())


END = _bytes_of(DataEnd(0)) + _bytes_of(Footer(0, 0, 0)) + MAGIC
"""End of a file without index."""
