"""Nodes in processes of their own, watched from outside: what they print, use and hold."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from robot_dynamics.nodes.composition import own_domain

ROOT = Path(__file__).parents[2]

LOCAL = "ROS_AUTOMATIC_DISCOVERY_RANGE"

PATIENCE = 120.0
"""Time in which a node is up, or gone, on any machine, s."""


class SystemFailure(Exception):
    """A process did not do what a measurement needs."""


def environment(domain: int, log_folder: Path) -> dict[str, str]:
    """Environment of a process on a ROS domain of its own, that finds this checkout."""
    return {
        **os.environ,
        "ROS_DOMAIN_ID": str(domain),
        "ROS_LOG_DIR": str(log_folder),
        LOCAL: os.environ.get(LOCAL, "LOCALHOST"),
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
    }


class Process:
    """Python in a process of its own; what it prints is in `log`.

    Args:
        name: What to call it.
        command: Arguments of the interpreter.
        domain: ROS domain.
        folder: Where the log goes.
    """

    def __init__(self, name: str, command: Sequence[str], domain: int, folder: Path) -> None:
        self.name = name
        self._file = folder / f"{self.name}-{time.monotonic_ns()}.log"
        with self._file.open("w") as output:
            self._process = subprocess.Popen(
                [sys.executable, *command],
                env=environment(domain, folder),
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    @property
    def log(self) -> str:
        """All that it has printed."""
        return self._file.read_text()

    @property
    def running(self) -> bool:
        """Return whether it has not ended."""
        return self._process.poll() is None

    def wait_for_log(self, text: str) -> None:
        """Wait until it prints something.

        Raises:
            SystemFailure: If it ends before, or if that takes too long.
        """
        end = time.monotonic() + PATIENCE
        while text not in self.log:
            if not self.running or time.monotonic() > end:
                raise SystemFailure(f"{self.name} did not say '{text}':\n{self.log}")
            time.sleep(0.05)

    def wait(self, seconds: float = PATIENCE) -> None:
        """Wait until it has ended by itself."""
        self._process.wait(seconds)

    def stop(self) -> int:
        """End it as Ctrl-C does; its exit status."""
        if self.running:
            self._process.send_signal(signal.SIGINT)
        try:
            return self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()

    def cpu_time(self) -> float:
        """Processor time used so far, by all threads, s."""
        try:
            stat = Path(f"/proc/{self._process.pid}/stat").read_text()
        except OSError:
            return 0.0
        user, system = stat.rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> float:
        """Resident memory, MiB; 0 where the system does not tell."""
        try:
            pages = Path(f"/proc/{self._process.pid}/statm").read_text().split()[1]
        except OSError:
            return 0.0
        return int(pages) * os.sysconf("SC_PAGE_SIZE") / 2**20


def module(name: str, *arguments: str) -> list[str]:
    """Command of a module of this folder."""
    return ["-m", f"{__package__}.{name}", *arguments]


def ros_arguments(
    parameters: Mapping[str, Any], remapped: Mapping[str, str] | None = None
) -> list[str]:
    """Command line of a node."""
    words = ["--ros-args"]
    for name, value in parameters.items():
        words += ["-p", f"{name}:={value}"]
    for name, topic in (remapped or {}).items():
        words += ["-r", f"{name}:={topic}"]
    return words


class System:
    """Processes on one ROS domain. Built by `system`.

    Attributes:
        domain: ROS domain.
        folder: Where logs go.
    """

    def __init__(self, domain: int, folder: Path) -> None:
        self.domain, self.folder = domain, folder
        self.processes: dict[str, Process] = {}

    def start(
        self,
        node: str,
        parameters: Mapping[str, Any],
        remapped: Mapping[str, str] | None = None,
    ) -> Process:
        """Start one node of the package."""
        executable = f"from robot_dynamics.nodes.executables import {node} as run; run()"
        return self._start(node, ["-c", executable, *ros_arguments(parameters, remapped)])

    def start_module(self, name: str, *arguments: str) -> Process:
        """Start a module of this folder."""
        return self._start(name, module(name, *arguments))

    def _start(self, name: str, command: Sequence[str]) -> Process:
        process = Process(name, command, self.domain, self.folder)
        self.processes[name] = process
        return process

    def start_arm(self, common: Mapping[str, Any], **own: Mapping[str, Any]) -> None:
        """Start simulator, feedforward and controller, and wait until the arm is held.

        Args:
            common: Parameters of all three.
            own: Further parameters by node: simulator, feedforward, controller.
        """
        for name in ("simulator", "feedforward", "controller"):
            self.start(f"{name}_node", {**common, **own.get(name, {})})
        self.processes["feedforward_node"].wait_for_log("ready for trajectories")
        self.processes["controller_node"].wait_for_log("tracking the reference")

    def stop(self) -> None:
        """End all processes, the last one first."""
        for process in reversed(self.processes.values()):
            process.stop()


@contextmanager
def system(folder: Path, domain: int | None = None) -> Iterator[System]:
    """Processes on one ROS domain, which end with the block.

    Args:
        folder: Where logs go.
        domain: ROS domain; by default one of its own.
    """
    folder.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault(LOCAL, "LOCALHOST")
    os.environ.setdefault("ROS_LOG_DIR", str(folder))
    domain = own_domain() if domain is None else domain
    started = System(domain, folder)
    try:
        yield started
    finally:
        started.stop()


def leave_nothing_behind() -> None:
    """Have SIGTERM end this process as Ctrl-C does, so that what it has started ends too."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


def wait_until(condition: Callable[[], object], what: str, patience: float = PATIENCE) -> None:
    """Wait until a condition holds.

    Raises:
        SystemFailure: If that takes too long.
    """
    end = time.monotonic() + patience
    while not condition():
        if time.monotonic() > end:
            raise SystemFailure(f"waited {patience:g} s for {what}")
        time.sleep(0.01)
