"""Shared set-up: the helpers beside this file are importable, hypothesis repeats itself."""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))

# Seeded, so that a failure on one machine is a failure on every machine; no deadline, because a
# compiled kernel takes its time on first use. HYPOTHESIS_PROFILE=search looks for new examples.
settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=50)
settings.register_profile("search", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))

# Where nodes run in real time: of two systems at once, on two cores, neither keeps its pace
NODES_RUN = (
    "test/nodes/",
    "test/test_launch.py",
    "test/test_readme.py",
    "test/cli/test_demo.py",
    "test/benchmarks/test_nodes_benchmark.py",
)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Run all tests with nodes on one worker, and every other test where there is room.

    The marks of pytest-xdist cannot do it: they change the names of tests, which pytest 9.2 does
    not let them.
    """
    from xdist.scheduler import LoadScopeScheduling

    class OneSystemAtATime(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return "nodes" if nodeid.startswith(NODES_RUN) else nodeid

    return OneSystemAtATime(config, log) if config.getvalue("dist") == "loadscope" else None
