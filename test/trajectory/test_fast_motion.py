"""Minimum-time motions: bang-bang where theory says so, within limits elsewhere."""

from dataclasses import replace

import numpy as np
import pytest

from arms import slider
from robot_dynamics import Dynamics
from robot_dynamics.errors import ArgumentError, TrajectoryError
from robot_dynamics.robot import find_robot, read_urdf
from robot_dynamics.trajectory import excitation, interpolate, minimum_time, polynomial_345
from robot_dynamics.trajectory.motion_limits import violations
from robot_dynamics.trajectory.trajectory import Trajectory

pytest.importorskip("toppra")


def test_a_mass_on_a_rail_is_accelerated_and_braked_with_all_force():
    robot = slider(effort=10.0, velocity=100.0)
    motion = interpolate(polynomial_345(robot.joint_names, [-0.5], [0.5], 3.0))
    fast = minimum_time(robot, Dynamics(robot).inverse, motion, share=1.0)
    exact = 2.0 * np.sqrt(1.0 / (10.0 / 2.0))  # half the way at 5 m/s^2, half against it
    # The switch lies between two of 400 points of the path
    assert fast.duration == pytest.approx(exact, rel=0.01)
    # The polynomial's peak acceleration is 10 / sqrt(3) of the distance over the time squared
    assert fast.uniform == pytest.approx(np.sqrt(10.0 / np.sqrt(3.0) / 5.0), rel=2e-3)
    assert fast.saved > 0.1


def test_a_mass_on_a_rail_keeps_its_limit_of_acceleration():
    robot = slider(effort=10.0, velocity=100.0)
    joint = replace(robot.joints[0], limits=replace(robot.joints[0].limits, acceleration=2.0))
    robot = replace(robot, joints=(joint,))
    motion = interpolate(polynomial_345(robot.joint_names, [-0.5], [0.5], 3.0))
    fast = minimum_time(robot, Dynamics(robot).inverse, motion, share=1.0)
    assert fast.duration == pytest.approx(2.0 * np.sqrt(1.0 / 2.0), rel=0.01)
    assert fast.uniform == pytest.approx(np.sqrt(10.0 / np.sqrt(3.0) / 2.0), rel=2e-3)


@pytest.mark.parametrize("name", ["ur5", "planar_2r"])
def test_a_fast_motion_keeps_all_limits_stays_on_its_path_and_saves_time(name):
    robot = read_urdf(find_robot(name))
    inverse = Dynamics(robot).inverse
    ends = np.full(robot.dof, -0.6), np.linspace(0.3, 0.9, robot.dof)
    bent = excitation(robot, 6.0, share=0.3)
    straight = polynomial_345(robot.joint_names, *ends, 3.0)
    motion = interpolate(bent if name == "ur5" else straight)
    fast = minimum_time(robot, inverse, motion)
    assert violations(fast.trajectory, robot, lambda s: inverse(s.q, s.qd, s.qdd)) == []
    assert fast.duration < fast.uniform
    path = motion.sample(np.linspace(0.0, motion.end, 5000)).q
    off = [np.abs(path - q).max(axis=1).min() for q in fast.waypoints.positions]
    assert max(off) < 2e-3  # a spline through 80 points of it
    ends = fast.trajectory.sample(0.0), fast.trajectory.sample(fast.duration)
    assert max(np.abs(end.qd).max() for end in ends) < 1e-9  # at rest, but for round-off


def test_a_motion_that_stands_still_and_a_share_out_of_range_are_refused():
    robot = slider(effort=10.0, velocity=100.0)
    inverse = Dynamics(robot).inverse
    with pytest.raises(TrajectoryError, match="the motion stands still; there is no path"):
        minimum_time(robot, inverse, Trajectory.hold(robot.joint_names, np.zeros(1)))
    motion = interpolate(polynomial_345(robot.joint_names, [-0.5], [0.5], 3.0))
    with pytest.raises(ArgumentError, match=r"share is 2.0; give a part of the limits"):
        minimum_time(robot, inverse, motion, share=2.0)
