"""Arm: the model that the laws control, of numbers or symbols, with load, friction and rotors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from robot_dynamics.algorithms import composite_body
from robot_dynamics.control.friction import (
    FrictionRows,
    effort_beyond_friction,
    friction_effort,
    held,
)
from robot_dynamics.control.model import continuous_joints
from robot_dynamics.dynamics.variant import Variant
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot.transforms import merge_fixed

if TYPE_CHECKING:
    from robot_dynamics.dynamics.dynamics import Dynamics
    from robot_dynamics.dynamics.kernels import Equations

PAYLOAD, WRENCH, BASE = 10, 6, 15
"""Numbers of a payload, of a wrench, and of the motion of a base."""


class DriveRows(NamedTuple):
    """Friction and rotors, shape (n,) each: the rows of `FrictionRows`, and those below.

    Args:
        friction: The rows of `FrictionRows`.
        direction: Presliding direction of friction, -1 to 1.
        rotor: Inertia of the rotors at the joints, kg m^2 or kg.
    """

    friction: FrictionRows
    direction: Any
    rotor: Any


class Tuning(NamedTuple):
    """Numbers of the laws that use the mass matrix.

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
class ArmEquations:
    """The equations of one arm, with a payload and a wrench at a frame.

    Args:
        equations: By the names of kernels.
        parents: For the factorisation of the mass matrix.
        continuous: Which joints turn without end, shape (n,); None if none does.
        endpoint: Frame of payload and wrench, or None.
        base_moves: Whether the base moves.
    """

    equations: Mapping[str, Equations]
    parents: tuple[int, ...]
    continuous: Array | None
    endpoint: str | None
    base_moves: bool

    @classmethod
    def of(
        cls, dynamics: Dynamics, endpoint: str | None = None, *, base_moves: bool = False
    ) -> ArmEquations:
        """Collect the equations of a robot."""
        placed = dynamics.on_moving_base if base_moves else dynamics
        loaded = Variant(wrench_at=endpoint, payload_at=endpoint, gravity=not base_moves)
        found = {
            "inverse": next(placed.equations("inverse", loaded)),
            "momentum": next(placed.equations("momentum", loaded)),
            "mass_matrix": next(dynamics.equations("mass_matrix", Variant(payload_at=endpoint))),
        }
        turning = continuous_joints(dynamics.robot)
        parents = composite_body.elimination_parents(merge_fixed(dynamics.robot))
        return cls(found, parents, turning if turning.any() else None, endpoint, base_moves)


class ByInverse:
    """Efforts that follow from `inverse`, of numbers or symbols."""

    def inverse(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Return efforts of a motion without friction, shape (n,)."""
        raise NotImplementedError

    def bias(self, q: Array, qd: Array) -> Array:
        """Return Coriolis, centrifugal and gravity efforts, shape (n,)."""
        return self.inverse(q, qd, np.zeros(len(q)))

    def gravity(self, q: Array) -> Array:
        """Return the efforts that hold the arm at rest, shape (n,)."""
        return self.inverse(q, np.zeros(len(q)), np.zeros(len(q)))

    def gyroscopic(self, q: Array, qd: Array) -> Array:
        """Return the efforts of velocities on a base that turns, shape (n,): they do no work.

        The part of `bias` that is linear in the velocities.
        """
        return (self.bias(q, qd) - self.bias(q, -qd)) / 2.0


@dataclass(frozen=True)
class Arm(ByInverse):
    """The interface of `Model` that the laws use, of numbers or symbols.

    Args:
        of: The equations.
        load: `payload`, `wrench`, and `gravity` or `base`, by name.
        drives: Friction and rotors.
        tuning: Bandwidth and widths.
        gains: Of the laws that use them.
        inertia_weighted: As of `Model`.
        velocity_terms: Share of Coriolis and centrifugal efforts that counts, 0 or 1.
    """

    of: ArmEquations
    load: Mapping[str, Array]
    drives: DriveRows
    tuning: Tuning
    gains: Damping | None = None
    inertia_weighted: bool = False
    velocity_terms: Any = 1.0

    def _evaluate(self, name: str, *motion: Array, **given: Array) -> Any:
        found = self.of.equations[name]
        load = {**self.load, **given}
        beside = {key: load[key] for key in found.inputs if key in load}
        return found.function(**dict(zip(found.inputs, motion, strict=False)), **beside)

    @property
    def continuous(self) -> Array | None:
        """Which joints turn without end."""
        return self.of.continuous

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
        tau = self._evaluate("inverse", q, self.velocity_terms * qd, qdd)
        if isinstance(tau, dict):  # beside the wrench of a moving base
            tau = tau["tau"]
        return np.asarray(tau + self.drives.rotor * qdd)

    def momentum(self, q: Array, qd: Array) -> tuple[Array, Array]:
        """Return the generalized momentum and its rate without rotors, shape (n,) each."""
        found = self._evaluate("momentum", q, qd)
        return found["p"], found["rate"]

    def mass_matrix(self, q: Array) -> Array:
        """Return the mass matrix with load and rotors, shape (n, n)."""
        M: Array = self._evaluate("mass_matrix", q)
        return M + np.diag(self.drives.rotor)

    def inverse_mass_matrix(self, q: Array) -> Array:
        """Return the inverse of the mass matrix, shape (n, n)."""
        factors = composite_body.factorise(self.mass_matrix(q), self.of.parents)
        columns = [composite_body.solve(*factors, self.of.parents, e) for e in np.eye(len(q))]
        return np.transpose(columns)

    def forward(self, q: Array, qd: Array, tau: Array) -> Array:
        """Return the accelerations by efforts without friction, shape (n,)."""
        factors = composite_body.factorise(self.mass_matrix(q), self.of.parents)
        return composite_body.solve(*factors, self.of.parents, tau - self.bias(q, qd))

    def friction_effort(self, qd: Array, tau: Array) -> Array:
        """Return the effort that compensates friction, shape (n,)."""
        width = self.tuning.friction_width
        presliding = held(self.drives.direction, qd, width)
        return friction_effort(self.drives.friction, qd, width, tau, presliding=presliding)

    def without_friction(self, qd: Array, tau: Array) -> Array:
        """Return the part of efforts tau that accelerates the bodies, shape (n,)."""
        width = self.tuning.friction_width
        presliding = held(self.drives.direction, qd, width)
        return effort_beyond_friction(self.drives.friction, qd, tau, width, presliding=presliding)

    def feedforward(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Return the efforts of a desired motion with friction, shape (n,)."""
        tau = self.inverse(q, qd, qdd)
        return tau + self.friction_effort(qd, tau)

    def with_coupling(self, share: Any = 1.0) -> Arm:
        """Return the same arm with feedback by the mass matrix, at a share of the bandwidth."""
        tuning = self.tuning._replace(bandwidth=share * self.tuning.bandwidth)
        return replace(self, inertia_weighted=True, tuning=tuning)
