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
            "gravity": [0.0, 0.0, -1.62],
            "brake_time": 0.1,
        },
    )
    measured = peer.listen(Imu, "imu")
    states = peer.listen(JointState, "joint_states")
    efforts = peer.publisher(Float64MultiArray, "effort_command")
    wait_for(lambda: measured and states, "the first messages")
    assert measured[-1].header.frame_id == "base_link"
    assert measured[-1].linear_acceleration.z == pytest.approx(1.62)
    before = np.array(states[-1].position)
    omega = 4.0 * np.pi
    largest = 0.05 * omega**2

    def push():
        return np.array([msg.linear_acceleration.x for msg in measured])

    wait_for(lambda: np.abs(push()).max() > 0.9 * largest, "a quarter of a period under brakes")
    assert states[-1].position == pytest.approx(before)
    timer = peer.node.create_timer(
        0.02, lambda: efforts.publish(Float64MultiArray(data=[0.0, 0.0]))
    )
    wait_for(lambda: np.abs(np.array(states[-1].position) - before).max() > 1e-3, "the arm moves")
    peer.node.destroy_timer(timer)
    node.wait_for_log("no effort_command for 0.1 s; holding the joints until one arrives")
    count = len(measured)
    wait_for(lambda: len(measured) > count + 5, "the brakes")
    # The base goes on where it is when brakes open and close: no step of the sine, but for jitter
    t = np.array([msg.header.stamp.sec + 1e-9 * msg.header.stamp.nanosec for msg in measured])
    assert (np.abs(np.diff(push())) <= largest * omega * (np.diff(t) + 0.02)).all()
    assert np.abs(push()).max() <= largest
    assert not node.log.count("ERROR")
