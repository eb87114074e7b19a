"""Scaling of a study: measured on the available processors, extrapolated beyond."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmark.picture import plt, save
from robot_dynamics.compiler.native.parallel import processors
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot.robot import Robot
from robot_dynamics.study import StudyPlan, distribution_of, in_process, on_dask, study
from robot_dynamics.study.runs import chunks_of, run_chunk

RUNS, TASKS, ROUNDS = 4096, 300, 3
DURATION = 5.0
MOST = 1024


def scaling(robot: Robot, place: Path) -> str:
    """Measure, draw, and say it in a paragraph.

    One scheduler hands out tasks one after the other, each at a cost t; a task keeps a worker busy
    for T. N workers do N / T tasks a second, as long as that is less than 1 / t.
    """
    import distributed

    vary = {
        "payload": distribution_of("payload", "0..3"),
        "delay": distribution_of("delay", "0..5ms"),
    }
    plan = StudyPlan(robot, runs=RUNS, duration=DURATION, vary=vary)
    chunks = chunks_of(plan)
    run_chunk(plan, chunks[0])  # compiles
    start = time.process_time()
    columns = run_chunk(plan, chunks[0])
    busy = time.process_time() - start
    threads = [_passed(lambda n=n: study(plan, in_process(n))) for n in range(1, processors() + 1)]
    with distributed.LocalCluster(
        n_workers=processors(), threads_per_worker=1, host="127.0.0.1", dashboard_address=None
    ) as cluster, distributed.Client(cluster) as client:  # fmt: skip
        study(plan, on_dask(client=client))  # compiles or loads
        workers = _passed(lambda: study(plan, on_dask(client=client)))
        start = time.perf_counter()
        client.gather([client.submit(_nothing, k, pure=False) for k in range(TASKS)])
        cost = (time.perf_counter() - start) / TASKS
    most = busy / cost
    returned = sum(x.nbytes for x in columns.values()) / len(columns["alive"])
    count = np.arange(1, len(threads) + 1)
    _draw(place, count, threads[0] / np.array(threads), threads[0] / workers, most)
    each = ", ".join(f"{n} threads {s:.2f} s" for n, s in enumerate(threads, start=1))
    return (
        f"{len(chunks)} chunks of {len(columns['alive'])} runs of {DURATION:g} s: {busy:.2f} s of "
        f"a core each; {each}; "
        f"{processors()} workers {workers:.2f} s. A task costs the scheduler "
        f"{1e3 * cost:.1f} ms, "
        f"{len(pickle.dumps(plan))} bytes go out once, {returned:.0f} bytes a run come back: one "
        f"scheduler keeps {most:.0f} workers busy, and more of them do not pay."
    )


def _nothing(k: int) -> int:
    return k


def _passed(work: Callable[[], object]) -> float:
    """The shortest time that passes, s."""
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def _draw(place: Path, count: Array, threads: Array, workers: float, most: float) -> None:
    figure, axis = plt.subplots(figsize=(6.0, 4.0), layout="constrained")
    n = np.geomspace(1, MOST, 200)
    axis.loglog(n, np.minimum(n, most), color="#999999", label="on paper, one scheduler")
    axis.loglog(count, threads, "o", color="#0072b2", label="measured, threads")
    axis.loglog(count[-1:], [workers], "x", color="#d55e00", label="measured, Dask workers")
    axis.axvline(most, color="#999999", lw=1, ls=":")
    axis.set_xlabel("cores")
    axis.set_ylabel("times as fast as one thread")
    axis.legend()
    save(figure, place)
