"""The closed loop of one structure as native code, run for a batch of robots.

Each batch member has its own inertias, friction, gains, sensor, seed and reference. All members
share the structure: the geometry, the mode and the integrator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from robot_dynamics.compiler.native.loop.loop_steps import Record
from robot_dynamics.compiler.native.loop.native_loop import NativeLoop
from robot_dynamics.control.controller import Controller
from robot_dynamics.control.elastic_feedforward import drive_reference
from robot_dynamics.control.friction import ELEMENTS, Friction, held, slipped_along
from robot_dynamics.control.model import Model
from robot_dynamics.errors import ArgumentError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot.robot import Robot
from robot_dynamics.simulation.simd.law_stages import LAW, LawStages, LoopStructure
from robot_dynamics.simulation.simd.plant_stages import PlantStages
from robot_dynamics.simulation.simd.pose_errors import POSE_STATISTICS, in_units, pose_table
from robot_dynamics.simulation.simd.stage import fused
from robot_dynamics.simulation.simd.symbolic_inertias import SymbolicInertias
from robot_dynamics.trajectory.trajectory import State, Trajectory

PER_JOINT = ("square_error", "peak_error", "peak_effort", "saturated", "stopped")

STATISTICS = (*PER_JOINT, "counted", "early", "late", "lived", "alive", *POSE_STATISTICS)
"""Results of a member: sums and maxima over the control cycles, computed by `LawStages`.

`counted` is the number of cycles; `early` and `late` are the squared joint speeds, summed with the
two weights of `reference_table`; `lived` is the number of steps before the member diverged, and
`alive` is 0 if it diverged. Those of the end effector are zero without one."""

OPTIONAL: Mapping[str, Mapping[str, float]] = {
    "imperfect_states": {"sensor_delay": 0.0, "deviation": 0.0, "resolution": 0.0},
    "delayed_commands": {"command_delay": 0.0},
    "longer_cycle": {"cycle_steps": 1.0},
    "passive": {"coulomb": 0.0, "stiction": 0.0, "lower": np.inf, "upper": np.inf},
    "stribeck": {"stiction": 0.0},
    "load_or_offset": {"load": 0.0, "offset": 0.0},
    "has_memory": {"memory": 0.0},
}
"""Parameters that a structure may omit, for speed, and the magnitude that it then assumes."""


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
        controller: The controller, whose law and limits act.
        structure: The compiled-in choices.

    Raises:
        UnknownNameError: If there is no such mode or integrator.
        BackendError: If there is no usable llvmlite.
    """

    def __init__(self, controller: Controller, structure: LoopStructure) -> None:
        self.structure = how = structure
        robot = controller.model.dynamics.robot
        self.inertias = SymbolicInertias(robot, base_moves=how.base is not None)
        plant = PlantStages(
            self.inertias,
            passive=how.passive,
            stribeck=how.stribeck,
            load_or_offset=how.load_or_offset,
            has_memory=how.has_memory,
        )
        law = self._law = LawStages(self.inertias, how, controller)
        sizes = plant.sizes | law.sizes
        self._tau = "tau" if how.delayed_commands or how.drives else "last"
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
            parameters: Arrays by name: shape (N, size), (size,) or a number. The settings of the
                step, `law_parameters`, are those of the controller by default.
            references: Tables of motions, shape (m, steps, columns); see `reference_table`.
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
        addresses = tables.ctypes.data + tables.strides[0] * np.asarray(motion, dtype=np.int64)
        keyed = np.asarray(keys, dtype=np.uint64).view(np.float64)
        native.set(memory, "row", _column(addresses.astype(np.int64).view(np.float64)))
        native.set(memory, "key", _column(keyed))
        native.set(memory, "alive", np.ones(1))
        for name, values in {**self._law.numbers, **parameters}.items():
            rows = np.asarray(values, dtype=np.float64)
            native.set(memory, name, rows)
        resolution = native.array(memory, "resolution")
        np.divide(
            1.0, resolution, out=native.array(memory, "inverse_resolution"), where=resolution > 0.0
        )
        deviation = native.array(memory, "deviation")
        native.array(memory, "noisy")[:, 0] = (deviation != 0.0).any(axis=(1, 2))[:, None]
        delays = (native.array(memory, x).max() for x in ("sensor_delay", "command_delay"))
        kept = native.run(
            memory,
            tables.shape[1] if steps is None else steps,
            depth=1 + int(max(delays)),
            record=record,
            threads=threads,
            done=done,
        )
        if record:
            kept["tau"] = kept.pop(self._tau)
            for name in ("q", "qd"):
                kept[name] = kept[name][..., : self.inertias.arm.dof]
        results = in_units({name: native.get(memory, name, count) for name in STATISTICS})
        return BatchResult(results, {name: values[:, :count] for name, values in kept.items()})

    def _check(self, parameters: Mapping[str, Any]) -> None:
        unknown = set(parameters) - set(self.native.sizes)
        if unknown:
            raise ArgumentError(
                f"no parameter '{min(unknown)}'; choose among {', '.join(self.native.sizes)}"
            )
        for name in parameters.keys() & self._law.constant.keys():
            constant, number = self._law.constant[name], self._law.numbers[name]
            if (np.atleast_2d(parameters[name])[:, constant] != number[constant]).any():
                raise ArgumentError(
                    f"{name} differs from the number that was compiled in; "
                    f"take LoopStructure(varied=({name.removeprefix(LAW)!r},))"
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


Parameters = dict[str, Array]


def plant_parameters(
    inertias: SymbolicInertias, friction: Friction, *, stops: bool, step: float
) -> Parameters:
    """Return the parameters of the plant as in the URDF, shared by all members; see `Plant`."""
    robot, n = inertias.robot, inertias.arm.dof
    unbounded = np.full(n, np.inf)
    return {
        "body": inertias.values(robot),
        "gravity": robot.gravity,
        "h": np.array([step]),
        "viscous": np.broadcast_to(friction.viscous, (n,)),
        "coulomb": np.broadcast_to(friction.coulomb, (n,)),
        "stiction": np.broadcast_to(friction.stiction, (n,)),
        "stribeck": np.broadcast_to(friction.stribeck, (n,)),
        "lower": robot.limits.lower if stops else -unbounded,
        "upper": robot.limits.upper if stops else unbounded,
        "cycle_steps": np.ones(1),
        **_springs(robot),
        **(
            {"load": friction.load, "offset": friction.offset}
            if friction.has_load_or_offset
            else {}
        ),
        **(_memory(friction, n) if friction.has_memory else {}),
    }


def _springs(robot: Robot) -> Parameters:
    elastic, springs = list(robot.elastic_joints), robot.joint_elasticity
    if not elastic:
        return {}
    return {"stiffness": springs.stiffness[elastic], "spring_damping": springs.damping[elastic]}


def _memory(friction: Friction, n: int) -> Parameters:
    slip, elastic = (np.broadcast_to(x, (ELEMENTS, n)).ravel() for x in friction.elements)
    return {"memory": np.broadcast_to(friction.memory, (n,)), "slip": slip, "elastic": elastic}


def reference_table(
    model: Model,
    structure: LoopStructure,
    motion: Trajectory,
    t: Array,
    windows: Array,
    base: Array | None = None,
) -> Array:
    """Return the reference of the law in every step, shape (N, 4 n + 2), or more: see `ROWS`.

    Args:
        model: The law's model of the robot.
        structure: Its mode is used, and its end effector, if it has one.
        motion: Desired motion.
        t: Times of the steps, shape (N,), s.
        windows: Weights of the squared speed in `early` and `late` of `STATISTICS`, shape (N, 2).
        base: Motion of a base that moves as `base_motions.in_steps`, shape (N, 45).
    """
    if structure.base == "motion" and base is not None:
        model = replace(model, base=base[:, :15])
    state = motion.sample(t)
    q, qd, qdd = (np.ascontiguousarray(x) for x in state)
    loaded = model.friction is not None and bool(model.friction.load.any())
    load = model.inverse(q, qd, qdd) if loaded else None
    directions = _directions(model, q)
    presliding = None if directions is None else held(directions, qd, model.friction_width)
    effort = np.broadcast_to(model.friction_effort(qd, load, presliding), qd.shape)
    if structure.mode == "feedforward":
        effort = effort + (model.inverse(q, qd, qdd) if load is None else load)
    end_effector = structure.end_effector
    columns = [q, qd, qdd, effort, windows]
    columns += [] if end_effector is None else [pose_table(model, end_effector, State(q, qd, qdd))]
    columns += [] if directions is None else [directions]
    if model.dynamics.robot.elastic_joints:
        columns += _of_drives(model, structure, motion, t)
    return np.concatenate(columns if base is None else [*columns, base], axis=1)


def _of_drives(model: Model, structure: LoopStructure, motion: Trajectory, t: Array) -> list[Array]:
    """Return the reference of the drives of elastic joints, shape (N, n) each: q, qd and efforts.

    The efforts are those of the middle of a step, for which they are held.
    """
    middle = t + (t[1] - t[0]) / 2.0 if len(t) > 1 else t
    found = [
        drive_reference(
            model, motion.sample(at), motion.higher(at) if motion.smoothness == 4 else None
        )
        for at in (t, middle)
    ]
    return [found[0].q, found[0].qd, found[1].tau]


def _directions(model: Model, q: Array) -> Array | None:
    """Return the presliding directions of friction on a motion, shape of q."""
    if model.friction is None or not model.friction.has_memory:
        return None
    slip, elastic = (x.ravel() for x in model.friction.elements)
    states = slipped_along(np.tile(q, ELEMENTS), slip, elastic)
    return np.asarray(states.reshape(len(q), ELEMENTS, -1).mean(axis=1))


def first_efforts(model: Model, motions: Sequence[Trajectory]) -> Array:
    """Return the efforts that hold the arm at the start of every motion, shape (m, n)."""
    return np.array([model.gravity(np.array(motion.sample(0.0).q)) for motion in motions])
