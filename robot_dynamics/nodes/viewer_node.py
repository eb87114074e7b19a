"""viewer_node: shows in the browser what a robot does, and what its model says of that."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
from geometry_msgs.msg import InertiaStamped
from rcl_interfaces.msg import Parameter as ParameterMsg
from rcl_interfaces.msg import ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
from rclpy.client import Client
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger
from visualization_msgs.msg import MarkerArray

from robot_dynamics.control import effort_limits
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.nodes.ros.load_messages import body_from_msg
from robot_dynamics.nodes.ros.markers import markers
from robot_dynamics.nodes.ros.measured_motion import STATES, MeasuredMotion
from robot_dynamics.nodes.ros.messages import SECOND, JointReader, time_msg
from robot_dynamics.nodes.ros.node_parameters import parameter
from robot_dynamics.nodes.ros.qos import COMMAND_QOS, OUTPUT_QOS, TRAJECTORY_QOS
from robot_dynamics.nodes.runtime.process import run
from robot_dynamics.nodes.runtime.robot_description import RobotParameters
from robot_dynamics.nodes.runtime.robot_node import RobotNode
from robot_dynamics.robot import Inertia, Robot
from robot_dynamics.viewer.address import LOOPBACK, PORT
from robot_dynamics.viewer.live_arm import ball
from robot_dynamics.viewer.page import Page
from robot_dynamics.viewer.snapshot import Snapshot, tool_frame
from robot_dynamics.viewer.stack_controls import StackControls

STATES_QOS = QoSProfile(depth=STATES, reliability=ReliabilityPolicy.BEST_EFFORT)


@dataclass(frozen=True)
class ViewerParameters(RobotParameters):
    """Parameters of viewer_node."""

    host: str = parameter(
        LOOPBACK,
        "Address to serve the page on; 0.0.0.0 opens it to the network, and with it the controls",
        read_only=True,
    )
    port: int = parameter(PORT, "Port of the page", low=1, high=65535, read_only=True)
    rate: float = parameter(25.0, "Moments shown, Hz", low=1.0, high=60.0, read_only=True)


class ViewerNode(RobotNode[ViewerParameters]):
    """Shows the robot that publishes joint_states, beside the reference and the model."""

    NAME = "viewer_node"
    PARAMETERS = ViewerParameters

    def configure(self) -> None:
        """Open the page and the topics."""
        super().configure()
        self._page = Page(self.parameters.host, self.parameters.port)
        self._states = MeasuredMotion(self.robot.joint_names)
        self._desired = JointReader("reference", self.robot.joint_names)
        self._payload: Inertia | None = None
        self._epoch = 0
        self._open()
        self._inputs = [
            self.create_inlet(JointState, "joint_states", self._on_state, STATES_QOS),
            self.create_inlet(JointState, "reference", self._on_reference, COMMAND_QOS),
        ]
        self.create_subscription(InertiaStamped, "payload", self._on_payload, TRAJECTORY_QOS)
        self._loads = self.create_publisher(InertiaStamped, "payload", TRAJECTORY_QOS)
        self._markers = self.create_publisher(MarkerArray, "markers", OUTPUT_QOS)
        self._requests = {
            "mode": self.create_client(SetParameters, "controller_node/set_parameters"),
            "mass_factor": self.create_client(SetParameters, "simulator_node/set_parameters"),
            "pause": self.create_client(SetBool, "simulator_node/pause"),
            "reset": self.create_client(Trigger, "simulator_node/reset"),
            "send": self.create_client(Trigger, "trajectory_node/send"),
        }
        self.get_logger().info(self._page.announcement())

    def _open(self, robot: Robot | None = None) -> None:
        robot = robot or self.robot
        self._limit = effort_limits(robot)
        self._page.open(robot, self._description.source, Dynamics(robot), self._limit)
        self._controls = StackControls(self._page.server)

    def activate(self) -> None:
        """See `ManagedNode.activate`."""
        self.start_task(self._tick, inputs=self._inputs)

    def update_robot(self, robot: Robot) -> None:
        """See `RobotNode.update_robot`: show the new one."""
        self._open(robot)

    def cleanup(self) -> None:
        """See `ManagedNode.cleanup`."""
        self._page.close()
        super().cleanup()

    # -- what comes -----------------------------------------------------------------------------

    def _read(self, reader: JointReader, msg: Any) -> None:
        try:
            reader.read(msg)
        except RobotDynamicsError as error:
            self.throttled_log.warn(reader.topic, error)

    def _on_reference(self, msg: JointState) -> None:
        self._read(self._desired, msg)

    def _on_state(self, msg: JointState) -> None:
        self._read(self._states, msg)

    def _on_payload(self, msg: InertiaStamped) -> None:
        try:
            mass, com, (xx, xy, xz, yy, yz, zz) = body_from_msg(msg)
            frame = msg.header.frame_id or tool_frame(self.robot)
            if frame != tool_frame(self.robot):
                raise ArgumentError(f"payload in frame '{frame}' is not shown")
        except RobotDynamicsError as error:
            self.throttled_log.warn("payload", error)
            return
        about_com = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        self._payload = Inertia.from_com(mass, np.array(com), about_com)

    # -- what is shown --------------------------------------------------------------------------

    def _tick(self) -> None:
        self._apply_changes()
        if not self._states.complete:
            return
        controls = self._controls
        if controls.message.content:
            controls.message.content = ""
        now = self._snapshot()
        self._page.show(now, residual=controls.residual.value, ellipsoid=controls.ellipsoid.value)
        if self._markers.get_subscription_count():
            stamp, share = time_msg(self._states.stamp), np.abs(now.tau) / self._limit
            self._markers.publish(markers(self.robot, now.q, now.q_d, share, stamp))

    def _snapshot(self) -> Snapshot:
        states, desired = self._states, self._desired
        self._epoch = self._epoch or states.stamp
        return Snapshot(
            (states.stamp - self._epoch) / SECOND,
            states.position.copy(),
            states.qd,
            states.qdd,
            states.effort.copy(),
            desired.position.copy() if desired.complete else None,
            self._payload,
        )

    # -- what is asked --------------------------------------------------------------------------

    def _apply_changes(self) -> None:
        for name, value in self._controls.changes().items():
            if name == "payload":
                self._loads.publish(_load_msg(ball(float(value)), tool_frame(self.robot)))
                continue
            client = self._requests[name]
            if client.service_is_ready():
                self._call(client, name, value)
            else:
                self._controls.message.content = f"**nobody offers {client.srv_name}**"

    def _call(self, client: Client, name: str, value: object) -> None:
        requests: dict[str, Any] = {
            "pause": lambda: SetBool.Request(data=bool(value)),
            "reset": Trigger.Request,
            "send": Trigger.Request,
            "mode": lambda: _parameter_request("mode", value),
            "mass_factor": lambda: _parameter_request("mass_factor", value),
        }
        client.call_async(requests[name]())


def _parameter_request(name: str, value: object) -> SetParameters.Request:
    if isinstance(value, str):
        typed = ParameterValue(type=ParameterType.PARAMETER_STRING, string_value=value)
    else:
        typed = ParameterValue(type=ParameterType.PARAMETER_DOUBLE, double_value=value)
    return SetParameters.Request(parameters=[ParameterMsg(name=name, value=typed)])


def _load_msg(body: Inertia, frame: str) -> InertiaStamped:
    msg = InertiaStamped()
    msg.header.frame_id = frame
    msg.inertia.m = float(body.mass)
    moments = np.asarray(body.about_com, dtype=np.float64)
    msg.inertia.ixx, msg.inertia.iyy, msg.inertia.izz = map(float, np.diag(moments))
    return msg


def main(args: list[str] | None = None) -> None:
    """Run the node."""
    sys.exit(run(ViewerNode, args=args))


if __name__ == "__main__":
    main()
