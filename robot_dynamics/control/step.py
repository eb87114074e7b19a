"""Step: the controller as one pure function of its state, of what arrived, and of its settings.

    (state, arrived, settings) -> state

The function is a sequence of stages. Each stage is ordinary arithmetic on numbers or symbols, and
writes its own fields of the state, which later stages read. Every decision is in a stage. A
driver evaluates the stages in order, leaves out those whose flag is zero, and picks the law by its
number: in Python, in SIMD lanes and in C.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from robot_dynamics.compiler.graph.piecewise import minimum
from robot_dynamics.control import laws
from robot_dynamics.control.arm import Arm, ArmEquations, Damping, DriveRows, Tuning
from robot_dynamics.control.command import COMMAND, command
from robot_dynamics.control.contacts import ADDED, OBSERVED, SENSED, add, observe, sense
from robot_dynamics.control.end_effector import EndEffectorEquations
from robot_dynamics.control.fields import SCALAR, VECTOR, Facts, Field, Layout
from robot_dynamics.control.friction import ELEMENTS, FrictionRows
from robot_dynamics.control.guard import BELIEVED, believe
from robot_dynamics.control.intake import LOAD, MEMORY, follow_presliding, parts_of_load, take_load
from robot_dynamics.control.laws import LAWS, Measured, Reference
from robot_dynamics.control.logic import NEVER, among, both, chosen, either, equal, negated
from robot_dynamics.control.motion import (
    DESIRED,
    TRANSITION,
    begin_transition,
    move,
)
from robot_dynamics.control.oscillation import OSCILLATION, look, looks
from robot_dynamics.control.rest import REST, rest
from robot_dynamics.control.stability import largest_mode
from robot_dynamics.control.status import GIVEN_UP, Cause
from robot_dynamics.control.supervision import (
    REFERENCE,
    SUPERVISION,
    behind,
    present_of,
    supervise,
)
from robot_dynamics.control.target_motion import LONGEST_STEP_S
from robot_dynamics.control.targets import (
    TARGET,
    TARGET_ARRIVED,
    TARGET_EVENTS,
    TARGET_SETTINGS,
    axes_of_task,
    ends_of,
    lacks_wrench,
    move_target,
    target_moves,
)
from robot_dynamics.control.task_space import CONSISTENT, task_equations
from robot_dynamics.control.watches import WATCHES, watch
from robot_dynamics.foundation.arrays import Array

if TYPE_CHECKING:
    from robot_dynamics.dynamics.dynamics import Dynamics

EVENTS: Mapping[str, Field] = {
    "state_new": Field(SCALAR, "1 if a state came since the last cycle"),
    "resume": Field(SCALAR, "1 to follow again after a stop"),
    "unheard": Field(SCALAR, "1 if no drive receives the commands"),
    **TARGET_EVENTS,
}
"""Fields that hold for one cycle."""

ARRIVED: Mapping[str, Field] = {
    **EVENTS,
    "now": Field(SCALAR, "present time, s, of a clock that never jumps"),
    "state_q": Field(VECTOR, "its positions, rad or m"),
    "state_qd": Field(VECTOR, "its velocities, rad/s or m/s"),
    "state_came": Field(SCALAR, "time at which it came, s"),
    "state_stamp": Field(SCALAR, "time at which it was measured, s, of any clock"),
    "state_delay": Field(SCALAR, "time from its stamp to its arrival, s, less any constant"),
    "reference_came": Field(SCALAR, "time at which the last reference came, s", NEVER),
    "came_reference": Field((2, "n"), "the last reference, q and qd"),
    "came_reference_age": Field(SCALAR, "its age when it came, s; not believed beyond `UNTIMED_S`"),
    "came_before": Field((2, "n"), "reference before the time of the last state, q and qd"),
    "came_after": Field((2, "n"), "reference after it; both the last one where it is not known"),
    "came_share": Field(SCALAR, "share of the motion between them"),
    "came_ahead": Field(SCALAR, "time beyond the second one, s; unknown: that since it", NEVER),
    "came_qdd": Field(VECTOR, "accelerations; 0 where unknown"),
    "came_tau": Field(VECTOR, "efforts, N m or N"),
    "came_has_tau": Field(SCALAR, "1 if there are efforts"),
    "halted": Field(SCALAR, "1 while references are not followed"),
    "refused": Field(SCALAR, "1 while there is a reason to follow none"),
    "unstamped": Field(SCALAR, "1 if states have no stamps, and may be repeated"),
    "lead": Field(SCALAR, "time by which commanded positions are ahead, s"),
    "has_begin_tau": Field(SCALAR, "1 if the first command starts from given efforts"),
    "begin_tau": Field(VECTOR, "these efforts, N m or N"),
    "ending": Field(SCALAR, "1 to pass to a last command, 2 to give it at once, else 0"),
    "end_tau": Field(VECTOR, "last command, N m or N"),
    "payload_goal": Field((10,), "payload: kg, kg m, kg m^2; see `Variant`"),
    "gravity_goal": Field((3,), "acceleration of gravity in the root link, m/s^2"),
    "wrench_goal": Field((6,), "wrench that the arm exerts, N and N m"),
    "base": Field((15,), "motion of the base; see `BaseMotion.numbers`"),
    **TARGET_ARRIVED,
}
"""Inputs of a cycle."""

SETTINGS: Mapping[str, Field] = {
    "settings_edition": Field(SCALAR, "number of the settings; another one fades the efforts"),
    "mode": Field(SCALAR, "number of the control mode"),
    "inertia_weighted": Field(SCALAR, "1 for feedback by the mass matrix in the mode feedforward"),
    "kp": Field(VECTOR, "position gains, N m/rad or N/m"),
    "kd": Field(VECTOR, "velocity gains, N m s/rad or N s/m"),
    "ki": Field(VECTOR, "integral gains, N m/(rad s) or N/(m s)"),
    "integral_time": Field(SCALAR, "time within which feedback becomes a lasting effort, s"),
    "i_clamp": Field(VECTOR, "largest efforts of the integral part, N m or N", np.inf),
    "soft_lower": Field(VECTOR, "where the soft zones begin, rad or m", -np.inf),
    "soft_upper": Field(VECTOR, "where the soft zones begin, rad or m", np.inf),
    "soft_velocity": Field(VECTOR, "speeds above which motion is braked", np.inf),
    "soft_stiffness": Field(VECTOR, "stiffness of the soft zones, N m/rad or N/m"),
    "soft_damping": Field(VECTOR, "damping of the soft zones, N m s/rad or N s/m"),
    "allowed": Field(VECTOR, "position errors that stop the arm, rad or m", np.inf),
    "nearest": Field(VECTOR, "distances at which a reference is where the arm is", 0.1),
    "effort_rate": Field(VECTOR, "largest changes of effort, N m/s or N/s", np.inf),
    "effort": Field(VECTOR, "largest efforts, N m or N", np.inf),
    "velocity": Field(VECTOR, "speed limits, rad/s or m/s", np.inf),
    "lower": Field(VECTOR, "lower ends of the joint ranges, rad or m", -np.inf),
    "upper": Field(VECTOR, "upper ends of the joint ranges, rad or m", np.inf),
    "fade": Field(SCALAR, "time to fade to other efforts, s", 0.2),
    "settling_time": Field(SCALAR, "time to hold before a reference is followed, s", 0.3),
    "stop": Field(SCALAR, "time to come to rest, s", 0.3),
    "approach_time": Field(SCALAR, "least time to join a reference, s", 0.5),
    "state_timeout": Field(SCALAR, "age at which states are stale, s", 0.1),
    "delay": Field(SCALAR, "time from a state to its effort that the gains fit, s"),
    "reference_timeout": Field(SCALAR, "age at which references are stale, s", 0.2),
    "open_loop_timeout": Field(SCALAR, "time without states until commands end, s", 1.0),
    "longest_cycle": Field(SCALAR, "time that counts for effort_rate, s", 0.01),
    "load_ramp": Field(SCALAR, "time to another load, s"),
    "resume_by_itself": Field(SCALAR, "1 to follow again when messages return", 1.0),
    "floats_on_timeout": Field(SCALAR, "1 to compensate gravity alone when references stop"),
    "ends_without_states": Field(SCALAR, "1 to fade to zero effort when states stop"),
    "adds_velocity_terms": Field(SCALAR, "1 if the robot adds Coriolis and centrifugal efforts"),
    "drive_feedback": Field(SCALAR, "1 if the drives close the loop, with the gains kp and kd"),
    "drive_velocity": Field(SCALAR, "1 if they take velocities beside positions", 1.0),
    "friction": Field((len(FrictionRows._fields), "n"), "the rows of `FrictionRows`"),
    "rotor": Field(VECTOR, "inertia of the rotors at the joints, kg m^2 or kg"),
    "has_memory": Field(SCALAR, "1 if friction has a presliding part"),
    "slip": Field((ELEMENTS, "n"), "slip distances of its elements, rad or m", 1e-3),
    "elastic": Field((ELEMENTS, "n"), "elastic parts of its elements", 1.0),
    "bandwidth": Field(SCALAR, "natural frequency of feedback by the mass matrix, rad/s", 20.0),
    "damping_ratio": Field(SCALAR, "its damping ratio", 1.0),
    "softened": Field(VECTOR, "resonances for which feedback is lower than wanted, Hz; 0 for none"),
    "friction_width": Field(SCALAR, "speed of the crossing of friction, rad/s or m/s", 0.01),
    "reaction": Field(SCALAR, "number of the reaction to a contact"),
    "contact_gain": Field(SCALAR, "gain of the observer, 1/s", 100.0),
    "contact_time": Field(SCALAR, "time beyond a threshold that counts, s", 0.005),
    "contact_rows": Field((6, "n"), "rows of `ObserverSettings` behind the rotors"),
    **TARGET_SETTINGS,
}
"""Settings of the step."""

LAW: Mapping[str, Field] = {
    "law_effort": Field(VECTOR, "efforts of the law, without feedback joint by joint, N m or N"),
    "expected": Field(VECTOR, "efforts of the model for the desired motion, N m or N"),
    "task_velocity": Field(VECTOR, "joint velocities of the target in task space"),
    "task_error": Field((6,), "target minus measured pose in task axes, m and rad"),
    "singularity": Field(SCALAR, "0 away from singular poses, 1 at one"),
    "attainable": Field(SCALAR, "share of its speed that the target may keep", 1.0),
    "correction": Field((2, 6), "state of the force feedback"),
    "held_back": Field(VECTOR, "accelerations kept from joints at the ends of their ranges"),
    "task_way": Field(VECTOR, "displacement of the joints that leads to the target, rad or m"),
    "nearer": Field(SCALAR, "share of the squared error that it can take away", 1.0),
}

FORESEEN: Mapping[str, Field] = {
    "held_tau": Field(VECTOR, "efforts that hold the arm where the first state is, N m or N"),
    "own_inertia": Field(VECTOR, "inertia that each joint moves, kg m^2 or kg"),
    "foreseen_qdd": Field(VECTOR, "accelerations by the efforts of the reference"),
    "fastest_mode": Field(SCALAR, "bound of the fastest mode of feedback joint by joint, 1/s"),
}

FLAGS: Mapping[str, Field] = {
    "foresees": Field(SCALAR, "1 if efforts, inertias and accelerations are computed"),
    "foresees_start": Field(SCALAR, "1 in the first cycle"),
    "leads": Field(SCALAR, "1 if a target in task space moves"),
    "leaves": Field(SCALAR, "1 if friction forgets up to where its motion is known"),
}


@dataclass(frozen=True)
class Stage:
    """A part of the step.

    Args:
        name: Its name.
        fields: Fields that it writes.
        function: Takes the facts, and returns these fields by name.
        when: Field that is positive where the stage is evaluated; empty for always.
        of_robot: Whether it depends on the equations of the robot.
        law: Name of the law, for a stage that is picked by its number.
    """

    name: str
    fields: Mapping[str, Field]
    function: Callable[[Facts], Mapping[str, Any]]
    when: str = ""
    of_robot: bool = False
    law: str = ""


@dataclass(frozen=True, eq=False)
class Step:
    """The stages of the step of one robot, and the layouts of its vectors.

    Args:
        n: Number of joints.
        equations: Of the robot.
        end_effector: Of the end effector, for modes in task space; None without them.
        projector: One of `task_space.PROJECTORS`.
        state: Layout of the state.
        arrived: Layout of what arrives.
        settings: Layout of the settings.
    """

    n: int
    equations: ArmEquations
    end_effector: EndEffectorEquations | None = None
    projector: str = CONSISTENT
    state: Layout = field(init=False)
    arrived: Layout = field(init=False)
    settings: Layout = field(init=False)

    def __post_init__(self) -> None:
        fields: dict[str, Field] = {}
        for stage in self.stages:
            fields.update(stage.fields)
        for name, given in (("state", fields), ("arrived", ARRIVED), ("settings", SETTINGS)):
            object.__setattr__(self, name, Layout(given, self.n))

    @classmethod
    def of(
        cls,
        dynamics: Dynamics,
        endpoint: str | None = None,
        *,
        base_moves: bool = False,
        frame: str | None = None,
        projector: str = CONSISTENT,
    ) -> Step:
        """Return the step of a robot.

        Args:
            dynamics: Its equations.
            endpoint: Frame of payload and wrench, or None.
            base_moves: Whether the base moves.
            frame: End effector of the modes in task space; None without these modes.
            projector: Of their null space.
        """
        arm = ArmEquations.of(dynamics, endpoint, base_moves=base_moves)
        end = None if frame is None else EndEffectorEquations.of(dynamics, frame, endpoint)
        return cls(dynamics.robot.dof, arm, end, projector)

    @property
    def continuous(self) -> Array | None:
        """Which joints turn without end."""
        return self.equations.continuous

    @cached_property
    def stages(self) -> tuple[Stage, ...]:
        """The stages in order; the law is one of `law_stages`."""
        return (
            Stage("intake", {**BELIEVED, **LOAD}, self._take_in),
            Stage("sense", SENSED, sense, "senses"),
            Stage("add", ADDED, self._add, "adds_velocity_terms", True),
            Stage("observe", OBSERVED, self._observe, "observes", True),
            Stage("supervise", {**REFERENCE, **SUPERVISION, **FLAGS}, self._supervise),
            Stage("foresee", FORESEEN, self._foresee, "foresees", True),
            Stage("target", TARGET, self._target, "leads", True),
            Stage("begin", TRANSITION, self._begin, "begins"),
            Stage("move", DESIRED, self._move),
            Stage("follow_presliding", MEMORY, follow_presliding, "has_memory"),
            Stage("law", LAW, self._law("feedforward"), "seen", True),
            Stage("command", {**COMMAND, **WATCHES}, self._command),
            Stage("look", OSCILLATION, look, "looks"),
            Stage("rest", REST, rest, "fresh"),
        )

    @cached_property
    def law_stages(self) -> tuple[Stage, ...]:
        """The stage of every law of the joints, in the order of `LAWS`."""
        found = []
        for name in LAWS:
            in_task = name in laws.TASK_MODES
            if not (in_task and self.end_effector is None):
                law = self._task_law(name) if in_task else self._law(name)
                found.append(Stage(f"law_{name}", LAW, law, "seen", True, name))
        return tuple(found)

    # -- the stages -----------------------------------------------------------------------------

    def _take_in(self, x: Facts) -> dict[str, Any]:
        believed = believe(x)
        x.learn(believed)
        return {**believed, **take_load(x)}

    def _add(self, x: Facts) -> dict[str, Any]:
        return add(x, replace(self._arm(x), velocity_terms=1.0))

    def _observe(self, x: Facts) -> dict[str, Any]:
        return observe(x, self._arm(x))

    def _supervise(self, x: Facts) -> dict[str, Any]:
        gave_up = either(x.halted, x.refused, among(x.status, GIVEN_UP))
        x.learn({"target_moves": both(target_moves(x), negated(gave_up))})
        first = both(x.seen, negated(x.begun))
        found = supervise(x)
        flees = both(found["begins"], found["starts_measured"])
        return {
            **found,
            "foresees": either(first, x.bridging, found["predicts"]),
            "foresees_start": first,
            "leads": both(found["was_in_task"], x.seen),
            "leaves": either(found["entered"], flees),
        }

    def _foresee(self, x: Facts) -> dict[str, Any]:
        """Compute the efforts that hold the arm, the inertias that feedback meets, and what moves.

        A reference may give efforts in place of accelerations.
        """
        arm, (q, qd) = self._arm(x), x.reference
        return {
            "held_tau": arm.gravity(x.q),
            "own_inertia": np.diag(arm.mass_matrix(x.q)),
            "foreseen_qdd": arm.forward(q, qd, arm.without_friction(qd, x.reference_tau)),
            "fastest_mode": largest_mode(x.kd, arm.inverse_mass_matrix(x.q)),
        }

    def _target(self, x: Facts) -> dict[str, Any]:
        if self.end_effector is None:
            return {name: getattr(x, name) for name in TARGET}
        return move_target(x, *self.end_effector.pose(x.q))

    def _begin(self, x: Facts) -> dict[str, Any]:
        x.learn(
            {
                "segment": present_of(x),
                "retreat_to": x.path[-1],
                "start": np.array([*x.start[:2], chosen(x.predicts, x.foreseen_qdd, x.start[2])]),
            }
        )
        return begin_transition(x)

    def _move(self, x: Facts) -> dict[str, Any]:
        x.learn(
            {
                "segment": present_of(x),
                "behind": behind(x, x.follows),
            }
        )
        return move(x)

    def _command(self, x: Facts) -> dict[str, Any]:
        commanded = command(x)
        x.learn(commanded)
        return {**commanded, **watch(x), "looks": looks(x, negated(x.open_loop))}

    def _law(self, name: str) -> Callable[[Facts], dict[str, Any]]:
        """Return the stage of a law of the joints."""
        law = laws.law_named(name)

        def function(x: Facts) -> dict[str, Any]:
            arm = self._arm(x)
            if name == laws.INERTIA_WEIGHTED_LAW:
                share = chosen(equal(x.cause, Cause.OSCILLATION), x.softness, 1.0)
                arm = arm.with_coupling(share)
            q, qd, qdd = x.desired
            if not law.feedback:  # the arm may be anywhere: what the model lacks shows where it is
                q, qd, qdd = x.q, x.qd, 0.0 * x.q
            expected = arm.feedforward(q, qd, qdd)
            if law.feedback:
                expected = chosen(both(x.follows, x.has_tau), x.reference_tau, expected)
            reference = Reference(x.compared[0], x.compared[1], expected)
            measured = Measured(x.measured_q, x.measured_qd)
            law_effort = law.equations(arm, reference, measured)  # type: ignore[arg-type]
            return {
                "law_effort": law_effort,
                "expected": expected,
                **{
                    name: getattr(x, name) for name in LAW if name not in ("law_effort", "expected")
                },
            }

        return function

    def _task_law(self, mode: str) -> Callable[[Facts], dict[str, Any]]:
        """Return the stage of a law in task space."""

        def function(x: Facts) -> dict[str, Any]:
            arm, load = self._arm(x), parts_of_load(x.load)
            fresh = negated(lacks_wrench(x))
            assert self.end_effector is not None
            own = {"payload": load["payload"], "velocity_terms": 1.0 - x.adds_velocity_terms}
            end = replace(self.end_effector, **own)
            inputs = {
                "q": x.q,
                "qd": x.qd,
                "rotation": x.target_rotation,
                "position": x.target_position,
                "twist": x.target_twist,
                "acceleration": x.target_acceleration,
                "wrench": x.exerted,
                "axes": axes_of_task(x, x.target_rotation),
                "root": x.task_root,
                "damping": x.task_damping,
                "mobility": x.task_mobility,
                "largest": x.task_largest,
                "selection": x.task_selection,
                "held": x.task_held,
                "free_axis": x.task_free_axis,
                "posture": x.posture,
                "motion": x.along * x.desired[1:],
                "along": np.array([x.along]),
                "numbers": x.task_numbers,
                "rotor": x.rotor,
                "fastest": x.task_fast,
                "returning": x.task_returning,
                "measured_wrench": x.measured_wrench,
                "correction": chosen(x.forgets, 0.0 * x.correction, x.correction),
                "feedback": np.array([*x.task_feedback, fresh, minimum(x.dt, LONGEST_STEP_S)]),
                "ends": ends_of(x.lower, x.upper),
            }
            found = task_equations(end, mode, self.projector, inputs)
            tau = found["effort"]
            if self.equations.base_moves:  # the law has the velocities of a base that stands
                tau = tau + arm.gyroscopic(x.q, x.qd)
            tau = tau + arm.friction_effort(found["velocity"], tau)
            return {
                "law_effort": arm.gravity(x.q) + tau,
                "expected": arm.feedforward(x.q, x.qd, 0.0 * x.q),
                "task_velocity": found["velocity"],
                "task_error": found["error"],
                "singularity": found["singularity"][0],
                "attainable": found["attainable"][0],
                "correction": found["next_correction"],
                "held_back": found["held_back"],
                "task_way": found["way"],
                "nearer": found["nearer"][0],
            }

        return function

    def _arm(self, x: Facts) -> Arm:
        load = parts_of_load(x.load)
        if self.equations.base_moves:
            load["base"] = x.base
            del load["gravity"]
        if self.equations.endpoint is None:
            del load["payload"], load["wrench"]
        friction = FrictionRows(*x.friction)
        return Arm(
            self.equations,
            load,
            DriveRows(friction, x.has_memory * x.direction, x.rotor),
            Tuning(x.bandwidth, x.damping_ratio, x.friction_width),
            Damping(x.kd),
            velocity_terms=1.0 - x.adds_velocity_terms,
        )

    # -- evaluation -----------------------------------------------------------------------------

    def facts(
        self, state: Array, after: Array, arrived: Array, settings: Array, done: set[str]
    ) -> Facts:
        """Return the facts of a stage.

        Args:
            state: Fields of the last cycle.
            after: Fields of this cycle, of stages that are done.
            arrived: What arrived.
            settings: The settings.
            done: Names of these fields.
        """
        known = {name: self.state.of(after if name in done else state, name) for name in self.state}
        for layout, vector in ((self.arrived, arrived), (self.settings, settings)):
            known.update({name: layout.of(vector, name) for name in layout})
        return Facts(known, {"continuous": self.continuous})

    def plain(self, state: Array, arrived: Array, settings: Array) -> Array:
        """Evaluate the step as it is written, on numbers."""
        after, done = state.copy(), set[str]()
        laws_by_name = {stage.law: stage for stage in self.law_stages}
        for stage in self.stages:
            x = self.facts(state, after, arrived, settings, done)
            done |= set(stage.fields)
            if stage.when and not getattr(x, stage.when) > 0.5:
                continue
            if stage.name == "law":
                stage = laws_by_name[LAWS[round(float(x.law))]]  # noqa: PLW2901
            values = stage.function(x)
            for name in stage.fields:
                after[self.state.slices[name]] = np.ravel(values[name])
        return after
