"""Time of a fresh process until its first torque, and memory of a compiled robot.

    python -m benchmark.kernels.first_call URDF          prints one line of JSON
    python -m benchmark.kernels.first_call URDF --all    builds every kernel, and tells its memory
    python -m benchmark.kernels.first_call URDF --imports prints where the time goes, ms

The cache of compiled kernels is where $ROBOT_DYNAMICS_CACHE says.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import subprocess

MiB = 2**20
STARTED = "first call: started"


def main(arguments: list[str]) -> None:
    """Import, read, compile, call, and print how long each took (s)."""
    path, build_all = arguments[0], "--all" in arguments
    if "--imports" in arguments:
        parts = {f"imports: {name}": s for name, s in modules(Path(path), 10).items()}
        times = {name: s for name, s in measure(Path(path), 3).items() if "memory" not in name}
        for name, seconds in {**times, **parts}.items():
            print(f"{name:24}{1e3 * seconds:8.1f}")
        return
    print(STARTED, file=sys.stderr, flush=True)
    start = perf_counter()
    from robot_dynamics import Dynamics, read_urdf

    imported = perf_counter()
    robot = read_urdf(path)
    read = perf_counter()
    if build_all:
        print(json.dumps(_memory(Dynamics, robot)))
        return
    rest = [0.0] * robot.dof
    Dynamics(robot).inverse(rest, rest, rest)
    called = perf_counter()
    print(
        json.dumps(
            {
                "import": imported - start,
                "read": read - imported,
                "first call": called - read,
                "total": called - start,
            }
        )
    )


def _memory(dynamics: Any, robot: Any) -> dict[str, float]:
    """Resident memory (MiB) of the kernels of one robot, beyond what the compiler takes itself."""
    rest = [0.0] * robot.dof
    dynamics(robot.with_gravity((0.0, 0.0, 0.0))).gravity(rest)  # the compiler is loaded
    gc.collect()
    before, start = _resident(), perf_counter()
    arm = dynamics(robot)
    arm.inverse(rest, rest, rest)
    arm.bias(rest, rest)
    arm.gravity(rest)
    arm.mass_matrix(rest)
    arm.forward(rest, rest, rest)
    arm.inverse_derivatives(rest, rest, rest)
    arm.forward_derivatives(rest, rest, rest)
    arm.energy(rest, rest)
    seconds = perf_counter() - start
    gc.collect()
    return {"all kernels": seconds, "memory": (_resident() - before) / MiB}


def _resident() -> int:
    """Resident memory of this process, bytes; not a number where /proc is not there."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def measure(path: Path, turns: int) -> dict[str, float]:
    """Times (s) and memory (MiB) in fresh processes, best of several turns.

    Returns:
        "cold" and "cached": seconds from import to the first torque, and "import", the part of
        it that is Python reading modules; "all kernels": seconds for every kernel, uncached;
        "memory" of all of them, first compiled, then as "memory cached" from disk.
    """
    import tempfile

    found: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as modules:
        with tempfile.TemporaryDirectory() as cache:
            _run(path, modules, cache)  # compiles Python's modules, as an installation does
        for _ in range(turns):
            for name, value in _turn(path, modules).items():
                found.setdefault(name, []).append(value)
    return {name: min(values) for name, values in found.items()}


PACKAGES = ("numpy", "llvmlite", "lxml", "robot_dynamics")


def modules(path: Path, turns: int) -> dict[str, float]:
    """Seconds that modules take to import until the first torque, by package; the rest as "Python".

    A module that a package alone needs, as NumPy needs those of C, counts as Python's.
    """
    import tempfile

    least: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as made, tempfile.TemporaryDirectory() as cache:
        _run(path, made, cache)
        for _ in range(turns):
            process = _process(path, made, cache, python=("-X", "importtime"))
            for line in process.stderr.partition(STARTED)[2].splitlines():
                words = line.replace("|", " ").split()
                if line.startswith("import time:") and words[2].isdigit():
                    name, seconds = words[4], 1e-6 * float(words[2])
                    least[name] = min(seconds, least.get(name, seconds))
    found = dict.fromkeys((*PACKAGES, "Python"), 0.0)
    for name, seconds in least.items():
        package = name.partition(".")[0]
        if package != "benchmark":
            found[package if package in PACKAGES else "Python"] += seconds
    return found


def _turn(path: Path, modules: str) -> dict[str, float]:
    import tempfile

    with tempfile.TemporaryDirectory() as cache:
        cold, *again = (_run(path, modules, cache) for _ in range(5))
    with tempfile.TemporaryDirectory() as cache:
        built, loaded = (_run(path, modules, cache, "--all") for _ in range(2))
    cached = min(again, key=lambda run: run["total"])
    return {
        "cold": cold["total"],
        "cached": cached["total"],
        "import": cached["import"],
        "read": cached["read"],
        "all kernels": built["all kernels"],
        "memory": built["memory"],
        "memory cached": loaded["memory"],
    }


def _run(path: Path, modules: str, cache: str, *options: str) -> dict[str, float]:
    lines = _process(path, modules, cache, *options).stdout.splitlines()
    result: dict[str, float] = json.loads(lines[-1])
    return result


def _process(
    path: Path, modules: str, cache: str, *options: str, python: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "ROBOT_DYNAMICS_CACHE": cache,
        "PYTHONPYCACHEPREFIX": modules,
        "PYTHONDONTWRITEBYTECODE": "",  # where it is set, every process would compile all modules
    }
    import subprocess

    command = [sys.executable, *python, "-m", "benchmark.kernels.first_call", str(path), *options]
    return subprocess.run(
        command,
        env=environment,
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )


if __name__ == "__main__":
    main(sys.argv[1:])
