"""Motion behind drivers that publish positions and velocities apart, or no velocities."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from sensor_msgs.msg import JointState

from arm_system import BANDWIDTH, FAR, NAMES, PATIENT, RATE, START, ArmSystem, series

FILTER = 40.0  # Hz
AT_REST = 2e-3  # rad: what the velocities of a filter leave of a motion for a while


class Driver:
    """Passes measured states on in parts."""

    def __init__(self, peer, topic, *, velocities):
        self._out = peer.node.create_publisher(JointState, topic, 10)
        self._velocities, self.true = velocities, []
        peer.node.create_subscription(JointState, "joint_states", self._pass_on, 10)

    def _pass_on(self, msg):
        self.true.append(msg)
        self._out.publish(JointState(header=msg.header, name=msg.name, position=msg.position))
        if self._velocities:
            part = JointState(header=msg.header, name=msg.name, velocity=msg.velocity)
            self._out.publish(part)


@pytest.fixture(params=["apart", "without velocities"])
def arm(request, start, peer):
    apart = request.param == "apart"
    topic = f"parts_{request.param_index}"
    driver = Driver(peer, topic, velocities=apart)
    parts = ["-r", f"joint_states:={topic}"]
    known = {} if apart else {"velocity_filter": FILTER}
    arm = ArmSystem(
        start,
        peer,
        {"rate": RATE, "urdf_path": "planar_2r"},
        {
            "simulator": {"initial_positions": START.tolist(), "command_timeout": 0.3},
            "feedforward": known,
            "controller": {**PATIENT, **known, "bandwidth": BANDWIDTH},
        },
        {"feedforward": parts, "controller": parts},
        apart=True,
    )
    arm.driver = driver
    return arm


@pytest.mark.thorough
def test_the_arm_follows_a_motion(arm):
    arm.goes_to(NAMES, START, AT_REST)
    begun, referred = len(arm.driver.true), len(arm.references)
    arm.send(NAMES, (1.5, FAR))
    arm.rests_at(FAR, AT_REST)
    t, q = series(arm.driver.true[begun:], "position")
    at, desired = series(arm.references[referred:], "position")
    wanted = np.column_stack([np.interp(t, at, column) for column in desired.T])
    # rad: at 1 rad/s a state that a busy machine passes on late is compared as if it were present
    assert np.abs(q - wanted).max() < 0.1
    assert "stopped" not in arm.processes["controller"].log
