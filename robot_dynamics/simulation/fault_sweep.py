"""Fault sweep: the compiled controller on simulated arms as SIMD lanes, one random fault each.

Each scenario has its own arm, whose masses and friction the model does not know, its own motion,
and one fault at a random time of it. The drives keep the last command. An arm may be on springs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.compiler.native.loop.native_loop import NativeLoop
from robot_dynamics.control import Friction, Settings
from robot_dynamics.control.added_efforts import (
    FRICTION,
    GRAVITY,
    SWITCHES,
    VELOCITY_TERMS,
)
from robot_dynamics.control.configuration import Defaults
from robot_dynamics.control.configured_step import ConfiguredStep, allowed, parameter_vector
from robot_dynamics.control.gains import DEFAULT_BANDWIDTH, ideal_gains
from robot_dynamics.control.laws import (
    FEEDFORWARD,
    GRAVITY_LAW,
    IN_TASK_SPACE,
    INERTIA_WEIGHTED,
    LAWS,
)
from robot_dynamics.control.limits import effort_limits, velocity_limits
from robot_dynamics.control.model import Model, continuous_joints
from robot_dynamics.control.parameters import PARAMETERS
from robot_dynamics.control.sampled_loop import Sampling
from robot_dynamics.control.sampling.tuning import Tuner
from robot_dynamics.control.settings import DRIVE
from robot_dynamics.control.status import SENTENCES, Cause, Status
from robot_dynamics.control.step_kernels import key_of
from robot_dynamics.control.step_settings import of_model, write
from robot_dynamics.control.two_masses import ENCODERS, LINK, check_motors
from robot_dynamics.dynamics.compiled_robot import robot_digest
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.errors import ArgumentError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot.endpoint import default_end_effector
from robot_dynamics.robot.kinematic_tree import JointElasticity
from robot_dynamics.robot.robot import Robot
from robot_dynamics.simulation.closed_loop import Log
from robot_dynamics.simulation.simd.compiled_loop import plant_parameters
from robot_dynamics.simulation.simd.fault_stages import (
    KINDS,
    MOST_SUBSTEPS,
    OPEN_BRAKES,
    RESULTS,
    FaultStages,
)
from robot_dynamics.simulation.simd.plant_stages import PlantStages
from robot_dynamics.simulation.simd.stage import fused
from robot_dynamics.simulation.simd.step_stages import ARRIVED, SETTINGS, StepLanes
from robot_dynamics.simulation.simd.symbolic_inertias import SymbolicInertias
from robot_dynamics.trajectory.trajectory import Trajectory

RATES = (100.0, 250.0, 500.0, 1000.0)
"""Rates of the loop, Hz, of which each batch has one."""

BATCH = 1024
"""Scenarios of a batch."""

DURATION_S, BEGIN_S = 5.0, 0.8
"""Duration of a scenario, and the time at which its motion begins, s."""

MASS_ERROR, UNKNOWN_FRICTION = 0.1, 0.03
"""Largest relative error of the masses, and unknown dry friction relative to the effort limits."""

SHORTEST_S, LONGEST_S = 0.01, 0.5
"""Shortest and longest fault, s."""

SHORTEST_MOTION_S, LONGEST_MOTION_S = 0.6, 3.0
"""Shortest and longest motion, s."""

EFFORT_SHARE = 0.7
"""Largest effort of a motion relative to its limit; a shorter motion is slowed down."""

REST_TO_REST = np.polynomial.Polynomial((0.0, 0.0, 0.0, 10.0, -15.0, 6.0))
"""Motion from rest at 0 to rest at 1."""

STEP_S, DRIVE_STEP_S = 1e-3, 2.5e-4
"""Longest step of the plant, and of one whose drives close the loop, s."""

UNLIMITED_SPEED = 1.0
"""Speed limit where the URDF gives none, rad/s or m/s."""

SPRING_ERROR, SPRING_DAMPING_ERROR = 0.2, 0.3
"""Largest relative errors of stiffness and damping of elastic joints."""

REST_S = 0.5
"""Time at the end of a scenario in which oscillations are measured, s."""

FEWEST_TURNS = 3
"""Turning points in that time which make an oscillation."""

LATEST = 2
"""Largest delay of states in a scenario without fault, cycles."""

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
        outside: Largest distance outside the span of the motion after the fault, rad or m, shape
            (N,).
        step: Largest change of an effort in a cycle per second, relative to the limit of its rate,
            shape (N,).
        swing: Mean size of the half waves of the joint that oscillates most at the end, rad or m;
            0 where none does, shape (N,).
        status: Last status, shape (N,).
        cause: Cause of the last stop, shape (N,).
        finite: Whether every number stayed finite, shape (N,).
    """

    rate: float
    seed: int
    kind: Array
    excess: Array
    outside: Array
    step: Array
    swing: Array
    status: Array
    cause: Array
    finite: Array


class Springs(NamedTuple):
    """Elastic joints of the simulated arms.

    Attributes:
        elasticity: Stiffness and damping, of which those of an arm differ a little.
        rotor_inertia: Rotor inertia at the joints, shape (n,), kg m^2 or kg; the model has it.
        encoders: Side that is measured, one of `two_masses.ENCODERS`.
        known: Whether the gains of the controller fit the springs.
        resonance_share: See `Model`.
    """

    elasticity: JointElasticity
    rotor_inertia: Array
    encoders: str = LINK
    known: bool = True
    resonance_share: float = 0.0

    @staticmethod
    def taken(robot: Robot, values: dict[str, Any]) -> Springs | None:
        """Take the parameters of elastic joints out of others.

        Args:
            robot: The robot.
            values: Parameters by the names that ROS 2 gives them; loses those of elastic joints.

        Returns:
            The springs, or None if every joint is rigid.

        Raises:
            ArgumentError: If a value is not allowed, or a rotor has no inertia.
        """

        def of_joints(name: str, take: bool) -> Array:
            kind, _, rest = name.partition(".")
            names = [f"{kind}.{joint}.{rest}" for joint in robot.joint_names]
            read = values.pop if take else values.get
            one = PARAMETERS[name]
            found = [allowed(x, one, read(x, one.default)) for x in names]
            return np.array(found, dtype=float).ravel()

        stiffness, damping = (of_joints(f"elasticity.{x}", True) for x in ("stiffness", "damping"))
        side = values.pop("encoders", LINK)
        encoders = ENCODERS[int(allowed("encoders", PARAMETERS["encoders"], side))]
        share = values.pop("resonance_share", 0.0)
        share = float(allowed("resonance_share", PARAMETERS["resonance_share"], share))
        if not stiffness.any():
            return None
        rotors = of_joints("rotor.inertia", False) * of_joints("rotor.ratio", False) ** 2
        elasticity = JointElasticity(np.where(stiffness > 0.0, stiffness, np.inf), damping)
        check_motors(robot.with_joint_elasticity(*elasticity), rotors)
        return Springs(elasticity, rotors, encoders, resonance_share=share)


class ScenarioReplay(NamedTuple):
    """One scenario.

    Attributes:
        kind: One of `KINDS`.
        begins: Time at which the fault begins, s.
        ends: Time at which it ends, s.
        motion: Desired motion.
        log: Every cycle.
        events: Times at which the status changed, s, and what the controller then said.
    """

    kind: str
    begins: float
    ends: float
    motion: Trajectory
    log: Log
    events: list[tuple[float, str]]


class FaultSweep:
    """Compiled controller and arm of one robot.

    The controller is that of ros2_control, with its defaults for the robot and the rate.

    Args:
        robot: The robot; its URDF is what the controller knows.
        values: Parameters of the controller other than the default ones, by the names that ROS 2
            gives them; those of elastic joints put the arms on springs.
        noise: Standard deviation of the measured velocities, rad/s or m/s.
        added: What the robot is known to add to its commands; see `Defaults`.
        springs: Elastic joints of the arms; by default those of `values`.

    Attributes:
        springs: As above; others of the same joints, encoders and rotors need no compilation.
        arrays: Number of entries of every array.
        unused: Names of `values` that make no difference.
        adds: Efforts that the arm adds itself: neither the controller nor the arm has them.
        by_drives: Whether its drives close the loop.

    Raises:
        ArgumentError: If a value is not allowed.
        BackendError: If there is no usable llvmlite.
    """

    def __init__(
        self,
        robot: Robot,
        values: Mapping[str, Any] | None = None,
        *,
        noise: float = 0.0,
        added: Sequence[str] = (),
        springs: Springs | None = None,
    ) -> None:
        self.robot, self.noise, values = robot, noise, dict(values or {})
        given_springs = Springs.taken(robot, values)
        self.springs = springs = given_springs if springs is None else springs
        arm = robot if springs is None else robot.with_joint_elasticity(*springs.elasticity)
        encoders = LINK if springs is None else springs.encoders
        self.friction = Friction.of(robot)
        given = values.pop("bandwidth", DEFAULT_BANDWIDTH)
        self._bandwidth = bandwidth = float(allowed("bandwidth", PARAMETERS["bandwidth"], given))
        frame = values.pop("payload.frame", "") or None
        if frame is None and any(name.startswith("payload.") for name in values):
            frame = default_end_effector(robot)
        self.adds = [x for x, name in SWITCHES.items() if values.get(name, True) is False]
        driven = self.friction, np.zeros(robot.dof), bandwidth
        self.dynamics = Dynamics(robot)
        self._configured = ConfiguredStep(
            Defaults(self.dynamics, frame, None, None, *driven, added)
        )
        layout = self._configured.configuration.parameters
        self._parameters, unused = parameter_vector(layout, robot.joint_names, values)
        self.unused = list(unused)
        step = self._configured.step
        mode = values.get("mode", Settings.mode)
        law = LAWS.index(mode)
        if law in IN_TASK_SPACE:
            raise ArgumentError(
                f"mode: {mode} controls the end effector; faults are for modes of the joints"
            )
        laws = {law, FEEDFORWARD, INERTIA_WEIGHTED, GRAVITY_LAW}
        self._step = StepLanes(step, sorted(laws))
        self.inertias = SymbolicInertias(arm)
        self.by_drives = values.get("feedback", Settings.feedback) == DRIVE
        if self.by_drives and springs is not None:
            raise ArgumentError("elastic joints are not swept with feedback by drives")
        turns = VELOCITY_TERMS not in self.adds
        plant = PlantStages(self.inertias, velocity_terms=turns)
        self._stages = stages = FaultStages(
            self._step, plant, by_drives=self.by_drives, encoders=encoders
        )
        self.arrays = stages.sizes
        generic = self.inertias.robot_with(np.ones(len(self.inertias)), np.ones(3))
        how = f"{self.by_drives} {turns} {encoders} {arm.elastic_joints}"
        key = f"{key_of(step, robot_digest(robot))} {robot_digest(generic)} {how}"
        self._loop = NativeLoop(
            stages.sizes,
            lambda: fused(stages.items(), stages.sizes, stages.kept),
            f"fault sweep {key}",
        )

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
            yield self.run(seed + k, rates[k % len(rates)], count=size, threads=threads)

    def run(
        self,
        seed: int,
        rate: float,
        *,
        count: int = BATCH,
        threads: int = 1,
        faults: bool = True,
    ) -> Outcome:
        """Run a batch.

        Args:
            seed: Seed of its scenarios.
            rate: Rate of the loop, Hz.
            count: Number of scenarios, at most `BATCH`.
            threads: Number of threads.
            faults: Whether there are any; otherwise states only come up to `LATEST` cycles late.
        """
        scenarios = Scenarios(self, seed, rate, faults=faults)
        memory, settings, _ = self._run(scenarios, slice(count), threads)
        found = {name: self._loop.get(memory, name, count) for name in RESULTS}
        limits = settings[self._step.step.settings.slices["effort_rate"]]
        turns = found["turns"]
        swing = 2.0 * np.minimum(found["there"], found["back"]) / np.maximum(turns, 1.0)
        (array, part), (_, of_cause) = (self._step.place(name) for name in ("status", "cause"))
        status = self._loop.get(memory, array, count)
        return Outcome(
            rate,
            seed,
            scenarios.arrays["kind"][:count, 0].astype(int),
            ((found["peak"] - scenarios.planned[:count]) / scenarios.fastest).max(axis=1),
            found["outside"].max(axis=1),
            (found["sharpest"] * rate / limits).max(axis=1),
            np.where(turns < FEWEST_TURNS, 0.0, swing).max(axis=1),
            status[:, part.start],
            status[:, of_cause.start],
            found["sound"][:, 0] > 0.5,
        )

    def replay(self, seed: int, rate: float, number: int, *, faults: bool = True) -> ScenarioReplay:
        """Run one scenario of a batch again, and return all of it; see `run`.

        Raises:
            ArgumentError: If a batch has no such number.
        """
        if not 0 <= number < BATCH:
            raise ArgumentError(f"scenario {number}: a batch has the numbers 0 to {BATCH - 1}")
        scenarios = Scenarios(self, seed, rate, faults=faults)
        _, _, record = self._run(scenarios, slice(number, number + 1), 1, record=True)
        q, qd, tau, state = (record[x][:, 0] for x in ("q", "qd", "tau", self._stages.status))
        q, qd = (x[:, : self.robot.dof] for x in (q, qd))
        motion, t = scenarios.motion(number), np.arange(len(q)) / rate
        desired = motion.sample(t)
        continuous = continuous_joints(self.robot)
        saturation = np.abs(tau) >= effort_limits(self.robot)
        names = self.robot.joint_names
        log = Log(names, t, q, qd, desired.q, desired.qd, tau, saturation, continuous)
        kind, begins, ends = (
            float(scenarios.arrays[x][number, 0]) for x in ("kind", "begins", "ends")
        )
        return ScenarioReplay(
            tuple(KINDS)[int(kind)], begins, ends, motion, log, self._events(t, state)
        )

    def _events(self, t: Array, state: Array) -> list[tuple[float, str]]:
        """Return the times at which the status changed, and what the controller then says."""
        step, block = self._step.step, self._step.blocks[self._stages.status]
        names = ("status", "cause", "stop_joint", "stop_value", "stop_limit")
        columns = [step.state.slices[name].start - block.start for name in names]
        rows = state[:, columns]
        found = []
        for k in np.flatnonzero(np.diff(rows[:, 0], prepend=np.nan)):
            number, cause, i, value, limit = rows[k].tolist()
            status = Status(round(number))
            words = status.words
            if status is Status.STOPPED:
                sentence = SENTENCES[tuple(Cause)[round(cause)]]
                words = f"stopped: {sentence.words(self.robot, round(i), value, limit)}"
            found.append((float(t[max(k - 1, 0)]), words))
        return found

    def _run(
        self, scenarios: Scenarios, numbers: slice, threads: int, *, record: bool = False
    ) -> tuple[Array, Array, dict[str, Array]]:
        """Run scenarios; return the memory, the settings of the controller and the record."""
        loop, rate = self._loop, scenarios.rate
        given = {name: rows[numbers] for name, rows in scenarios.arrays.items()}
        memory, first = loop.memory(len(given["kind"])), self._initial(rate)
        self._step.set_state(loop, memory, first["state"])
        fixed = {ARRIVED: first["arrived"], SETTINGS: first["settings"], "taken": -1.0}
        for name, values in {**fixed, "sound": 1.0, "alive": 1.0, **given}.items():
            loop.set(memory, name, np.asarray(values))
        cycles = round(DURATION_S * rate)
        depth = int(max(given["later"].max(), LONGEST_S * rate)) + 2
        kept = loop.run(memory, cycles, depth=depth, record=record, threads=threads)
        return memory, first["settings"], kept

    def _initial(self, rate: float) -> dict[str, Array]:
        """Return the first vectors of the controller at a rate, Hz."""
        parameters = self._parameters.copy()
        self._configured.configuration.parameters.views(parameters)["rate"][:] = rate
        self._configured.check(parameters)
        first = self._configured.initial(parameters)
        if self.springs is not None:
            settings = self._step.step.settings.views(first["settings"])
            settings["rotor"][:] = self.springs.rotor_inertia
            if self.springs.known:
                self._fit(settings, self.springs, rate)
        return first

    def _fit(self, settings: dict[str, Array], springs: Springs, rate: float) -> None:
        """Write the gains that fit the springs."""
        dynamics = Dynamics(self.robot.with_joint_elasticity(*springs.elasticity))
        wanted, w = ideal_gains(dynamics, self._bandwidth), self._bandwidth
        model = Model(
            dynamics,
            wanted,
            bandwidth=w,
            rotor_inertia=springs.rotor_inertia,
            encoders=springs.encoders,
            resonance_share=springs.resonance_share,
        )
        sampling = Sampling.of(1.0 / rate, LATEST / rate)
        model = Tuner(dynamics).model(model, wanted, w, sampling)
        found = of_model(model, Settings())
        names = "kp", "kd", "inertia_weighted", "bandwidth", "softened", "rotor"
        write(settings, {name: found[name] for name in names})


class Scenarios:
    """Motions, arms and faults of a batch, the same on every machine.

    Args:
        sweep: The robot.
        seed: Seed of the batch.
        rate: Rate of the loop, Hz.
        faults: Whether there are any.

    Attributes:
        arrays: Inputs of `FaultStages` and `PlantStages`, shape (BATCH, size) each, or (size,).
        planned: Largest speeds of the motions, shape (BATCH, n).
        fastest: Speed limits, shape (n,).
    """

    def __init__(self, sweep: FaultSweep, seed: int, rate: float, *, faults: bool = True) -> None:
        self._rng, robot = np.random.default_rng((seed, round(rate))), sweep.robot
        self.rate, self._n, self._names = rate, robot.dof, robot.joint_names
        n = robot.dof
        longest = DRIVE_STEP_S if sweep.by_drives else STEP_S
        substeps = max(1, round(1.0 / rate / longest))
        if substeps > MOST_SUBSTEPS:
            raise ArgumentError(f"rate is {rate:g} Hz; give 1 Hz or more")
        arm = plant_parameters(
            sweep.inertias, sweep.friction, stops=False, step=1.0 / rate / substeps
        )
        limit = effort_limits(robot)
        arm["limit"] = limit
        if GRAVITY in sweep.adds:
            arm["gravity"] = np.zeros(3)
        if FRICTION in sweep.adds:
            arm |= {"viscous": np.zeros(n), "coulomb": np.zeros(n)}
        known = np.where(np.isfinite(limit), limit, 0.0)
        self.arrays = {name: np.tile(arm[name], (BATCH, 1)) for name in arm.keys() & sweep.arrays}
        self.arrays["body"] *= 1.0 + self._uniform(-MASS_ERROR, MASS_ERROR)
        self.arrays[OPEN_BRAKES] = arm["coulomb"] + known * self._uniform(0.0, UNKNOWN_FRICTION, n)
        self._plan_motions(sweep)
        kinds = self._rng.integers(0, len(KINDS), (BATCH, 1))
        joint = self._rng.integers(0, n, (BATCH, 1))
        begins = BEGIN_S + self.arrays["lasts"] * self._uniform(0.02, 0.98)
        lasts = np.exp(self._uniform(np.log(SHORTEST_S), np.log(LONGEST_S)))
        sign = self._rng.choice([-1.0, 1.0], (BATCH, 1))
        self.arrays |= {
            "rate": np.full((BATCH, 1), rate),
            "substeps": np.full((BATCH, 1), substeps),
            "kind": kinds,
            "here": np.arange(n) == joint,
            "begins": begins,
            "ends": begins + lasts,
            "size": sign * 10.0 ** self._uniform(-1.5, 3.0),
            "later": np.round(rate * 10.0 ** self._uniform(-2.3, -0.5)),
            "deviation": np.full((BATCH, 1), sweep.noise),
            "key": self._rng.integers(0, 2**63, (BATCH, 1)).view(np.float64),
            "rests": np.full((BATCH, 1), DURATION_S - REST_S),
        }
        if sweep.springs is not None:
            self._put_on_springs(sweep, sweep.springs)
        if not faults:
            self.arrays |= {
                "kind": np.full((BATCH, 1), list(KINDS).index("late")),
                "begins": np.zeros((BATCH, 1)),
                "ends": np.full((BATCH, 1), np.inf),
                "later": self._rng.integers(0, LATEST + 1, (BATCH, 1)).astype(float),
            }

    def _put_on_springs(self, sweep: FaultSweep, springs: Springs) -> None:
        elastic = list(sweep.inertias.robot.elastic_joints)
        k = len(elastic)
        self.arrays["rotor"] = np.tile(springs.rotor_inertia, (BATCH, 1))
        K, D = (row[elastic] for row in springs.elasticity)
        self.arrays["stiffness"] = K * (1.0 + self._uniform(-SPRING_ERROR, SPRING_ERROR, k))
        self.arrays["spring_damping"] = D * (
            1.0 + self._uniform(-SPRING_DAMPING_ERROR, SPRING_DAMPING_ERROR, k)
        )
        start = self.arrays["start"]
        twist = sweep.dynamics.gravity(start)[:, elastic] / self.arrays["stiffness"]
        self.arrays["q"] = np.concatenate([start, start[:, elastic] + twist], axis=1)

    def _uniform(self, low: float, high: float, size: int = 1) -> Array:
        return self._rng.uniform(low, high, (BATCH, size))

    def _plan_motions(self, sweep: FaultSweep) -> None:
        robot = sweep.robot
        lower = np.maximum(robot.limits.lower, -np.pi)
        upper = np.minimum(robot.limits.upper, np.pi)
        fastest = velocity_limits(robot)
        self.fastest = np.where(np.isfinite(fastest), fastest, UNLIMITED_SPEED)
        middle, half = (lower + upper) / 2.0, (upper - lower) / 2.0
        start = middle + 0.8 * half * self._uniform(-1.0, 1.0, self._n)
        displacement = middle + 0.8 * half * self._uniform(-1.0, 1.0, self._n) - start
        # The steepest part of a quintic is 15/8 of its mean
        speed = self._uniform(0.1, 0.8) * self.fastest
        needed = (15.0 / 8.0 * abs(displacement) / speed).max(axis=1, keepdims=True)
        lasts = np.clip(needed, SHORTEST_MOTION_S, LONGEST_MOTION_S)
        displacement = displacement / np.maximum(needed / lasts, 1.0)
        lasts = _within_efforts(sweep.dynamics, start, displacement, lasts)
        self.planned = 15.0 / 8.0 * abs(displacement) / lasts
        self.arrays |= {
            "q": start,
            "start": start,
            "displacement": displacement,
            "motion_begins": np.full((BATCH, 1), BEGIN_S),
            "lasts": lasts,
            "elsewhere": middle + 0.5 * half * self._uniform(-1.0, 1.0, self._n),
        }

    def motion(self, number: int) -> Trajectory:
        """Return the motion of a scenario, a quintic."""
        start, displacement, (lasts,) = (
            self.arrays[x][number] for x in ("start", "displacement", "lasts")
        )
        moving = displacement[:, None] * REST_TO_REST.coef / lasts ** np.arange(6)
        moving[:, 0] = start
        return Trajectory(self._names, np.array([BEGIN_S, BEGIN_S + lasts]), moving[None])


def _within_efforts(dynamics: Dynamics, start: Array, displacement: Array, lasts: Array) -> Array:
    """Return durations for which no motion takes more than `EFFORT_SHARE`, up to the longest."""
    limit = EFFORT_SHARE * effort_limits(dynamics.robot)
    while True:
        excessive = np.zeros(len(start), dtype=bool)
        for u in np.linspace(0.0, 1.0, 17):
            q = start + REST_TO_REST(u) * displacement
            qd, qdd = (REST_TO_REST.deriv(k)(u) * displacement / lasts**k for k in (1, 2))
            excessive |= (np.abs(dynamics.inverse(q, qd, qdd)) > limit).any(axis=1)
        longer = excessive[:, None] & (lasts < LONGEST_MOTION_S)
        if not longer.any():
            return lasts
        lasts = np.where(longer, np.minimum(1.2 * lasts, LONGEST_MOTION_S), lasts)


@dataclass(frozen=True)
class FaultRow:
    """Results of one kind of fault.

    Args:
        kind: One of `KINDS`.
        count: Number of scenarios.
        worst: Largest `excess` of `Outcome`.
        beyond: Share of scenarios whose `excess` is above `ALLOWED`.
        outside: Largest `outside` of `Outcome`, rad or m.
        step: Largest `step` of `Outcome`.
        ends: Share of scenarios by last status.
        scenario: Seed and rate, Hz, of the batch with the largest excess, and its number there.
        finite: Whether every number stayed finite.
    """

    kind: str
    count: int
    worst: float
    beyond: float
    outside: float
    step: float
    ends: dict[str, float]
    scenario: tuple[int, float, int]
    finite: bool


def rows(outcomes: Sequence[Outcome]) -> list[FaultRow]:
    """Return the results by kind of fault."""
    found = []
    for number_of_kind, kind in enumerate(KINDS):
        parts = [(x, own) for x in outcomes if (own := x.kind == number_of_kind).any()]
        if not parts:
            continue
        excess = np.concatenate([x.excess[own] for x, own in parts])
        status = np.concatenate([x.status[own] for x, own in parts]).round().astype(int)
        worst = max(parts, key=lambda part: part[0].excess[part[1]].max())[0]
        number = int(np.where(worst.kind == number_of_kind, worst.excess, -np.inf).argmax())
        ends = {
            Status(int(one)).name.lower(): float(np.mean(status == one))
            for one in np.unique(status)
        }
        found.append(
            FaultRow(
                kind,
                len(excess),
                float(excess.max()),
                float(np.mean(excess > ALLOWED)),
                max(float(x.outside[own].max()) for x, own in parts),
                max(float(x.step[own].max()) for x, own in parts),
                ends,
                (worst.seed, worst.rate, number),
                all(bool(x.finite[own].all()) for x, own in parts),
            )
        )
    return found
