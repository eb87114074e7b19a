"""Sensor, control law and bookkeeping of one step, written once for all lanes.

The law itself is that of `control.laws`, on symbols: here stand only the model that it asks, whose
numbers are inputs, and what a controller puts around it.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.compiler.graph.piecewise import maximum, rounded, select
from robot_dynamics.compiler.native.loop.loop_steps import (
    LookUp,
    Normals,
    Recall,
    Record,
    Remember,
    When,
)
from robot_dynamics.control.effort_limits import Limited, limit_rate, saturate
from robot_dynamics.control.laws import MODES, Measured, Reference, integrate_error, position_error
from robot_dynamics.control.model import continuous_joints
from robot_dynamics.reduction.augmented_body_columns import inverse_dynamics
from robot_dynamics.simulation.lanes.body_letters import BodyLetters
from robot_dynamics.simulation.lanes.stage import Item, Stage

ROWS = ("q", "qd", "qdd", "effort")
"""What a table of references holds of every joint, in this order; then come two weights."""

AT_STOP = 1e-9
"""Distance from a position limit within which a joint lies at its stop, rad or m."""


@dataclass(frozen=True)
class SymbolicModel:
    """What `control.laws` ask of a `Model`, on symbols.

    Args:
        letters: The structure.
        x: Arrays by name.
        coupled: As of `Model`.
        continuous: As of `Model`.
    """

    letters: BodyLetters
    x: dict[str, Array]
    coupled: bool
    continuous: Array

    @property
    def gains(self) -> Any:
        """Those of `Gains`."""
        return SimpleNamespace(**{name: self.x[name] for name in ("kp", "kd", "ki", "i_clamp")})

    @property
    def bandwidth(self) -> Any:
        """rad/s."""
        return self.x["bandwidth"][0]

    @property
    def damping_ratio(self) -> Any:
        """1."""
        return self.x["damping_ratio"][0]

    def inverse(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Efforts of a motion without friction, shape (n,)."""
        tree = self.letters.robot_with(self.x["model_body"], self.x["model_gravity"])
        joints = tree.coupling
        motion = joints.positions(q), joints.rates(qd), joints.rates(qdd)
        tau = joints.efforts(inverse_dynamics(tree, *motion, {}))
        return tau + self.x["model_rotor"] * qdd

    def bias(self, q: Array, qd: Array) -> Array:
        """Coriolis, centrifugal and gravity efforts, shape (n,)."""
        return self.inverse(q, qd, np.zeros(len(q)))

    def gravity(self, q: Array) -> Array:
        """Efforts that hold the arm at rest, shape (n,)."""
        return self.inverse(q, np.zeros(len(q)), np.zeros(len(q)))

    def forward(self, q: Array, qd: Array, tau: Array) -> Array:
        """The acceleration that the reference stands for: it is in the table."""
        return self.x["desired_qdd"]

    def without_friction(self, qd: Array, tau: Array) -> Array:
        """As it is: `forward` looks the acceleration up."""
        return tau

    def friction_effort(self, qd: Array, tau: Array) -> Array:
        """The friction that the reference stands for: it is in the table."""
        return self.x["desired_effort"]


class LawStages:
    """Sensor, law of one mode and statistics of one structure.

    Args:
        letters: The structure.
        mode: One of `control.MODES`.
        coupled: As of `Model`.
        integral: Whether the law has an integral part.
        sensed: Whether states are measured late, with noise or in steps.
        sent: Whether commands are on their way for a time.
        every: Whether the controller's turn does not come in every step.
        passive: Whether joints have stops.
        shared: Whether all lanes follow one motion.
    """

    def __init__(
        self,
        letters: BodyLetters,
        mode: str,
        *,
        coupled: bool = False,
        integral: bool = False,
        sensed: bool = True,
        sent: bool = True,
        every: bool = True,
        passive: bool = True,
        shared: bool = False,
    ) -> None:
        self.letters, self.mode, self.coupled = letters, mode, coupled
        self.integral = integral and MODES[mode].feedback
        self.sensed, self.sent, self.every, self.passive = sensed, sent, every, passive
        self.shared = shared
        self.n = letters.tree.dof
        self._continuous = continuous_joints(letters.robot)

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
            "model_body": len(self.letters),
            "model_gravity": 3,
            "reference": 4 * n + 2,
            "noise": 2 * n,
            "spread": 2 * n,
            "resolution": 2 * n,
            "fineness": 2 * n,
            **dict.fromkeys((*parameters, *state, *statistics), n),
            **dict.fromkeys(single, one),
        }

    def before(self) -> tuple[Item, ...]:
        """From the state to the efforts that act on the plant in this step."""
        read: tuple[Item, ...] = (self._see(),)
        kept: tuple[Item, ...] = ()
        if self.sensed:
            kept = (Remember("states", ("q", "qd")),)
            late = When("sensor_delay", (Recall("states", "sensor_delay", ("seen_q", "seen_qd")),))
            noise = When("noisy", (Normals("noise", "key", "turn"),))
            read = (*read, late, noise, self._measure())
        cycle: tuple[Item, ...] = (*read, self._law())
        cycle = (self._timing(), *kept, When("due", cycle)) if self.every else (*kept, *cycle)
        way: tuple[Item, ...] = (self._act(),)
        if self.sent:
            recall = Recall("commands", "command_delay", ("tau",))
            way = (Remember("commands", ("last",)), *way, When("command_delay", (recall,)))
        row = LookUp("reference", "row", self.shared)
        return (Record(("q", "qd")), row, *cycle, *way, self._observe())

    def _see(self) -> Stage:
        """The state as it is; without a sensor that is what is measured."""
        name = "seen" if self.sensed else "measured"

        def function(q: Array, qd: Array) -> dict[str, Any]:
            return {f"{name}_q": q, f"{name}_qd": qd}

        return Stage("see", function, ("q", "qd"), (f"{name}_q", f"{name}_qd"))

    def _timing(self) -> Stage:
        """Whether the controller's turn has come in this step."""

        def function(wait: Array, every: Array) -> dict[str, Any]:
            due = select(wait[0], 0.5, 1.0, 0.0)
            left = select(wait[0], 0.5, every[0], wait[0]) - 1.0
            return {"due": np.array([due]), "wait": np.array([left])}

        return Stage("timing", function, ("wait", "every"), ("due", "wait"))

    def _measure(self) -> Stage:
        """Noise, and the steps of an encoder."""
        n = self.n

        def function(**x: Array) -> dict[str, Any]:
            true = np.concatenate([x["seen_q"], x["seen_qd"]])
            noisy = true + x["spread"] * x["noise"]
            steps = zip(noisy, x["resolution"], x["fineness"], strict=True)
            read = np.array([quantised(*one) for one in steps])
            return {"measured_q": read[:n], "measured_qd": read[n:]}

        reads = ("seen_q", "seen_qd", "spread", "noise", "resolution", "fineness")
        return Stage("measure", function, reads, ("measured_q", "measured_qd"))

    def _law(self) -> Stage:
        """The command of this cycle, where there is one."""
        n = self.n

        def function(**x: Array) -> dict[str, Any]:
            rows = [x["reference"][i * n : (i + 1) * n] for i in range(len(ROWS))]
            x |= {"desired_qdd": rows[2], "desired_effort": rows[3]}
            reference = Reference(rows[0], rows[1], rows[3])
            measured = Measured(x["measured_q"], x["measured_qd"])
            model: Any = SymbolicModel(self.letters, x, self.coupled, self._continuous)
            wanted = MODES[self.mode].effort(model, reference, measured)
            period = x["every"][0] * x["h"][0]
            due, results = x["due"][0] if self.every else 1.0, {}
            if self.integral:
                error = position_error(reference.q, measured.q, self._continuous)
                last = Limited(x["last"], x["cut"])
                integral = integrate_error(x["integral"], error, model.gains, period, last)
                results["integral"] = _where(due, integral, x["integral"])
                wanted = wanted + integral
            near = limit_rate(wanted, x["last"], x["effort_rate"], period).tau
            command = saturate(near, x["limit"])
            results["last"] = _where(due, command.tau, x["last"])
            results["cut"] = _where(due, command.cut, x["cut"])
            if self.sensed:
                results["turn"] = x["turn"] + due
            return results

        reads = (
            *("reference", "measured_q", "measured_qd", "model_body", "model_gravity"),
            *("model_rotor", "kp", "kd", "ki", "i_clamp", "bandwidth", "damping_ratio", "limit"),
            *("effort_rate", "last", "cut", "every", "h"),
            *(("integral",) if self.integral else ()),
            *(("due",) if self.every else ()),
            *(("turn",) if self.sensed else ()),
        )
        more = ("integral",) if self.integral else ()
        writes = ("last", "cut", *more, *(("turn",) if self.sensed else ()))
        return Stage("law", function, reads, writes)

    def _act(self) -> Stage:
        return Stage("act", lambda last: {"tau": last}, ("last",), ("tau",))

    def _observe(self) -> Stage:
        """Statistics of the true state, at the controller's turns."""
        n = self.n

        def function(**x: Array) -> dict[str, Any]:
            counts = x["alive"][0] * (x["due"][0] if self.every else 1.0)
            e = position_error(x["reference"][:n], x["q"], self._continuous)
            speed = x["qd"] @ x["qd"]
            early, late = x["reference"][4 * n :]
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
            if self.passive:
                at_stop = [
                    maximum(select(q, low + AT_STOP, 1.0, 0.0), select(high - AT_STOP, q, 1.0, 0.0))
                    for q, low, high in zip(x["q"], x["lower"], x["upper"], strict=True)
                ]
                found["stopped"] = x["stopped"] + counts * np.array(at_stop)
            return found

        stops = ("stopped",) if self.passive else ()
        statistics = ("square_error", "peak_error", "peak_effort", "saturated", "counted")
        sums = (*statistics, "early", "late", "lived", *stops)
        reads = (
            *("reference", "q", "qd", "tau", "cut", "alive"),
            *(("due",) if self.every else ()),
            *(("lower", "upper") if self.passive else ()),
        )
        return Stage("observe", function, (*reads, *sums), sums)


def quantised(x: Any, resolution: Any, fineness: Any) -> Any:
    """The nearest multiple of the resolution, whose inverse is given; x where that is zero."""
    steps = rounded(x * fineness)
    return select(0.0, resolution, resolution * steps, x)


def _where(condition: Any, new: Any, old: Any) -> Array:
    pairs = zip(new, old, strict=True)
    return np.array([select(0.0, condition, a, b) for a, b in pairs])


def _largest(so_far: Array, counts: Any, x: Array) -> Array:
    return np.array(
        [maximum(most, counts * abs(value)) for most, value in zip(so_far, x, strict=True)]
    )
