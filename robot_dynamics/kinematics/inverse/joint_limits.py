"""Joint limits: the positions within them, up to multiples of 2 pi."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from robot_dynamics.compiler.graph.piecewise import minimum, select
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.units import FULL_TURN
from robot_dynamics.kinematics.inverse.axis_chain import AxisChain

MARGIN = 1e-9
"""Tolerance of the limits, rad or m."""


def within_limits(
    chain: AxisChain, q: Sequence[Any], given: int | None = None
) -> tuple[list[Any], Any]:
    """Shift angles by multiples of 2 pi into the limits; return them, and 1 where within, else 0.

    An angle stays in [-pi, pi] if it is within its limits, or if no shifted one is.

    Args:
        chain: The joints.
        q: Position of every joint, of any scalar or arrays of N.
        given: Joint that stays where it is, at any angle; or None.
    """
    q, margins = list(q), []
    for k, rotates in enumerate(chain.rotates):
        lower, upper = chain.lower[k] - MARGIN, chain.upper[k] + MARGIN
        turns = rotates and k != given
        if turns and lower <= -np.pi and np.pi <= upper:
            continue
        if turns and np.isfinite(lower) and np.isfinite(upper):
            q[k] = _turned(q[k], lower, upper)
        margins += [q[k] - lower] if np.isfinite(lower) else []
        margins += [upper - q[k]] if np.isfinite(upper) else []
    if not margins:
        return q, 1.0
    return q, select(functools.reduce(minimum, margins), 0.0, 0.0, 1.0)


def _turned(q: Any, lower: float, upper: float) -> Any:
    """Return the angle if it is within, else the first one above `lower` if that is."""
    first = q - FULL_TURN * np.floor((q - lower) * (1.0 / FULL_TURN))
    other = select(upper, first, q, first)
    return select(q, lower, other, select(upper, q, other, q))


def equivalent_positions(chain: AxisChain, q: Array) -> Array:
    """Return every position within the limits that equals q up to multiples of 2 pi, (m, n).

    Joints without limits stay as they are.
    """
    choices = []
    for k, x in enumerate(q):
        lower, upper = chain.lower[k] - MARGIN, chain.upper[k] + MARGIN
        if not (chain.rotates[k] and np.isfinite(lower) and np.isfinite(upper)):
            choices.append([x] if lower <= x <= upper else [])
            continue
        first = int(np.ceil((lower - x) / FULL_TURN))
        last = int(np.floor((upper - x) / FULL_TURN))
        choices.append([x + FULL_TURN * turn for turn in range(first, last + 1)])
    return np.array(list(itertools.product(*choices))).reshape(-1, len(q))
