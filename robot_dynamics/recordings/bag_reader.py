"""Messages of ROS 2 bags: MCAP and sqlite3, with or without their metadata.yaml.

A killed recorder leaves an MCAP file without index and footer, which `rosbags` refuses. This reader
returns the whole messages before the cut.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from io import SEEK_END, BytesIO
from pathlib import Path
from typing import IO, Any, NamedTuple

from robot_dynamics.errors import MissingPackageError, RecordingError
from robot_dynamics.foundation.lazy import needed
from robot_dynamics.foundation.user_files import MOST_BYTES
from robot_dynamics.recordings.ros_messages import deserialized

SUFFIXES = (".mcap", ".db3")

LAST_STAMP = 2**63 - 1
"""Largest time of arrival, ns."""

MAGIC = b"\x89MCAP0\r\n"

COMPRESSIONS = ("", "zstd", "lz4")


class BagMessage(NamedTuple):
    """A message of a bag: its topic and type, time of arrival in ns, bytes (CDR), and file."""

    topic: str
    kind: str
    arrival: int
    data: bytes
    file: Path

    def read(self) -> Any:
        """Return the message with its fields.

        Raises:
            RecordingError: If the bytes are not a message of that type.
            MissingPackageError: If rosbags is not installed.
        """
        try:
            return deserialized(self.data, self.kind)
        except MissingPackageError:
            raise
        except Exception:  # of rosbags, struct, NumPy, the codec: each has its own
            raise RecordingError(
                f"{self.file}: topic {self.topic}: {len(self.data)} bytes are no {self.kind}; the "
                "file is damaged, record again"
            ) from None


Wanted = Callable[[str, str], bool]
"""Selects messages by topic and type."""


def is_bag(path: Path) -> bool:
    """Return whether a path is that of a bag, by its name."""
    return path.suffix in SUFFIXES or path.is_dir()


def bag_messages(path: Path, wanted: Wanted) -> Iterator[BagMessage]:
    """Yield the messages of a bag, file by file in their order.

    Args:
        path: A .mcap or .db3 file, or the folder of a bag.
        wanted: Selects messages.

    Raises:
        RecordingError: If a file is no bag, or is damaged or cut off before its first message. An
            MCAP file that is damaged or cut off later gives the messages before.
        MissingPackageError: If mcap is not installed.
    """
    if not path.exists():
        raise RecordingError(f"{path}: no such file")
    if not is_bag(path):
        raise RecordingError(f"{path}: is no bag; give a .mcap or .db3 file, or a bag's folder")
    files, found = _files(path), False
    for file in files:
        reader = _mcap_messages if file.suffix == ".mcap" else _sqlite_messages
        for message in reader(file, wanted):
            found = True
            yield message
    cut = next((file for file in files if file.suffix == ".mcap" and _is_cut(file)), None)
    if cut is not None and not found:
        raise RecordingError(
            f"{cut}: is cut short before its first message of use, so that nothing can be "
            "recovered; record again"
        )


def _is_cut(file: Path) -> bool:
    """Return whether an MCAP file lacks its end."""
    if file.stat().st_size < 2 * len(MAGIC):
        return True
    with file.open("rb") as stream:
        stream.seek(-len(MAGIC), SEEK_END)
        return stream.read() != MAGIC


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.iterdir() if file.suffix in SUFFIXES)
    if not files:
        raise RecordingError(f"{path}: holds no .mcap or .db3 file; give the folder of a bag")
    return files


def _sqlite_messages(file: Path, wanted: Wanted) -> Iterator[BagMessage]:
    # By SQL, because rosbags opens no file with #, ? or % in its name
    try:
        uri = f"{file.resolve().as_uri()}?mode=ro&immutable=1"
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            known = connection.execute("SELECT id, name, type FROM topics")
            named = ((i, str(name), str(kind)) for i, name, kind in known)
            topics = {i: (name, kind) for i, name, kind in named if wanted(name, kind)}
            rows = connection.execute("SELECT topic_id, timestamp, data FROM messages ORDER BY id")
            for topic, arrival, data in rows:
                if topic in topics:
                    if not (isinstance(data, bytes) and arrival in range(LAST_STAMP)):
                        raise sqlite3.DatabaseError("a message without time or bytes")
                    yield BagMessage(*topics[topic], arrival, data, file)
    except sqlite3.Error as error:
        raise RecordingError(
            f"{file}: is no bag, or a damaged one ({error}); record again, or rescue it with "
            "`sqlite3 FILE .recover`"
        ) from None


def _mcap_messages(file: Path, wanted: Wanted) -> Iterator[BagMessage]:
    kinds = _mcap("records")
    schemas: dict[int, str] = {}
    channels: dict[int, tuple[str, str]] = {}
    with file.open("rb") as stream:
        start = stream.read(len(MAGIC))
        if not start:
            raise RecordingError(f"{file}: is empty; record again")
        if start != MAGIC:
            raise RecordingError(f"{file}: is no MCAP file; give a .mcap or .db3 bag")
        for record in _mcap_records(file, stream):
            if isinstance(record, kinds.Message):
                if record.channel_id in channels:
                    about = channels[record.channel_id]
                    yield BagMessage(*about, min(record.log_time, LAST_STAMP), record.data, file)
            elif isinstance(record, kinds.Schema):
                schemas[record.id] = record.name
            elif isinstance(record, kinds.Channel):
                topic, kind = record.topic, schemas.get(record.schema_id, "")
                if wanted(topic, kind):
                    channels[record.id] = topic, kind
            elif isinstance(record, kinds.DataEnd):
                return


def _mcap_records(file: Path, stream: IO[bytes]) -> Iterator[Any]:
    """Yield the records before the first damaged one, including those in chunks."""
    library, chunks, end = _mcap("stream_reader"), _mcap("records").Chunk, stream.tell()
    # No record is larger than the file: a damaged length could exhaust the memory
    reader = library.StreamReader(
        stream, skip_magic=True, emit_chunks=True, record_size_limit=file.stat().st_size
    )
    try:
        for record in reader.records:
            end = stream.tell()
            if not isinstance(record, chunks):
                yield record
            elif record.compression in COMPRESSIONS:
                yield from library.breakup_chunk(record)
            else:
                raise RecordingError(
                    f"{file}: compression '{record.compression}' is not known; use zstd, lz4 or "
                    "none"
                )
    except RecordingError:
        raise
    except Exception:  # of mcap, struct, the codec, the compression: each has its own
        stream.seek(end)
        with suppress(Exception):
            yield from _records_of_cut_chunk(stream)


def _records_of_cut_chunk(stream: IO[bytes]) -> Iterator[Any]:
    """Yield the whole records at the beginning of a chunk, until an error ends them."""
    data = _mcap("data_stream").ReadDataStream(stream)
    if data.read1() != _mcap("opcode").Opcode.CHUNK:
        return
    data.read8()
    chunk = _mcap("records").Chunk.read(data)
    content, size = chunk.data, min(chunk.uncompressed_size, MOST_BYTES)
    if chunk.compression == "zstd":
        library = needed("zstandard", "reading bags", "identification")
        content = library.ZstdDecompressor().stream_reader(content).read(size)
    elif chunk.compression == "lz4":
        library = needed("lz4.frame", "reading bags", "identification")
        content = library.LZ4FrameDecompressor().decompress(content, size)
    yield from _mcap("stream_reader").StreamReader(BytesIO(content), skip_magic=True).records


def _mcap(module: str) -> Any:
    return needed(f"mcap.{module}", "reading bags", "identification")
