"""Identification: from a robot and its recorded motion to a robot that fits.

Base parameters and friction come from weighted least squares ([Gautier1997]), terms of
friction from blocks of samples that they were not fitted on, bodies of the links from the nearest
ones that matter can have ([Wensing2018]).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.control.actuators import Actuators
from robot_dynamics.control.friction import Friction
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import RecordingError
from robot_dynamics.identification.effort_model import (
    EffortModel,
    drive_matrix,
    regressor_at_drives,
)
from robot_dynamics.identification.friction_terms import FrictionColumns, Shape, chosen
from robot_dynamics.identification.least_squares import (
    Estimate,
    Problem,
    estimate,
    held_out,
    normal,
)
from robot_dynamics.identification.link_inertias import LinkInertias
from robot_dynamics.identification.physical_consistency import Quadratic, consistent
from robot_dynamics.identification.recordings.doubts import (
    Doubt,
    doubts,
    refuse_hopeless,
    saturated,
)
from robot_dynamics.identification.recordings.recording import Recording
from robot_dynamics.identification.signals import Signals, joined, signals
from robot_dynamics.identification.validation import Report, reported
from robot_dynamics.robot.robot import Robot

BLOCKS = 6
"""Into which samples are split, in time, to judge by what a fit did not see."""

ROUNDS = 3
"""Of choosing friction: bodies and friction are found in turns."""

ROTORS_WORTH = 0.98
"""Rotor inertia is kept if it brings the squared error on unseen blocks below this part."""


@dataclass(frozen=True)
class IdentifiedParameter:
    """One base parameter.

    Args:
        name: As in `base_parameters`.
        value: Of least squares; kg, kg m or kg m^2.
        deviation: Its standard deviation; infinite where the motion does not show it.
        before: What the URDF said.
        consistent: What the physically consistent robot has.
    """

    name: str
    value: float
    deviation: float
    before: float
    consistent: float


@dataclass(frozen=True, eq=False)
class Identification:
    """What a recording says of a robot.

    Args:
        robot: The robot with identified bodies, and viscous and Coulomb friction of its joints.
        friction: All that was found of friction, by drive: by joint unless `actuators` are given.
        rotor_inertia: Shape (n,), kg m^2 or kg, as the joints feel it; zero where not found.
        parameters: Base parameters with their standard deviations.
        report: How well it fits, on samples that the fit did not see.
        model: The efforts of the physically consistent robot.
        free: Those of plain least squares, whose bodies need not exist.
        edge: Of the filter that the fit used, Hz.
    """

    robot: Robot
    friction: Friction
    rotor_inertia: Array
    parameters: tuple[IdentifiedParameter, ...]
    report: Report
    model: EffortModel
    free: EffortModel
    edge: float

    def predict(self, recording: Recording) -> Array:
        """Efforts of a recorded motion, shape (N, n), at its times, N m or N."""
        return predicted(self.model, recording, self.edge)


def predicted(model: EffortModel, recording: Recording, edge: float | None) -> Array:
    """Efforts of a recorded motion by a model, at the times of the recording, shape (N, n).

    The motion is filtered, friction is not: its steps are part of the effort.
    """
    motion = signals(recording, edge, thinned=False)
    motion = replace(motion, low_pass=lambda columns: columns(motion.qd))
    efforts = model.efforts(motion)
    columns = [np.interp(recording.time, motion.time, column) for column in efforts.T]
    return np.column_stack(columns)


def identify(
    robot: Robot,
    recording: Recording | Sequence[Recording],
    *,
    edge: float | None = None,
    rotor_inertia: bool | None = None,
    physical: bool = True,
    actuators: Actuators | None = None,
) -> Identification:
    """Identify bodies and friction of a robot.

    Args:
        robot: As the URDF has it: its kinematics are taken, its bodies are where the search starts.
        recording: One motion or several, at the joints.
        edge: Of the low-pass, Hz; by default from the motion.
        rotor_inertia: Whether drives have inertia of their own; by default if unseen samples say.
        physical: Whether bodies must be such as matter can have; this needs cvxpy.
        actuators: Where friction and rotors sit when drives do not move one joint each.

    Raises:
        RecordingError: If nothing can be identified from it; the line says why.
        MissingPackageError: If cvxpy is needed and not installed.
    """
    recordings = [recording] if isinstance(recording, Recording) else list(recording)
    if not recordings:
        raise RecordingError("no recording is given; give one or more")
    found: list[Doubt] = []
    for one in recordings:
        found += doubts(robot, one)
    refuse_hopeless(found)
    motion = joined([signals(one, edge) for one in recordings])
    fit = _Fit.of(robot, motion, drive_matrix(robot, actuators), rotor_inertia)
    free = fit.free
    links = LinkInertias.of(robot)
    model, identified = (free, robot) if not physical else fit.consistent(links)
    friction = model.friction
    identified = _with_friction(identified, friction, model.drive)
    report = reported(robot, motion, fit.unseen, model.efforts(motion), fit.seen, found)
    rotor = np.diag(model.drive.T @ np.diag(model.rotor) @ model.drive)
    return Identification(
        identified, friction, rotor, fit.parameters(links, model), report, model, free, motion.edge
    )


def _with_friction(robot: Robot, friction: Friction, drive: Array) -> Robot:
    """Viscous and Coulomb friction of drives on the joints, as far as a URDF can say it."""
    viscous = np.diag(drive.T @ np.diag(friction.viscous) @ drive)
    coulomb = np.abs(drive).T @ friction.coulomb
    values = dict(zip(robot.joint_names, zip(viscous, coulomb, strict=True), strict=True))
    joints = []
    for joint in robot.joints:
        damping, dry = values.get(joint.name, (joint.damping, joint.friction))
        if joint.mimic is not None and joint.moves:
            damping = dry = 0.0  # counted with the joint that it follows
        joints.append(replace(joint, damping=float(damping), friction=float(dry)))
    return replace(robot, joints=tuple(joints))


class _Fit:
    """Least squares of one motion, with the friction that it needs."""

    @staticmethod
    def of(robot: Robot, motion: Signals, drive: Array, rotors: bool | None) -> _Fit:
        """Choose friction and rotors, and fit."""
        fit = _Fit(robot, motion, drive)
        for _ in range(ROUNDS):
            fit.choose_friction()
        everywhere = list(range(fit.n))
        if rotors or (rotors is None and fit.needs(everywhere)):
            fit.take_rotors(everywhere)
            fit.choose_friction()
            fit.take_rotors(fit.rotors)
        return fit

    def __init__(self, robot: Robot, motion: Signals, drive: Array) -> None:
        self.n, self.motion, self.drive = robot.dof, motion, drive
        self.rotors: list[int] = []
        self.dynamics = Dynamics(robot)
        self.Y = regressor_at_drives(self.dynamics, motion, drive)
        self.prior = np.array([b.value for b in self.dynamics.base_parameters])
        self.p = len(self.prior)
        self.tau = motion.tau @ np.linalg.inv(drive)
        self.columns = FrictionColumns(motion, drive)
        self.shapes = [Shape(0.02 * v, viscous=True) if v > 0.0 else Shape()
                       for v in self.columns.speed]  # fmt: skip
        limit = np.where(robot.limits.effort > 0.0, robot.limits.effort, np.inf)
        self.usable = ~saturated(motion.raw, limit)
        self.blocks = _blocks(motion, BLOCKS)
        self.load = np.abs(self.Y @ self.prior)
        self.estimate = self._estimate()

    # -- the linear problem -----------------------------------------------------------------

    def problem(self, rotors: Sequence[int]) -> Problem:
        """All columns: base parameters, rotors, friction of each joint."""
        N = len(self.tau)
        friction = [
            self.columns.of(j, shape, self.load[:, j]) for j, shape in enumerate(self.shapes)
        ]
        first = self.p + len(rotors)
        width = first + sum(A.shape[1] for A in friction)
        X = np.zeros((N, self.n, width))
        X[:, :, : self.p] = self.Y
        qdd = self.motion.qdd @ self.drive.T
        for column, j in enumerate(rotors, start=self.p):
            X[:, j, column] = qdd[:, j]
        at = first
        for j, A in enumerate(friction):
            X[:, j, at : at + A.shape[1]] = A
            at += A.shape[1]
        prior = np.concatenate([self.prior, np.zeros(width - self.p)])
        return Problem(X, self.tau, prior, self.usable)

    def _estimate(self) -> Estimate:
        self._problem = self.problem(self.rotors)
        fit = estimate(self._problem)
        self.load = np.abs(self._rigid(fit.z))
        return fit

    def _rigid(self, z: Array) -> Array:
        end = self.p + len(self.rotors)
        return np.asarray(self._problem.X[:, :, :end] @ z[:end])

    # -- choices ------------------------------------------------------------------------------

    def choose_friction(self) -> None:
        """Give every joint the terms that pay on unseen blocks, and fit anew."""
        fit = self.estimate
        rest = self.tau - self._rigid(fit.z)
        self.shapes = [
            chosen(self.columns, j, rest[:, j], self.load[:, j], fit.weight[:, j], self.blocks)
            for j in range(self.n)
        ]
        self.estimate = self._estimate()

    def take_rotors(self, rotors: Sequence[int]) -> None:
        """Fit with inertia of these rotors, less those that would have to be negative."""
        self.rotors = list(rotors)
        self.estimate = self._estimate()
        while self.rotors:
            found = self.estimate.z[self.p : self.p + len(self.rotors)]
            if found.min() >= 0.0:
                return
            self.rotors = [j for j, value in zip(self.rotors, found, strict=True) if value > 0.0]
            self.estimate = self._estimate()

    def needs(self, rotors: Sequence[int]) -> bool:
        """Whether inertias of these rotors pay on unseen blocks."""

        def error(rotors: Sequence[int]) -> float:
            left = held_out(self.problem(rotors), self.estimate, self.blocks)
            return float(np.sum(self.estimate.weight * (left / self.estimate.sigma) ** 2))

        return error(rotors) < ROTORS_WORTH * error([])

    # -- results ------------------------------------------------------------------------------

    @property
    def free(self) -> EffortModel:
        """The model of least squares alone."""
        return self._model(self.estimate.z[: self.p], self.estimate.z[self.p :])

    def _model(self, base: Array, others: Array) -> EffortModel:
        rotor = np.zeros(self.n)
        rotor[self.rotors] = others[: len(self.rotors)]
        ends = np.cumsum([len(shape.names) for shape in self.shapes])[:-1]
        friction = np.split(others[len(self.rotors) :], ends)
        return EffortModel(
            self.dynamics, self.drive, base, rotor, tuple(self.shapes), tuple(friction)
        )

    def consistent(self, links: LinkInertias) -> tuple[EffortModel, Robot]:
        """The model and the robot of bodies that exist."""
        data = Quadratic.of(*normal(self._problem, self.estimate.sample_weight))
        pi, others = consistent(data, links, self._constraints())
        return self._model(links.K @ pi, others), links.with_parameters(pi)

    def _constraints(self) -> list[tuple[Array, float]]:
        """Rotors have inertia, friction takes power."""
        names = ["rotor"] * len(self.rotors)
        names += [name for shape in self.shapes for name in shape.names]
        rows = np.eye(len(names))
        limits = [
            (rows[i], 0.0)
            for i, name in enumerate(names)
            if name in ("rotor", "viscous", "coulomb", "load")
        ]
        for i, name in enumerate(names):
            if name == "stiction":  # stands right behind its Coulomb friction
                limits.append((rows[i] + rows[i - 1], 0.0))
        return limits

    @property
    def unseen(self) -> Array:
        """Residuals of the joints on blocks that the fit did not see, shape (N, n)."""
        return held_out(self._problem, self.estimate, self.blocks) @ self.drive

    @property
    def seen(self) -> Array:
        """How far off each base parameter may be, of what the URDF has; infinite if unseen."""
        return self.estimate.deviation[: self.p]

    def parameters(
        self, links: LinkInertias, model: EffortModel
    ) -> tuple[IdentifiedParameter, ...]:
        """Base parameters with deviations, before and after."""
        z, deviation = self.estimate.z, self.estimate.deviation
        return tuple(
            IdentifiedParameter(b.name, float(z[i]), float(deviation[i]), b.value,
                                float(model.base[i]))
            for i, b in enumerate(links.base)
        )  # fmt: skip


def _blocks(motion: Signals, count: int) -> list[Array]:
    """Indices of samples, in time, split where parts without gaps allow no better."""
    return [block for block in np.array_split(np.arange(len(motion.time)), count) if len(block)]
