"""LoopTuning: keeps the feedback of a loop within the stability limit of its measured sampling."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from robot_dynamics.control.sampled_loop import DEFAULT_PERIOD_S, SLOWEST, Sampling
from robot_dynamics.control.sampling.tuning import EQUAL, SamplingMeter, Tuner

if TYPE_CHECKING:
    from robot_dynamics.control.gains import Gains
    from robot_dynamics.control.model import Model
    from robot_dynamics.dynamics.dynamics import Dynamics

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
    `feed`; other threads call the rest.

    Args:
        dynamics: Equations of the arm.
        wanted: Desired gains.
        bandwidth: Desired natural frequency under computed torque, rad/s.
        period: Desired period of the states, s.

    Attributes:
        lowered: Whether bandwidth or gains of elastic joints are less than desired, once states
            have been measured.
        sampling: Sampling that the present feedback fits.
    """

    def __init__(self, dynamics: Dynamics, wanted: Gains, bandwidth: float, period: float) -> None:
        self.wanted, self._bandwidth = wanted, bandwidth
        self._tuner = Tuner(dynamics)
        self._meter, self._period = SamplingMeter(FASTEST_SHARE * period), period
        self.forget()

    def use(self, dynamics: Dynamics) -> None:
        """Fit the gains to another robot of the same joints."""
        self._tuner = Tuner(dynamics)

    def forget(self) -> None:
        """Forget all measurements."""
        self._meter.forget()
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

    # -- beside it --------------------------------------------------------------------------

    def model(self, base: Model) -> Model:
        """Return the model with gains and bandwidth that fit."""
        default = Sampling.of(DEFAULT_PERIOD_S)  # which default gains fit
        sampling = self.sampling if self.sampling.slower_than(default) else default
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
        measured = self._meter.measured
        if measured is None or (self._measured and not self._is_due(measured)):
            return None
        self._measured, self.sampling = True, measured
        model = self.model(base)
        self.lowered = model.bandwidth < (1.0 - EQUAL) * self._bandwidth
        self._does = "gains are as given"
        if resonant := self._tuner.lowered_joints(model, self.wanted):
            self._does = (
                f"gains are lowered for elastic joints, {resonant}, and feedback is by the mass "
                f"matrix, at a bandwidth of {model.bandwidth:.3g} rad/s"
            )
            self.lowered = True
        elif model.inertia_weighted:
            self._does = (
                "the gains of the joints would oscillate, so feedback is by the mass matrix, at a "
                f"bandwidth of {model.bandwidth:.3g} rad/s"
            )
        before, self._reported = self._reported, (model.inertia_weighted, self.lowered)
        return model, self.describe() if before != self._reported else ""

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

    def describe(self) -> str:
        """Describe the sampling of the loop and the feedback that fits it."""
        if not self._measured:
            return "the rate of the states is not known yet"
        return (
            f"states come every {1e3 * self.sampling.period:.3g} ms and are answered within "
            f"{1e3 * self.sampling.delay:.3g} ms; {self._does}"
        )
