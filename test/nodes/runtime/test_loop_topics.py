"""Subscribers and publishers of the loop, also between nodes of one process."""

import threading
from functools import partial

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robot_dynamics.nodes.composition import composed
from robot_dynamics.nodes.ros.cdr import READERS
from robot_dynamics.nodes.ros.joint_values import JointValues
from robot_dynamics.nodes.ros.messages import effort_msg, nanoseconds
from robot_dynamics.nodes.runtime.loop_statistics import Input
from robot_dynamics.nodes.runtime.loop_topics import (
    LoopCallbackGroup,
    LoopPublisher,
    LoopSubscriber,
)
from robot_dynamics.nodes.runtime.one_source import KEPT_AFTER
from ros_system import Peer, lasting_node, wait_for

NAMES = ("joint_1", "joint_2")
DEEP = QoSProfile(depth=100, reliability=ReliabilityPolicy.RELIABLE)


@pytest.fixture
def node(domain):
    return lasting_node("in_the_process", domain)


@pytest.fixture
def peer(domain):
    peer = Peer(domain)
    yield peer
    peer.close()


def test_values_are_published_and_taken_once_and_counted(node):
    received, counts = [], Input("own")
    publisher = LoopPublisher(node.create_publisher(JointState, "own", DEEP))
    subscription = node.create_subscription(
        JointState, "own", received.append, DEEP, callback_group=LoopCallbackGroup()
    )
    read = partial(deserialize_message, message_type=JointState)
    subscriber = LoopSubscriber(subscription, read, pytest.fail, counts)
    assert (counts.count, counts.age) == (0, None)
    wait_for(publisher.publisher.get_subscription_count, "the subscription")
    sent = [JointValues(NAMES, k, np.arange(6.0).reshape(3, 2) + k) for k in (1, 2)]
    for values in sent:
        publisher.publish(values)
    wait_for(lambda: subscriber.take() is None and len(received) == 2, "two messages")
    assert [nanoseconds(msg.header.stamp) for msg in received] == [1, 2]
    rows = received[1].position, received[1].velocity, received[1].effort
    np.testing.assert_array_equal(rows, sent[1].rows)
    assert counts.count == 2
    assert counts.age >= 0.0
    publisher.publish(sent[0])
    publisher.publish(sent[1])
    wait_for(lambda: subscriber.discard() or subscriber.take() is None, "an empty queue")
    assert counts.count == 2
    node.destroy_subscription(subscription)
    node.destroy_publisher(publisher.publisher)


def test_of_two_publishers_the_one_that_was_there_is_followed_until_it_is_silent(node):
    ours, other = (LoopPublisher(node.create_publisher(JointState, "states", DEEP)) for _ in "ab")
    received = []

    def take(msg):
        received.append(nanoseconds(msg.header.stamp))
        return True

    subscription = node.create_subscription(
        JointState, "states", take, DEEP, callback_group=LoopCallbackGroup()
    )
    read = partial(deserialize_message, message_type=JointState)
    subscriber = LoopSubscriber(subscription, read, pytest.fail, Input("states"), one_source=True)
    for publisher in (ours, other):
        wait_for(publisher.publisher.get_subscription_count, "the subscription")
    values = np.zeros((3, 2))
    for k in range(1, KEPT_AFTER + 1):
        ours.publish(JointValues(NAMES, k, values))
    wait_for(lambda: subscriber.take() is None and len(received) == KEPT_AFTER, "its messages")
    other.publish(JointValues(NAMES, 1000, values))
    ours.publish(JointValues(NAMES, KEPT_AFTER + 1, values))
    wait_for(lambda: subscriber.take() is None and received[-1] > KEPT_AFTER, "its next message")

    def heard():
        other.publish(JointValues(NAMES, 1001, values))
        subscriber.take()
        return 1001 in received

    wait_for(heard, "the other publisher")
    assert 1000 not in received
    node.destroy_subscription(subscription)
    for publisher in (ours, other):
        node.destroy_publisher(publisher.publisher)


def test_bytes_that_are_no_message_are_refused_with_one_line(node):
    refused = []
    publisher = node.create_publisher(Float64MultiArray, "broken", DEEP)
    subscription = node.create_subscription(
        Float64MultiArray, "broken", print, DEEP, callback_group=LoopCallbackGroup()
    )
    read = READERS[Float64MultiArray]("broken")
    subscriber = LoopSubscriber(subscription, read, refused.append, Input("broken"))
    wait_for(publisher.get_subscription_count, "the subscription")
    publisher.publish(b"\x00\x01\x00\x00 no message")
    wait_for(lambda: subscriber.take() is not None or refused, "the bytes")
    assert [str(error) for error in refused] == [
        "broken: 15 bytes are not a Float64MultiArray; the message is ignored; build its sender "
        "against the same version of the message"
    ]


def test_a_foreign_controller_takes_the_place_of_ours_in_a_composition(domain, peer):
    """Ours is deactivated; the robot follows what comes from outside, and says who commands."""
    with composed("planar_2r", rate=200.0, domain=domain) as nodes:
        received = {
            topic: peer.listen(kind, topic)
            for topic, kind in (
                ("joint_states", JointState),
                ("reference", JointState),
                ("effort_command", Float64MultiArray),
                ("feedforward_effort", Float64MultiArray),
            )
        }
        for topic, messages in received.items():
            wait_for(lambda messages=messages: len(messages) > 20, topic)
        command = peer.publisher(Float64MultiArray, "effort_command")
        faults = lambda: " ".join(fault.text for fault in nodes.simulator.faults())  # noqa: E731
        wait_for(lambda: "/peer" in faults(), "a word on two publishers")
        nodes.controller.trigger_deactivate()
        wait_for(lambda: not nodes.simulator.commanded, "the arm to be held")
        before = nodes.simulator.plant.q.copy()
        ending = threading.Event()

        def push():
            while not ending.wait(0.01):
                command.publish(effort_msg(np.array([40.0, 0.0])))

        pushing = threading.Thread(target=push)
        pushing.start()
        try:
            wait_for(lambda: nodes.simulator.commanded, "the foreign command")
            wait_for(lambda: abs(nodes.simulator.plant.q - before).max() > 0.05, "motion")
        finally:
            ending.set()
            pushing.join()
        peer.node.destroy_publisher(command)


def test_nodes_of_one_process_live_in_the_time_that_their_simulator_publishes(domain):
    with composed(
        "planar_2r", rate=100.0, domain=domain, simulator_node={"publish_clock": True}
    ) as nodes:
        clocks = [node.get_clock() for node in (nodes.feedforward, nodes.controller)]
        before = [clock.now() for clock in clocks]
        wait_for(lambda: all(c.now() > t for c, t in zip(clocks, before, strict=True)), "time")
        now = clocks[0].now().nanoseconds
    assert now < 1e12  # simulated time begins at zero
    assert now % 10_000_000 == 0  # whole cycles
