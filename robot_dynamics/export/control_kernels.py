"""Kernels of a controller as C: the laws, the cycle and the transitions of `control`, traced.

No law stands here. Each program evaluates functions of `robot_dynamics.control` and
`robot_dynamics.trajectory` on symbols, for one robot.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.algorithms import composite_body
from robot_dynamics.compiler.graph.optimize import optimize
from robot_dynamics.compiler.graph.piecewise import maximum, select
from robot_dynamics.compiler.graph.trace import Program, Shape, trace
from robot_dynamics.control import collision, target_motion, task_space
from robot_dynamics.control.control_cycle import JointSettings, cycle_equations, input_shapes
from robot_dynamics.control.friction import (
    ELEMENTS,
    FrictionRows,
    effort_beyond_friction,
    friction_effort,
    held,
    slipped,
)
from robot_dynamics.control.laws import (
    FLOATING,
    MODES,
    TASK_MODES,
    Measured,
    Reference,
    pd_feedforward,
    position_error,
)
from robot_dynamics.control.limits import SoftLimits
from robot_dynamics.control.model import continuous_joints
from robot_dynamics.control.setpoint import join_duration
from robot_dynamics.control.status import summed_deviation
from robot_dynamics.control.target_motion import way_between
from robot_dynamics.control.task_kernel import ArmEquations
from robot_dynamics.control.transitions import rise
from robot_dynamics.dynamics.compiled_robot import robot_digest
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.dynamics.kernels import Equations
from robot_dynamics.dynamics.variant import Variant
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.kinematics import link_poses
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.transforms import merge_fixed
from robot_dynamics.spatial import Pose
from robot_dynamics.trajectory.interpolation import quintic
from robot_dynamics.trajectory.replacement import stop_within
from robot_dynamics.trajectory.trajectory import ORDER, State

COUPLED = "feedforward_coupled"
"""Name of the law of the mode feedforward with feedback by the mass matrix."""

LAWS = (*MODES, COUPLED)
"""Names of the exported laws."""

KEPT = 8
"""Robots of which the programs are kept."""

_TRACED: dict[tuple[Any, ...], dict[str, Program]] = {}


class DriveRows(NamedTuple):
    """Rows of the input `drives`, shape (n,) each: those of `FrictionRows`, and the rotors.

    Args:
        viscous: See `Friction`.
        coulomb: See `Friction`.
        stiction: See `Friction`.
        stribeck: See `Friction`.
        load: See `Friction`.
        offset: See `Friction`.
        width: See `Friction`.
        memory: See `Friction`.
        direction: Direction that friction remembers, -1 to 1.
        rotor: Inertia of the rotors at the joints, kg m^2 or kg.
    """

    viscous: Any
    coulomb: Any
    stiction: Any
    stribeck: Any
    load: Any
    offset: Any
    width: Any
    memory: Any
    direction: Any
    rotor: Any

    @property
    def friction(self) -> FrictionRows:
        """Return the rows of friction."""
        return FrictionRows(*self[: len(FrictionRows._fields)])


class Tuning(NamedTuple):
    """Numbers of the input `tuning`.

    Args:
        bandwidth: See `Model`.
        damping_ratio: See `Model`.
        friction_width: See `Model`.
    """

    bandwidth: Any
    damping_ratio: Any
    friction_width: Any


class Damping(NamedTuple):
    """Gains of which a law uses the damping alone.

    Args:
        kd: See `Gains`.
    """

    kd: Any


@dataclass(frozen=True)
class SymbolicModel:
    """The interface of `Model` that `control.laws` use, on symbols.

    Args:
        equations: Equations of the robot under load, by the names of kernels.
        parents: For the factorisation of the mass matrix.
        load: Inputs `payload`, and `gravity` or `base`, by name, as far as there are any.
        drives: Friction and rotors.
        tuning: Bandwidth and widths.
        coupled: As of `Model`.
        continuous: As of `Model`.
        gains: As of `Model`, for the laws that use them.
    """

    equations: Mapping[str, Equations]
    parents: tuple[int, ...]
    load: Mapping[str, Array]
    drives: DriveRows
    tuning: Tuning
    coupled: bool
    continuous: Array | None
    gains: Damping | None = None

    def _evaluate(self, name: str, *motion: Array) -> Any:
        found = self.equations[name]
        given = {key: self.load[key] for key in found.inputs if key in self.load}
        return found.function(**dict(zip(found.inputs, motion, strict=False)), **given)

    @property
    def bandwidth(self) -> Any:
        """Bandwidth, rad/s."""
        return self.tuning.bandwidth

    @property
    def damping_ratio(self) -> Any:
        """Damping ratio, 1."""
        return self.tuning.damping_ratio

    def inverse(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Return efforts of a motion without friction, shape (n,)."""
        tau = self._evaluate("inverse", q, qd, qdd)
        if isinstance(tau, dict):  # beside the wrench of a moving base
            tau = tau["tau"]
        return np.asarray(tau + self.drives.rotor * qdd)

    def momentum(self, q: Array, qd: Array) -> tuple[Array, Array]:
        """Return the generalized momentum and its rate without rotors, shape (n,) each."""
        found = self._evaluate("momentum", q, qd)
        return found["p"], found["rate"]

    def bias(self, q: Array, qd: Array) -> Array:
        """Return Coriolis, centrifugal and gravity efforts, shape (n,)."""
        return self.inverse(q, qd, np.zeros(len(q)))

    def gravity(self, q: Array) -> Array:
        """Return the efforts that hold the arm at rest, shape (n,)."""
        return self.inverse(q, np.zeros(len(q)), np.zeros(len(q)))

    def gyroscopic(self, q: Array, qd: Array) -> Array:
        """See `Model.gyroscopic`."""
        return (self.bias(q, qd) - self.bias(q, -qd)) / 2.0

    def forward(self, q: Array, qd: Array, tau: Array) -> Array:
        """Return the accelerations by efforts without friction, shape (n,)."""
        M = self._evaluate("mass_matrix", q) + np.diag(self.drives.rotor)
        L, inverse_D = composite_body.factorise(M, self.parents)
        return composite_body.solve(L, inverse_D, self.parents, tau - self.bias(q, qd))

    def friction_effort(self, qd: Array, tau: Array) -> Array:
        """Return the effort that compensates friction, shape (n,)."""
        width = self.tuning.friction_width
        remembered = held(self.drives.direction, qd, width)
        return friction_effort(self.drives.friction, qd, width, tau, remembered=remembered)

    def without_friction(self, qd: Array, tau: Array) -> Array:
        """Return the part of efforts tau that accelerates the bodies, shape (n,)."""
        width = self.tuning.friction_width
        remembered = held(self.drives.direction, qd, width)
        return effort_beyond_friction(self.drives.friction, qd, tau, width, remembered=remembered)

    def feedforward(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Return the efforts of a desired motion with friction, shape (n,)."""
        tau = self.inverse(q, qd, qdd)
        return tau + self.friction_effort(qd, tau)


class SymbolicTask:
    """The interface of `Task` that the laws in task space use, on symbols.

    Args:
        arm: Equations of the arm with its hand.
        projector: One of `task_space.PROJECTORS`.
        inputs: See `task_space.input_shapes`, and its further ones.

    Attributes:
        results: Of the law, besides its effort.
    """

    def __init__(self, arm: ArmEquations, projector: str, inputs: Mapping[str, Array]) -> None:
        self._arm, self._projector, self._inputs = arm, projector, inputs
        self.results: dict[str, Array] = {}

    def effort(self, model: Any, mode: str, measured: Measured) -> Array:
        """Return efforts without gravity, shape (n,); see `Task.effort`."""
        x = {**self._inputs, "rotor": model.drives.rotor}
        found = task_space.task_equations(self._arm, mode, self._projector, x)
        tau = found.pop("effort")
        self.results = found
        if "base" in model.load:  # the law has the velocities of a base that stands
            tau = tau + model.gyroscopic(*measured)
        return np.asarray(tau + model.friction_effort(found["velocity"], tau))


class ControlKernels:
    """The programs of a controller of one robot.

    Args:
        dynamics: Equations of the robot.
        endpoint: Link or frame that carries the payload; None for none.
        hand: Link or frame that the modes in task space control; by default `endpoint`, or the
            first tip.
        projector: One of `task_space.PROJECTORS`.
        base: "fixed": the programs have the input `gravity`, shape (3,). "moving": they have `base`
            in its place, the numbers of `BaseMotion`, shape (15,).
    """

    def __init__(
        self,
        dynamics: Dynamics,
        endpoint: str | None,
        hand: str | None = None,
        projector: str = task_space.CONSISTENT,
        base: str = "fixed",
    ) -> None:
        robot = self.robot = dynamics.robot
        hand = hand_frame(robot, endpoint, hand)
        self._key = robot_digest(robot), dynamics.formulation, endpoint, hand, projector, base
        self._projector = projector
        self._arm = ArmEquations.of(dynamics, hand, endpoint)
        turning = continuous_joints(robot)
        self._continuous = turning if turning.any() else None
        self._parents = composite_body.elimination_parents(merge_fixed(robot))
        moves = base == "moving"
        placed = dynamics.on_moving_base if moves else dynamics
        carrying = Variant(payload_at=endpoint)
        loaded = replace(carrying, gravity=not moves)
        self._equations = {
            "inverse": next(placed.equations("inverse", loaded)),
            "mass_matrix": next(dynamics.equations("mass_matrix", carrying)),
            "momentum": next(placed.equations("momentum", loaded)),
        }
        moving: dict[str, Shape] = {"base": (15,)} if moves else {}
        self.load_shapes: dict[str, Shape] = {**loaded.inputs, **moving}

    def programs(self) -> dict[str, Program]:
        """Return the programs by name, optimized; those of the last robots are known."""
        if self._key not in _TRACED:
            while len(_TRACED) >= KEPT:
                _TRACED.pop(next(iter(_TRACED)))
            _TRACED[self._key] = self._traced()
        return dict(_TRACED[self._key])

    def _traced(self) -> dict[str, Program]:
        n = self.robot.dof
        found: dict[str, Program] = {}

        def add(name: str, equations: Callable[..., Any], inputs: Mapping[str, Shape]) -> None:
            found[name] = optimize(trace(name, equations, inputs))

        for name in LAWS:
            add(f"law_{name}", *self._law(name))
        for name in TASK_MODES:
            add(f"task_{name}", *self._task_law(name))
        add("wrench_effort", *self._wrench_effort())
        add("floating", *self._floating())
        add("observer", *self._observer())
        found["target_motion"] = target_motion.program()
        add("frames", self._frames, {"q": (n,)})
        turned, placed = (3, 3), (3,)
        poses = {"from_rotation": turned, "from_position": placed}
        add("way_between", _way, {**poses, "to_rotation": turned, "to_position": placed})
        add("feedforward", *self._feedforward())
        elements = (ELEMENTS, n)
        slips = {"z": elements, "way": (n,), "slip": elements, "elastic": elements}
        add("slip", _slip, slips)
        add("cycle", *self._cycle())
        add("feedback", *self._feedback())
        add("position_error", *self._position_error())
        vector, state, one = (n,), (3, n), (1,)
        add("approach", _approach, {"begin": state, "duration": one, "time": one})
        add(
            "rest",
            _rest,
            {"begin": state, "stop": one, "lower": vector, "upper": vector, "time": one},
        )
        add(
            "join_duration",
            lambda gap, speed, least: {"duration": np.array([join_duration(gap, speed, least[0])])},
            {"gap": vector, "speed": vector, "least": one},
        )
        add("rise", lambda share: {"value": np.array([rise(share[0])])}, {"share": one})
        add(
            "saturation",
            lambda moved, speed, dt, since: {
                "next_moved": summed_deviation(moved, speed, dt[0], since[0])
            },
            {"moved": vector, "speed": vector, "dt": one, "since": one},
        )
        return found

    def _model(
        self, x: Mapping[str, Array], *, coupled: bool = False, gains: Damping | None = None
    ) -> Any:
        return SymbolicModel(
            self._equations,
            self._parents,
            {name: x[name] for name in self.load_shapes},
            DriveRows(*x["drives"]),
            Tuning(*x["tuning"]),
            coupled,
            self._continuous,
            gains,
        )

    @property
    def _model_shapes(self) -> dict[str, Shape]:
        n = self.robot.dof
        return {
            **self.load_shapes,
            "drives": (len(DriveRows._fields), n),
            "tuning": (len(Tuning._fields),),
        }

    def _law(self, name: str) -> tuple[Callable[..., Any], dict[str, Shape]]:
        """Efforts that a law asks for, without feedback joint by joint."""
        law, coupled = MODES["feedforward" if name == COUPLED else name], name == COUPLED

        def equations(**x: Array) -> dict[str, Array]:
            model = self._model(x, coupled=coupled)
            return {"asked": law.asked(model, Reference(*x["desired"]), Measured(*x["measured"]))}

        n = self.robot.dof
        return equations, {"desired": (3, n), "measured": (2, n), **self._model_shapes}

    def _floating(self) -> tuple[Callable[..., Any], dict[str, Shape]]:
        """Efforts of an arm that gives way after a collision."""

        def equations(**x: Array) -> dict[str, Array]:
            model, measured = self._model(x, gains=Damping(x["kd"])), Measured(*x["measured"])
            return {"asked": FLOATING.asked(model, Reference(*measured, measured.qd), measured)}

        n = self.robot.dof
        return equations, {"measured": (2, n), "kd": (n,), **self._model_shapes}

    def _task_law(self, mode: str) -> tuple[Callable[..., Any], dict[str, Shape]]:
        """Efforts of a law in task space, with gravity and friction."""

        def equations(**x: Array) -> dict[str, Array]:
            model, measured = self._model(x), Measured(x["q"], x["qd"])
            arm = replace(self._arm, payload=x.get("payload"))
            task = SymbolicTask(arm, self._projector, x)
            reference = Reference(*measured, measured.qd, task)
            return {"asked": TASK_MODES[mode].asked(model, reference, measured), **task.results}

        shapes = {
            **task_space.input_shapes(self.robot.dof),
            **task_space.RETURN_SHAPES,
            **task_space.FEEDBACK_SHAPES,
        }
        del shapes["rotor"]  # one of the drives
        return equations, {**shapes, **self._model_shapes}

    def _wrench_effort(self) -> tuple[Callable[..., Any], dict[str, Shape]]:
        """Efforts by which the hand exerts a wrench; see `Task.wrench_effort`."""

        def equations(q: Array, wrench: Array, axes: Array, held: Array) -> dict[str, Array]:
            exerted = held.reshape(2, 3) * (wrench.reshape(2, 3) @ axes)
            return {"effort": self._arm.jacobian(q).T @ (exerted @ axes.T).ravel()}

        shapes = task_space.input_shapes(self.robot.dof)
        return equations, {name: shapes[name] for name in ("q", "wrench", "axes", "held")}

    def _observer(self) -> tuple[Callable[..., Any], dict[str, Shape]]:
        """External efforts since the last state."""

        def equations(**x: Array) -> dict[str, Array]:
            model, (q, qd) = self._model(x), x["measured"]
            p, rate = model.momentum(q, qd)
            own = model.drives.friction.width
            width = select(0.0, own, own, model.tuning.friction_width)
            friction = model.drives.friction._replace(width=width)
            inputs = {"p": p, "rate": rate, "qd": qd, **{k: x[k] for k in kept}}
            further = collision.unidentified_rows(width)
            rows = [*friction, model.drives.rotor, x["threshold"], *further]
            inputs["settings"] = np.array(rows)
            found = collision.observer_equations(inputs)
            return {f"next_{name}": value for name, value in found.items()}

        n = self.robot.dof
        kept = {k: collision.input_shapes(n)[k] for k in ("direction", "tau", "state", "scalars")}
        shapes = {"measured": (2, n), **kept, "threshold": (n,)}
        return equations, {**shapes, **self._model_shapes}

    def _frames(self, q: Array) -> dict[str, Array]:
        """Poses of `robot.frame_names` in the root link: rotation, row by row, and position."""
        poses = link_poses(self.robot, q).values()
        return {"poses": np.array([[*np.ravel(pose[0]), *pose[1]] for pose in poses])}

    def _feedforward(self) -> tuple[Callable[..., Any], dict[str, Shape]]:
        def equations(**x: Array) -> dict[str, Array]:
            return {"tau": self._model(x).feedforward(*x["motion"])}

        return equations, {"motion": (3, self.robot.dof), **self._model_shapes}

    def _cycle(self) -> tuple[Callable[..., Any], dict[str, Shape]]:
        def equations(**x: Array) -> dict[str, Array]:
            found = cycle_equations(x, self._continuous)
            return {f"next_{name}": value for name, value in found.items()}

        return equations, dict(input_shapes(self.robot.dof))

    def _feedback(self) -> tuple[Callable[..., Any], dict[str, Shape]]:
        """Efforts of PD and of the soft limits, to report them."""
        n = self.robot.dof

        def equations(desired: Array, measured: Array, settings: Array) -> dict[str, Array]:
            rows: Any = JointSettings(*settings)
            state = Measured(*measured)
            q_d, qd_d = desired
            reference = Reference(q_d, qd_d, np.zeros(n))
            pd = pd_feedforward(reference, state, rows, self._continuous)
            zones = SoftLimits(*(getattr(rows, k) for k in SoftLimits.__dataclass_fields__))
            return {"pd": pd, "soft_limits": zones.effort(*state)}

        settings = input_shapes(n)["settings"]
        return equations, {"desired": (2, n), "measured": (2, n), "settings": settings}

    def _position_error(self) -> tuple[Callable[..., Any], dict[str, Shape]]:
        def equations(desired: Array, measured: Array) -> dict[str, Array]:
            return {"error": position_error(desired, measured, self._continuous)}

        n = self.robot.dof
        return equations, {"desired": (n,), "measured": (n,)}


def _approach(begin: Array, duration: Array, time: Array) -> dict[str, Array]:
    """State, shape (3, n), on a motion from a state to zero within a duration."""
    none = np.zeros_like(begin[0])
    c = quintic(duration[0], State(*begin), State(none, none, none))
    return {"state": _evaluated(c, maximum(time[0], 0.0))}


def _slip(z: Array, way: Array, slip: Array, elastic: Array) -> dict[str, Array]:
    """States of the elements of friction after a way, and the direction that they remember."""
    after = slipped(z, way / slip, elastic)
    return {"next_z": after, "direction": sum(after) / ELEMENTS}


def _way(
    from_rotation: Array, from_position: Array, to_rotation: Array, to_position: Array
) -> dict[str, Array]:
    """Translation and rotation vector from a pose to another."""
    start, end = Pose(from_rotation, from_position), Pose(to_rotation, to_position)
    return {"way": way_between(start, end)}


def _rest(begin: Array, stop: Array, lower: Array, upper: Array, time: Array) -> dict[str, Array]:
    """State, shape (3, n), on the motion to rest from a state, and when the last joint rests."""
    T, c = stop_within(State(*begin), stop[0], lower, upper)
    t = -maximum(-T, -time[0])  # each joint has its own end
    end = T[0]
    for other in T[1:]:
        end = maximum(other, end)
    return {"state": _evaluated(c, t), "end": np.array([end])}


def _evaluated(c: Array, t: Any) -> Array:
    """Return position, velocity and acceleration, shape (3, n), of polynomials (n, 6)."""
    factors = np.ones(ORDER)
    rows = []
    for k in range(3):
        rows.append(sum(factors[p] * c[:, p] * t ** (p - k) for p in range(k, ORDER)))
        factors = factors * (np.arange(ORDER) - k)
    return np.array(rows)


def hand_frame(robot: Robot, endpoint: str | None, hand: str | None) -> str:
    """Return the hand: the one that is named, the frame of payloads, or the first tip."""
    return hand or endpoint or merge_fixed(robot).tips[0]


def payload_frame(robot: Robot) -> str | None:
    """Return the frame of payloads: the first tip, or None if tips move against each other."""
    merged = merge_fixed(robot)
    bodies = {merged.frame(tip).link for tip in merged.tips}
    return merged.tips[0] if len(bodies) == 1 else None
