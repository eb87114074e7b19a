"""LoopTuning: keeps the feedback of a loop within what its states and its swings tell of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.control.sampling.swings import Swing, SwingWatch
from robot_dynamics.control.sampling.tuning import (
    DEFAULT_PERIOD_S,
    SLOWEST,
    Sampling,
    SamplingMeter,
    Tuner,
)

if TYPE_CHECKING:
    from robot_dynamics.control.gains import Gains
    from robot_dynamics.control.model import Model
    from robot_dynamics.dynamics import Dynamics

LEAST_UNSEEN_S = 5e-3
"""Delay that is believed in at least when an arm swings; twice as much when it swings again."""

LONGEST_UNSEEN_S = 0.1
"""Delay beyond which swings have other reasons."""

BELIEVED_FOR_S = 0.3
"""Time that new gains are given to end a swing."""

FASTEST_SHARE = 0.75
"""Part of the period that is asked for after which a state is answered at the earliest."""

EQUAL = 0.01
"""Largest relative difference of gains that is none."""


class LoopTuning:
    """Feedback that fits how a loop is sampled, as far as that is known.

    Gains of the joints where the loop bears them; otherwise feedback by the mass matrix, with the
    bandwidth that it bears. Until states have been measured it fits the slowest loop. `feed` and
    `watch` belong to the loop, all else to any other thread.

    Args:
        dynamics: Equations of the arm.
        wanted: Gains to use where the loop bears them.
        bandwidth: Natural frequency under computed torque, where it bears that, rad/s.
        period: Time from a state to the next that is asked for, s.

    Attributes:
        lowered: Whether the bandwidth is less than was wanted, once states have been measured.
        sampling: What the feedback in use fits.
    """

    def __init__(self, dynamics: Dynamics, wanted: Gains, bandwidth: float, period: float) -> None:
        self.wanted, self._bandwidth = wanted, bandwidth
        self._names = dynamics.robot.joint_names
        self._none = np.zeros(dynamics.robot.dof)
        self._tuner = Tuner(dynamics)
        self._meter = SamplingMeter(FASTEST_SHARE * period)
        self._swings = SwingWatch(dynamics.robot.dof)
        self.forget()

    def use(self, dynamics: Dynamics) -> None:
        """Fit the gains to another robot of the same joints."""
        self._tuner = Tuner(dynamics)

    def forget(self) -> None:
        """Measure anew, as for another robot."""
        self._meter.forget()
        self._meter.unseen = 0.0
        self._swings.forget(self._none)
        self._swing: Swing | None = None
        self._quiet_until = 0.0
        self._measured = False
        self.lowered = False
        self.sampling = SLOWEST
        self._does = ""
        self._told: tuple[bool, bool] | None = None

    # -- in the loop ------------------------------------------------------------------------

    def feed(self, now: float, age: float, states: int = 1) -> None:
        """Note that states have come; see `SamplingMeter.feed`."""
        self._meter.feed(now, age, states)

    def watch(self, error: Array | None, now: float) -> None:
        """Look at the position error of a cycle, shape (n,), rad or m; None where there is none."""
        if error is None:  # what comes after it begins anew
            self._swings.forget(self._none)
            return
        if self._swing is not None:
            return
        swing = self._swings.swinging(error, now)
        if swing is not None and now >= self._quiet_until:
            self._swing, self._quiet_until = swing, now + BELIEVED_FOR_S

    # -- beside it --------------------------------------------------------------------------

    def model(self, base: Model) -> Model:
        """A model with the gains and the bandwidth that fit."""
        usual = Sampling.of(DEFAULT_PERIOD_S)  # that default gains fit, and somewhat less
        sampling = self.sampling if self.sampling.slower_than(usual) else usual
        gains = self._tuner.gains(self.wanted, sampling)
        kept = (_alike(gains.kd, self.wanted.kd) & _alike(gains.kp, self.wanted.kp)).all()
        w = self._tuner.bandwidth(self._bandwidth, base.damping_ratio, sampling)
        return replace(base, gains=self.wanted if kept else gains, bandwidth=w, coupled=not kept)

    def retune(self, base: Model) -> tuple[Model, str] | None:
        """Look whether other feedback is due.

        Returns:
            A model with it, and a line that says why; None if there is none. The line is empty if
            it says nothing new but numbers.
        """
        measured, swing = self._meter.measured, self._swing
        if measured is None:
            return None
        why = ""
        if swing is not None:
            self._meter.unseen = self._told_by(swing, measured)
            measured, why = self._meter.measured or measured, self._line(swing)
            self._swing = None
        fits = not measured.slower_than(self.sampling) and not self.sampling.slower_than(measured)
        if self._measured and fits and not why:
            return None
        self._measured, self.sampling = True, measured
        model = self.model(base)
        self.lowered = model.bandwidth < (1.0 - EQUAL) * self._bandwidth
        self._does = "gains are as given"
        if model.coupled:
            self._does = (
                "the gains of the joints would swing, so feedback is by the mass matrix, at a "
                f"bandwidth of {model.bandwidth:.3g} rad/s"
            )
        before, self._told = self._told, (model.coupled, self.lowered)
        return model, why + self.describe() if why or before != self._told else ""

    def recover(self) -> bool:
        """Believe no longer in the delay that a swing has told of; return whether one had."""
        meter = self._meter
        told, meter.unseen = meter.unseen, 0.0
        if told and meter.measured is not None:
            self._measured, self._told = False, None
        return told > 0.0

    def describe(self) -> str:
        """How the loop is sampled, and what feedback fits that, in words."""
        if not self._measured:
            return "how fast states come is not known yet"
        unseen = 1e3 * self._meter.unseen
        return (
            f"states come every {1e3 * self.sampling.period:.3g} ms and are answered within "
            f"{1e3 * self.sampling.delay:.3g} ms"
            + (f", {unseen:.3g} ms of which a swing told, until resumed" if unseen else "")
            + f"; {self._does}"
        )

    def _told_by(self, swing: Swing, measured: Sampling) -> float:
        """The unseen delay that a swing tells of, s: at its edge a loop swings at pi/2 per lag."""
        unseen = self._meter.unseen
        told = unseen + swing.lag - (measured.period / 2.0 + measured.delay)
        return min(max(2.0 * unseen, told, LEAST_UNSEEN_S), LONGEST_UNSEEN_S)

    def _line(self, swing: Swing) -> str:
        return (
            f"joint '{self._names[swing.joint]}' swings and does not come to rest, as if "
            f"commands were {1e3 * self._meter.unseen:.3g} ms late; "
        )


def _alike(a: Array, b: Array) -> Array:
    return np.abs(a - b) <= EQUAL * b
