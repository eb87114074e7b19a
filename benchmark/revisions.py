"""Times of kernels beside those of an earlier revision of this package.

    python -m benchmark.revisions REVISION           all robots
    python -m benchmark.revisions REVISION ur5       these robots only

Processes of both revisions take turns, and the least time of the processor counts. It compiles
every kernel twice and takes some ten minutes. Rerun what is slower: addresses of code differ from
process to process.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time
import timeit
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve()
TURNS = 6  # processes of each revision, for every robot
REPEATS, DURATION = 25, 0.002  # of one call in a process; s
STATES = 8192
SLOWER = 1.03
"""Ratio of times from which a kernel counts as slower."""

ARGUMENTS = {
    "inverse": 3,
    "forward": 3,
    "mass_matrix": 1,
    "bias": 2,
    "gravity": 1,
    "inverse_derivatives": 3,
    "forward_derivatives": 3,
    "regressor": 3,
    "energy": 2,
    "pose": 1,
    "jacobian": 1,
}
"""Methods of `Dynamics` that both revisions have, with their number of arguments."""


def main(arguments: list[str]) -> int:
    """Compare the revisions and print the table; the exit status is 1 if a kernel is slower."""
    from benchmark.cases import SOURCES, cases, quiet

    revision, *keys = arguments
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        old = folder / "old"
        archive = ["git", "archive", revision, "robot_dynamics"]
        packed = subprocess.run(archive, cwd=HERE.parents[1], capture_output=True, check=True)
        with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as files:
            files.extractall(old, filter="data")
        with quiet():
            chosen = cases(keys or list(SOURCES), folder)
        slower = 0
        print(f"{'':48}{'old, ns':>10}{'new, ns':>10}{'ratio':>8}")
        for case in chosen:
            least: list[dict[str, float]] = [{}, {}]
            for _ in range(TURNS):
                for times, tree in zip(least, (old, HERE.parents[1]), strict=True):
                    for name, seconds in _timed(tree, case.path, case.robot.tips[0]).items():
                        times[name] = min(seconds, times.get(name, seconds))
            before, after = least
            for name, seconds in before.items():
                ratio = after[name] / seconds
                slower += ratio > SLOWER
                mark = " slower" if ratio > SLOWER else ""
                what = f"{case.title}: {name}"
                new = 1e9 * after[name]
                print(f"{what:48}{1e9 * seconds:10.1f}{new:10.1f}{ratio:8.3f}{mark}", flush=True)
    return int(slower > 0)


def _timed(tree: Path, path: Path, frame: str) -> dict[str, float]:
    """Time the kernels of the package in a folder, in a process of its own."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(tree),
        "ROBOT_DYNAMICS_CACHE": str(path.with_suffix("") / tree.name),
    }
    command = [sys.executable, str(HERE), "--times", str(path), frame]
    done = subprocess.run(
        command, env=environment, cwd=path.parent, stdout=subprocess.PIPE, text=True, check=True
    )
    times: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return times


def _times(path: str, frame: str) -> dict[str, float]:
    """Return the seconds of each kernel: a call of one state, and a state of a batch.

    Runs on both revisions, so that it uses only what both have. Batches write to given arrays:
    the memory of new ones takes longer than most kernels, and how long depends on what else the
    process holds.
    """
    import numpy as np

    from robot_dynamics import Dynamics, read_urdf
    from robot_dynamics.dynamics.variant import Variant

    arm = Dynamics(read_urdf(path))
    states = np.random.default_rng(0).uniform(-2.0, 2.0, (3, STATES, arm.robot.dof))
    times: dict[str, float] = {}
    for name, taken in ARGUMENTS.items():
        of_frame = name in ("pose", "jacobian")
        keywords = {"frame": frame} if of_frame else {}
        batch, method = list(states[:taken]), getattr(arm, name)
        one = [np.ascontiguousarray(x[0]) for x in batch]
        for _ in range(3):  # from the second call on, a method is the compiled entry
            method(*one, **keywords)
        times[f"{name}, one state"] = _least(getattr(arm, name), one, keywords)
        kernel = arm.kernel(name, Variant(frame=frame)) if of_frame else arm.kernel(name)
        written = {"out": method(*batch, **keywords), "threads": 1}
        times[f"{name}, batch"] = _least(kernel, batch, written) / STATES
    return times


def _least(function: Callable[..., Any], arguments: list[Any], keywords: dict[str, Any]) -> float:
    """Return the least seconds of the processor that a call takes."""
    names = [f"a{k}" for k in range(len(arguments))]
    scope = {"f": function, **dict(zip(names, arguments, strict=True)), **keywords}
    call = f"f({', '.join([*names, *(f'{name}={name}' for name in keywords)])})"
    timer = timeit.Timer(call, timer=time.process_time, globals=scope)
    calls = max(1, int(DURATION / max(timer.timeit(3) / 3, 1e-9)))
    return min(timer.repeat(REPEATS, calls)) / calls


if __name__ == "__main__":
    if sys.argv[1:2] == ["--times"]:
        print(json.dumps(_times(*sys.argv[2:])))
    else:
        sys.exit(main(sys.argv[1:]))
