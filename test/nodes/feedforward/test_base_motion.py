"""Feedforward of an arm on a moving base, whose motion an IMU measures."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from sensor_msgs.msg import Imu, JointState

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.robot import find_robot
from robot_dynamics.robot.base_motion import BaseMotion
from ros_system import wait_for

ROBOT = read_urdf(find_robot("planar_2r"))
Q = np.array([0.3, 0.4])
NODE = "feedforward_node"


def test_the_efforts_have_the_motion_of_the_base_until_the_imu_stops(start_for_module, peer):
    node = start_for_module(
        NODE, {"urdf_path": "planar_2r", "rate": 200.0, "base_motion": "imu", "base_timeout": 0.5}
    )
    states = peer.node.create_publisher(JointState, "joint_states", 1)
    state = JointState(name=list(ROBOT.joint_names), position=Q.tolist())
    peer.node.create_timer(0.02, lambda: states.publish(state))
    received = peer.listen(JointState, "reference")
    node.wait_for_log("ready for trajectories")

    def becomes(base, what):
        expected = Dynamics(ROBOT, base="moving", cache=False).inverse(Q, 0 * Q, 0 * Q, base=base)
        # What the low-pass leaves of the first messages
        wait_for(lambda: received and np.abs(received[-1].effort - expected.tau).max() < 1e-3, what)

    becomes(BaseMotion(), "a base that stands")
    publisher, msg = peer.publisher(Imu, "imu"), Imu()
    msg.header.frame_id = "base_link"
    force = msg.linear_acceleration
    force.x, force.z, msg.angular_velocity.y = 2.0, 9.0, 3.0
    timer = peer.node.create_timer(0.02, lambda: publisher.publish(msg))
    spin = np.array([0.0, 0.0, 0.0, 0.0, 3.0, 0.0])
    becomes(BaseMotion(gravity=(-2.0, 0.0, -9.0), twist=spin), "the motion of the base")
    peer.node.destroy_timer(timer)
    kept = -9.81 * np.array([2.0, 0.0, 9.0]) / np.hypot(2.0, 9.0)
    becomes(BaseMotion(gravity=kept), "gravity in the last known direction")
    refused = peer.set_parameter(NODE, "compensate_gravity", False)
    assert not refused.successful
    assert "base_motion: needs compensate_gravity" in refused.reason
