"""trajectory_node: send a motion on `joint_trajectory`, chosen and shaped by parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import cos, isfinite, nan
from time import monotonic

import numpy as np
from diagnostic_msgs.msg import KeyValue
from rclpy.subscription import Subscription
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics.control import Friction, Gains, Model
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ArgumentError
from robot_dynamics.foundation.numbers import counted
from robot_dynamics.foundation.units import NS_PER_S
from robot_dynamics.kinematics.selection import SELECTION_AXES
from robot_dynamics.nodes.ros.messages import UNFOLLOWED_TOPIC, trajectory_msg
from robot_dynamics.nodes.ros.node_parameters import parameter
from robot_dynamics.nodes.ros.topics import (
    ANNOUNCEMENT_QOS,
    TRAJECTORY_QOS,
    followers_of,
    subscribers_of,
)
from robot_dynamics.nodes.runtime.robot_description import REMINDER_PERIOD_S, RobotParameters
from robot_dynamics.nodes.runtime.robot_node import RobotNode
from robot_dynamics.robot import Robot
from robot_dynamics.robot.endpoint import default_end_effector
from robot_dynamics.simulation.start_pose import start_pose
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
from robot_dynamics.trajectory.motion_limits import shrunk_to_fit
from robot_dynamics.trajectory.pose_paths import pose_of
from robot_dynamics.trajectory.trajectory_files import read_trajectory

POINT_RATE_HZ = 25.0
"""Point rate of motions: dense enough for quintics, sparse enough for a short message."""


DURATION_S = 8.0
"""Duration of excitation, and of circles and lines that are not those of the publications, s."""

CIRCLE_S, LINE_S = 9.0, 1.0
"""Durations of the circle of [Gupta1986] and the line of [Angeles1989], s."""

SHORTEST_S = 0.1
"""Shortest duration, s."""


@dataclass(frozen=True)
class TrajectoryParameters(RobotParameters):
    """Parameters of trajectory_node."""

    motion: str = parameter(
        "excitation",
        "excitation: all joints oscillate at once; random_poses: a spline through random poses; "
        "file: the trajectory in file; circle, line: the frame moves once round a circle or along "
        "a line, by default those of the publications, the line by a normal spline; poses: the "
        "frame passes the poses in file",
        one_of=("excitation", "random_poses", "file", "circle", "line", "poses"),
        read_only=True,
    )
    file: str = parameter(
        "", "File of the motions 'file' (.yaml or .csv) and 'poses' (.csv)", read_only=True
    )
    frame: str = parameter(
        "",
        "Frame that circle, line and poses move; empty: tool0, or the tip that no finger joint "
        "moves",
        read_only=True,
    )
    near: tuple[float, ...] = parameter(
        (),
        "Joint positions near the start of circle, line and poses, which select the branch of "
        "inverse kinematics, rad or m; empty: zero",
        read_only=True,
    )
    selection: tuple[float, ...] = parameter(
        (1.0, 1.0, 1.0, 1.0, 1.0, 1.0),
        "Directions x, y, z, rx, ry, rz in which the frame follows circle, line and poses: 1; 0 "
        "leaves one free",
        length=6,
        read_only=True,
    )
    selection_axes: str = parameter(
        "root",
        "Axes of the directions: root: those of the root link; frame: those of the frame",
        one_of=SELECTION_AXES,
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
        (-1.0, 0.0, 0.0), "Axis of the circle, of any length, m", length=3, read_only=True
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
        0.0,
        "Duration of the motions 'excitation', 'circle' and 'line', s; 0: 9 s for the circle and "
        "1 s for the line of the publications, 8 s otherwise",
        low=0.0,
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
        "Time to reach the first point, s; longer where speed limits need it from a default start",
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
    controller: str = parameter(
        "",
        "Node that has to follow references before a motion is sent; empty: none",
        read_only=True,
    )
    repeat: bool = parameter(False, "Send the motion again whenever it has ended")

    def check(self) -> None:
        """See `RobotParameters.check`."""
        if 0.0 < self.duration < SHORTEST_S:
            raise ArgumentError(
                f"parameter 'duration' is {self.duration} s; give at least {SHORTEST_S} s, or 0"
            )
        if self.motion in ("file", "poses") and not self.file:
            kinds = ".yaml or .csv" if self.motion == "file" else ".csv"
            raise ArgumentError(
                f"parameter 'motion' is '{self.motion}' but parameter 'file' is empty; give the "
                f"path of a {kinds} file in 'file'"
            )


def _excitation(robot: Robot, parameters: TrajectoryParameters) -> FollowedPath:
    share, duration = parameters.share, parameters.duration or DURATION_S
    motion = excitation(robot, duration, share=share, speed_share=share, rate=POINT_RATE_HZ)
    model = Model(Dynamics(robot), Gains(*np.zeros((2, robot.dof))), Friction.of(robot))
    return FollowedPath(shrunk_to_fit(motion, robot, lambda state: model.feedforward(*state)))


def _random_poses(robot: Robot, parameters: TrajectoryParameters) -> FollowedPath:
    share = parameters.share
    return FollowedPath(random_poses(robot, seed=parameters.seed, share=share, speed_share=share))


def _from_file(robot: Robot, parameters: TrajectoryParameters) -> FollowedPath:
    waypoints = read_trajectory(
        parameters.file, robot.joint_names, followers=robot.followers, speeds=robot.limits.velocity
    )
    if not parameters.smooth:
        waypoints = waypoints.without_overshoot()
    return FollowedPath(waypoints.arriving_at_rest())


def _circle(robot: Robot, parameters: TrajectoryParameters) -> FollowedPath:
    start, centre, axis = parameters.circle_start, parameters.circle_centre, parameters.circle_axis
    printed = _as_printed(parameters, "circle_start", "circle_centre", "circle_axis")
    duration = parameters.duration or (CIRCLE_S if printed else DURATION_S)
    path = circle(pose_of(start), centre, axis, duration, rate=POINT_RATE_HZ)
    return _followed(robot, parameters, path)


def _line(robot: Robot, parameters: TrajectoryParameters) -> FollowedPath:
    ends = pose_of(parameters.line_start), pose_of(parameters.line_end)
    printed = _as_printed(parameters, "line_start", "line_end")
    duration = parameters.duration or (LINE_S if printed else DURATION_S)
    law = "normal_spline" if printed else "polynomial"
    path = straight_line(*ends, duration, law=law, rate=POINT_RATE_HZ)
    return _followed(robot, parameters, path)


def _as_printed(parameters: TrajectoryParameters, *poses: str) -> bool:
    """Return whether these parameters are those of the publication, the defaults."""
    printed = TrajectoryParameters()
    return all(getattr(parameters, name) == getattr(printed, name) for name in poses)


def _poses(robot: Robot, parameters: TrajectoryParameters) -> FollowedPath:
    path = pose_spline(*read_poses(parameters.file), rate=POINT_RATE_HZ)
    return _followed(robot, parameters, path)


def _followed(robot: Robot, parameters: TrajectoryParameters, path: PosePath) -> FollowedPath:
    frame, near = parameters.frame or default_end_effector(robot), parameters.near or None
    selection, axes = parameters.selection, parameters.selection_axes
    return follow_poses(robot, path, frame, near=near, selection=selection, axes=axes)


MOTIONS: Mapping[str, Callable[[Robot, TrajectoryParameters], FollowedPath]] = {
    "excitation": _excitation,
    "random_poses": _random_poses,
    "file": _from_file,
    "circle": _circle,
    "line": _line,
    "poses": _poses,
}


SLOWEST = 2.0
"""Duration of an approach over that at the speed limits: a quintic peaks at 15/8 of its mean."""

FOLLOWER_CHECK_PERIOD_S = 0.1
"""Period of checking for followers and for the next transmission, s."""

ACKNOWLEDGEMENT_TIMEOUT_S = 1.0
"""Time limit for the acknowledgement of a motion, s."""

ACKNOWLEDGEMENT_TOPIC = "joint_trajectory_with_effort"
"""Topic on which feedforward_node publishes every trajectory that it follows."""

DISCOVERY_S = 0.3
"""Time for discovery of the acknowledging node, s."""

SAME_END_COS = 1.0 - 1e-9
"""Cosine of the difference of two positions that count as the same: 5e-5 rad or m."""

MAX_ATTEMPTS = 5
"""Attempts before an unacknowledged motion counts as refused."""


class TrajectoryNode(RobotNode[TrajectoryParameters]):
    """Sends one motion, once or repeatedly."""

    NAME = "trajectory_node"
    PARAMETERS = TrajectoryParameters

    def configure(self) -> None:
        """Plan the motion and create the topics."""
        super().configure()
        parameters, robot = self.parameters, self.robot
        self._plan(robot)
        self._due = False
        self._ends_at: int | None = None
        self._attempts = 0
        self._next_attempt = self._remind_at = 0.0  # steady times, s
        self._acknowledgements: Subscription | None = None
        self._unfollowed = "it is not there yet" if parameters.controller else ""
        if parameters.controller:
            self.create_subscription(KeyValue, UNFOLLOWED_TOPIC, self._on_reason, ANNOUNCEMENT_QOS)
        self._publisher = self.create_publisher(JointTrajectory, "joint_trajectory", TRAJECTORY_QOS)
        self.call_every(FOLLOWER_CHECK_PERIOD_S, self._update)
        self.offer("~/send", self._send_again)
        self.get_logger().info(
            f"motion '{parameters.motion}' of robot '{robot.name}': "
            f"{self.waypoints.duration:.2f} s" + ("; waiting for ~/send" if parameters.wait else "")
        )

    def activate(self) -> None:
        """See `ManagedNode.activate`: the motion is sent once a node follows it."""
        self._ends_at = None
        if not self.parameters.wait:
            self._start_sending()

    def update_robot(self, robot: Robot) -> None:
        """See `RobotNode.update_robot`: the next transmission uses the new robot."""
        self._plan(robot)

    def _plan(self, robot: Robot) -> None:
        motion, remarks = MOTIONS[self.parameters.motion](robot, self.parameters)
        for remark in remarks:
            self.get_logger().warning(f"'{self.parameters.motion}' meets, {remark}")
        lasts = np.abs(motion.positions[0] - start_pose(robot)) / robot.limits.velocity
        self.waypoints = motion.delayed(max(self.parameters.approach, SLOWEST * lasts.max()))
        self._msg = trajectory_msg(self.waypoints)

    def send(self) -> None:
        """Send the motion."""
        self._publisher.publish(self._msg)
        duration = round((self.waypoints.duration + FOLLOWER_CHECK_PERIOD_S) * NS_PER_S)
        self._ends_at = self.get_clock().now().nanoseconds + duration
        self.get_logger().info(
            f"sent '{self.parameters.motion}': {counted(len(self.waypoints.times), 'point')}, "
            f"{self.waypoints.duration:.2f} s"
        )

    @property
    def _followers(self) -> list[str]:
        """Nodes that follow joint_trajectory, as far as is known."""
        topic = self._publisher.topic_name
        if not self.parameters.acknowledged:
            return subscribers_of(self, topic)
        return followers_of(self, topic, self.resolve_topic_name(ACKNOWLEDGEMENT_TOPIC))

    def _start_sending(self) -> None:
        self._due, self._attempts = True, 0
        self._next_attempt = monotonic() + DISCOVERY_S
        self._remind_at = monotonic() + 1.0
        if self.parameters.acknowledged and self._acknowledgements is None:
            self._acknowledgements = self.create_subscription(
                JointTrajectory, ACKNOWLEDGEMENT_TOPIC, self._on_acknowledgement, TRAJECTORY_QOS
            )

    def _on_acknowledgement(self, msg: JointTrajectory) -> None:
        """Accept the acknowledgement of a motion that ends at the same positions."""
        if not (self._due and self._attempts and msg.points):
            return
        end = dict(zip(msg.joint_names, msg.points[-1].positions, strict=False))
        ours = dict(
            zip(self.waypoints.joint_names, self.waypoints.positions[-1].tolist(), strict=True)
        )
        # Continuous joints may differ by multiples of 2 pi
        apart = [end.get(name, nan) - q for name, q in ours.items()]
        if all(isfinite(x) and cos(x) > SAME_END_COS for x in apart):
            self._due = False
            self.get_logger().info(f"'{self.parameters.motion}' is followed")

    def _update(self) -> None:
        if not self.active:
            return
        ended = self._ends_at is not None and self.get_clock().now().nanoseconds > self._ends_at
        if ended and self.parameters.repeat and not self._due:
            self._start_sending()
        if self._due:
            self._try_to_send()
        elif self._acknowledgements is not None:
            self.destroy_subscription(self._acknowledgements)
            self._acknowledgements = None

    def _on_reason(self, msg: KeyValue) -> None:
        """Keep the reason of the controller for which it follows no reference."""
        if msg.key == self.parameters.controller:
            self._unfollowed = msg.value

    def _try_to_send(self) -> None:
        """Send the motion if it is followed, and repeat it until it is acknowledged."""
        now = monotonic()
        if awaited := self._awaited:
            if now >= self._remind_at:
                self._remind_at = now + REMINDER_PERIOD_S
                self.get_logger().info(f"waiting for {awaited}")
        elif now >= self._next_attempt and self._attempts == MAX_ATTEMPTS:
            self._due = False
            self.get_logger().warning(
                f"{', '.join(self._followers)} has not accepted '{self.parameters.motion}' in "
                f"{MAX_ATTEMPTS} attempts; see its log, and call {self.get_name()}/send"
            )
        elif now >= self._next_attempt:
            self._attempts += 1
            self._next_attempt = now + ACKNOWLEDGEMENT_TIMEOUT_S
            self.send()
            self._due = self.parameters.acknowledged

    @property
    def _awaited(self) -> str:
        """Return what a motion waits for; empty if it can be sent."""
        if self._followers:
            controller, why = self.parameters.controller, self._unfollowed
            return why and f"{controller} to follow references: {why}"
        topic = self._publisher.topic_name
        readers = subscribers_of(self, topic)
        beside = f", but only {', '.join(readers)} subscribes to it" if readers else ""
        what = "feedforward_node with joint_states" if self.parameters.acknowledged else "a node"
        return f"{what} to follow {topic}{beside}"

    def _send_again(self) -> tuple[bool, str]:
        if not self.active:
            return False, f"{self.get_name()} is not active"
        if awaited := self._awaited:
            return False, f"nothing sent: waiting for {awaited}"
        self._start_sending()
        return True, f"sent to {', '.join(self._followers)}"
