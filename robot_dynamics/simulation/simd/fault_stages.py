"""Faults of states, references and brakes around the step of the controller, in SIMD lanes.

A cycle measures the arm, lets the fault change what arrives, runs the step, and moves the arm by
its commands. Every batch member has its own scenario: a motion, and one fault at some time of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from robot_dynamics.compiler.graph.piecewise import clip, maximum, minimum, rounded
from robot_dynamics.compiler.native.loop.loop_steps import (
    Normals,
    Recall,
    Record,
    Remember,
    Repeat,
    When,
)
from robot_dynamics.control.logic import both, chosen, either, equal, finite, less, negated
from robot_dynamics.control.two_masses import LINK, TwoMasses
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.simulation.drive_loop import LoopGains
from robot_dynamics.simulation.simd.drive_stages import COMMANDED, DriveSettings, drive_stage
from robot_dynamics.simulation.simd.plant_stages import PlantStages
from robot_dynamics.simulation.simd.stage import Item, LoopStage
from robot_dynamics.simulation.simd.step_stages import ARRIVED, SETTINGS, StepLanes
from robot_dynamics.trajectory.motions import rest_to_rest

KINDS = {
    "none": "no fault",
    "gap": "no state comes",
    "missing joint": "the states of one joint are not finite",
    "late": "states come late, with the stamps of their measurement",
    "position glitch": "one position is wrong in one state",
    "velocity glitch": "one velocity is wrong in one state",
    "frozen joint": "the states of one joint do not change",
    "two publishers": "states of another pose come in between, ten a second",
    "bursts": "states come in bursts",
    "repeated": "states without stamps stay what they are",
    "old": "states without stamps come late",
    "reference lost": "no reference comes",
    "reference jumps": "the reference of one joint jumps",
    "two references": "two references come by turns",
    "brakes": "brakes close, and open again",
}
"""Kinds of faults, and what happens."""

BURST_S, OTHER_S = 0.03, 0.1
"""Period of the bursts, and of the states of another publisher, s."""

LARGEST_JUMP = 0.5
"""Largest jump of a reference, rad or m."""

CLOSED = 1e6
"""Friction of closed brakes, N m or N."""

OPEN_BRAKES, MEASURED = "open_brakes", ("seen_q", "seen_qd")

MOST_SUBSTEPS = 1000
"""Most steps of the plant in a cycle."""

RESULTS = ("peak", "sharpest", "outside", "there", "back", "turns", "sound")
"""Arrays of results: largest speeds after the fault, largest changes of effort in a cycle, largest
distances outside the span of the motion; from `rests` on, the distances of the joints forward and
backward, and how often they turn; and 1 where every number stayed finite."""


class FaultStages:
    """A cycle of the loop with faults.

    The arrays of a scenario are to be filled before: `PER_JOINT` and `SINGLE`.

    Args:
        step: The step.
        plant: The arm, with dry friction.
        by_drives: Whether drives close the loop, with the gains of the settings.
        encoders: Side of elastic joints that is measured, one of `two_masses.ENCODERS`.

    Attributes:
        sizes: Number of entries of every array.
        status: Array that holds the fields of `SUPERVISION`.
    """

    PER_JOINT = ("start", "displacement", "elsewhere", "here", OPEN_BRAKES)
    SINGLE = ("rate", "kind", "begins", "ends", "size", "later", "motion_begins", "lasts",
              "substeps", "deviation", "key", "rests")  # fmt: skip

    def __init__(
        self,
        step: StepLanes,
        plant: PlantStages,
        *,
        by_drives: bool = False,
        encoders: str = LINK,
    ) -> None:
        self._step, self._plant, n = step, plant, plant.n
        self._encoders = encoders
        self._by_drives, self._efforts = by_drives, COMMANDED[2] if by_drives else "tau"
        of_joints = (*self.PER_JOINT, *MEASURED, *RESULTS[:-1], "frozen_q", "frozen_qd", "noise")
        single = (*self.SINGLE, "cycle", "taken", "behind", "comes", "commanding", "left")
        self.sizes = {
            **step.sizes,
            **plant.sizes,
            **dict.fromkeys(of_joints, n),
            **dict.fromkeys((*single, "sound"), 1),
            "before": n,
            **dict.fromkeys((*COMMANDED, "limit") if by_drives else (), n),
        }
        self.status = step.place("status")[0]
        self.kept = (*RESULTS, self.status)

    def items(self) -> tuple[Item, ...]:
        """Return the stages and steps of one cycle, to be fused; see `fused`."""
        late = Recall("states", "behind", MEASURED)
        moves = (*self._plant.steps("semi_implicit_euler"), self._count())
        acts: tuple[Item, ...] = (self._act(),)
        if self._by_drives:
            moves, acts = (self._drive(), *moves), (*acts, self._hold())
        return (
            Record(("q", "qd", "tau", self.status)),
            self._measure(),
            Remember("states", MEASURED),
            When("behind", (late,)),
            When("deviation", (Normals("noise", "key", "cycle"),)),
            self._arrive(),
            *self._step.items(),
            *acts,
            Repeat(MOST_SUBSTEPS, "left", moves),
            self._watch(),
        )

    def _measure(self) -> LoopStage:
        """Tell how many cycles ago the state was measured that comes, if one does."""
        masses = TwoMasses.of(self._plant.inertias.robot)

        def function(**x: Array) -> dict[str, Any]:
            fault, k, rate = _Fault(x), x["cycle"][0], x["rate"][0]
            turn = _turn(k, maximum(rounded(BURST_S * rate), 1.0))
            delay = chosen(either(fault.of("late"), fault.of("old")), x["later"][0], 0.0)
            delay = chosen(fault.of("bursts"), turn, delay)
            taken = x["taken"][0]
            measured = chosen(fault.of("repeated"), taken, maximum(k - delay, taken))
            new = both(less(taken, measured), negated(fault.of("gap")))
            new = either(new, fault.of("repeated"), fault.of("old"))
            return {
                "behind": np.array([k - measured]),
                "comes": np.array([new]),
                "taken": np.array([chosen(new, measured, taken)]),
                **{
                    name: 1.0 * values
                    for name, values in zip(
                        MEASURED, masses.measured(x["q"], x["qd"], self._encoders), strict=True
                    )
                },
            }

        reads = (*_FAULT, "later", "taken", "q", "qd")
        return LoopStage("measure", function, reads, ("behind", "comes", "taken", *MEASURED))

    def _arrive(self) -> LoopStage:
        """Write the state and the reference that come."""
        slices = self._step.step.arrived.slices

        def function(**x: Array) -> dict[str, Any]:
            fault, now, rate = _Fault(x), x["cycle"][0] / x["rate"][0], x["rate"][0]
            arrived = np.array(x[ARRIVED], dtype=object)

            def put(comes: Any, values: dict[str, Any]) -> None:
                for name, value in values.items():
                    arrived[slices[name]] = chosen(comes, np.ravel(value), arrived[slices[name]])

            q, qd = self._wrong(x, fault, rate)
            comes = both(x["comes"][0], negated(fault.of("missing joint")))
            stamp = (x["cycle"][0] - x["behind"][0]) / rate
            state = {"state_q": q, "state_qd": qd, "state_came": now, "state_stamp": stamp}
            unstamped = either(fault.is_kind("repeated"), fault.is_kind("old"))
            put(1.0, {"now": now, "state_new": comes, "unstamped": unstamped})
            put(comes, {**state, "state_delay": now - stamp})
            stamp = arrived[slices["state_stamp"]][0]
            self._refer(x, fault, now, stamp, put)
            return {ARRIVED: arrived, "frozen_q": q, "frozen_qd": qd}

        scenario = ("here", "size", "elsewhere", "frozen_q", "frozen_qd", *_MOTION)
        noisy = (*MEASURED, "noise", "deviation")
        reads = (ARRIVED, *_FAULT, *scenario, *noisy, "behind", "comes")
        return LoopStage("arrive_faulty", function, reads, (ARRIVED, "frozen_q", "frozen_qd"))

    def _wrong(self, x: dict[str, Array], fault: _Fault, rate: Any) -> tuple[Array, Array]:
        """Return the measured state as the fault changes it."""
        here, size = x["here"], x["size"][0]
        first = less(fault.now - x["begins"][0], 1.0 / rate)
        slips = chosen(both(first, fault.of("position glitch")), size, 0.0)
        spikes = chosen(both(first, fault.of("velocity glitch")), 10.0 * size, 0.0)
        stands = fault.of("frozen joint") * here
        q = chosen(stands, x["frozen_q"], x["seen_q"] + slips * here)
        measured = x["seen_qd"] + x["deviation"][0] * x["noise"]
        qd = chosen(stands, x["frozen_qd"], measured + spikes * here)
        turn = _turn(x["cycle"][0], maximum(rounded(OTHER_S * rate), 1.0))
        other = both(fault.of("two publishers"), equal(turn, 0.0))
        return chosen(other, x["elsewhere"], q), chosen(other, 0.0, qd)

    def _refer(self, x: dict[str, Array], fault: _Fault, now: Any, stamp: Any, put: Any) -> None:
        """Write the reference, and that of the time of the state."""
        comes = negated(fault.of("reference lost"))
        q, qd, qdd = _reference(x, now)
        then_q, then_qd, _ = _reference(x, minimum(stamp, now))
        jump = clip(x["size"][0], -LARGEST_JUMP, LARGEST_JUMP) * x["here"]
        off = fault.of("reference jumps") * jump
        turns = both(fault.of("two references"), equal(_turn(x["cycle"][0], 2.0), 0.0))
        off = off + turns * (x["elsewhere"] - q)
        then = np.array([then_q + off, then_qd])
        given = {"came_reference": np.array([q + off, qd]), "came_before": then}
        put(
            comes,
            {
                **given,
                "reference_came": now,
                "came_after": then,
                "came_qdd": qdd,
                "came_ahead": 0.0,
            },
        )

    def _act(self) -> LoopStage:
        """Give the command to the drives, which keep the last one where none comes."""
        (tau_in, tau_at), (on_in, on_at) = (self._step.place(x) for x in ("tau", "commands"))
        efforts = self._efforts

        def function(**x: Array) -> dict[str, Any]:
            commands = x[on_in][on_at][0]
            new = chosen(commands, x[tau_in][tau_at], x[efforts])
            sound = finite(new)
            changes = both(commands, x["commanding"][0]) * abs(new - x[efforts])
            return {
                efforts: chosen(sound, new, 0.0),
                "sound": np.array([both(x["sound"][0], sound)]),
                "commanding": np.array([either(x["commanding"][0], commands)]),
                "sharpest": maximum(x["sharpest"], changes),
                "coulomb": chosen(_Fault(x).of("brakes"), CLOSED, x[OPEN_BRAKES]),
                "left": 1.0 * x["substeps"],
            }

        writes = (efforts, "sound", "commanding", "sharpest", "coulomb", "left")
        reads = dict.fromkeys((tau_in, on_in, *_FAULT, *writes[:4], OPEN_BRAKES, "substeps"))
        return LoopStage("act", function, tuple(reads), writes)

    def _hold(self) -> LoopStage:
        """Give positions and velocities to the drives, with the efforts of `_act`."""
        places = [
            self._step.place(name)
            for name in ("commanded_position", "commanded_velocity", "commands")
        ]

        def function(**x: Array) -> dict[str, Any]:
            *new, commands = (x[array][part] for array, part in places)
            return {
                name: chosen(commands[0], value, x[name])
                for name, value in zip(COMMANDED[:2], new, strict=True)
            }

        reads = dict.fromkeys((*(array for array, _ in places), *COMMANDED[:2]))
        return LoopStage("hold", function, tuple(reads), COMMANDED[:2])

    def _drive(self) -> LoopStage:
        """Close the loop in the drives, in a step of the plant."""
        slices = self._step.step.settings.slices

        def settings(x: Mapping[str, Array]) -> DriveSettings:
            kp, kd, takes = (x[SETTINGS][slices[name]] for name in ("kp", "kd", "drive_velocity"))
            return DriveSettings(LoopGains(kp, kd), takes[0], x["limit"])

        return drive_stage(settings, (SETTINGS, "limit"))

    @staticmethod
    def _count() -> LoopStage:
        """Count the steps of the plant."""
        return LoopStage("count", lambda left: {"left": left - 1.0}, ("left",), ("left",))

    def _watch(self) -> LoopStage:
        """Keep what was worst, and pass to the next cycle."""
        n = self._plant.n

        def function(**x: Array) -> dict[str, Any]:
            now = x["cycle"][0] / x["rate"][0]
            after, rests = (negated(less(now, x[name][0])) for name in ("begins", "rests"))
            ends = x["start"] + x["displacement"]
            low, high = minimum(x["start"], ends), maximum(x["start"], ends)
            q, qd = x["q"][:n], x["qd"][:n]
            away = maximum(low - q, q - high)
            way = rests * qd / x["rate"][0]
            return {
                "peak": maximum(x["peak"], after * abs(qd)),
                "outside": maximum(x["outside"], after * away),
                "there": x["there"] + maximum(way, 0.0),
                "back": x["back"] + maximum(-way, 0.0),
                "turns": x["turns"] + rests * less(qd * x["before"], 0.0),
                "before": 1.0 * qd,
                "sound": np.array([both(x["sound"][0], x["alive"][0])]),
                "cycle": x["cycle"] + 1.0,
            }

        last = ("there", "back", "turns", "before")
        writes = ("peak", "outside", *last, "sound", "cycle")
        reads = ("rate", "begins", "rests", "start", "displacement", "q", "qd", "alive", *writes)
        return LoopStage("watch", function, reads, writes)


_FAULT = ("kind", "cycle", "rate", "begins", "ends")

_MOTION = ("start", "displacement", "motion_begins", "lasts")


class _Fault:
    """The fault of a scenario in a cycle."""

    def __init__(self, x: dict[str, Array]) -> None:
        self.now = x["cycle"][0] / x["rate"][0]
        self._during = both(negated(less(self.now, x["begins"][0])), less(self.now, x["ends"][0]))
        self._kind = x["kind"][0]

    def of(self, kind: str) -> Any:
        """Return whether a fault of this kind acts."""
        return both(self._during, self.is_kind(kind))

    def is_kind(self, kind: str) -> Any:
        """Return whether the scenario has a fault of this kind at some time."""
        return equal(self._kind, float(list(KINDS).index(kind)))


def _reference(x: dict[str, Array], now: Any) -> tuple[Array, Array, Array]:
    """Return positions, velocities and accelerations of the motion, a quintic, at a time, s."""
    lasts = x["lasts"][0]
    s = clip((now - x["motion_begins"][0]) / lasts, 0.0, 1.0)
    position, speed, rate = (part * x["displacement"] for part in rest_to_rest(s))
    return x["start"] + position, speed / lasts, rate / (lasts * lasts)


def _turn(cycle: Any, period: Any) -> Any:
    """Return the number of a cycle in its period, both whole numbers."""
    return cycle - period * rounded((cycle + 0.5) / period - 0.5)
