"""recorder_node records real nodes, and its recording can be played to them again."""

import signal
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rosbags")
pytest.importorskip("mcap")
pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from geometry_msgs.msg import InertiaStamped
from rclpy.serialization import deserialize_message
from rosbags.highlevel import AnyReader
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.cli import main
from robot_dynamics.nodes.composition import composed
from robot_dynamics.recordings.recorded_motion import read_motion
from robot_dynamics.robot import find_robot
from ros_system import NodeProcess, Peer, free_domain, wait_for

SAME = 1e-9  # N m: float64 through CDR loses nothing; times are rounded to 1 ns


@pytest.fixture(scope="module")
def recording(domain, tmp_path_factory) -> Path:
    """Record a motion of real nodes, by a recorder that is killed afterwards."""
    folder = tmp_path_factory.mktemp("recording")
    path = folder / "run.mcap"
    motion = {"wait": True, "duration": 2.0, "approach": 0.3}
    with composed("planar_2r", rate=200.0, domain=domain, trajectory_node=motion) as nodes:
        given = {"urdf_path": "planar_2r", "file": path}
        recorder = NodeProcess("recorder_node", domain, folder, given)
        wait_for(path.exists, "a file")
        wait_for(lambda: "/joint_states" in topics(path), "states in the file")
        nodes.trajectory.send()
        wait_for(lambda: "/joint_trajectory_with_effort" in topics(path), "the motion in the file")
        peer = Peer(domain)
        loads = peer.node.create_publisher(InertiaStamped, "payload", 10)

        def payload_recorded():
            loads.publish(load_msg())  # again: what came before recorder_node listened is lost
            return "/payload" in topics(path)

        wait_for(payload_recorded, "the payload in the file")
        peer.close()
        nodes.sleep(3.0)
        recorder.stop(signal.SIGKILL)
        recorder.end()
    return path


def load_msg() -> InertiaStamped:
    """Half a kilogram at the tip."""
    msg = InertiaStamped()
    msg.inertia.m = 0.5
    return msg


def topics(path: Path) -> set[str]:
    """Topics with messages, as far as the file has come; none while it is being written."""
    try:
        with AnyReader([path]) as reader:
            return {connection.topic for connection in reader.connections if connection.msgcount}
    except Exception:  # what half a record says may be anything
        return set()


def trajectories(path: Path, topic: str) -> list[JointTrajectory]:
    with AnyReader([path]) as reader:
        wanted = [connection for connection in reader.connections if connection.topic == topic]
        return [
            deserialize_message(data, JointTrajectory) for _, _, data in reader.messages(wanted)
        ]


def efforts(msg: JointTrajectory) -> np.ndarray:
    return np.array([list(point.effort) for point in msg.points])


@pytest.mark.thorough
def test_killed_recorder_leaves_all_of_it_but_the_last_moment(recording):
    motion = read_motion(recording)
    assert {"joint_states", "reference", "efforts/gravity"} <= set(motion.topics)
    assert "/effort_command" in topics(recording)
    assert motion.robot() == read_urdf(find_robot("planar_2r"))
    states = motion.states
    moved = np.ptp(states.position, axis=0)
    assert (moved > 0.1).all()  # the whole motion is there


@pytest.mark.thorough
def test_recorded_efforts_by_cause_are_those_of_the_model(recording):
    motion = read_motion(recording)
    gravity, states = motion.topics["efforts/gravity"], motion.states
    known = np.isin(gravity.stamp, states.stamp)
    assert known.sum() > 10
    rows = np.searchsorted(states.stamp, gravity.stamp[known])
    expected = Dynamics(motion.robot()).gravity(states.position[rows])
    np.testing.assert_allclose(gravity.effort[known], expected, atol=SAME)


def test_recorded_transforms_and_markers_are_of_the_links(recording):
    # What is in them: test_simulated_runs and test_layouts
    assert {"/tf", "/markers"} <= topics(recording)


def test_what_a_payload_takes_is_recorded_as_a_cause_of_its_own(recording):
    motion = read_motion(recording)
    robot, states = motion.robot(), motion.states
    alone, loaded = (Dynamics(r) for r in (robot, robot.with_payload(robot.tips[0], 0.5)))
    inertial, carried = (motion.topics[f"efforts/{cause}"] for cause in ("inertia", "payload"))
    known = np.isin(carried.stamp, states.stamp) & carried.effort.any(axis=1)
    assert known.sum() > 10  # of half a second
    rows = np.searchsorted(states.stamp, carried.stamp[known])
    q, qd = states.position[rows], states.velocity[rows]
    # The acceleration is that of the recorded inertial efforts
    inertial = inertial.effort[np.searchsorted(inertial.stamp, carried.stamp[known])]
    qdd = np.linalg.solve(alone.mass_matrix(q), inertial[..., None])[..., 0]
    expected = loaded.inverse(q, qd, qdd) - alone.inverse(q, qd, qdd)
    assert np.abs(expected).max() > 0.1
    np.testing.assert_allclose(carried.effort[known], expected, atol=SAME)


def test_recorded_motion_takes_the_same_efforts_again(recording):
    (sent, *_) = trajectories(recording, "/joint_trajectory")
    # Before a motion the held position is sent, with few points
    before = max(
        trajectories(recording, "/joint_trajectory_with_effort"), key=lambda msg: len(msg.points)
    )
    domain = free_domain()  # DDS files of the killed recorder may make its domain deaf
    peer = Peer(domain)
    with composed("planar_2r", rate=200.0, domain=domain, trajectory_node={"wait": True}):
        received = peer.listen(JointTrajectory, "joint_trajectory_with_effort")
        publisher = peer.node.create_publisher(JointTrajectory, "joint_trajectory", 10)
        wait_for(lambda: publisher.get_subscription_count() > 0, "a follower")
        again = wait_for(
            lambda: (
                publisher.publish(sent)
                or [msg for msg in received if len(msg.points) == len(before.points)]
            ),
            "the motion with its efforts",
        )[0]
    peer.close()
    assert again.joint_names == before.joint_names
    # The first point is joined from where the arm is, the others are the motion itself
    np.testing.assert_allclose(efforts(again)[1:], efforts(before)[1:], atol=SAME)


def test_plot_draws_a_recording(recording, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    picture = tmp_path / "run.png"
    assert main(["plot", str(recording), "--output", str(picture)]) == 0
    assert capsys.readouterr().out == f"picture: {picture}\n"
    assert picture.stat().st_size > 10_000


def test_recording_of_another_robot_is_refused(recording, capsys):
    pytest.importorskip("viser")
    assert main(["replay", str(recording), "--robot", "puma_gupta"]) == 1
    assert "says nothing of joint" in capsys.readouterr().err
