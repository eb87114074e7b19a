"""MCAP files of other writers are read as far as they go."""

import pytest

pytest.importorskip("mcap.writer")

from mcap.writer import CompressionType, Writer

from robot_dynamics.errors import RecordingError
from robot_dynamics.recordings.bag_reader import bag_messages

MESSAGES = [b"%05d" % k * 20 for k in range(500)]


def write(path, finish=True, **options):
    """Write 500 messages on /a, every tenth on /b, by mcap's own writer."""
    with path.open("wb") as stream:
        writer = Writer(stream, chunk_size=4096, **options)
        writer.start()
        schema = writer.register_schema("std_msgs/msg/String", "ros2msg", b"string data")
        channels = [writer.register_channel(topic, "cdr", schema) for topic in ("/a", "/b")]
        for k, data in enumerate(MESSAGES):
            writer.add_message(channels[k % 10 == 0], k, data, k)
        if finish:
            writer.finish()


def read(path, topic=None):
    return [m.data for m in bag_messages(path, lambda name, _: topic in (None, name))]


COMPRESSIONS = pytest.mark.parametrize("compression", CompressionType)
CHUNKS = pytest.mark.parametrize("chunks", [True, False])


@COMPRESSIONS
@CHUNKS
def test_a_whole_file_gives_all_messages_or_those_of_a_topic(tmp_path, compression, chunks):
    path = tmp_path / "run.mcap"
    write(path, compression=compression, use_chunking=chunks)
    assert read(path) == MESSAGES
    assert read(path, "/b") == MESSAGES[::10]


@COMPRESSIONS
@CHUNKS
def test_a_file_that_a_killed_writer_left_open_gives_all_it_holds(tmp_path, compression, chunks):
    path = tmp_path / "run.mcap"
    write(path, finish=False, compression=compression, use_chunking=chunks)
    found = read(path)
    assert found == MESSAGES[: len(found)]
    assert len(found) > len(MESSAGES) - 40  # but the chunk in memory, of 4 KiB


@COMPRESSIONS
@CHUNKS
def test_of_a_file_that_is_cut_anywhere_only_whole_messages_are_read(tmp_path, compression, chunks):
    path = tmp_path / "run.mcap"
    write(path, compression=compression, use_chunking=chunks)
    data, count = path.read_bytes(), 0
    for end in range(2991, len(data), 997):  # behind the first message
        path.write_bytes(data[:end])
        found = read(path)
        assert found == MESSAGES[: len(found)]
        assert len(found) >= count  # a longer file has no fewer messages
        count = len(found)
        if compression is CompressionType.NONE or not chunks:  # 131 bytes each, and their index
            assert len(found) > min((end - 1500) / (131 + 16), len(MESSAGES)) - 2


@COMPRESSIONS
def test_a_file_that_is_cut_before_its_first_message_says_so(tmp_path, compression):
    path = tmp_path / "run.mcap"
    write(path, compression=compression)
    data = path.read_bytes()
    for end in (8, 40, 150):  # behind the magic, in the header, in the first chunk
        path.write_bytes(data[:end])
        with pytest.raises(RecordingError) as error:
            read(path)
        assert str(error.value) == (
            f"{path}: is cut short before its first message of use, so that nothing can be "
            "recovered; record again"
        )
    path.write_bytes(data)
    assert read(path, "/c") == []  # a whole file without messages of use is not cut


def test_a_compression_that_is_unknown_is_named(tmp_path):
    path = tmp_path / "run.mcap"
    write(path)
    path.write_bytes(path.read_bytes().replace(b"zstd", b"zip0"))
    with pytest.raises(RecordingError) as error:
        read(path)
    assert str(error.value) == (f"{path}: compression 'zip0' is not known; use zstd, lz4 or none")
