"""trajectory_node: sends a motion to whoever follows `joint_trajectory`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics.errors import ArgumentError
from robot_dynamics.nodes.ros.messages import SECOND, trajectory_msg
from robot_dynamics.nodes.ros.node_parameters import parameter
from robot_dynamics.nodes.ros.qos import TRAJECTORY_QOS
from robot_dynamics.nodes.runtime.process import run
from robot_dynamics.nodes.runtime.robot_description import RobotParameters
from robot_dynamics.nodes.runtime.robot_node import RobotNode
from robot_dynamics.robot import Robot
from robot_dynamics.trajectory import Waypoints, excitation, random_poses
from robot_dynamics.trajectory.trajectory_files import read_trajectory

TIMER_PERIOD_S = 0.1
"""Time between two looks whether somebody listens and whether it is time to send again, s."""


POINT_RATE_HZ = 25.0
"""Of the motion 'excitation': dense enough for quintics, sparse enough for a quick message."""


@dataclass(frozen=True)
class TrajectoryParameters(RobotParameters):
    """Parameters of trajectory_node."""

    motion: str = parameter(
        "excitation",
        "excitation: all joints swing at once; random_poses: a spline through random poses; "
        "file: what file holds",
        one_of=("excitation", "random_poses", "file"),
        read_only=True,
    )
    file: str = parameter("", "Trajectory of the motion 'file', .yaml or .csv", read_only=True)
    duration: float = parameter(
        8.0, "Duration of the motion 'excitation', s", low=0.1, high=3600.0, read_only=True
    )
    share: float = parameter(
        0.5,
        "Part of every joint's position range and velocity limit that a motion may use",
        low=0.01,
        high=1.0,
        read_only=True,
    )
    seed: int = parameter(1, "Seed of random_poses", low=0, high=2**31 - 1, read_only=True)
    approach: float = parameter(
        2.0,
        "Time to reach the first point from where the robot is, s",
        low=0.0,
        high=3600.0,
        read_only=True,
    )
    wait: bool = parameter(
        False, "Send nothing before the service ~/send is called", read_only=True
    )
    repeat: bool = parameter(False, "Send the motion again whenever it has ended")


class TrajectoryNode(RobotNode[TrajectoryParameters]):
    """Sends one motion, or the same one again and again."""

    NAME = "trajectory_node"
    PARAMETERS = TrajectoryParameters

    def check(self, value: TrajectoryParameters) -> None:
        """See `RobotNode.check`."""
        if value.motion == "file" and not value.file:
            raise ArgumentError(
                "parameter 'motion' is 'file' but parameter 'file' is empty; give the path of a "
                ".yaml or .csv file in 'file'"
            )

    def configure(self) -> None:
        """Make the motion and open the topics."""
        super().configure()
        parameters, robot = self.parameters, self.robot
        self._plan(robot)
        self._due = False
        self._ends_at: int | None = None
        self._publisher = self.create_publisher(JointTrajectory, "joint_trajectory", TRAJECTORY_QOS)
        self._timer = self.create_timer(TIMER_PERIOD_S, self._on_timer)
        self.create_service(Trigger, "~/send", self._on_send)
        self.get_logger().info(
            f"motion '{parameters.motion}' of robot '{robot.name}': "
            f"{self.waypoints.duration:.2f} s; waiting for "
            + ("~/send" if parameters.wait else "somebody who follows joint_trajectory")
        )

    def activate(self) -> None:
        """Nothing here is fast: a timer sends the motion once somebody listens."""
        self._due = not self.parameters.wait
        self._ends_at = None
        self._timer.reset()

    def changed(self, value: TrajectoryParameters) -> None:
        """See `RobotNode.changed`: perhaps it is to be repeated now."""
        self._timer.reset()

    def update_robot(self, robot: Robot) -> None:
        """See `RobotNode.update_robot`: from the next time on, send the motion of the new robot."""
        self._plan(robot)

    def _plan(self, robot: Robot) -> None:
        motion = MOTIONS[self.parameters.motion](robot, self.parameters)
        self.waypoints = motion.delayed(self.parameters.approach)
        self._msg = trajectory_msg(self.waypoints)

    def send(self) -> None:
        """Send the motion to whoever listens now."""
        self._publisher.publish(self._msg)
        self._due = False
        duration = round((self.waypoints.duration + TIMER_PERIOD_S) * SECOND)
        self._ends_at = self.get_clock().now().nanoseconds + duration
        self.get_logger().info(
            f"sent '{self.parameters.motion}': {len(self.waypoints.times)} points, "
            f"{self.waypoints.duration:.2f} s"
        )

    def _on_timer(self) -> None:
        if not self.active:
            return
        ended = self._ends_at is not None and self.get_clock().now().nanoseconds > self._ends_at
        again = ended and self.parameters.repeat
        if (self._due or again) and self._publisher.get_subscription_count() > 0:
            self.send()
        if not self._due and not self.parameters.repeat:
            self._timer.cancel()  # where nodes share a process, every look takes time from the loop

    def _on_send(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        if not self.active:
            response.success, response.message = False, f"{self.get_name()} is not active"
            return response
        listeners = self._publisher.get_subscription_count()
        response.success = listeners > 0
        response.message = (
            f"sent to {listeners}" if listeners else "nobody follows joint_trajectory"
        )
        if listeners:
            self.send()
        return response


def _excitation(robot: Robot, parameters: TrajectoryParameters) -> Waypoints:
    share = parameters.share
    return excitation(
        robot, parameters.duration, share=share, speed_share=share, rate=POINT_RATE_HZ
    )


def _random_poses(robot: Robot, parameters: TrajectoryParameters) -> Waypoints:
    share = parameters.share
    return random_poses(robot, seed=parameters.seed, share=share, speed_share=share)


def _from_file(robot: Robot, parameters: TrajectoryParameters) -> Waypoints:
    return read_trajectory(parameters.file, robot.joint_names)


MOTIONS: Mapping[str, Callable[[Robot, TrajectoryParameters], Waypoints]] = {
    "excitation": _excitation,
    "random_poses": _random_poses,
    "file": _from_file,
}


def main(args: list[str] | None = None) -> None:
    """Run the node."""
    sys.exit(run(TrajectoryNode, args=args))


if __name__ == "__main__":
    main()
