"""Tests in real time that fail where their nodes get no processor are tried again.

What is true of an arm that is commanded 250 times a second need not be of one that is commanded
when a busy machine comes round to it. A failure while the nodes had their time counts at once.
"""

import functools
import subprocess
import time
import warnings
from pathlib import Path

import pytest

from robot_dynamics.nodes.runtime.machine import longest_wait as most_grown  # noqa: F401  # for tests
from robot_dynamics.nodes.runtime.machine import waiting_times as waited

ATTEMPTS = 3
STARVED_S = 0.05
"""Time that a node waited for a processor, above which a failure may be due to that: 12 cycles."""


def children():
    """Processes that this one has started and that still run; none outside Linux."""
    paths = Path("/proc/self/task").glob("*/children")
    return [int(pid) for path in paths for pid in path.read_text().split()]


def counts(attempt, seconds):
    """Return whether a failure counts: of an attempt, from 1, in which a node waited that long."""
    if attempt == ATTEMPTS or seconds < STARVED_S:
        return True
    warnings.warn(f"repeated: a node waited {seconds:.2f} s for a processor", stacklevel=2)
    return False


class Watched:
    """Runs one process after the other; `seconds` is how long the last one waited."""

    seconds = 0.0

    def run(self, words, patience, **options):
        """Output and errors of a process that ends within `patience`, s, and its exit status."""
        begin = time.monotonic()
        with subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
        ) as process:
            while True:
                self.seconds = max(waited([process.pid]).values(), default=0.0)
                try:
                    output, errors = process.communicate(timeout=0.5)
                except subprocess.TimeoutExpired:
                    if time.monotonic() > begin + patience:
                        process.kill()
                        raise
                else:
                    status = process.returncode
                    return subprocess.CompletedProcess(words, status, output, errors)


def repeated_where_starved(watched):
    """Decorator of a test that runs a process of `watched` and writes to `tmp_path`."""

    def decorate(test):
        @functools.wraps(test)
        def again(tmp_path, **given):
            for attempt in range(1, ATTEMPTS + 1):
                folder = tmp_path / str(attempt)
                folder.mkdir()
                try:
                    return test(tmp_path=folder, **given)
                except (AssertionError, pytest.fail.Exception):  # the latter of a wait in vain
                    if counts(attempt, watched.seconds):
                        raise

        return again

    return decorate
