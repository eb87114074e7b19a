"""A simulated arm on a base that moves, and the IMU on it."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import Float64MultiArray

from ros_system import wait_for


def test_a_shaking_base_moves_the_arm_and_its_imu(start, peer):
    node = start(
        "simulator_node",
        {
            "urdf_path": "planar_2r",
            "rate": 100.0,
            "base_motion": "sine:x:0.05:2",
            "gravity": [0.0, 0.0, -9.81],
        },
    )
    measured = peer.listen(Imu, "imu")
    states = peer.listen(JointState, "joint_states")
    efforts = peer.publisher(Float64MultiArray, "effort_command")
    wait_for(lambda: measured and states, "the first messages")
    assert measured[-1].header.frame_id == "base_link"
    assert measured[-1].linear_acceleration.z == pytest.approx(9.81)
    before = np.array(states[-1].position)
    timer = peer.node.create_timer(
        0.02, lambda: efforts.publish(Float64MultiArray(data=[0.0, 0.0]))
    )

    def push():
        return max(abs(msg.linear_acceleration.x) for msg in measured)

    largest = 0.05 * (4.0 * np.pi) ** 2
    wait_for(lambda: push() > 0.9 * largest, "a quarter of a period")
    peer.node.destroy_timer(timer)
    assert push() <= largest
    assert np.abs(np.array(states[-1].position) - before).max() > 1e-3
    assert not node.log.count("ERROR")
