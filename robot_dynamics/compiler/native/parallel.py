"""Run many samples on several threads, in blocks between which Ctrl-C is handled."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

from robot_dynamics.foundation.lazy import imported

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

Work = Callable[[int, int], int]
"""Does samples start to stop and returns how many it did, fewer if it had to give up."""


def processors() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_blocks(work: Work, count: int, block: int, threads: int) -> int | None:
    """Run `work` on samples 0 to count.

    Args:
        work: Must let other threads run, as a ctypes call does.
        count: Number of samples.
        block: Number of samples per call; the caller can be interrupted between two calls.
        threads: Number of threads to share the blocks.

    Returns:
        None, or the number of a sample near which `work` gave up.
    """
    stop = threading.Event()
    starts = iter(range(0, count, block))
    lock = threading.Lock()

    def worker() -> int | None:
        while not stop.is_set():
            with lock:
                start = next(starts, None)
            if start is None:
                return None
            wanted = min(block, count - start)
            done = work(start, start + wanted)
            if done < wanted:
                stop.set()
                return start + done
        return None

    helpers: list[Future[int | None]] = []
    try:
        if threads > 1:
            pool = _pool(os.getpid())
            helpers = [pool.submit(worker) for _ in range(threads - 1)]
        given_up = [worker()]
    except BaseException:
        stop.set()
        raise
    finally:  # no thread may write to the arrays after this function
        finished = [helper.result() for helper in helpers]
    return next((at for at in [*given_up, *finished] if at is not None), None)


@lru_cache(maxsize=1)
def _pool(process: int) -> ThreadPoolExecutor:
    """Return the helper threads of this process; a forked child has none of its parent's."""
    futures = imported("concurrent.futures")
    pool: ThreadPoolExecutor = futures.ThreadPoolExecutor(
        max(1, processors() - 1), thread_name_prefix="robot_dynamics"
    )
    return pool
