"""Process: run nodes in one process, with a loop and an executor, from start to clean end."""

from __future__ import annotations

import faulthandler
import logging
import signal
import sys
import threading
from ast import literal_eval
from collections.abc import Callable, Sequence
from contextlib import suppress
from time import monotonic, sleep
from types import TracebackType
from typing import Any

import rclpy
from rclpy.context import Context
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.signals import SignalHandlerOptions
from rclpy.utilities import remove_ros_args

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.foundation.flag import Flag
from robot_dynamics.nodes.ros.transport import init_rclpy, reason_of
from robot_dynamics.nodes.runtime.loop import Loop
from robot_dynamics.nodes.runtime.robot_node import RobotNode
from robot_dynamics.nodes.runtime.timers import SlowExecutor
from robot_dynamics.version import SITE

POLL_PERIOD_S = 0.1
"""Period of checking whether the process is to end, s; each check delays the loop."""

SPIN_TIMEOUT_S = 10.0
"""Longest wait of an idle executor, s: each wake takes milliseconds of the interpreter."""

DESTROY_TIMEOUT_S = 3.0
"""Time limit for destroying the nodes of a process that ends, s.

Fast DDS 2.14 in the wheels of ROS 2 may spin for ever if another node leaves at that moment, and
holds the interpreter's lock. By then arms are at rest and all logs are written."""


class Process:
    """Nodes whose fast work runs in one loop.

    Callbacks run in an executor in a second thread and timers in a third one, never at the same
    time. Use it in a `with` statement; leaving it destroys the nodes and joins the threads.

    Args:
        nodes: Nodes of one context, in the order in which their fast work runs.
        context: Their context.
        ended: Flag at which `start` gives up and `wait` returns; signal handlers set it.
        destroy_timeout: Time limit for destroying the nodes, s; beyond it this process prints its
            stacks and ends with status 1.
    """

    def __init__(
        self,
        nodes: Sequence[RobotNode[Any]],
        context: Context,
        ended: Flag | None = None,
        destroy_timeout: float | None = None,
    ) -> None:
        self.nodes = tuple(nodes)
        self.context = context
        self.loop = Loop(context)
        self.failure: BaseException | None = None
        self._ended = ended or Flag()
        self._destroy_timeout = destroy_timeout
        # A lambda: rclpy prints a traceback for a method whose object is gone
        context.on_shutdown(lambda: self._ended.set())  # noqa: PLW0108
        self._leaving = threading.Event()
        self._executor = SlowExecutor(context)
        self._threads = [
            threading.Thread(target=self._spin, name="executor", daemon=True),
            threading.Thread(target=self._run_timers, name="timers", daemon=True),
        ]
        self._loop_thread: threading.Thread | None = None

    def __enter__(self) -> Process:
        for node in self.nodes:
            node.loop = self.loop
            parameters = node.parameters
            self.loop.priority = max(
                self.loop.priority, getattr(parameters, "realtime_priority", 0)
            )
            self.loop.cpus = self.loop.cpus or getattr(parameters, "cpu_affinity", ())
            self.loop.lock_memory |= getattr(parameters, "lock_memory", False)
            self.loop.collect_garbage &= getattr(parameters, "collect_garbage", True)
            self._executor.add_node(node)
        if self.loop.priority or self.loop.cpus or self.loop.lock_memory:
            self.loop.on_scheduled = self._log_scheduling
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for node in self.nodes:
            node.ends = True
        for node in reversed(self.nodes):  # controllers come to rest before the simulator stops
            node.shut_down()
        self.loop.stop()
        if self._loop_thread is not None:
            self._loop_thread.join()
        self._leaving.set()
        self._executor.create_task(lambda: None)  # ends its wait; waking does not
        for thread in self._threads:
            thread.join()
        self._executor.shutdown()
        if self._destroy_timeout is not None:  # a thread that needs no interpreter
            faulthandler.dump_traceback_later(self._destroy_timeout, exit=True)
        for node in self.nodes:
            node.destroy_node()
        if self._destroy_timeout is not None:
            faulthandler.cancel_dump_traceback_later()

    def start(self) -> bool:
        """Start the loop, and every node with `autostart` as soon as it has a robot.

        Returns:
            False if the process is to end instead.

        Raises:
            RobotDynamicsError: If a node cannot start.
        """
        self._loop_thread = threading.Thread(target=self._run_loop, name="loop", daemon=True)
        self._loop_thread.start()
        waiting = [node for node in self.nodes if node.parameters.autostart]
        while waiting and self._ok():
            for node in [node for node in waiting if node.has_robot]:
                # Callbacks wait until the node is configured
                with self._executor.busy:
                    node.start_up()
                waiting.remove(node)
            if waiting:
                sleep(POLL_PERIOD_S)
        return self._ok()

    def wait(self) -> None:
        """Wait until the process is to end.

        Raises:
            BaseException: The error of a callback, if any.
        """
        while not self._ended.is_set():
            sleep(POLL_PERIOD_S)
        if self.failure is not None:
            raise self.failure

    def _ok(self) -> bool:
        return bool(self.context.ok()) and self.failure is None and not self._ended.is_set()

    def _run_loop(self) -> None:
        try:
            self.loop.run()
        except BaseException as error:  # raised by `wait`
            self._fail(error)

    def _spin(self) -> None:
        try:
            # Left before the executor is shut down, which frees what a pending wait uses
            with self._executor.busy:
                while self.context.ok() and not self._leaving.is_set():
                    try:
                        self._executor.spin_once(timeout_sec=SPIN_TIMEOUT_S)
                    except Exception as error:  # of a request that rclpy cannot read, for example
                        self.nodes[0].refuse("executor", error)
        except BaseException as error:  # ends the process, not only this thread
            self._fail(error)

    def _run_timers(self) -> None:
        try:
            left = 0.0
            while self.context.ok() and not self._leaving.wait(left):
                now = monotonic()
                with self._executor.busy:
                    timers = [(node, timer) for node in self.nodes for timer in node.loop_timers]
                    for node, timer in timers:
                        try:
                            timer.run_if_due(now)
                        except Exception as error:
                            node.refuse("timer", error)
                due = min((timer.due for _, timer in timers), default=now + POLL_PERIOD_S)
                left = min(max(due - monotonic(), 0.0), POLL_PERIOD_S)  # new ones may appear
        except BaseException as error:
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        if self.context.ok():  # calls fail without a context: no fault
            self.failure = error
        self._ended.set()

    def _log_scheduling(self, scheduling: str) -> None:
        log = self.nodes[0].get_logger()
        if "refused" in scheduling or "only supported" in scheduling:
            log.warning(scheduling)
        else:
            log.info(scheduling)


def run_alone(kind: type[RobotNode[Any]]) -> int:
    """Run a node in this process, whose command line has --help and ROS arguments.

    Returns:
        Exit status: 0 after --help, 2 if an argument is unknown, else that of `run`.
    """
    if {"-h", "--help"}.intersection(sys.argv[1:]):
        with suppress(BrokenPipeError):  # the reader has gone: `controller_node --help | head`
            print(usage(kind), flush=True)
        return 0
    unknown = own_arguments(kind.NAME)
    return _refuse(kind.NAME, unknown) if unknown else run(kind)


def run(
    *kinds: Callable[[], RobotNode[Any]],
    prepare: Callable[[list[RobotNode[Any]]], None] = lambda nodes: None,
) -> int:
    """Run nodes in this process until SIGINT or SIGTERM.

    Args:
        kinds: Functions that create a node each, in the order in which their fast work runs.
        prepare: Called with the nodes before they run.

    Returns:
        Exit status: 0 after a signal, 1 if a node could not start or a ROS argument is wrong.
    """
    # Not rclpy's handlers, which shut the context down under calls of other threads. These end the
    # process in order: loop, executor, node, context.
    name = getattr(kinds[0], "NAME", "nodes")
    ended = Flag()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    try:
        init_rclpy(signal_handler_options=SignalHandlerOptions.NO)
    except RobotDynamicsError as error:
        return _refuse_ros(name, str(error))
    context = rclpy.get_default_context()
    try:
        nodes = [kind() for kind in kinds]
        prepare(nodes)
        with NodeLogHandler(nodes), Process(nodes, context, ended, DESTROY_TIMEOUT_S) as process:
            try:
                if process.start():
                    process.wait()
            finally:
                for task, timing in process.loop.timings.items():
                    print(f"{task}: {timing.report()}", file=sys.stderr)  # the log is gone
    except RobotDynamicsError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 1
    finally:
        rclpy.try_shutdown()
    return 0


def own_arguments(name: str) -> list[str]:
    """Return the arguments of the command line that are not for ROS.

    Args:
        name: Executable, for messages.

    Raises:
        SystemExit: If a ROS argument is wrong; the reason is printed.
    """
    try:
        return list(remove_ros_args(sys.argv)[1:])
    except rclpy_implementation.UnknownROSArgsError as error:
        sys.exit(_refuse(name, literal_eval(str(error))))
    except rclpy_implementation.RCLError as error:
        sys.exit(_refuse_ros(name, reason_of(error)))


def usage(kind: type[RobotNode[Any]]) -> str:
    """Return the text of `--help`: the first line of the module, and where parameters are."""
    name, purpose = kind.NAME, sys.modules[kind.__module__].__doc__ or ""
    return (
        f"{purpose.splitlines()[0]}\n\n"
        f"usage: {name} --ros-args -p NAME:=VALUE ... [--params-file FILE] [-r FROM:=TO ...]\n"
        f"  as:  {name} --ros-args -p urdf_path:=panda\n\n"
        f"Parameters and topics: {SITE}/nodes.html\n"
        f"While it runs: 'ros2 param describe /{name} NAME'"
    )


def _refuse(name: str, unknown: Sequence[str]) -> int:
    """Print the unknown arguments of a node; return the exit status."""
    arguments = "argument" if len(unknown) == 1 else "arguments"
    print(
        f"{name}: unknown {arguments} {', '.join(map(repr, unknown))}; parameters go behind "
        "--ros-args -p, as in '--ros-args -p urdf_path:=panda'; --help says more",
        file=sys.stderr,
    )
    return 2


def _refuse_ros(name: str, reason: str) -> int:
    """Print why rcl does not start; return the exit status."""
    print(f"{name}: {reason}", file=sys.stderr)
    return 1


class NodeLogHandler(logging.Handler):
    """Sends the logs of the package to the log of a node; warnings about a URDF only once.

    Args:
        nodes: The nodes of this process, each of which reads the URDF; the first one logs.
    """

    def __init__(self, nodes: Sequence[RobotNode[Any]]) -> None:
        super().__init__()
        self._nodes = nodes
        self._logger = nodes[0].get_logger()
        self._source = logging.getLogger("robot_dynamics")
        self._logged: set[str] = set()

    def _is_repetition(self, record: logging.LogRecord, text: str) -> bool:
        if not record.name.startswith("robot_dynamics.robot"):
            return False
        by_others = not self._nodes[0].parameters.log_urdf_warnings
        if text in self._logged or (by_others and not all(n.configured for n in self._nodes)):
            return True
        self._logged.add(text)
        return False

    def emit(self, record: logging.LogRecord) -> None:
        """Log one record."""
        text = record.getMessage()
        if self._is_repetition(record, text):
            return
        if record.levelno >= logging.ERROR:
            self._logger.error(text)
        elif record.levelno >= logging.WARNING:
            self._logger.warning(text)
        else:
            self._logger.info(text)

    def __enter__(self) -> NodeLogHandler:
        self._source.addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        self._source.removeHandler(self)
