"""Limit policies: starts of another clock, numbers that overflow, limits by name."""

import numpy as np
import pytest

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.errors import TrajectoryError
from robot_dynamics.robot import find_robot
from robot_dynamics.trajectory import Follower, Waypoints
from robot_dynamics.trajectory.motion_limits import (
    LIMITS,
    check_finite,
    check_start,
    plan_within_limits,
)

ROBOT = read_urdf(find_robot("planar_2r"))  # 6 and 8 rad/s at most
DYNAMICS = Dynamics(ROBOT)
FAST = Waypoints(ROBOT.joint_names, [0.1], [[1.5, 0.0]])
SLOW = Waypoints(ROBOT.joint_names, [3.0], [[1.5, 0.0]])


def effort(state):
    return DYNAMICS.inverse(*state)


def plan(waypoints):
    return Follower(ROBOT.joint_names, np.zeros(2)).plan(waypoints, now=0.0)


def accepted(limits, waypoints):
    return plan_within_limits(limits, waypoints, plan, ROBOT, effort)


@pytest.mark.parametrize("limits", LIMITS)
def test_a_motion_within_the_limits_passes_without_a_word(limits):
    trajectory, waypoints, remark = accepted(limits, SLOW)
    assert waypoints is SLOW
    assert not remark
    np.testing.assert_allclose(trajectory.sample(3.0).q, [1.5, 0.0], atol=1e-12)


def test_a_motion_beyond_the_limits_meets_what_the_name_says():
    with pytest.raises(TrajectoryError, match="joint 'joint_1' needs"):
        accepted("reject", FAST)
    warned = accepted("warn", FAST)
    assert warned.waypoints is FAST
    assert "beyond a limit: trajectory: joint 'joint_1' needs" in warned.remark
    slowed = accepted("scale", FAST)
    assert slowed.waypoints.duration > FAST.duration
    assert "slowed down" in slowed.remark
    accepted("reject", slowed.waypoints)
    assert not accepted("ignore", FAST).remark


def test_numbers_that_overflow_are_refused():
    trajectory = plan(Waypoints(ROBOT.joint_names, [1e-3], [[1e300, 0.0]]))
    with pytest.raises(TrajectoryError, match="so large that the motion or its efforts overflow"):
        check_finite(trajectory, effort)
    check_finite(plan(SLOW), effort)


@pytest.mark.parametrize(
    ("start", "what"),
    [
        (20.0, r"ended 977\.000 s ago \(its stamp is 20\.000 s, the clock here is 1000\.000 s\)"),
        (1.79e9, r"starts 1789999000 s ahead \(its stamp is 1790000000\.000 s"),
    ],
)
def test_a_start_by_another_clock_is_refused_with_both(start, what):
    with pytest.raises(TrajectoryError, match=what + r".*set use_sim_time equally on all nodes"):
        check_start(start, 3.0, 1000.0)


@pytest.mark.parametrize("start", [997.5, 1000.0, 1100.0])
def test_a_start_that_can_be_meant_passes(start):
    check_start(start, 3.0, 1000.0)
