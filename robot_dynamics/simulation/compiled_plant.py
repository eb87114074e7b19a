"""CompiledPlant: a `Plant` whose step is machine code; `Plant` says what it does.

It goes through the equations of the lanes of a study, all lanes of the block being this one robot.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from robot_dynamics.arrays import Array, vector
from robot_dynamics.compiler.backends import compile_program
from robot_dynamics.compiler.graph.trace import trace
from robot_dynamics.compiler.native.loop.loop_steps import Step
from robot_dynamics.compiler.native.loop.native_loop import NativeLoop
from robot_dynamics.control.effort_limits import saturate
from robot_dynamics.control.safety import all_finite
from robot_dynamics.errors import ArgumentError, BackendError
from robot_dynamics.robot.kinematic_tree import robot_digest
from robot_dynamics.robot.robot import Robot
from robot_dynamics.simulation.lanes.body_letters import BodyLetters
from robot_dynamics.simulation.lanes.plant_stages import PlantStages
from robot_dynamics.simulation.lanes.stage import fused
from robot_dynamics.simulation.plant import Plant

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
        sizes, seen = stages.sizes, ("next_q", "next_qd")

        def steps() -> tuple[Step, ...]:
            return fused(stages.steps(integrator), sizes, seen)

        loop = NativeLoop(sizes, steps, key)
        memory = loop.memory(1)
        parameters: dict[str, npt.ArrayLike] = {
            "body": letters.values(self.robot),
            "gravity": self.robot.gravity,
            "h": self.step_time,
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
        arrays = ("q", "qd", "tau", "p", "alive", "next_q", "next_qd")
        self._lanes = {name: loop.array(memory, name)[0] for name in arrays}
        self._first = tuple(self._lanes[name][:, 0] for name in ("q", "qd"))
        self._saturate = compiled_saturation(n)
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
        if not (usual and all_finite(tau)):
            tau = vector("tau", tau, self.robot.dof)
        self.tau, self.saturated = self._saturate(tau, self.limit)
        lanes = self._lanes
        lanes["tau"][:] = self.tau[:, None]
        self._step()
        if not lanes["alive"].item(0):
            size = np.maximum(abs(lanes["next_q"]), abs(lanes["next_qd"]))[:, 0]
            worst = np.argmax(np.where(np.isnan(size), np.inf, size))
            raise self._diverged(np.where(np.arange(len(size)) == worst, np.nan, 0.0))
        q, qd = (x.copy() for x in self._first)
        self.qdd = (qd - self.qd) / self.step_time
        self.q, self.qd = q, qd
        self.time += self.step_time


def compiled_saturation(n: int) -> Callable[[Array, Array], tuple[Array, Array]]:
    """`saturate` for n joints; which were cut is 0 or 1."""

    def function(wanted: Array, limit: Array) -> dict[str, Array]:
        return saturate(wanted, limit)._asdict()

    shapes = {"wanted": (n,), "limit": (n,)}
    kernel: Any = compile_program(lambda: trace("saturate", function, shapes), key=f"saturate/{n}")
    return kernel


def fastest_plant(robot: Robot, q: npt.ArrayLike | None = None, **options: Any) -> Plant:
    """A `CompiledPlant` where there can be one, else a `Plant`; arguments as of `Plant`."""
    if robot.dof > MOST_JOINTS:
        return Plant(robot, q, **options)
    try:
        return CompiledPlant(robot, q, **options)
    except BackendError:
        return Plant(robot, q, **options)
