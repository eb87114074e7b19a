"""marker_node: publish load, reference, gravity, wrench and target of a robot as markers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from time import monotonic

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point, PoseStamped, TwistStamped
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.nodes.observer_node import SILENCE_S, ObserverNode
from robot_dynamics.nodes.ros.messages import time_msg
from robot_dynamics.nodes.ros.node_parameters import parameter
from robot_dynamics.nodes.ros.task_space_messages import pose_from_msg, twist_from_msg
from robot_dynamics.nodes.ros.topics import COMMAND_QOS, OUTPUT_QOS
from robot_dynamics.nodes.runtime.robot_description import RobotParameters
from robot_dynamics.robot import Robot
from robot_dynamics.spatial import Pose, rotation_about
from robot_dynamics.viewer.marks import Mark, Marks
from robot_dynamics.viewer.snapshot import Snapshot


@dataclass(frozen=True)
class MarkerParameters(RobotParameters):
    """Parameters of marker_node."""

    rate: float = parameter(25.0, "Rate of markers, Hz", low=1.0, high=100.0, read_only=True)


class MarkerNode(ObserverNode[MarkerParameters]):
    """Publishes markers of the measured state while they are subscribed to."""

    NAME = "marker_node"
    PARAMETERS = MarkerParameters

    def configure(self) -> None:
        """See `ObserverNode.configure`: compile the equations too."""
        super().configure()
        self._marks = Marks(Dynamics(self.robot))
        self._markers = self.create_publisher(MarkerArray, "markers", OUTPUT_QOS)
        self._end_effector, self._pose_error, self._end_effector_at = (
            Pose.identity(),
            np.zeros(6),
            -np.inf,
        )
        self._inputs += [
            self.create_loop_subscriber(PoseStamped, "cartesian_pose", self._on_pose, COMMAND_QOS),
            self.create_loop_subscriber(
                TwistStamped, "cartesian_error", self._on_cartesian_error, COMMAND_QOS
            ),
        ]

    def activate(self) -> None:
        """See `ManagedNode.activate`."""
        self.start_task(self._publish, inputs=self._inputs)

    def update_robot(self, robot: Robot) -> None:
        """See `RobotNode.update_robot`."""
        super().update_robot(robot)
        self._marks = Marks(Dynamics(robot))

    def _on_pose(self, msg: PoseStamped) -> None:
        self._end_effector, self._end_effector_at = pose_from_msg(msg), monotonic()

    def _on_cartesian_error(self, msg: TwistStamped) -> None:
        self._pose_error = twist_from_msg(msg)

    def _measured(self) -> Snapshot:
        now = super()._measured()
        if monotonic() - self._end_effector_at > SILENCE_S:
            return now
        return replace(
            now,
            end_effector=self._end_effector,
            target=moved_by(self._end_effector, self._pose_error),
        )

    def _publish(self) -> None:
        if self.driven and self._markers.get_subscription_count():
            marks = self._marks.of(self._measured())
            stamp = time_msg(self._states.stamp)
            self._markers.publish(marker_array(marks, self._marks.frame, stamp))


def moved_by(pose: Pose, error: Array) -> Pose:
    """Return a pose moved by a translation over a rotation vector, shape (6,), m and rad."""
    angle = float(np.linalg.norm(error[3:]))
    turn = rotation_about(error[3:] / angle, np.array(angle)) if angle else np.eye(3)
    return Pose(turn @ pose.rotation, pose.translation + error[:3])


def marker_array(marks: Iterable[Mark], frame: str, stamp: Time) -> MarkerArray:
    """Return markers in a frame.

    Args:
        marks: The marks.
        frame: Name of their frame.
        stamp: Time of the state.
    """
    return MarkerArray(markers=[_marker(mark, frame, stamp) for mark in marks])


def _marker(mark: Mark, frame: str, stamp: Time) -> Marker:
    marker = Marker(ns=mark.name, id=mark.number, type=int(mark.kind))
    marker.action = Marker.ADD if mark.shown else Marker.DELETE
    marker.header.frame_id, marker.header.stamp = frame, stamp
    marker.scale.x, marker.scale.y, marker.scale.z = mark.scale
    red, green, blue = (value / 255.0 for value in mark.colour)
    marker.color = ColorRGBA(r=red, g=green, b=blue, a=mark.alpha)
    position = marker.pose.position
    position.x, position.y, position.z = mark.position
    marker.pose.orientation.w = 1.0
    marker.text = mark.text
    marker.points = [Point(x=x, y=y, z=z) for x, y, z in mark.points]
    return marker
