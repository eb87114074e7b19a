"""Joint friction, for compensation in control and for the plant in simulation.

    tau_f = viscous qd + (coulomb + (breakaway - coulomb) exp(-(qd / stribeck)^2)) sign(qd)

The sign makes control chatter at rest, so compensation replaces it by a smooth
crossing of a stated width. The plant keeps the true sign, and stiction.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
import numpy.typing as npt

from robot_dynamics.errors import ArgumentError, ShapeError
from robot_dynamics.robot.robot import Array, Robot, frozen

DEFAULT_WIDTH = 0.01
"""Speed at which smoothed Coulomb friction reaches tanh(1) = 76 %, rad/s or m/s."""


@dataclass(frozen=True, eq=False)
class Friction:
    """Friction of n joints; every field has shape (n,).

    Args:
        viscous: N m s/rad or N s/m.
        coulomb: Sliding friction, N m or N.
        breakaway: Friction at rest, N m or N; by default that of sliding (no Stribeck effect).
        stribeck: Speed at which breakaway friction has fallen to 1/e of its excess, rad/s or m/s.

    Raises:
        ShapeError: If the fields differ in length.
        ArgumentError: If a number is negative, not finite, a Stribeck speed is zero, or
            breakaway friction is below sliding friction.
    """

    viscous: Array
    coulomb: Array
    breakaway: Array | None = None
    stribeck: Array | None = None

    def __post_init__(self) -> None:
        n = len(np.atleast_1d(self.viscous))
        if self.breakaway is None:
            object.__setattr__(self, "breakaway", self.coulomb)
        if self.stribeck is None:
            object.__setattr__(self, "stribeck", np.full(n, DEFAULT_WIDTH))
        for field in fields(self):
            array = np.atleast_1d(np.asarray(getattr(self, field.name), dtype=np.float64))
            if array.shape != (n,):
                raise ShapeError(
                    f"friction: {field.name} has shape {array.shape} for {n} joints; "
                    "give one number per joint"
                )
            wrong = ~np.isfinite(array) | (array < 0.0)
            if field.name == "stribeck":
                wrong |= array == 0.0
            if wrong.any():
                i = int(np.flatnonzero(wrong)[0])
                raise ArgumentError(
                    f"friction: {field.name}[{i}] is {array[i]}; give a finite number that is "
                    f"{'positive' if field.name == 'stribeck' else 'not negative'}"
                )
            object.__setattr__(self, field.name, frozen(array))
        if self.breakaway is not None and np.any(self.breakaway < self.coulomb):
            i = int(np.flatnonzero(self.breakaway < self.coulomb)[0])
            raise ArgumentError(
                f"friction: breakaway[{i}] is {self.breakaway[i]}, below coulomb[{i}] = "
                f"{self.coulomb[i]}; friction at rest is never less than in motion"
            )

    @staticmethod
    def none(n: int) -> Friction:
        """No friction at n joints."""
        return Friction(np.zeros(n), np.zeros(n))

    @staticmethod
    def of(robot: Robot) -> Friction:
        """The `<dynamics damping friction>` of the URDF, mimic followers' on the joint they follow.

        A follower that turns k times as fast loses k^2 the viscous and k the Coulomb power.
        """
        E = robot.coupling.matrix
        damping = np.array([joint.damping for joint in robot.moving_joints])
        coulomb = np.array([joint.friction for joint in robot.moving_joints])
        return Friction((E**2).T @ damping, np.abs(E).T @ coulomb)

    def with_(self, **changes: npt.ArrayLike) -> Friction:
        """The same friction with some fields replaced."""
        return replace(self, **{name: np.asarray(value) for name, value in changes.items()})

    def resistance(self, qd: Array) -> Array:
        """Size of dry friction while sliding at qd, shape (n,), N m or N, never negative."""
        assert self.breakaway is not None and self.stribeck is not None
        excess = self.breakaway - self.coulomb
        return self.coulomb + excess * np.exp(-((qd / self.stribeck) ** 2))

    def smooth(self, qd: Array, width: float | Array = DEFAULT_WIDTH) -> Array:
        """Effort that makes up for friction at velocity qd, without a step at rest.

        Args:
            qd: Joint velocities, shape (n,) or (N, n), rad/s or m/s: best the desired ones,
                which carry no noise.
            width: Speed scale of the crossing, rad/s or m/s.

        Returns:
            Efforts, same shape as qd, N m or N, in the direction of qd.
        """
        return self.viscous * qd + self.resistance(qd) * np.tanh(qd / width)
