"""BelievedStates: positions that can follow those before, as the guard of a controller believes."""

from __future__ import annotations

import numpy as np
from sensor_msgs.msg import JointState

from robot_dynamics.control import continuous_joints, position_error
from robot_dynamics.control.guard import CONFIRMED, LONGEST_STEP_S, elapsed, noise
from robot_dynamics.control.limits import NEAR, default_tracking_errors, velocity_limits
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.units import NS_PER_S
from robot_dynamics.nodes.ros.state_reader import StateReader
from robot_dynamics.robot import Robot


class BelievedStates(StateReader):
    """Reads joint_states, and believes those that fit each other.

    Another node may publish states of the same joints, such as a joint_state_publisher that was
    left running. The first state is believed; later ones if they can follow the last believed one,
    or if as many consecutive states as the guard of a controller wants fit each other.

    Args:
        robot: The robot.
        cutoff: See `StateReader`.

    Attributes:
        q: Believed positions, shape (n,), rad or m; they are written in place.
    """

    def __init__(self, robot: Robot, cutoff: float = 0.0) -> None:
        continuous = continuous_joints(robot)
        self._continuous = continuous if continuous.any() else None
        self._nearest = NEAR * default_tracking_errors(robot)
        self._fastest = velocity_limits(robot)
        super().__init__(robot, ("position",), cutoff)

    def forget(self) -> None:
        """See `StateReader.forget`."""
        super().forget()
        self.q = np.full(len(self.joint_names), np.nan)
        self._received = self.q.copy()
        self._received_at, self._believed_at, self._fitting = 0, 0, 0

    def read(self, msg: bytes | JointState) -> bool:
        """See `StateReader.read`."""
        ours = super().read(msg)
        if ours and self.complete:
            self._judge()
        return ours

    def _judge(self) -> None:
        q, stamp = self.position, self.stamp
        fits = self._follows(self._received, stamp - self._received_at)
        self._fitting = self._fitting + 1 if fits else 1
        self._received[:], self._received_at = q, stamp
        goes_on = self._follows(self.q, stamp - self._believed_at)
        if goes_on or self._fitting >= CONFIRMED or np.isnan(self.q).any():
            self.q[:], self._believed_at = q, stamp

    def _follows(self, before: Array, elapsed_ns: int) -> bool:
        """Return whether the positions can follow earlier ones; velocities may be unknown."""
        step = elapsed(elapsed_ns / NS_PER_S or -1.0, LONGEST_STEP_S)  # 0 without stamps
        displacement = np.abs(position_error(self.position, before, self._continuous))
        most = self._fastest * step + noise(self._nearest, self._fastest, step)
        return bool((displacement <= most).all())
