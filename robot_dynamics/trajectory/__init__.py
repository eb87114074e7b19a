"""Motions of the joints: waypoints in, positions, velocities and accelerations out."""

from typing import TYPE_CHECKING

from robot_dynamics.foundation.lazy import late

if TYPE_CHECKING:
    from robot_dynamics.trajectory.fast_motion import FastMotion, minimum_time
    from robot_dynamics.trajectory.follower import Follower
    from robot_dynamics.trajectory.interpolation import interpolate
    from robot_dynamics.trajectory.motions import (
        circle_law,
        cycloidal,
        excitation,
        normal_spline,
        polynomial_345,
        random_poses,
    )
    from robot_dynamics.trajectory.pose_following import FollowedPath, Remark, follow_poses
    from robot_dynamics.trajectory.pose_paths import (
        PosePath,
        circle,
        pose_spline,
        read_poses,
        straight_line,
    )
    from robot_dynamics.trajectory.trajectory import State, Trajectory
    from robot_dynamics.trajectory.trajectory_files import read_trajectory, write_trajectory
    from robot_dynamics.trajectory.waypoint_effort import with_effort
    from robot_dynamics.trajectory.waypoints import Point, Waypoints, read_points

__all__ = [
    "FastMotion",
    "FollowedPath",
    "Follower",
    "Point",
    "PosePath",
    "Remark",
    "State",
    "Trajectory",
    "Waypoints",
    "circle",
    "circle_law",
    "cycloidal",
    "excitation",
    "follow_poses",
    "interpolate",
    "minimum_time",
    "normal_spline",
    "polynomial_345",
    "pose_spline",
    "random_poses",
    "read_points",
    "read_poses",
    "read_trajectory",
    "straight_line",
    "with_effort",
    "write_trajectory",
]

__getattr__, __dir__ = late(__name__)
