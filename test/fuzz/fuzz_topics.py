"""Bytes, extreme values and parameters of every type for running nodes: fuzz_topics.py [S [SEED]].

All nodes of an arm run, each in a process. After every trial they still run; now and then, and at
the end, they answer, and the arm follows a goal.
"""

from __future__ import annotations

import atexit
import itertools
import os
import sys
import tempfile
import time
from contextlib import suppress
from functools import cache
from math import inf, nan
from pathlib import Path

import numpy as np

sys.path[:0] = [str(Path(__file__).parents[1] / "helpers"), str(Path(__file__).parent)]

from bounded import main

NODES = ("simulator", "feedforward", "controller", "monitor", "recorder", "viewer", "trajectory")
NUMBERS = (nan, inf, -inf, 1.7e308, -1.7e308, 5e-324, 1e154, 1e-300, -0.0, 0.0, 1.0, -1.0, 1e9)
QUATERNIONS = ((0.0, 0.0, 0.0, 1.0), (0.6, 0.0, 0.8, 0.0), (0.5, -0.5, 0.5, -0.5))
WHOLES = (0, 1, -1, 2**31 - 1, -(2**31), 2**32 - 1, 2**63 - 1, -(2**63))
TEXTS = ("", "joint_1", "joint_2", "endpoint", "nowhere", "\u00e9\u2603\n", "x" * 70_000, "\x00")
CHOICES = {
    "mode": ("feedforward", "pd", "cartesian_impedance", "operational_space"),
    "collision.reaction": ("none", "report", "stop", "float", "retreat"),
    "task.axes": ("root", "frame"),
    "task.projector": ("consistent", "kinematic"),
    "task.controlled": (["motion"] * 2 + ["free"] * 4, ["force", "motion"] + ["free"] * 4, []),
    "task.frame": ("", "endpoint", "link_1"),
}
"""Valid values of parameters of controller_node that change its law or its reaction."""

LATCHED = ("robot_description", "unfollowed")
TYPES = (*range(10), 10, 99, 255)
EVERY = 50
"""Trials between two looks at the answers of the nodes."""


class Arm:
    """The nodes of an arm, their topics, and what talks to them."""

    def __init__(self):
        from ros_system import NodeProcess, Peer, free_domain, wait_for

        domain, folder = free_domain(), Path(tempfile.mkdtemp())
        self.peer, self.trials = Peer(domain), itertools.count(1)
        given = {"urdf_path": "planar_2r", "rate": 100.0}
        own = {
            "recorder": {"file": folder / "run.mcap"},
            "viewer": {"port": 18349, "rate": 20.0},
            "trajectory": {"wait": True},
            "simulator": {"command_timeout": 2.0},  # a busy machine is no fault to find
        }
        self.processes = []
        for name in NODES:
            asked = {**given, **own.get(name, {})}
            if name == "trajectory":
                del asked["rate"]
            if name == "controller":
                asked |= {"state_timeout": 0.5, "reference_timeout": 0.5}
            self.processes.append(NodeProcess(f"{name}_node", domain, folder, asked))
        asked = {**given, "use_sim_time": True}
        words = ["-r", "__ns:=/timed"]
        self.processes.append(NodeProcess("monitor_node", domain, folder, asked, words))
        self.names = [*(f"{name}_node" for name in NODES), "timed/monitor_node"]
        self.processes[1].wait_for_log("ready for trajectories")
        wait_for(lambda: len(self.topics()) >= 12, "all topics")
        wait_for(lambda: "/clock" in self.topics(), "the clock")
        self.publishers, self.known = {}, sorted(self.topics().items())
        self.states = self.peer.listen(kinds("sensor_msgs/msg/JointState"), "joint_states", 100)
        atexit.register(self.close)

    def close(self):
        for process in self.processes:
            process.end()
        self.peer.close()

    def topics(self):
        node, found = self.peer.node, {}
        for name, space in node.get_node_names_and_namespaces():
            if name.endswith("_node") and name.removesuffix("_node") in NODES:
                read = node.get_subscriber_names_and_types_by_node(name, space)
                found.update((topic, kinds[0]) for topic, kinds in read)
        return found

    def publish(self, topic, kind, data):
        from rclpy.impl.implementation_singleton import rclpy_implementation
        from rclpy.qos import DurabilityPolicy, QoSProfile

        if topic not in self.publishers:
            latched = any(word in topic for word in LATCHED)
            durability = DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE
            qos = QoSProfile(depth=5, durability=durability)
            self.publishers[topic] = self.peer.node.create_publisher(kind, topic, qos)
        with suppress(rclpy_implementation.RCLError):  # of a middleware that sends no such bytes
            self.publishers[topic].publish(data)

    def check(self):
        """All nodes answer, and the arm goes where it is told to."""
        from std_srvs.srv import Trigger

        from ros_system import wait_for

        for name in self.names:
            assert self.peer.get_parameter(name, "urdf_path") == "planar_2r", name
        for process in self.processes:
            assert "Traceback" not in process.log, process.log
            assert "unforeseen" not in process.log, process.log
        for publisher in self.publishers.values():
            self.peer.node.destroy_publisher(publisher)
        self.publishers.clear()
        usual = {"payload.mass": 0.0, "mode": "feedforward", "collision.reaction": "report"}
        for name, value in usual.items():
            self.peer.set_parameter("controller_node", name, value)
        self.peer.set_parameter("feedforward_node", "payload.mass", 0.0)
        self.peer.call(Trigger, "/simulator_node/reset", Trigger.Request())
        goal = kinds("trajectory_msgs/msg/JointTrajectory")()
        goal.joint_names = ["joint_1", "joint_2"]
        goal.points.append(kinds("trajectory_msgs/msg/JointTrajectoryPoint")())
        goal.points[0].positions, goal.points[0].time_from_start.sec = [-1.2, 0.3], 2
        sent = 0.0

        def there():
            nonlocal sent
            if time.monotonic() > sent + 6.0:  # a machine that is busy may have stopped the arm
                self.peer.call(Trigger, "/controller_node/resume", Trigger.Request())
                self.publish("joint_trajectory", type(goal), goal)
                sent = time.monotonic()
            right = [state for state in self.states[-5:] if len(state.position) == 2]
            return right and np.allclose(right[-1].position, goal.points[0].positions, atol=0.02)

        try:
            wait_for(there, "the arm at its goal")
        except BaseException as error:  # of pytest
            raise AssertionError(str(error)) from None


@cache
def arm():
    return Arm()


@cache
def kinds(name):
    from importlib import import_module

    package, part, kind = name.split("/")
    return getattr(import_module(f"{package}.{part}"), kind)


def filled(rng, kind):
    """A message of a type with valid, extreme and wrong values in all fields."""
    msg = kind()
    for name, form in msg.get_fields_and_field_types().items():
        setattr(msg, name, value_of(rng, form, getattr(msg, name)))
    if kind.__name__ == "Quaternion" and rng.random() < 0.5:
        msg.x, msg.y, msg.z, msg.w = rng.choice(QUATERNIONS)
    return msg


def value_of(rng, form, default):
    base, count = form, None
    if form.startswith("sequence<"):
        base, count = form[9:-1].partition(",")[0], rng.choice([0, 1, 2, 2, 2, 3, 200])
    elif form.endswith("]"):
        base, _, size = form[:-1].partition("[")
        count = int(size)
    if count is not None:
        return [value_of(rng, base, None) for _ in range(count)]
    if base in ("double", "float"):
        return rng.choice(NUMBERS) if base == "double" else 0.0
    if base.startswith(("int", "uint")):
        bits, signed = int(base.lstrip("uint")), base[0] == "i"
        low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
        return min(max(rng.choice(WHOLES), low), high)
    if base == "string":
        return rng.choice(TEXTS)
    if base == "boolean":
        return rng.random() < 0.5
    if base in ("octet", "char"):
        return bytes([rng.randrange(256)]) if base == "octet" else rng.randrange(256)
    package, kind = base.split("/")
    return filled(rng, kinds(f"{package}/msg/{kind}"))


def payload_of(rng, kind):
    """Bytes of no message, of a damaged one, or a message."""
    from rclpy.serialization import serialize_message

    if (form := rng.randrange(4)) == 0:
        return rng.randbytes(rng.choice([0, 1, 3, 4, 5, 8, 12, 33, 200, 5000]))
    msg = filled(rng, kind)
    if form == 1:
        return msg
    data = bytearray(serialize_message(msg))
    for _ in range(rng.randrange(1, 5)):
        data[rng.randrange(len(data))] = rng.choice([0, 1, 127, 128, 255])
    return bytes(data[: rng.randrange(1, len(data) + 1)] if form == 2 else data)


def ask(rng, name):
    """Set, get or describe parameters of any name and type."""
    services = __import__("rcl_interfaces.srv", fromlist=["srv"])
    listed = services.ListParameters.Request()
    there = arm().peer.call(services.ListParameters, f"/{name}/list_parameters", listed)
    known = [n for n in there.result.names if n not in ("use_sim_time", "autostart")]
    names = [rng.choice([*known, *TEXTS, "gains.joint_9.p"]) for _ in range(rng.randrange(4))]
    kind = rng.choice(["SetParameters", "SetParametersAtomically", "GetParameters"])
    if kind == "GetParameters":
        request = services.GetParameters.Request(names=names)
    else:
        request = getattr(services, kind).Request()
        for each in names:
            item = filled(rng, kinds("rcl_interfaces/msg/Parameter"))
            item.name, item.value.type = each, rng.choice(TYPES)
            request.parameters.append(item)
    verb = {"SetParametersAtomically": "set_parameters_atomically"}.get(kind)
    service = verb or {"SetParameters": "set_parameters"}.get(kind, "get_parameters")
    answer = arm().peer.call(getattr(services, kind), f"/{name}/{service}", request)
    if kind == "SetParameters":
        assert len(answer.results) == len(names)
        for item, result in zip(request.parameters, answer.results, strict=True):
            assert result.successful or result.reason, item
    return bool(names)


def one(rng):
    it = arm()
    if (kind := rng.random()) < 0.05:
        name = rng.choice(sorted(CHOICES))
        answer = it.peer.set_parameter("controller_node", name, rng.choice(CHOICES[name]))
        accepted = answer is None or answer.successful
    elif kind < 0.3:
        accepted = ask(rng, rng.choice(it.names))
    else:
        topic, kind = rng.choice(it.known)
        data = payload_of(rng, kinds(kind))
        it.publish(topic, kinds(kind), data)
        accepted = not isinstance(data, bytes)
    for process in it.processes:
        assert process.running, f"{process.name} ended:\n{process.log}"
    if next(it.trials) % EVERY == 0:
        it.check()
    return accepted


if __name__ == "__main__":
    from robot_dynamics.nodes.ros.transport import profiles_variable

    # As in test/conftest.py
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "SYSTEM_DEFAULT"
    os.environ[profiles_variable()] = str(Path(__file__).parents[1] / "data" / "loopback.xml")
    main("topics-and-parameters", one)
