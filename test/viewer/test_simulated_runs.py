"""simulate --record: the file holds what was simulated, and opens where recordings do."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("mcap")
pytest.importorskip("rosbags")
pytest.importorskip("viser")

from rosbags.highlevel import AnyReader
from scipy.spatial.transform import Rotation

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.cli import main
from robot_dynamics.cli.verbs.view import Recordings
from robot_dynamics.control import Friction, Model, gains_for
from robot_dynamics.kinematics.forward_kinematics import link_poses
from robot_dynamics.recordings.bag_trajectories import recorded_waypoints
from robot_dynamics.recordings.data_quality import quality_warnings
from robot_dynamics.recordings.recorded_motion import read_motion
from robot_dynamics.recordings.recording import Recording
from robot_dynamics.robot import find_robot, urdf_text
from robot_dynamics.simulation import LawController, Plant, simulate
from robot_dynamics.trajectory import excitation, interpolate
from robot_dynamics.viewer.effort_causes import CAUSE_TOPICS
from robot_dynamics.viewer.live_view import LiveView
from robot_dynamics.viewer.page import Page
from robot_dynamics.viewer.simulated_runs import (
    PAUSE_S,
    SimulatedRecording,
    write_runs,
)
from robot_dynamics.viewer.snapshot import Snapshot

RATE = 200.0


@pytest.fixture(scope="module")
def robot():
    return read_urdf(find_robot("planar_2r"))


@pytest.fixture(scope="module")
def model(robot):
    dynamics = Dynamics(robot)
    return Model(dynamics, gains_for(dynamics), Friction.of(robot))


@pytest.fixture(scope="module")
def trajectory(robot):
    return interpolate(excitation(robot, 1.0))


@pytest.fixture(scope="module")
def log(robot, model, trajectory):
    plant = Plant(robot, step=1.0 / RATE)
    return simulate(
        plant, LawController(model, "feedforward", period=1.0 / RATE), trajectory, rate=RATE
    )


@pytest.fixture
def motion(model, trajectory, log, tmp_path):
    path = tmp_path / "run.mcap"
    write_runs(path, urdf_text("planar_2r"), model, trajectory, {"one": log, "two": log})
    return read_motion(path)


def test_states_and_reference_are_those_of_the_runs_one_behind_the_other(motion, robot, log):
    assert motion.robot() == robot
    twice = {"position": log.q, "velocity": log.qd, "effort": log.tau}
    for field, values in twice.items():
        np.testing.assert_array_equal(getattr(motion.states, field), np.vstack([values, values]))
    np.testing.assert_array_equal(motion.topics["reference"].position[: len(log.t)], log.q_d)
    since = 1e-9 * (motion.states.stamp - motion.states.stamp[0])
    np.testing.assert_allclose(since[: len(log.t)], log.t, atol=1e-9)  # stamps are in ns
    assert since[len(log.t)] == pytest.approx(log.t[-1] + PAUSE_S, abs=1e-8)


def test_the_pause_between_two_runs_is_no_gap_but_lost_samples_are(motion, robot, tmp_path):
    recording = Recording.read(tmp_path / "run.mcap", robot)
    assert len(recording.runs) == 1
    assert not any("gap" in warning.text for warning in quality_warnings(robot, recording))
    time = recording.time - recording.time[0]
    kept = (time < 0.3) | (time > 0.6)
    fields = {name: getattr(recording, name)[kept] for name in ("time", "q", "qd", "tau")}
    (gap,) = [
        warning.text
        for warning in quality_warnings(robot, replace(recording, **fields))
        if "gap" in warning.text
    ]
    assert "1 gap, the longest of 0.3" in gap


def test_the_reference_has_the_feedforward_effort(motion, model, trajectory, log):
    expected = model.dynamics.inverse(*trajectory.sample(log.t))  # without friction in this URDF
    effort = motion.topics["reference"].effort[: len(log.t)]
    np.testing.assert_allclose(effort, expected, atol=1e-9)  # of efforts near 100 N m


def test_transforms_put_the_links_where_they_were(tmp_path):
    pytest.importorskip("pinocchio", reason="example-robot-data is not installed")
    robot = read_urdf(find_robot("panda"))  # fixed, turning, sliding and mimic joints
    q = np.random.default_rng(0).uniform(robot.limits.lower, robot.limits.upper)
    recording = SimulatedRecording(tmp_path / "run.mcap", "<robot/>", Dynamics(robot))
    recording.add(Snapshot(0.0, q, 0.0 * q, 0.0 * q, 0.0 * q))
    recording.close()
    with AnyReader([tmp_path / "run.mcap"]) as reader:
        (connection,) = [c for c in reader.connections if c.topic == "/tf"]
        ((_, _, data),) = reader.messages([connection])
        message = reader.deserialize(data, connection.msgtype)
    placed = {robot.links[0].name: np.eye(4)}
    for transform in message.transforms:  # parents come first
        pose, (p, r) = np.eye(4), (transform.transform.translation, transform.transform.rotation)
        pose[:3, :3] = Rotation.from_quat([r.x, r.y, r.z, r.w]).as_matrix()
        pose[:3, 3] = p.x, p.y, p.z
        placed[transform.child_frame_id] = placed[transform.header.frame_id] @ pose
    expected = link_poses(robot, q)
    assert set(placed) == set(expected)
    for link, pose in expected.items():
        np.testing.assert_allclose(placed[link][:3, :3], pose.rotation, atol=1e-12, err_msg=link)
        np.testing.assert_allclose(placed[link][:3, 3], pose.translation, atol=1e-12, err_msg=link)


def test_efforts_by_cause_sum_to_the_model_of_the_motion(motion, robot, log):
    causes = [rows for name, rows in motion.topics.items() if name.startswith("efforts/")]
    assert len(causes) == len(CAUSE_TOPICS)
    at = np.searchsorted(motion.states.stamp, causes[0].stamp)[: len(causes[0].stamp) // 2]
    total = sum(rows.effort for rows in causes)[: len(at)]
    qdd = np.gradient(log.qd, log.t, axis=0)[at]
    expected = Dynamics(robot).inverse(log.q[at], log.qd[at], qdd)
    friction = np.array([Friction.of(robot).smooth(qd) for qd in log.qd[at]])
    np.testing.assert_allclose(total, expected + friction, atol=1e-9)  # of efforts near 100 N m


@pytest.mark.thorough
def test_every_robot_that_is_chosen_on_the_page_has_a_recording_of_its_own(tmp_path, free_port):
    pytest.importorskip("pinocchio", reason="example-robot-data is not installed")
    page, recordings = Page(port=free_port), Recordings(tmp_path / "run.mcap")
    live = LiveView(page, "planar_2r", recording=recordings)
    live.tick(0.1)
    live.controls.robot.value = "ur5"
    live.tick(0.1)
    live.close()
    page.close()
    assert [path.name for path in recordings.made] == ["run.mcap", "run_2.mcap"]
    for path, name in zip(recordings.made, ("planar_2r", "ur5"), strict=True):
        motion = read_motion(path)
        assert motion.robot() == read_urdf(find_robot(name))
        assert len(motion.states.stamp) == 20  # of 100 cycles of a millisecond, every fifth


def test_the_shortest_recording_has_a_state_of_each_mode_at_every_moment(tmp_path):
    path = tmp_path / "short.mcap"
    words = ("--rate", "100", "--duration", "0.1", "--record", str(path))
    assert main(["simulate", "planar_2r", *words]) == 0
    assert len(read_motion(path).states.stamp) == 3 * 11  # three modes of control


def test_a_file_that_exists_is_refused_before_anything_is_simulated(tmp_path, capsys):
    path = tmp_path / "run.mcap"
    path.write_text("mine")
    assert main(["simulate", "planar_2r", "--record", str(path)]) == 1
    out, err = capsys.readouterr()
    assert (out, path.read_text()) == ("", "mine")
    assert "exists already; name a new file" in err


def test_a_recording_gets_the_effort_of_what_was_to_be_followed(tmp_path, model, trajectory, log):
    path, out = tmp_path / "run.mcap", tmp_path / "run_with_effort.mcap"
    write_runs(path, urdf_text("planar_2r"), model, trajectory, {"one": log})
    assert main(["effort", "planar_2r", str(path), "--keep-points"]) == 0
    before, after = read_motion(path), read_motion(out)
    np.testing.assert_array_equal(after.states.effort, before.states.effort)  # all else is copied
    filled = recorded_waypoints(out, model.dynamics.robot.joint_names)
    at = np.searchsorted(log.t, filled.times - 1e-9)
    expected = model.dynamics.inverse(*trajectory.sample(log.t[at]))
    # N m of 600: between waypoints accelerations are not those of the motion
    np.testing.assert_allclose(filled.effort, expected, atol=10.0)
    # Filled anew, it is the trajectory in it that counts, and no point moves
    again = tmp_path / "again.mcap"
    words = ("--output", str(again), "--keep-points", "--json")
    assert main(["effort", "planar_2r", str(out), *words]) == 0
    np.testing.assert_array_equal(
        recorded_waypoints(again, model.dynamics.robot.joint_names).effort, filled.effort
    )
