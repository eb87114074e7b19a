"""How well the nodes keep a kilohertz, and how fast they answer, beside the bare machine.

    python -m benchmark --nodes            some minutes; rewrites benchmark/records/nodes.md
    python -m benchmark.nodes --quick      a look, half a minute; writes nothing

Everything is measured beside what the machine itself does in the same minute:
nodes beside a timer that only sleeps, commands beside a bare echo of the same
messages.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import Progress

from benchmark.nodes import nodes_report
from benchmark.nodes.latency_probe import ANSWERS, COUNTING
from benchmark.nodes.listener import diagnostics
from benchmark.nodes.lost_time import lost_time
from benchmark.nodes.node_results import FULL, NODES, QUICK, Durations, NodeResults
from benchmark.nodes.processes import (
    Process,
    SystemFailure,
    leave_nothing_behind,
    module,
    system,
)
from benchmark.progress_bar import progress_bar, step
from benchmark.record import RECORDS

SETTLE = 3.0
"""Time that nodes have to settle before they are measured, s."""

PRIORITY = 80
"""Real-time priority to try, of SCHED_FIFO."""

WHO_ANSWERS = ("controller_node", "bare_echo", "bytes_echo")
"""The processes behind `ANSWERS`."""

PAGE_PORT = 18411
"""Port of the page that is watched."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and write the page."""
    options = _parse(arguments)
    durations = QUICK if options.quick else FULL
    leave_nothing_behind()
    console = Console()
    try:
        with tempfile.TemporaryDirectory() as folder, progress_bar(console) as bar:
            results = measure(options.robot, durations, options.logs or Path(folder), bar)
    except SystemFailure as failure:
        console.print(str(failure), markup=False)
        return 1
    nodes_report.print_tables(results, console)
    output = options.output or (None if options.quick else RECORDS)
    if output is not None:
        for path in nodes_report.write(results, output):
            console.print(f"wrote {path}")
    return 0


def measure(robot: str, durations: Durations, folder: Path, bar: Progress) -> NodeResults:
    """Run every part."""
    results = NodeResults(robot, durations)
    results.stolen = lost_time(2.0)

    @contextmanager
    def part(name: str, seconds: float) -> Iterator[None]:
        results.loads[name] = os.getloadavg()[0]
        with step(bar, name, seconds):
            yield

    with part("three processes", durations.separate):
        separate(results, folder)
    if find_spec("viser"):
        with part("with and without a viewer", 2.0 * durations.watched):
            watched(results, folder)
    with part("timers as busy", durations.control):
        busy = [node["cpu"] for node in results.nodes.values()]
        results.busy_timers = timers(1000.0, durations.control, busy, folder)
    with part("latency", durations.latency):
        latency(results, folder)
    for name, priority in (("ordinary", 0), ("real-time", PRIORITY)):
        with part(f"one process, {name}", durations.composed):
            one_process(results, 1000.0, priority, folder)
    return results


def separate(results: NodeResults, folder: Path) -> None:
    """Three processes at 1 kHz, with a timer beside them."""
    seconds = results.seconds.separate
    with system(folder) as running:
        running.start_arm({"urdf_path": results.robot, "rate": 1000.0})
        with diagnostics(running.domain) as heard:
            time.sleep(SETTLE)
            timer = running.start_module("bare_timer", "1000", str(seconds))
            heard.clear()
            begin = time.monotonic()
            before = {name: running.processes[name].cpu_time() for name in NODES}
            time.sleep(seconds)
            elapsed = time.monotonic() - begin
            used = {name: running.processes[name].cpu_time() - before[name] for name in NODES}
            memory = {name: running.processes[name].memory() for name in NODES}
            reports = _reports(heard)
        timer.wait()
    for name, values in reports.items():
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


def watched(results: NodeResults, folder: Path) -> None:
    """Three processes at 1 kHz, first without, then with a viewer."""
    seconds = results.seconds.watched
    with system(folder) as running:
        running.start_arm({"urdf_path": results.robot, "rate": 1000.0})
        with diagnostics(running.domain) as heard:
            for how in ("without", "with"):
                if how == "with":
                    page = {"urdf_path": results.robot, "port": PAGE_PORT, "host": "127.0.0.1"}
                    viewer = running.start("viewer_node", page)
                    viewer.wait_for_log("this machine only")
                    address = viewer.log.partition("viewer: ")[2].split()[0]
                    reader = running.start_module("page_reader", address)
                    reader.wait_for_log("page is watched")
                time.sleep(SETTLE)
                heard.clear()
                time.sleep(seconds)
                results.watched[how] = {
                    name: {
                        "held": float(np.mean(values["rate held (Hz)"])),
                        "missed": float(np.sum(values["cycles missed"])),
                    }
                    for name, values in _reports(heard).items()
                }


def _reports(heard: Mapping[str, list[dict[str, float]]]) -> dict[str, dict[str, list[float]]]:
    """What every node has reported, by node and by what it is.

    Raises:
        SystemFailure: If one has not.
    """
    found: dict[str, dict[str, list[float]]] = {}
    for name in NODES:
        values = defaultdict(list)
        for report in list(heard[name]):
            for key, value in report.items():
                values[key].append(value)
        if not values:
            raise SystemFailure(f"{name} did not report on /diagnostics")
        found[name] = values
    return found


def timers(
    rate: float, seconds: float, busy: Sequence[float], folder: Path
) -> list[dict[str, Any]]:
    """Timers side by side, each computing for a part of its period."""
    processes = [
        Process("timer", module("bare_timer", str(rate), str(seconds), str(part)), 0, folder)
        for part in busy
    ]
    try:
        for process in processes:
            process.wait(seconds + 60.0)
    finally:
        for process in processes:
            process.stop()
    return [_json(process) for process in processes]


def latency(results: NodeResults, folder: Path) -> None:
    """From a published state to the command that answers it, beside a bare echo."""
    seconds = results.seconds.latency
    with system(folder) as running:
        common = {"urdf_path": results.robot, "rate": 1000.0}
        running.start("feedforward_node", common)
        running.start("controller_node", common)
        echo = running.start_module("bare_echo")
        echo.wait_for_log("echo is ready")
        running.start_module("bytes_echo").wait_for_log("echo of bytes is ready")
        probe = running.start_module("latency_probe", results.robot, "1000", str(seconds))
        probe.wait_for_log(COUNTING)
        answering = [running.processes[name] for name in WHO_ANSWERS]
        begin, before = time.monotonic(), [process.cpu_time() for process in answering]
        probe.wait(seconds + 60.0)
        elapsed = time.monotonic() - begin
        used = [process.cpu_time() - was for process, was in zip(answering, before, strict=True)]
    results.answering_cpu = {who: x / elapsed for who, x in zip(ANSWERS, used, strict=True)}
    measured = _json(probe)
    results.published = measured["published"]
    results.delays = {who: 1e-9 * np.array(measured[who], dtype=float) for who in ANSWERS}
    if not len(results.delays["command"]):
        raise SystemFailure("controller_node answered no state in a way that could be told")


def one_process(results: NodeResults, rate: float, priority: int, folder: Path) -> None:
    """All nodes in one process, with a timer beside them, and then one as busy by itself."""
    seconds = results.seconds.composed
    child = Process(
        "composed",
        module("composed_process", results.robot, str(rate), str(seconds), str(priority)),
        0,
        folder,
    )
    try:
        child.wait_for_log("composed is ready")
        timer = timers(rate, seconds, [0.0], folder)[0]
        child.wait(seconds + 60.0)
    finally:
        child.stop()
    measured = _json(child)
    name = f"{1e-3 * rate:g} kHz, {measured['scheduling']}"
    if name in results.composed:  # refused, it is the same again
        return
    results.composed[name] = measured
    results.composed_timers[name] = timer
    busy = min(measured["cpu"], 0.95)
    results.composed_busy_timers[name] = timers(rate, seconds, [busy], folder)[0]


def _json(process: Process) -> dict[str, Any]:
    for line in process.log.splitlines():
        if line.startswith("{"):
            return json.loads(line)
    raise SystemFailure(f"{process.name} printed no result:\n{process.log[-2000:]}")


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmark --nodes",
        description="How well the nodes keep a kilohertz, beside the bare machine.",
    )
    parser.add_argument("--quick", action="store_true", help="a look; writes nothing by default")
    parser.add_argument("--robot", default="panda", help="a known robot, or a URDF")
    parser.add_argument(
        "--output",
        type=Path,
        metavar="FOLDER",
        help=f"where to write the page ({RECORDS.name})",
    )
    parser.add_argument("--logs", type=Path, help="where to leave what the nodes print")
    return parser.parse_args(arguments)
