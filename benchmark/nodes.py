"""How well the nodes keep a kilohertz, and how fast they answer, beside the bare machine.

    python -m benchmark --nodes            some minutes; rewrites docs/nodes-benchmark.md
    python -m benchmark.nodes --quick      a look, half a minute; writes nothing

Everything is measured beside what the machine itself does in the same minute:
nodes beside a timer that only sleeps, commands beside a bare echo of the same
messages.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from benchmark import nodes_report
from benchmark.nodes_probe import GAIN, JOINT, WARM_UP
from benchmark.nodes_system import (
    Process,
    System,
    SystemFailure,
    leave_nothing_behind,
    system,
)
from robot_dynamics import read_urdf
from robot_dynamics.robot import find_robot

NODES = ("simulator_node", "feedforward_node", "controller_node")

SETTLE = 3.0
"""Time that nodes have to settle before they are measured, s."""

PRIORITY = 80
"""Real-time priority to try, of SCHED_FIFO."""


@dataclass(frozen=True)
class Effort:
    """How long to measure, s.

    Attributes:
        separate: Three processes at 1 kHz.
        control: Timers as busy as they.
        latency: States and their answers.
        composed: One process at 2 kHz.
    """

    separate: float
    control: float
    latency: float
    composed: float


FULL = Effort(separate=60.0, control=20.0, latency=30.0, composed=20.0)
QUICK = Effort(separate=5.0, control=3.0, latency=5.0, composed=4.0)


@dataclass
class Results:
    """What a run has measured; times in s, rates in Hz, memory in MiB.

    Attributes:
        robot: Name of the robot.
        seconds: Length of each part.
        loads: Load average before each part.
        stolen: Before all, what a thread that only computes lost: to other processes, and to the
            host of a virtual machine, as part of the time; the longest gap, s.
        nodes: Of three processes: rate held, cycles, missed, jitter, processor time, memory.
        timer: A timer beside them.
        busy_timers: Timers as busy as the nodes, without messages.
        published: States of the latency part.
        delays: From joint_states to the answer, by who answers, s.
        composed: One process, by scheduling.
        composed_timers: The timers beside.
    """

    robot: str
    seconds: Effort
    loads: dict[str, float] = field(default_factory=dict)
    stolen: tuple[float, float, float] = (0.0, 0.0, 0.0)
    nodes: dict[str, dict[str, float]] = field(default_factory=dict)
    timer: dict[str, Any] = field(default_factory=dict)
    busy_timers: list[dict[str, Any]] = field(default_factory=list)
    published: int = 0
    delays: dict[str, np.ndarray] = field(default_factory=dict)
    composed: dict[str, dict[str, Any]] = field(default_factory=dict)
    composed_timers: dict[str, dict[str, Any]] = field(default_factory=dict)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and write the page."""
    options = _parse(arguments)
    effort = QUICK if options.quick else FULL
    leave_nothing_behind()
    console = Console()
    try:
        with tempfile.TemporaryDirectory() as folder, _bar(console) as bar:
            results = measure(options.robot, effort, options.logs or Path(folder), bar)
    except SystemFailure as failure:
        console.print(str(failure), markup=False)
        return 1
    nodes_report.print_tables(results, console)
    output = options.output or (None if options.quick else Path(__file__).parents[1] / "docs")
    if output is not None:
        for path in nodes_report.write(results, output):
            console.print(f"wrote {path}")
    return 0


def measure(robot: str, effort: Effort, folder: Path, bar: Progress) -> Results:
    """Run every part."""
    results = Results(robot, effort)
    results.stolen = stolen(2.0)

    @contextmanager
    def part(name: str, seconds: float) -> Iterator[None]:
        results.loads[name] = os.getloadavg()[0]
        task = bar.add_task(name, total=seconds)
        bar.refresh()
        yield
        bar.update(task, completed=seconds)
        bar.refresh()

    with part("three processes", effort.separate):
        separate(results, folder)
    with part("timers as busy", effort.control):
        busy = [node["cpu"] for node in results.nodes.values()]
        results.busy_timers = timers(1000.0, effort.control, busy, folder)
    with part("latency", effort.latency):
        latency(results, folder)
    for name, priority in (("ordinary", 0), ("real-time", PRIORITY)):
        with part(f"one process, {name}", effort.composed):
            one_process(results, priority, folder)
    return results


def stolen(seconds: float) -> tuple[float, float, float]:
    """What a thread that only computes loses.

    Returns:
        Part of the time lost to other processes, part lost to nobody that this system knows of
        (the host of a virtual machine), and the longest gap, s.
    """
    waited = _waited()
    begin = last = time.monotonic_ns()
    end, lost, longest = begin + round(seconds * 1e9), 0, 0
    while last < end:
        now = time.monotonic_ns()
        gap = now - last
        if gap > 50_000:
            lost += gap
            longest = max(longest, gap)
        last = now
    known = _waited() - waited
    return known / seconds, max(0.0, 1e-9 * lost - known) / seconds, 1e-9 * longest


def _waited() -> float:
    """Time that this thread has waited for a processor, s."""
    try:
        return 1e-9 * int(Path("/proc/thread-self/schedstat").read_text().split()[1])
    except OSError:
        return 0.0


def separate(results: Results, folder: Path) -> None:
    """Three processes at 1 kHz, with a timer beside them."""
    seconds = results.seconds.separate
    with system(folder) as running:
        running.start_arm({"urdf_path": results.robot, "rate": 1000.0})
        with _diagnostics(running) as heard:
            time.sleep(SETTLE)
            timer = running.start_module("benchmark.nodes_timer", ["1000", str(seconds)])
            heard.clear()
            begin = time.monotonic()
            before = {name: running.processes[name].cpu_time() for name in NODES}
            time.sleep(seconds)
            elapsed = time.monotonic() - begin
            used = {name: running.processes[name].cpu_time() - before[name] for name in NODES}
            memory = {name: running.processes[name].memory() for name in NODES}
            reports = {name: list(heard[name]) for name in NODES}
        timer.wait()
    for name in NODES:
        if not reports[name]:
            raise SystemFailure(f"{name} did not report on /diagnostics")
        values = defaultdict(list)
        for report in reports[name]:
            for key, value in report.items():
                values[key].append(value)
        results.nodes[name] = {
            "held": float(np.mean(values["rate held (Hz)"])),
            "missed": float(np.sum(values["cycles missed"])),
            "median": 1e-6 * float(np.median(values["jitter, median (us)"])),
            "p99": 1e-6 * float(np.median(values["jitter, 99 % (us)"])),
            "worst": 1e-6 * float(np.max(values["jitter, worst (us)"])),
            "busy": 1e-6 * float(np.median(values["cycle, median (us)"])),
            "cpu": used[name] / elapsed,
            "memory": memory[name],
        }
    results.timer = _json(timer)


@contextmanager
def _diagnostics(running: System) -> Iterator[dict[str, list[dict[str, float]]]]:
    """Numbers that nodes report of themselves, by node, as long as the block lasts."""
    import rclpy
    from diagnostic_msgs.msg import DiagnosticArray
    from rclpy.executors import SingleThreadedExecutor

    heard: dict[str, list[dict[str, float]]] = defaultdict(list)

    def keep(msg: DiagnosticArray) -> None:
        for status in msg.status:
            values = {}
            for entry in status.values:
                try:
                    values[entry.key] = float(entry.value)
                except ValueError:
                    continue
            heard[status.name].append(values)

    context = rclpy.Context()
    rclpy.init(context=context, domain_id=running.domain)
    node = rclpy.create_node("benchmark", context=context)
    node.create_subscription(DiagnosticArray, "/diagnostics", keep, 10)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    ended = threading.Event()

    def spin() -> None:
        while not ended.is_set():
            executor.spin_once(timeout_sec=0.5)

    thread = threading.Thread(target=spin, daemon=True)
    thread.start()
    try:
        yield heard
    finally:
        ended.set()
        thread.join()
        executor.shutdown()
        node.destroy_node()
        context.try_shutdown()


def timers(
    rate: float, seconds: float, busy: Sequence[float], folder: Path
) -> list[dict[str, Any]]:
    """Timers side by side, each computing for a part of its period."""
    processes = [
        Process("benchmark.nodes_timer", [str(rate), str(seconds), str(part)], 0, folder)
        for part in busy
    ]
    try:
        for process in processes:
            process.wait(seconds + 60.0)
    finally:
        for process in processes:
            process.stop()
    return [_json(process) for process in processes]


def latency(results: Results, folder: Path) -> None:
    """From a published state to the command that answers it, beside a bare echo."""
    seconds = results.seconds.latency
    joint = read_urdf(find_robot(results.robot)).joint_names[JOINT]
    with system(folder) as running:
        common = {"urdf_path": results.robot, "rate": 1000.0}
        running.start("feedforward_node", common)
        running.start("controller_node", {**common, f"gains.{joint}.p": GAIN})
        echo = running.start_module("benchmark.nodes_echo")
        echo.wait_for_log("echo is ready")
        probe = running.start_module("benchmark.nodes_probe", [results.robot, "1000", str(seconds)])
        probe.wait(seconds + WARM_UP + 60.0)
    measured = _json(probe)
    results.published = measured["published"]
    results.delays = {
        who: 1e-9 * np.array(measured[who], dtype=float) for who in ("command", "echo")
    }
    if not len(results.delays["command"]):
        raise SystemFailure("controller_node answered no state in a way that could be told")


def one_process(results: Results, priority: int, folder: Path) -> None:
    """All nodes in one process at 2 kHz, with a timer beside them."""
    seconds = results.seconds.composed
    child = Process(
        "benchmark.nodes_composed",
        [results.robot, "2000", str(seconds), str(priority)],
        0,
        folder,
    )
    try:
        child.wait_for_log("composed is ready")
        timer = timers(2000.0, seconds, [0.0], folder)[0]
        child.wait(seconds + 60.0)
    finally:
        child.stop()
    measured = _json(child)
    scheduling = measured["scheduling"]
    if scheduling not in results.composed:  # refused, it is the same again
        results.composed[scheduling] = measured
        results.composed_timers[scheduling] = timer


def _json(process: Process) -> dict[str, Any]:
    for line in process.log.splitlines():
        if line.startswith("{"):
            return json.loads(line)
    raise SystemFailure(f"{process.name} printed no result:\n{process.log[-2000:]}")


def _bar(console: Console) -> Progress:
    columns = (TextColumn("{task.description:<24}"), BarColumn(), TimeElapsedColumn())
    # Drawn between parts only: a thread that draws takes time from what is timed
    return Progress(*columns, console=console, auto_refresh=False)


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmark --nodes",
        description="How well the nodes keep a kilohertz, beside the bare machine.",
    )
    parser.add_argument("--quick", action="store_true", help="a look; writes nothing by default")
    parser.add_argument("--robot", default="panda", help="a known robot, or a URDF")
    parser.add_argument(
        "--output", type=Path, metavar="FOLDER", help="where to write the page; by default docs"
    )
    parser.add_argument("--logs", type=Path, help="where to leave what the nodes print")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
