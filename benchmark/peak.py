"""Rates of a core at most, measured: its peak of operations, and its bandwidth of memory."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from robot_dynamics.compiler.graph.trace import trace
from robot_dynamics.compiler.native.loop.loop_steps import RunProgram
from robot_dynamics.compiler.native.loop.native_loop import NativeLoop
from robot_dynamics.compiler.operation_count import OperationCount
from robot_dynamics.foundation.arrays import Array

SINE_COSINE = 19  # operations of one of them
BEYOND_CACHES = 2**26  # bytes


def operations(count: OperationCount) -> int:
    """Floating-point operations of one evaluation."""
    return count.arithmetic + count.divisions + count.others + SINE_COSINE * count.sines_cosines


def peak_rate(duration: float = 0.2) -> float:
    """Fused multiplications and additions of a core, as operations a second: 2 each."""
    chains, length = 16, 64

    def equations(x: Array, a: Array) -> dict[str, Array]:
        for _ in range(length):
            x = x * a[0] + a[1]
        return {"y": x}

    program = trace("peak", equations, {"x": (chains,), "a": (2,)})
    loop = NativeLoop({"x": chains, "a": 2, "y": chains}, (RunProgram(program, {"y": "x"}),))
    memory = loop.memory(loop.width)
    loop.set(memory, "a", np.array([0.5, 1.0]))
    steps = 20_000
    seconds = core_seconds(lambda: loop.run(memory, steps), duration)
    return 2.0 * chains * length * loop.width * steps / seconds


def bandwidth(duration: float = 0.5) -> float:
    """Bytes a second that a core reads and writes in sums of two arrays beyond all caches."""
    a, b = np.ones((2, BEYOND_CACHES // 16))
    out = np.empty_like(a)
    return 3.0 * a.nbytes / core_seconds(lambda: np.add(a, b, out=out), duration)


def core_seconds(work: Callable[[], object], duration: float) -> float:
    """The least time of a core that one call takes; other programs cost caches alone."""
    best, until = np.inf, time.perf_counter() + duration
    while best == np.inf or time.perf_counter() < until:
        start = time.thread_time()
        work()
        best = min(best, time.thread_time() - start)
    return float(best)
