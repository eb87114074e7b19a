"""The pose in which a simulated arm starts."""

import numpy as np
import pytest

from robot_dynamics import read_urdf
from robot_dynamics.kinematics import frame_jacobian, link_poses
from robot_dynamics.robot import find_robot
from robot_dynamics.robot.endpoint import default_end_effector
from robot_dynamics.simulation.start_pose import start_pose
from robot_dynamics.trajectory.motions import middle_pose


@pytest.mark.parametrize("name", ["ur3", "ur5", "ur10", "kinova"])
def test_an_arm_that_is_singular_in_the_middle_starts_bent(name):
    robot = read_urdf(find_robot(name))
    end_effector, q = default_end_effector(robot), start_pose(robot)
    singular, bent = (
        np.linalg.svd(frame_jacobian(robot, at, end_effector), compute_uv=False)[-1]
        for at in (middle_pose(robot), q)
    )
    assert singular < 1e-6
    assert bent > 0.05  # m: the farthest of random poses of a UR5 reach 0.25
    assert (q >= robot.limits.lower).all()
    assert (q <= robot.limits.upper).all()
    assert min(pose.translation[2] for pose in link_poses(robot, q).values()) > -1e-6


@pytest.mark.parametrize("name", ["panda", "xarm7", "planar_2r", "solo"])
def test_other_robots_start_in_the_middle_of_their_ranges(name):
    robot = read_urdf(find_robot(name))
    np.testing.assert_array_equal(start_pose(robot), middle_pose(robot))
