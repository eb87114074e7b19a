"""Process: nodes in one process, with an executor beside the loop, from start to a clean end."""

from __future__ import annotations

import logging
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.signals import SignalHandlerOptions

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.nodes.loop import Loop
from robot_dynamics.nodes.robot_node import RobotNode


class Process:
    """Nodes whose fast work runs in one loop, and all the rest in an executor in a second thread.

    Use it in a `with` statement; leaving it destroys the nodes and joins the threads.

    Args:
        nodes: Nodes of one context, in the order in which their fast work is to run.
        context: Their context.
        ended: When set, `begin` gives up and `run` returns: what a signal handler is to do.
    """

    def __init__(
        self,
        nodes: Sequence[RobotNode[Any]],
        context: Context,
        ended: threading.Event | None = None,
    ) -> None:
        self.nodes = tuple(nodes)
        self.context = context
        self.loop = Loop(context)
        self.failure: BaseException | None = None
        self._ended = ended or threading.Event()
        self._leaving = threading.Event()
        self._executor = SingleThreadedExecutor(context=context)
        self._thread = threading.Thread(target=self._spin, name="executor", daemon=True)
        self._loop_thread: threading.Thread | None = None

    def __enter__(self) -> Process:
        for node in self.nodes:
            self._executor.add_node(node)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.loop.stop()
        if self._loop_thread is not None:
            self._loop_thread.join()
        for node in self.nodes:
            node.begun = False  # a callback that waits for the loop waits no longer
        self._leaving.set()
        self._executor.wake()
        self._thread.join()
        self._executor.shutdown()
        for node in self.nodes:
            node.destroy_node()

    def begin(self) -> bool:
        """Wait for the robot and make all nodes ready; false if the process is to end instead."""
        for node in self.nodes:
            robot = node.wait_for_robot(self._ok)
            if robot is None:
                return False
            node.begin(robot)
            node.begun = True
            node.attach(self.loop)
            if node.NAME in self.loop.timings:
                node.watch(self.loop.timings[node.NAME])
            priority = getattr(node.parameters, "realtime_priority", 0)
            self.loop.priority = max(self.loop.priority, priority)
        return self._ok()

    def run(self) -> None:
        """Run the loop in this thread until the process is to end.

        Raises:
            BaseException: What a callback raised, if one did.
        """
        self.loop.run(until=self._ended.is_set)
        if self.failure is not None:
            raise self.failure

    def run_in_thread(self) -> None:
        """Run the loop in a thread of its own until this object is left."""
        self._loop_thread = threading.Thread(target=self._run_loop, name="loop", daemon=True)
        self._loop_thread.start()

    def _ok(self) -> bool:
        return bool(self.context.ok()) and self.failure is None and not self._ended.is_set()

    def _run_loop(self) -> None:
        try:
            self.loop.run()
        except BaseException as error:  # handed to the thread that asks
            self._fail(error)

    def _spin(self) -> None:
        try:
            # Left before the executor is shut down, which frees what a wait under way still uses
            while self.context.ok() and not self._leaving.is_set():
                self._executor.spin_once(timeout_sec=0.1)
        except BaseException as error:  # a fault in a callback ends the process, not only a thread
            self._fail(error)
            self.loop.stop()

    def _fail(self, error: BaseException) -> None:
        if self.context.ok():  # without a context, whatever is under way fails: not a fault
            self.failure = error


def run(kind: Callable[[], RobotNode[Any]], args: list[str] | None = None) -> int:
    """Run one node in this process until SIGINT or SIGTERM.

    Args:
        kind: Makes the node.
        args: Command line, as `rclpy.init` reads it.

    Returns:
        Exit status: 0 after a signal, 1 if the node could not start.
    """
    # Not rclpy's handlers: they shut the context down under calls of other threads. Ours have the
    # process end in order: loop, executor, node, context.
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
    context = rclpy.get_default_context()
    try:
        node = kind()
        with LogsOf(node), Process([node], context, ended) as process:
            if process.begin():
                try:
                    process.run()
                finally:
                    for name, timing in process.loop.timings.items():
                        print(f"{name}: {timing.report()}", file=sys.stderr)  # the log has gone
    except RobotDynamicsError as error:
        print(f"{getattr(kind, 'NAME', 'node')}: {error}", file=sys.stderr)
        return 1
    finally:
        rclpy.try_shutdown()
    return 0


class LogsOf(logging.Handler):
    """Sends what the package logs, such as warnings about a URDF, to the log of a node."""

    def __init__(self, node: RobotNode[Any]) -> None:
        super().__init__()
        self._logger = node.get_logger()
        self._source = logging.getLogger("robot_dynamics")

    def emit(self, record: logging.LogRecord) -> None:
        """Pass one record on."""
        text = record.getMessage()
        if record.levelno >= logging.ERROR:
            self._logger.error(text)
        elif record.levelno >= logging.WARNING:
            self._logger.warning(text)
        else:
            self._logger.info(text)

    def __enter__(self) -> LogsOf:
        self._source.addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        self._source.removeHandler(self)
