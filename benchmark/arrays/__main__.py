"""Time functions of CasADi, JAX and PyTorch beside peers that are installed.

python -m benchmark.arrays [--robots ur5 panda] [--turns 30]
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from benchmark.cases import SOURCES, Case, cases
from benchmark.kernels.timing import Call, best_times
from benchmark.machine import installed, processor
from benchmark.table import Table
from robot_dynamics import Dynamics
from robot_dynamics.compiler.source.array_libraries import library_function
from robot_dynamics.formulations import inverse_dynamics

PACKAGES = ("numpy", "casadi", "jax", "torch", "adam-robotics", "jaxsim")
BATCHES = (1, 1024)
OURS, EQUATIONS, ADAM = "kernel", "equations", "adam"


def in_casadi(case: Case, turns: int) -> Table:
    """Functions of CasADi: reduced equations, textbook equations and adam's."""
    import casadi

    arm, n = Dynamics(case.robot), case.robot.dof
    motion = [casadi.SX.sym(name, n) for name in ("q", "qd", "qdd")]
    textbook = inverse_dynamics(case.robot, *motion, formulation="newton_euler")
    functions = {
        EQUATIONS: arm.as_casadi(),
        "textbook Newton-Euler": casadi.Function("textbook", motion, [casadi.vertcat(*textbook)]),
    }
    with suppress(ImportError):
        functions[ADAM] = _adam_of_casadi(case, motion)
    state = case.q, case.qd, case.qdd
    calls = {f"{name}, virtual machine": _evaluations(f, state) for name, f in functions.items()}
    with tempfile.TemporaryDirectory() as folder:
        if shutil.which("cc"):
            for name, function in functions.items():
                compiled = _compiled(function, Path(folder) / name.split()[0])
                calls[f"{name}, generated C"] = _evaluations(compiled, state)
        times = best_times(calls, turns=turns, duration=0.02)
    own = arm.kernel("inverse")
    single = best_times({OURS: Call(own, state)}, turns=turns, duration=0.02)[OURS]
    first, rows = times[f"{EQUATIONS}, virtual machine"], []
    for name, t in times.items():
        count = functions[name.partition(", ")[0]].n_instructions()
        rows.append([name, str(count), _micro(t), f"{t / first:.2f}"])
    about = f"One state. The kernel called from Python takes {_micro(single)} us."
    header = ["inverse dynamics", "instructions", "us", "ratio to the first"]
    return Table(f"CasADi, {case.title}", about, header, rows)


def _evaluations(function: Any, state: Sequence[Any]) -> Call:
    """One evaluation into arrays that are reused: without the conversion of arguments."""
    buffer, run = function.buffer()
    arguments = [np.array(x) for x in state]
    for k, x in enumerate(arguments):
        buffer.set_arg(k, memoryview(x))
    result = np.zeros(function.nnz_out(0))
    buffer.set_res(0, memoryview(result))
    _kept.append((buffer, arguments, result))
    return Call(run)


_kept: list[Any] = []  # memory that CasADi reads and writes


def _compiled(function: Any, stem: Path) -> Any:
    import casadi

    source = function.generate(f"{function.name()}.c")
    path = Path(source).rename(stem.with_suffix(".c"))
    library = stem.with_suffix(".so")
    subprocess.run(
        ["cc", "-O3", "-march=native", "-fPIC", "-shared", path, "-o", library], check=True
    )
    return casadi.external(function.name(), str(library))


def in_jax(case: Case, turns: int) -> Table:
    """Values and gradients by the kernel and by the equations that XLA compiles."""
    import jax

    jax.config.update("jax_enable_x64", True)
    arm = Dynamics(case.robot)
    functions: dict[str, Callable[..., Any]] = {
        OURS: arm.as_jax(),
        EQUATIONS: library_function("jax", arm.program("inverse"), "a benchmark"),
    }
    calls: dict[str, Call] = {}
    for size in BATCHES:
        states = [jax.numpy.asarray(x) for x in case.states(size)]
        for name, function in functions.items():
            value = jax.jit(jax.vmap(function))
            slope = jax.jit(jax.grad(lambda *x, f=value: (f(*x) ** 2).sum(), argnums=(0, 1, 2)))
            for what, made in (("value", value), ("gradient", slope)):
                jax.block_until_ready(made(*states))
                waited = lambda *x, f=made: jax.block_until_ready(f(*x))  # noqa: E731
                calls[f"{name}, {what}, {size}"] = Call(waited, states)
    return _by_batch(f"JAX, {case.title}", functions, best_times(calls, turns=turns, duration=0.02))


def in_torch(case: Case, turns: int) -> Table:
    """Values and gradients by the kernel and by the equations in PyTorch."""
    import torch

    arm = Dynamics(case.robot)
    functions = {
        OURS: arm.as_torch(),
        EQUATIONS: library_function("torch", arm.program("inverse"), "a benchmark"),
    }
    calls: dict[str, Call] = {}
    for size in BATCHES:
        states = [torch.tensor(x) for x in case.states(size)]
        tracked = [torch.tensor(x, requires_grad=True) for x in case.states(size)]
        for name, function in functions.items():

            def slope(*x: Any, f: Any = function) -> Any:
                return torch.autograd.grad((f(*x) ** 2).sum(), x)

            calls[f"{name}, value, {size}"] = Call(function, states)
            calls[f"{name}, gradient, {size}"] = Call(slope, tracked)
    times = best_times(calls, turns=turns, duration=0.02)
    return _by_batch(f"PyTorch, {case.title}", functions, times)


def _by_batch(title: str, names: Mapping[str, Any], times: Mapping[str, float]) -> Table:
    """Times of a call in us; a row for each quantity and batch."""
    rows = [
        [f"{what}, {size} states", *(_micro(times[f"{name}, {what}, {size}"]) for name in names)]
        for what in ("value", "gradient")
        for size in BATCHES
    ]
    about = "Time of a call in us, inverse dynamics in double precision."
    return Table(title, about, ["", *names], rows)


def _adam_of_casadi(case: Case, motion: Sequence[Any]) -> Any:
    import casadi
    from adam.casadi import KinDynComputations

    arm = KinDynComputations(str(case.path), list(case.robot.joint_names))
    q, qd, qdd = motion
    root, still = casadi.DM.eye(4), casadi.DM.zeros(6)
    M = arm.mass_matrix_fun()(root, q)[6:, 6:]
    tau = M @ qdd + arm.bias_force_fun()(root, q, still, qd)[6:]
    return casadi.Function("adam", list(motion), [tau])


def _micro(seconds: float) -> str:
    return f"{1e6 * seconds:.3g}"


def main(words: Sequence[str] | None = None) -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmark.arrays", description=__doc__)
    parser.add_argument("--robots", nargs="+", choices=list(SOURCES), default=["ur5", "panda"])
    parser.add_argument("--turns", type=int, default=30, help="turns of each contender")
    arguments = parser.parse_args(words)
    console = Console()
    console.print(f"{processor()}; {', '.join(installed(PACKAGES))}")
    with tempfile.TemporaryDirectory() as folder:
        for case in cases(arguments.robots, Path(folder)):
            for measure in (in_casadi, in_jax, in_torch):
                try:
                    console.print(measure(case, arguments.turns).rich())
                except ImportError as error:
                    console.print(f"{measure.__name__}: {error}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
