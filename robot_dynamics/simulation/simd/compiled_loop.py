"""The closed loop of one structure as native code, run for a batch of robots.

Each batch member has its own inertias, friction, gains, sensor, seed and reference. All members
share the structure: the geometry, the mode and the integrator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from robot_dynamics.compiler.native.loop.loop_steps import Record
from robot_dynamics.compiler.native.loop.native_loop import NativeLoop
from robot_dynamics.control.laws import MODES
from robot_dynamics.errors import ArgumentError, check_known
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot.robot import Robot
from robot_dynamics.simulation.simd.law_stages import LawStages
from robot_dynamics.simulation.simd.plant_stages import PlantStages
from robot_dynamics.simulation.simd.stage import fused
from robot_dynamics.simulation.simd.symbolic_inertias import SymbolicInertias

BATCH_INTEGRATORS = ("semi_implicit_euler", "runge_kutta")
"""Integrators of a compiled loop."""

PARAMETERS = (
    *("body", "gravity", "h", "viscous", "coulomb", "stiction", "stribeck", "lower", "upper"),
    *("rotor", "model_body", "model_gravity", "model_rotor", "kp", "kd", "ki", "i_clamp"),
    *("bandwidth", "damping_ratio", "limit", "effort_rate", "every", "sensor_delay"),
    *("command_delay", "deviation", "resolution", "last", "q", "qd", "load", "offset"),
)
"""Parameters of a batch: one row per member, or one for all."""

PER_JOINT = ("square_error", "peak_error", "peak_effort", "saturated", "stopped")

STATISTICS = (*PER_JOINT, "counted", "early", "late", "lived", "alive")
"""Results of a member: sums and maxima over the control cycles."""

OPTIONAL: Mapping[str, Mapping[str, float]] = {
    "sensed": {"sensor_delay": 0.0, "deviation": 0.0, "resolution": 0.0},
    "sent": {"command_delay": 0.0},
    "every": {"every": 1.0},
    "passive": {"coulomb": 0.0, "stiction": 0.0, "lower": np.inf, "upper": np.inf},
    "stribeck": {"stiction": 0.0},
    "uneven": {"load": 0.0, "offset": 0.0},
}
"""Parameters that a structure may omit, for speed, and the magnitude that this stands for."""


@dataclass(frozen=True)
class LoopStructure:
    """The compiled-in choices of a loop.

    Args:
        mode: One of `control.MODES`.
        integrator: One of `BATCH_INTEGRATORS`.
        coupled: As of `Model`.
        integral: Whether the law has an integral part.
        stribeck: Whether friction at rest may exceed that of sliding.
        uneven: Whether friction may grow with the load, or have an offset.
        passive: Whether joints have dry friction or stops.
        sensed: Whether states are measured late, with noise or in steps.
        sent: Whether commands are on their way for a time.
        every: Whether the control period may be longer than a step of the plant.
        shared: Whether all members follow one motion.
    """

    mode: str = "feedforward"
    integrator: str = "semi_implicit_euler"
    coupled: bool = False
    integral: bool = False
    stribeck: bool = False
    uneven: bool = False
    passive: bool = True
    sensed: bool = True
    sent: bool = True
    every: bool = True
    shared: bool = False

    def __post_init__(self) -> None:
        check_known("mode", self.mode, "robot_dynamics.control", MODES)
        check_known("integrator", self.integrator, "a compiled loop", BATCH_INTEGRATORS)


@dataclass(frozen=True, eq=False)
class BatchResult:
    """Results of N batch members.

    Args:
        statistics: By the names of `STATISTICS`, shape (N, n) or (N, 1) each.
        record: q, qd and tau of every step, shape (steps, N, n) each, if requested.
    """

    statistics: Mapping[str, Array]
    record: Mapping[str, Array] = field(default_factory=dict)


class CompiledLoop:
    """The closed loop of one structure.

    Args:
        robot: A robot of that structure. Only its geometry is used, not its inertias.
        structure: The compiled-in choices.

    Raises:
        UnknownNameError: If there is no such mode or integrator.
        BackendError: If there is no usable llvmlite.
    """

    def __init__(self, robot: Robot, structure: LoopStructure | None = None) -> None:
        self.robot, self.structure = robot, structure or LoopStructure()
        how = self.structure
        self.inertias = SymbolicInertias(robot)
        plant = PlantStages(
            self.inertias, passive=how.passive, stribeck=how.stribeck, uneven=how.uneven
        )
        law = LawStages(
            self.inertias,
            how.mode,
            coupled=how.coupled,
            integral=how.integral,
            sensed=how.sensed,
            sent=how.sent,
            every=how.every,
            passive=how.passive,
            shared=how.shared,
        )
        sizes = plant.sizes | law.sizes
        self._tau = "tau" if how.sent else "last"
        items = (*law.before(), *plant.steps(how.integrator), Record((self._tau,)))
        self.steps = fused(items, sizes, STATISTICS)
        self.native = NativeLoop(sizes, self.steps)

    def run(
        self,
        parameters: Mapping[str, Any],
        references: Array,
        motion: Array,
        keys: Array,
        *,
        steps: int | None = None,
        record: bool = False,
        threads: int = 1,
        done: Callable[[int], None] | None = None,
    ) -> BatchResult:
        """Run N members through all steps.

        Args:
            parameters: By the names of `PARAMETERS`: shape (N, size), (size,) or a number.
            references: Tables of motions (`ROWS` and two weights), shape (m, steps, 4 n + 2).
            motion: Index of the motion that each member follows, shape (N,).
            keys: Streams of noise, shape (N,), 64-bit integers.
            steps: Number of steps; by default all of the tables.
            record: Whether to record every step.
            threads: Threads that share the members.
            done: Called with the number of blocks finished since the last call.

        Raises:
            ArgumentError: If a parameter is unknown, or the structure omits it.
        """
        self._check(parameters)
        if self.structure.shared and len(references) != 1:
            raise ArgumentError("references: the loop was compiled for one motion; give one table")
        native, count = self.native, len(keys)
        memory = native.memory(count)
        tables = np.ascontiguousarray(references, dtype=np.float64)
        bits = tables.ctypes.data + tables.strides[0] * np.asarray(motion, dtype=np.int64)
        keyed = np.asarray(keys, dtype=np.uint64).view(np.float64)
        native.set(memory, "row", _column(bits.astype(np.int64).view(np.float64)))
        native.set(memory, "key", _column(keyed))
        native.set(memory, "alive", np.ones(1))
        for name, values in parameters.items():
            rows = np.asarray(values, dtype=np.float64)
            native.set(memory, name, rows)
        resolution = native.array(memory, "resolution")
        np.divide(1.0, resolution, out=native.array(memory, "fineness"), where=resolution > 0.0)
        deviation = native.array(memory, "deviation")
        native.array(memory, "noisy")[:, 0] = (deviation != 0.0).any(axis=(1, 2))[:, None]
        late = max(float(native.array(memory, x).max()) for x in ("sensor_delay", "command_delay"))
        kept = native.run(
            memory,
            tables.shape[1] if steps is None else steps,
            depth=1 + int(late),
            record=record,
            threads=threads,
            done=done,
        )
        if record:
            kept["tau"] = kept.pop(self._tau)
        results = {name: native.get(memory, name, count) for name in STATISTICS}
        return BatchResult(results, {name: values[:, :count] for name, values in kept.items()})

    def _check(self, parameters: Mapping[str, Any]) -> None:
        unknown = set(parameters) - set(PARAMETERS)
        if unknown:
            raise ArgumentError(
                f"no parameter '{min(unknown)}'; choose among {', '.join(PARAMETERS)}"
            )
        for choice, names in OPTIONAL.items():
            for name, absent in names.items():
                given = np.abs(parameters.get(name, absent))
                if not getattr(self.structure, choice) and np.any(given != absent):
                    raise ArgumentError(
                        f"{name} is given, but the loop was compiled without; "
                        f"take LoopStructure({choice}=True)"
                    )


def _column(values: Array) -> Array:
    return values.reshape(-1, 1)
