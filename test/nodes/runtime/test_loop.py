"""Loop: steady work and work that messages pace, in one thread, without an executor."""

import gc
import os
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path

import pytest

rclpy = pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from rclpy.qos import QoSProfile  # noqa: E402
from rclpy.serialization import deserialize_message  # noqa: E402
from std_msgs.msg import Int64  # noqa: E402

from robot_dynamics.nodes.runtime.loop import Loop  # noqa: E402
from robot_dynamics.nodes.runtime.loop_statistics import Input  # noqa: E402
from robot_dynamics.nodes.runtime.loop_topics import (  # noqa: E402
    LoopCallbackGroup,
    LoopSubscriber,
)
from robot_dynamics.nodes.runtime.scheduling import lockable_memory  # noqa: E402
from ros_system import wait_for  # noqa: E402
from starvation import most_grown, waited  # noqa: E402


@pytest.fixture
def node(context):
    node = rclpy.create_node("node", context=context)
    yield node
    node.destroy_node()


@pytest.fixture
def loop(context):
    return Loop(context)


@pytest.fixture
def topic(node):
    """A topic whose messages a loop takes: publish function, subscriber, what was received."""
    received = []
    publisher = node.create_publisher(Int64, "topic", 10)
    subscription = node.create_subscription(
        Int64,
        "topic",
        lambda msg: received.append(msg.data),
        10,
        callback_group=LoopCallbackGroup(),
    )
    wait_for(publisher.get_subscription_count, "the subscription")
    return (
        (lambda value: publisher.publish(Int64(data=value))),
        subscriber_of(subscription),
        received,
    )


def subscriber_of(subscription, period=0.0):
    """Return a subscriber whose messages must be good."""

    def fail(error):
        raise error

    read = partial(deserialize_message, message_type=Int64)
    return LoopSubscriber(subscription, read, fail, Input("topic"), period)


def arrived(subscriber, received, count):
    """Wait until that many messages have been taken."""
    wait_for(lambda: bool(subscriber.take()) or len(received) >= count, f"{count} messages")


def test_a_task_runs_at_its_rate(loop):
    ticks = []
    timing = loop.add("work", 200.0, lambda: ticks.append(time.monotonic()))
    loop.run(until=lambda: len(ticks) >= 41)
    # 41 cycles on a grid of 5 ms: none may be early; late ones are counted as missed
    assert ticks[-1] - ticks[0] > 0.19
    assert timing.report().cycles == len(ticks)


def test_cycles_that_a_slow_tick_overruns_are_missed_and_not_made_up_for(loop):
    timing = loop.add("slow", 1000.0, lambda: time.sleep(0.0105))
    loop.run(until=lambda: timing.cycles >= 3)
    # Every tick ends at least 10.5 periods after it was due: nine more have come and gone
    assert timing.missed >= 2 * 9
    assert timing.cycles == 3


def test_due_tasks_run_in_the_order_in_which_they_were_added(loop):
    order = []
    for name in ("first", "second", "third"):
        loop.add(name, 100.0, lambda name=name: order.append(name))
    loop.run(until=lambda: len(order) >= 3)
    assert order[:3] == ["first", "second", "third"]


def test_tasks_of_one_rate_run_together_whenever_they_were_added(loop):
    rate, half_a_period = 20.0, 0.025
    first, second = [], []
    loop.add("first", rate, lambda: first.append(time.monotonic()))
    thread = threading.Thread(target=loop.run)
    thread.start()
    wait_for(lambda: first, "the first task")
    time.sleep(half_a_period)
    loop.add("second", rate, lambda: second.append(time.monotonic()))
    wait_for(lambda: len(second) >= 9, "the second task")
    loop.stop()
    thread.join()
    gaps = [min(abs(a - b) for b in first) for a in second]
    assert sorted(gaps)[len(gaps) // 2] < 0.4 * half_a_period


def test_inputs_are_taken_before_every_tick(loop, topic):
    publish, subscriber, received = topic
    seen = []
    loop.add("work", 100.0, lambda: seen.append(list(received)), inputs=[subscriber])
    publish(1)
    publish(2)
    loop.run(until=lambda: bool(seen) and len(seen[-1]) == 2)
    assert seen[-1] == [1, 2]


def test_a_patient_input_is_taken_after_the_tick(loop, node, topic):
    publish, _, _ = topic
    received, seen = [], []
    subscription = node.create_subscription(
        Int64, "topic", received.append, 10, callback_group=LoopCallbackGroup()
    )
    subscriber = subscriber_of(subscription, 1e-6)
    wait_for(lambda: publish(1) or subscriber.take() is not None, "a message")
    received.clear()
    publish(2)

    def tick():
        seen.append(list(received))

    loop.add("work", 100.0, tick, inputs=[subscriber])
    loop.run(until=lambda: received)
    assert all(not before for before in seen)


def test_an_input_with_a_period_is_taken_no_more_often(loop, node, topic):
    publish, period, received = topic[0], 0.2, []
    subscription = node.create_subscription(
        Int64,
        "topic",
        lambda _: received.append(time.monotonic()),
        QoSProfile(depth=1),  # so that a take finds one message
        callback_group=LoopCallbackGroup(),
    )
    subscriber, ticks = subscriber_of(subscription, period), []

    def tick():
        publish(1)
        ticks.append(time.monotonic())

    loop.add("work", 100.0, tick, inputs=[subscriber])
    loop.run(until=lambda: len(received) >= 3)
    # A take lies between the tick before it and its message, so a delay shortens no gap
    before = [max(t for t in ticks if t <= at) for at in received]
    assert all(b - a >= period for a, b in zip(before, received[1:], strict=False))


def test_a_message_that_paces_a_task_runs_it_at_once(loop, topic):
    publish, subscriber, received = topic
    at_tick = []
    loop.add("work", 0.1, lambda: at_tick.append(list(received)), trigger=subscriber)
    sender = threading.Timer(0.2, publish, [5])
    sender.start()
    loop.run(until=lambda: [5] in at_tick)  # far sooner than the 20 s without a message
    sender.join()


def test_without_messages_a_paced_task_runs_all_the_same(loop, topic):
    _, subscriber, _ = topic
    ticks = []
    loop.add("work", 100.0, lambda: ticks.append(1), trigger=subscriber)
    loop.run(until=lambda: len(ticks) >= 3)


def test_messages_that_come_too_fast_do_not_run_a_task_more_often_than_asked(loop, topic):
    publish, subscriber, received = topic
    ticks = []
    loop.add("source", 1000.0, lambda: publish(len(ticks)))
    loop.add("work", 100.0, lambda: ticks.append(time.monotonic()), trigger=subscriber)
    loop.run(until=lambda: len(ticks) >= 10)
    # Three quarters of a period each, but for two that may come together; at 1 kHz it were 9 ms
    assert ticks[-1] - ticks[0] > 0.05
    assert len(received) > len(ticks)


def test_a_message_right_after_one_that_was_late_is_answered_at_once(loop, topic):
    """The rate is so low that the second one would have to wait for 750 s."""
    publish, subscriber, received = topic
    at_tick = []
    loop.add("work", 0.001, lambda: at_tick.append(list(received)), trigger=subscriber)
    thread = threading.Thread(target=loop.run)
    thread.start()
    for value in (1, 2):
        publish(value)
        wait_for(lambda value=value: at_tick and value in at_tick[-1], "the answer")
    loop.stop()
    thread.join()


def test_a_task_that_only_waits_for_its_messages_misses_nothing(loop, topic):
    publish, subscriber, received = topic
    ticks, before = [], waited([os.getpid()])
    loop.add("source", 50.0, lambda: publish(len(received)))
    timing = loop.add("work", 1000.0, lambda: ticks.append(len(received)), trigger=subscriber)
    loop.run(until=lambda: len(received) >= 50)
    # A few more while its pace is learned and where this machine stands still; ten times as many
    # would run, and nearly all would be missed, if it kept its own rate
    assert 50 <= len(ticks) < 100
    starved = most_grown(before, waited([os.getpid()]))  # s, in which a thousand cycles a second go
    assert timing.missed < 50 + 1000 * starved


def test_a_task_that_is_too_slow_for_its_messages_misses_cycles(loop, topic):
    publish, subscriber, _ = topic
    done = threading.Event()

    def send():
        while not done.wait(0.005):
            publish(1)

    sender = threading.Thread(target=send)
    sender.start()
    timing = loop.add("work", 200.0, lambda: time.sleep(0.02), trigger=subscriber)
    loop.run(until=lambda: timing.cycles >= 20)
    done.set()
    sender.join()
    assert timing.missed >= 20  # three in four, on a machine that does nothing else


def test_an_executor_leaves_the_messages_of_a_loop_alone(node, context, topic):
    publish, subscriber, received = topic
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    publish(7)
    for _ in range(5):
        executor.spin_once(timeout_sec=0.02)
    assert received == []
    arrived(subscriber, received, 1)
    assert received == [7]
    executor.shutdown()


def test_a_loop_can_be_stopped_from_another_thread(loop):
    threading.Timer(0.1, loop.stop).start()
    loop.run()


def test_a_loop_ends_when_its_context_shuts_down(domain):
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=domain)
    threading.Timer(0.1, context.shutdown).start()
    Loop(context).run()


def test_what_a_tick_raises_ends_the_loop(loop):
    def fail():
        raise RuntimeError("broken")

    loop.add("work", 100.0, fail)
    with pytest.raises(RuntimeError, match="broken"):
        loop.run()


def test_a_priority_that_is_not_asked_for_is_not_taken(loop):
    loop.add("work", 100.0, loop.stop)
    loop.run()
    assert loop.scheduling == "ordinary scheduling"


def test_work_comes_and_goes_while_the_loop_runs(loop, topic):
    publish, subscriber, received = topic
    first, second = [], []
    loop.add("first", 200.0, lambda: first.append(1))
    thread = threading.Thread(target=loop.run)
    thread.start()
    wait_for(lambda: first, "the first task")
    loop.add("second", 200.0, lambda: second.append(1), trigger=subscriber)
    wait_for(lambda: publish(1) or received, "a message")
    loop.remove("second")
    count = len(second), len(first)
    wait_for(lambda: len(first) > count[1] + 10, "the first task to go on")
    assert len(second) == count[0]
    loop.remove("first")
    count = len(first)
    time.sleep(0.05)
    assert len(first) == count
    loop.stop()
    thread.join()
    assert list(loop.timings) == ["first", "second"]


def test_a_processor_that_is_not_there_is_refused_in_words(loop):
    words = []
    loop.on_scheduled = words.append
    loop.cpus = (4095,)
    loop.run(until=lambda: bool(words))
    assert "cpu_affinity 4095 refused" in words[0]


def test_a_loop_stays_on_the_processor_it_is_given_and_leaves_it_at_the_end(loop):
    before = os.sched_getaffinity(0)
    loop.cpus = (max(before),)
    during = []
    loop.add("work", 100.0, lambda: during.append(os.sched_getaffinity(0)))
    loop.run(until=lambda: bool(during))
    assert during[0] == {max(before)}
    assert os.sched_getaffinity(0) == before


def locked_memory():
    """Memory of this process that stays where it is, KiB."""
    (line,) = [x for x in Path("/proc/self/status").read_text().splitlines() if "VmLck" in x]
    return int(line.split()[1])


def test_a_hard_loop_locks_memory_and_collects_nothing_or_says_why_not(loop):
    words, during = [], []
    loop.on_scheduled = words.append
    loop.lock_memory, loop.collect_garbage = True, False
    loop.add("work", 100.0, lambda: during.append((gc.isenabled(), locked_memory())))
    loop.run(until=lambda: bool(during))
    collects, locked = during[0]
    assert not collects and gc.isenabled()
    if lockable_memory() is None:
        assert words[0].endswith("memory locked") and locked > 0
    else:
        assert "lock_memory refused" in words[0] and locked == 0
    assert locked_memory() == 0


def test_memory_is_not_locked_where_the_system_sets_a_limit():
    """In a process of its own that gives up the right to lock what it likes."""
    code = (
        "import os, resource\n"
        "from contextlib import ExitStack\n"
        "from robot_dynamics.nodes.runtime.scheduling import with_locked_memory\n"
        "resource.setrlimit(resource.RLIMIT_MEMLOCK, (65536, 65536))\n"
        "os.geteuid() or os.setuid(65534)\n"
        "with ExitStack() as stack:\n"
        "    print(with_locked_memory(stack))\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == (
        "memory not locked (lock_memory refused: 64 KiB allowed; allow it with ulimit -l unlimited "
        "or in /etc/security/limits.conf)"
    )
