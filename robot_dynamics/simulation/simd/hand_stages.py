"""The hand of every batch member: its pose, its error, and the laws in task space on symbols."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from robot_dynamics.algorithms import composite_body
from robot_dynamics.control.friction import Friction, FrictionRows, friction_effort
from robot_dynamics.control.laws import Measured
from robot_dynamics.control.task import Task
from robot_dynamics.control.task_settings import FRAME, ROOT
from robot_dynamics.control.task_space import (
    CONSISTENT,
    RETURN_SHAPES,
    TaskNumbers,
    task_equations,
)
from robot_dynamics.errors import ArgumentError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.kinematics import frame_jacobian, frame_jacobian_derivative, frame_pose
from robot_dynamics.robot.robot import Robot
from robot_dynamics.simulation.simd.symbolic_inertias import SymbolicInertias
from robot_dynamics.trajectory.trajectory import State

if TYPE_CHECKING:
    from robot_dynamics.control.model import Model

HAND_ROWS: Mapping[str, tuple[int, ...]] = {
    "rotation": (3, 3),
    "position": (3,),
    "twist": (6,),
    "acceleration": (6,),
}
"""Columns of a reference table for the hand, with their shapes."""

HAND_SIZE = sum(int(np.prod(shape)) for shape in HAND_ROWS.values())
"""Their number."""

HAND_STATISTICS = tuple(
    f"hand_{kind}_{part}" for part in ("position", "rotation") for kind in ("square", "peak")
)
"""Sums of squares and maxima of the error of the hand, m and rad, over the control cycles."""

SETTINGS = ("root", "damping", "mobility")
"""Matrices of `task_space.input_shapes` that differ from member to member."""


@dataclass(frozen=True)
class HandStructure:
    """The compiled-in choices about the hand; all but the frame are those of laws in task space.

    Args:
        frame: Link or named frame.
        axes: As of `TaskSettings`.
        projector: As of `TaskSettings`.
        selection: As of `task_space.input_shapes`.
        held: As of `task_space.input_shapes`.
        free_axis: As of `task_space.input_shapes`.
        dense: Whether stiffness, damping or inertia have entries beside the diagonal.
        dry: Whether the law compensates dry friction.
    """

    frame: str
    axes: str = ROOT
    projector: str = CONSISTENT
    selection: tuple[float, ...] = (1.0,) * 6
    held: tuple[float, ...] = (1.0,) * 6
    free_axis: tuple[float, ...] = (0.0,) * 3
    dense: bool = False
    dry: bool = False

    @classmethod
    def of(cls, model: Model, task: Task) -> HandStructure:
        """Return the structure of a task and of the friction of its model.

        Raises:
            ArgumentError: If friction depends on load, direction or way, or has a Stribeck part.
        """
        friction = model.friction or Friction.none(1)
        if friction.is_uneven or friction.stiction.any() or friction.remembers:
            raise ArgumentError(
                "a compiled law in task space compensates viscous and Coulomb friction alone; "
                "leave stiction, load, offset and memory out of the friction"
            )
        fixed = _inputs(model, task)
        own = {k: tuple(fixed[k].tolist()) for k in ("selection", "held", "free_axis")}
        dense = any(_beside_diagonal(fixed[name]) for name in SETTINGS)
        settings, dry = task.settings, bool(friction.coulomb.any())
        return cls(task.hand, settings.axes, settings.projector, **own, dense=dense, dry=dry)

    @property
    def sizes(self) -> dict[str, int]:
        """Parameters of a law in task space and their numbers of entries."""
        matrices = dict.fromkeys(map("task_{}".format, SETTINGS), 36 if self.dense else 6)
        returning = RETURN_SHAPES["returning"][0]
        numbers = {"task_numbers": len(TaskNumbers._fields), "task_returning": returning}
        return {**matrices, "task_largest": 6, **numbers}

    def matrix(self, entries: Array) -> Array:
        """Return a matrix of its parameter, shape (6, 6)."""
        return entries.reshape(6, 6) if self.dense else np.diag(entries)


def _inputs(model: Model, task: Task) -> dict[str, Array]:
    """Return the inputs of a law by name, with the diagonal root of a diagonal stiffness."""
    found = {name.removeprefix("task_"): value for name, value in task.numbers(model).items()}
    stiffness = found["root"] @ found["root"].T
    if not _beside_diagonal(stiffness):
        found["root"] = np.diag(np.sqrt(np.diag(stiffness)))
    return found


def _beside_diagonal(A: Array) -> bool:
    return bool((np.abs(A - np.diag(np.diag(A))) > 0.0).any())


def task_parameters(model: Model, task: Task, structure: HandStructure) -> dict[str, Array]:
    """Return the parameters of a law in task space, shared by all members."""
    n, found = model.dynamics.robot.dof, _inputs(model, task)
    friction = model.friction or Friction.none(n)
    flat = np.ravel if structure.dense else np.diag
    return {
        **{f"task_{name}": np.asarray(flat(found[name])) for name in SETTINGS},
        "task_largest": np.asarray(found["largest"]),
        "task_numbers": found["numbers"],
        "task_returning": found["returning"],
        "model_viscous": np.broadcast_to(friction.viscous, (n,)),
        "model_coulomb": np.broadcast_to(friction.coulomb, (n,)),
        "model_width": np.broadcast_to(
            np.where(friction.width > 0.0, friction.width, model.friction_width), (n,)
        ),
    }


def hand_table(model: Model, hand: str, desired: State) -> Array:
    """Return pose, twist and acceleration of the hand in a desired motion, shape (N, 24)."""
    arm = model.dynamics
    pose, J = arm.pose(desired.q, hand), arm.jacobian(desired.q, hand)
    drift = arm.drift(desired.q, desired.qd, hand)
    twist = np.einsum("nij,nj->ni", J, desired.qd)
    acceleration = np.einsum("nij,nj->ni", J, desired.qdd) + drift
    rotation = pose.rotation.reshape(-1, 9)
    return np.concatenate([rotation, pose.position, twist, acceleration], axis=1)


def hand_rows(row: Array) -> dict[str, Array]:
    """Return the arrays of `HAND_ROWS` that a row of a reference table ends with."""
    found, at = {}, 0
    for name, shape in HAND_ROWS.items():
        size = int(np.prod(shape))
        found[name], at = row[at : at + size].reshape(shape), at + size
    return found


def hand_error(rotation: Array, position: Array, R: Array, p: Array) -> tuple[Any, Any]:
    """Return how far two poses are apart without roots, which would cost a tenth of a period.

    Returns:
        Square of their distance, m^2, and s = sin^2(angle / 2), accurate for small angles too.
    """
    away, turned = position - p, (rotation - R).ravel()
    return away @ away, (turned @ turned) / 8.0


def angle_square(s: Any) -> Any:
    """Return the square of an angle by s = sin^2(angle / 2).

    Four terms of the series of arcsin^2: within 3e-8 up to 0.3 rad, and 3e-4 up to 1 rad.
    """
    return 4.0 * s * (1.0 + s * (1.0 / 3.0 + s * (8.0 / 45.0 + s * (4.0 / 35.0))))


def in_units(statistics: Mapping[str, Array]) -> dict[str, Array]:
    """Return statistics with the largest errors of the hand in m and rad."""
    position, s = (statistics[f"hand_peak_{part}"] for part in ("position", "rotation"))
    angle = 2.0 * np.arcsin(np.sqrt(np.minimum(s, 1.0)))
    return {**statistics, "hand_peak_position": np.sqrt(position), "hand_peak_rotation": angle}


@dataclass(frozen=True)
class SymbolicArm:
    """The equations of an arm that `task_space` uses, on symbols.

    Args:
        inertias: Base parameters of the structure.
        x: Arrays by name, with the numbers of the law's model.
        hand: Link or named frame.
    """

    inertias: SymbolicInertias
    x: Mapping[str, Array]
    hand: str

    @property
    def numbers(self) -> Robot:
        """The arm with inertias that are numbers."""
        return self.inertias.arm

    @property
    def parents(self) -> tuple[int, ...]:
        """See `task_space.Arm`."""
        return composite_body.elimination_parents(self.numbers)

    def mass_matrix(self, q: Array) -> Array:
        """See `task_space.Arm`."""
        return self.inertias.mass_matrix(self.x["model_body"], self.x["model_gravity"], q)

    def velocity_effort(self, q: Array, qd: Array) -> Array:
        """See `task_space.Arm`."""
        motion = q, qd, np.zeros(len(q))
        return self.inertias.efforts(self.x["model_body"], np.zeros(3), motion)

    def pose(self, q: Array) -> tuple[Array, Array]:
        """See `task_space.Arm`."""
        return frame_pose(self.numbers, q, self.hand)

    def jacobian(self, q: Array) -> Array:
        """See `task_space.Arm`."""
        return frame_jacobian(self.numbers, q, self.hand)

    def jacobian_derivative(self, q: Array, qd: Array) -> Array:
        """See `task_space.Arm`."""
        return frame_jacobian_derivative(self.numbers, q, qd, self.hand)


@dataclass(frozen=True)
class SymbolicTask:
    """The hand led along the reference, as a law in task space asks for it; see `task.Task`.

    Args:
        structure: The compiled-in choices.
        arm: The arm.
        x: Arrays by name.
        posture: Joint positions of the reference, shape (n,).
        target: By the names of `HAND_ROWS`.
    """

    structure: HandStructure
    arm: SymbolicArm
    x: Mapping[str, Array]
    posture: Array
    target: Mapping[str, Array]

    def effort(self, model: Any, mode: str, measured: Measured) -> Array:
        """Return efforts without gravity, shape (n,)."""
        x, how = self.x, self.structure
        inputs = {
            **measured._asdict(),
            **self.target,
            "wrench": np.zeros(6),
            "axes": self.target["rotation"] if how.axes == FRAME else np.eye(3),
            **{name: how.matrix(x[f"task_{name}"]) for name in SETTINGS},
            "largest": x["task_largest"],
            "selection": np.array(how.selection),
            "held": np.array(how.held, dtype=object),  # symbols are written into it
            "free_axis": np.array(how.free_axis),
            "posture": self.posture,
            "numbers": x["task_numbers"],
            "rotor": x["model_rotor"],
            "returning": x["task_returning"],
        }
        found = task_equations(self.arm, mode, how.projector, inputs)
        tau, qd = found["effort"], found["velocity"]
        if model.base is not None:  # as in `Task.effort`
            tau = tau + model.gyroscopic(*measured)
        none = np.zeros(len(qd))
        coulomb = x["model_coulomb"] if how.dry else none
        rows = FrictionRows(x["model_viscous"], coulomb, none, none + 1.0, none, none, none, none)
        return np.asarray(tau + friction_effort(rows, qd, x["model_width"], tau))
