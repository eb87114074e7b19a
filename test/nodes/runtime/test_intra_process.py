"""Nodes of one process exchange values; other processes get messages."""

import threading
import time

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from joint_messages import joint_state_msg
from robot_dynamics.nodes.ros.joint_values import JointValues
from robot_dynamics.nodes.ros.message_bytes import READERS
from robot_dynamics.nodes.ros.messages import effort_msg, nanoseconds, time_msg
from robot_dynamics.nodes.runtime.composition import composed
from robot_dynamics.nodes.runtime.intra_process import (
    IntraProcessTransport,
    LoopPublisher,
    LoopSubscriber,
)
from robot_dynamics.nodes.runtime.loop import LoopCallbackGroup
from robot_dynamics.nodes.runtime.loop_statistics import Input
from ros_system import Peer, lasting_node, wait_for

NAMES = ("joint_1", "joint_2")
DEEP = QoSProfile(depth=100, reliability=ReliabilityPolicy.RELIABLE)


def values(stamp):
    return JointValues(NAMES, stamp, np.arange(6.0).reshape(3, 2) + stamp)


@pytest.fixture
def node(domain):
    return lasting_node("in_the_process", domain)


@pytest.fixture
def ends(node):
    """Publisher and subscriber of two owners in one transport, and the received messages.

    `update` updates the matches, as a loop does.
    """
    received = []
    publisher = LoopPublisher(node.create_publisher(JointState, "handed", DEEP))
    subscription = node.create_subscription(
        JointState, "handed", received.append, DEEP, callback_group=LoopCallbackGroup()
    )
    subscriber = LoopSubscriber(subscription, read=READERS[JointState]("handed"))
    transport = IntraProcessTransport()
    transport.join("sender", [publisher])
    transport.join("receiver", [subscriber])
    wait_for(lambda: subscription.get_publisher_count() == 1, "the publisher")
    yield publisher, subscriber, received, lambda: transport.update_matches(time.monotonic_ns())
    transport.leave("sender")
    transport.leave("receiver")
    node.destroy_subscription(subscription)
    node.destroy_publisher(publisher.publisher)


@pytest.fixture
def peer(domain):
    peer = Peer(domain)
    yield peer
    peer.close()


def test_values_come_once_as_they_are_and_at_once(ends):
    publisher, subscriber, received, _ = ends
    sent = values(1)
    publisher.publish(sent)
    assert subscriber.take()
    assert [id(x) for x in received] == [id(sent)]
    assert subscriber.take() is None


def test_an_observer_gets_every_message_and_the_node_none_twice(ends, peer):
    publisher, subscriber, received, update = ends
    observed = peer.listen(JointState, "handed", DEEP)
    wait_for(lambda: update() and publisher.subscriber_count == 2, "the observer")
    for stamp in range(1, 6):
        publisher.publish(values(stamp))
        subscriber.take()
    wait_for(lambda: len(observed) == 5, "five messages")
    subscriber.take()
    assert [x.stamp for x in received] == [1, 2, 3, 4, 5]
    for msg, sent in zip(observed, received, strict=True):
        assert tuple(msg.name) == NAMES and nanoseconds(msg.header.stamp) == sent.stamp
        np.testing.assert_array_equal([msg.position, msg.velocity, msg.effort], sent.rows)


def test_messages_of_a_foreign_publisher_are_taken_beside_those_of_our_own(ends, peer):
    publisher, subscriber, received, update = ends
    publisher.publish(values(1))
    subscriber.take()
    foreign = peer.publisher(JointState, "handed", DEEP)
    wait_for(lambda: update() and subscriber.uses_middleware, "the foreign publisher to be noticed")
    publisher.publish(values(2))
    q = np.array([7.0, 8.0])
    foreign.publish(joint_state_msg(NAMES, q, q, q, time_msg(3)))
    wait_for(lambda: subscriber.take() is not None and len(received) >= 3, "the foreign message")
    publisher.publish(values(4))
    subscriber.take()
    time.sleep(0.1)  # what the middleware may bring back of ours
    subscriber.take()
    stamps = [
        x.stamp if isinstance(x, JointValues) else nanoseconds(x.header.stamp) for x in received
    ]
    assert sorted(stamps) == [1, 2, 3, 4]
    peer.node.destroy_publisher(foreign)
    wait_for(lambda: update() and not subscriber.uses_middleware, "the foreign publisher to go")


def test_what_was_handed_over_before_a_sender_left_is_not_taken_from_the_next(ends):
    publisher, subscriber, received, _ = ends
    transport = IntraProcessTransport()
    transport.join("sender", [publisher])
    transport.join("receiver", [subscriber])
    publisher.publish(values(1))
    transport.leave("sender")
    transport.join("sender", [publisher])
    publisher.publish(values(2))
    subscriber.take()
    assert [x.stamp for x in received] == [2]


def test_a_node_does_not_hand_to_itself_but_hears_itself_through_the_middleware(node):
    received = []
    publisher = LoopPublisher(node.create_publisher(Float64MultiArray, "own", DEEP))
    subscription = node.create_subscription(
        Float64MultiArray, "own", received.append, DEEP, callback_group=LoopCallbackGroup()
    )
    counts = Input("own")
    subscriber = LoopSubscriber(subscription, read=READERS[Float64MultiArray]("own"), counts=counts)
    assert (counts.count, counts.age) == (0, None)
    transport = IntraProcessTransport()
    transport.join("both", [publisher, subscriber])
    wait_for(
        lambda: transport.update_matches(time.monotonic_ns()) and publisher.subscriber_count,
        "the subscription",
    )
    publisher.publish(np.array([1.0, 2.0]))
    wait_for(subscriber.take, "the message")
    np.testing.assert_array_equal(received, [[1.0, 2.0]])
    assert counts.count == 1
    assert counts.age >= 0.0


def test_bytes_that_are_no_message_are_refused_with_one_line(node):
    refused = []
    publisher = node.create_publisher(JointState, "broken", DEEP)
    subscription = node.create_subscription(
        JointState, "broken", print, DEEP, callback_group=LoopCallbackGroup()
    )
    subscriber = LoopSubscriber(
        subscription, read=READERS[JointState]("broken"), refused=refused.append
    )
    wait_for(publisher.get_subscription_count, "the subscription")
    publisher.publish(b"\x00\x01\x00\x00 no message")
    wait_for(lambda: subscriber.take() is not None or refused, "the bytes")
    assert [str(error) for error in refused] == [
        "broken: 15 bytes are not a JointState; the message is ignored; build its sender against "
        "the same version of the message"
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
