"""Entry point of node processes, which are forks of a process that has imported all nodes."""

import ctypes
import os
import signal
import sys
from contextlib import suppress

PR_SET_PDEATHSIG = 1


def run_node(name, words, environment, log):
    """Run an executable as if it had been started with these words, in this environment.

    Args:
        name: Its name.
        words: Its command line.
        environment: Its environment variables, all of them.
        log: File that takes what it prints.
    """
    # A run that is killed takes its nodes with it: left over, they would load the machine for ever
    with suppress(AttributeError):  # outside Linux
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    os.environ.clear()
    os.environ.update(environment)
    with open(log, "a") as output:
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
    sys.argv = words
    from robot_dynamics.nodes import executables

    getattr(executables, name)()
