"""Timers: slow work of nodes beside the loop, when it is due, and never beside a callback."""

import re
import threading
import time
from collections import Counter
from functools import partial

import pytest

rclpy = pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from geometry_msgs.msg import WrenchStamped  # noqa: E402
from rcl_interfaces.msg import Parameter as ParameterMsg  # noqa: E402
from rcl_interfaces.msg import ParameterValue  # noqa: E402
from rcl_interfaces.srv import SetParameters, SetParametersAtomically  # noqa: E402
from rclpy.callback_groups import ReentrantCallbackGroup  # noqa: E402
from rclpy.event_handler import EventHandler  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from rclpy.qos import QoSProfile  # noqa: E402
from std_msgs.msg import String  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402

from robot_dynamics.nodes.ros.diagnostics import ThrottledLog  # noqa: E402
from robot_dynamics.nodes.runtime.process import Process  # noqa: E402
from robot_dynamics.nodes.runtime.timers import LoopTimer  # noqa: E402
from robot_dynamics.nodes.trajectory_node import TrajectoryNode  # noqa: E402
from ros_system import wait_for  # noqa: E402

PERIOD = 0.01
EACH = QoSProfile(depth=10)
PLACES = ("cycle", "looped", "service", "timer", "topic")


@pytest.fixture
def process(context):
    """A process with one node that has nothing to do."""
    given = [Parameter("urdf_path", value="planar_2r"), Parameter("wait", value=True)]
    node = TrajectoryNode(context=context, parameter_overrides=given)
    with Process([node], context) as process:
        assert process.start()
        yield process


def test_a_timer_runs_when_it_is_due_and_skips_missed_periods():
    done = []
    timer = LoopTimer(1.0, lambda: done.append(1))
    start = timer.due
    for now, times in ((-0.1, 0), (0.0, 1), (0.9, 1), (1.5, 2), (7.5, 3), (7.9, 3), (8.1, 4)):
        timer.run_if_due(start + now)
        assert len(done) == times, now


def test_no_timer_runs_while_a_callback_of_the_executor_runs(process):
    (node,), done, meanwhile = process.nodes, [], []

    def callback():
        before = len(done)
        time.sleep(10 * PERIOD)
        meanwhile.append(len(done) - before)

    node.call_every(PERIOD, lambda: done.append(threading.get_native_id()))
    wait_for(lambda: done, "the timer")
    timer = node.create_timer(PERIOD, callback)
    wait_for(lambda: meanwhile, "the callback")
    timer.cancel()
    count = len(done)
    wait_for(lambda: len(done) > count, "the timer to go on")
    assert meanwhile[0] == 0
    assert threading.get_native_id() not in done


class DestroyedWhenGathered(ReentrantCallbackGroup):
    """Has its subscription destroyed once the executor has made up its mind to wait for it."""

    def __init__(self, node):
        super().__init__()
        self.node, self.subscription = node, None

    def can_execute(self, entity):
        if isinstance(entity, EventHandler) and self.subscription is not None:
            self.node.destroy_subscription(self.subscription)
            self.subscription = None
        return True


def test_what_is_destroyed_while_the_executor_gathers_is_no_error(process):
    (node,), received, lines = process.nodes, [], []
    node.throttled_log = ThrottledLog(lines.append)
    group = DestroyedWhenGathered(node)
    group.subscription = node.create_subscription(String, "gone", print, 1, callback_group=group)
    wait_for(lambda: process.failure or group.subscription is None, "the executor to gather")
    timer = node.create_timer(PERIOD, lambda: received.append(1))
    wait_for(lambda: process.failure or received, "a callback after it")
    timer.cancel()
    assert process.failure is None
    assert lines == []


def test_a_node_that_is_cleaned_up_has_no_timer_but_its_report(process):
    (node,), done = process.nodes, []
    node.call_every(PERIOD, lambda: done.append(1))
    wait_for(lambda: done, "the timer")
    node.trigger_deactivate()
    node.trigger_cleanup()
    time.sleep(2 * PERIOD)  # one may be under way
    count = len(done)
    time.sleep(20 * PERIOD)
    assert len(done) == count
    assert len(node.loop_timers) == 1


def test_what_timers_messages_services_and_cycles_raise_is_logged_and_they_go_on(process, peer):
    (node,), lines, calls = process.nodes, [], Counter()
    node.throttled_log = ThrottledLog(lines.append)

    def fail(place, *_):
        calls[place] += 1
        raise RuntimeError("broken\nin two lines")

    node.call_every(PERIOD, partial(fail, "timer"))
    node.create_subscription(String, "topic", partial(fail, "topic"), 1)
    node.create_service(Trigger, "service", partial(fail, "service"))
    looped = node.create_loop_subscriber(WrenchStamped, "looped", partial(fail, "looped"), EACH)
    node.start_task(partial(fail, "cycle"), 100.0, inputs=[looped])
    text = peer.publisher(String, "topic")
    wrench = peer.publisher(WrenchStamped, "looped")

    def tried():
        text.publish(String())
        wrench.publish(WrenchStamped())
        answer = peer.call(Trigger, "service", Trigger.Request())
        assert not answer.success
        assert answer.message.startswith("service: ignored because of an unforeseen RuntimeError")
        return min(calls[place] for place in PLACES) > 1

    wait_for(tried, "calls of everything")
    assert process.failure is None
    shown = [re.sub(r"at \w+.py:\d+", "at FILE", line) for line in lines]
    assert sorted(line for line in shown if " more since" not in line) == [
        f"{place}: ignored because of an unforeseen RuntimeError at FILE: broken in two lines"
        for place in PLACES
    ]
    node.loop.remove(node.task)


@pytest.mark.parametrize("data", [b"", b"\x00", b"\x00\x01\x00\x00\xff\xff\xff\x7f"], ids=len)
def test_bytes_that_are_no_message_are_refused_in_one_line(process, peer, data):
    (node,), lines, received = process.nodes, [], []
    node.throttled_log = ThrottledLog(lines.append)
    node.create_subscription(String, "topic", lambda msg: received.append(msg.data), 1)
    publisher = peer.publisher(String, "topic")

    def refused():
        publisher.publish(data)
        return lines

    wait_for(refused, "a refusal")
    assert lines[0] == (
        f"topic: {len(data)} bytes are not a String; the message is ignored; build its sender "
        "against the same version of the message"
    )
    publisher.publish(String(data="right"))
    wait_for(lambda: "right" in received, "a message that is right")


def test_parameters_that_no_node_has_are_refused_by_name(process, peer):
    node = process.nodes[0].get_name()
    request = SetParameters.Request()
    for name, kind in (("repeat", 99), ("repaet", 1), ("", 1), ("repeat", 1)):
        value = ParameterValue(type=kind, bool_value=True)
        request.parameters.append(ParameterMsg(name=name, value=value))
    results = peer.call(SetParameters, f"/{node}/set_parameters", request).results
    assert [(result.successful, result.reason) for result in results] == [
        (False, "parameter 'repeat': its type 99 is unknown; give one of 0 to 9"),
        (False, "no parameter 'repaet'; did you mean 'repeat'?"),
        (False, "no parameter ''; give its name"),
        (True, ""),
    ]
    every = SetParametersAtomically.Request(parameters=request.parameters)
    result = peer.call(SetParametersAtomically, f"/{node}/set_parameters_atomically", every).result
    assert (result.successful, result.reason) == (False, results[0].reason)
