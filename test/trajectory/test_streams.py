"""Streams of trajectories of one point, as of MoveIt Servo, are as smooth as one motion."""

import numpy as np
import pytest

from choices import first
from robot_dynamics.trajectory import Follower
from robot_dynamics.trajectory.streams import PointStream
from robot_dynamics.trajectory.waypoints import Waypoints

SPEED, PERIOD = 0.3, 2e-3
ALL = {"uneven": 0.5, "late": 0.5, "lost": 0.1}


def ramp(time):
    return SPEED * time


def sine(time):
    return 0.3 * np.sin(2.0 * np.pi * 0.3 * time)


def messages(rate, seconds, uneven=0.0, late=0.0, lost=0.0):
    """Return the times of sending and arrival of what arrives."""
    rng, sent, last, found = np.random.default_rng(0), 0.0, 0.0, []
    while sent < seconds:
        came = max(sent + late * rng.random() / rate, last)
        if rng.random() >= lost:
            found.append((sent, came))
            last = came
        sent += (1.0 + uneven * rng.uniform(-1.0, 1.0)) / rate
    return found


def followed(path, rate=25.0, ahead=0.15, stamped=False, seconds=10.0, sent_until=10.0, **met):
    """Return times and states of a joint that follows points of a path a time ahead."""
    follower, stream = Follower(["joint"], [path(0.0)]), PointStream()
    waiting, rows = messages(rate, sent_until, **met), []
    for now in np.arange(0.0, seconds, PERIOD):
        while waiting and waiting[0][1] <= now:
            sent = waiting.pop(0)[0]
            point = Waypoints(("joint",), [ahead], [[path(sent + ahead)]])
            start = sent if stamped else now
            follower.accept(stream.take(point, now, start), now, start if stamped else 0.0)
        rows.append((now, *np.ravel(follower.sample(now))))
    return np.array([row for row in rows if row[0] > 2.0]).T


@pytest.mark.parametrize(
    ("given", "share"),
    [
        ({}, 0.02),  # points come up to a cycle of 2 ms late
        ({"ahead": 0.04}, 0.05),
        ({**ALL, "stamped": True}, 1e-3),
        (ALL, 0.15),  # times of arrival are up to half an interval late
    ],
)
def test_a_ramp_has_a_steady_speed(given, share):
    """Each point alone would be reached at rest: its speed would swing from 0 to twice."""
    _, _, qd, _ = followed(ramp, **given)
    assert np.abs(qd - SPEED).max() < share * SPEED


@pytest.mark.parametrize(
    ("rate", "ahead"), first([(25.0, 0.15)], [(25.0, 0.15), (100.0, 0.05), (10.0, 0.4)])
)
def test_a_sine_is_followed_whatever_is_uneven_late_or_lost(rate, ahead):
    time, q, _, qdd = followed(sine, rate, ahead, stamped=True, **ALL)
    error = np.sqrt(np.mean((q - sine(time)) ** 2))
    # rad; 4 to 17e-3 where each point is followed to rest
    assert error < 2e-3
    assert np.abs(qdd).max() < 1.3 * 0.3 * (2.0 * np.pi * 0.3) ** 2


def test_points_that_are_due_too_soon_are_delayed_until_the_next_one_has_come():
    rate = 20.0
    time, q, qd, _ = followed(ramp, rate, ahead=1.0 / rate, late=0.5, stamped=True)
    assert np.abs(qd - SPEED).max() < 0.1 * SPEED
    behind = np.mean(time - q / SPEED)
    # One and a half intervals after the latest arrival of a point that is one interval ahead
    assert 0.5 / rate < behind < 1.1 / rate


def test_a_stream_that_ends_in_motion_returns_to_its_last_point():
    _, q, qd, _ = followed(ramp, sent_until=6.0)
    last = ramp(messages(25.0, 6.0)[-1][0] + 0.15)
    assert q[-1] == pytest.approx(last, abs=1e-9)
    assert qd[-1] == 0.0
    assert q.max() < last + 0.03  # rad: an interval of 40 ms, and the way back within 0.2 s


def point(q, ahead=0.1, **given):
    return Waypoints(("joint",), [ahead], [[q]], **given)


@pytest.mark.parametrize(
    "others",
    [
        [point(0.1, 1.0), point(0.2, 1.0)],  # goals of their own, a second ahead
        [Waypoints(("joint",), [0.1, 0.2], [[0.1], [0.2]])],
        [point(0.1, velocities=[[0.1]])],
        [Waypoints(("other",), [0.1], [[0.2]])],
    ],
)
def test_other_motions_pass_as_they_are_and_end_a_stream(others):
    stream = PointStream()
    for k in range(5):
        found = stream.take(point(0.01 * k), 0.1 * k, 0.1 * k)
        assert (len(found.times) > 1) == (k > 1)
    for other in others:
        assert stream.take(other, 0.5, 0.5) is other
    again = point(0.2)
    assert stream.take(again, 0.55, 0.55) is again


def test_points_far_apart_in_time_are_goals():
    stream = PointStream()
    for k in range(5):
        goal = point(0.01 * k)
        assert stream.take(goal, 0.3 * k, 0.3 * k) is goal
