"""What the page of viewer_node asks of the nodes beside it: services, parameters, load, motion."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from time import monotonic
from typing import Any

import numpy as np
from geometry_msgs.msg import InertiaStamped
from rcl_interfaces.msg import Parameter as ParameterMsg
from rcl_interfaces.msg import ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
from rclpy.node import Node
from rclpy.task import Future
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics.arrays import Array
from robot_dynamics.nodes.ros.graph import subscribers_of
from robot_dynamics.nodes.ros.messages import trajectory_msg
from robot_dynamics.nodes.ros.qos import TRAJECTORY_QOS
from robot_dynamics.robot import Inertia, Robot
from robot_dynamics.trajectory import Waypoints, excitation, random_poses
from robot_dynamics.viewer.live_arm import POSES, SWING, ball

SHARE = 0.25
"""Part of their ranges and speeds that joints use in a motion of the page: it may be a real arm."""

APPROACH_S = 3.0
"""Least time to the start of a motion, s."""

BETWEEN_S = 0.5
"""Time between the end of a motion and its next beginning, s."""

SHORTEST_S = 0.5
"""Time for the smallest motion by hand, s."""

STOP_S = 0.5
"""Time to come to rest, s."""

SLOW = 1.0
"""Speed of a joint without a limit of its own, rad/s or m/s."""


class StackRequests:
    """Carries out what the page asks, and says why where it cannot.

    Args:
        node: Node that asks.
        frame: Tool that carries the payload.
        say: Shows a line on the page.
    """

    def __init__(self, node: Node, frame: str, say: Callable[[str], None]) -> None:
        self._node, self._frame, self._say = node, frame, say
        self._loads = node.create_publisher(InertiaStamped, "payload", TRAJECTORY_QOS)
        self._motions = node.create_publisher(JointTrajectory, "joint_trajectory", TRAJECTORY_QOS)
        self._clients = {
            "mode": node.create_client(SetParameters, "controller_node/set_parameters"),
            "mass_factor": node.create_client(SetParameters, "simulator_node/set_parameters"),
            "pause": node.create_client(SetBool, "simulator_node/pause"),
            "reset": node.create_client(Trigger, "simulator_node/reset"),
            "send": node.create_client(Trigger, "trajectory_node/send"),
        }
        self._waypoints: Waypoints | None = None
        self._again_at = 0.0
        self._aim: Array = np.zeros(0)

    def apply(self, changes: Mapping[str, object]) -> None:
        """Ask for what has changed: name of a control and its value."""
        for name, value in changes.items():
            if name == "payload":
                self._loads.publish(_load_msg(ball(float(value)), self._frame))  # type: ignore[arg-type]
            elif name in self._clients:
                self._call(name, value)

    def _call(self, name: str, value: object) -> None:
        client = self._clients[name]
        if not client.service_is_ready():
            self._say(f"**nobody offers {client.srv_name}**")
            return
        if name == "pause":
            request: Any = SetBool.Request(data=bool(value))
        elif name in ("reset", "send"):
            request = Trigger.Request()
        else:
            request = _parameter_request(name, value)
        client.call_async(request).add_done_callback(partial(self._answered, client.srv_name))

    def _answered(self, service: str, future: Future) -> None:
        answer = future.result()
        for result in getattr(answer, "results", [answer]):
            if not getattr(result, "successful", getattr(result, "success", True)):
                reason = getattr(result, "reason", "") or getattr(result, "message", "")
                self._say(f"**{service}: {reason}**")

    # -- motion ---------------------------------------------------------------------------------

    def choose(self, motion: str, robot: Robot, at: Array) -> None:
        """Have the arm follow one of `stack_controls.MOTIONS` from now on, beside `go_to`.

        Args:
            motion: The motion.
            robot: The robot.
            at: Where the sliders are, shape (n,): from there on they lead, by hand.
        """
        self._waypoints, self._aim, self._again_at = None, at, 0.0
        if motion == SWING:
            self._waypoints = excitation(robot, 8.0, share=SHARE, speed_share=SHARE, rate=25.0)
        elif motion == POSES:
            self._waypoints = random_poses(robot, seed=1, share=SHARE, speed_share=SHARE)

    def stop(self, q: Array, qd: Array, robot: Robot) -> None:
        """Come to rest from a state of motion, shape (n,) each, on the way that this takes."""
        rest = np.clip(q + 0.5 * STOP_S * qd, robot.limits.lower, robot.limits.upper)
        self._go(rest, STOP_S, robot)

    def keep_moving(self, q: Array, robot: Robot) -> None:
        """Send the motion that was chosen, again whenever it has ended; the arm is at q, (n,)."""
        if self._waypoints is not None and monotonic() >= self._again_at:
            way = self._waypoints.positions[0] - q
            motion = self._waypoints.delayed(max(APPROACH_S, _slow_time(way, robot)))
            self._send(trajectory_msg(motion))
            self._again_at = monotonic() + motion.duration + BETWEEN_S

    def go_to(self, aim: Array, q: Array, robot: Robot) -> None:
        """Move from q to where the sliders are, shape (n,), when they have moved."""
        if np.array_equal(aim, self._aim):
            return
        self._aim = aim
        self._go(aim, max(SHORTEST_S, _slow_time(aim - q, robot)), robot)

    def _go(self, aim: Array, time: float, robot: Robot) -> None:
        self._send(trajectory_msg(Waypoints(robot.joint_names, np.array([time]), aim[None])))

    def _send(self, msg: JointTrajectory) -> None:
        self._motions.publish(msg)
        if not subscribers_of(self._node, self._motions.topic_name):
            self._say("**nobody follows joint_trajectory**")


def _slow_time(way: Array, robot: Robot) -> float:
    """Time in which joints may go a way, shape (n,), without haste, s."""
    limit = robot.limits.velocity
    speeds = np.where(np.isfinite(limit) & (limit > 0.0), limit, SLOW)
    return float(np.max(np.abs(way) / (SHARE * speeds)))


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
