"""Ctrl-C of all nodes in motion, with a plant that keeps the last command for ever."""

import signal

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.nodes.ros.messages import duration_msg
from robot_dynamics.robot import find_robot
from ros_system import wait_for

ROBOT = read_urdf(find_robot("ur5"))
START = [0.0, -1.2, 1.5, -0.5, 0.3, 0.2]
FAR = [0.9, -0.6, 0.9, 0.1, 0.9, 0.8]
STILL = 0.02  # rad/s, after a second without friction; a transient effort gave 1 to 7
HOLDING = 1e-3  # N m: residual motion of the last states; feedback at rest leaves 1e-6


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_the_last_command_after_a_motion_is_the_effort_that_holds_the_arm(start, peer, how):
    common = {"urdf_path": "ur5", "rate": 100.0}
    plant = {"initial_positions": START, "command_timeout": 3600.0}
    start("simulator_node", {**common, **plant})
    nodes = [start("feedforward_node", common), start("controller_node", common)]
    states = peer.listen(JointState, "joint_states")
    commands = peer.listen(Float64MultiArray, "effort_command")
    nodes[0].wait_for_log("ready for trajectories")
    nodes[1].wait_for_log("tracking the reference")
    points = [
        JointTrajectoryPoint(positions=q, time_from_start=duration_msg(t))
        for q, t in ((FAR, 1.0), (START, 2.0), (FAR, 3.0), (START, 4.0))
    ]
    trajectory = JointTrajectory(joint_names=ROBOT.joint_names, points=points)
    peer.publisher(JointTrajectory, "joint_trajectory").publish(trajectory)
    wait_for(lambda: np.abs(states[-1].velocity).max() > 0.8, "motion")
    for node in nodes:
        node.send(how)
    assert [node.stop(how) for node in nodes] == [0, 0]
    assert "commands end although" not in nodes[1].log
    count = len(states)
    wait_for(lambda: len(states) > count + 100, "a second")
    assert np.abs(states[-1].velocity).max() < STILL
    holding = Dynamics(ROBOT).gravity(np.array(states[count].position))
    np.testing.assert_allclose(commands[-1].data, holding, atol=HOLDING)
