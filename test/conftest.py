"""Shared set-up: the modules in `helpers` are importable, hypothesis repeats itself."""

import gc
import os
import signal
import sys
from contextlib import suppress
from functools import cached_property
from pathlib import Path

import pytest
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent / "helpers"))

from browser import browser, free_port  # noqa: F401  # fixtures
from launched import launcher
from ros_system import free_domain

# Seeded, so that a failure on one machine is a failure on every machine; no deadline, because a
# compiled kernel takes its time on first use. HYPOTHESIS_PROFILE=search looks for new examples.
settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=10)
settings.register_profile("thorough", settings.get_profile("repeatable"), max_examples=20)
settings.register_profile("search", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))

# Not LOCALHOST, which means shared memory: what a process that is killed held there stays, and may
# stay locked for others. The profile is of the loopback device, too
os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "SYSTEM_DEFAULT"
with suppress(ImportError):
    from robot_dynamics.nodes.ros.transport import PROFILES, profiles_variable

    for variable in PROFILES:
        os.environ.pop(variable, None)
    os.environ[profiles_variable()] = str(Path(__file__).parent / "data" / "loopback.xml")

# It would win over both. Tests get the same network in every shell
os.environ.pop("ROS_LOCALHOST_ONLY", None)

# Workers get the width of the terminal of the run; what is tested prints to no terminal
os.environ.pop("COLUMNS", None)

# A shell that runs the tests in the background has them ignore Ctrl-C, and every process that they
# start and interrupt would inherit that
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Thousands of tests and what they import stay to the end: the collector would look at all of it
# again and again, a quarter of the time that it takes to find the tests
gc.disable()


def pytest_collection_finish():
    gc.freeze()
    gc.enable()


# Tests of the code itself: where they are thorough, they have it at the level that users have
OF_CODE = ("test/compiler/", "test/dynamics/", "test/simulation/simd/", "test/benchmarks/")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    if not (item.nodeid.startswith(OF_CODE) and item.get_closest_marker("thorough")):
        return (yield)
    with pytest.MonkeyPatch.context() as environment:
        environment.delenv("ROBOT_DYNAMICS_CODE_LEVEL", raising=False)
        return (yield)


@pytest.fixture(scope="session", autouse=True)
def _logs_of_ros_stay_here(tmp_path_factory):
    os.environ["ROS_LOG_DIR"] = str(tmp_path_factory.mktemp("ros_log"))


@pytest.fixture(scope="module")
def domain():
    """A ROS domain that nobody else has: no other module, worker or run on this machine."""
    return free_domain()


@pytest.fixture
def launch(domain):
    """Start the launch file with arguments, on a ROS domain; it ends with the test."""
    yield from launcher(domain)


# Tests of nodes and pages: they wait for motions, messages and processes. One worker runs
# all files of a tuple: two arms at once that several processes balance would disturb each other
WAITING = {
    "arms": ("test/nodes/system/", "test/nodes/test_monitor_node.py"),
    "programs": (
        "test/cli/test_demo.py",
        "test/documents/test_identify_and_follow.py",
        "test/documents/test_readme.py",
        "test/viewer/test_viewer_node.py",
        "test/test_moveit_client.py",
        "test/test_launch.py",
    ),
    None: (
        "test/nodes/",
        "test/viewer/",
        "test/cli/test_rehearse.py",
        "test/cli/test_ros.py",
        "test/recordings/test_recorder_node.py",
    ),
}


def _waits(path):
    """Return whether a file, test or group of files waits more than it computes."""
    return path in WAITING or path.startswith(sum(WAITING.values(), ()))


class _Polite:
    """Lets tests that compute have the processors that nodes and pages leave."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item):
        """Give way before the first of them; the worker runs no other test after it."""
        if not _waits(item.nodeid) and os.nice(0) == 0:
            os.nice(15)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node):
    node.workerinput["polite"] = node.config.getvalue("dist") == "loadfile"


def pytest_configure(config):
    worker = getattr(config, "workerinput", {})
    if worker.get("polite"):
        config.pluginmanager.register(_Polite())
    if worker and config.args == ["test"]:
        # Each worker begins with other files, and reads what the others have compiled of the rest
        here = Path(__file__).parent
        parts = sorted(
            path
            for path in here.iterdir()
            if path.name[0] not in "._" and path.name != "conftest.py"
        )
        begin = int(worker["workerid"].removeprefix("gw")) * len(parts) // worker["workercount"]
        config.args = [str(part) for part in (*parts[begin:], *parts[:begin])]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: str(item.path))  # the same order in every worker


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Run file by file, what waits on one half of the workers, what computes on the other.

    The latter are polite: see above. The former help them in the end.

    The marks of pytest-xdist cannot do it: they change the names of tests, which pytest 9.2 does
    not let them.
    """
    from xdist.scheduler import LoadFileScheduling

    class Halves(LoadFileScheduling):
        def _split_scope(self, nodeid):
            found = (name for name, paths in WAITING.items() if name and nodeid.startswith(paths))
            return next(found, None) or super()._split_scope(nodeid)

        @cached_property
        def _mixed(self):
            return any(not _waits(scope) for scope in self.workqueue)  # asked for at the start

        def _computes(self, node):
            return self._mixed and int(node.gateway.id.removeprefix("gw")) % 2 == 1

        def _next(self, node):
            """Return what a worker is to run next, groups first; None where its half is done."""
            kind = not self._computes(node)
            own = [scope for scope in self.workqueue if _waits(scope) is kind]
            if own or self._computes(node):
                return min(own, key=lambda scope: scope not in WAITING, default=None)
            return next(iter(self.workqueue), None)

        def _assign_work_unit(self, node):
            if scope := self._next(node):
                self.workqueue.move_to_end(scope, last=False)
            super()._assign_work_unit(node)

        def _reschedule(self, node):
            if self.workqueue and self._next(node) is None and not node.shutting_down:
                node.shutdown()
            else:
                super()._reschedule(node)

    return Halves(config, log) if config.getvalue("dist") == "loadfile" else None
