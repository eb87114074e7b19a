"""Shares of a core's peak, and of its bandwidth of memory, that the kernels of a robot reach."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmark import peak
from benchmark.cases import Case
from robot_dynamics import Dynamics
from robot_dynamics.foundation.arrays import Array

KERNELS = {
    "inverse": "inverse dynamics",
    "bias": "bias",
    "gravity": "gravity",
    "mass_matrix": "mass matrix",
    "forward": "forward dynamics",
    "inverse_derivatives": "derivatives of inverse dynamics",
    "forward_derivatives": "derivatives of forward dynamics",
    "energy": "energy",
    "momentum": "momentum",
    "regressor": "regressor",
}
"""Kernels whose shares are measured, with their names in tables."""

IN_CACHE = 2**17  # bytes of all arrays, of a cache of 1 MiB
LEAST_STATES = 64


@dataclass(frozen=True)
class Share:
    """One kernel, in rows or in columns.

    Attributes:
        cached: Seconds a state, of arrays in the cache.
        far: Seconds a state, of arrays beyond all caches.
        operations: Floating-point operations of one state.
        bytes: Bytes of the arguments and results of one state.
    """

    cached: float
    far: float
    operations: int
    bytes: int


def share(case: Case, arm: Dynamics, name: str, columns: bool, duration: float) -> Share:
    """Measure one kernel with 8-byte numbers on one thread, into given arrays."""
    kernel = arm.kernel(name)
    sizes = [int(np.prod(s)) for s in (*kernel.inputs.values(), *kernel.outputs.values())]
    each = 8 * sum(sizes)
    counts = [max(LEAST_STATES, IN_CACHE // each // 8 * 8), peak.BEYOND_CACHES // each]
    seconds = []
    for count in counts:
        order = "F" if columns else "C"
        rng = np.random.default_rng(0)
        arrays = [
            np.asarray(rng.uniform(-2.0, 2.0, (count, *s)), order=order)
            for s in kernel.inputs.values()
        ]
        out = [np.zeros((count, *s), order=order) for s in kernel.outputs.values()]
        results: list[Array] | Array = out if len(out) > 1 else out[0]
        repeats = max(1, counts[0] * 4 // count)

        def work(arrays=arrays, results=results, repeats=repeats) -> None:  # type: ignore[no-untyped-def]
            for _ in range(repeats):
                kernel(*arrays, out=results, threads=1)

        work()
        seconds.append(peak.core_seconds(work, duration) / (repeats * count))
    return Share(*seconds, peak.operations(kernel.operation_count), each)
