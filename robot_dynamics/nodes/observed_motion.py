"""Motion of an arm as an observer sees it in messages, and the verdict on it, without ROS."""

from __future__ import annotations

import numpy as np

from robot_dynamics.control.laws import position_error
from robot_dynamics.control.limits import default_tracking_errors, velocity_limits
from robot_dynamics.control.model import continuous_joints
from robot_dynamics.control.reference_history import ReferenceHistory
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.units import NS_PER_S
from robot_dynamics.robot.robot import Robot

LONGEST_SILENCE_S = 0.1
"""Longest time between two commands, s: simulator_node holds the joints after it."""

LARGEST_ERROR = 0.25
"""Largest tracking error, relative to the default limit that stops the arm."""

FASTEST = 1.5
"""Largest speed, relative to the velocity limit."""

STARVED_S = 0.05
"""Time for which a node waits for a processor in a step, beyond which the machine is slow, s."""


class ObservedMotion:
    """Largest speed, tracking error and silence since `begin`.

    A state is compared with the reference of its time, once a reference of that time or later has
    come.

    Args:
        robot: The robot.
    """

    def __init__(self, robot: Robot) -> None:
        self._names, self._continuous = robot.joint_names, continuous_joints(robot)
        self._allowed = LARGEST_ERROR * default_tracking_errors(robot)
        self._fastest = FASTEST * velocity_limits(robot)
        self._references = ReferenceHistory(0.0)
        self._latest = -np.inf
        self._waiting: list[tuple[float, Array]] = []  # states, later than all references
        self.begin(0.0)

    def begin(self, now: float) -> None:
        """Forget what was observed; the last command counts as of now, s."""
        n = len(self._names)
        self._speeds, self._errors, self._silence = np.zeros(n), np.zeros(n), 0.0
        self._last_command = now
        self._waiting.clear()

    def add_state(self, stamp: int, q: Array, qd: Array) -> None:
        """Add the measured motion, shape (n,) each, of a stamp, ns."""
        self._speeds = np.fmax(self._speeds, np.abs(qd))
        self._waiting.append((stamp / NS_PER_S, q.copy()))
        self._compare()

    def add_reference(self, stamp: int, q: Array, qd: Array) -> None:
        """Add the desired motion, shape (n,) each, of a stamp, ns."""
        self._latest = stamp / NS_PER_S
        self._references.add(self._latest, np.array((q, qd)))
        self._compare()

    def add_command(self, now: float) -> None:
        """Add a command that has come now, s."""
        self._silence, self._last_command = self.silence(now), now

    def silence(self, now: float) -> float:
        """Return the longest time without a command until now, s."""
        return max(self._silence, now - self._last_command)

    @property
    def speed(self) -> float:
        """Largest speed of a joint, rad/s or m/s."""
        return float(self._speeds.max())

    @property
    def error(self) -> float:
        """Largest tracking error of a joint, rad or m."""
        return float(self._errors.max())

    def fault(self, now: float) -> str:
        """Return what is wrong with speeds, commands or errors until now, s; empty if nothing."""
        fast = np.flatnonzero(self._speeds > self._fastest)
        if len(fast):
            return f"'{self._names[fast[0]]}' races"
        if (silence := self.silence(now)) > LONGEST_SILENCE_S:
            return f"no command for {silence:.2f} s"
        off = np.flatnonzero(self._errors > self._allowed)
        if len(off):
            k = off[np.argmax(self._errors[off] / self._allowed[off])]
            return f"'{self._names[k]}' is {self._errors[k]:.2g} rad or m off its reference"
        return ""

    def _compare(self) -> None:
        """Compare the states up to the latest reference."""
        later = []
        for time, q in self._waiting:
            if time > self._latest:
                later.append((time, q))
            elif (segment := self._references.around(time, q)) is not None:
                error = position_error(segment.desired()[0], q, self._continuous)
                self._errors = np.fmax(self._errors, np.abs(error))
        self._waiting = later
