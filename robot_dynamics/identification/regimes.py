"""Regimes of the friction of a joint: moving, reversing, at rest.

Friction is a function of the motion while a joint moves. Where the velocity changes its sign, it
depends on what came before; in a joint at rest it may have any size up to its limit. Estimation and
validation judge the three apart, by these definitions.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.lazy import imported
from robot_dynamics.recordings.signals import Signals

MOVING, REVERSING, AT_REST = range(3)
"""Values of `regimes`."""

WAITING = -1
"""Regime of samples before and after the motion, which are not judged."""

REGIMES: Final = ("moving", "reversing", "at rest")
"""Names of the others."""

STANDING = 0.03
"""Part of its highest speed below which a joint is slow."""

SMOOTHED_PERIODS = 0.5
"""Periods of the filter's cutoff within which it brings an effort to other samples. A joint that is
slower for a shorter time turns back: friction changes its sign, as models have it."""


def regimes(motion: Signals, drive: Array | None = None, *, least: Array | None = None) -> Array:
    """Return the regime of every sample and drive, shape (N, n), integers.

    A drive is slow below `STANDING` of its highest speed. Slow for longer than the filter feels it
    is at rest, for a shorter time or where the velocity changes its sign it reverses. Samples to
    which the filter brings an effort of such times belong to them.

    Args:
        motion: Filtered samples, N of n joints.
        drive: Movement of every drive per movement of every joint, shape (n, n); by default each
            joint has a drive of its own.
        least: Range of positions below which a drive rests all the time, shape (n,).
    """
    q, qd = motion.q, motion.qd
    if drive is not None:
        q, qd = q @ drive.T, qd @ drive.T
    speed = np.abs(qd)
    slow = speed <= STANDING * speed.max(axis=0, initial=0.0)
    step = float(np.median(np.diff(motion.time))) if len(motion.time) > 1 else np.inf
    smoothed = max(1, round(SMOOTHED_PERIODS / (motion.cutoff * step)))
    near = np.ones((2 * smoothed + 1, 1))  # in time alone: one joint says nothing of the next
    ndimage = imported("scipy.ndimage")
    rests = ndimage.binary_dilation(ndimage.binary_opening(slow, np.ones((smoothed, 1))), near)
    turns = slow.copy()
    turns[1:] |= (qd[1:] * qd[:-1] < 0.0) & (np.diff(motion.part) == 0)[:, None]
    found = np.where(ndimage.binary_dilation(turns, near), REVERSING, MOVING)
    found[rests] = AT_REST
    if least is not None:
        found[:, np.ptp(q, axis=0) <= least] = AT_REST
    return np.asarray(found)


def slow_speeds(motion: Signals) -> Array:
    """Return the speeds below which the joints are slow, shape (n,), rad/s or m/s."""
    return np.asarray(STANDING * np.abs(motion.qd).max(axis=0, initial=0.0))


def moves(motion: Signals, drive: Array | None = None) -> Array:
    """Select the samples of each drive that friction at rest does not affect, shape (N, n).

    Args:
        motion: Filtered samples; none is selected for a joint that never moves.
        drive: See `regimes`.
    """
    return regimes(motion, drive) != AT_REST


def waits(motion: Signals, moving: Array) -> Array:
    """Select samples before and after the motion, shape (N,), where brakes may hold the arm.

    Args:
        motion: Filtered samples.
        moving: See `moves`.
    """
    found = np.zeros(len(moving), dtype=bool)
    for part in np.unique(motion.part):
        rows = np.flatnonzero(motion.part == part)
        at = rows[moving[rows].any(axis=1)]
        if len(at):
            found[rows] = (rows < at[0]) | (rows > at[-1])
    return found
