"""Nodes in processes of their own, and a peer that talks to them over DDS."""

import multiprocessing
import os
import shutil
import signal
import socket
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

import pytest

from node_process import run_node

ROOT = Path(__file__).parents[2]
PATIENCE = 120.0
"""Bound of a wait that would never end, s.

A node needs a second of a processor until it says its first word, which has taken 25 s where six
other programs shared two processors: more than that is a fault, not a busy machine.
"""

ASK_AGAIN_AFTER_S = 30.0
"""Time that a service has for its answer, s, before it is asked once more."""

RECEIVING_PERIOD_S = 0.01
"""Time from one look at the messages of a topic to the next, s."""

# A run that is killed takes its nodes with it: left over, they would load the machine for ever
WITH_ITS_PARENT = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []


def wait_for(condition, what, patience=PATIENCE):
    """Wait until `condition()` is true; its value.

    A node that ends meanwhile without having been asked to ends the wait as well.
    """
    end = time.monotonic() + patience
    while True:
        lost = [process for process in NodeProcess.started if process.lost]
        if value := condition():
            return value
        if lost:
            pytest.fail(f"{lost[0].name} ended before there was {what}:\n{lost[0].log}")
        if time.monotonic() > end:
            logs = [f"{process.name} says:\n{process.log}" for process in NodeProcess.started]
            pytest.fail("\n".join([f"waited {patience:.0f} s for {what}", *logs]))
        time.sleep(0.01)


def sent_until(condition, send, every=8.0):
    """Return a condition for `wait_for` that sends, and again while it is false, every so many s.

    A motion that a busy machine cancels is sent again: `every` is longer than it takes.
    """
    due = 0.0

    def sent():
        nonlocal due
        if time.monotonic() > due:
            send()
            due = time.monotonic() + every
        return condition()

    return sent


NODES = multiprocessing.get_context("forkserver")
"""Starts nodes as copies of a process that has imported them, which otherwise takes each a second.

What an executable does from its first line on is tested in test/nodes/test_executables.py.
"""
NODES.set_forkserver_preload(
    [
        "robot_dynamics.nodes.composition",  # and so every node
        *("rosidl_generator_py.generate_py_impl", "rosidl_parser.parser"),  # for the first message
        *("llvmlite.binding", "llvmlite.ir"),  # for the first kernel
    ]
)


class NodeProcess:
    """One executable in a process of its own; its output is in `log`."""

    started: ClassVar[list] = []
    """Processes of the present tests."""

    def __init__(self, name, domain, folder, parameters=(), arguments=()):
        self.name = name
        self._file = folder / f"{name}-{time.monotonic_ns()}.log"
        options = [
            word for key, value in dict(parameters).items() for word in ("-p", f"{key}:={value}")
        ]
        words = [name, "--ros-args", *options, *arguments]
        environment = {**os.environ, "ROS_DOMAIN_ID": str(domain)}
        self._file.touch()
        self._process = NODES.Process(
            target=run_node, args=(name, words, environment, str(self._file)), daemon=True
        )
        self._process.start()
        self._asked = False
        self.started.append(self)

    @property
    def log(self):
        return self._file.read_text()

    @property
    def pid(self):
        return self._process.pid

    @property
    def running(self):
        return self._process.is_alive()

    @property
    def lost(self):
        """True once it ended without a signal of the test."""
        return not (self._asked or self.running)

    def wait_for_log(self, text, after=0):
        """Wait until it prints a text, behind the first `after` characters of its log."""
        wait_for(lambda: text in self.log[after:], f"'{text}' from {self.name}")

    def send(self, how):
        """Send a signal, after which it may end."""
        self._asked = True
        if self.running:
            os.kill(self.pid, how)

    def stop(self, how=signal.SIGINT):
        """Send a signal and return the exit status."""
        self.send(how)
        self._process.join(PATIENCE)
        return self._process.exitcode

    def end(self):
        """Make sure that it is gone."""
        self._process.kill()
        self._process.join()
        if self in self.started:
            self.started.remove(self)


_kept = []
"""Objects that this process keeps until its end."""


def free_domain():
    """A ROS domain from 1 to 100 that no other test uses, in this process or another one.

    Who has it holds the TCP port of the number at which its DDS, which speaks UDP, begins.
    """
    for domain in range(1, 101):
        claim = socket.socket()
        try:
            claim.bind(("127.0.0.1", 7400 + 250 * domain))
        except OSError:
            claim.close()
            continue
        _kept.append(claim)
        return domain
    pytest.fail("no ROS domain from 1 to 100 is free; end other test runs on this machine")


def lasting_node(name, domain):
    """Node in a context of its own, on a ROS domain, for as long as this process lives.

    The last node of a context takes its DDS participant along, and Fast DDS 2.14 may crash, or
    spin for ever, when another participant of the domain goes at that moment. Nodes of a system
    under test come and go all the time, so the process that tests them keeps its participants.
    """
    import rclpy

    context = rclpy.Context()
    rclpy.init(context=context, domain_id=domain)
    _kept.append(rclpy.create_node(name, context=context))
    return _kept[-1]


class SteppedClock:
    """Time of nodes with use_sim_time, which passes as their peer publishes: never while it waits.

    Args:
        peer: Node that publishes.
        period: Time from one step to the next, s.
    """

    def __init__(self, peer, period):
        from rosgraph_msgs.msg import Clock

        from robot_dynamics.nodes.ros.messages import time_msg

        self._now, self._period = time.time_ns(), round(1e9 * period)
        self._publisher = peer.node.create_publisher(Clock, "/clock", 10)
        self._message = lambda: Clock(clock=time_msg(self._now))

    @property
    def seconds(self):
        """Present time, s."""
        return 1e-9 * self._now

    @property
    def stamp(self):
        """Present time as a stamp."""
        return self._message().clock

    def step(self):
        """Let a period pass."""
        self.jump(1e-9 * self._period)

    def jump(self, seconds):
        """Let this time pass at once, s; or go back by it."""
        self._now += round(1e9 * seconds)
        self._publisher.publish(self._message())


class Peer:
    """The rest of a ROS system: publishes, listens and calls from this process."""

    def __init__(self, domain):
        from rclpy.executors import SingleThreadedExecutor

        self.node = lasting_node("peer", domain)
        self.context = self.node.context
        self._executor = SingleThreadedExecutor(context=self.context)
        self._executor.add_node(self.node)
        self._leaving = threading.Event()
        self._thread = threading.Thread(target=self._spin, daemon=True)
        self._thread.start()
        self.received = {}
        self.sent = {}  # when each of these messages was published, s
        self._listening = []
        self._listener = threading.Thread(target=self._receive, daemon=True)
        self._listener.start()
        self._clients = {}

    def _spin(self):
        from rclpy.impl.implementation_singleton import rclpy_implementation

        # Left before the executor is shut down, which frees what a wait under way still uses
        while not self._leaving.is_set():
            # A test may destroy what the executor is about to wait for
            with suppress(rclpy_implementation.InvalidHandle):
                self._executor.spin_once(timeout_sec=1.0)

    def _receive(self):
        # Not by the executor, which takes longer over a message than a node over its cycle
        while not self._leaving.wait(RECEIVING_PERIOD_S):
            for subscription, messages, sent in tuple(self._listening):
                take, kind = subscription.handle.take_message, subscription.msg_type
                while (taken := take(kind, False)) is not None:
                    sent.append(1e-9 * taken[1]["source_timestamp"])
                    messages.append(taken[0])

    def listen(self, kind, topic, qos=100):
        """Collect the messages of a topic, each once; the list grows."""
        from robot_dynamics.nodes.runtime.loop_topics import LoopCallbackGroup

        if topic in self.received:
            return self.received[topic]
        messages = self.received[topic] = []
        subscription = self.node.create_subscription(
            kind, topic, messages.append, qos, callback_group=LoopCallbackGroup()
        )
        self.sent[topic] = []
        self._listening.append((subscription, messages, self.sent[topic]))
        return messages

    def publisher(self, kind, topic, qos=10):
        """Return a publisher once its topic has a subscriber."""
        publisher = self.node.create_publisher(kind, topic, qos)
        wait_for(publisher.get_subscription_count, f"a subscriber of {topic}")
        return publisher

    def call(self, kind, service, request):
        """Return the response of a service."""
        if service not in self._clients:  # one each: hundreds would slow the executor down
            self._clients[service] = self.node.create_client(kind, service)
        client = self._clients[service]
        assert client.wait_for_service(PATIENCE), f"no service {service}"
        # Asked again after a while: a server drops its answer where it has not met the client yet
        futures = [client.call_async(request)]
        asked = time.monotonic()

        def answered():
            if time.monotonic() > asked + len(futures) * ASK_AGAIN_AFTER_S:
                futures.append(client.call_async(request))
            return next((future for future in futures if future.done()), None)

        answer = wait_for(answered, f"an answer from {service}").result()
        self._asked_again = len(futures) > 1
        return answer

    def resume(self, node):
        """Have a controller that is stopped go on."""
        from std_srvs.srv import Trigger

        answer = self.call(Trigger, f"/{node}/resume", Trigger.Request())
        obeyed = self._asked_again and answer.message == "not stopped"  # the first answer was lost
        assert answer.success or obeyed, answer.message

    def set_parameter(self, node, name, value):
        """Result of setting one parameter of another node."""
        from rcl_interfaces.srv import SetParameters
        from rclpy.parameter import Parameter

        request = SetParameters.Request(
            parameters=[Parameter(name, value=value).to_parameter_msg()]
        )
        return self.call(SetParameters, f"/{node}/set_parameters", request).results[0]

    def set_parameters(self, node, values):
        """Result of setting several parameters of another node at once, all or none."""
        from rcl_interfaces.srv import SetParametersAtomically
        from rclpy.parameter import Parameter

        request = SetParametersAtomically.Request(
            parameters=[Parameter(k, value=v).to_parameter_msg() for k, v in values.items()]
        )
        return self.call(
            SetParametersAtomically, f"/{node}/set_parameters_atomically", request
        ).result

    def get_parameter(self, node, name):
        """Value of one parameter of another node."""
        from rcl_interfaces.srv import GetParameters
        from rclpy.parameter import parameter_value_to_python

        request = GetParameters.Request(names=[name])
        answer = self.call(GetParameters, f"/{node}/get_parameters", request)
        return parameter_value_to_python(answer.values[0])

    def done_by_executor(self, work):
        """Return `work()`, called in the executor's thread."""
        task = self._executor.create_task(work)
        wait_for(task.done, "the executor")
        return task.result()

    def close(self):
        self._leaving.set()
        self._executor.create_task(lambda: None)  # ends its wait, which waking does not
        self._thread.join()
        self._listener.join()
        self._executor.shutdown()
        for publisher in tuple(self.node.publishers):
            self.node.destroy_publisher(publisher)
        for subscription in tuple(self.node.subscriptions):
            self.node.destroy_subscription(subscription)
        for client in tuple(self.node.clients):
            self.node.destroy_client(client)
