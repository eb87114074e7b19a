"""Controller: holds the state of the step, and passes to it what arrives, with time passed in.

It decides nothing: every decision is in the stages of `step`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from robot_dynamics.control import step_settings
from robot_dynamics.control.intake import LOADS
from robot_dynamics.control.laws import (
    ALL_MODES,
    FEEDFORWARD,
    FLOATING_LAW,
    GRAVITY_LAW,
    INERTIA_WEIGHTED,
    LAWS,
    Measured,
    Reference,
)
from robot_dynamics.control.logic import NEVER
from robot_dynamics.control.model import Model
from robot_dynamics.control.reference_history import ReferenceSegment
from robot_dynamics.control.rest import holding_effort
from robot_dynamics.control.settings import Settings
from robot_dynamics.control.status import SENTENCES, Cause, Sentence, Status
from robot_dynamics.control.step import EVENTS, Step
from robot_dynamics.control.step_kernels import RunningStep, StepKernels
from robot_dynamics.control.step_settings import write
from robot_dynamics.control.task import Task
from robot_dynamics.control.task_space import CONSISTENT
from robot_dynamics.dynamics.compiled_robot import robot_digest
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.errors import ArgumentError
from robot_dynamics.foundation.arrays import Array

STATUSES, CAUSES = tuple(Status), tuple(Cause)

_KERNELS: WeakKeyDictionary[Dynamics, dict[tuple[object, ...], StepKernels]] = WeakKeyDictionary()


def kernels_of(model: Model, frame: str | None = None, projector: str = CONSISTENT) -> StepKernels:
    """Return the kernels of the step of a model, shared by all controllers of its equations.

    Args:
        model: The arm; its frame carries payload and wrench.
        frame: End effector of the modes in task space; None without these modes.
        projector: Of their null space.
    """
    known = _KERNELS.setdefault(model.dynamics, {})
    key = model.frame, model.base is not None, frame, projector
    if key not in known:
        endpoint, moves = key[:2]
        step = Step.of(model.dynamics, endpoint, base_moves=moves, frame=frame, projector=projector)
        robot = f"{robot_digest(model.dynamics.robot)}/{model.dynamics.formulation}"
        known[key] = StepKernels(step, robot)
    return known[key]


def prepare(model: Model, mode: str, frame: str | None = None, projector: str = CONSISTENT) -> None:
    """Compile the kernels of a mode before a loop uses them; see `kernels_of`."""
    acting = {LAWS.index(mode), FEEDFORWARD, GRAVITY_LAW, INERTIA_WEIGHTED, FLOATING_LAW}
    kernels_of(model, frame, projector).prepare(sorted(acting))


class Command(NamedTuple):
    """Efforts of one cycle, and the status.

    Args:
        tau: Efforts, shape (n,), N m or N.
        saturation: 1 for saturated joints, else 0, shape (n,).
        status: Status of the controller.
    """

    tau: Array
    saturation: Array
    status: Status

    @property
    def saturated(self) -> Array:
        """Return which joints were saturated, shape (n,)."""
        return np.asarray(self.saturation > 0.0)


class Controller:
    """Efforts for one robot, cycle by cycle.

    Reads no clock: every call gets the time, s, of a clock that never jumps. The first command
    after `activate` holds the arm at its measured position.

    Args:
        model: The arm and its gains.
        settings: Behaviour.
        task: Of the modes in task space; by default there are none.
        stages: Stages that are evaluated, which are compiled here; by default all.

    Examples:
        >>> import numpy as np
        >>> from robot_dynamics import Dynamics, read_urdf
        >>> from robot_dynamics.control import Controller, Measured, Model, Settings, gains_for
        >>> from robot_dynamics.robot import find_robot
        >>> arm = Dynamics(read_urdf(find_robot("planar_2r")))
        >>> settings = Settings(mode="gravity_compensation")
        >>> controller = Controller(Model(arm, gains_for(arm)), settings)
        >>> controller.set_state(Measured(np.zeros(2), np.zeros(2)), now=0.0)
        True
        >>> controller.update(now=0.0).tau.round(2)
        array([166.77,  39.24])
    """

    def __init__(
        self,
        model: Model,
        settings: Settings | None = None,
        task: Task | None = None,
        *,
        stages: Collection[str] = (),
    ) -> None:
        self._settings, self.task, self._stages = settings or Settings(), task, stages
        self._check_task()
        self.joint_names = model.dynamics.robot.joint_names
        self._model: Model | None = None
        self._run: RunningStep | None = None
        self._edition = 0.0
        self._last: tuple[Array, Array] | None = None
        self._came = -np.inf
        self.model = model
        self._use(self._settings)
        self.activate()

    # -- messages in ------------------------------------------------------------------------

    def set_state(
        self,
        measured: Measured,
        now: float,
        *,
        finite: bool = False,
        at: float | None = None,
        delay: float | None = None,
    ) -> bool:
        """Take a measured state; return whether it was usable (every number finite).

        Args:
            measured: The state; may be written in place before the next one is given.
            now: Time of its arrival, s.
            finite: Whether every number is known to be finite.
            at: Time at which it was measured, s, of any clock; by default that of its arrival.
            delay: Time from then to its arrival, s, less any constant; by default the difference
                of both times, which must then be of clocks that run at one speed.

        Returns:
            True if every number is finite; otherwise the state is ignored.
        """
        if not (finite or all_finite(*measured)):
            return False
        arrived = self._arrived
        arrived["state_q"][:], arrived["state_qd"][:] = measured
        at = now if at is None else at
        arrived["state_came"][0], arrived["state_stamp"][0] = now, at
        arrived["state_delay"][0] = now - at if delay is None else delay
        arrived["state_new"][0] = 1.0
        self._came = now
        return True

    def set_reference(
        self,
        reference: Reference | ReferenceSegment,
        now: float,
        *,
        finite: bool = False,
        present: Array | None = None,
        age: float = 0.0,
    ) -> bool:
        """Take a reference; return whether it was usable (every number finite).

        Args:
            reference: The reference at the time of the last state, with the efforts of now.
            now: Time of its arrival, s.
            finite: Whether every number is known to be finite.
            present: The last reference, q and qd, shape (2, n); by default `reference`.
            age: Age of the last reference when it came, s.

        Returns:
            True if every number is finite; otherwise the reference is ignored.
        """
        if isinstance(reference, Reference):
            reference = ReferenceSegment.at(*reference)
        before, after, share, ahead, tau = reference
        arrived = self._arrived
        if present is None:
            present = reference.desired()
        if not (finite or all_finite(*before, *after, *present, tau)):
            return False
        arrived["came_reference"][:] = present
        arrived["came_reference_age"][0] = age
        arrived["came_before"][:], arrived["came_after"][:] = before, after
        arrived["came_share"][0], arrived["came_ahead"][0] = share, ahead
        arrived["came_tau"][:], arrived["came_has_tau"][0] = tau, 1.0
        arrived["reference_came"][0] = now
        return True

    # -- changes from outside ---------------------------------------------------------------

    @property
    def model(self) -> Model:
        """The arm and its gains; another load is carried at once."""
        assert self._model is not None
        return self._model

    @model.setter
    def model(self, model: Model) -> None:
        if model is self._model:
            return
        before, self._model = self._model, model
        self._use_kernels()
        write(self._arrived, step_settings.of_load(model))
        if before is None or _terms(before) != _terms(model):
            write(self._set, step_settings.of_model(model, self._settings))
            if self.task is not None:
                self._set_task(self.task)

    def _use_kernels(self) -> None:
        """Use the kernels of the present model and task, and go on from the present state."""
        task = self.task if self.in_task_space else None
        if task is None:
            kernels = kernels_of(self.model)
        else:
            kernels = kernels_of(self.model, task.end_effector, task.settings.projector)
        if self._run is None or self._run.kernels is not kernels:
            kernels.prepare((), self._stages)  # here, not in the first cycle of a loop
            run = RunningStep(kernels)
            if self._run is not None:
                run.go_on_from(self._run)
            self._run, step = run, kernels.step
            self._arrived = step.arrived.views(run.arrived)
            self._events = run.arrived[: len(EVENTS)]
            self._set = step.settings.views(run.settings)
            self._views = tuple(step.state.views(state) for state in run.states)
            if self.task is not None:
                self.task.bind(self, self._arrived)

    def _set_task(self, task: Task) -> None:
        write(self._set, task.numbers(self.model))

    def use_task(self) -> None:
        """Use other settings of the task, to which the efforts fade."""
        if self.task is not None:
            self._use_kernels()
            self._set_task(self.task)
            self._edition += 1.0
            self._set["settings_edition"][0] = self._edition

    def _check_task(self) -> None:
        if self.in_task_space and self.task is None:
            raise ArgumentError(
                f"mode '{self._settings.mode}' controls the end effector; give the controller a "
                "task"
            )

    @property
    def settings(self) -> Settings:
        """Behaviour."""
        return self._settings

    def _use(self, settings: Settings) -> None:
        """Set limits and times."""
        self._settings = settings
        self._edition += 1.0
        write(self._set, step_settings.of_behaviour(self.model.dynamics.robot, settings))
        write(self._set, step_settings.of_model(self.model, settings))
        self._set["settings_edition"][0] = self._edition

    def change(
        self,
        model: Model | None = None,
        settings: Settings | None = None,
        task: Task | None = None,
    ) -> None:
        """Use another model (payload, gravity, gains), other settings (mode) or another task.

        Efforts pass from the old law to the new one over `settings.fade`. The motion of the base is
        no other law: a model that differs in it alone, as by `dataclasses.replace(model, base=...)`
        in every cycle, acts at once.

        Args:
            model: The arm and its gains; by default as before.
            settings: Behaviour; by default as before.
            task: Of the modes in task space; by default as before.

        Raises:
            ArgumentError: If the mode is in task space and there is no task.
        """
        if settings is None and task is None and model is not None and self._same_but_base(model):
            self.model = model
            return
        before, self._settings = self.task, settings or self._settings
        if task is not None and task is not before:
            self.task = task
            task.bind(self, self._arrived)
            if before is not None and not task.go_on_from(before, self.field("q")):
                task.forget()
        self._check_task()
        if model is not None:
            self.model = model
        self._use_kernels()
        self._use(self._settings)
        if self.task is not None:
            self._set_task(self.task)

    def _same_but_base(self, model: Model) -> bool:
        """Return whether a model differs from the present one in the motion of its base alone."""
        now = self.model
        loads = ("dynamics", "payload", "frame", "gravity_vector", "wrench")
        same = all(getattr(now, name) is getattr(model, name) for name in loads)
        moves = now.base is not None and model.base is not None
        return same and moves and _terms(now) == _terms(model)

    def activate(self, effort: Array | None = None) -> None:
        """Start afresh and hold the arm until a reference comes.

        Args:
            effort: Present effort of the joints, shape (n,), N m or N, from which the first command
                starts; by default the effort of gravity.
        """
        known = self._came > -np.inf
        run, arrived = self._run, self._arrived
        assert run is not None
        run.begin()
        for name in ("halted", "refused", "ending", "resume", "unheard", "came_has_tau"):
            arrived[name][0] = 0.0
        arrived["reference_came"][0] = NEVER
        for name in ("pose_came", "twist_came", "push_came"):
            arrived[name][0] = NEVER
        arrived["state_new"][0] = float(known)
        arrived["has_begin_tau"][0] = float(effort is not None)
        if effort is not None:
            arrived["begin_tau"][:] = effort

    def forget(self) -> None:
        """Forget the measured state; nothing is commanded before the next one."""
        self._came = -np.inf
        self._arrived["state_new"][0] = 0.0
        assert self._run is not None
        self._run.begin()

    def postpone(self) -> None:
        """Delay tracking while no node receives commands, unless the arm is in motion."""
        self._arrived["unheard"][0] = 1.0

    def halt(self) -> float:
        """Stop following references: come to rest and hold.

        Returns:
            Time to come to rest, s.
        """
        self._arrived["halted"][0] = 1.0
        return self._settings.stop if self.status is Status.TRACKING else 0.0

    def refuse(self, why: str) -> None:
        """Come to rest and hold while there is a reason; an empty text withdraws it.

        Args:
            why: Reason, in words.
        """
        self._arrived["refused"][0] = float(bool(why))

    def let_go(self) -> float:
        """Let the efforts fade to zero.

        Returns:
            Duration of the fade, s.
        """
        self._end_with(np.zeros(len(self.joint_names)), 1.0)
        return self._settings.fade

    @property
    def rests(self) -> bool:
        """Return whether the arm has been at rest for a while; see `rest`."""
        return self.field("at_rest").item() > 0.5

    def holding_effort(self, gravity: Array) -> Array:
        """Return the effort that holds the arm at rest without feedback, shape (n,), N m or N.

        Args:
            gravity: Effort of the model at rest, shape (n,), N m or N.

        Returns:
            Gravity and a load that the model does not know, by the mean command, if the arm rests;
            otherwise `gravity`.
        """
        mean, rests = self.field("mean_effort")[0], self.field("at_rest").item()
        return holding_effort(gravity, mean, self.limit, rests)

    def hold_by(self, effort: Array) -> None:
        """End feedback at rest: command an effort from the next cycle on.

        Args:
            effort: Shape (n,), N m or N.
        """
        self._end_with(effort, 2.0)

    def _end_with(self, effort: Array, how: float) -> None:
        self._arrived["end_tau"][:], self._arrived["ending"][0] = effort, how

    @property
    def ended(self) -> bool:
        """Return whether the command has reached the effort of `let_go` or `hold_by`."""
        if not self._arrived["ending"][0]:
            return False
        end = np.clip(self._arrived["end_tau"], -self.limit, self.limit)
        return bool(self.field("was_ending")[0]) and np.array_equal(self.field("tau"), end)

    def resume(self) -> bool:
        """Follow references after a stop or silence, once they are where the arm is.

        Returns:
            Whether there was anything to resume.
        """
        self._arrived["resume"][0] = 1.0
        return bool(self.field("paused")[0] or self.field("cause")[0])

    # -- the state -----------------------------------------------------------------------------

    def field(self, name: str) -> Array:
        """Return a field of the present state.

        Args:
            name: Name of the field.

        Returns:
            Array; scalars have the shape (1,).
        """
        assert self._run is not None
        return self._views[self._run.turn][name]

    def index(self, name: str) -> int | None:
        """Return a field that holds the index of a joint, or None without one.

        Args:
            name: Name of the field.

        Returns:
            Index of the joint, or None.
        """
        found = int(self.field(name)[0])
        return None if found < 0 else found

    @property
    def in_task_space(self) -> bool:
        """Return whether the mode controls the end effector."""
        return ALL_MODES[self._settings.mode].in_task_space

    @property
    def commanded(self) -> Array:
        """Return the last command, shape (n,), N m or N; zero before the first."""
        return self.field("tau").copy()

    @property
    def status(self) -> Status:
        """Return the status since the last `update`."""
        return STATUSES[int(self.field("status")[0])]

    def sees(self, now: float) -> bool:
        """Return whether states arrive.

        Args:
            now: Present time, s.

        Returns:
            True if the last state is not older than `state_timeout`.
        """
        return now - self._came <= self._settings.state_timeout

    @property
    def cause(self) -> Cause:
        """Cause of the present stop."""
        return CAUSES[int(self.field("cause")[0])]

    @property
    def stopped_by(self) -> str | None:
        """Reason of the present stop, with joint, value and limit, if the arm is stopped."""
        return self._sentence("cause", "stop", Sentence.words) or None

    def line(self, name: str, kind: str = "") -> str:
        """Return the sentence of a cause and its remedy.

        Args:
            name: Field of its number: "cause", "warning", "brake_cause" or "limited".
            kind: What the fields of joint, value and limit begin with; by default `name`.

        Returns:
            One line; empty without a cause.
        """
        return self._sentence(name, kind or name, Sentence.line)

    def _sentence(self, name: str, kind: str, words: Callable[..., str]) -> str:
        cause = CAUSES[int(self.field(name)[0])]
        if cause is Cause.NONE:
            return ""
        i, value, limit = (self.field(f"{kind}_{x}").item() for x in ("joint", "value", "limit"))
        return words(SENTENCES[cause], self.model.dynamics.robot, int(i), value, limit)

    @property
    def warning(self) -> Cause:
        """Return what is to be reported and does not stop the arm."""
        return CAUSES[int(self.field("warning")[0])]

    @property
    def braked_by(self) -> str | None:
        """Name of a joint that does not move although it is pushed, if there is one."""
        joint = self.index("brake_joint")
        return None if joint is None else self.joint_names[joint]

    @property
    def brakes(self) -> str:
        """Sentence about a joint that does not move although it is pushed; empty for none."""
        return self.line("brake_cause", "brake")

    # -- parts of the step, for a simulation that knows the motion -----------------------------

    @property
    def arrived(self) -> dict[str, Array]:
        """Inputs of the next cycle, by field."""
        return self._arrived

    @property
    def run_of_step(self) -> RunningStep:
        """The step that runs."""
        assert self._run is not None
        return self._run

    @property
    def limit(self) -> Array:
        """Largest efforts, shape (n,), N m or N."""
        return self._set["effort"]

    @property
    def load(self) -> Array:
        """Payload, gravity and wrench that arrive, in the order of the field `load`."""
        return np.concatenate([self._arrived[f"{name}_goal"] for name in LOADS])

    def settings_vector(self, name: str) -> Array:
        """Return a field of the settings of the step.

        Args:
            name: Name of the field.

        Returns:
            Array that the step reads.
        """
        return self._set[name]

    def fields_to_write(self) -> dict[str, Array]:
        """Return the fields of the next state.

        It begins as a copy of the present one.
        """
        assert self._run is not None
        self._run.copy_on()
        return self._views[1 - self._run.turn]

    def evaluate(self, stages: tuple[str, ...]) -> None:
        """Evaluate some stages on the fields that were written, and pass to that state.

        Args:
            stages: Names of the stages, in order.
        """
        assert self._run is not None
        self._run.evaluate(stages)

    # -- the cycle --------------------------------------------------------------------------

    def update(self, now: float) -> Command | None:
        """Compute the command of this cycle.

        Args:
            now: Present time, s.

        Returns:
            Efforts and status; None before the first state, and long after the last.
        """
        run, events = self._run, self._events
        if self._came == -np.inf or run is None:
            return None
        self._arrived["now"][0] = now
        taken = events.tolist()
        run.advance()
        for i, event in enumerate(taken):
            if event:  # another thread may have set another one meanwhile
                events[i] = 0.0
        state = self._views[run.turn]
        if not state["commands"][0]:
            return None
        return Command(
            state["tau"].copy(), state["saturation"].copy(), STATUSES[int(state["status"][0])]
        )


def _terms(model: Model) -> tuple[object, ...]:
    """Return what of a model is a setting."""
    return (
        *(id(part) for part in (model.gains, model.friction, model.rotor_inertia)),
        *(
            model.bandwidth,
            model.damping_ratio,
            model.friction_width,
            model.inertia_weighted,
            model.delay,
        ),
        *(model.velocity_terms, model.fastest),
    )


def all_finite(*arrays: Array) -> bool:
    """Return whether every number is finite, shape (n,) each: the guard on numbers in and out."""
    for array in arrays:  # noqa: SIM110  # a generator takes longer than what it tests
        # One product takes a tenth of the time of a test of each, which only squares too large need
        if not (math.isfinite(array.dot(array)) or np.isfinite(array).all()):
            return False
    return True
