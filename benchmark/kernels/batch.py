"""Many states in one call: what is timed, for tables and for the plot against batch size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmark import peers
from benchmark.cases import Case
from benchmark.kernels.contenders import mujoco_model
from benchmark.kernels.timing import Call
from robot_dynamics.compiler.kernel import Kernel

OURS_1 = "robot_dynamics, 1 thread"
OURS_2 = "robot_dynamics, 2 threads"
OURS_COLUMNS = "robot_dynamics, in columns, 1 thread"
OURS_FLOAT = "robot_dynamics, float32, 1 thread"
OURS_FLOAT_2 = "robot_dynamics, float32, 2 threads"
PIN_LOOP = "pin.rnea in a loop"
PIN_1 = "pin.rneaInParallel, 1 thread"
PIN_2 = "pin.rneaInParallel, 2 threads"
MUJOCO_LOOP = "mj_inverse in a loop"


def our_calls(case: Case, kernel: Kernel, size: int) -> dict[str, Call]:
    """Inverse dynamics of `size` states by this package."""
    states = case.states(size)
    floats = tuple(x.astype(np.float32) for x in states)
    columns = tuple(np.asfortranarray(x) for x in states)
    return {
        OURS_1: Call(kernel, states, {"threads": 1}, size),
        OURS_COLUMNS: Call(kernel, columns, {"threads": 1}, size),
        OURS_2: Call(kernel, states, {"threads": 2}, size),
        OURS_FLOAT: Call(kernel, floats, {"threads": 1}, size),
        OURS_FLOAT_2: Call(kernel, floats, {"threads": 2}, size),
    }


def pinocchio_calls(case: Case, size: int) -> dict[str, Call]:
    """Inverse dynamics of `size` states by Pinocchio: a Python loop, and its own loops in C++."""
    import pinocchio as pin

    model, order = peers.pinocchio_model(case.path.read_text(), case.robot)
    data = model.createData()
    q, v, a = (x[:, order] for x in case.states(size))
    q = peers.configurations(model, q)
    columns = tuple(np.asfortranarray(x.T) for x in (q, v, a))
    tau = np.zeros((model.nv, size), order="F")
    pool = pin.ModelPool(model, 2)
    rnea = pin.rnea

    def loop() -> None:
        for q_i, v_i, a_i in zip(q, v, a, strict=True):
            rnea(model, data, q_i, v_i, a_i)

    return {
        PIN_LOOP: Call(loop, evaluations=size),
        PIN_1: Call(pin.rneaInParallel, (1, pool, *columns, tau), evaluations=size),
        PIN_2: Call(pin.rneaInParallel, (2, pool, *columns, tau), evaluations=size),
    }


def mujoco_calls(case: Case, size: int) -> dict[str, Call]:
    """Inverse dynamics of `size` states by MuJoCo in a Python loop."""
    import mujoco

    model, data, order = mujoco_model(case)
    q, qd, qdd = (x[:, order] for x in case.states(size))
    qpos, qvel, qacc, solve = data.qpos, data.qvel, data.qacc, mujoco.mj_inverse

    def loop() -> None:
        for q_i, qd_i, qdd_i in zip(q, qd, qdd, strict=True):
            qpos[:], qvel[:], qacc[:] = q_i, qd_i, qdd_i
            solve(model, data)

    return {MUJOCO_LOOP: Call(loop, evaluations=size)}


PEER_CALLS: dict[str, Callable[[Case, int], dict[str, Call]]] = {
    "pin": pinocchio_calls,
    "mujoco": mujoco_calls,
}
"""Batch calls of the peers, by package."""


def batch_calls(case: Case, kernel: Kernel, size: int, peers: Any) -> dict[str, Call]:
    """Everything that computes `size` states of a robot, for the peers that take it."""
    calls = our_calls(case, kernel, size)
    for peer, make in PEER_CALLS.items():
        if peer in peers:
            calls |= make(case, size)
    return calls
