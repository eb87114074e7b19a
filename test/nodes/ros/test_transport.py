"""Transport: participants of the package have no shared memory, unless the user asks for it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from robot_dynamics.nodes.ros.transport import (
    LOCALHOST_PROFILE,
    PROFILES,
    REACH,
    TRANSPORTS,
    chosen_transport,
    log_folder,
    profiles_variable,
    uses_fast_dds,
    without_shared_memory,
)

HERE = {REACH: "SUBNET", profiles_variable(): str(LOCALHOST_PROFILE)}
"""Variables of discovery on this machine."""


@pytest.mark.parametrize(
    ("given", "changed"),
    [
        ({}, {TRANSPORTS: "UDPv4"}),
        ({REACH: "OFF"}, {TRANSPORTS: "UDPv4"}),
        ({REACH: "localhost"}, HERE),
        ({REACH: "LOCALHOST", TRANSPORTS: "UDPv4"}, HERE),
        ({"ROS_LOCALHOST_ONLY": "1"}, {**HERE, "ROS_LOCALHOST_ONLY": "0"}),
        ({REACH: "LOCALHOST", PROFILES[0]: "mine.xml"}, {}),
        ({PROFILES[1]: "mine.xml"}, {}),
        ({TRANSPORTS: "SHM"}, {}),
    ],
)
def test_the_transport_of_the_user_stays_and_none_means_udp(given, changed):
    assert without_shared_memory(given) == changed
    after = {**given, **changed}
    assert {**after, **without_shared_memory(after)} == after, "a child process changes nothing"
    assert bool(chosen_transport(given)) == (not changed)


THREADS = """
import os, sys
from pathlib import Path
from rclpy.node import Node
from robot_dynamics.nodes.ros.graph_client import joined

class Threads(Node):
    def __init__(self, context):
        super().__init__("threads", context=context, enable_rosout=False)

    def close(self):
        names = [path.read_text().strip() for path in Path("/proc/self/task").glob("*/comm")]
        print(*names, sep="\\n", flush=True)
        os._exit(0)

with joined(Threads):
    pass
"""


def threads(domain, **given):
    """Names of the threads of a process with a node that the package has started."""
    taken = (*PROFILES, TRANSPORTS, REACH)
    kept = {name: value for name, value in os.environ.items() if name not in taken}
    return subprocess.run(
        [sys.executable, "-c", THREADS],
        env={**kept, **given, "ROS_DOMAIN_ID": str(domain)},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout.split()


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs the /proc of Linux")
@pytest.mark.skipif(not uses_fast_dds(), reason="threads are those of Fast DDS")
@pytest.mark.parametrize(
    ("given", "shared"),
    [({REACH: "LOCALHOST"}, False), ({REACH: "LOCALHOST", TRANSPORTS: "DEFAULT"}, True)],
)
def test_a_participant_listens_to_shared_memory_only_where_the_user_asks(domain, given, shared):
    names = threads(domain, **given)
    assert any(name.startswith("dds.udp") for name in names)
    assert any(name.startswith("dds.shm") for name in names) == shared


LOGS = (
    "; set ROS_LOG_DIR, or HOME, to a writable folder, or start with --ros-args "
    "--disable-external-lib-logs"
)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"ROS_DOMAIN_ID": "abc"}, "ROS_DOMAIN_ID is 'abc'; set it to a number from 0 to 101"),
        ({"ROS_DOMAIN_ID": "233"}, "ROS_DOMAIN_ID is '233'; set it to a number from 0 to 101"),
        ({"ROS_LOG_DIR": "/proc/none"}, f"Failed to create log directory '/proc/none': 2{LOGS}"),
        ({"HOME": ""}, "Failed to get logging directory"),
        ({"HOME": ""}, LOGS),
    ],
)
def test_an_environment_in_which_no_node_can_start_is_named_with_its_remedy(given, reason):
    code = (
        "from robot_dynamics.errors import ArgumentError\n"
        "from robot_dynamics.nodes.ros.transport import init_rclpy\n"
        "try:\n    init_rclpy()\nexcept ArgumentError as error:\n    print(error)"
    )
    kept = {k: v for k, v in os.environ.items() if k not in ("HOME", "ROS_LOG_DIR", "ROS_HOME")}
    environment = {"HOME": "/tmp", **kept, **given}
    if not environment["HOME"]:
        del environment["HOME"]
    process = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert reason in process.stdout


@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        ({"HOME": "/home/me"}, "/home/me/.ros/log"),
        ({"HOME": "/home/me", "ROS_HOME": "/opt/ros"}, "/opt/ros/log"),
        ({"HOME": "/home/me", "ROS_HOME": "/opt/ros", "ROS_LOG_DIR": "/var/log"}, "/var/log"),
        ({"HOME": ""}, None),
    ],
)
def test_the_folder_of_logs_is_that_of_rcl(environment, folder):
    assert log_folder(environment) == (folder and Path(folder))
