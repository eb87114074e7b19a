"""A bridge to drives that close their own loop and have no ros2_control, as of Piper, YAM and Z1.

`joint_command` of controller_node with `feedback: drive` goes to the SDK, and its states to
`joint_states`. Put your SDK into Drives, and its gains into KP and KD.
"""

import time

import numpy as np
import rclpy
from sensor_msgs.msg import JointState

NAMES, RATE, TIMEOUT = ["joint_1", "joint_2"], 200.0, 0.1  # Hz, s
KP, KD = np.array([80.0, 80.0]), np.array([5.0, 5.0])  # N m/rad, N m s/rad


class Drives:
    """Stands for an SDK in MIT mode: two drives that turn 0.1 kg m^2 each."""

    def __init__(self):
        self.q, self.qd, self.tau = np.zeros((3, 2))

    def send(self, q, qd, kp, kd, tau):
        """Send a command."""
        self.tau = kp * (q - self.q) + kd * (qd - self.qd) + tau
        self.qd = self.qd + self.tau / 0.1 / RATE
        self.q = self.q + self.qd / RATE


class Bridge:
    """Passes commands on; when they end, the drives hold the last position."""

    def __init__(self, drives, clock=time.monotonic):
        self.drives, self.clock, self.last = drives, clock, None

    def receive(self, msg):
        """Take a command."""
        order = [list(msg.name).index(name) for name in NAMES]
        values = [np.array(x)[order] for x in (msg.position, msg.velocity, msg.effort)]
        if np.all(np.isfinite(values)):
            self.last = (self.clock(), *values)

    def cycle(self, stamp):
        """Send the last command, and return the state."""
        if self.last is not None:  # nothing moves before the first command
            since, q, qd, tau = self.last
            self.drives.send(q, qd * (self.clock() - since < TIMEOUT), KP, KD, tau)
        q, qd, tau = (x.tolist() for x in (self.drives.q, self.drives.qd, self.drives.tau))
        state = JointState(name=NAMES, position=q, velocity=qd, effort=tau)
        state.header.stamp = stamp
        return state


if __name__ == "__main__":
    rclpy.init()
    node, bridge = rclpy.create_node("drive_bridge"), Bridge(Drives())
    now, states = node.get_clock().now, node.create_publisher(JointState, "joint_states", 10)
    node.create_subscription(JointState, "joint_command", bridge.receive, 1)
    node.create_timer(1.0 / RATE, lambda: states.publish(bridge.cycle(now().to_msg())))
    rclpy.spin(node)
