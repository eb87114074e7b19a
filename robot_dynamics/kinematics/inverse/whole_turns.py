"""Positions that differ by whole turns: which of them the limits of the joints allow."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.compiler.graph.piecewise import minimum, select
from robot_dynamics.kinematics.inverse.axis_chain import AxisChain

MARGIN = 1e-9
"""How far beyond a limit a position counts as within, rad or m."""

TURN = 2.0 * np.pi


def within_limits(
    chain: AxisChain, q: Sequence[Any], given: int | None = None
) -> tuple[list[Any], Any]:
    """Positions with the turns that the limits allow, and 1 where they are within, else 0.

    An angle stays where it is in [-pi, pi], if it is within its limits or no other turn is.

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
    """The angle itself if it is within, else its first turn above `lower` if that is."""
    first = q - TURN * np.floor((q - lower) * (1.0 / TURN))
    other = select(upper, first, q, first)
    return select(q, lower, other, select(upper, q, other, q))


def all_turns(chain: AxisChain, q: Array) -> Array:
    """Every position within the limits that differs from q by whole turns, shape (m, n).

    Joints without limits stay within one turn.
    """
    choices = []
    for k, x in enumerate(q):
        lower, upper = chain.lower[k] - MARGIN, chain.upper[k] + MARGIN
        if not (chain.rotates[k] and np.isfinite(lower) and np.isfinite(upper)):
            choices.append([x] if lower <= x <= upper else [])
            continue
        first = int(np.ceil((lower - x) / TURN))
        last = int(np.floor((upper - x) / TURN))
        choices.append([x + TURN * turn for turn in range(first, last + 1)])
    return np.array(list(itertools.product(*choices))).reshape(-1, len(q))
