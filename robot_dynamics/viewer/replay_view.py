"""A recorded run in the browser."""

from __future__ import annotations

import numpy as np

from robot_dynamics.control import effort_limits
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.recordings.recorded_motion import RecordedMotion
from robot_dynamics.robot import Robot
from robot_dynamics.viewer.page import Page
from robot_dynamics.viewer.snapshot import Snapshot

SLOPE_S = 0.02
"""Time over which velocities give an acceleration, s."""


class ReplayView:
    """The page of a recording.

    Args:
        page: The page.
        motion: The recording.
        robot: The recorded robot.
        source: Path or text of its URDF.

    Raises:
        RecordingError: If it has no joint_states of this robot.
    """

    def __init__(self, page: Page, motion: RecordedMotion, robot: Robot, source: str) -> None:
        self.page = page
        states = motion.states_of(robot)
        self._t = 1e-9 * (states.stamp - states.stamp[0])
        self._q, self._tau = states.position, states.effort
        self._qd = np.nan_to_num(states.velocity)
        self._desired: tuple[Array, Array] | None = None
        if "reference" in motion.topics:
            desired = motion.topics["reference"].ordered(robot.joint_names)
            self._desired = 1e-9 * (desired.stamp - states.stamp[0]), desired.position
        page.open(robot, source, Dynamics(robot), effort_limits(robot))
        self.time = 0.0
        gui = page.server.gui
        with gui.add_folder("Recording"):
            self.slider = gui.add_slider("time, s", 0.0, max(self.duration, 0.01), 0.01, 0.0)
            self.playing = gui.add_checkbox("play", True)
            self.speed = gui.add_slider("speed", 0.1, 4.0, 0.1, 1.0)
        with gui.add_folder("Show"):
            self.residual = gui.add_checkbox("colour by residual", False)
            self.ellipsoid = gui.add_checkbox("ellipsoid of velocities", False)

    @property
    def duration(self) -> float:
        """Duration of the recording, s."""
        return float(self._t[-1])

    def snapshot(self) -> Snapshot:
        """Return the sample at `time`, or the last one before."""
        k = int(np.clip(np.searchsorted(self._t, self.time, "right") - 1, 0, len(self._t) - 1))
        first = int(np.searchsorted(self._t, self._t[k] - SLOPE_S))
        span = float(self._t[k] - self._t[first])
        qdd = (self._qd[k] - self._qd[first]) / span if span > 0.0 else np.zeros_like(self._qd[k])
        desired = None
        if self._desired is not None:
            at = int(np.searchsorted(self._desired[0], self._t[k], "right")) - 1
            desired = self._desired[1][at] if at >= 0 else None
        return Snapshot(self.time, self._q[k], self._qd[k], qdd, self._tau[k], desired)

    def tick(self, seconds: float) -> None:
        """Advance by a time, s; the slider follows, or sets the time if it was dragged."""
        if abs(self.slider.value - self.time) > 0.006:  # it was dragged: more than it rounds
            self.time = float(self.slider.value)
            self.page.restart()
        elif self.playing.value:
            self.time += seconds * self.speed.value
            if self.time > self.duration:
                self.time = 0.0
                self.page.restart()
            self.slider.value = round(self.time, 2)
        self.page.show(
            self.snapshot(), residual=self.residual.value, ellipsoid=self.ellipsoid.value
        )
