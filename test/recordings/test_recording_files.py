import gzip
import re

import numpy as np
import pytest
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from robot_dynamics.errors import RecordingError
from robot_dynamics.identification import Recording
from robot_dynamics.recordings.motion_files import matched_columns
from robot_dynamics.robot import find_robot, read_urdf

ROBOT = read_urdf(find_robot("planar_2r"))
JOINTS = ROBOT.joint_names
TIME = np.arange(200) * 0.01
Q = np.column_stack([np.sin(TIME), np.cos(TIME)])
QD = np.column_stack([np.cos(TIME), -np.sin(TIME)])
TAU = np.column_stack([TIME, -TIME])


def write_bag(folder, plugin, names=JOINTS, efforts=True, velocities=True, stamped=True):
    store = get_typestore(Stores.ROS2_JAZZY)
    JointState = store.types["sensor_msgs/msg/JointState"]
    Header = store.types["std_msgs/msg/Header"]
    Time = store.types["builtin_interfaces/msg/Time"]
    with Writer(folder, version=9, storage_plugin=plugin) as writer:
        connection = writer.add_connection("/joint_states", JointState.__msgtype__, typestore=store)
        for t, q, qd, tau in zip(TIME, Q, QD, TAU, strict=True):
            stamp = round(t * 1e9) if stamped else 0
            message = JointState(
                Header(Time(stamp // 10**9, stamp % 10**9), ""),
                list(names),
                q,
                qd if velocities else np.array([]),
                tau if efforts else np.array([]),
            )
            data = store.serialize_cdr(message, JointState.__msgtype__)
            writer.write(connection, round(t * 1e9), data)
    return next(file for file in folder.iterdir() if file.suffix in (".mcap", ".db3"))


def assert_same(recording):
    np.testing.assert_allclose(recording.time, TIME, atol=1e-9)
    np.testing.assert_array_equal(recording.q, Q)
    np.testing.assert_array_equal(recording.qd, QD)
    np.testing.assert_array_equal(recording.tau, TAU)


PLUGINS = {"mcap": StoragePlugin.MCAP, "sqlite3": StoragePlugin.SQLITE3}


@pytest.mark.parametrize("plugin", PLUGINS)
@pytest.mark.parametrize("metadata", [True, False])
def test_bags_are_read_with_and_without_metadata(tmp_path, plugin, metadata):
    file = write_bag(tmp_path / "bag", PLUGINS[plugin])
    if not metadata:
        (tmp_path / "bag" / "metadata.yaml").unlink()
    assert_same(Recording.read(file, ROBOT))
    assert_same(Recording.read(tmp_path / "bag", ROBOT))


@pytest.mark.parametrize("names", [JOINTS[::-1], ("elbow", "shoulder")[::-1]])
def test_joints_are_matched_by_name_and_not_by_place(tmp_path, names):
    file = write_bag(tmp_path / "bag", StoragePlugin.MCAP, names)
    mapping = None if names == JOINTS[::-1] else dict(zip(JOINTS, names, strict=True))
    recording = Recording.read(file, ROBOT, joint_names=mapping)
    first = Q if mapping else Q[:, ::-1]
    np.testing.assert_array_equal(recording.q, first)


def test_joints_that_differ_by_a_prefix_are_taken(tmp_path):
    file = write_bag(tmp_path / "bag", StoragePlugin.MCAP, [f"left_{name}" for name in JOINTS])
    assert_same(Recording.read(file, ROBOT))


def test_joints_of_another_robot_are_refused_with_both_names(tmp_path):
    file = write_bag(tmp_path / "bag", StoragePlugin.MCAP, ["hip", "knee"])
    with pytest.raises(RecordingError, match=rf"no joint '{JOINTS[0]}' in it \(joints: hip, knee"):
        Recording.read(file, ROBOT)


def test_a_single_likeness_does_not_make_a_recording_one_of_the_robot():
    with pytest.raises(RecordingError) as error:
        matched_columns(["pan_joint1", "lift", "elbow"], ["arm_joint1", "b", "c"], None, "run")
    assert "is it of another robot?" in str(error.value)
    assert "(--joint-names)" in str(error.value)


def test_names_that_are_alike_are_suggested_and_the_rest_is_to_be_locked(tmp_path):
    file = write_bag(tmp_path / "bag", StoragePlugin.MCAP, ["axis", f"{JOINTS[0]}_encoder"])
    given = f"--joint-names {JOINTS[0]}={JOINTS[0]}_encoder"
    expected = f"give joint names ({given}), and lock {JOINTS[1]}"
    with pytest.raises(RecordingError, match=re.escape(expected)):
        Recording.read(file, ROBOT)


def test_stamps_of_arrival_serve_where_stamps_are_zero(tmp_path):
    file = write_bag(tmp_path / "bag", StoragePlugin.SQLITE3, stamped=False)
    assert_same(Recording.read(file, ROBOT))


def test_a_bag_without_velocities_has_none(tmp_path):
    file = write_bag(tmp_path / "bag", StoragePlugin.SQLITE3, velocities=False)
    assert Recording.read(file, ROBOT).qd is None


def test_efforts_may_come_on_a_topic_of_their_own(tmp_path):
    """Every other effort, between the states: on lines between them in time."""
    store = get_typestore(Stores.ROS2_JAZZY)
    kind, header, time = (
        store.types[name]
        for name in ("sensor_msgs/msg/JointState", "std_msgs/msg/Header",
                     "builtin_interfaces/msg/Time")
    )  # fmt: skip
    none = np.array([])
    with Writer(tmp_path / "bag", version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        topics = [
            writer.add_connection(topic, kind.__msgtype__, typestore=store)
            for topic in ("/joint_states", "/motors/torque")
        ]
        for k, t in enumerate(TIME):
            for topic, shift, values in ((0, 0, (Q[k], QD[k], none)), (1, 5, (none, none, TAU[k]))):
                if topic and k % 2:
                    continue
                stamp = round(t * 1e9) + shift * 10**6
                names = list(JOINTS if not topic else JOINTS[::-1])
                rows = values if not topic else [v[::-1].copy() for v in values]
                message = kind(header(time(stamp // 10**9, stamp % 10**9), ""), names, *rows)
                data = store.serialize_cdr(message, kind.__msgtype__)
                writer.write(topics[topic], stamp, data)
    found = Recording.read(
        tmp_path / "bag", ROBOT, topic="joint_states", effort_topic="motors/torque"
    )
    shown = np.isin(TIME.round(6), found.time.round(6))
    assert shown.sum() > 0.98 * len(TIME)  # states beyond the efforts are left out
    # Efforts are TIME and -TIME, 5 ms late
    np.testing.assert_allclose(found.tau, TAU[shown] - [0.005, -0.005], atol=1e-9)
    with pytest.raises(RecordingError, match=r"joint states are on /joint_states, /motors/torque"):
        Recording.read(tmp_path / "bag", ROBOT, topic="joint_states", effort_topic="torque")


def test_a_bag_without_efforts_is_refused(tmp_path):
    file = write_bag(tmp_path / "bag", StoragePlugin.SQLITE3, efforts=False)
    with pytest.raises(RecordingError, match=f"joint '{JOINTS[0]}' has no effort"):
        Recording.read(file, ROBOT)


@pytest.mark.parametrize("suffix", [".mcap", ".db3", ".csv", ".npz"])
def test_an_empty_file_is_refused_in_one_line(tmp_path, suffix):
    path = tmp_path / f"empty{suffix}"
    path.touch()
    with pytest.raises(RecordingError) as error:
        Recording.read(path, ROBOT)
    assert str(path) in str(error.value) and "\n" not in str(error.value)


def test_half_an_mcap_gives_its_first_half(tmp_path):
    file = write_bag(tmp_path / "bag", StoragePlugin.MCAP)
    half = tmp_path / "half.mcap"
    data = file.read_bytes()
    half.write_bytes(data[: len(data) // 2])
    recording = Recording.read(half, ROBOT)
    assert 50 < len(recording.time) < 150
    np.testing.assert_array_equal(recording.q, Q[: len(recording.time)])


def test_half_a_sqlite_bag_is_refused_or_read_in_part(tmp_path):
    file = write_bag(tmp_path / "bag", StoragePlugin.SQLITE3)
    half = tmp_path / "half.db3"
    half.write_bytes(file.read_bytes()[:5000])
    with pytest.raises(RecordingError, match="is no bag, or a damaged one"):
        Recording.read(half, ROBOT)


def table(header):
    rows = np.column_stack([TIME, Q, QD, TAU])
    return header + "\n" + "\n".join(",".join(repr(float(x)) for x in row) for row in rows) + "\n"


@pytest.mark.parametrize("pattern", ["{q}.{j}", "{j}.{w}", "{j}/{w}", "{j}_{w}", "/{w}/{j}"])
def test_csv_columns_are_named_as_people_name_them(tmp_path, pattern):
    words = {"q": "position", "qd": "velocity", "tau": "effort"}
    names = [pattern.format(q=q, w=w, j=j) for q, w in words.items() for j in JOINTS]
    path = tmp_path / "run.csv"
    path.write_text(table(",".join(["time", *names])))
    assert_same(Recording.read(path, ROBOT))
    with gzip.open(tmp_path / "run.csv.gz", "wt") as file:
        file.write(path.read_text())
    assert_same(Recording.read(tmp_path / "run.csv.gz", ROBOT))


def test_a_csv_that_was_cut_off_loses_its_last_line(tmp_path):
    names = [f"{q}.{j}" for q in ("q", "qd", "tau") for j in JOINTS]
    path = tmp_path / "run.csv"
    path.write_text(table(",".join(["time", *names]))[:-80])
    recording = Recording.read(path, ROBOT)
    np.testing.assert_array_equal(recording.q, Q[: len(recording.time)])
    assert len(recording.time) >= len(TIME) - 2


def test_a_csv_cell_that_is_no_number_is_named_with_its_line_and_column(tmp_path):
    path = tmp_path / "run.csv"
    path.write_text("time,q.a,tau.a\n0,1,2\n1,,x\n2,1,2\n")
    with pytest.raises(RecordingError) as error:
        Recording.read(path, ROBOT)
    assert str(error.value) == f"{path}: line 3: column 'tau.a' holds 'x'; give a number"


def test_npz_is_read(tmp_path):
    path = tmp_path / "run.npz"
    np.savez(path, time=TIME, q=Q, qd=QD, tau=TAU)
    assert_same(Recording.read(path, ROBOT))
    np.savez(path, time=TIME, q=Q)
    with pytest.raises(RecordingError, match="has no array 'tau'"):
        Recording.read(path, ROBOT)


def test_a_few_samples_with_nan_are_left_out_and_many_refused(tmp_path, caplog):
    path = tmp_path / "run.npz"
    tau = TAU.copy()
    tau[[3, 7]] = np.nan
    np.savez(path, time=TIME, q=Q, qd=QD, tau=tau)
    assert len(Recording.read(path, ROBOT).time) == len(TIME) - 2
    assert "2 samples with NaN" in caplog.text
    tau[::3] = np.nan
    np.savez(path, time=TIME, q=Q, qd=QD, tau=tau)
    with pytest.raises(RecordingError, match="34 % of the samples hold NaN"):
        Recording.read(path, ROBOT)
    with pytest.raises(RecordingError, match=r"tau\[0, 0\] is nan at 0 s"):
        Recording(TIME, Q, QD, tau)


def test_samples_out_of_order_are_sorted(tmp_path):
    path, order = tmp_path / "run.npz", np.random.default_rng(0).permutation(len(TIME))
    np.savez(path, time=TIME[order], q=Q[order], qd=QD[order], tau=TAU[order])
    assert_same(Recording.read(path, ROBOT))


def test_positions_that_wrap_are_unwrapped(tmp_path):
    path = tmp_path / "run.npz"
    turning = np.column_stack([8.0 * TIME, Q[:, 1]])
    wrapped = np.column_stack([(turning[:, 0] + np.pi) % (2 * np.pi) - np.pi, Q[:, 1]])
    np.savez(path, time=TIME, q=wrapped, tau=TAU)
    np.testing.assert_allclose(Recording.read(path, ROBOT).q, turning, atol=1e-12)


def test_degrees_and_drive_gains_are_converted(tmp_path):
    path = tmp_path / "run.npz"
    np.savez(path, time=TIME, q=np.degrees(Q), qd=np.degrees(QD), tau=TAU / [2.0, -3.0])
    recording = Recording.read(path, ROBOT, degrees=True, drive_gains=[2.0, -3.0])
    np.testing.assert_allclose(recording.q, Q, atol=1e-12)
    np.testing.assert_allclose(recording.tau, TAU, atol=1e-12)


@pytest.mark.parametrize(("unit", "factor"), [("ms", 1e3), ("us", 1e6), ("ns", 1e9)])
def test_stamps_in_other_units_than_seconds_are_taken_as_such(tmp_path, caplog, unit, factor):
    path = tmp_path / "run.npz"
    np.savez(path, time=1.7e9 * factor + TIME * factor, q=Q, qd=QD, tau=TAU)
    recording = Recording.read(path, ROBOT)
    assert recording.rate == pytest.approx(100.0, rel=1e-2)
    assert f"taken for {unit}" in caplog.text


def test_times_that_do_not_increase_are_refused():
    time = TIME.copy()
    time[5] = time[4]
    with pytest.raises(RecordingError, match="time does not increase at"):
        Recording(time, Q, QD, TAU)
