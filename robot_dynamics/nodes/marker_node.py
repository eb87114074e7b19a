"""marker_node: publish load, reference, gravity and wrench of a robot as markers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.nodes.observer_node import ObserverNode
from robot_dynamics.nodes.ros.messages import time_msg
from robot_dynamics.nodes.ros.node_parameters import parameter
from robot_dynamics.nodes.ros.topics import OUTPUT_QOS
from robot_dynamics.nodes.runtime.robot_description import RobotParameters
from robot_dynamics.robot import Robot
from robot_dynamics.viewer.marks import Mark, Marks


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

    def activate(self) -> None:
        """See `ManagedNode.activate`."""
        self.start_task(self._publish, inputs=self._inputs)

    def update_robot(self, robot: Robot) -> None:
        """See `RobotNode.update_robot`."""
        super().update_robot(robot)
        self._marks = Marks(Dynamics(robot))

    def _publish(self) -> None:
        if self.driven and self._markers.get_subscription_count():
            marks = self._marks.of(self._measured())
            stamp = time_msg(self._states.stamp)
            self._markers.publish(marker_array(marks, self._marks.frame, stamp))


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
    marker.points = [Point(x=x, y=y, z=z) for x, y, z in mark.points]
    return marker
