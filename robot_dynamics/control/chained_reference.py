"""Chained reference: what a preceding controller of ros2_control wrote, as a reference of now.

A preceding controller writes the positions, velocities, accelerations and efforts that it wants in
one of the next cycles. An interface that it does not write is NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from robot_dynamics.control.guard import LARGEST_STATE
from robot_dynamics.control.logic import all_of, both, chosen, either, less, negated
from robot_dynamics.foundation.arrays import Array

LARGEST_EFFORT = 1e9
"""Effort beyond which a number is a mistake, N m or N."""


def chained_reference(written: Array, with_velocities: Any, lead: Any) -> dict[str, Any]:
    """Return the reference that interfaces give.

    A controller that has written velocities writes them in every cycle; without them it has
    stopped, although its positions stay.

    Args:
        written: Positions, velocities, accelerations and efforts of the interfaces, shape (4, n).
        with_velocities: 1 if velocities were written before.
        lead: Time by which the values are ahead of the states of now, s.

    Returns:
        `comes`: 1 if there is a reference; `with_velocities` of the next cycle; `has_tau`: 1 if all
        efforts are written; `q`, `qd`, `qdd` and `tau` of now, shape (n,), 0 where unknown.
    """
    known = less(abs(written[:3]), LARGEST_STATE)
    velocities = all_of(known[1])
    begun = either(with_velocities, velocities)
    q = written[0]
    qd, qdd = (chosen(known[k], written[k], 0.0 * known[k]) for k in (1, 2))
    has_effort = less(abs(written[3]), LARGEST_EFFORT)
    return {
        "comes": both(all_of(known[0]), either(velocities, negated(begun))),
        "with_velocities": begun,
        "has_tau": all_of(has_effort),
        "q": q - lead * (qd - 0.5 * lead * qdd),
        "qd": qd - lead * qdd,
        "qdd": qdd,
        "tau": chosen(has_effort, written[3], np.zeros(len(q))),
    }
