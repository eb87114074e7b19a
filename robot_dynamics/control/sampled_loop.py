"""Sampling of a loop, and the largest natural frequency that feedback may have in it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robot_dynamics.control.stability import (
    GAIN_MARGIN,
    HALVINGS,
    largest_ratio,
    stability_limit,
)

DEFAULT_PERIOD_S = 1e-3
"""Assumed period of the states before they are measured, s."""

COMMAND_DELAY_S = 1e-3
"""Transmission time of a command, which cannot be measured, s."""

SLACK = 1.3
"""Factor on period or delay above which gains are fitted anew; the margin is larger."""


class Sampling(NamedTuple):
    """Sampling of a loop.

    Args:
        period: Time from a state to the next, s.
        delay: Time from a state to when the effort that answers it acts, s.
    """

    period: float
    delay: float

    @staticmethod
    def of(period: float, age: float = 0.0) -> Sampling:
        """Sampling of states that come at a period.

        At worst, a drive applies a command one cycle after it has sent the state.

        Args:
            period: Time from a state to the next, s.
            age: Of a state when it is answered, s.
        """
        return Sampling(period, age + period + COMMAND_DELAY_S)

    def slower_than(self, other: Sampling) -> bool:
        """Return whether gains that fit `other` do not fit this."""
        return self.period + self.delay > SLACK * (other.period + other.delay)


UNKNOWN_AGE_S = 5e-3
"""Age of states when they are answered, where nothing measures it, s."""

UNKNOWN = Sampling.of(DEFAULT_PERIOD_S, UNKNOWN_AGE_S)
"""Sampling of a loop of which nothing is known."""

SLOWEST = Sampling.of(0.02, 0.02)
"""Sampling that gains fit before any state has come: 50 Hz, and 20 ms late."""


def largest_frequency(damping_ratio: float, sampling: Sampling, wanted: float = np.inf) -> float:
    """Return the desired or largest stable natural frequency under the mass matrix, rad/s.

    The same for every robot: with the mass matrix all errors obey one equation.
    """
    z = damping_ratio
    wanted = min(wanted, 2.0 * z * largest_ratio(*sampling))

    def fits(w: float) -> bool:
        return 2.0 * z * w <= stability_limit(w / (2.0 * z), *sampling) / GAIN_MARGIN

    if fits(wanted):
        return wanted
    low, high = 0.0, wanted
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
