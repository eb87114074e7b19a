"""Feedforward and control of an arm on a moving base, whose motion an IMU measures."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import Float64MultiArray

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.robot import find_robot
from robot_dynamics.robot.base_motion import BaseMotion
from ros_system import wait_for

ROBOT = read_urdf(find_robot("planar_2r"))
Q = np.array([0.3, 0.4])
NODES = {"feedforward_node": {}, "controller_node": {"mode": "gravity_compensation"}}
PARAMETERS = {"urdf_path": "planar_2r", "rate": 200.0, "base_motion": "imu", "base_timeout": 0.5}


def test_the_efforts_have_the_motion_of_the_base_until_the_imu_stops(start_for_module, peer):
    nodes = [start_for_module(name, PARAMETERS | own) for name, own in NODES.items()]
    efforts = {}
    peer.node.create_subscription(
        JointState, "reference", lambda msg: efforts.update(feedforward_node=msg.effort), 1
    )
    peer.node.create_subscription(
        Float64MultiArray, "effort_command", lambda msg: efforts.update(controller_node=msg.data), 1
    )
    states = peer.node.create_publisher(JointState, "joint_states", 1)
    state = JointState(name=list(ROBOT.joint_names), position=Q.tolist(), velocity=[0.0, 0.0])
    peer.node.create_timer(0.02, lambda: states.publish(state))

    def becomes(base, what):
        expected = Dynamics(ROBOT, base="moving", cache=False).inverse(Q, 0 * Q, 0 * Q, base=base)
        for name in NODES:  # what the low-pass leaves of the first messages
            wait_for(
                lambda name=name: (
                    name in efforts and np.abs(efforts[name] - expected.tau).max() < 1e-3
                ),
                f"{what} in {name}",
            )

    nodes[0].wait_for_log("ready for trajectories")
    becomes(BaseMotion(), "a base that stands")
    publisher, msg = peer.publisher(Imu, "imu"), Imu()
    msg.header.frame_id = "base_link"
    force = msg.linear_acceleration
    force.x, force.z, msg.angular_velocity.y = 2.0, 9.0, 3.0
    timer = peer.node.create_timer(0.02, lambda: publisher.publish(msg))
    spin = np.array([0.0, 0.0, 0.0, 0.0, 3.0, 0.0])
    becomes(BaseMotion(gravity=(-2.0, 0.0, -9.0), twist=spin), "the motion of the base")
    force.x = np.nan
    refusal = "imu: linear_acceleration of nan m/s^2 is not within 3 to 100; the message is ignored"
    for node in nodes:
        node.wait_for_log(refusal)
    kept = -9.81 * np.array([2.0, 0.0, 9.0]) / np.hypot(2.0, 9.0)
    becomes(BaseMotion(gravity=kept), "gravity in the last known direction")
    force.x = 2.0
    becomes(BaseMotion(gravity=(-2.0, 0.0, -9.0), twist=spin), "the motion of the base again")
    peer.node.destroy_timer(timer)
    still = "no imu for 0.5 s; the base counts as still, under gravity in the last known direction"
    for node in nodes:
        node.wait_for_log("imu again: the base moves as measured")
        assert node.log.count(still) == 1
    for parameter, reason in {
        "compensate_gravity": "base_motion: needs compensate_gravity, as gravity turns with the",
        "gravity_from_imu": "base_motion: gravity comes from imu; set gravity_from_imu to false",
    }.items():
        refused = peer.set_parameter("controller_node", parameter, parameter == "gravity_from_imu")
        assert not refused.successful
        assert reason in refused.reason
