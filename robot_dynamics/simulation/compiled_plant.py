"""A `Plant` whose step is machine code.

It shares its equations with the batches of a study: all members of the block are this one robot.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from robot_dynamics.compiler.native.loop.loop_steps import Step
from robot_dynamics.compiler.native.loop.native_loop import NativeLoop
from robot_dynamics.control.limits import Limited, saturate
from robot_dynamics.dynamics.compiled_robot import robot_digest
from robot_dynamics.errors import ArgumentError
from robot_dynamics.foundation.arrays import Array, vector
from robot_dynamics.robot.robot import Robot
from robot_dynamics.simulation.plant import Plant
from robot_dynamics.simulation.simd.compiled_loop import plant_parameters
from robot_dynamics.simulation.simd.plant_stages import PlantStages
from robot_dynamics.simulation.simd.stage import LoopStage, fused
from robot_dynamics.simulation.simd.symbolic_inertias import SymbolicInertias

REPORTED = ("q", "qd", "tau", "saturation")
"""Results of a step, each with an entry per joint."""

MOST_JOINTS = 10
"""With more joints, compiling takes longer than the faster steps save."""


class CompiledPlant(Plant):
    """A plant that steps in microseconds.

    Its motion equals that of `Plant` to rounding. The motion counts as diverged when the norm of
    all positions and velocities exceeds 1e4.

    Args:
        robot: As of `Plant`, with at most `MOST_JOINTS` joints.
        q: As of `Plant`.
        options: As of `Plant`.

    Raises:
        ArgumentError: If the robot has more joints.
        BackendError: If there is no usable llvmlite.
    """

    def __init__(self, robot: Robot, q: npt.ArrayLike | None = None, **options: Any) -> None:
        if robot.dof > MOST_JOINTS:
            raise ArgumentError(
                f"robot '{robot.name}' has {robot.dof} joints; a CompiledPlant takes at most "
                f"{MOST_JOINTS}; use Plant"
            )
        self._inertias = SymbolicInertias(robot)
        self._arrays: dict[str, Array] = {}
        super().__init__(robot, q, **options)
        self._compile("semi_implicit_euler" if self._by_impulse else "runge_kutta")

    def _compile(self, integrator: str) -> None:
        inertias, friction, n = self._inertias, self.friction, self.robot.dof
        size, elastic = self.masses.size, self.masses.joints
        stribeck = bool(friction.stiction.any())
        load_or_offset, has_memory = friction.has_load_or_offset, friction.has_memory
        stages = PlantStages(
            inertias, stribeck=stribeck, load_or_offset=load_or_offset, has_memory=has_memory
        )
        generic = inertias.robot_with(np.ones(len(inertias)), np.ones(3))
        key = f"plant {robot_digest(generic)} {inertias.names} {integrator} {stribeck}"
        key += f" {load_or_offset}"
        key += " memory" if has_memory else ""
        key += f" {elastic}" if elastic else ""
        # The reported arrays come first, side by side, so that one copy takes them all
        sizes = {"q": size, "qd": size, "tau": n, "saturation": n}
        sizes |= stages.sizes | {"wanted": n, "limit": n}
        seen = ("next_q", "next_qd", "tau", "saturation")

        def steps() -> tuple[Step, ...]:
            return fused((_LIMIT, *stages.steps(integrator)), sizes, seen)

        loop = NativeLoop(sizes, steps, f"limited {key}")
        memory = loop.memory(1)
        parameters = plant_parameters(inertias, friction, stops=self._stops, step=self._h)
        parameters["limit"] = self.limit
        parameters["rotor"] = self.rotor_inertia
        for name in parameters.keys() & sizes.keys():
            loop.set(memory, name, parameters[name])
        arrays = ("q", "qd", "p", "alive", "next_q", "next_qd", *(("z",) if has_memory else ()))
        arrays += ("push",) if elastic else ()
        self._arrays = {name: loop.array(memory, name)[0] for name in arrays}
        self._wanted, self._alive = loop.array(memory, "wanted")[0], self._arrays["alive"]
        self._reported = memory[0, : 2 * size + 2 * n, 0]
        self._step = loop.stepper(memory)
        self._place()

    def _place(self) -> None:
        """Copy the state of the robot to all members of the block."""
        self._arrays["q"][:], self._arrays["qd"][:] = self._x[:, None], self._v[:, None]
        self._arrays["p"][:], self._arrays["alive"][:] = 0.0, 1.0
        if self.friction.has_memory:
            self._arrays["z"][:] = 0.0

    def reset(
        self, q: npt.ArrayLike, qd: npt.ArrayLike | None = None, *, time: float = 0.0
    ) -> None:
        """See `Plant.reset`."""
        super().reset(q, qd, time=time)
        if self._arrays:
            self._place()

    def _put(self, x: Array, v: Array) -> None:
        super()._put(x, v)
        if self._arrays:
            self._arrays["q"][:], self._arrays["qd"][:] = x[:, None], v[:, None]

    def step(self, tau: Array, push: Array | None = None) -> None:
        """See `Plant.step`."""
        if push is not None:
            tau = self._pushed_by(tau, push)
            if self._is_elastic.any():
                self._arrays["push"][:] = self._push[:, None]
        is_plain = type(tau) is np.ndarray and tau.dtype == np.float64 and tau.shape == self.q.shape
        # One product instead of a test per number: any NaN or infinity spoils it
        if not (is_plain and math.isfinite(tau.dot(tau))):
            tau = vector("tau", tau, self.robot.dof)
        self._wanted[:] = tau[:, None]
        for _ in range(self._parts):
            self._step()
        reported = self._reported.copy()
        if not self._alive.item(0):
            next_q, next_qd = self._arrays["next_q"], self._arrays["next_qd"]
            size = np.maximum(abs(next_q), abs(next_qd))[:, 0]
            worst = np.argmax(np.where(np.isnan(size), np.inf, size))
            raise self._diverged(np.where(np.arange(len(size)) == worst, np.nan, 0.0))
        self._qd_before = self.qd
        n, size = len(tau), self.masses.size
        if size > n:
            self.tau, self.saturated = reported[2 * size :].reshape(2, n)
            super()._put(*reported[: 2 * size].reshape(2, size))
        else:
            rows = reported.reshape(len(REPORTED), n)
            self._x, self._v, self.tau, self.saturated = rows
            self.q, self.qd, self.motor_q, self.motor_qd = self._x, self._v, self._x, self._v
            self.rows = rows[:3]
        self.time += self.step_time


_LIMIT = LoopStage(
    "limit",
    lambda wanted, limit: saturate(wanted, limit)._asdict(),
    reads=("wanted", "limit"),
    writes=Limited._fields,
)


def fastest_plant(robot: Robot, q: npt.ArrayLike | None = None, **options: Any) -> Plant:
    """Return a `CompiledPlant` if possible, else a `Plant`; arguments as of `Plant`."""
    return (Plant if robot.dof > MOST_JOINTS else CompiledPlant)(robot, q, **options)
