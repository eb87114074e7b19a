"""Shared set-up: the modules in `helpers` are importable, hypothesis repeats itself."""

import gc
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent / "helpers"))

from browser import browser, free_port  # noqa: F401  # fixtures
from launched import launcher
from ros_system import free_domain

# Seeded, so that a failure on one machine is a failure on every machine; no deadline, because a
# compiled kernel takes its time on first use. HYPOTHESIS_PROFILE=search looks for new examples.
settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=20)
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


# An arm that several processes balance in real time: two of them at once disturb each other
REAL_TIME = (
    "test/nodes/system/",
    "test/nodes/test_monitor_node.py",
    "test/cli/test_demo.py",
    "test/documents/test_identify_and_follow.py",
    "test/documents/test_readme.py",
    "test/viewer/test_viewer_node.py",
    "test/test_moveit_client.py",
)

# Tests of nodes, pages and commands: they wait for motions, messages and processes
WAITING = ("real time", "test/nodes/", "test/viewer/", "test/cli/", "test/recordings/")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Run file by file where there is room, but tests in real time on one worker.

    Files that wait and files that compute take turns: the former leave processors to the latter,
    of which more at once would keep the nodes from theirs.

    The marks of pytest-xdist cannot do it: they change the names of tests, which pytest 9.2 does
    not let them.
    """
    from xdist.scheduler import LoadFileScheduling

    class OneArmAtATime(LoadFileScheduling):
        def _split_scope(self, nodeid):
            return "real time" if nodeid.startswith(REAL_TIME) else super()._split_scope(nodeid)

        waits = False

        def _assign_work_unit(self, node):
            self.waits = not self.waits
            for scope in self.workqueue:
                if scope.startswith(WAITING) is self.waits:
                    self.workqueue.move_to_end(scope, last=False)
                    break
            super()._assign_work_unit(node)

    return OneArmAtATime(config, log) if config.getvalue("dist") == "loadfile" else None
