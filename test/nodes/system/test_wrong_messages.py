"""Every message and parameter of every node, every field wrong in turn: no node ends, no arm moves.

A message is made wrong from one that is right and that leaves the arm where it is, so that it
does not matter whether a node refuses a wrong one or has no use for the field.
"""

import time
from copy import deepcopy
from functools import reduce
from math import inf, nan

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from builtin_interfaces.msg import Duration
from geometry_msgs.msg import InertiaStamped, WrenchStamped
from lifecycle_msgs.msg import State
from lifecycle_msgs.srv import GetState
from rcl_interfaces.msg import ParameterType
from rcl_interfaces.srv import DescribeParameters, ListParameters
from rclpy.parameter import Parameter
from sensor_msgs.msg import Imu, JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from arm_system import AT_REST, NAMES, START, shaken_arm
from joint_messages import joint_state_msg
from robot_dynamics.nodes.ros.messages import effort_msg, time_msg
from robot_dynamics.nodes.run_collector import RunCollector
from robot_dynamics.nodes.runtime.process import Process
from ros_system import wait_for

HUGE, ACTIVE = 1e308, State.PRIMARY_STATE_ACTIVE
OBSERVERS = ("monitor_node", "recorder_node", "viewer_node")
PORT = 18347
"""Port of the page, used by no other test."""


# -- what is right, and how it is made wrong ------------------------------------------------


def right_messages(state):
    """A message of every topic that nodes read, of an arm in some state that is to stay there."""
    stamp, effort = state.header.stamp, np.array(state.effort)
    point = JointTrajectoryPoint(
        positions=START.tolist(),
        velocities=[0.0, 0.0],
        accelerations=[0.0, 0.0],
        effort=[0.0, 0.0],
        time_from_start=Duration(sec=1),
    )
    trajectory = JointTrajectory(joint_names=NAMES, points=[point])
    imu = Imu()
    imu.linear_acceleration.z = 9.81
    return {
        "effort_command": effort_msg(effort),
        "joint_states": state,
        "reference": joint_state_msg(NAMES, START, np.zeros(2), effort, stamp),
        "joint_trajectory": trajectory,
        "joint_trajectory_with_effort": trajectory,
        "payload": InertiaStamped(),
        "wrench": WrenchStamped(),
        "imu": imu,
    }


def state_now(peer):
    """A state of the arm at rest."""
    now = peer.node.get_clock().now().nanoseconds
    return joint_state_msg(NAMES, START, np.zeros(2), np.ones(2), time_msg(now))


def wrong_values(kind, value, *, huge):
    """Invalid or unexpected values of a message field."""
    numbers = [nan, inf, -inf, *([HUGE, -HUGE] if huge else [])]
    if kind == "double":
        return numbers
    if kind.startswith(("sequence<double", "double[")):
        rest = list(value)[1:]
        resized = [[], rest, [0.0, *value]] if kind.startswith("sequence") else []
        return resized + [[number, *rest] for number in numbers if len(value)]
    if kind == "string":
        return ["no_such_name", "\u00e9\n"]
    if kind == "sequence<string>":
        return [[], value[1:], [*value, "no_such_joint"], value[:1] * len(value), [""] * len(value)]
    if kind.startswith("sequence<"):
        return [[], list(value) * 2]
    if kind == "int32":
        return [-(2**31), 2**31 - 1]
    return [2**32 - 1] if kind == "uint32" else []


def fields(msg, path=()):
    """Path and type of every field of a message, parts of parts too."""
    for name, kind in msg.get_fields_and_field_types().items():
        value = getattr(msg, name)
        if hasattr(value, "get_fields_and_field_types"):
            yield from fields(value, (*path, name))
            continue
        yield (*path, name), kind
        if kind.startswith("sequence<") and "/" in kind and value:
            yield from fields(value[0], (*path, name, 0))


def at(msg, path):
    return reduce(lambda part, k: part[k] if isinstance(k, int) else getattr(part, k), path, msg)


def wrong_messages(msg, *, huge=False):
    """The message with every field wrong in turn, and what is wrong in it."""
    for path, kind in fields(msg):
        for value in wrong_values(kind, at(msg, path), huge=huge):
            wrong = deepcopy(msg)
            setattr(at(wrong, path[:-1]), path[-1], value)
            yield f"{'.'.join(map(str, path))} = {value!r}", wrong


def wrong_parameters(kind, value):
    """Invalid values of a parameter type, for any range."""
    numbers = [nan, inf, -inf, -(2**63), 2**63 - 1]
    others = {
        ParameterType.PARAMETER_BOOL: [True],
        ParameterType.PARAMETER_INTEGER: [1],
        ParameterType.PARAMETER_DOUBLE: [1, 0.5],
        ParameterType.PARAMETER_DOUBLE_ARRAY: [[], [0.5]],
        ParameterType.PARAMETER_BYTE_ARRAY: [[]],  # what rclpy makes of an empty list of numbers
        ParameterType.PARAMETER_STRING: [],
    }
    every = [True, 1, 0.5, "no_such_thing", [], [0.5], ["no_such_thing"], [True]]
    right = [(type(x), x) for x in others[kind]]
    if kind in (ParameterType.PARAMETER_DOUBLE_ARRAY, ParameterType.PARAMETER_BYTE_ARRAY):
        numbers += [[number] * max(len(value), 3) for number in (nan, inf)]
    return numbers + [x for x in every if (type(x), x) not in right]


# -- the whole arm ----------------------------------------------------------------------------


class Arm:
    """The system of an arm at rest, and what went to it last."""

    def __init__(self, system, peer):
        self.system, self.peer = system, peer

    def send(self, topic, kind, wrong):
        """Publish wrong messages between right ones; nothing ends, nothing moves."""
        publisher = self.peer.publisher(kind, topic)
        received = len(self.system.states)
        for what, msg in wrong:
            publisher.publish(msg)
            count = len(self.system.states)  # one of the robot's states later: each is looked at
            wait_for(lambda count=count: len(self.system.states) > count, f"a state after {what}")
        self.check(received, f"{topic} was wrong")
        self.peer.node.destroy_publisher(publisher)

    def check(self, received, why):
        for process in self.system.processes.values():
            assert process.running, f"{process.name} ended when {why}:\n{process.log}"
            assert "Traceback" not in process.log, process.log
        moved = np.array([state.position for state in self.system.states[received:]]) - START
        assert np.abs(moved).max() < AT_REST, f"the arm moved when {why}"


@pytest.fixture(scope="module")
def running(start_for_module, peer):
    system = shaken_arm(start_for_module, peer, {"urdf_path": "planar_2r"})
    asked = {"urdf_path": "planar_2r", "wait": True}
    system.processes["trajectory"] = start_for_module("trajectory_node", asked)
    system.processes["trajectory"].wait_for_log("waiting for ~/send")
    return system


@pytest.fixture
def arm(running, peer):
    running.goes_to(NAMES, START, AT_REST)
    return Arm(running, peer)


@pytest.mark.parametrize(
    "topic",
    [
        "effort_command",
        *(
            pytest.param(topic, marks=pytest.mark.thorough)
            for topic in ("reference", "joint_trajectory", "payload", "wrench", "imu")
        ),
    ],
)
def test_a_wrong_message_moves_no_arm(arm, topic):
    msg = right_messages(arm.system.states[-1])[topic]
    readers = ("feedforward_node", "controller_node") if topic == "imu" else ()
    for node in readers:
        assert arm.peer.set_parameter(node, "gravity_from_imu", True).successful
    arm.send(topic, type(msg), wrong_messages(msg))
    for node in readers:
        assert arm.peer.set_parameter(node, "gravity_from_imu", False).successful


@pytest.mark.parametrize(
    "node",
    [
        "trajectory_node",
        *(
            pytest.param(node, marks=pytest.mark.thorough)
            for node in ("simulator_node", "feedforward_node", "controller_node", *OBSERVERS)
        ),
    ],
)
def test_a_wrong_parameter_moves_no_arm(arm, start, tmp_path, node):
    peer, received = arm.peer, len(arm.system.states)
    if node in OBSERVERS:
        own = {"recorder_node": {"file": tmp_path / "run.mcap"}, "viewer_node": {"port": PORT}}
        observer = start(node, {"urdf_path": "planar_2r", **own.get(node, {})})
        state = GetState.Request()  # before that it takes a description to be read later
        wait_for(
            lambda: peer.call(GetState, f"/{node}/get_state", state).current_state.id == ACTIVE,
            f"an active {node}",
        )
    names = peer.call(ListParameters, f"/{node}/list_parameters", ListParameters.Request())
    names = [name for name in names.result.names if name != "use_sim_time"]
    request = DescribeParameters.Request(names=names)
    described = peer.call(DescribeParameters, f"/{node}/describe_parameters", request).descriptors
    for item in described:
        value = peer.get_parameter(node, item.name)
        for wrong in wrong_parameters(item.type, value):
            answer = peer.set_parameter(node, item.name, wrong)
            assert not answer.successful, f"{item.name} = {wrong!r}"
            assert item.name in answer.reason or repr(wrong) in answer.reason
    arm.check(received, f"parameters of {node} were wrong")
    assert node not in OBSERVERS or observer.running


# -- a node by itself, and numbers that are too large -----------------------------------------


@pytest.mark.parametrize(
    ("node", "topics"),
    [
        ("simulator_node", ["effort_command"]),
        ("trajectory_node", ["joint_trajectory_with_effort"]),
        pytest.param(
            "feedforward_node",
            ["joint_states", "imu", "payload", "wrench", "joint_trajectory"],
            marks=pytest.mark.thorough,
        ),
        pytest.param(
            "controller_node",
            ["joint_states", "reference", "payload", "imu"],
            marks=pytest.mark.thorough,
        ),
        pytest.param("monitor_node", ["joint_states", "payload"], marks=pytest.mark.thorough),
        ("recorder_node", ["joint_states", "payload", "wrench"]),
        pytest.param(
            "viewer_node", ["joint_states", "reference", "wrench"], marks=pytest.mark.thorough
        ),
    ],
)
def test_no_number_however_large_ends_a_node(start, peer, namespace, tmp_path, node, topics):
    arguments, name = namespace
    asked = {"urdf_path": "planar_2r", "rate": 50.0}
    own = {"recorder_node": {"file": tmp_path / "run.mcap"}, "viewer_node": {"port": PORT}}
    asked |= own.get(node, {})
    if "imu" in topics:
        asked["gravity_from_imu"] = True
    process = start(node, asked, arguments)
    right = right_messages(state_now(peer))
    # Other topics open once there are states, and gravity where it comes from them
    needed = {
        topic: peer.node.create_publisher(type(right[topic]), f"{name}/{topic}", 1)
        for topic in ("joint_states", "imu")
        if topic in topics
    }

    def publish_right():
        for topic, publisher in needed.items():
            publisher.publish(right_messages(state_now(peer))[topic])

    timer = peer.node.create_timer(0.05, publish_right)
    for topic in topics:
        publisher = peer.publisher(type(right[topic]), f"{name}/{topic}")
        for _ in range(2):  # what comes before the node has met the publisher is lost
            for _, wrong in wrong_messages(right_messages(state_now(peer))[topic], huge=True):
                publisher.publish(wrong)
    peer.node.destroy_timer(timer)
    peer.get_parameter(f"{name.lstrip('/')}/{node}", "urdf_path")  # it answers
    assert process.running
    assert "Traceback" not in process.log
    assert "unforeseen" not in process.log


def test_a_run_collector_keeps_nothing_that_is_wrong(context, peer, namespace):
    _, name = namespace
    given = [Parameter("urdf_path", value="planar_2r")]
    node = RunCollector(context=context, namespace=name, parameter_overrides=given)
    with Process([node], context) as process:
        process.start()
        publishers = {
            topic: peer.publisher(JointState, f"{name}/{topic}")
            for topic in ("joint_states", "reference")
        }
        node.start()
        for k in range(50):
            state = state_now(peer)
            for topic, publisher in publishers.items():
                publisher.publish(state)
                wrong = list(wrong_messages(right_messages(state)[topic]))
                publisher.publish(wrong[k % len(wrong)][1])
            time.sleep(0.01)
        log = node.stop()
        assert process.failure is None
    assert log.joint_names == tuple(NAMES)
    for values in (log.t, log.q, log.qd, log.q_d, log.qd_d):
        assert np.isfinite(values).all()
