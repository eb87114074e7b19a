"""An MCAP file opens whenever its writer ends, in readers that are not ours."""

import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rosbags")
mcap_reader = pytest.importorskip("mcap.reader")

from rosbags.highlevel import AnyReader  # noqa: E402
from rosbags.typesys import Stores, get_typestore  # noqa: E402

from robot_dynamics.errors import RecordingError  # noqa: E402
from robot_dynamics.recordings import mcap_writer  # noqa: E402
from robot_dynamics.recordings.mcap_writer import McapWriter  # noqa: E402
from robot_dynamics.recordings.recorded_motion import read_motion  # noqa: E402

JOINT_STATE = "sensor_msgs/msg/JointState"
STORE = get_typestore(Stores.ROS2_JAZZY)


def joint_state(k: int) -> bytes:
    """A message whose numbers tell its place in the file."""
    types = STORE.types
    stamp = types["builtin_interfaces/msg/Time"](sec=k, nanosec=5)
    message = types[JOINT_STATE](
        header=types["std_msgs/msg/Header"](stamp=stamp, frame_id=""),
        name=["elbow"],
        position=np.array([float(k)]),
        velocity=np.array([]),
        effort=np.array([2.0 * k]),
    )
    return bytes(STORE.serialize_cdr(message, JOINT_STATE))


def write(file: McapWriter, first: int, last: int, channel: int) -> None:
    for k in range(first, last):
        file.write(channel, k * 1_000_000_000, joint_state(k))


def positions(path: Path) -> list[float]:
    with AnyReader([path]) as reader:  # by the schemas in the file alone
        return [
            float(reader.deserialize(data, connection.msgtype).position[0])
            for connection, _, data in reader.messages()
        ]


def test_file_is_complete_after_every_flush(tmp_path):
    path = tmp_path / "run.mcap"
    file = McapWriter(path)
    channel = file.channel("/joint_states", JOINT_STATE)
    for end in (3, 7):
        write(file, end - 3, end, channel)
        file.flush()
        copy = tmp_path / f"copy_{end}.mcap"  # what a writer that is killed now leaves behind
        copy.write_bytes(path.read_bytes())
        expected = [float(k) for k in (0, 1, 2, 4, 5, 6) if k < end]
        assert positions(copy) == expected
        with copy.open("rb") as stream:
            messages = mcap_reader.make_reader(stream, validate_crcs=True).iter_messages()
            assert len(list(messages)) == len(expected)
    write(file, 7, 8, channel)
    file.close()
    assert positions(path)[-1] == 7.0


def test_file_is_complete_while_chunks_are_packed_and_has_an_index_when_closed(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(mcap_writer, "Writer", partial(mcap_writer.Writer, chunk_size=2**12))
    path = tmp_path / "run.mcap"
    file = McapWriter(path)
    size = 0
    for k in range(160):
        if k % 32 == 0:  # its schema alone may fill a chunk
            channel = file.channel(f"/joint_states_{k}", JOINT_STATE)
        write(file, k, k + 1, channel)
        file.flush()
        assert path.stat().st_size >= size  # nothing is left behind the end
        size = path.stat().st_size
        if k % 10 == 9:
            assert positions(path) == [float(j) for j in range(k + 1)]
    file.close()
    assert path.stat().st_size < size
    assert positions(path) == [float(j) for j in range(160)]
    with path.open("rb") as stream:
        reader = mcap_reader.make_reader(stream, validate_crcs=True)
        summary = reader.get_summary()
        assert summary.statistics.message_count == 160
        assert len(summary.chunk_indexes) > 3
        assert len(list(reader.iter_messages())) == 160


def test_what_fills_a_chunk_does_not_wait_for_a_flush(tmp_path):
    path, noise = tmp_path / "run.mcap", np.random.default_rng(0)
    file = McapWriter(path)
    channel = file.channel("/joint_states", JOINT_STATE)
    for k in range(5):
        file.write(channel, k, noise.bytes(2**20))
    assert path.stat().st_size > 4 * 2**20
    file.close()


def test_killed_writer_lacks_at_most_the_messages_since_its_last_flush(tmp_path):
    path, per_flush = tmp_path / "run.mcap", 10  # recorder_node at 100 Hz, a topic at 1 kHz
    code = (
        "import sys; sys.path[:0] = [sys.argv[2]]\n"
        "from test_mcap_writer import JOINT_STATE, McapWriter, joint_state\n"
        "file = McapWriter(sys.argv[1]); channel = file.channel('/joint_states', JOINT_STATE)\n"
        "for k in range(10**6):\n"
        "    file.write(channel, k, joint_state(k)); print(k, flush=True)\n"
        f"    if k % {per_flush} == {per_flush - 1}: file.flush()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(path), str(Path(__file__).parent)],
        stdout=subprocess.PIPE,
        text=True,
    )
    for line in process.stdout:
        if int(line) == 25:
            break
    os.kill(process.pid, signal.SIGKILL)
    written = [25, *map(int, process.stdout.read().split())]
    process.wait()
    found = positions(path)
    assert found == [float(k) for k in range(len(found))]
    assert len(found) % per_flush == 0
    assert len(found) >= max(written) - per_flush


def test_motion_is_read_back_as_it_was_written(tmp_path):
    path = tmp_path / "run.mcap"
    file = McapWriter(path)
    write(file, 0, 4, file.channel("/left/joint_states", JOINT_STATE))
    file.close()
    states = read_motion(path).states
    assert states.joint_names == ("elbow",)
    np.testing.assert_array_equal(states.stamp, [5, 10**9 + 5, 2 * 10**9 + 5, 3 * 10**9 + 5])
    np.testing.assert_array_equal(states.effort[:, 0], [0.0, 2.0, 4.0, 6.0])
    assert np.isnan(states.velocity).all()
    np.testing.assert_array_equal(states.ordered(["wrist", "elbow"]).position[:, 1], range(4))


def test_existing_file_is_not_overwritten(tmp_path):
    path = tmp_path / "run.mcap"
    path.write_text("precious")
    with pytest.raises(RecordingError) as error:
        McapWriter(path)
    assert str(error.value) == f"{path}: exists already; name a new file"
    assert path.read_text() == "precious"


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"\x89MCAP0\r\nand an end\x89MCAP0\r\n", "holds nothing of a robot; record joint_states"),
        (b"something else", "is no MCAP file; give a .mcap or .db3 bag"),
    ],
)
def test_what_is_no_recording_is_refused_in_one_line(tmp_path, content, line):
    path = tmp_path / "run.mcap"
    path.write_bytes(content)
    with pytest.raises(RecordingError) as error:
        read_motion(path)
    assert str(error.value) == f"{path}: {line}"


def test_of_a_file_that_ends_in_the_middle_the_motion_before_is_read(tmp_path):
    path = tmp_path / "run.mcap"
    file = McapWriter(path)
    channel = file.channel("/joint_states", JOINT_STATE)
    for k in range(0, 1000, 40):
        write(file, k, k + 40, channel)
        file.flush()
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    found = read_motion(path).states.position[:, 0]
    np.testing.assert_array_equal(found, range(len(found)))
    assert 300 < len(found) < 700  # up to the chunk in which the file ends
