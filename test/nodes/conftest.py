"""Real nodes: in this process on a ROS domain of their own, or in processes of their own."""

import itertools

import pytest

from ros_system import NodeProcess, Peer, lasting_node
from starvation import ATTEMPTS, counts, most_grown, waited

_namespaces = itertools.count()


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


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """Repeat a test of an arm that failed while its nodes were kept waiting for a processor.

    Nodes that balance an arm in real time fall behind where they get no processor.
    """
    arm = pyfuncitem.funcargs.get("arm")
    if not getattr(arm, "apart", False):
        return None
    given = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    pids = lambda: [process.pid for process in arm.processes.values()]  # noqa: E731
    for attempt in range(1, ATTEMPTS + 1):
        before = waited(pids())
        try:
            pyfuncitem.obj(**given)
            return True
        except (AssertionError, pytest.fail.Exception):  # the latter of a wait in vain
            if counts(attempt, most_grown(before, waited(pids()))):
                raise
        arm.restore()
    return True
