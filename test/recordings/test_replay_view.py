"""A recording on the page: its slider is its time."""

import numpy as np
import pytest

pytest.importorskip("viser")
pytest.importorskip("rosbags")

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.control import effort_limits
from robot_dynamics.recordings.recorded_motion import JointRows, RecordedMotion
from robot_dynamics.robot import find_robot
from robot_dynamics.viewer.page import Page
from robot_dynamics.viewer.replay_view import ReplayView

RATE = 100.0
SLOPED = 0.02  # rad/s^2: a difference over 20 ms against the derivative in its middle


@pytest.fixture
def view(tmp_path, free_port):
    """Of a swing recorded at 100 Hz, q = sin t in joint 1, with the reference 0.1 s ahead."""
    path = find_robot("planar_2r")
    robot = read_urdf(path)
    t = np.arange(0.0, 4.0, 1.0 / RATE)
    q = np.outer(np.sin(t), [1.0, 0.0])
    qd = np.outer(np.cos(t), [1.0, 0.0])
    stamp = (1e9 * t).round().astype(np.int64) + 7
    tau = Dynamics(robot).inverse(q, qd, -q)
    states = JointRows(robot.joint_names, stamp, q, qd, tau)
    ahead = JointRows(robot.joint_names, stamp, np.roll(q, -10, axis=0), qd, tau)
    motion = RecordedMotion(tmp_path / "run.mcap", "", {"joint_states": states, "reference": ahead})
    page = Page(port=free_port)
    yield ReplayView(page, motion, robot, str(path)), robot
    page.close()


def test_page_shows_what_was_recorded_at_its_time(view):
    view, robot = view
    view.playing.value = False
    view.slider.value = 2.5
    view.tick(0.04)
    now = view.snapshot()
    assert view.time == 2.5
    np.testing.assert_allclose(now.q, [np.sin(2.5), 0.0], atol=1e-12)
    np.testing.assert_allclose(now.q_d, [np.sin(2.6), 0.0], atol=1e-12)
    np.testing.assert_allclose(now.qdd, [-np.sin(2.49), 0.0], atol=SLOPED)
    np.testing.assert_array_less(np.abs(now.tau), effort_limits(robot) * 10.0)


def test_recording_plays_on_and_begins_again(view):
    view, _ = view
    view.slider.value = 3.9
    view.tick(0.0)
    view.tick(0.05)
    assert view.time == pytest.approx(3.95)
    assert view.slider.value == pytest.approx(3.95)
    view.tick(0.05)
    assert view.time == 0.0
