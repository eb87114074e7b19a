"""Efforts for drives that close the loop, where a joint_trajectory_controller passes them on."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.control import Friction
from robot_dynamics.nodes.ros.messages import duration_msg
from robot_dynamics.robot import find_robot
from ros_system import wait_for

ROBOT = read_urdf(find_robot("planar_2r"))
NAMES = list(ROBOT.joint_names)
START, END = np.array([-1.2, 0.4]), np.array([-0.6, -0.4])
KD = np.array([7.0, 3.0])  # N m s/rad
WIDTH = 0.01  # rad/s, of the friction of the model, as by default


@pytest.mark.parametrize("takes_velocity", [True, False])
def test_drives_without_velocities_get_their_damping_as_an_effort(
    start, peer, namespace, takes_velocity
):
    arguments, name = namespace
    drives = {f"drive.{joint}.kd": kd for joint, kd in zip(NAMES, KD, strict=True)}
    drives |= {f"drive.{joint}.kp": 100.0 for joint in NAMES}
    given = {"feedback": "drive", "drive_velocity": takes_velocity, **drives}
    node = start("feedforward_node", {"urdf_path": "planar_2r", **given}, arguments)
    received = peer.listen(JointTrajectory, f"{name}/joint_trajectory_with_effort")
    states = peer.publisher(JointState, f"{name}/joint_states")

    def stands():
        msg = JointState(name=NAMES, position=START.tolist(), velocity=[0.0, 0.0])
        msg.header.stamp = peer.node.get_clock().now().to_msg()
        states.publish(msg)
        return "ready for trajectories" in node.log

    wait_for(stands, "feedforward_node")
    goals = peer.publisher(JointTrajectory, f"{name}/joint_trajectory")
    end = JointTrajectoryPoint(positions=END.tolist(), time_from_start=duration_msg(2.0))
    end.velocities, end.accelerations = [0.0, 0.0], [0.0, 0.0]
    goals.publish(JointTrajectory(joint_names=NAMES, points=[end]))
    wait_for(lambda: received, "a trajectory with effort")
    points = received[-1].points
    q, qd, qdd, tau = (
        np.array([getattr(point, field) for point in points])
        for field in ("positions", "velocities", "accelerations", "effort")
    )
    model = Dynamics(ROBOT).inverse(q, qd, qdd) + Friction.of(ROBOT).smooth(qd, WIDTH)
    expected = model + (0.0 if takes_velocity else KD * qd)
    assert np.abs(qd).max() > 0.3
    # Round-off of efforts of 200 N m
    assert np.abs(tau - expected).max() < 1e-9
