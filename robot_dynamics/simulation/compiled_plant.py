"""CompiledPlant: a `Plant` whose step is machine code; `Plant` says what it does.

It goes through the equations of the lanes of a study, all lanes of the block being this one robot.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from robot_dynamics.arrays import Array, vector
from robot_dynamics.compiler.native.loop.loop_steps import Step
from robot_dynamics.compiler.native.loop.native_loop import NativeLoop
from robot_dynamics.control.effort_limits import Limited, saturate
from robot_dynamics.errors import ArgumentError, BackendError
from robot_dynamics.robot.kinematic_tree import robot_digest
from robot_dynamics.robot.robot import Robot
from robot_dynamics.simulation.lanes.body_letters import BodyLetters
from robot_dynamics.simulation.lanes.plant_stages import PlantStages
from robot_dynamics.simulation.lanes.stage import Stage, fused
from robot_dynamics.simulation.plant import Plant

TOLD = ("q", "qd", "tau", "cut")
"""What a step tells, each with an entry per joint."""

MOST_JOINTS = 10
"""Robots of more joints take long to compile, for what a step saves."""


class CompiledPlant(Plant):
    """A plant that steps in microseconds.

    Its motion is that of `Plant` to rounding, but for positions and speeds beyond 1e4 rad or rad/s
    taken together, which count as diverged.

    Args:
        robot: As of `Plant`, with at most `MOST_JOINTS` joints.
        q: As of `Plant`.
        options: As of `Plant`.

    Raises:
        ArgumentError: If it has more joints.
        BackendError: If there is no usable llvmlite.
    """

    def __init__(self, robot: Robot, q: npt.ArrayLike | None = None, **options: Any) -> None:
        if robot.dof > MOST_JOINTS:
            raise ArgumentError(
                f"robot '{robot.name}' has {robot.dof} joints; a CompiledPlant takes at most "
                f"{MOST_JOINTS}; use Plant"
            )
        self._letters = BodyLetters(robot)
        self._lanes: dict[str, Array] = {}
        super().__init__(robot, q, **options)
        self._compile("semi_implicit_euler" if self._by_impulse else "runge_kutta")

    def _compile(self, integrator: str) -> None:
        letters, friction, n = self._letters, self.friction, self.robot.dof
        stribeck = bool(friction.stiction.any())
        uneven = friction.is_uneven
        stages = PlantStages(letters, stribeck=stribeck, uneven=uneven)
        anybody = letters.robot_with(np.ones(len(letters)), np.ones(3))
        key = f"plant {robot_digest(anybody)} {letters.names} {integrator} {stribeck} {uneven}"
        # What is told comes first, side by side, so that one copy takes it
        sizes = dict.fromkeys(TOLD, n) | stages.sizes | {"wanted": n, "limit": n}
        seen = ("next_q", "next_qd", "tau", "cut")

        def steps() -> tuple[Step, ...]:
            return fused((_LIMIT, *stages.steps(integrator)), sizes, seen)

        loop = NativeLoop(sizes, steps, f"limited {key}")
        memory = loop.memory(1)
        parameters: dict[str, npt.ArrayLike] = {
            "body": letters.values(self.robot),
            "gravity": self.robot.gravity,
            "h": self.step_time,
            "limit": self.limit,
            "viscous": friction.viscous,
            "coulomb": friction.coulomb,
            "stiction": friction.stiction,
            "stribeck": friction.stribeck,
            "lower": self._lower,
            "upper": self._upper,
            "rotor": np.zeros(n) if self._rotors is None else self._rotors.diagonal(),
        }
        if uneven:
            parameters |= {"load": friction.load, "offset": friction.offset}
        for name, values in parameters.items():
            loop.set(memory, name, np.asarray(values))
        arrays = ("q", "qd", "p", "alive", "next_q", "next_qd")
        self._lanes = {name: loop.array(memory, name)[0] for name in arrays}
        self._wanted, self._alive = loop.array(memory, "wanted")[0], self._lanes["alive"]
        self._told = memory[0, : len(TOLD) * n, 0].reshape(len(TOLD), n)
        self._step = loop.stepper(memory)
        self._place()

    def _place(self) -> None:
        """Have all lanes stand where the robot stands."""
        for name, values in (("q", self.q), ("qd", self.qd)):
            self._lanes[name][:] = values[:, None]
        self._lanes["p"][:], self._lanes["alive"][:] = 0.0, 1.0

    def reset(self, q: npt.ArrayLike, qd: npt.ArrayLike | None = None) -> None:
        """See `Plant.reset`."""
        super().reset(q, qd)
        if self._lanes:
            self._place()

    def step(self, tau: Array) -> None:
        """See `Plant.step`."""
        usual = type(tau) is np.ndarray and tau.dtype == np.float64 and tau.shape == self.q.shape
        # One product instead of a test per number: any NaN or infinity spoils it
        if not (usual and math.isfinite(tau.dot(tau))):
            tau = vector("tau", tau, self.robot.dof)
        self._wanted[:] = tau[:, None]
        self._step()
        told = self._told.copy()
        q, qd, self.tau, self.saturated = told
        if not self._alive.item(0):
            next_q, next_qd = self._lanes["next_q"], self._lanes["next_qd"]
            size = np.maximum(abs(next_q), abs(next_qd))[:, 0]
            worst = np.argmax(np.where(np.isnan(size), np.inf, size))
            raise self._diverged(np.where(np.arange(len(size)) == worst, np.nan, 0.0))
        self._qd_before, self.q, self.qd = self.qd, q, qd
        self.rows = told[:3]
        self.time += self.step_time


_LIMIT = Stage(
    "limit",
    lambda wanted, limit: saturate(wanted, limit)._asdict(),
    reads=("wanted", "limit"),
    writes=Limited._fields,
)


def fastest_plant(robot: Robot, q: npt.ArrayLike | None = None, **options: Any) -> Plant:
    """A `CompiledPlant` where there can be one, else a `Plant`; arguments as of `Plant`."""
    if robot.dof > MOST_JOINTS:
        return Plant(robot, q, **options)
    try:
        return CompiledPlant(robot, q, **options)
    except BackendError:
        return Plant(robot, q, **options)
