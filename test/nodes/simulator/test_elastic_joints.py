"""simulator_node with elastic joints: both sides of them on topics, in lockstep."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robot_dynamics import read_urdf
from robot_dynamics.robot import find_robot
from robot_dynamics.simulation.compiled_plant import fastest_plant
from ros_system import wait_for

START = [0.5, 0.1]
JOINTS = ("joint_1", "joint_2")


@pytest.mark.parametrize("encoders", ["link", "motor", "both"])
def test_joint_states_have_the_side_of_the_encoders(start, peer, namespace, encoders):
    arguments, name = namespace
    states = peer.listen(JointState, f"{name}/joint_states", 1000)
    motors = peer.listen(JointState, f"{name}/motor_states", 1000)
    drives = {"rotor": {"inertia": 0.4}, "elasticity": {"stiffness": 2e3, "damping": 3.0}}
    per_joint = {
        f"{group}.{joint}.{key}": value
        for group, values in drives.items()
        for key, value in values.items()
        for joint in JOINTS
    }
    robot = {"urdf_path": "planar_2r", "rate": 100.0, "initial_positions": START, "lockstep": True}
    start("simulator_node", {**robot, **per_joint, "encoders": encoders}, arguments)
    commands = peer.publisher(Float64MultiArray, f"{name}/effort_command")
    wait_for(lambda: states and motors, "the first states")
    commands.publish(Float64MultiArray(data=[200.0, 50.0]))
    wait_for(lambda: states[-1].velocity[1] and motors[-1].velocity[1], "states in motion")

    arm = read_urdf(find_robot("planar_2r")).with_joint_elasticity(2e3, 3.0)
    plant = fastest_plant(arm, START, stops=True, rotor_inertia=np.full(2, 0.4))
    for _ in range(10):  # a cycle of 10 ms
        plant.step(np.array([200.0, 50.0]))
    q, qd = plant.measured(encoders)
    assert list(states[-1].position) == q.tolist()
    assert list(states[-1].velocity) == qd.tolist()
    assert list(motors[-1].position) == plant.motor_q.tolist()
    assert list(motors[-1].velocity) == plant.motor_qd.tolist()
