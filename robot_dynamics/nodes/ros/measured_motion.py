"""MeasuredMotion: positions, velocities and estimated accelerations from joint_states."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.units import NS_PER_S
from robot_dynamics.nodes.ros.messages import JointReader

STATES = 20
"""Latest states whose velocities give the accelerations as their slope."""

SHORTEST_SLOPE_S = 2e-3
"""Shortest time span of the states for a slope, s."""


class MeasuredMotion(JointReader):
    """Reads joint_states and keeps the latest velocities.

    Args:
        joint_names: Joints to read, in the order of all arrays.
    """

    def __init__(self, joint_names: Sequence[str]) -> None:
        self._velocities: deque[tuple[float, Array]] = deque(maxlen=STATES)
        super().__init__("joint_states", joint_names)

    def forget(self) -> None:
        """See `JointReader.forget`."""
        self._velocities.clear()
        super().forget()

    def read(self, msg: Any) -> bool:
        """See `JointReader.read`."""
        ours = super().read(msg)
        if ours and self.complete:
            self._velocities.append((self.stamp / NS_PER_S, self.qd))
        return ours

    @property
    def qd(self) -> Array:
        """Velocities, shape (n,); zero if unknown."""
        return np.nan_to_num(self.velocity)

    @property
    def qdd(self) -> Array:
        """Accelerations, the slope of the latest velocities, shape (n,)."""
        known = self._velocities
        if not known or known[-1][0] - known[0][0] < SHORTEST_SLOPE_S:
            return np.zeros(len(self.joint_names))
        t = np.array([time for time, _ in known])
        t -= t.mean()
        slope: Array = t @ np.array([qd for _, qd in known]) / (t @ t)
        return slope
