"""Real nodes: in this process on a ROS domain of their own, or in processes of their own."""

import itertools
import os

import pytest

from ros_system import NodeProcess, Peer, lasting_node

os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
# Not through shared memory: what a process that is killed held there may stay locked for others
os.environ["FASTDDS_BUILTIN_TRANSPORTS"] = "UDPv4"
_modules, _namespaces = itertools.count(), itertools.count()


@pytest.fixture(scope="session", autouse=True)
def _logs_stay_here(tmp_path_factory):
    os.environ["ROS_LOG_DIR"] = str(tmp_path_factory.mktemp("ros_log"))


@pytest.fixture(scope="module")
def domain():
    """A ROS domain from 1 to 100 that no other module of this run uses, on any worker."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:])
    run = int(os.environ.get("PYTEST_XDIST_TESTRUNUID", f"{os.getpid():x}")[:8], 16)
    return 1 + (run + 33 * worker + next(_modules)) % 100


@pytest.fixture(scope="module")
def context(domain):
    """A context for nodes of this process; a node that stays keeps its participant alive."""
    pytest.importorskip("rclpy")
    return lasting_node("keeper", domain).context


def _starter(domain, tmp_path_factory):
    folder = tmp_path_factory.mktemp("nodes")
    started = []

    def start(name, parameters=(), arguments=()):
        started.append(NodeProcess(name, domain, folder, parameters, arguments))
        return started[-1]

    yield start
    for process in started:
        process.end()


@pytest.fixture
def start(domain, tmp_path_factory):
    """Start nodes in processes; they end with the test."""
    yield from _starter(domain, tmp_path_factory)


@pytest.fixture(scope="module")
def start_for_module(domain, tmp_path_factory):
    """Start nodes in processes; they end with the module."""
    yield from _starter(domain, tmp_path_factory)


@pytest.fixture
def namespace():
    """Arguments that put a node in a namespace of its own, and that namespace."""
    name = f"/n{next(_namespaces)}"
    return ["-r", f"__ns:={name}"], name


@pytest.fixture(scope="module")
def peer(domain):
    pytest.importorskip("rclpy")
    peer = Peer(domain)
    yield peer
    peer.close()
