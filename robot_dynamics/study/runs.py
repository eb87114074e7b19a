"""Runs of a study: a pure function of the plan and the index of the run."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.compiler.native.parallel import processors
from robot_dynamics.control.controller import Controller
from robot_dynamics.control.gains import DEFAULT_DAMPING_RATIO, Gains, ideal_gains
from robot_dynamics.control.laws import TASK_MODES
from robot_dynamics.control.model import Model
from robot_dynamics.control.sampled_loop import Sampling, largest_frequency
from robot_dynamics.control.sampling.tuning import Tuner, gains_for
from robot_dynamics.control.settings import Settings
from robot_dynamics.control.task import Task
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot.kinematic_tree import JointElasticity
from robot_dynamics.robot.robot import Robot
from robot_dynamics.simulation.base_motions import in_steps
from robot_dynamics.simulation.simd.compiled_loop import (
    BatchResult,
    CompiledLoop,
    first_efforts,
    plant_parameters,
    reference_table,
)
from robot_dynamics.simulation.simd.law_stages import (
    OWN_INERTIA,
    LoopStructure,
    law_key,
    law_parameters,
)
from robot_dynamics.spatial import Inertia
from robot_dynamics.study.plan import StudyPlan
from robot_dynamics.study.quantities import QUANTITIES, Setting

CHUNK = 512
"""Number of runs that are executed, sent and stored together."""

_MOST_KEPT = 16


class Chunk(NamedTuple):
    """Consecutive runs of one mode.

    Attributes:
        mode: Index of the mode.
        start: First run.
        stop: One past the last run.
    """

    mode: int
    start: int
    stop: int


def chunks_of(plan: StudyPlan) -> list[Chunk]:
    """Return all runs of a study in chunks, in order."""
    count = plan.count
    return [
        Chunk(mode, start, min(start + CHUNK, count))
        for mode in range(len(plan.modes))
        for start in range(0, count, CHUNK)
    ]


class Runner:
    """The compiled robot of a study, ready for runs of one mode.

    Args:
        plan: The study.
        mode: One of its modes.
    """

    def __init__(self, plan: StudyPlan, mode: str) -> None:
        self.plan = plan
        model, h, n = model_of(plan), plan.plant_step, plan.robot.dof
        t = np.arange(plan.steps) * h
        moves = plan.base_motion
        base = None if moves is None else in_steps(moves, plan.robot, t, h)
        if base is not None and plan.known_base == "motion":
            model = replace(model, base=base[0, :15])
        controller = _controller(plan, mode, model)
        self.loop = _loop(plan, mode, controller)
        structure = self.loop.structure
        self._shared = plant_parameters(
            self.loop.inertias, plan.joint_friction, stops=plan.stops, step=h
        )
        self._shared |= law_parameters(controller)
        self._shared |= {
            "cycle_steps": np.array([_periods(plan)]),
            "rotor": np.zeros(n) if plan.rotor_inertia is None else plan.rotor_inertia,
            "sensor_delay": np.zeros(1),
            "command_delay": np.zeros(1),
            "deviation": np.zeros(2 * n),
            "resolution": np.zeros(2 * n),
        }
        motions = plan.trajectories()
        # Two windows of rest, between which motion must not grow
        resting, half = t >= (1.0 - plan.rest) * plan.duration, (1.0 - 0.5 * plan.rest)
        late = t >= half * plan.duration
        windows = np.stack([resting & ~late, late], axis=1).astype(float)
        self.references = np.array(
            [reference_table(model, structure, motion, t, windows, base) for motion in motions]
        )
        self._starts = np.array([motion.sample(0.0).q for motion in motions])
        self._placed = _with_motors(plan.robot, model.dynamics, self._starts)
        self._first = first_efforts(model, motions)
        masses = np.diagonal(model.dynamics.mass_matrix(self._starts), axis1=1, axis2=2)
        self._inertia = masses + self._shared["rotor"]
        self._values = plan.values()

    def run(
        self,
        start: int,
        stop: int,
        *,
        threads: int = 1,
        record: bool = False,
        done: Callable[[int], None] | None = None,
    ) -> BatchResult:
        """Execute runs `start` to `stop` - 1."""
        values = {name: rows[start:stop] for name, rows in self._values.items()}
        return self._run(values, np.arange(start, stop), threads=threads, record=record, done=done)

    def errors_at(self, points: Array) -> Array:
        """Return the largest error of runs with other values than the plan's, shape (N,).

        It is that of the joints, or the position error of the end effector, m, where a mode leads
        it.

        Args:
            points: Values along the plan's dimensions, shape (N, dimensions).
        """
        values, at = {}, 0
        for name in self.plan.vary:
            size = len(QUANTITIES[name].columns(name, self.plan.robot))
            values[name] = points[:, at : at + size]
            at += size
        result = self._run(values, np.arange(len(points)), threads=processors())
        leads = self.loop.structure.in_task_space
        return result.statistics["end_effector_peak_position" if leads else "peak_error"].max(
            axis=1
        )

    def _run(self, values: Mapping[str, Array], runs: Array, **how: Any) -> BatchResult:
        plan = self.plan
        motion = runs % len(plan.motions)
        parameters = dict(self._shared)
        parameters["q"], parameters["last"] = self._placed[motion], self._first[motion]
        if plan.by_drives:
            parameters[OWN_INERTIA] = self._inertia[motion]
        frame = plan.payload_frame
        setting = Setting(self.loop.inertias, parameters, plan.plant_step, frame)
        for name in plan.vary:
            QUANTITIES[name].apply(setting, values[name])
        keys = plan.keys(0, int(runs[-1]) + 1)[runs]
        return self.loop.run(parameters, self.references, motion, keys, **how)


def _with_motors(robot: Robot, dynamics: Dynamics, starts: Array) -> Array:
    """Return positions of links and motors at rest, shape (m, N), from those of links (m, n)."""
    elastic = list(robot.elastic_joints)
    twist = dynamics.gravity(starts)[:, elastic] / robot.joint_elasticity.stiffness[elastic]
    return np.concatenate([starts, starts[:, elastic] + twist], axis=1)


MOST_RUNS = 0.95
"""Share of the runs whose delays the gains of the end effector fit."""


def model_of(plan: StudyPlan) -> Model:
    """Return the law's model of the robot, with the gains of the plan."""
    dynamics = Dynamics(plan.robot)
    if isinstance(plan.gains, Gains):
        gains = plan.gains
    elif plan.gains == "ideal":
        gains = ideal_gains(dynamics, plan.bandwidth)
    else:
        gains = gains_for(dynamics, bandwidth=plan.bandwidth, period=1.0 / plan.rate)
    if plan.integral:
        gains = Gains(gains.kp, gains.kd, plan.integral * gains.kp)
    load = None
    if plan.known_payload:
        load = Inertia.from_com(plan.known_payload, np.zeros(3), np.zeros((3, 3)))
    frame = plan.payload_frame if load is not None else None
    fastest = np.inf
    if plan.in_task_space and plan.gains == "fitted":
        sampling = Sampling.of(1.0 / plan.rate, _oldest(plan))
        fastest = largest_frequency(DEFAULT_DAMPING_RATIO, sampling)
    rigid = JointElasticity(np.full(plan.robot.dof, np.inf), np.zeros(plan.robot.dof))
    model = Model(
        dynamics,
        gains,
        plan.joint_friction,
        bandwidth=plan.bandwidth,
        payload=load,
        frame=frame,
        fastest=fastest,
        rotor_inertia=plan.rotor_inertia,
        elasticity=None if plan.elasticity_known else rigid,
        encoders=plan.encoders,
    )
    if model.elasticity is None or plan.gains != "fitted":
        return model
    wanted = ideal_gains(dynamics, plan.bandwidth)
    if plan.integral:
        wanted = replace(wanted, ki=plan.integral * wanted.kp)
    sampling = Sampling.of(1.0 / plan.rate)
    fitting = Tuner(dynamics).model(model, wanted, plan.bandwidth, sampling)
    return replace(fitting, fastest=min(fitting.fastest, fastest), delay=model.delay)


def _oldest(plan: StudyPlan) -> float:
    """Return the age of states beyond the period that gains in task space are fitted to, s."""
    delays = (plan.vary.get(name) for name in ("delay", "command_delay"))
    return sum(float(one.at(np.array(MOST_RUNS))) for one in delays if one is not None)


def _periods(plan: StudyPlan) -> float:
    """Return the plant steps per control period, for a rate that does not vary."""
    return float(max(np.rint(1.0 / (plan.rate * plan.plant_step)), 1.0))


_cache: OrderedDict[Any, Any] = OrderedDict()
"""Compiled loops and runners of this process, the last used ones at the end."""


def _cached(key: object, make: Callable[[], Any]) -> Any:
    if key not in _cache:
        _cache[key] = make()
        while len(_cache) > _MOST_KEPT:
            _cache.popitem(last=False)
    _cache.move_to_end(key)
    return _cache[key]


def _controller(plan: StudyPlan, mode: str, model: Model) -> Controller:
    """Return the controller whose law the runs of a mode have."""
    task = Task(model, plan.end_effector_frame, plan.task) if mode in TASK_MODES else None
    rate = np.full(plan.robot.dof, plan.effort_rate)
    settings = Settings(mode, plan.feedback, effort_rate=rate, fade=0.0)
    return Controller(model, settings, task)


def _loop(plan: StudyPlan, mode: str, controller: Controller) -> CompiledLoop:
    """Return the compiled loop of a plan, cached per process."""
    friction, varies = plan.joint_friction, set(plan.vary)
    structure = LoopStructure(
        mode,
        plan.integrator,
        stribeck=bool(friction.stiction.any()),
        load_or_offset=friction.has_load_or_offset,
        passive=plan.stops or friction.is_dry,
        has_memory=friction.has_memory,
        imperfect_states=bool(varies & {"delay", "noise", "velocity_noise", "resolution"}),
        delayed_commands="command_delay" in varies,
        longer_cycle="rate" in varies or _periods(plan) != 1.0,
        shared=len(plan.motions) == 1,
        end_effector=plan.end_effector_frame,
        base=None if plan.base_motion is None else plan.known_base,
        drives=plan.by_drives,
    )
    key = structure, law_key(controller, structure)
    loop: CompiledLoop = _cached(key, lambda: CompiledLoop(controller, structure))
    return loop


def runner(plan: StudyPlan, mode: str) -> Runner:
    """Return the runner of a plan, cached per process."""
    own: Runner = _cached((plan.digest(), mode), lambda: Runner(plan, mode))
    return own


Columns = dict[str, Array]


def run_chunk(
    plan: StudyPlan, chunk: Chunk, threads: int = 1, done: Callable[[int], None] | None = None
) -> Columns:
    """Execute some runs and return their statistics by name, one row per run."""
    result = runner(plan, plan.modes[chunk.mode]).run(
        chunk.start, chunk.stop, threads=threads, done=done
    )
    return dict(result.statistics)
