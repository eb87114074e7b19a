"""viewer_node: show a robot and the predictions of its model in the browser."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from time import monotonic
from typing import Any

import numpy as np
from geometry_msgs.msg import InertiaStamped, WrenchStamped
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from visualization_msgs.msg import MarkerArray

from robot_dynamics.control import effort_limits
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.foundation.units import NS_PER_S
from robot_dynamics.nodes.ros.load_messages import ToolLoad
from robot_dynamics.nodes.ros.markers import markers
from robot_dynamics.nodes.ros.messages import STATES, JointReader, MeasuredMotion, time_msg
from robot_dynamics.nodes.ros.node_parameters import parameter
from robot_dynamics.nodes.ros.topics import COMMAND_QOS, OUTPUT_QOS, TRAJECTORY_QOS
from robot_dynamics.nodes.runtime.process import run
from robot_dynamics.nodes.runtime.robot_description import RobotParameters, moved
from robot_dynamics.nodes.runtime.robot_node import RobotNode
from robot_dynamics.nodes.viewer_requests import ViewerRequests
from robot_dynamics.robot import Inertia, Robot, find_robot, known_robots, read_urdf
from robot_dynamics.trajectory.motions import middle_pose
from robot_dynamics.viewer.address import LOOPBACK, PORT
from robot_dynamics.viewer.controls import UNCHANGED, StackControls
from robot_dynamics.viewer.live_arm import BY_HAND, STILL
from robot_dynamics.viewer.page import Page
from robot_dynamics.viewer.snapshot import Snapshot, tool_frame

STATES_QOS = QoSProfile(depth=STATES, reliability=ReliabilityPolicy.BEST_EFFORT)

SILENCE_S = 1.0
"""Time without joint_states after which the sliders place the arm, s."""


@dataclass(frozen=True)
class ViewerParameters(RobotParameters):
    """Parameters of viewer_node."""

    host: str = parameter(
        LOOPBACK,
        "Address to serve the page on; 0.0.0.0 opens page and controls to the network",
        read_only=True,
    )
    port: int = parameter(PORT, "Port of the page", low=1, high=65535, read_only=True)
    rate: float = parameter(25.0, "Rate of the page, Hz", low=1.0, high=60.0, read_only=True)


class ViewerNode(RobotNode[ViewerParameters]):
    """Shows the measured robot beside the reference and the model.

    Without joint_states, sliders on the page place the arm, and the page can show other robots.
    """

    NAME = "viewer_node"
    PARAMETERS = ViewerParameters

    def configure(self) -> None:
        """Open the page and create the topics."""
        super().configure()
        self._page = Page(self.parameters.host, self.parameters.port)
        self._states = MeasuredMotion(self.robot.joint_names)
        self._desired = JointReader("reference", self.robot.joint_names)
        self._load = ToolLoad(self.robot, tool_frame(self.robot))
        self._epoch = 0
        self._received_at, self._began = -np.inf, monotonic()
        self._own, self._new = self.robot, False
        self._open(self.robot, self._description.source, self.robot.name)
        self._inputs = [
            self.create_loop_subscriber(JointState, "joint_states", self._on_state, STATES_QOS),
            self.create_loop_subscriber(JointState, "reference", self._on_reference, COMMAND_QOS),
            self.create_loop_subscriber(WrenchStamped, "wrench", self._on_wrench, COMMAND_QOS),
        ]
        self.create_subscription(InertiaStamped, "payload", self._on_payload, TRAJECTORY_QOS)
        self._markers = self.create_publisher(MarkerArray, "markers", OUTPUT_QOS)
        self._requests = ViewerRequests(self, tool_frame(self.robot), self._say)
        self.get_logger().info(self._page.announcement())

    def _open(self, robot: Robot, source: str, name: str) -> None:
        limit, dynamics = effort_limits(robot), Dynamics(robot)
        self._page.open(robot, source, dynamics, limit)
        self._shown, self._name, self._limit, self._dynamics = robot, name, limit, dynamics
        names = dict.fromkeys((self._own.name, *sorted(known_robots())))
        pose = middle_pose(robot)
        self._controls = StackControls(self._page.server, robot, pose, [*names], name)
        self._doing = self._controls.motion.value, False

    def activate(self) -> None:
        """See `ManagedNode.activate`."""
        self.start_task(self._tick, inputs=self._inputs)

    def update_robot(self, robot: Robot) -> None:
        """See `RobotNode.update_robot`: the loop, which owns the page, shows it."""
        self._load = ToolLoad(robot, tool_frame(robot))
        self._own, self._new = robot, True

    def cleanup(self) -> None:
        """See `ManagedNode.cleanup`."""
        self._page.close()
        super().cleanup()

    # -- inputs -----------------------------------------------------------------------------

    def _on_reference(self, msg: JointState) -> None:
        self._take("reference", self._desired.read, msg)

    def _on_state(self, msg: JointState) -> None:
        if self._take("joint_states", self._states.read, msg):
            self._received_at = monotonic()

    def _on_payload(self, msg: InertiaStamped) -> None:
        self._take("payload", self._load.take_payload, msg)

    def _on_wrench(self, msg: WrenchStamped) -> None:
        self._take("wrench", self._load.take_wrench, msg)

    def _take(self, topic: str, read: Any, msg: Any) -> bool:
        try:
            return bool(read(msg))
        except RobotDynamicsError as error:
            self.throttled_log.warn(topic, error)
            return False

    # -- the page --------------------------------------------------------------------------

    @property
    def driven(self) -> bool:
        """Return whether joint_states arrive."""
        return self._states.complete and monotonic() - self._received_at < SILENCE_S

    def _tick(self) -> None:
        driven = self.driven
        self._choose_robot(driven)
        controls = self._controls
        self._requests.apply(controls.changes())
        self._move(driven)
        now = self._measured() if driven else self._placed()
        self._page.show(now, residual=controls.residual.value, ellipsoid=controls.ellipsoid.value)
        if self._name == self._own.name and self._markers.get_subscription_count():
            self._markers.publish(self._marked(now))

    def _choose_robot(self, driven: bool) -> None:
        """Show the robot of the other nodes or, without joint_states, the selected one."""
        choice = self._controls.robot
        choice.visible = not driven
        own, new = self._own, self._new
        self._new = False
        name = own.name if driven or new else choice.value
        if name == self._name and not new:
            return
        try:
            if name == own.name:
                self._open(own, self._description.source, name)
            else:
                path = find_robot(name)
                self._open(moved(read_urdf(path), ())[0], str(path), name)
        except RobotDynamicsError as error:
            self._controls.robot.value = self._name
            self._say(f"**{error}**")

    def _move(self, driven: bool) -> None:
        """Request the selected motion; the sliders start from the measured position."""
        sliders, motion = self._controls.sliders, self._controls.motion.value
        states = self._states
        if self._doing[1] and not driven:  # a motion does not restart by itself
            self._controls.motion.value = motion = UNCHANGED
        by_hand = motion == BY_HAND
        if (motion, driven) != self._doing:
            self._say("")
            if driven and by_hand:
                sliders.move(states.position)
            if driven and motion in (STILL, BY_HAND):
                self._requests.stop(states.position, states.qd, self.robot)
            self._requests.choose(motion, self.robot, sliders.positions)
            self._doing = motion, driven
        sliders.visible = by_hand or not driven
        if driven and by_hand:
            self._requests.go_to(sliders.positions, states.position, self.robot)
        if driven:
            self._requests.keep_moving(states.position, self.robot)

    def _say(self, line: str) -> None:
        self._controls.say(line)

    def _measured(self) -> Snapshot:
        """Return the measured state of the robot."""
        states, desired = self._states, self._desired
        self._epoch = self._epoch or states.stamp
        return Snapshot(
            (states.stamp - self._epoch) / NS_PER_S,
            states.position.copy(),
            states.qd,
            states.qdd,
            states.effort.copy(),
            desired.position.copy() if desired.complete else None,
            self._load.payload,
            wrench=self._load.wrench,
        )

    def _placed(self) -> Snapshot:
        """Return the robot at rest at the sliders, with the holding efforts."""
        q, none = self._controls.sliders.positions, np.zeros(self._shown.dof)
        payload, frame = self._load.payload or Inertia.zero(), tool_frame(self._shown)
        tau = self._dynamics.inverse(q, none, none, payload=payload, frame=frame)
        return Snapshot(monotonic() - self._began, q, none, none, tau, None, payload)

    def _marked(self, now: Snapshot) -> MarkerArray:
        stamp = self._states.stamp or self.get_clock().now().nanoseconds
        return markers(self._shown, self._dynamics, now, np.abs(now.tau) / self._limit,
                       time_msg(stamp))  # fmt: skip


def main(args: list[str] | None = None) -> None:
    """Run the node."""
    sys.exit(run(ViewerNode, args=args))


if __name__ == "__main__":
    main()
