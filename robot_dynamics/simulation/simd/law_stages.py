"""Sensor, control law and bookkeeping of one step, for all batch members.

Law and command are those of the step of the controller, traced for an arm that tracks. Its settings
are inputs, as far as they are not zero, infinite or one for all members.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from robot_dynamics.compiler.graph.piecewise import maximum, rounded, select
from robot_dynamics.compiler.native.loop.loop_steps import (
    LookUp,
    Normals,
    Recall,
    Record,
    Remember,
    When,
)
from robot_dynamics.control.arm import Arm
from robot_dynamics.control.command import command
from robot_dynamics.control.controller import Controller
from robot_dynamics.control.fields import Facts
from robot_dynamics.control.intake import LOADS
from robot_dynamics.control.laws import (
    ALL_MODES,
    FEEDFORWARD,
    INERTIA_WEIGHTED,
    LAWS,
    Measured,
    position_error,
)
from robot_dynamics.control.limits import LARGEST_FINITE
from robot_dynamics.control.model import continuous_joints
from robot_dynamics.control.motion import later
from robot_dynamics.control.step import Step
from robot_dynamics.control.step_kernels import key_of, laws_of
from robot_dynamics.control.tracking import facts_of, law_of
from robot_dynamics.control.two_masses import TwoMasses
from robot_dynamics.errors import ArgumentError, check_known
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.kinematics import frame_pose
from robot_dynamics.simulation.drive_loop import LoopGains
from robot_dynamics.simulation.simd.drive_stages import COMMANDED, DriveSettings, drive_stage
from robot_dynamics.simulation.simd.plant_stages import BASE_SIZE, base_row, where
from robot_dynamics.simulation.simd.pose_errors import (
    POSE_STATISTICS,
    REFERENCE_SIZE,
    angle_square,
    pose_error_of,
    reference_rows,
)
from robot_dynamics.simulation.simd.stage import Item, LoopStage
from robot_dynamics.simulation.simd.symbolic_inertias import SymbolicInertias

BATCH_INTEGRATORS = ("semi_implicit_euler", "runge_kutta")
"""Integrators of a compiled loop."""

ROWS = ("q", "qd", "qdd", "effort")
"""Columns of a reference table for every joint, in this order; two weights follow,
`pose_errors.REFERENCE_ROWS` if there is an end effector, the directions that the friction of the
model remembers if it does, the `DriveReference` of elastic joints, and `plant_stages.BASE_SIZE` if
the base moves."""

SIDE = ("side_q", "side_qd")
"""State of elastic joints on the side of their encoders."""

LAW = "law_"
"""Prefix of the arrays with settings of the step, and of the one with its load."""

HELD, OWN_INERTIA = ("commanded_position", "commanded_velocity"), "own_inertia"
"""Arrays with commands to drives beside their efforts, and with the inertias that joints move."""

SCALED = ("kp", "kd", "ki", "i_clamp", "bandwidth", "task_root", "task_damping", "effort")
"""Settings of which a one is not a constant: factors may change them."""

KNOWN_BASES = ("motion", "still")
"""Knowledge of a base that moves: its motion, or none, so that a law takes the base for still."""

AT_STOP = 1e-9
"""Distance from a position limit within which a joint lies at its stop, rad or m."""


@dataclass(frozen=True)
class LoopStructure:
    """The compiled-in choices of a loop.

    Args:
        mode: One of `control.laws.ALL_MODES`.
        integrator: One of `BATCH_INTEGRATORS`.
        stribeck: Whether friction at rest may exceed that of sliding.
        load_or_offset: Whether friction may grow with the load, or have an offset.
        passive: Whether joints have dry friction or stops.
        has_memory: Whether friction may have a presliding part; only with `passive`.
        imperfect_states: Whether states are measured late, with noise or in steps.
        delayed_commands: Whether commands are on their way for a time.
        longer_cycle: Whether the control period may be longer than a step of the plant.
        shared: Whether all members follow one motion.
        end_effector: Link or frame whose error is measured and which modes in task space lead.
        base: One of `KNOWN_BASES` if the base moves, as the law knows it.
        drives: Whether drives close the loop, in every step of the plant.
        varied: Settings of the step that are inputs although they are zero, infinite or one.
    """

    mode: str = "feedforward"
    integrator: str = "semi_implicit_euler"
    stribeck: bool = False
    load_or_offset: bool = False
    passive: bool = True
    has_memory: bool = False
    imperfect_states: bool = True
    delayed_commands: bool = True
    longer_cycle: bool = True
    shared: bool = False
    end_effector: str | None = None
    base: str | None = None
    drives: bool = False
    varied: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_known("mode", self.mode, "robot_dynamics.control", ALL_MODES)
        check_known("integrator", self.integrator, "a compiled loop", BATCH_INTEGRATORS)
        if self.base is not None:
            check_known("knowledge of the base", self.base, "a compiled loop", KNOWN_BASES)
        if self.in_task_space and self.end_effector is None:
            raise ArgumentError(f"mode '{self.mode}' leads an end effector; give the structure one")

    @property
    def in_task_space(self) -> bool:
        """Return whether the law leads the end effector."""
        return ALL_MODES[self.mode].in_task_space


@dataclass(frozen=True)
class ArmOnMotion(Arm):
    """An arm along a known motion: a table holds the accelerations and the friction of it.

    Args:
        qdd: Accelerations of the motion, shape (n,), rad/s^2 or m/s^2.
        friction: Efforts that compensate friction on it, shape (n,), N m or N; None to compute
            them, which a velocity or an effort beside the motion requires.
    """

    qdd: Any = None
    friction: Any = None

    def forward(self, q: Array, qd: Array, tau: Array, damping: Array | None = None) -> Array:
        """Return the accelerations of the motion, whose efforts are those of the model."""
        return np.asarray(self.qdd)

    def without_friction(self, qd: Array, tau: Array) -> Array:
        """Return the efforts unchanged, because `forward` does not use them."""
        return tau

    def friction_effort(self, qd: Array, tau: Array) -> Array:
        """Return the effort that compensates friction, shape (n,)."""
        return super().friction_effort(qd, tau) if self.friction is None else self.friction


class StepOnMotion(Step):
    """The step of an arm along a known motion."""

    def _arm(self, x: Facts) -> Arm:
        arm = super()._arm(x)
        parts = {part.name: getattr(arm, part.name) for part in fields(arm)}
        return ArmOnMotion(**parts, qdd=x.desired[2], friction=x.table_friction)


class LawStages:
    """Sensor, law of one mode and statistics of one structure.

    Args:
        inertias: Base parameters of the structure.
        structure: The compiled-in choices.
        controller: The controller in that mode.
    """

    def __init__(
        self, inertias: SymbolicInertias, structure: LoopStructure, controller: Controller
    ) -> None:
        self.inertias, self.how, self.n = inertias, structure, inertias.arm.dof
        self._continuous = continuous_joints(inertias.robot)
        self._mode, self._model = ALL_MODES[structure.mode], controller.model
        step = controller.run_of_step.kernels.step
        self._step = StepOnMotion(step.n, step.equations, step.end_effector, step.projector)
        number = LAWS.index(structure.mode)
        inertia_weighted = controller.model.inertia_weighted and not structure.drives
        self._number = law_of(number, inertia_weighted=inertia_weighted)
        self.numbers = law_parameters(controller)
        self.constant = constants_of(controller, structure)
        lasting = ("ki", "integral_time")
        never = all(self.constant[f"{LAW}{name}"].all() for name in lasting)
        self.integrates = self._mode.feedback and not never
        n, end_effector = self.n, REFERENCE_SIZE if structure.end_effector else 0
        has_memory = controller.model.friction is not None and controller.model.friction.has_memory
        self._end_effector = slice(4 * n + 2, 4 * n + 2 + end_effector)
        self._directions = slice(
            self._end_effector.stop, self._end_effector.stop + (n if has_memory else 0)
        )
        self._masses = TwoMasses.of(inertias.robot)
        of_drives = 3 * n if self._masses.joints else 0
        self._of_drives = slice(self._directions.stop, self._directions.stop + of_drives)

    @property
    def sizes(self) -> dict[str, int]:
        """Arrays of sensor, law and statistics, and their numbers of entries."""
        n, one = self.n, 1
        state = ("integral", "last", "saturation", "seen_q", "seen_qd", "measured_q", "measured_qd")
        statistics = ("square_error", "peak_error", "peak_effort", "saturated", "stopped")
        single = (
            *("cycle_steps", "wait", "due", "row", "key", "turn", "noisy"),
            *("sensor_delay", "command_delay", "counted", "early", "late", "lived"),
        )
        return {
            "reference": self._of_drives.stop + (BASE_SIZE if self.how.base else 0),
            "noise": 2 * n,
            "deviation": 2 * n,
            "resolution": 2 * n,
            "inverse_resolution": 2 * n,
            **dict.fromkeys((*state, *statistics), n),
            **dict.fromkeys((*single, *POSE_STATISTICS), one),
            **dict.fromkeys(SIDE if self._masses.joints else (), n),
            **dict.fromkeys((*HELD, *COMMANDED, OWN_INERTIA) if self.how.drives else (), n),
            **{name: len(constant) for name, constant in self.constant.items()},
        }

    def before(self) -> tuple[Item, ...]:
        """Return the steps from the state to the efforts that act on the plant."""
        read: tuple[Item, ...] = (self._see(),)
        kept: tuple[Item, ...] = ()
        if self._masses.joints:
            kept = (self._encode(),)
        if self.how.imperfect_states:
            kept = (*kept, Remember("states", self._side))
            late = When("sensor_delay", (Recall("states", "sensor_delay", ("seen_q", "seen_qd")),))
            noise = When("noisy", (Normals("noise", "key", "turn"),))
            read = (*read, late, noise, self._measure())
        cycle: tuple[Item, ...] = (*read, self._law())
        cycle = (
            (self._timing(), *kept, When("due", cycle))
            if self.how.longer_cycle
            else (*kept, *cycle)
        )
        acting: tuple[Item, ...] = (self._act(),)
        if self.how.delayed_commands:
            recall = Recall("commands", "command_delay", self._acting)
            acting = (
                Remember("commands", self._commands),
                *acting,
                When("command_delay", (recall,)),
            )
        if self.how.drives:
            acting = (*acting, self._drive())
        row = LookUp("reference", "row", self.how.shared)
        return (Record(("q", "qd")), row, *cycle, *acting, self._observe())

    def _see(self) -> LoopStage:
        """Copy the true state, which is the measured one without a sensor."""
        name = "seen" if self.how.imperfect_states else "measured"

        def function(**x: Array) -> dict[str, Any]:
            return dict(zip((f"{name}_q", f"{name}_qd"), (x[y] for y in self._side), strict=True))

        return LoopStage("see", function, self._side, (f"{name}_q", f"{name}_qd"))

    @property
    def _side(self) -> tuple[str, str]:
        """Arrays of the true state that encoders measure."""
        return SIDE if self._masses.joints else ("q", "qd")

    def _encode(self) -> LoopStage:
        """Take the side of elastic joints that encoders measure."""
        encoders = self._model.encoders

        def function(q: Array, qd: Array) -> dict[str, Any]:
            return dict(zip(SIDE, self._masses.measured(q, qd, encoders), strict=True))

        return LoopStage("encode", function, ("q", "qd"), SIDE)

    def _timing(self) -> LoopStage:
        """Test whether a control period begins in this step."""

        def function(wait: Array, cycle_steps: Array) -> dict[str, Any]:
            due = select(wait[0], 0.5, 1.0, 0.0)
            left = select(wait[0], 0.5, cycle_steps[0], wait[0]) - 1.0
            return {"due": np.array([due]), "wait": np.array([left])}

        return LoopStage("timing", function, ("wait", "cycle_steps"), ("due", "wait"))

    def _measure(self) -> LoopStage:
        """Add noise and quantise."""
        n = self.n

        def function(**x: Array) -> dict[str, Any]:
            true = np.concatenate([x["seen_q"], x["seen_qd"]])
            noisy = true + x["deviation"] * x["noise"]
            steps = zip(noisy, x["resolution"], x["inverse_resolution"], strict=True)
            read = np.array([quantised(*one) for one in steps])
            return {"measured_q": read[:n], "measured_qd": read[n:]}

        reads = ("seen_q", "seen_qd", "deviation", "noise", "resolution", "inverse_resolution")
        return LoopStage("measure", function, reads, ("measured_q", "measured_qd"))

    def _law(self) -> LoopStage:
        """Compute the command of a control period by the law and the command of the step."""
        stage, kept = laws_of(self._step)[self._number], [*self._commands, "saturation"]
        kept += ["integral"] if self.integrates else []
        fields_of = {"last": "tau"}

        def function(**x: Array) -> dict[str, Any]:
            facts = self._facts(x)
            facts.learn(stage.function(facts))
            found = command(facts)
            due = x["due"][0] if self.how.longer_cycle else 1.0
            results: dict[str, Any] = {
                name: where(due, found[fields_of.get(name, name)], x[name]) for name in kept
            }
            if self.how.imperfect_states:
                results["turn"] = x["turn"] + due
            return results

        reads = (
            *("reference", "measured_q", "measured_qd", "cycle_steps", "h"),
            *(name for name, constant in self.constant.items() if not constant.all()),
            *kept,
            *((OWN_INERTIA,) if self.how.drives else ()),
            *(("due",) if self.how.longer_cycle else ()),
            *(("turn",) if self.how.imperfect_states else ()),
        )
        return LoopStage(
            "law", function, reads, (*kept, *(("turn",) if self.how.imperfect_states else ()))
        )

    def _facts(self, x: Mapping[str, Array]) -> Facts:
        """Return the facts of a cycle that tracks: nothing fades, is lost, or is watched."""
        step, n = self._step, self.n
        row = x["reference"]
        rows = [row[i * n : (i + 1) * n] for i in range(len(ROWS))]
        if self._masses.joints:
            rows[0], rows[1], tau = np.split(row[self._of_drives], 3)
            rows[3] = tau if self._number in (FEEDFORWARD, INERTIA_WEIGHTED) else rows[3]
        known: dict[str, Any] = {}
        for layout in (step.state, step.arrived):
            initial = layout.initial()
            known |= {name: layout.of(initial, name) for name in layout}
        for name in step.settings:
            shape = step.settings.shapes[name]
            entries = self._entries(f"{LAW}{name}", x).reshape(shape)
            known[name] = entries if shape else entries[()]
        measured = Measured(x["measured_q"], x["measured_qd"])
        error = position_error(rows[0], measured.q, self._continuous)
        period = x["cycle_steps"][0] * x["h"][0]
        known |= {
            **facts_of(self._number, self._mode, rows[:3], measured, error),
            "edition": known["settings_edition"],
            "fade_began": 0.0,
            "dt": period,
            "longest_cycle": period,
            "reference_tau": rows[3],
            "has_tau": float(self._number in (FEEDFORWARD, INERTIA_WEIGHTED)),
            "table_friction": None,
            "tau": x["last"],
            "total": x["last"],
            "saturation": x["saturation"],
            "load": self._entries(f"{LAW}load", x),
            "continuous": step.continuous,
        }
        if self.integrates:
            known["integral"] = x["integral"]
        if self._directions.stop > self._directions.start:
            known["direction"] = row[self._directions]
        if step.equations.base_moves:
            known["base"] = base_row(row)
        if self._mode.in_task_space:
            known |= {f"target_{k}": v for k, v in reference_rows(row[self._end_effector]).items()}
            known |= {"posture": rows[0], "along": 1.0, "task_fast": np.full(n, LARGEST_FINITE)}
            known["task_held"] = known["task_held"].astype(object)  # symbols are written into it
        elif self.how.drives:
            # The command of the middle of a period, for which the drives hold it, as in `move`
            known |= {"desired": later(known["desired"], period / 2.0), "has_tau": 0.0}
            known[OWN_INERTIA] = x[OWN_INERTIA]
        elif self._model.friction is None or not self._model.friction.load.any():
            known["table_friction"] = rows[3]  # not of use to laws that take the whole effort
        return Facts(known)

    def _entries(self, name: str, x: Mapping[str, Array]) -> Array:
        """Return the numbers of the law, of which those that are the same in all are constants."""
        constant, numbers = self.constant[name], self.numbers[name]
        finite = np.clip(numbers, -LARGEST_FINITE, LARGEST_FINITE)
        return finite if constant.all() else np.where(constant, finite, x[name])

    @property
    def _commands(self) -> tuple[str, ...]:
        """Arrays of the commands."""
        return (*HELD, "last") if self.how.drives else ("last",)

    @property
    def _acting(self) -> tuple[str, ...]:
        """Arrays of the commands that arrive."""
        return COMMANDED if self.how.drives else ("tau",)

    def _act(self) -> LoopStage:
        """Pass the commands on."""

        def function(**x: Array) -> dict[str, Any]:
            return dict(zip(self._acting, (x[name] for name in self._commands), strict=True))

        return LoopStage("act", function, self._commands, self._acting)

    def _drive(self) -> LoopStage:
        """Close the loop in the drives."""
        names = tuple(f"{LAW}{name}" for name in ("kp", "kd", "drive_velocity", "effort"))

        def settings(x: Mapping[str, Array]) -> DriveSettings:
            kp, kd, takes, limit = (self._entries(name, x) for name in names)
            return DriveSettings(LoopGains(kp, kd), takes[0], limit)

        return drive_stage(settings, [name for name in names if not self.constant[name].all()])

    def _observe(self) -> LoopStage:
        """Add the true state to the statistics in every control period."""
        n, end_effector = self.n, self.how.end_effector

        def function(**x: Array) -> dict[str, Any]:
            counts = x["alive"][0] * (x["due"][0] if self.how.longer_cycle else 1.0)
            q, qd = x["q"][:n], x["qd"][:n]
            e = position_error(x["reference"][:n], q, self._continuous)
            speed = qd @ qd
            early, late = x["reference"][4 * n : 4 * n + 2]
            found = {
                "square_error": x["square_error"] + counts * (e * e),
                "peak_error": _largest(x["peak_error"], counts, e),
                "peak_effort": _largest(x["peak_effort"], counts, x["tau"]),
                "saturated": x["saturated"] + counts * x["saturation"],
                "counted": x["counted"] + counts,
                "early": x["early"] + np.array([counts * early * speed]),
                "late": x["late"] + np.array([counts * late * speed]),
                "lived": x["lived"] + x["alive"],
            }
            if self.how.passive:
                at_stop = [
                    maximum(select(q, low + AT_STOP, 1.0, 0.0), select(high - AT_STOP, q, 1.0, 0.0))
                    for q, low, high in zip(x["q"][:n], x["lower"], x["upper"], strict=True)
                ]
                found["stopped"] = x["stopped"] + counts * np.array(at_stop)
            if end_effector is not None:
                desired = reference_rows(x["reference"][self._end_effector])
                pose = frame_pose(self.inertias.arm, x["q"][:n], end_effector)
                away, s = pose_error_of(desired["rotation"], desired["position"], *pose)
                for part, size, square in (
                    ("position", away, away),
                    ("rotation", s, angle_square(s)),
                ):
                    total, peak = f"end_effector_square_{part}", f"end_effector_peak_{part}"
                    found[total] = x[total] + np.array([counts * square])
                    found[peak] = _largest(x[peak], counts, [size])
            return found

        stops = ("stopped",) if self.how.passive else ()
        statistics = ("square_error", "peak_error", "peak_effort", "saturated", "counted")
        of_end_effector = POSE_STATISTICS if end_effector is not None else ()
        sums = (*statistics, "early", "late", "lived", *stops, *of_end_effector)
        reads = (
            *("reference", "q", "qd", "tau", "saturation", "alive"),
            *(("due",) if self.how.longer_cycle else ()),
            *(("lower", "upper") if self.how.passive else ()),
        )
        return LoopStage("observe", function, (*reads, *sums), sums)


def law_parameters(controller: Controller) -> dict[str, Array]:
    """Return the settings of the step and its load as arrays by their names."""
    run = controller.run_of_step
    step = run.kernels.step
    found = {f"{LAW}{name}": run.settings[part] for name, part in step.settings.slices.items()}
    load = [run.arrived[step.arrived.slices[f"{name}_goal"]] for name in LOADS]
    return {**found, f"{LAW}load": np.concatenate(load)}


def constants_of(controller: Controller, structure: LoopStructure) -> dict[str, Array]:
    """Return which numbers of `law_parameters` are compiled in, a mask by name."""
    return {
        name: _constants(name.removeprefix(LAW), values, structure.varied)
        for name, values in law_parameters(controller).items()
    }


def law_key(controller: Controller, structure: LoopStructure) -> str:
    """Return a fingerprint of all of a controller that a compiled loop depends on."""
    kernels, model = controller.run_of_step.kernels, controller.model
    numbers = law_parameters(controller)
    constant = constants_of(controller, structure)
    fixed = {name: np.where(constant[name], numbers[name], np.nan) for name in numbers}
    loaded = model.friction is not None and bool(model.friction.load.any())
    parts = [key_of(kernels.step, kernels.robot), loaded, *(x.tobytes() for x in fixed.values())]
    parts += [model.dynamics.robot.elastic_joints, model.encoders]
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _constants(name: str, values: Array, varied: Sequence[str]) -> Array:
    """Return which numbers of a setting are compiled in, a mask of the shape of the values."""
    if name in varied:
        return np.zeros(len(values), dtype=bool)
    ones = (values == 1.0) & (name not in SCALED)
    return (values == 0.0) | np.isinf(values) | ones


def quantised(x: Any, resolution: Any, inverse_resolution: Any) -> Any:
    """The nearest multiple of the resolution, whose inverse is given; x where that is zero."""
    steps = rounded(x * inverse_resolution)
    return select(0.0, resolution, resolution * steps, x)


def _largest(so_far: Array, counts: Any, x: Sequence[Any] | Array) -> Array:
    return np.array(
        [maximum(most, counts * abs(value)) for most, value in zip(so_far, x, strict=True)]
    )
