"""Samples in which a joint stands still, where no model predicts the friction."""

from __future__ import annotations

import numpy as np

from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.lazy import imported
from robot_dynamics.identification.signals import Signals

STANDING = 0.03
"""Part of its highest speed below which a joint stands, held by friction of any size."""

FELT = 0.5
"""Periods of the filter's cutoff within which it brings an effort to other samples. A joint that is
slower for a shorter time turns back: friction changes its sign, as models have it."""


def moves(motion: Signals, drive: Array | None = None) -> Array:
    """Samples of each drive that friction at rest has no part in, shape (N, n).

    Args:
        motion: Filtered samples; of a joint that never moves, none has this property.
        drive: Movement of every drive per movement of every joint, shape (n, n); by default each
            joint has a drive of its own.
    """
    speed = np.abs(motion.qd if drive is None else motion.qd @ drive.T)
    slow = speed <= STANDING * speed.max(axis=0, initial=0.0)
    step = float(np.median(np.diff(motion.time))) if len(motion.time) > 1 else np.inf
    felt = max(1, round(FELT / (motion.cutoff * step)))
    ndimage = imported("scipy.ndimage")
    # In time alone: one joint says nothing of the next
    stands = ndimage.binary_opening(slow, np.ones((felt, 1)))
    return np.asarray(~ndimage.binary_dilation(stands, np.ones((2 * felt + 1, 1))))
