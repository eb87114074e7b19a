"""Drives that close their own loop: position, velocity and effort in, at the rate of the plant."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from robot_dynamics.control.gains import Gains
from robot_dynamics.control.laws import Measured, Reference, pd_feedforward
from robot_dynamics.errors import ArgumentError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.simulation.plant import Plant

PERIOD_S = 1e-4
"""Usual period of such drives, s; a plant of this step simulates them."""


class DriveLoop:
    """Drives of a simulated robot, each with PD feedback and a feedforward effort.

    Each adds kp (q_c - q) + kd (qd_c - qd) to the commanded effort in every step of the plant.

    Args:
        plant: The robot; its limits cut the sum.
        kp: Position gains, shape (n,), N m/rad or N/m.
        kd: Velocity gains, shape (n,), N m s/rad or N s/m.
        takes_velocity: Whether a velocity can be commanded; otherwise it counts as zero.

    Raises:
        ArgumentError: If a gain is negative or not finite.
    """

    def __init__(
        self, plant: Plant, kp: npt.ArrayLike, kd: npt.ArrayLike, takes_velocity: bool = True
    ) -> None:
        n = plant.robot.dof
        self.plant, self._takes_velocity = plant, takes_velocity
        self._gains = Gains(*(np.broadcast_to(np.asarray(x, float), n) for x in (kp, kd)))
        for name in ("kp", "kd"):
            gain = getattr(self._gains, name)
            if not (np.isfinite(gain) & (gain >= 0.0)).all():
                raise ArgumentError(f"{name} of the drives is {gain}; give zero or more")

    def run(self, seconds: float, position: Array, velocity: Array, effort: Array) -> None:
        """Simulate the robot under one command, for a time in s, shape (n,) each."""
        plant = self.plant
        if not self._takes_velocity:
            velocity = np.zeros_like(velocity)
        reference = Reference(position, velocity, effort)
        for _ in range(round(seconds / plant.step_time)):
            plant.step(pd_feedforward(reference, Measured(plant.q, plant.qd), self._gains))
