"""Entry point of node processes, which are forks of a process that has imported all nodes."""

import multiprocessing
import os
import sys
import threading


def run_node(name, words, environment, log):
    """Run an executable as if it had been started with these words, in this environment.

    Args:
        name: Its name.
        words: Its command line.
        environment: Its environment variables, all of them.
        log: File that takes what it prints.
    """
    threading.Thread(target=_end_with_the_run, daemon=True).start()
    os.environ.clear()
    os.environ.update(environment)
    with open(log, "a") as output:
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
    sys.argv = words
    from robot_dynamics.nodes import executables

    getattr(executables, name)()


def _end_with_the_run():
    """End once the process of the tests has, also where it was killed.

    Nodes left over would load the machine for ever, and move the arm of the next run.
    """
    multiprocessing.parent_process().join()
    os._exit(1)
