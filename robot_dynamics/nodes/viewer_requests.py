"""ViewerRequests: requests of the page of viewer_node to other nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from time import monotonic
from typing import Any

import numpy as np
from geometry_msgs.msg import InertiaStamped
from rcl_interfaces.srv import GetParameters, SetParameters
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.task import Future
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics.foundation.arrays import Array
from robot_dynamics.nodes.ros.load_messages import payload_msg
from robot_dynamics.nodes.ros.messages import trajectory_msg
from robot_dynamics.nodes.ros.topics import TRAJECTORY_QOS, subscribers_of
from robot_dynamics.robot import Robot
from robot_dynamics.trajectory import Waypoints, excitation, random_poses
from robot_dynamics.viewer.live_arm import EXCITATION, POSES, ball

SHARE = 0.25
"""Fraction of ranges and speeds that motions of the page use: the arm may be real."""

APPROACH_S = 3.0
"""Least time to the start of a motion, s."""

BETWEEN_S = 0.5
"""Pause before a motion is repeated, s."""

SHORTEST_S = 0.5
"""Least duration of a motion by the sliders, s."""

STOP_S = 0.5
"""Time to come to rest, s."""

ASK_EVERY_S = 0.5
"""Time between two looks at the parameters of the simulated robot, s."""

ANSWER_S = 5.0
"""Time that a request has for its answer before the parameters are looked at again, s."""

SLOW = 1.0
"""Speed of a joint without a limit of its own, rad/s or m/s."""


class ViewerRequests:
    """Sends the requests of the page and shows failures on it.

    Args:
        node: Node that sends.
        frame: Tool that carries the payload.
        say: Shows a line on the page.

    Attributes:
        mass_factor: That of the simulated robot; None while there is none.
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
        self._parameters = node.create_client(GetParameters, "simulator_node/get_parameters")
        self.mass_factor: float | None = None
        self._changes = 0  # requested and done: older answers are outdated
        self._ask_at = 0.0
        self._waypoints: Waypoints | None = None
        self._repeat_at = 0.0
        self._aim: Array = np.zeros(0)

    def apply(self, changes: Mapping[str, object]) -> None:
        """Send the changed controls, by name and value."""
        for name, value in changes.items():
            if name == "payload":
                body = ball(float(value))  # type: ignore[arg-type]
                moments = np.diag(np.asarray(body.about_com, dtype=np.float64))
                self._loads.publish(payload_msg(self._frame, body.mass, moments=moments))
            elif name in self._clients:
                if name == "mass_factor":
                    self.mass_factor = float(value)  # type: ignore[arg-type]  # until it is read
                self._call(name, value)

    def _call(self, name: str, value: object) -> None:
        client = self._clients[name]
        if not client.service_is_ready():
            self._say(f"no node offers {client.srv_name}")
            return
        if name == "pause":
            request: Any = SetBool.Request(data=bool(value))
        elif name in ("reset", "send"):
            request = Trigger.Request()
        else:
            changed = Parameter(name, value=value).to_parameter_msg()
            request = SetParameters.Request(parameters=[changed])
        self._changes += 1
        self._ask_at = monotonic() + ANSWER_S
        client.call_async(request).add_done_callback(partial(self._answered, client.srv_name))

    def ask_mass_factor(self) -> None:
        """Ask the simulated robot for its mass factor, twice a second."""
        if monotonic() < self._ask_at:
            return
        self._ask_at = monotonic() + ASK_EVERY_S
        if not self._parameters.service_is_ready():
            self.mass_factor = None
            return
        answer = self._parameters.call_async(GetParameters.Request(names=["mass_factor"]))
        answer.add_done_callback(partial(self._learn_mass_factor, self._changes))

    def _learn_mass_factor(self, changes_before: int, future: Future) -> None:
        values = future.result().values
        if changes_before == self._changes and values:
            self.mass_factor = values[0].double_value or None

    def _answered(self, service: str, future: Future) -> None:
        self._changes += 1
        self._ask_at = 0.0
        answer = future.result()
        for result in getattr(answer, "results", [answer]):
            if not getattr(result, "successful", getattr(result, "success", True)):
                reason = getattr(result, "reason", "") or getattr(result, "message", "")
                self._say(f"{service}: {reason}")

    # -- motion ---------------------------------------------------------------------------------

    def choose(self, motion: str, robot: Robot, at: Array) -> None:
        """Select one of `controls.MOTIONS`.

        Args:
            motion: The motion.
            robot: The robot.
            at: Positions of the sliders, shape (n,), from which they move the arm.
        """
        self._waypoints, self._aim, self._repeat_at = None, at, 0.0
        if motion == EXCITATION:
            self._waypoints = excitation(robot, 8.0, share=SHARE, speed_share=SHARE, rate=25.0)
        elif motion == POSES:
            self._waypoints = random_poses(robot, seed=1, share=SHARE, speed_share=SHARE)

    def stop(self, q: Array, qd: Array, robot: Robot) -> None:
        """Come to rest from the motion q, qd, shape (n,) each."""
        rest = np.clip(q + 0.5 * STOP_S * qd, robot.limits.lower, robot.limits.upper)
        self._go(rest, STOP_S, robot)

    def keep_moving(self, q: Array, robot: Robot) -> None:
        """Send the selected motion again whenever it has ended; the arm is at q, shape (n,)."""
        if self._waypoints is not None and monotonic() >= self._repeat_at:
            displacement = self._waypoints.positions[0] - q
            motion = self._waypoints.delayed(max(APPROACH_S, _slow_time(displacement, robot)))
            self._send(trajectory_msg(motion))
            self._repeat_at = monotonic() + motion.duration + BETWEEN_S

    def go_to(self, aim: Array, q: Array, robot: Robot) -> None:
        """Move from q to the positions of the sliders, shape (n,), if these have changed."""
        if np.array_equal(aim, self._aim):
            return
        self._aim = aim
        self._go(aim, max(SHORTEST_S, _slow_time(aim - q, robot)), robot)

    def _go(self, aim: Array, time: float, robot: Robot) -> None:
        self._send(trajectory_msg(Waypoints(robot.joint_names, np.array([time]), aim[None])))

    def _send(self, msg: JointTrajectory) -> None:
        self._motions.publish(msg)
        if not subscribers_of(self._node, self._motions.topic_name):
            self._say("no node follows joint_trajectory")


def _slow_time(displacement: Array, robot: Robot) -> float:
    """Return the time for a slow displacement of the joints, shape (n,), s."""
    limit = robot.limits.velocity
    speeds = np.where(np.isfinite(limit) & (limit > 0.0), limit, SLOW)
    return float(np.max(np.abs(displacement) / (SHARE * speeds)))
