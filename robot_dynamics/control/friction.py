"""Joint friction, for compensation in control and for the plant in simulation.

    tau_f = viscous qd + (coulomb + stiction exp(-(qd / stribeck)^2)) sign(qd)

The sign makes control chatter at rest, so compensation replaces it by a smooth
crossing of a stated width. The plant keeps the true sign, and stiction.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields

import numpy as np

from robot_dynamics.arrays import Array, frozen
from robot_dynamics.control.per_joint import per_joint
from robot_dynamics.robot.robot import Robot

DEFAULT_WIDTH = 0.01
"""Speed at which smoothed Coulomb friction reaches tanh(1) = 76 %, rad/s or m/s."""


@dataclass(frozen=True, eq=False)
class Friction:
    """Friction of n joints; every field has shape (n,), or one number for all joints.

    Args:
        viscous: N m s/rad or N s/m.
        coulomb: Sliding friction, N m or N.
        stiction: By how much friction at rest exceeds sliding friction, N m or N; by default zero.
        stribeck: Speed at which that excess has fallen to 1/e, rad/s or m/s.

    Raises:
        ShapeError: If the fields differ in length.
        ArgumentError: If a number is negative or not finite, or a Stribeck speed is zero.
    """

    viscous: Array
    coulomb: Array
    stiction: Array = field(default_factory=lambda: frozen([0.0]))
    stribeck: Array = field(default_factory=lambda: frozen([DEFAULT_WIDTH]))

    def __post_init__(self) -> None:
        n = max(np.size(getattr(self, setting.name)) for setting in fields(self))
        for setting in fields(self):
            checked = per_joint(
                f"friction: {setting.name}",
                getattr(self, setting.name),
                n,
                positive=setting.name == "stribeck",
            )
            object.__setattr__(self, setting.name, checked)

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

    @property
    def is_dry(self) -> bool:
        """Whether any joint can stick."""
        return bool((self.coulomb + self.stiction).any())

    def resistance(self, qd: Array) -> Array:
        """Size of dry friction while sliding at qd, shape (n,), N m or N, never negative."""
        return self.coulomb + self.stiction * np.exp(-((qd / self.stribeck) ** 2))

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
