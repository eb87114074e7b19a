"""Drives that close their own loop, behind real nodes: positions, velocities and efforts."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from sensor_msgs.msg import JointState

from arm_system import FAR, NAMES, PATIENT, START, ArmSystem
from ros_system import wait_for

RATE = 100.0
GAINS = {f"drive.{name}.{gain}": value for name in NAMES for gain, value in
         (("kp", 400.0), ("kd", 40.0))}  # fmt: skip
DRIVES = {"feedback": "drive", **GAINS}
AT_REST = 2e-3  # rad: what a motion leaves for a while


@pytest.fixture
def arm(start, peer):
    commands = peer.listen(JointState, "joint_command", 1000)
    arm = ArmSystem(
        start,
        peer,
        {"rate": RATE, "urdf_path": "planar_2r"},
        {
            "simulator": {"initial_positions": START.tolist(), "command_timeout": 0.3, **DRIVES},
            # A busy machine makes errors of motion, which are to leave none at rest
            "controller": {**PATIENT, **DRIVES, "integral_time": 0.0},
        },
        commands=False,
    )
    arm.commanded = commands
    return arm


def test_the_arm_goes_to_a_goal_by_its_drives(arm):
    assert "the drives close the loop by joint_command" in arm.processes["controller"].log
    assert "held until the first joint_command" in arm.processes["simulator"].log
    arm.goes_to(NAMES, START, AT_REST)
    arm.goes_to(NAMES, FAR, AT_REST)
    last = arm.commanded[-1]
    assert list(last.name) == NAMES
    assert np.abs(np.array(last.position) - FAR).max() < AT_REST
    wait_for(lambda: np.abs(arm.commanded[-1].velocity).max() < 1e-9, "no commanded velocity")


def test_a_person_who_leads_the_arm_is_told_of_the_damping(start, peer, namespace):
    arguments, _ = namespace
    node = start(
        "controller_node",
        {"urdf_path": "planar_2r", "rate": RATE, "mode": "gravity_compensation", **DRIVES},
        arguments,
    )
    node.wait_for_log("the drives damp an arm that is led by hand")


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"feedback": "drive"}, "give drive.<joint>.kp and kd as the driver has them"),
        ({**DRIVES, "mode": "computed_torque"}, "feedback of its own"),
        ({**DRIVES, "actuator_space": True}, "set one of them"),
    ],
)
def test_what_drives_cannot_do_is_refused(start, namespace, parameters, words):
    arguments, _ = namespace
    node = start("controller_node", {"urdf_path": "planar_2r", **parameters}, arguments)
    wait_for(lambda: not node.running, "the end of the node")
    assert words in node.log
    assert "Traceback" not in node.log
