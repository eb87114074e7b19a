"""The motions that trajectory_node sends, and the parameters that choose and shape them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from robot_dynamics.nodes.ros.node_parameters import parameter
from robot_dynamics.nodes.runtime.robot_description import RobotParameters
from robot_dynamics.robot import Robot
from robot_dynamics.trajectory import (
    FollowedPath,
    PosePath,
    circle,
    excitation,
    follow_poses,
    pose_spline,
    random_poses,
    read_poses,
    straight_line,
)
from robot_dynamics.trajectory.pose_paths import pose_of
from robot_dynamics.trajectory.trajectory_files import read_trajectory

POINT_RATE_HZ = 25.0
"""Point rate of motions: dense enough for quintics, sparse enough for a short message."""


@dataclass(frozen=True)
class TrajectoryParameters(RobotParameters):
    """Parameters of trajectory_node."""

    motion: str = parameter(
        "excitation",
        "excitation: all joints oscillate at once; random_poses: a spline through random poses; "
        "file: the trajectory in file; circle, line: the frame moves once round a circle or along "
        "a line, by default those of the publications; poses: the frame passes the poses in file",
        one_of=("excitation", "random_poses", "file", "circle", "line", "poses"),
        read_only=True,
    )
    file: str = parameter(
        "", "File of the motions 'file' (.yaml or .csv) and 'poses' (.csv)", read_only=True
    )
    frame: str = parameter(
        "", "Frame that circle, line and poses move; empty: the only tip", read_only=True
    )
    near: tuple[float, ...] = parameter(
        (),
        "Joint positions near the start of circle, line and poses, which select the branch of "
        "inverse kinematics, rad or m; empty: zero",
        read_only=True,
    )
    circle_start: tuple[float, ...] = parameter(
        (0.8636, 0.0, 0.1524, 2.0943951023931953, 0.0, 1.5707963267948966),
        "Pose of the frame at both ends of the circle: x, y, z, m; roll, pitch, yaw, rad",
        length=6,
        read_only=True,
    )
    circle_centre: tuple[float, ...] = parameter(
        (0.8636, 0.0, 0.0), "Centre of the circle, m", length=3, read_only=True
    )
    circle_axis: tuple[float, ...] = parameter(
        (-1.0, 0.0, 0.0),
        "Axis of the circle, of any length, m",
        length=3,
        read_only=True,
    )
    line_start: tuple[float, ...] = parameter(
        (1.33, -1.0, 1.8, 0.0, 1.5707963267948966, 0.0),
        "Pose of the frame where the line starts: x, y, z, m; roll, pitch, yaw, rad",
        length=6,
        read_only=True,
    )
    line_end: tuple[float, ...] = parameter(
        (1.33, 1.0, 1.8, 0.0, 1.5707963267948966, 0.0),
        "Pose of the frame where the line ends: x, y, z, m; roll, pitch, yaw, rad",
        length=6,
        read_only=True,
    )
    smooth: bool = parameter(
        False,
        "Fit a spline, which may overshoot, through the points of a file with positions only",
        read_only=True,
    )
    duration: float = parameter(
        8.0,
        "Duration of the motions 'excitation', 'circle' and 'line', s",
        low=0.1,
        high=3600.0,
        read_only=True,
    )
    share: float = parameter(
        0.5,
        "Fraction of every joint's position range and velocity limit that a motion may use",
        low=0.01,
        high=1.0,
        read_only=True,
    )
    seed: int = parameter(1, "Seed of random_poses", low=0, high=2**31 - 1, read_only=True)
    approach: float = parameter(
        2.0,
        "Time to reach the first point from the present position, s",
        low=0.0,
        high=3600.0,
        read_only=True,
    )
    wait: bool = parameter(
        False, "Send nothing before the service ~/send is called", read_only=True
    )
    acknowledged: bool = parameter(
        True,
        "Repeat until feedforward_node acknowledges on joint_trajectory_with_effort; false: send "
        "once, as for a joint_trajectory_controller",
        read_only=True,
    )
    repeat: bool = parameter(False, "Send the motion again whenever it has ended")


def _excitation(robot: Robot, parameters: TrajectoryParameters) -> FollowedPath:
    share = parameters.share
    return FollowedPath(
        excitation(robot, parameters.duration, share=share, speed_share=share, rate=POINT_RATE_HZ)
    )


def _random_poses(robot: Robot, parameters: TrajectoryParameters) -> FollowedPath:
    share = parameters.share
    return FollowedPath(random_poses(robot, seed=parameters.seed, share=share, speed_share=share))


def _from_file(robot: Robot, parameters: TrajectoryParameters) -> FollowedPath:
    waypoints = read_trajectory(parameters.file, robot.joint_names)
    if not parameters.smooth:
        waypoints = waypoints.without_overshoot()
    return FollowedPath(waypoints.arriving_at_rest())


def _circle(robot: Robot, parameters: TrajectoryParameters) -> FollowedPath:
    start, centre, axis = parameters.circle_start, parameters.circle_centre, parameters.circle_axis
    path = circle(pose_of(start), centre, axis, parameters.duration, rate=POINT_RATE_HZ)
    return _followed(robot, parameters, path)


def _line(robot: Robot, parameters: TrajectoryParameters) -> FollowedPath:
    ends = pose_of(parameters.line_start), pose_of(parameters.line_end)
    path = straight_line(*ends, parameters.duration, rate=POINT_RATE_HZ)
    return _followed(robot, parameters, path)


def _poses(robot: Robot, parameters: TrajectoryParameters) -> FollowedPath:
    path = pose_spline(*read_poses(parameters.file), rate=POINT_RATE_HZ)
    return _followed(robot, parameters, path)


def _followed(robot: Robot, parameters: TrajectoryParameters, path: PosePath) -> FollowedPath:
    frame, near = parameters.frame or None, parameters.near or None
    return follow_poses(robot, path, frame, near=near)


MOTIONS: Mapping[str, Callable[[Robot, TrajectoryParameters], FollowedPath]] = {
    "excitation": _excitation,
    "random_poses": _random_poses,
    "file": _from_file,
    "circle": _circle,
    "line": _line,
    "poses": _poses,
}
