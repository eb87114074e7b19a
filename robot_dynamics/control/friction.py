"""Joint friction, for compensation in control and for the plant in simulation.

    tau_f = viscous qd + (coulomb + load |tau| + stiction exp(-(qd / stribeck)^2)) sign(qd) + offset

tau is the effort that the joint transmits. The sign makes control chatter at rest, so compensation
replaces it by a smooth crossing of a given width. The plant keeps the sign, and stiction.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.compiler.graph.piecewise import select
from robot_dynamics.dynamics.joint_vectors import per_joint
from robot_dynamics.dynamics.variant import FRICTION_WIDTH
from robot_dynamics.errors import ArgumentError
from robot_dynamics.foundation.arrays import Array, frozen
from robot_dynamics.foundation.lazy import cached_property
from robot_dynamics.robot.robot import Robot

DEFAULT_WIDTH = FRICTION_WIDTH
"""Speed at which smoothed Coulomb friction reaches tanh(1) = 76 %, rad/s or m/s."""


class _Terms(NamedTuple):
    """Optional terms of friction."""

    stiction: bool
    load: bool
    offset: bool
    width: bool


_ALL = _Terms(stiction=True, load=True, offset=True, width=True)


class FrictionRows(NamedTuple):
    """The fields of `Friction` in order, shape (n,) each, for numbers or symbols."""

    viscous: Array
    coulomb: Array
    stiction: Array
    stribeck: Array
    load: Array
    offset: Array
    width: Array


def friction_effort(
    f: FrictionRows | Friction,
    qd: Array,
    width: Any,
    tau: Array | None = None,
    terms: _Terms = _ALL,
) -> Array:
    """Compute the effort that compensates friction; see `Friction.smooth`.

    Args:
        f: Friction, of numbers or symbols.
        qd: As of `Friction.smooth`.
        width: As of `Friction.smooth`.
        tau: As of `Friction.smooth`.
        terms: Terms that may not be zero, as the others only take time.
    """
    dry = f.coulomb
    if terms.stiction:
        dry = dry + f.stiction * np.exp(-((qd / f.stribeck) ** 2))
    if terms.load and tau is not None:
        dry = dry + f.load * abs(tau)
    effort = f.viscous * qd + dry * _sign(f, qd, width, terms)
    return effort + f.offset if terms.offset else effort


def effort_beyond_friction(
    f: FrictionRows | Friction,
    qd: Array,
    tau: Array,
    width: Any,
    terms: _Terms = _ALL,
) -> Array:
    """Compute efforts tau at velocity qd less friction; see `Friction.overcome`."""
    left = tau - friction_effort(f, qd, width, terms=terms)
    return np.asarray(
        left / (1.0 + f.load * _sign(f, qd, width, terms) * select(left, 0.0, -1.0, 1.0))
    )


def _sign(f: FrictionRows | Friction, qd: Array, width: Any, terms: _Terms) -> Array:
    """Return the direction of motion, -1 to 1, with a smooth crossing."""
    if terms.width:
        width = select(0.0, f.width, f.width, width)
    return np.asarray(np.tanh(qd / width))


@dataclass(frozen=True, eq=False)
class Friction:
    """Friction of n joints; every field has shape (n,), or one number for all joints.

    Args:
        viscous: N m s/rad or N s/m.
        coulomb: Sliding friction, N m or N.
        stiction: Excess of friction at rest over sliding friction, N m or N; by default zero.
            Negative, down to -coulomb, where friction bends as it rises with speed.
        stribeck: Speed at which that excess has fallen to 1/e, rad/s or m/s.
        load: Sliding friction per effort that the joint transmits, below one, by default zero.
        offset: Effort in one direction at all speeds, N m or N, by default zero.
        width: Speed at which smoothed dry friction reaches tanh(1) = 76 %, rad/s or m/s; zero
            (the default) for the width that `smooth` is given.

    Raises:
        ShapeError: If the fields differ in length.
        ArgumentError: If a number is negative that cannot be, or not finite, or a Stribeck speed is
            zero.
    """

    viscous: Array
    coulomb: Array
    stiction: Array = field(default_factory=lambda: frozen([0.0]))
    stribeck: Array = field(default_factory=lambda: frozen([DEFAULT_WIDTH]))
    load: Array = field(default_factory=lambda: frozen([0.0]))
    offset: Array = field(default_factory=lambda: frozen([0.0]))
    width: Array = field(default_factory=lambda: frozen([0.0]))

    def __post_init__(self) -> None:
        n = max(np.size(getattr(self, setting.name)) for setting in fields(self))
        for setting in fields(self):
            what, values = f"friction: {setting.name}", getattr(self, setting.name)
            signed = setting.name in ("stiction", "offset")
            size = per_joint(what, np.abs(values) if signed else values, n,
                             positive=setting.name == "stribeck")  # fmt: skip
            sign = np.where(np.asarray(values) < 0.0, -1.0, 1.0) if signed else 1.0
            object.__setattr__(self, setting.name, frozen(sign * size))
        at_rest = self.coulomb + self.stiction
        if (at_rest < -1e-9 * self.coulomb).any():
            i = int(np.argmin(at_rest))
            raise ArgumentError(
                f"friction: stiction[{i}] is {self.stiction[i]:.6g}; give {-self.coulomb[i]:.6g} "
                "or more, or friction at rest would drive the joint"
            )
        never_drives = np.maximum(self.stiction, -self.coulomb)  # not even by round-off
        object.__setattr__(self, "stiction", frozen(never_drives))

    @staticmethod
    def none(n: int) -> Friction:
        """Return zero friction of n joints."""
        return Friction(np.zeros(n), np.zeros(n))

    @staticmethod
    def of(robot: Robot) -> Friction:
        """Return the `<dynamics damping friction>` of the URDF."""
        return Friction(*robot.joint_friction)

    @property
    def is_dry(self) -> bool:
        """Return whether any joint can stick."""
        return bool((self.coulomb + np.abs(self.stiction) + self.load).any())

    @property
    def is_uneven(self) -> bool:
        """Return whether friction of any joint depends on load or direction."""
        return bool((self.load + np.abs(self.offset)).any())

    def resistance(self, qd: Array) -> Array:
        """Return dry friction while sliding at qd without load, shape (n,), never negative."""
        return np.asarray(self.coulomb + self.stiction * np.exp(-((qd / self.stribeck) ** 2)))

    def smooth(
        self, qd: Array, width: float | Array = DEFAULT_WIDTH, tau: Array | None = None
    ) -> Array:
        """Return the effort that compensates friction at velocity qd, without a step at rest.

        Args:
            qd: Joint velocities, shape (n,) or (N, n), rad/s or m/s; desired ones have no noise.
            width: Speed scale of the crossing where the friction has none, rad/s or m/s.
            tau: Transmitted efforts, same shape as qd, if friction grows with them.

        Returns:
            Efforts, same shape as qd, N m or N, in the direction of qd.
        """
        return friction_effort(self, qd, width, tau, self._terms)

    @cached_property
    def _terms(self) -> _Terms:
        """Return which terms are not zero, as the others only take time."""
        return _Terms(*(bool(getattr(self, name).any()) for name in _Terms._fields))

    def overcome(self, qd: Array, tau: Array, width: float | Array = DEFAULT_WIDTH) -> Array:
        """Return efforts tau at velocity qd less friction, the inverse of adding `smooth`."""
        return effort_beyond_friction(self, qd, tau, width, self._terms)

    def stuck(self, qd: Array, tau: Array, width: float | Array = DEFAULT_WIDTH) -> Array:
        """Return how far dry friction may differ from `smooth`, since it may hold a joint at rest.

        Args:
            qd: Velocities, shape (n,) or (N, n), rad/s or m/s.
            tau: Transmitted efforts, same shape.
            width: As in `smooth`.

        Returns:
            Efforts, same shape, never negative: all of dry friction at rest, none while sliding.
        """
        dry = self.resistance(qd) + self.load * np.abs(tau)
        return np.asarray(dry * (1.0 - np.abs(_sign(self, qd, width, self._terms))))
