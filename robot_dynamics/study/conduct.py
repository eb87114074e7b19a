"""Conducting a study: in this process, in workers beside it, or on a cluster.

Work goes out as the numbers of runs and comes back as one row of numbers per run. A run depends
on the plan and its number alone, so it does not matter who does it, in which order, or how often.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from robot_dynamics.compiler.native.parallel import processors
from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.lazy import needed
from robot_dynamics.study.plan import StudyPlan
from robot_dynamics.study.runs import Chunk, Columns, bench, chunks_of, run_chunk
from robot_dynamics.study.study_table import StudyTable, table_of

Results = Iterator[tuple[Chunk, Columns]]
Conductor = Callable[[StudyPlan, Sequence[Chunk]], Results]
"""Does chunks of a plan, in any order."""

CONNECT_S = 5.0
"""Time in which a scheduler must answer."""

DEATHS = 10
"""Workers that may die over a piece of work before it counts as what kills them."""


def in_process(threads: int | None = None) -> Conductor:
    """Chunks one after the other, each on several threads; by default one per processor."""
    if threads is not None and threads < 1:
        raise ArgumentError(f"threads is {threads}; give at least one")

    def conduct(plan: StudyPlan, chunks: Sequence[Chunk]) -> Results:
        for chunk in chunks:
            yield chunk, run_chunk(plan, chunk, threads or processors())

    return conduct


def on_dask(
    *, workers: int | None = None, scheduler: str | None = None, client: Any = None
) -> Conductor:
    """Chunks on Dask: a local cluster of `workers` processes, a scheduler, or a client's own.

    Args:
        workers: Processes of a local cluster, one thread each.
        scheduler: Address of a running one, such as tcp://host:8786.
        client: A `dask.distributed.Client` that the caller closes.

    Raises:
        MissingPackageError: If Dask is not installed.
        ArgumentError: If there is no scheduler at the address, or no worker is asked for.
    """
    if workers is not None and workers < 1:
        raise ArgumentError(f"workers is {workers}; give at least one")

    def conduct(plan: StudyPlan, chunks: Sequence[Chunk]) -> Results:
        distributed = needed("distributed", "a cluster", "study")
        with _client(distributed, workers, scheduler, client) as connected:
            # a result, and not data: done again where the worker that has it dies
            sent = connected.submit(_itself, plan, pure=False, retries=DEATHS)
            futures = {
                connected.submit(run_chunk, sent, chunk, pure=False, retries=DEATHS): chunk
                for chunk in chunks
            }
            try:
                for future in distributed.as_completed(futures):
                    yield futures[future], future.result()
            finally:
                connected.cancel(list(futures))

    return conduct


def _itself(plan: StudyPlan) -> StudyPlan:
    return plan


@contextlib.contextmanager
def _client(
    distributed: Any, workers: int | None, scheduler: str | None, client: Any
) -> Iterator[Any]:
    if client is not None:
        yield client
    elif scheduler is not None:
        try:
            connected = distributed.Client(scheduler, timeout=CONNECT_S)
        except (OSError, TimeoutError, ValueError):
            raise ArgumentError(
                f"no scheduler answers at {scheduler}; start one with 'dask scheduler' and give "
                "its address, such as tcp://host:8786"
            ) from None
        with connected:
            yield connected
    else:
        with (
            distributed.LocalCluster(
                n_workers=workers or 1,
                threads_per_worker=1,
                host="127.0.0.1",
                dashboard_address=None,
            ) as cluster,
            distributed.Client(cluster) as connected,
        ):
            yield connected


def study(
    plan: StudyPlan,
    conductor: Conductor | None = None,
    *,
    done: dict[Chunk, Columns] | None = None,
    progress: Callable[[Chunk, Columns], None] | None = None,
) -> StudyTable:
    """Do a study.

    Args:
        plan: What is studied.
        conductor: Who does the runs: `in_process` by default, or `on_dask`.
        done: Runs that are done already; new ones are added.
        progress: Called with every chunk that has been done, in any order.

    Returns:
        One row per run and mode, in order; the same whoever did the runs, bit for bit.

    Raises:
        ArgumentError: If a distribution reaches a value that makes no sense, or as of the
            conductor.
    """
    done = {} if done is None else done
    plan.values()  # refuses what makes no sense before any work is sent out
    bench(plan, plan.modes[0])
    left = [chunk for chunk in chunks_of(plan) if chunk not in done]
    for chunk, columns in (conductor or in_process())(plan, left):
        done[chunk] = columns
        if progress is not None:
            progress(chunk, columns)
    if not done:
        raise RobotDynamicsError("no run was done")
    return table_of(plan, done)
