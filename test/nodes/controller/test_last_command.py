"""Ctrl-C of all nodes in motion, with a plant that keeps the last command for ever."""

import signal

import numpy as np
import pytest

from choices import first

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.control.rest import SPEED
from robot_dynamics.nodes.ros.messages import duration_msg
from robot_dynamics.robot import find_robot
from ros_system import sent_until, wait_for

ROBOT = read_urdf(find_robot("ur5"))
START = [0.0, -1.2, 1.5, -0.5, 0.3, 0.2]
FAR = [0.9, -0.6, 0.9, 0.1, 0.9, 0.8]
STILL = 2.0 * SPEED  # rad/s: the arm leaves with a mean speed of at most SPEED
UNFORCED = 0.1
"""Largest acceleration under the last command, rad/s^2.

The effort of gravity at a state 0.1 s old, at speed STILL, is wrong by 2 mrad, which this arm turns
into 0.05 rad/s^2: without friction it tips over at 5 rad/s. Any speed at the end grows 50-fold in a
second, so only the moment of the last command counts. A transient effort gave 1 to 7 rad/s after a
second, that is 0.1 to 7 rad/s^2 more.
"""


@pytest.mark.parametrize("how", first([signal.SIGINT], [signal.SIGINT, signal.SIGTERM]))
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
    publisher = peer.publisher(JointTrajectory, "joint_trajectory")
    fast = lambda: np.abs(states[-1].velocity).max() > 0.8  # noqa: E731
    wait_for(sent_until(fast, lambda: publisher.publish(trajectory)), "motion")
    for node in nodes:
        node.send(how)
    assert [node.stop(how) for node in nodes] == [0, 0]
    assert "commands end although" not in nodes[1].log
    # A state has the effort that has led to it
    wait_for(lambda: states[-1].effort == commands[-1].data, "a state under the last command")
    last = next(i for i in range(len(states), 0, -1) if states[i - 1].effort != commands[-1].data)
    state = states[last]
    assert np.abs(state.velocity).max() < STILL
    rest = np.zeros(ROBOT.dof)
    acceleration = Dynamics(ROBOT).forward(np.array(state.position), rest, commands[-1].data)
    assert np.abs(acceleration).max() < UNFORCED
