"""LoopTuning: keeps the feedback of a loop within the stability limit of its measured sampling."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from robot_dynamics.control.sampling.oscillation import Oscillation, OscillationDetector
from robot_dynamics.control.sampling.tuning import (
    DEFAULT_PERIOD_S,
    EQUAL,
    SLOWEST,
    Sampling,
    SamplingMeter,
    Tuner,
)
from robot_dynamics.foundation.arrays import Array

if TYPE_CHECKING:
    from robot_dynamics.control.gains import Gains
    from robot_dynamics.control.model import Model
    from robot_dynamics.dynamics.dynamics import Dynamics

LEAST_UNMEASURED_S = 5e-3
"""Least unmeasured delay assumed when an arm oscillates, s; doubled when it oscillates again."""

LONGEST_UNMEASURED_S = 0.1
"""Delay beyond which oscillations have other causes, s."""

BELIEVED_FOR_S = 0.3
"""Time for new gains to end an oscillation, s."""

FASTEST_SHARE = 0.75
"""Earliest answer to a state, in desired periods after the last one."""

FASTER_FOR_S = 2.0
"""Time for which states come faster before gains rise; doubled with each rise."""

LONGEST_WAIT_S = 120.0
"""Longest such time, s."""


class LoopTuning:
    """Feedback that fits the measured sampling of a loop.

    It uses the gains of the joints if the loop is stable with them, otherwise the mass matrix with
    a stable bandwidth. Before states have been measured it fits the slowest loop. The loop calls
    `feed` and `watch`; other threads call the rest.

    Args:
        dynamics: Equations of the arm.
        wanted: Desired gains.
        bandwidth: Desired natural frequency under computed torque, rad/s.
        period: Desired period of the states, s.

    Attributes:
        lowered: Whether the bandwidth is less than desired, once states have been measured.
        sampling: Sampling that the present feedback fits.
    """

    def __init__(self, dynamics: Dynamics, wanted: Gains, bandwidth: float, period: float) -> None:
        self.wanted, self._bandwidth = wanted, bandwidth
        self._names = dynamics.robot.joint_names
        self._none = np.zeros(dynamics.robot.dof)
        self._tuner = Tuner(dynamics)
        self._meter, self._period = SamplingMeter(FASTEST_SHARE * period), period
        self._detector = OscillationDetector(dynamics.robot.dof)
        self.forget()

    def use(self, dynamics: Dynamics) -> None:
        """Fit the gains to another robot of the same joints."""
        self._tuner = Tuner(dynamics)

    def forget(self) -> None:
        """Forget all measurements."""
        self._meter.forget()
        self._meter.unmeasured_delay = 0.0
        self._detector.forget(self._none)
        self._oscillation: Oscillation | None = None
        self._quiet_until = 0.0
        self._measured = False
        self._now, self._wait, self._faster_since = -np.inf, FASTER_FOR_S, np.inf
        self.lowered = False
        self.sampling = SLOWEST
        self._does = ""
        self._reported: tuple[bool, bool] | None = None

    # -- in the loop ------------------------------------------------------------------------

    def feed(self, now: float, age: float, states: int = 1) -> None:
        """Note the arrival of states; see `SamplingMeter.feed`."""
        self._now = now
        self._meter.feed(now, age, states)

    def watch(self, error: Array | None, now: float) -> None:
        """Monitor the position error of a cycle, shape (n,), rad or m; None without feedback."""
        if error is None:
            self._detector.forget(self._none)
            return
        if self._oscillation is not None:
            return
        oscillation = self._detector.detect(error, now)
        if oscillation is not None and now >= self._quiet_until:
            self._oscillation, self._quiet_until = oscillation, now + BELIEVED_FOR_S

    # -- beside it --------------------------------------------------------------------------

    def model(self, base: Model) -> Model:
        """Return the model with gains and bandwidth that fit."""
        usual = Sampling.of(DEFAULT_PERIOD_S)  # which default gains fit
        sampling = self.sampling if self.sampling.slower_than(usual) else usual
        return self._tuner.model(base, self.wanted, self._bandwidth, sampling)

    def at_rate(self, base: Model) -> Model:
        """Return the model with gains and bandwidth that fit the shortest period of the states."""
        return self._tuner.model(base, self.wanted, self._bandwidth, Sampling.of(self._period))

    def retune(self, base: Model) -> tuple[Model, str] | None:
        """Check whether other feedback is due.

        Returns:
            A model with it and a line with the reason, empty if only numbers are new; None if none
            is due.
        """
        measured, oscillation = self._meter.measured, self._oscillation
        if measured is None:
            return None
        why = ""
        if oscillation is not None:
            self._meter.unmeasured_delay = self._unmeasured_delay(oscillation, measured)
            measured, why = self._meter.measured or measured, self._line(oscillation)
            self._oscillation = None
        if self._measured and not why and not self._is_due(measured):
            return None
        self._measured, self.sampling = True, measured
        model = self.model(base)
        self.lowered = model.bandwidth < (1.0 - EQUAL) * self._bandwidth
        self._does = "gains are as given"
        if model.coupled:
            self._does = (
                "the gains of the joints would oscillate, so feedback is by the mass matrix, at a "
                f"bandwidth of {model.bandwidth:.3g} rad/s"
            )
        before, self._reported = self._reported, (model.coupled, self.lowered)
        return model, why + self.describe() if why or before != self._reported else ""

    def _is_due(self, measured: Sampling) -> bool:
        """Return whether other gains are due: lower ones at once, higher ones after a while."""
        now = self._now
        if not self.sampling.slower_than(measured):
            self._faster_since = np.inf
            return measured.slower_than(self.sampling)
        if not 0.0 <= now - self._faster_since < np.inf:  # only now, or the clock went back
            self._faster_since = now
        if due := now - self._faster_since >= self._wait:
            self._wait = min(2.0 * self._wait, LONGEST_WAIT_S)
        return due

    def recover(self) -> bool:
        """Drop the unmeasured delay of an oscillation; return whether there was one."""
        meter = self._meter
        unmeasured, meter.unmeasured_delay = meter.unmeasured_delay, 0.0
        if unmeasured and meter.measured is not None:
            self._measured, self._reported = False, None
        return unmeasured > 0.0

    def describe(self) -> str:
        """Describe the sampling of the loop and the feedback that fits it."""
        if not self._measured:
            return "the rate of the states is not known yet"
        unmeasured = 1e3 * self._meter.unmeasured_delay
        return (
            f"states come every {1e3 * self.sampling.period:.3g} ms and are answered within "
            f"{1e3 * self.sampling.delay:.3g} ms"
            + (
                f", {unmeasured:.3g} ms of which an oscillation showed, until resumed"
                if unmeasured
                else ""
            )
            + f"; {self._does}"
        )

    def _unmeasured_delay(self, oscillation: Oscillation, measured: Sampling) -> float:
        """Return the unmeasured delay, s: at its limit a loop oscillates at pi/2 per lag."""
        unmeasured = self._meter.unmeasured_delay
        shown = unmeasured + oscillation.lag - (measured.period / 2.0 + measured.delay)
        return min(max(2.0 * unmeasured, shown, LEAST_UNMEASURED_S), LONGEST_UNMEASURED_S)

    def _line(self, oscillation: Oscillation) -> str:
        return (
            f"joint '{self._names[oscillation.joint]}' oscillates and does not come to rest, as if "
            f"commands were {1e3 * self._meter.unmeasured_delay:.3g} ms late; "
        )
