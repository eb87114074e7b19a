"""Installation: findings on the ROS 2 installation of this shell."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from time import monotonic

import rclpy
from ament_index_python.packages import PackageNotFoundError as NoPackage
from ament_index_python.packages import get_package_prefix
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from std_msgs.msg import Empty

from robot_dynamics.nodes.ros.transport import (
    DOMAIN_REMEDY,
    HIGHEST_DOMAIN,
    LOG_REMEDY,
    TRANSPORTS,
    UDP,
    chosen_transport,
    init_rclpy,
    is_domain,
    log_folder,
    uses_fast_dds,
)
from robot_dynamics.nodes.ros.transport import reach as reach_of
from robot_dynamics.nodes.runtime.machine import Finding, why_not_writable

DISTRIBUTIONS = ("humble", "jazzy", "kilted", "rolling")

MULTICAST = 0x1000
"""Flag of a network interface, of linux/if.h."""

ECHO_TIMEOUT_S = 5.0
"""Time limit for a message between two participants of this process, s."""

PACKAGES = {
    "control_msgs": "the action follow_joint_trajectory (MoveIt)",
    "launch_ros": "bringup.launch.py",
    "robot_state_publisher": "rviz:=true",
    "rviz2": "rviz:=true",
    "xacro": "robots as xacro files",
}
"""Optional packages and the features that need them."""


def ros_findings() -> list[Finding]:
    """Return findings on distribution, middleware, discovery, transport and packages."""
    return [
        _distribution(),
        Finding("middleware", rclpy.get_rmw_implementation_identifier()),
        _domain(),
        _logs(),
        _discovery(),
        _transport(),
        _echo(),
        *_packages(),
    ]


def _distribution() -> Finding:
    name = os.environ.get("ROS_DISTRO", "")
    if not name:
        try:
            return Finding("distribution", f"rclpy {version('ros-rclpy')} of the package index")
        except PackageNotFoundError:
            remedy = "source its setup.bash, or its packages are not found"
            return Finding("distribution", "ROS_DISTRO is not set", remedy)
    known = name in DISTRIBUTIONS
    return Finding("distribution", name, "" if known else f"tested: {', '.join(DISTRIBUTIONS)}")


def _domain() -> Finding:
    given = os.environ.get("ROS_DOMAIN_ID", "0") or "0"
    if not is_domain(given):
        return Finding("domain", f"ROS_DOMAIN_ID is '{given}'", DOMAIN_REMEDY, missing=True)
    return Finding("domain", given, DOMAIN_REMEDY if int(given) > HIGHEST_DOMAIN else "")


def _logs() -> Finding:
    folder = log_folder(os.environ)
    if folder is None:
        return Finding("logs", "HOME is not set", LOG_REMEDY, missing=True)
    if reason := why_not_writable(folder):
        return Finding("logs", f"{folder}: {reason}", LOG_REMEDY, missing=True)
    return Finding("logs", f"{folder}, writable")


def _discovery() -> Finding:
    reach = reach_of(os.environ)
    if reach == "OFF" and not os.environ.get("ROS_STATIC_PEERS"):
        remedy = "unset ROS_AUTOMATIC_DISCOVERY_RANGE, or name others in ROS_STATIC_PEERS"
        return Finding("discovery", "off", remedy, missing=True)
    flags = Path("/sys/class/net/lo/flags")
    if reach == "LOCALHOST" and flags.is_file() and not int(flags.read_text(), 16) & MULTICAST:
        return Finding("discovery", f"{reach}, by unicast: loopback has no multicast")
    return Finding("discovery", reach)


def _transport() -> Finding:
    if not uses_fast_dds():
        return Finding("transport", "as the middleware chooses")
    chosen = chosen_transport(os.environ)
    if not chosen:
        return Finding("transport", f"{UDP}, without shared memory")
    shared = chosen.startswith(TRANSPORTS) and UDP[:3] not in chosen
    remedy = "unset it: with shared memory, a killed process delays others by a second"
    return Finding("transport", chosen, remedy if shared else "")


def _echo() -> Finding:
    """Return whether a message reaches another participant of this process."""
    contexts = [Context(), Context()]
    try:
        for context in contexts:
            init_rclpy(context=context, args=[])
        sender, reader = (
            rclpy.create_node(f"doctor_{os.getpid()}_{i}", context=context, enable_rosout=False)
            for i, context in enumerate(contexts)
        )
        took = _time_of_echo(sender, reader)
    except Exception as error:  # of rclpy or the middleware
        return Finding("messages", f"no node can start: {error}", "repair it first", missing=True)
    finally:
        for context in contexts:
            context.try_shutdown()
    if took is None:
        remedy = (
            "let UDP multicast through the firewall, or ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST"
        )
        return Finding("messages", f"none came in {ECHO_TIMEOUT_S:g} s", remedy, missing=True)
    return Finding("messages", f"reach another node, {took:.1f} s after its start")


def _time_of_echo(sender: rclpy.node.Node, reader: rclpy.node.Node) -> float | None:
    """Return the time until the first message reaches the reader, s; None if none does."""
    received: list[Empty] = []
    topic, start = f"doctor_{os.getpid()}", monotonic()
    publisher = sender.create_publisher(Empty, topic, 1)
    reader.create_subscription(Empty, topic, received.append, 1)
    executor = SingleThreadedExecutor(context=reader.context)
    executor.add_node(reader)
    while not received and monotonic() < start + ECHO_TIMEOUT_S:
        publisher.publish(Empty())
        executor.spin_once(timeout_sec=0.05)
    executor.shutdown()
    return monotonic() - start if received else None


def _packages() -> Iterator[Finding]:
    for name, use in PACKAGES.items():
        try:
            get_package_prefix(name)
            there = True
        except (NoPackage, LookupError, OSError):
            there = find_spec(name) is not None
        remedy = f"apt install ros-$ROS_DISTRO-{name.replace('_', '-')}, for {use}"
        yield Finding(name, "installed" if there else "not installed", "" if there else remedy)
