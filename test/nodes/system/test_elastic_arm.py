"""An arm on springs, and nodes that have them from one parameter file."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from arm_system import BANDWIDTH, FAR, NAMES, PATIENT, RATE, START, ArmSystem, series
from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.control.friction import Friction
from robot_dynamics.identification.export.parameter_file import Drives, write_parameters
from robot_dynamics.robot import find_robot
from ros_system import wait_for

pytestmark = pytest.mark.thorough

STIFFNESS, DAMPING, ROTORS = 4e3, 60.0, np.array([8.0, 2.0])


def soft_arm(start, peer, folder, **controller):
    """An arm whose nodes read one parameter file."""
    robot = read_urdf(find_robot("planar_2r"))
    springs = robot.with_joint_elasticity(STIFFNESS, DAMPING).joint_elasticity
    drives = Drives(Friction.none(2), ROTORS, elasticity=springs)
    write_parameters(folder / "soft.yaml", robot, drives)
    own = {
        "simulator": {"initial_positions": START.tolist()},
        "controller": {"bandwidth": BANDWIDTH, **PATIENT, **controller},
    }
    file = ["--params-file", str(folder / "soft.yaml")]
    common = {"rate": RATE, "urdf_path": "planar_2r", "encoders": "motor"}
    return ArmSystem(
        start, peer, common, own, dict.fromkeys(("simulator", "feedforward", "controller"), file)
    )


def test_the_motors_stop_where_the_links_bear_gravity_at_the_goal(start, peer, tmp_path):
    arm = soft_arm(start, peer, tmp_path)
    arm.send(NAMES, (1.0, FAR))
    wait_for(arm.follows, "a motion")
    wait_for(lambda: not arm.follows(), "its end")
    _, q_d = series(arm.references, "position")
    _, q = series(arm.states, "position")
    twist = Dynamics(read_urdf(find_robot("planar_2r"))).gravity(np.array(FAR)) / STIFFNESS
    assert np.abs(twist).max() > 5e-3
    np.testing.assert_allclose(q_d[-1], FAR + twist, atol=1e-4)
    np.testing.assert_allclose(q[-1], FAR + twist, atol=2e-2)


def test_a_share_of_the_resonance_lowers_the_gains(start, peer, tmp_path):
    arm = soft_arm(start, peer, tmp_path, resonance_share=0.05)
    arm.processes["controller"].wait_for_log("gains are lowered for elastic joints, joint_1 to 0.")
