"""The three contenders: a compiled closed loop, a Python loop of mj_step, mujoco.rollout.

All integrate by semi-implicit Euler with implicit damping at the same step, under the same law.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from benchmark.cases import Case
from benchmark.kernels.contenders import mujoco_model
from benchmark.peak import operations
from robot_dynamics.compiler.graph.trace import operation_count
from robot_dynamics.compiler.native.loop.loop_steps import RunProgram, When
from robot_dynamics.control import Controller, Friction, Model, Settings, gains_for
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.simulation.simd.compiled_loop import (
    CompiledLoop,
    first_efforts,
    plant_parameters,
    reference_table,
)
from robot_dynamics.simulation.simd.law_stages import LoopStructure
from robot_dynamics.trajectory import excitation, interpolate

STEP = 1e-3
NOISE_OPERATIONS = 72  # of two normal numbers: a logarithm (27), a root, sine and cosine (38), ...
DAMPING, DRY = 0.2, 0.3
NOISE = 1e-5  # of positions and speeds, rad and rad/s


class Loops:
    """One robot under one law, ready for all contenders.

    Args:
        case: The robot.
        mode: "feedforward" or "computed_torque".
        steps: Of a run.
    """

    def __init__(self, case: Case, mode: str, steps: int) -> None:
        self.case, self.mode, self.steps = case, mode, steps
        robot, n = case.robot, case.robot.dof
        self.dynamics = Dynamics(robot)
        self.model = Model(self.dynamics, gains_for(self.dynamics))
        self.motion = interpolate(excitation(robot, steps * STEP, share=0.3))
        structure = LoopStructure(
            mode, longer_cycle=False, delayed_commands=False, imperfect_states=False, shared=True
        )
        controller = Controller(self.model, Settings(mode, fade=0.0))
        controller.settings_vector("effort")[:] = 1e9
        self.loops = {
            "smooth": CompiledLoop(controller, replace(structure, passive=False)),
            "dry": CompiledLoop(controller, structure),
            "noisy": CompiledLoop(controller, replace(structure, imperfect_states=True)),
        }
        inertias = self.loops["dry"].inertias
        t = np.arange(steps) * STEP
        windows = np.zeros((steps, 2))
        self.table = reference_table(self.model, structure, self.motion, t, windows)
        friction = Friction(np.full(n, DAMPING), np.zeros(n))
        self.parameters = plant_parameters(inertias, friction, stops=False, step=STEP)
        self.parameters |= {
            "q": self.motion.sample(0.0).q,
            "last": first_efforts(self.model, [self.motion])[0],
        }

    def perturbed(self, count: int, what: str) -> dict[str, Any]:
        """Parameters of batch members whose bodies differ, and with noise the delay too."""
        noise, dry = NOISE * (what == "noisy"), what != "smooth"
        rng, n = np.random.default_rng(0), self.case.robot.dof
        heavier = 1.0 + 0.2 * rng.uniform(-1.0, 1.0, (count, 1))
        changed = {
            "body": self.parameters["body"] * heavier,
            "coulomb": np.full(n, DRY if dry else 0.0),
            "deviation": np.full(2 * n, noise),
        }
        if dry:
            limits = self.case.robot.limits
            changed |= {"lower": limits.lower, "upper": limits.upper}
        if noise:
            changed["sensor_delay"] = rng.integers(0, 3, (count, 1)).astype(float)
        return self.parameters | changed

    def batch(self, what: str, count: int, *, threads: int = 1, **how: Any) -> Any:
        """Run the compiled loop "smooth", "dry" (dry friction, stops), or "noisy" (that too)."""
        which, keys = np.zeros(count, dtype=int), np.arange(count, dtype=np.uint64)
        parameters = self.perturbed(count, what) if count > 1 else self.parameters
        loop = self.loops[what]
        return loop.run(parameters, self.table[None], which, keys, threads=threads, **how)

    def python_loop(self, *, dry: bool = False, noise: float = 0.0) -> Array:
        """The same law in Python around mj_step; the positions that it passes, shape (steps, n).

        With noise, states are two periods old too.
        """
        import mujoco

        model, data, order = self._mujoco(dry)
        n, gains, inverse = len(order), self.model.gains, self.dynamics.inverse
        q_d, qd_d, qdd_d, effort = (self.table[:, i * n : (i + 1) * n] for i in range(4))
        w, z = self.model.bandwidth, self.model.damping_ratio
        kp, kd, back = gains.kp, gains.kd, np.argsort(order)
        passed = np.empty((self.steps, n))
        step, computed = mujoco.mj_step, self.mode == "computed_torque"
        qpos, qvel, applied = data.qpos, data.qvel, data.qfrc_applied
        draw, past = np.random.default_rng(0).standard_normal, deque[Array](maxlen=3)
        for k in range(self.steps):
            q, qd = qpos[back], qvel[back]
            passed[k] = q
            if noise:
                past.append(np.concatenate([q, qd]))
                seen = past[0] + noise * draw(2 * n)
                q, qd = seen[:n], seen[n:]
            e, ed = q_d[k] - q, qd_d[k] - qd
            if computed:
                tau = inverse(q, qd, qdd_d[k] + 2.0 * z * w * ed + w**2 * e) + effort[k]
            else:
                tau = effort[k] + kp * e + kd * ed
            applied[:] = tau[order]
            step(model, data)
        return passed

    def rollout(self, count: int, steps: int, *, dry: bool = False) -> Callable[[], object]:
        """mujoco.rollout of `count` robots without any law; `dry`: with stops and dry friction."""
        import mujoco
        from mujoco import rollout

        model, data, _ = self._mujoco(dry)
        spec = mujoco.mjtState.mjSTATE_FULLPHYSICS
        start = np.empty(mujoco.mj_stateSize(model, spec))
        mujoco.mj_getState(model, data, start, spec)
        starts = np.tile(start, (count, 1))
        return lambda: rollout.rollout(model, data, starts, nstep=steps)

    def _mujoco(self, dry: bool = False) -> Any:
        import mujoco

        model, data, order = mujoco_model(self.case)
        model.opt.timestep = STEP
        model.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
        model.dof_damping[:] = DAMPING
        if dry:
            model.opt.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
            model.dof_frictionloss[:] = DRY
        data.qpos[:] = self.parameters["q"][order]
        mujoco.mj_forward(model, data)
        return model, data, order

    def operations(self, what: str) -> int:
        """Floating-point operations of a period in which every joint slides on."""
        total = 0
        for step in self.loops[what].steps:
            if isinstance(step, RunProgram):
                total += operations(operation_count(step.program))
            elif isinstance(step, When) and step.array == "noisy" and what == "noisy":
                total += NOISE_OPERATIONS * self.case.robot.dof
        return total

    def bytes(self, what: str) -> float:
        """Bytes of a period that come from memory: a row of the table, and a robot's arrays once.

        Robots side by side share the row. Their arrays stay in the cache from period to period.
        """
        loop = self.loops[what].native
        return float(self.table[0].nbytes / loop.width + 8 * sum(loop.sizes.values()) / self.steps)
