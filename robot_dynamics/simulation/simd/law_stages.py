"""Sensor, control law and bookkeeping of one step, for all batch members.

The law is that of `control.laws` and the command that of `control.command`, on symbols. The
numbers of the model are inputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
from robot_dynamics.control.arm import ByInverse
from robot_dynamics.control.command import command
from robot_dynamics.control.fields import Facts
from robot_dynamics.control.laws import ALL_MODES, LAWS, Measured, Reference, position_error
from robot_dynamics.control.limits import LARGEST
from robot_dynamics.control.model import continuous_joints
from robot_dynamics.control.status import Status
from robot_dynamics.errors import ArgumentError, check_known
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.kinematics import frame_pose
from robot_dynamics.simulation.simd.hand_stages import (
    HAND_SIZE,
    HAND_STATISTICS,
    HandStructure,
    SymbolicArm,
    SymbolicTask,
    angle_square,
    hand_error,
    hand_rows,
)
from robot_dynamics.simulation.simd.plant_stages import BASE_SIZE, base_row, where
from robot_dynamics.simulation.simd.stage import Item, Stage
from robot_dynamics.simulation.simd.symbolic_inertias import SymbolicInertias

BATCH_INTEGRATORS = ("semi_implicit_euler", "runge_kutta")
"""Integrators of a compiled loop."""

ROWS = ("q", "qd", "qdd", "effort")
"""Columns of a reference table for every joint, in this order; two weights follow,
`hand_stages.HAND_ROWS` if there is a hand, and `plant_stages.BASE_SIZE` if the base moves."""

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
        coupled: As of `Model`.
        integral: Whether the law has an integral part.
        stribeck: Whether friction at rest may exceed that of sliding.
        uneven: Whether friction may grow with the load, or have an offset.
        passive: Whether joints have dry friction or stops.
        remembers: Whether friction may remember the way; only with `passive`.
        sensed: Whether states are measured late, with noise or in steps.
        sent: Whether commands are on their way for a time.
        every: Whether the control period may be longer than a step of the plant.
        shared: Whether all members follow one motion.
        hand: The hand, whose error is measured and which modes in task space lead.
        base: One of `KNOWN_BASES` if the base moves, as the law knows it.
    """

    mode: str = "feedforward"
    integrator: str = "semi_implicit_euler"
    coupled: bool = False
    integral: bool = False
    stribeck: bool = False
    uneven: bool = False
    passive: bool = True
    remembers: bool = False
    sensed: bool = True
    sent: bool = True
    every: bool = True
    shared: bool = False
    hand: HandStructure | None = None
    base: str | None = None

    def __post_init__(self) -> None:
        check_known("mode", self.mode, "robot_dynamics.control", ALL_MODES)
        check_known("integrator", self.integrator, "a compiled loop", BATCH_INTEGRATORS)
        if self.base is not None:
            check_known("knowledge of the base", self.base, "a compiled loop", KNOWN_BASES)
        if self.in_task_space and self.hand is None:
            raise ArgumentError(f"mode '{self.mode}' leads a hand; give the structure one")

    @property
    def in_task_space(self) -> bool:
        """Return whether the law leads the hand."""
        return ALL_MODES[self.mode].in_task_space


@dataclass(frozen=True)
class SymbolicModel(ByInverse):
    """The interface of `Model` that `control.laws` use, on symbols.

    Args:
        inertias: Base parameters of the structure.
        x: Arrays by name.
        coupled: As of `Model`.
        continuous: As of `Model`.
        base: Motion of the base as the law knows it, shape (15,); by default it stands.
    """

    inertias: SymbolicInertias
    x: dict[str, Array]
    coupled: bool
    continuous: Array
    base: Array | None = None

    @property
    def bandwidth(self) -> Any:
        """Bandwidth, rad/s."""
        return self.x["bandwidth"][0]

    @property
    def damping_ratio(self) -> Any:
        """Damping ratio, 1."""
        return self.x["damping_ratio"][0]

    def inverse(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Return efforts of a motion without friction, shape (n,)."""
        numbers = self.x["model_body"], self.x["model_gravity"]
        tau = self.inertias.efforts(*numbers, (q, qd, qdd), self.base)
        return tau + self.x["model_rotor"] * qdd

    def forward(self, q: Array, qd: Array, tau: Array) -> Array:
        """Return the reference acceleration, which the table holds."""
        return self.x["desired_qdd"]

    def without_friction(self, qd: Array, tau: Array) -> Array:
        """Return the effort unchanged, because `forward` looks the acceleration up."""
        return tau

    def friction_effort(self, qd: Array, tau: Array) -> Array:
        """Return the friction of the reference, which the table holds."""
        return self.x["desired_effort"]


class LawStages:
    """Sensor, law of one mode and statistics of one structure.

    Args:
        inertias: Base parameters of the structure.
        structure: The compiled-in choices.
    """

    def __init__(self, inertias: SymbolicInertias, structure: LoopStructure) -> None:
        self.inertias, self.how = inertias, structure
        self.integral = structure.integral and ALL_MODES[structure.mode].feedback
        self.n = inertias.arm.dof
        self._continuous = continuous_joints(inertias.robot)

    @property
    def sizes(self) -> dict[str, int]:
        """Arrays of sensor, law and statistics, and their numbers of entries."""
        n, one = self.n, 1
        parameters = ("kp", "kd", "ki", "i_clamp", "limit", "effort_rate", "model_rotor")
        state = ("integral", "last", "cut", "seen_q", "seen_qd", "measured_q", "measured_qd")
        statistics = ("square_error", "peak_error", "peak_effort", "saturated", "stopped")
        single = (
            *("bandwidth", "damping_ratio", "every", "wait", "due", "row", "key", "turn", "noisy"),
            *("sensor_delay", "command_delay", "counted", "early", "late", "lived"),
        )
        return {
            "model_body": len(self.inertias),
            "model_gravity": 3,
            "reference": 4 * n
            + 2
            + (HAND_SIZE if self.how.hand else 0)
            + (BASE_SIZE if self.how.base else 0),
            "noise": 2 * n,
            "deviation": 2 * n,
            "resolution": 2 * n,
            "fineness": 2 * n,
            **dict.fromkeys((*parameters, *state, *statistics), n),
            **dict.fromkeys((*single, *HAND_STATISTICS), one),
            **(self._task_sizes if self.how.in_task_space else {}),
        }

    @property
    def _task_sizes(self) -> dict[str, int]:
        """Parameters of a law in task space and their numbers of entries."""
        own = self.how.hand.sizes if self.how.hand else {}
        return {**own, **dict.fromkeys(("model_viscous", "model_coulomb", "model_width"), self.n)}

    def before(self) -> tuple[Item, ...]:
        """Return the steps from the state to the efforts that act on the plant."""
        read: tuple[Item, ...] = (self._see(),)
        kept: tuple[Item, ...] = ()
        if self.how.sensed:
            kept = (Remember("states", ("q", "qd")),)
            late = When("sensor_delay", (Recall("states", "sensor_delay", ("seen_q", "seen_qd")),))
            noise = When("noisy", (Normals("noise", "key", "turn"),))
            read = (*read, late, noise, self._measure())
        cycle: tuple[Item, ...] = (*read, self._law())
        cycle = (self._timing(), *kept, When("due", cycle)) if self.how.every else (*kept, *cycle)
        way: tuple[Item, ...] = (self._act(),)
        if self.how.sent:
            recall = Recall("commands", "command_delay", ("tau",))
            way = (Remember("commands", ("last",)), *way, When("command_delay", (recall,)))
        row = LookUp("reference", "row", self.how.shared)
        return (Record(("q", "qd")), row, *cycle, *way, self._observe())

    def _see(self) -> Stage:
        """Copy the true state, which is the measured one without a sensor."""
        name = "seen" if self.how.sensed else "measured"

        def function(q: Array, qd: Array) -> dict[str, Any]:
            return {f"{name}_q": q, f"{name}_qd": qd}

        return Stage("see", function, ("q", "qd"), (f"{name}_q", f"{name}_qd"))

    def _timing(self) -> Stage:
        """Test whether a control period begins in this step."""

        def function(wait: Array, every: Array) -> dict[str, Any]:
            due = select(wait[0], 0.5, 1.0, 0.0)
            left = select(wait[0], 0.5, every[0], wait[0]) - 1.0
            return {"due": np.array([due]), "wait": np.array([left])}

        return Stage("timing", function, ("wait", "every"), ("due", "wait"))

    def _measure(self) -> Stage:
        """Add noise and quantise."""
        n = self.n

        def function(**x: Array) -> dict[str, Any]:
            true = np.concatenate([x["seen_q"], x["seen_qd"]])
            noisy = true + x["deviation"] * x["noise"]
            steps = zip(noisy, x["resolution"], x["fineness"], strict=True)
            read = np.array([quantised(*one) for one in steps])
            return {"measured_q": read[:n], "measured_qd": read[n:]}

        reads = ("seen_q", "seen_qd", "deviation", "noise", "resolution", "fineness")
        return Stage("measure", function, reads, ("measured_q", "measured_qd"))

    def _law(self) -> Stage:
        """Compute the command of a control period."""
        n, law = self.n, ALL_MODES[self.how.mode]
        more = ("integral",) if self.integral else ()

        def function(**x: Array) -> dict[str, Any]:
            rows = [x["reference"][i * n : (i + 1) * n] for i in range(len(ROWS))]
            x |= {"desired_qdd": rows[2], "desired_effort": rows[3]}
            measured = Measured(x["measured_q"], x["measured_qd"])
            base = base_row(x["reference"]) if self.how.base == "motion" else None
            model: Any = SymbolicModel(self.inertias, x, self.how.coupled, self._continuous, base)
            task = None
            if self.how.in_task_space and self.how.hand is not None:
                arm = SymbolicArm(self.inertias, x, self.how.hand.frame)
                target = hand_rows(x["reference"][4 * n + 2 :])
                task = SymbolicTask(self.how.hand, arm, x, rows[0], target)
            reference = Reference(rows[0], rows[1], rows[3], task)
            period = x["every"][0] * x["h"][0]
            asked = law.asked(model, reference, measured)
            found = command(self._facts(x, rows, asked, period, adds_pd=law.adds_pd(model)))
            due = x["due"][0] if self.how.every else 1.0
            kept = {"last": "tau", **{name: name for name in ("cut", *more)}}
            results: dict[str, Any] = {
                name: where(due, found[field], x[name]) for name, field in kept.items()
            }
            if self.how.sensed:
                results["turn"] = x["turn"] + due
            return results

        reads = (
            *("reference", "measured_q", "measured_qd", "model_body", "model_gravity"),
            *("model_rotor", "kp", "kd", "ki", "i_clamp", "bandwidth", "damping_ratio", "limit"),
            *("effort_rate", "last", "cut", "every", "h"),
            *more,
            *(self._task_sizes if self.how.in_task_space else ()),
            *(("due",) if self.how.every else ()),
            *(("turn",) if self.how.sensed else ()),
        )
        writes = ("last", "cut", *more, *(("turn",) if self.how.sensed else ()))
        return Stage("law", function, reads, writes)

    def _facts(
        self,
        x: Mapping[str, Array],
        rows: Sequence[Array],
        asked: Array,
        period: Any,
        *,
        adds_pd: bool,
    ) -> Facts:
        """Return the facts of a cycle that tracks: nothing fades, is lost, or has soft limits."""
        none, infinite = np.zeros(self.n), np.full(self.n, LARGEST)  # constants are finite
        law = "feedforward" if adds_pd else "computed_torque"
        constants = {
            **dict.fromkeys(("seen", "fresh", "trust", "has_feedback", "has_begin_tau"), 1.0),
            **dict.fromkeys(
                ("open_loop", "ending", "lets_go_blind", "entered", "shakes", "lead"), 0.0
            ),
            **dict.fromkeys(("starts_measured", "cause", "was_ending", "fade_began", "now"), 0.0),
            **dict.fromkeys(("settings_edition", "edition", "fade"), 0.0),
            **dict.fromkeys(("gap", "disturbance", "last_speed", "end_tau", "begin_tau"), none),
            **dict.fromkeys(("soft_stiffness", "soft_damping", "held_tau", "own_inertia"), none),
            **dict.fromkeys(("soft_upper", "soft_velocity"), infinite),
            **dict.fromkeys(("soft_lower", "lower"), -infinite),
            "upper": infinite,
            "status": float(Status.TRACKING),
            "law": float(LAWS.index(law)),
            "trust": 1.0,
            "flaw": 0.0,
        }
        q, qd = x["measured_q"], x["measured_qd"]
        present = {
            "q": q,
            "qd": qd,
            "desired": np.array(rows[:3]),
            "error": position_error(rows[0], q, self._continuous),
            "error_rate": rows[1] - qd,
            "asked": asked,
            "expected": asked,
            "tau": x["last"],
            "cut": x["cut"],
            "integral": x.get("integral", none),
            "kp": x["kp"],
            "kd": x["kd"],
            "ki": x["ki"] if self.integral else none,
            "i_clamp": x["i_clamp"] if self.integral else infinite,
            "effort": x["limit"],
            "effort_rate": x["effort_rate"],
            "dt": period,
            "longest_cycle": period,
        }
        return Facts(constants, present)

    def _act(self) -> Stage:
        return Stage("act", lambda last: {"tau": last}, ("last",), ("tau",))

    def _observe(self) -> Stage:
        """Add the true state to the statistics in every control period."""
        n, hand = self.n, self.how.hand

        def function(**x: Array) -> dict[str, Any]:
            counts = x["alive"][0] * (x["due"][0] if self.how.every else 1.0)
            e = position_error(x["reference"][:n], x["q"], self._continuous)
            speed = x["qd"] @ x["qd"]
            early, late = x["reference"][4 * n : 4 * n + 2]
            found = {
                "square_error": x["square_error"] + counts * (e * e),
                "peak_error": _largest(x["peak_error"], counts, e),
                "peak_effort": _largest(x["peak_effort"], counts, x["tau"]),
                "saturated": x["saturated"] + counts * x["cut"],
                "counted": x["counted"] + counts,
                "early": x["early"] + np.array([counts * early * speed]),
                "late": x["late"] + np.array([counts * late * speed]),
                "lived": x["lived"] + x["alive"],
            }
            if self.how.passive:
                at_stop = [
                    maximum(select(q, low + AT_STOP, 1.0, 0.0), select(high - AT_STOP, q, 1.0, 0.0))
                    for q, low, high in zip(x["q"], x["lower"], x["upper"], strict=True)
                ]
                found["stopped"] = x["stopped"] + counts * np.array(at_stop)
            if hand is not None:
                desired = hand_rows(x["reference"][4 * n + 2 :])
                pose = frame_pose(self.inertias.arm, x["q"], hand.frame)
                away, s = hand_error(desired["rotation"], desired["position"], *pose)
                for part, size, square in (
                    ("position", away, away),
                    ("rotation", s, angle_square(s)),
                ):
                    total, peak = f"hand_square_{part}", f"hand_peak_{part}"
                    found[total] = x[total] + np.array([counts * square])
                    found[peak] = _largest(x[peak], counts, [size])
            return found

        stops = ("stopped",) if self.how.passive else ()
        statistics = ("square_error", "peak_error", "peak_effort", "saturated", "counted")
        of_hand = HAND_STATISTICS if hand is not None else ()
        sums = (*statistics, "early", "late", "lived", *stops, *of_hand)
        reads = (
            *("reference", "q", "qd", "tau", "cut", "alive"),
            *(("due",) if self.how.every else ()),
            *(("lower", "upper") if self.how.passive else ()),
        )
        return Stage("observe", function, (*reads, *sums), sums)


def quantised(x: Any, resolution: Any, fineness: Any) -> Any:
    """The nearest multiple of the resolution, whose inverse is given; x where that is zero."""
    steps = rounded(x * fineness)
    return select(0.0, resolution, resolution * steps, x)


def _largest(so_far: Array, counts: Any, x: Sequence[Any] | Array) -> Array:
    return np.array(
        [maximum(most, counts * abs(value)) for most, value in zip(so_far, x, strict=True)]
    )
