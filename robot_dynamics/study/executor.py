"""Execute a study in this process, in worker processes, or on a cluster.

An executor sends out indices of runs and gets back one row of numbers per run. A run depends only
on the plan and its index, so the results do not depend on the worker, the order or repetitions.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any

from robot_dynamics.compiler.native.parallel import processors
from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.foundation.lazy import needed
from robot_dynamics.study.plan import StudyPlan
from robot_dynamics.study.runs import Chunk, Columns, chunks_of, run_chunk, runner
from robot_dynamics.study.study_table import StudyTable, table_of

Results = Iterator[tuple[Chunk, Columns]]
Executor = Callable[[StudyPlan, Sequence[Chunk]], Results]
"""Executes chunks of a plan, in any order."""

CONNECT_S = 5.0
"""Time in which a scheduler must answer."""

DEATHS = 10
"""Workers that may die during a chunk before the chunk counts as the cause."""


def in_process(threads: int | None = None) -> Executor:
    """Execute chunks one after the other, each on several threads.

    Args:
        threads: Number of threads; by default one per processor.

    Returns:
        The executor.

    Raises:
        ArgumentError: If `threads` is below one.
    """
    if threads is not None and threads < 1:
        raise ArgumentError(f"threads is {threads}; give at least one")

    def execute(plan: StudyPlan, chunks: Sequence[Chunk]) -> Results:
        for chunk in chunks:
            yield chunk, run_chunk(plan, chunk, threads or processors())

    return execute


def in_processes(workers: int) -> Executor:
    """Execute chunks in worker processes of this machine.

    Each worker is joined to this process by a pipe without a name or port, so that no other
    user can send it work. A chunk whose worker dies is executed again.

    Args:
        workers: Number of processes.

    Returns:
        The executor.

    Raises:
        ArgumentError: If `workers` is below one.
        RobotDynamicsError: While it runs, if workers that execute the same runs end again and
            again.
    """
    if workers < 1:
        raise ArgumentError(f"workers is {workers}; give at least one")

    def execute(plan: StudyPlan, chunks: Sequence[Chunk]) -> Results:
        left = [(chunk, 0) for chunk in reversed(chunks)]
        processes: dict[Any, multiprocessing.process.BaseProcess] = {}
        busy: dict[Any, tuple[Chunk, int]] = {}

        def send(pipe: Any) -> None:
            busy[pipe] = left.pop()
            with contextlib.suppress(ConnectionError):  # the reader of the answer finds it
                pipe.send(busy[pipe][0])

        def start() -> None:
            pipe, process = _worker(plan)
            processes[pipe] = process
            send(pipe)

        try:
            for _ in range(min(workers, len(left))):
                start()
            while busy:
                pipe: Any
                for pipe in wait(list(busy)):
                    chunk, deaths = busy.pop(pipe)
                    try:
                        result = pipe.recv()
                    except (EOFError, ConnectionError):
                        if deaths == DEATHS:
                            raise RobotDynamicsError(
                                f"runs {chunk.start} to {chunk.stop - 1} ended {DEATHS + 1} "
                                "workers, perhaps for want of memory; take fewer workers"
                            ) from None
                        left.append((chunk, deaths + 1))
                        start()
                        continue
                    if isinstance(result, Exception):
                        raise result
                    if left:
                        send(pipe)
                    yield chunk, result
        finally:
            for pipe, process in processes.items():
                process.kill()
                process.join()
                pipe.close()

    return execute


def _worker(plan: StudyPlan) -> tuple[Connection, multiprocessing.process.BaseProcess]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(plan, theirs), daemon=True)
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])  # inherited: Ctrl-C is ours
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    theirs.close()
    return ours, process


def _work(plan: StudyPlan, pipe: Connection) -> None:
    """Execute chunks from a pipe until it is closed."""
    with contextlib.suppress(EOFError, ConnectionError):
        while True:
            chunk = pipe.recv()
            try:
                result: Any = run_chunk(plan, chunk)
            except Exception as error:
                result = error
            pipe.send(result)


def on_dask(*, scheduler: str | None = None, client: Any = None) -> Executor:
    """Execute chunks on Dask: on a running scheduler, or a given client.

    Anyone who reaches the port of a scheduler runs code as its owner, unless it requires TLS
    certificates.

    Args:
        scheduler: Address of a running scheduler, such as tcp://host:8786.
        client: A `dask.distributed.Client` that the caller closes.

    Returns:
        The executor.

    Raises:
        MissingPackageError: If Dask is not installed.
        ArgumentError: If no scheduler answers at the address.
    """

    def execute(plan: StudyPlan, chunks: Sequence[Chunk]) -> Results:
        distributed = needed("distributed", "a cluster", "study")
        with _client(distributed, scheduler, client) as connected:
            # Submitted, not scattered: Dask recomputes a result if the worker that holds it dies
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

    return execute


def _itself(plan: StudyPlan) -> StudyPlan:
    return plan


@contextlib.contextmanager
def _client(distributed: Any, scheduler: str | None, client: Any) -> Iterator[Any]:
    if client is not None:
        yield client
        return
    try:
        connected = distributed.Client(scheduler, timeout=CONNECT_S)
    except (OSError, TimeoutError, ValueError):
        raise ArgumentError(
            f"no scheduler answers at {scheduler}; start one with 'dask scheduler' and give "
            "its address, such as tcp://host:8786"
        ) from None
    with connected:
        yield connected


def study(
    plan: StudyPlan,
    executor: Executor | None = None,
    *,
    done: dict[Chunk, Columns] | None = None,
    progress: Callable[[Chunk, Columns], None] | None = None,
) -> StudyTable:
    """Run a study.

    Args:
        plan: Robot, motions, laws, variation and limits.
        executor: `in_process` by default, `in_processes`, or `on_dask`.
        done: Runs that are already done; new ones are added.
        progress: Called with every finished chunk, in any order.

    Returns:
        One row per run and mode, in order. Every executor gives the same bits.

    Raises:
        ArgumentError: If a distribution reaches an invalid value, or the executor refuses.
        RobotDynamicsError: If no run was done.

    Examples:
        >>> from robot_dynamics import read_urdf
        >>> from robot_dynamics.robot import find_robot
        >>> from robot_dynamics.study import StudyPlan, distribution_of, parts, study
        >>> masses = distribution_of("mass_error", "10%", symmetric=True)
        >>> robot = read_urdf(find_robot("planar_2r"))
        >>> table = study(StudyPlan(robot, runs=64, vary={"mass_error": masses}, duration=1.0))
        >>> len(table), parts(table)["all"].held
        (64, 64)
    """
    done = {} if done is None else done
    plan.values()  # refuses invalid values before any work is sent out
    runner(plan, plan.modes[0])
    left = [chunk for chunk in chunks_of(plan) if chunk not in done]
    for chunk, columns in (executor or in_process())(plan, left):
        done[chunk] = columns
        if progress is not None:
            progress(chunk, columns)
    if not done:
        raise RobotDynamicsError("no run was done")
    return table_of(plan, done)
