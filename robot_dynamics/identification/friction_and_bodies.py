"""Fit friction and physically consistent inertias to one motion by least squares.

The fit alternates: it chooses friction terms on held-out blocks of samples, then fits all columns
together.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np

from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.identification.effort_model import EffortModel, regressor_at_drives
from robot_dynamics.identification.friction_terms import (
    MOST_LOADED,
    FrictionColumns,
    FrictionTerms,
    chosen,
    successive_blocks,
)
from robot_dynamics.identification.least_squares import (
    Estimate,
    Problem,
    estimate,
    held_out,
    normal,
    undetermined,
)
from robot_dynamics.identification.link_inertias import LinkInertias, Quadratic, consistent
from robot_dynamics.identification.regimes import moves, waits
from robot_dynamics.recordings.data_quality import saturated
from robot_dynamics.recordings.signals import Signals, at_random
from robot_dynamics.robot.robot import Robot

ROUNDS = 3
"""Rounds of alternating between friction terms and the joint fit."""

ROTORS_WORTH = 0.98
"""Rotor inertia is kept if it reduces the squared error on held-out blocks below this share."""


class Fit:
    """Least squares of one motion, with the friction that it needs."""

    @staticmethod
    def of(
        robot: Robot, motion: Signals, drive: Array, rotors: bool | None, *, memory: bool = True
    ) -> Fit:
        """Choose friction, with memory or without, and rotors, and fit."""
        fit = Fit(robot, motion, drive)
        for k in range(ROUNDS):
            fit.choose_friction(memory=memory and k > 0)
        everywhere = list(range(fit.n))
        if rotors or (rotors is None and fit.needs(everywhere)):
            fit.take_rotors(everywhere)
            fit.choose_friction(memory=memory)
            fit.take_rotors(fit.rotors)
        return fit

    def __init__(self, robot: Robot, motion: Signals, drive: Array) -> None:
        self.n, self.motion, self.drive = robot.dof, motion, drive
        self.rotors: list[int] = []
        self.dynamics = Dynamics(robot)
        self.Y = regressor_at_drives(self.dynamics, motion, drive)
        self.prior = np.array([b.value for b in self.dynamics.base_parameters])
        self.p = len(self.prior)
        self.tau, self.half = (x @ np.linalg.inv(drive) for x in (motion.tau, motion.half))
        self.columns = FrictionColumns(motion, drive)
        self.shapes = self._plain_friction()
        limit = np.where(robot.limits.effort > 0.0, robot.limits.effort, np.inf)
        self.moving = moves(motion, drive)
        self.usable = ~saturated(motion.raw, limit) & ~waits(motion, self.moving)[:, None]
        self.blocks = successive_blocks(motion.time)
        self.load = np.abs(self.Y @ self.prior)
        self.estimate = self._estimate()

    def _plain_friction(self) -> list[FrictionTerms]:
        return [FrictionTerms(0.02 * v, viscous=True) if v > 0.0 else FrictionTerms()
                for v in self.columns.speed]  # fmt: skip

    def with_plain_friction(self) -> Fit:
        """Return this fit before friction is chosen, without a new estimate."""
        plain = copy.copy(self)
        plain.shapes = self._plain_friction()
        return plain

    # -- the linear problem -----------------------------------------------------------------

    def problem(self, rotors: Sequence[int]) -> Problem:
        """Return the problem of all columns: base parameters, rotors, friction of each joint."""
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
        return Problem(X, self.tau, prior, self.usable, self.moving, self.half)

    def _estimate(self) -> Estimate:
        self._problem = self.problem(self.rotors)
        fit = estimate(self._problem)
        self.load = np.abs(self._rigid(fit.z))
        return fit

    def _rigid(self, z: Array) -> Array:
        end = self.p + len(self.rotors)
        return np.asarray(self._problem.X[:, :, :end] @ z[:end])

    # -- choices ------------------------------------------------------------------------------

    def choose_friction(self, *, memory: bool) -> None:
        """Choose for every joint the terms that reduce the held-out error, and fit again."""
        fit = self.estimate
        rest = self.tau - self._rigid(fit.z)
        self.shapes = [
            chosen(
                self.columns,
                j,
                rest[:, j],
                self.load[:, j],
                fit.weight[:, j],
                self.motion.time,
                memory=memory,
            )
            for j in range(self.n)
        ]
        self.estimate = self._estimate()

    def take_rotors(self, rotors: Sequence[int]) -> None:
        """Fit with the inertias of these rotors, without those that come out negative."""
        self.rotors = list(rotors)
        self.estimate = self._estimate()
        while self.rotors:
            found = self.estimate.z[self.p : self.p + len(self.rotors)]
            if found.min() >= 0.0:
                return
            self.rotors = [j for j, value in zip(self.rotors, found, strict=True) if value > 0.0]
            self.estimate = self._estimate()

    def needs(self, rotors: Sequence[int]) -> bool:
        """Return whether inertias of these rotors reduce the error on held-out blocks."""

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
        """Return the model and the robot with physically consistent inertias."""
        data = Quadratic.of(*normal(self._problem, self.estimate.sample_weight))
        pi, others = consistent(data, links, self._constraints())
        return self._model(links.K @ pi, others), links.with_parameters(pi)

    def _constraints(self) -> list[tuple[Array, float]]:
        """Constrain rotor inertias to be positive and friction to dissipate."""
        names = ["rotor"] * len(self.rotors)
        names += [name for shape in self.shapes for name in shape.names]
        rows = np.eye(len(names))
        limits = [
            (rows[i], 0.0)
            for i, name in enumerate(names)
            if name in ("rotor", "viscous", "coulomb", "load")
        ]
        for i, name in enumerate(names):
            if name == "load":
                limits.append((-rows[i], -MOST_LOADED))
            if name == "stiction":  # stands right behind its Coulomb friction
                limits.append((rows[i] + rows[i - 1], 0.0))
        return limits

    @property
    def held_out_residual(self) -> Array:
        """Residuals of the joints on held-out blocks, shape (N, n)."""
        return held_out(self._problem, self.estimate, self.blocks) @ self.drive

    @property
    def seen(self) -> Array:
        """Deviation of each base parameter over its URDF value; infinite if not excited."""
        return self.estimate.deviation[: self.p]

    @property
    def inseparable(self) -> list[str]:
        """Names of base parameters that no motion tells from rotor inertia, friction or others."""
        if np.isfinite(self.seen).all():
            return []
        other, motion = copy.copy(self), at_random(self.dynamics.robot, self.motion)
        other.motion, other.tau = motion, motion.tau
        other.Y = regressor_at_drives(self.dynamics, motion, self.drive)
        other.columns = FrictionColumns(motion, self.drive)
        other.load = np.abs(other.Y @ self.prior)
        gram, _ = normal(other.problem(self.rotors), np.ones_like(motion.tau))
        lost = undetermined(gram)[: self.p]
        return [b.name for b, one in zip(self.dynamics.base_parameters, lost, strict=True) if one]
