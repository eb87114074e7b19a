"""Another robot_description while nodes run: same joints are taken up smoothly, others refused."""

import re

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.nodes.ros.messages import duration_msg
from robot_dynamics.nodes.ros.topics import DESCRIPTION_QOS
from robot_dynamics.robot import find_robot
from ros_system import wait_for

TEXT = find_robot("planar_2r").read_text()
HEAVY = re.sub(r'<mass value="(.*?)"', lambda m: f'<mass value="{1.5 * float(m[1])}"', TEXT)
ROBOT = read_urdf(TEXT)
NAMES = list(ROBOT.joint_names)
RENAMED = TEXT.replace(NAMES[1], "elbow")
Q = np.array([0.3, 0.4])
FADE = 0.5
COMMON = {"rate": 100.0, "fade": FADE}

# Same kernels, same numbers, torques of some 100 N m: round-off
EXACT = 1e-8


# What a node may wait for a processor between reading its clock and publishing
LATE_S = 0.05


def gravity(text, q=Q):
    return Dynamics(read_urdf(text), cache=False).gravity(q)


class Arm:
    """Publishes joint_states at Q and the description of the arm."""

    def __init__(self, peer, namespace):
        node = self._node = peer.node
        self._states = node.create_publisher(JointState, f"{namespace}/joint_states", 1)
        self._description = node.create_publisher(
            String, f"{namespace}/robot_description", DESCRIPTION_QOS
        )
        msg = JointState(name=NAMES, position=Q.tolist(), velocity=[0.0, 0.0])
        self._timer = node.create_timer(0.01, lambda: self._states.publish(msg))

    def describe(self, text):
        self._description.publish(String(data=text))

    def close(self):
        self._node.destroy_timer(self._timer)


@pytest.fixture
def arm(peer, namespace):
    arm = Arm(peer, namespace[1])
    arm.describe(TEXT)
    yield arm
    arm.close()


def settles(messages, field, expected):
    """Wait until messages show a value; all of them since the last one before it changed."""
    wait_for(
        lambda: (
            messages and np.abs(np.array(getattr(messages[-1], field)) - expected).max() < EXACT
        ),
        f"{field} of {expected}",
    )


def largest_step(messages, field):
    return np.abs(np.diff([getattr(msg, field) for msg in messages], axis=0)).max()


@pytest.mark.parametrize(
    ("node", "kind", "topic", "field"),
    [
        ("feedforward_node", JointState, "reference", "effort"),
        ("controller_node", Float64MultiArray, "effort_command", "data"),
    ],
)
def test_the_effort_passes_to_the_gravity_of_the_new_robot_without_a_step(
    start, peer, namespace, arm, node, kind, topic, field
):
    arguments, name = namespace
    received = peer.listen(kind, f"{name}/{topic}", 1000)
    process = start(node, COMMON, arguments)
    settles(received, field, gravity(TEXT))
    settled = len(received) - 1
    arm.describe(HEAVY)
    process.wait_for_log("using the new description of robot 'planar_2r'")
    settles(received, field, gravity(HEAVY))
    # A quintic fade is 15/8 times as steep as a line. A cycle may come late, or be lost on its way
    steepest = 15 / 8 * (gravity(HEAVY) - gravity(TEXT)) / FADE
    messages = received[settled:]  # to which more are added meanwhile
    passed = np.diff(peer.sent[f"{name}/{topic}"][settled : settled + len(messages)])
    steps = np.abs(np.diff([getattr(msg, field) for msg in messages], axis=0))
    assert (steps < np.outer(passed + LATE_S, np.abs(steepest))).all()


def test_a_motion_ends_before_the_robot_is_exchanged(start, peer, namespace, arm):
    arguments, name = namespace
    received = peer.listen(JointState, f"{name}/reference", 1000)
    process = start("feedforward_node", COMMON, arguments)
    process.wait_for_log("ready for trajectories")
    publisher = peer.publisher(JointTrajectory, f"{name}/joint_trajectory")
    msg = JointTrajectory(joint_names=NAMES)
    msg.points.append(_point(5.0, Q + 1.0))
    publisher.publish(msg)
    wait_for(lambda: received and max(np.abs(received[-1].velocity)) > 0.2, "motion")
    arm.describe(HEAVY)
    process.wait_for_log("coming to rest for a new robot_description")
    process.wait_for_log("using the new description")
    wait_for(lambda: not any(received[-1].velocity), "rest")
    q = np.array(received[-1].position)
    settles(received, "effort", gravity(HEAVY, q))
    assert np.abs(q - (Q + 1.0)).max() > 0.1  # it did not go on
    assert received[-1].position.tolist() == q.tolist()
    assert largest_step(received, "position") < 0.1


@pytest.mark.parametrize("node", ["feedforward_node", "controller_node", "simulator_node"])
def test_other_joints_are_refused_with_both_lists_and_the_node_goes_on(
    start, peer, namespace, arm, node
):
    arguments, name = namespace
    process = start(node, {"rate": 100.0}, arguments)
    ready = {
        "feedforward_node": "ready for trajectories",
        "controller_node": "holding still",
        "simulator_node": "held until",
    }
    process.wait_for_log(ready[node])
    arm.describe(RENAMED)
    process.wait_for_log(
        "robot_description refused: robot 'planar_2r' has the joints joint_1 (revolute), elbow "
        f"(revolute), but {node} works on joint_1 (revolute), joint_2 (revolute)"
    )
    arm.describe("<robot name='x'")
    process.wait_for_log("robot_description refused: <robot_description>:1: not XML")
    plain = f"{name}/{node}".lstrip("/")
    refused = peer.set_parameter(plain, "robot_description", RENAMED)
    assert not refused.successful
    assert "elbow" in refused.reason
    assert process.running


def test_the_parameter_exchanges_the_robot_as_the_topic_does(start, peer, namespace, arm):
    arguments, name = namespace
    received = peer.listen(JointState, f"{name}/reference", 1000)
    start("feedforward_node", {**COMMON, "urdf_path": "planar_2r"}, arguments)
    settles(received, "effort", gravity(TEXT))
    assert peer.set_parameter(
        f"{name}/feedforward_node".lstrip("/"), "robot_description", HEAVY
    ).successful
    settles(received, "effort", gravity(HEAVY))


def test_a_payload_stays_in_the_end_effector_of_the_new_robot(start, peer, namespace, arm):
    arguments, name = namespace
    received = peer.listen(JointState, f"{name}/reference", 1000)
    start(
        "feedforward_node", {**COMMON, "payload.mass": 2.0, "payload.frame": "endpoint"}, arguments
    )
    loaded = [
        Dynamics(read_urdf(text).with_payload("endpoint", 2.0, np.zeros(3)), cache=False).gravity(Q)
        for text in (TEXT, HEAVY)
    ]
    settles(received, "effort", loaded[0])
    arm.describe(HEAVY)
    settles(received, "effort", loaded[1])


def test_the_simulated_arm_moves_as_the_new_one_from_where_it_is(start, peer, namespace, arm):
    arguments, name = namespace
    received = peer.listen(JointState, f"{name}/joint_states", 1000)
    process = start("simulator_node", {"rate": 100.0, "initial_positions": "[0.5, 0.1]"}, arguments)
    own = [0.5, 0.1]
    wait_for(lambda: any(list(msg.position) == own for msg in received), "the simulated arm")
    arm.describe(HEAVY)
    process.wait_for_log("using the new description")
    command = peer.publisher(Float64MultiArray, f"{name}/effort_command")
    holds = Float64MultiArray(data=gravity(HEAVY, np.array(own)).tolist())
    timer = peer.node.create_timer(0.02, lambda: command.publish(holds))
    wait_for(
        lambda: any(received[-1].effort) and list(received[-1].name) == NAMES, "the command at work"
    )
    count = len(received)
    wait_for(lambda: len(received) > count + 200, "states")
    peer.node.destroy_timer(timer)
    # The efforts that hold the new arm hold it; the old one would have been thrown upwards
    ours = [msg.position for msg in received[count:] if any(msg.effort)]
    np.testing.assert_allclose(ours[-1], own, atol=1e-6)


def _point(seconds, q):
    from trajectory_msgs.msg import JointTrajectoryPoint

    return JointTrajectoryPoint(
        positions=[float(x) for x in q], time_from_start=duration_msg(seconds)
    )
