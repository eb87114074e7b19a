"""Trajectories of a bag, as MoveIt and others publish them."""

import numpy as np
import pytest

pytest.importorskip("mcap")
pytest.importorskip("rosbags")

from robot_dynamics.errors import TrajectoryError
from robot_dynamics.recordings.bag_trajectories import fill_bag, recorded_waypoints
from robot_dynamics.recordings.mcap_writer import McapWriter
from robot_dynamics.recordings.ros_messages import (
    JOINT_TRAJECTORY,
    duration,
    header,
    new_message,
    serialized,
)
from robot_dynamics.robot.kinematic_tree import Mimic

FOLLOWERS = {"right_finger": Mimic("left_finger", 2.0, 0.01)}


def bag(path, names, *rows):
    """A bag with one trajectory, a second between its points."""
    none = np.zeros(0)
    points = [
        new_message(
            "trajectory_msgs/msg/JointTrajectoryPoint",
            positions=np.array(row),
            velocities=none,
            accelerations=none,
            effort=none,
            time_from_start=duration(k * 10**9),
        )
        for k, row in enumerate(rows)
    ]
    message = new_message(JOINT_TRAJECTORY, header=header(0), joint_names=names, points=points)
    file = McapWriter(path)
    file.write(file.channel("/joint_trajectory", JOINT_TRAJECTORY), 1, serialized(message))
    file.close()
    return path


def test_a_recorded_trajectory_may_name_joints_that_follow_others(tmp_path):
    names = ["elbow", "right_finger", "left_finger"]
    path = bag(tmp_path / "a.mcap", names, [0.1, 0.05, 0.02], [0.2, 0.07, 0.03])
    read = recorded_waypoints(path, ["elbow", "left_finger"], FOLLOWERS)
    assert read.joint_names == ("elbow", "left_finger")
    np.testing.assert_array_equal(read.positions, [[0.1, 0.02], [0.2, 0.03]])
    (filled,) = fill_bag(
        path, tmp_path / "b.mcap", ["elbow", "left_finger"], lambda w: w, FOLLOWERS
    )
    np.testing.assert_array_equal(filled.positions, read.positions)


def test_a_follower_that_is_elsewhere_in_a_recording_is_named(tmp_path):
    path = bag(tmp_path / "a.mcap", ["left_finger", "right_finger"], [0.02, 0.09])
    with pytest.raises(TrajectoryError, match="joint 'right_finger' follows 'left_finger'"):
        recorded_waypoints(path, ["left_finger"], FOLLOWERS)
