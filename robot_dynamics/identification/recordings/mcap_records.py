"""Messages of an MCAP file, also of one that ends in the middle.

A recorder that was killed leaves a file without index and summary, which readers refuse.
The records before them hold all messages, one after the other: https://mcap.dev/spec.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from struct import Struct, error
from typing import Any, NamedTuple

from robot_dynamics.errors import RecordingError
from robot_dynamics.lazy import needed

MAGIC = b"\x89MCAP0\r\n"
SCHEMA, CHANNEL, MESSAGE, CHUNK = 0x03, 0x04, 0x05, 0x06

_HEAD = Struct("<BQ")  # kind and length of a record
_LENGTH = Struct("<I")  # of a text
_IDS = Struct("<HH")  # of a channel and its schema
_MESSAGE = Struct("<HIQQ")  # channel, sequence, time of arrival and of publication
_CHUNK = Struct("<QQQI")  # first and last time, size, checksum


class BagMessage(NamedTuple):
    """A message of a bag: its topic and type, time of arrival in ns, and content as sent (CDR)."""

    topic: str
    kind: str
    arrival: int
    data: bytes


class _HalfWritten(Exception):
    """A chunk that was cut off."""


Wanted = Callable[[str, str], bool]
"""Whether messages of a topic, of a type, are to be read."""


def mcap_messages(file: Path, wanted: Wanted) -> Iterator[BagMessage]:
    """The messages of an MCAP file, as far as they go.

    Raises:
        RecordingError: If it is no MCAP file, or holds nothing whole.
    """
    data = memoryview(file.read_bytes())
    if not data:
        raise RecordingError(f"{file}: is empty; record again")
    if bytes(data[: len(MAGIC)]) != MAGIC:
        raise RecordingError(f"{file}: is no MCAP file; give a .mcap or .db3 bag")
    schemas: dict[int, str] = {}
    channels: dict[int, tuple[str, str]] = {}
    for kind, record in _records(data[len(MAGIC) :]):
        if kind == SCHEMA:
            schemas[int.from_bytes(record[:2], "little")] = _text(record, 2)
        elif kind == CHANNEL:
            channel, schema = _IDS.unpack_from(record)
            topic, message_type = _text(record, _IDS.size), schemas.get(schema, "")
            if wanted(topic, message_type):
                channels[channel] = topic, message_type
        elif kind == MESSAGE:
            channel, _, arrival, _ = _MESSAGE.unpack_from(record)
            if channel in channels:
                yield BagMessage(*channels[channel], arrival, bytes(record[_MESSAGE.size :]))


def _records(data: memoryview) -> Iterator[tuple[int, memoryview]]:
    """Whole records, those inside chunks included."""
    at = 0
    while at + _HEAD.size <= len(data):
        kind, length = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        if at + length > len(data) and kind != CHUNK:  # cut off here
            return
        record = data[at : at + length]  # of a chunk, what there is of it
        at += length
        if kind == CHUNK:
            try:
                yield from _records(memoryview(_unpacked(record)))
            except (_HalfWritten, error):
                return
        else:
            yield kind, record


def _unpacked(chunk: memoryview) -> bytes:
    size = _CHUNK.unpack_from(chunk)[2]
    compression = _text(chunk, _CHUNK.size)
    content = bytes(chunk[_CHUNK.size + _LENGTH.size + len(compression) + 8 :])
    storage = needed("rosbags.rosbag2.storage_mcap", "reading bags", "identification")
    decompressors: Any = storage.DECOMPRESSORS
    if compression not in decompressors:
        raise RecordingError(f"compression '{compression}' is not known; use zstd, lz4 or none")
    try:
        return bytes(decompressors[compression](content, size))
    except Exception as problem:  # each library has an error of its own
        if compression != "zstd":
            raise _HalfWritten from problem
        zstandard: Any = needed("zstandard", "reading bags", "identification")
        try:  # as far as it goes
            return bytes(zstandard.ZstdDecompressor().decompressobj().decompress(content))
        except zstandard.ZstdError:
            raise _HalfWritten from problem


def _text(record: memoryview, at: int) -> str:
    (length,) = _LENGTH.unpack_from(record, at)
    start = at + _LENGTH.size
    return bytes(record[start : start + length]).decode()
