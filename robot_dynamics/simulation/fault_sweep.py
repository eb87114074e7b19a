"""Fault sweep: the compiled controller on simulated arms as SIMD lanes, one random fault each.

Each scenario has its own arm, whose masses and friction the model does not know, its own motion,
and one fault at a random time of it. The drives keep the last command.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from robot_dynamics.compiler.native.loop.native_loop import NativeLoop
from robot_dynamics.control import Controller, Friction, Model, Settings
from robot_dynamics.control.configuration import LONGEST_CYCLE
from robot_dynamics.control.gains import DEFAULT_BANDWIDTH, DEFAULT_DAMPING_RATIO, ideal_gains
from robot_dynamics.control.laws import COUPLED, FEEDFORWARD, GRAVITY_LAW
from robot_dynamics.control.limits import (
    default_effort_rates,
    default_tracking_errors,
    effort_limits,
    velocity_limits,
)
from robot_dynamics.control.sampling.tuning import DEFAULT_PERIOD_S, Sampling, Tuner
from robot_dynamics.control.status import Status
from robot_dynamics.control.step_kernels import Run
from robot_dynamics.dynamics.compiled_robot import robot_digest
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot.robot import Robot
from robot_dynamics.simulation.simd.compiled_loop import plant_parameters
from robot_dynamics.simulation.simd.plant_stages import PlantStages
from robot_dynamics.simulation.simd.stage import fused
from robot_dynamics.simulation.simd.step_stages import ARRIVED, SETTINGS, StepLanes
from robot_dynamics.simulation.simd.symbolic_inertias import SymbolicInertias

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
    "reference lost": "no reference comes",
    "reference jumps": "the reference of one joint jumps",
    "two references": "two references come by turns",
    "brakes": "brakes close, and open again",
}
"""Kinds of faults, and what happens."""

RATES = (100.0, 250.0, 500.0, 1000.0)
"""Rates of the loop, Hz, of which each batch has one."""

BATCH = 1024
"""Scenarios of a batch."""

DURATION_S, BEGIN_S = 5.0, 0.8
"""Duration of a scenario, and the time at which its motion begins, s."""

MASS_ERROR, FRICTION = 0.1, 0.03
"""Largest relative error of the masses, and unknown dry friction relative to the effort limits."""

SHORTEST_S, LONGEST_S = 0.01, 0.5
"""Shortest and longest fault, s."""

STEP_S = 1e-3
"""Longest step of the plant, s."""

UNLIMITED_SPEED = 1.0
"""Speed limit where the URDF gives none, rad/s or m/s."""

ALLOWED = 0.1
"""Speed beyond the planned one that counts as safe, relative to the speed limit."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """Results of a batch of N scenarios.

    Args:
        rate: Rate of the loop, Hz.
        seed: Seed of the batch.
        kind: Index of the kind of fault in `KINDS`, shape (N,).
        excess: Largest speed after the fault less the planned one, relative to the speed limit,
            shape (N,).
        step: Largest change of an effort in a cycle per second, relative to the limit of its rate,
            shape (N,).
        status: Last status, shape (N,).
        finite: Whether every number stayed finite, shape (N,).
    """

    rate: float
    seed: int
    kind: Array
    excess: Array
    step: Array
    status: Array
    finite: Array


class FaultSweep:
    """Compiled controller and plant of one robot.

    Args:
        robot: The robot; its URDF is what the controller knows.
        settings: Settings of the controller other than the default ones.

    Raises:
        BackendError: If there is no usable llvmlite.
    """

    def __init__(self, robot: Robot, **settings: Any) -> None:
        self.robot, self._settings = robot, settings
        self._dynamics, self._friction = Dynamics(robot), Friction.of(robot)
        self._inertias = SymbolicInertias(robot)
        plant = PlantStages(self._inertias)
        generic = self._inertias.robot_with(np.ones(len(self._inertias)), np.ones(3))
        kept = ("q", "qd", "tau", "p", "alive")
        self._plant = NativeLoop(
            plant.sizes,
            lambda: fused(plant.steps("semi_implicit_euler"), plant.sizes, kept),
            f"fault sweep {robot_digest(generic)}",
        )
        self._loop: NativeLoop | None = None

    def controller(self, rate: float) -> Controller:
        """Return a controller with the default feedback at a rate, Hz."""
        dynamics, usual = self._dynamics, Sampling.of(DEFAULT_PERIOD_S)
        sampling = Sampling.of(1.0 / rate)
        wanted = ideal_gains(dynamics, DEFAULT_BANDWIDTH)
        base = Model(dynamics, wanted, self._friction)
        model = Tuner(dynamics).model(
            base, wanted, DEFAULT_BANDWIDTH, sampling if sampling.slower_than(usual) else usual
        )
        given = {
            "effort_rate": default_effort_rates(
                self.robot, DEFAULT_BANDWIDTH, DEFAULT_DAMPING_RATIO
            ),
            "tracking_limit": default_tracking_errors(self.robot),
            "longest_cycle": LONGEST_CYCLE / rate,
        }
        return Controller(model, Settings(**{**given, **self._settings}))

    def batches(
        self, count: int, seed: int = 0, rates: Sequence[float] = RATES, *, threads: int = 1
    ) -> Iterator[Outcome]:
        """Run batches that hold `count` scenarios or a few more.

        Args:
            count: Number of scenarios.
            seed: Seed of the first batch; the others have the seeds after it.
            rates: Rates, Hz, by turns.
            threads: Number of threads.
        """
        size = min(BATCH, -(-count // len(rates)))
        for k in range(-(-count // size)):
            yield self.run(seed + k, rates[k % len(rates)], threads=threads, count=size)

    def run(
        self,
        seed: int,
        rate: float,
        kinds: Sequence[str] = tuple(KINDS),
        *,
        threads: int = 1,
        count: int = BATCH,
    ) -> Outcome:
        """Run a batch.

        Args:
            seed: Seed of its scenarios.
            rate: Rate of the loop, Hz.
            kinds: Kinds of faults, with equal probability.
            threads: Number of threads.
            count: Number of scenarios, rounded up to whole blocks.
        """
        return _Batch(self, seed, rate, kinds, count).run(threads)


class _Batch:
    """Scenarios side by side. Arrays have the shape (blocks, size, width)."""

    def __init__(
        self, sweep: FaultSweep, seed: int, rate: float, kinds: Sequence[str], count: int
    ) -> None:
        self.seed, self.rate, self._sweep = seed, rate, sweep
        robot = sweep.robot
        self.n = robot.dof
        controller = sweep.controller(rate)
        run = controller.run_of_step
        stages = StepLanes(run.kernels.step, (FEEDFORWARD, COUPLED, GRAVITY_LAW))
        if sweep._loop is None:
            sweep._loop = stages.loop(run.kernels.robot)
        self._control, self._plant = sweep._loop, sweep._plant
        width = self._control.width
        self._shape = -(-count // width), width
        self._rng = np.random.default_rng((seed, round(rate)))
        self._place_controller(stages, run)
        self._place_plant()
        self._plan_motions()
        self._plan_faults(kinds)

    def _uniform(self, low: float, high: float, size: int = 1) -> Array:
        blocks, width = self._shape
        return self._rng.uniform(low, high, (blocks, size, width))

    def _place_controller(self, stages: StepLanes, run: Run) -> None:
        loop, (blocks, width) = self._control, self._shape
        memory = self._control_memory = loop.memory(blocks * width)
        stages.set_state(loop, memory, run.state)
        loop.set(memory, ARRIVED, run.arrived)
        loop.set(memory, SETTINGS, run.settings)
        step, arrived = stages.step, loop.array(memory, ARRIVED)
        self._arrived = {name: arrived[:, part] for name, part in step.arrived.slices.items()}
        self._state = {}
        for place, block in stages.blocks.items():
            array = loop.array(memory, place)
            for name in ("tau", "commands", "status"):
                part = step.state.slices[name]
                if block.start <= part.start and part.stop <= block.stop:
                    self._state[name] = array[:, part.start - block.start : part.stop - block.start]
        rates = run.settings[step.settings.slices["effort_rate"]]
        self._effort_rate = rates[None, :, None]

    def _place_plant(self) -> None:
        sweep, loop, (blocks, width) = self._sweep, self._plant, self._shape
        self._substeps = max(1, round(1.0 / self.rate / STEP_S))
        memory = self._plant_memory = loop.memory(blocks * width)
        parameters = plant_parameters(
            sweep._inertias, sweep._friction, stops=False, step=1.0 / self.rate / self._substeps
        )
        for name in parameters.keys() & loop.sizes.keys():
            loop.set(memory, name, parameters[name])
        plant = self._arm = {name: loop.array(memory, name) for name in loop.sizes}
        plant["alive"][:] = 1.0
        plant["body"][:] *= 1.0 + self._uniform(-MASS_ERROR, MASS_ERROR)
        limit = effort_limits(sweep.robot)
        known = np.where(np.isfinite(limit), limit, 0.0)[None, :, None]
        plant["coulomb"][:] += known * self._uniform(0.0, FRICTION, self.n)

    def _plan_motions(self) -> None:
        robot = self._sweep.robot
        lower = np.maximum(robot.limits.lower, -np.pi)[None, :, None]
        upper = np.minimum(robot.limits.upper, np.pi)[None, :, None]
        fastest = velocity_limits(robot)
        self._fastest = np.where(np.isfinite(fastest), fastest, UNLIMITED_SPEED)[None, :, None]
        middle, half = (lower + upper) / 2.0, (upper - lower) / 2.0
        self._from = middle + 0.8 * half * self._uniform(-1.0, 1.0, self.n)
        way = middle + 0.8 * half * self._uniform(-1.0, 1.0, self.n) - self._from
        # The steepest part of a quintic is 15/8 of its mean
        speed = self._uniform(0.1, 0.8) * self._fastest
        needed = (15.0 / 8.0 * abs(way) / speed).max(axis=1, keepdims=True)
        self._lasts = np.clip(needed, 0.6, 3.0)
        self._way = way / np.maximum(needed / self._lasts, 1.0)
        self._planned = 15.0 / 8.0 * abs(self._way) / self._lasts
        self._elsewhere = middle + 0.5 * half * self._uniform(-1.0, 1.0, self.n)
        self._arm["q"][:] = self._from

    def _plan_faults(self, kinds: Sequence[str]) -> None:
        blocks, width = self._shape
        numbers = [list(KINDS).index(kind) for kind in kinds]
        self.kind = self._rng.choice(numbers, (blocks, 1, width))
        joint = self._rng.integers(0, self.n, (blocks, 1, width))
        self._here = np.arange(self.n)[None, :, None] == joint
        self._begins = BEGIN_S + self._lasts * self._uniform(0.02, 0.98)
        self._ends = self._begins + np.exp(self._uniform(np.log(SHORTEST_S), np.log(LONGEST_S)))
        sign = self._rng.choice([-1.0, 1.0], (blocks, 1, width))
        self._size = sign * 10.0 ** self._uniform(-1.5, 3.0)
        self._later = np.round(self.rate * 10.0 ** self._uniform(-2.3, -0.5)).astype(int)

    def _is(self, kind: str) -> Array:
        return np.asarray(self.kind == list(KINDS).index(kind))

    def reference(self, now: Array | float) -> tuple[Array, Array, Array]:
        """Return positions, velocities and accelerations of the motion at a time, s."""
        s = np.clip((now - BEGIN_S) / self._lasts, 0.0, 1.0)
        position = s**3 * (10.0 - 15.0 * s + 6.0 * s * s)
        velocity = 30.0 * s * s * (1.0 - 2.0 * s + s * s) / self._lasts
        acceleration = 60.0 * s * (1.0 - 3.0 * s + 2.0 * s * s) / self._lasts**2
        return (
            self._from + self._way * position,
            self._way * velocity,
            self._way * acceleration,
        )

    def run(self, threads: int) -> Outcome:
        """Run all cycles."""
        arm, state, shape = self._arm, self._state, (self._shape[0], self.n, self._shape[1])
        depth = int(0.5 * self.rate) + 2
        self._past = np.repeat(np.array((arm["q"], arm["qd"]))[:, None], depth, axis=1)
        self._taken = np.full((shape[0], 1, shape[2]), -1)
        self._last_reference = np.zeros((shape[0], 1, shape[2]))
        peak, step = np.zeros(shape), np.zeros(shape)
        finite = np.ones((shape[0], 1, shape[2]), dtype=bool)
        tau, begun = np.zeros(shape), np.zeros((shape[0], 1, shape[2]), dtype=bool)
        dry = arm["coulomb"].copy()
        for k in range(round(DURATION_S * self.rate)):
            now = k / self.rate
            during = (now >= self._begins) & (now < self._ends)
            self._give_states(k, during)
            self._give_references(k, during)
            self._control.run(self._control_memory, 1, threads=threads)
            commands = state["commands"] > 0.5
            new = np.where(commands, state["tau"], tau)
            finite &= np.isfinite(new).all(axis=1, keepdims=True)
            step = np.maximum(step, np.where(commands & begun, abs(new - tau), 0.0))
            begun |= commands
            tau = np.nan_to_num(new)
            arm["tau"][:] = tau
            arm["coulomb"][:] = np.where(during & self._is("brakes"), 1e6, dry)
            self._plant.run(self._plant_memory, self._substeps, threads=threads)
            after = now >= self._begins
            peak = np.maximum(peak, np.where(after, abs(arm["qd"]), 0.0))
        finite &= arm["alive"] > 0.5
        excess = ((peak - self._planned) / self._fastest).max(axis=1)
        steps = (step * self.rate / self._effort_rate).max(axis=1)
        found = (self.kind[:, 0], excess, steps, state["status"][:, 0], finite[:, 0])
        return Outcome(self.rate, self.seed, *(x.ravel().copy() for x in found))

    def _give_states(self, k: int, during: Array) -> None:
        now, arm, depth = k / self.rate, self._arm, self._past.shape[1]
        self._past[0, k % depth], self._past[1, k % depth] = arm["q"], arm["qd"]
        delay = np.where(during & self._is("late"), self._later, 0)
        delay = np.where(during & self._is("bursts"), k % max(1, round(0.03 * self.rate)), delay)
        measured = np.maximum(k - np.minimum(delay, depth - 1), self._taken)
        places = np.broadcast_to((measured % depth)[None], (1, *arm["q"].shape))
        q, qd = (np.take_along_axis(past, places, 0)[0] for past in self._past)
        new = (measured > self._taken) & ~(during & self._is("gap"))
        self._taken = np.where(new, measured, self._taken)

        first = during & (now - self._begins < 1.0 / self.rate)
        q = np.where(first & self._is("position glitch") & self._here, q + self._size, q)
        qd = np.where(first & self._is("velocity glitch") & self._here, qd + 10.0 * self._size, qd)
        if k == 0:
            self._frozen = q.copy(), qd.copy()
        stands = during & self._is("frozen joint") & self._here
        self._frozen = tuple(
            np.where(stands, old, x) for old, x in zip(self._frozen, (q, qd), strict=True)
        )
        q, qd = self._frozen
        other = during & self._is("two publishers") & (k % max(1, round(self.rate / 10.0)) == 0)
        q, qd = np.where(other, self._elsewhere, q), np.where(other, 0.0, qd)
        lacks = during & self._is("missing joint")
        arrived = self._arrived
        arrived["now"][:], arrived["state_new"][:] = now, new & ~lacks
        stamp = measured / self.rate
        given: dict[str, Any] = {
            "state_q": q,
            "state_qd": qd,
            "state_came": now,
            "state_stamp": stamp,
            "state_delay": now - stamp,
        }
        for name, value in given.items():
            np.copyto(arrived[name], value, where=new & ~lacks)
        self._stamp = arrived["state_stamp"].copy()

    def _give_references(self, k: int, during: Array) -> None:
        now, arrived = k / self.rate, self._arrived
        comes = ~(during & self._is("reference lost"))
        last = self._last_reference = np.where(comes, now, self._last_reference)
        q, qd, qdd = self.reference(last)
        then = self.reference(np.minimum(self._stamp, last))
        off = np.where(
            during & self._is("reference jumps") & self._here, np.clip(self._size, -0.5, 0.5), 0.0
        )
        turn = during & self._is("two references") & (k % 2 == 0)
        off = off + np.where(turn, self._elsewhere - q, 0.0)
        at_stamp = np.concatenate([then[0] + off, then[1]], axis=1)
        given: dict[str, Any] = {
            "reference_came": now,
            "came_reference": np.concatenate([q + off, qd], axis=1),
            "came_before": at_stamp,
            "came_after": at_stamp,
            "came_qdd": qdd,
        }
        for name, value in given.items():
            np.copyto(arrived[name], value, where=comes)


@dataclass(frozen=True)
class Row:
    """Results of one kind of fault.

    Args:
        kind: One of `KINDS`.
        count: Number of scenarios.
        worst: Largest `excess` of `Outcome`.
        beyond: Share of scenarios whose `excess` is above `ALLOWED`.
        step: Largest `step` of `Outcome`.
        ends: Share of scenarios by last status.
        seed: Seed and rate, Hz, of the batch with the worst scenario.
        finite: Whether every number stayed finite.
    """

    kind: str
    count: int
    worst: float
    beyond: float
    step: float
    ends: dict[str, float]
    seed: tuple[int, float]
    finite: bool


def rows(outcomes: Sequence[Outcome]) -> list[Row]:
    """Return the results by kind of fault."""
    found = []
    for number, kind in enumerate(KINDS):
        parts = [(x, x.kind == number) for x in outcomes if (x.kind == number).any()]
        if not parts:
            continue
        excess = np.concatenate([x.excess[own] for x, own in parts])
        status = np.concatenate([x.status[own] for x, own in parts]).round().astype(int)
        worst = max(parts, key=lambda part: part[0].excess[part[1]].max())[0]
        ends = {
            Status(int(one)).name.lower(): float(np.mean(status == one))
            for one in np.unique(status)
        }
        found.append(
            Row(
                kind,
                len(excess),
                float(excess.max()),
                float(np.mean(excess > ALLOWED)),
                max(float(x.step[own].max()) for x, own in parts),
                ends,
                (worst.seed, worst.rate),
                all(bool(x.finite[own].all()) for x, own in parts),
            )
        )
    return found
