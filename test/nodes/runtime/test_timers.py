"""Timers: slow work of nodes beside the loop, when it is due, and never beside a callback."""

import threading
import time

import pytest

rclpy = pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from rclpy.callback_groups import ReentrantCallbackGroup  # noqa: E402
from rclpy.event_handler import EventHandler  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from std_msgs.msg import String  # noqa: E402

from robot_dynamics.nodes.runtime.process import Process  # noqa: E402
from robot_dynamics.nodes.runtime.timers import LoopTimer  # noqa: E402
from robot_dynamics.nodes.trajectory_node import TrajectoryNode  # noqa: E402
from ros_system import wait_for  # noqa: E402

PERIOD = 0.01


@pytest.fixture
def process(context):
    """A process with one node that has nothing to do."""
    given = [Parameter("urdf_path", value="planar_2r"), Parameter("wait", value=True)]
    node = TrajectoryNode(context=context, parameter_overrides=given)
    with Process([node], context) as process:
        assert process.start()
        yield process


def test_a_chore_is_done_when_it_is_due_and_what_was_missed_is_left_out():
    done = []
    timer = LoopTimer(1.0, lambda: done.append(1))
    start = timer.due
    for now, times in ((-0.1, 0), (0.0, 1), (0.9, 1), (1.5, 2), (7.5, 3), (7.9, 3), (8.1, 4)):
        timer.run_if_due(start + now)
        assert len(done) == times, now


def test_no_chore_is_done_while_a_callback_of_the_executor_runs(process):
    (node,), done, meanwhile = process.nodes, [], []

    def callback():
        before = len(done)
        time.sleep(10 * PERIOD)
        meanwhile.append(len(done) - before)

    node.every(PERIOD, lambda: done.append(threading.get_native_id()))
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


def test_what_is_destroyed_while_the_executor_gathers_does_not_end_the_process(process):
    (node,), received = process.nodes, []
    group = DestroyedWhenGathered(node)
    group.subscription = node.create_subscription(String, "gone", print, 1, callback_group=group)
    wait_for(lambda: process.failure or group.subscription is None, "the executor to gather")
    timer = node.create_timer(PERIOD, lambda: received.append(1))
    wait_for(lambda: process.failure or received, "a callback after it")
    timer.cancel()
    assert process.failure is None


def test_a_node_that_is_cleaned_up_has_no_chores_but_its_report(process):
    (node,), done = process.nodes, []
    node.every(PERIOD, lambda: done.append(1))
    wait_for(lambda: done, "the timer")
    node.trigger_deactivate()
    node.trigger_cleanup()
    time.sleep(2 * PERIOD)  # one may be under way
    count = len(done)
    time.sleep(20 * PERIOD)
    assert len(done) == count
    assert len(node.loop_timers) == 1


def test_what_a_chore_raises_ends_the_process(process):
    def fail():
        raise RuntimeError("broken")

    process.nodes[0].every(PERIOD, fail)
    with pytest.raises(RuntimeError, match="broken"):
        process.wait()
