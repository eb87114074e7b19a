"""Streams of target poses: uneven, late, lost and noisy ones move the target as even ones do."""

from functools import cache

import numpy as np
import pytest

from benchmark.task_space.streams import (
    ANOTHER_EPOCH_S,
    CASES,
    RATES,
    Stream,
    Target,
    moved,
)
from choices import first
from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.control import Controller, Measured, Model, Settings, gains_for
from robot_dynamics.control.target_motion import JERK_S
from robot_dynamics.control.task import Task
from robot_dynamics.control.task_space import IMPEDANCE
from robot_dynamics.robot import find_robot
from robot_dynamics.spatial import Pose

ALL = "all of that"
LIMIT = 0.5  # m/s^2, the default


@cache
def motion(rate, about="as sent"):
    return moved(Stream(rate, **CASES[about]), seconds=14.0)


@pytest.mark.parametrize(
    ("rate", "about"),
    [
        *first(
            [(10.0, ALL), (100.0, ALL)],
            [(rate, about) for rate in (10.0, 100.0) for about in CASES],
        ),
        (20.0, ALL),
        (50.0, ALL),
    ],
)
def test_the_error_of_a_stream_is_that_of_its_delay(rate, about):
    found = motion(rate, about)
    # 3 mm is what times of arrival in place of stamps make of it
    stamped = CASES[about].get("stamped", True)
    assert (found.error() < 1.5 * found.ideal + (0.0 if stamped else 3e-3)).all()
    assert (found.error() < 1.5 * motion(rate).error() + (0.0 if stamped else 3e-3)).all()
    if stamped and "noise" not in CASES[about]:
        assert found.error(found.delay)[0] < 2e-3  # m; 15e-3 by times of arrival at 10 Hz
        assert found.at_limit < 0.1  # 0.5 to 0.9 where poses are followed as they come


@pytest.mark.parametrize("about", CASES)
def test_acceleration_and_jerk_of_a_target_are_bounded(about):
    found = motion(10.0, about)
    assert np.abs(found.acceleration).max() < LIMIT * (1.0 + 1e-9)
    assert found.jerk < LIMIT / JERK_S * (1.0 + 1e-6)


@pytest.mark.parametrize("rate", RATES)
def test_an_even_stream_is_one_and_a_half_intervals_late(rate):
    found = motion(rate)
    # A cycle of 2 ms may pass before a pose is taken
    assert found.delay == pytest.approx(1.5 / rate, abs=2.1e-3)
    assert found.error(found.delay)[0] < 3e-4  # m, of a path of 80 mm


def test_the_delay_grows_to_the_largest_lateness():
    found = moved(Stream(50.0, late=3.0))
    assert 3.0 / 50.0 < found.delay < 4.3 / 50.0
    assert found.error(found.delay)[0] < 2e-3


@pytest.mark.parametrize("offset", [1.8e9, -50.0])
def test_the_clock_of_a_sender_may_differ_by_any_constant(offset):
    """Stamps of 1.8e9 s are rounded by 2e-7 s."""
    stream = {"rate": 20.0, "late": 0.5, "lost": 0.1}
    found, same = (moved(Stream(**stream, offset=x), seconds=8.0) for x in (offset, 0.0))
    assert np.abs(found.displacement - same.displacement).max() < 1e-5


class Led(Target):
    """A target that is sent poses along an axis."""

    def send(self, displacement, stamp=0.0):
        position = self.start.translation + [displacement, 0.0, 0.0]
        self.task.aim(Pose(self.start.rotation, position), self.now, stamp)

    def run(self, seconds):
        for _ in range(round(seconds / 2e-3)):
            self.cycle()
        return self

    @property
    def displacement(self):
        return (self.task.target.position - self.start.translation)[0]


def test_a_stream_that_ends_in_motion_ends_at_its_last_pose():
    target = Led().run(0.2)
    for k in range(20):
        target.send(0.01 * k, ANOTHER_EPOCH_S + 0.05 * k)
        target.run(0.05)
    target.run(0.05)
    assert target.displacement < 0.19
    assert target.run(2.5).displacement == pytest.approx(0.19, abs=1e-6)
    assert not target.task.field("given")


def test_two_poses_far_apart_in_time_are_two_goals():
    target = Led().run(0.2)
    for displacement in (0.05, 0.1):
        target.send(displacement, ANOTHER_EPOCH_S + target.now)
        target.run(1.5)
        assert target.displacement == pytest.approx(displacement, abs=1e-5)


def test_stamps_that_go_back_begin_another_stream():
    """The clock of the sender was set."""
    target = Led().run(0.2)
    for start in (ANOTHER_EPOCH_S, ANOTHER_EPOCH_S - 7.0):
        for k in range(20):
            target.send(0.2 * 0.05 * k, start + 0.05 * k)
            target.run(0.05)
        assert target.delay + start == pytest.approx(target.now - 0.95 + 0.075 - 0.05, abs=5e-3)
        target.run(2.0)


def test_one_pose_behind_a_stream_out_of_reach_brings_the_arm_back():
    """The target had run off with the stream, and waited there for the end effector."""
    arm = Dynamics(read_urdf(find_robot("planar_2r")))
    model = Model(arm, gains_for(arm))
    task = Task(model, "endpoint")
    controller = Controller(model, Settings(mode=IMPEDANCE, settling_time=0.0), task)
    q, qd, period = np.array([0.8, 0.8]), np.zeros(2), 1e-3
    start = task.pose(model, q)
    beyond = Pose(start.rotation, start.translation + [9.0, 0.0, 0.0])
    for k in range(9000):
        if 500 <= k < 4000 and k % 50 == 0:
            task.aim(beyond, k * period)
        if k == 4000:
            assert "out of reach" in task.obstacle
            task.aim(start, k * period)
        controller.set_state(Measured(q, qd), k * period)
        qd = qd + period * arm.forward(q, qd, controller.update(k * period).tau)
        q = q + period * qd
    assert np.linalg.norm(task.pose(model, q).translation - start.translation) < 0.01
    assert task.obstacle == ""
