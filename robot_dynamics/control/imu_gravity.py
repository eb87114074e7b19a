"""Gravity by an accelerometer on the root link, as functions of numbers or symbols."""

from __future__ import annotations

from typing import Any

import numpy as np

from robot_dynamics.compiler.graph.piecewise import maximum
from robot_dynamics.control.logic import both, less, negated
from robot_dynamics.control.refusals import PLAUSIBLE_GRAVITY, Refusal
from robot_dynamics.foundation.arrays import Array


def gravity_by_imu(before: Array, force: Array, passed: Any, time_constant: Any) -> Array:
    """Return gravity behind a low-pass: at rest an accelerometer measures the opposite of it.

    Args:
        before: Gravity so far, shape (3,), m/s^2, in axes of the root link.
        force: Measured acceleration less gravity, shape (3,), m/s^2, in the same axes.
        passed: Time since the measurement before, s; 0 at the first one.
        time_constant: Of the low-pass, s.

    Returns:
        Acceleration of gravity, shape (3,), m/s^2.
    """
    share = 1.0 - np.exp(-maximum(passed, 0.0) / time_constant)
    return before - share * (before + force)


def check_imu(force: Array) -> dict[str, Any]:
    """Refuse a measurement that is no gravity; arguments as `gravity_by_imu`."""
    (low, high), size = PLAUSIBLE_GRAVITY, np.sqrt(force @ force)
    refusal = Refusal()
    refusal("implausible_imu", negated(both(less(low, size), less(size, high))), size, 0.0)
    return refusal.found
