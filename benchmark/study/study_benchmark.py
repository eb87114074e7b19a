"""Time, memory and part of the peak of a study's closed loops, beside MuJoCo's.

Processor time, not time that passes: on a machine with other work the ratios still hold. Contenders
take turns, and the best of each counts.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from benchmark.cases import cases
from benchmark.machine import processor, versions
from benchmark.study.closed_loops import NOISE, Loops, peak_rate
from benchmark.study.scaling import scaling
from benchmark.table import Table

NOTE = (
    "Processor time of one core for a period of 1 ms of one robot. mj_step: in a Python loop under "
    "the same law. rollout: mujoco.rollout without any law. With dry friction and stops, MuJoCo "
    "solves for soft constraints and we for exact ones. Noise and delays: the Python loop has them "
    "too, rollout does not. Ratios: ours over theirs. Peak: part of the core's fused "
    "multiplications and additions that we reach, by the operations that every period takes: a "
    "joint that sticks or meets a stop, and noise, take more. Memory: what our lanes take."
)


def main(words: Sequence[str] | None = None) -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="benchmark --study", description=__doc__)
    parser.add_argument("--robots", default="panda", help="with commas (default: panda)")
    parser.add_argument("--lanes", type=int, default=512, help="robots side by side")
    parser.add_argument("--steps", type=int, default=2000, help="periods of 1 ms of each")
    parser.add_argument("--rounds", type=int, default=5, help="of which the best counts")
    parser.add_argument("--picture", type=Path, help="draw how studies scale, into this file")
    parser.add_argument("--full", action="store_true", help="10 000 runs of 5 s on all cores too")
    how = parser.parse_args(words)
    peak = peak_rate()
    print(f"{processor()}\n{', '.join(versions())}\npeak {peak / 1e9:.1f} GFLOP/s a core\n")
    headings = ["robot, law, plant", "ns a period", "peak, %", "memory, MiB"]
    headings += ["mj_step, us", "ratio", "rollout, us", "ratio"]
    with tempfile.TemporaryDirectory() as folder:
        chosen = cases(how.robots.split(","), Path(folder))
        rows = []
        for case in chosen:
            for mode in ("feedforward", "computed_torque"):
                rows += _rows(Loops(case, mode, how.steps), how.lanes, how.rounds, peak)
    print(Table("Closed loops", NOTE, headings, rows).markdown())
    if how.full:
        _full(Loops(chosen[0], "feedforward", 5000))
    if how.picture is not None:
        print(scaling(chosen[0].robot, how.picture))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"\nlargest memory of the process: {memory:.2f} GiB")
    return 0


def _rows(loops: Loops, lanes: int, rounds: int, peak: float) -> list[list[str]]:
    steps, few, short = loops.steps, 64, loops.steps // 4
    best = _best_times(
        {
            "smooth": lambda: loops.lanes("smooth", lanes),
            "dry": lambda: loops.lanes("dry", lanes),
            "noisy": lambda: loops.lanes("noisy", lanes),
            "python": loops.python_loop,
            "python dry": lambda: loops.python_loop(dry=True),
            "python noisy": lambda: loops.python_loop(dry=True, noise=NOISE),
            "rollout": loops.rollout(few, short),
            "rollout dry": loops.rollout(few, short, dry=True),
        },
        rounds,
    )
    same = loops.lanes("smooth", 1, record=True)
    off = np.abs(same.record["q"][:, 0] - loops.python_loop()).max()
    print(f"{loops.case.title}, {loops.mode}: {off:.1e} rad off MuJoCo")
    rows = []
    for ours, dry, text in (("smooth", "", "no dry friction, no stops"),
                            ("dry", " dry", "dry friction, stops"),
                            ("noisy", " dry", "noise, delays, dry friction, stops")):  # fmt: skip
        python = "python" if ours == "smooth" else f"python {ours}"
        own = best[ours] / (lanes * steps)
        part = 100.0 * loops.operations(ours) / own / peak
        memory = _memory(lambda what=ours: loops.lanes(what, lanes))
        stepped, rolled = best[python] / steps, best["rollout" + dry] / (few * short)
        rows.append([
            f"{loops.case.title}, {loops.mode}: {text}", f"{1e9 * own:.0f}", f"{part:.0f}",
            f"{memory:.0f}", f"{1e6 * stepped:.1f}", f"{own / stepped:.4f}",
            f"{1e6 * rolled:.2f}", f"{own / rolled:.4f}",
        ])  # fmt: skip
    return rows


def _best_times(work: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Processor time of each, the best of several rounds in turn, s."""
    best = dict.fromkeys(work, np.inf)
    for _ in range(rounds):
        for name, call in work.items():
            start = time.process_time()
            call()
            best[name] = min(best[name], time.process_time() - start)
    return best


def _memory(work: Callable[[], object]) -> float:
    """The most that work takes at once, MiB."""
    tracemalloc.start()
    work()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most / 2**20


def _full(loops: Loops) -> None:
    """The whole study: time that passes, and processor time."""
    lanes = 10_000
    for threads in (1, 2):
        passed, used = time.perf_counter(), time.process_time()
        loops.lanes("noisy", lanes, threads=threads)
        passed, used = time.perf_counter() - passed, time.process_time() - used
        periods = lanes * loops.steps
        print(
            f"{lanes} runs of {loops.steps} periods on {threads} threads: {passed:.1f} s, "
            f"{1e9 * used / periods:.0f} ns of a core a period"
        )
