"""Nodes in separate processes beside those of a verb, so that they do not slow its loop."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO, NoReturn

from robot_dynamics.errors import RobotDynamicsError

PATIENCE_S = 60.0
"""Time limit for serving a page, s; importing and compiling take most of it."""

ENDING_S = 10.0
"""Time within which a subprocess must end, s."""

LOCAL = "ROS_AUTOMATIC_DISCOVERY_RANGE"


@contextmanager
def node_subprocess(
    node: str,
    domain: int,
    environment: Mapping[str, str] | None = None,
    *,
    arguments: Sequence[str] = (),
    log: IO[bytes] | None = None,
    **parameters: object,
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a node in a process of its own.

    Args:
        node: Executable, such as "viewer_node".
        domain: ROS domain.
        environment: Further variables of its environment, which other users cannot read.
        arguments: Arguments behind `--ros-args`, in front of the parameters.
        log: Where the output of the node goes; by default to that of the verb.
        parameters: Parameters of the node.

    The process ends with the verb, after Ctrl-C, SIGTERM and SIGKILL too.
    """
    given = [word for key, value in parameters.items() for word in ("-p", f"{key}:={value}")]
    code = (
        "from robot_dynamics.cli.subprocesses import end_with_verb; end_with_verb(); "
        f"from robot_dynamics.nodes.executables import {node}; {node}()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, "--ros-args", "--log-level", "warn", *arguments, *given],
        env={
            LOCAL: "LOCALHOST",
            **os.environ,
            "ROS_DOMAIN_ID": str(domain),
            **(environment or {}),
        },
        stdout=log,
        stderr=log,
        stdin=subprocess.PIPE,  # never written to; see end_with_verb
        start_new_session=True,  # Ctrl-C goes to the verb, which ends the subprocess
    )
    before = signal.signal(signal.SIGTERM, _leave)
    try:
        yield process
    finally:
        signal.signal(signal.SIGTERM, before)
        process.terminate()
        try:
            process.wait(ENDING_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def end_with_verb() -> None:
    """End this process when the verb that started it is gone.

    A killed verb cannot end its subprocesses, but the system closes their standard input.
    """

    def watch() -> None:
        sys.stdin.buffer.read()
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, name="verb", daemon=True).start()


def _leave(number: int, _: object) -> NoReturn:
    """Leave by an exception, so that subprocesses are ended on the way out."""
    sys.exit(128 + number)


def wait_for_page(process: subprocess.Popen[bytes], host: str, port: int) -> None:
    """Wait until a page is served.

    Raises:
        RobotDynamicsError: If its process ends instead, or it takes too long.
    """
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end and process.poll() is None:
        try:
            socket.create_connection((host, port), timeout=1.0).close()
            return
        except OSError:
            time.sleep(0.1)
    why = "takes too long" if process.poll() is None else "has ended; its last line says why"
    raise RobotDynamicsError(f"the page of viewer_node: {why}")
