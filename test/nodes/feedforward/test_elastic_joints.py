"""feedforward_node with elastic joints and encoders on their motors."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from sensor_msgs.msg import JointState

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.robot import find_robot
from ros_system import wait_for

STIFFNESS = 2e3
MOTORS = np.array([0.5, 0.1])


def test_the_reference_holds_the_motors_where_they_are_and_bears_gravity(start, peer, namespace):
    arguments, name = namespace
    elastic = {f"elasticity.joint_{i}.stiffness": STIFFNESS for i in (1, 2)}
    references = peer.listen(JointState, f"{name}/reference")
    start(
        "feedforward_node",
        {"urdf_path": "planar_2r", "rate": 100.0, "encoders": "motor", **elastic},
        arguments,
    )
    states = peer.publisher(JointState, f"{name}/joint_states")
    state = JointState(name=["joint_1", "joint_2"], position=MOTORS.tolist(), velocity=[0.0, 0.0])

    def held():
        state.header.stamp = peer.node.get_clock().now().to_msg()
        states.publish(state)
        return references

    wait_for(held, "a reference")
    arm = Dynamics(read_urdf(find_robot("planar_2r")))
    links = MOTORS
    for _ in range(50):
        links = MOTORS - arm.gravity(links) / STIFFNESS
    assert np.abs(MOTORS - links).max() > 1e-3
    assert references[-1].position == pytest.approx(MOTORS.tolist(), abs=1e-5)
    assert references[-1].effort == pytest.approx(arm.gravity(links).tolist(), rel=1e-4)
