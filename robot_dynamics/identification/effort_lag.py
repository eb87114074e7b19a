"""Lag of recorded efforts behind the motion, by which the model fits them best.

Drives and recorders stamp efforts and positions at different moments. Efforts that come late look
like friction and inertia that no robot has.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.lazy import imported
from robot_dynamics.identification.friction_and_bodies import Fit
from robot_dynamics.recordings.data_quality import QualityWarning
from robot_dynamics.recordings.recording import Recording

LONGEST_S = 0.1
"""Longest lag that is sought, s."""

PRECISION_S = 1e-5
"""Change of the lag at which the search ends, s."""

ROUNDS = 10
"""Most rounds of Gauss-Newton."""

LEAST_S = 1e-3
"""Lag below which none is reported, s."""

WORTH = 1.1
"""Residual with the lag over that without it from which on a lag is reported."""

INDEPENDENT = 1e-10
"""Smallest relative eigenvalue of the columns of a fit that counts."""


class EffortLag(NamedTuple):
    """Lag of the efforts.

    Args:
        seconds: Time by which they come after the motion, s; negative if they come before it.
        ratio: Residual with the lag over that without it.
    """

    seconds: float
    ratio: float


def effort_lag(fit: Fit) -> EffortLag:
    """Return the common lag at which bodies, rotors and plain friction leave the least residual.

    Joints count by the size of their efforts. The columns, of positions, do not depend on the lag.
    Friction that was chosen for late efforts would fit them as they are.
    """
    motion, problem = fit.motion, fit.with_plain_friction().problem(range(fit.n))
    size = np.sqrt(np.mean(problem.tau**2, axis=0)) + 1e-9
    inner = np.zeros(len(motion.time), dtype=bool)
    splines = []
    for number in np.unique(motion.part):
        rows = np.flatnonzero(motion.part == number)
        time = motion.time[rows]
        inner[rows] = (time > time[0] + LONGEST_S) & (time < time[-1] - LONGEST_S)
        if len(rows) > 1:
            spline = imported("scipy.interpolate").CubicSpline(time, problem.tau[rows])
            splines.append((rows[inner[rows]], spline))
    root = (problem.usable & problem.moving & inner[:, None]) / size
    A = (problem.X * root[:, :, None]).reshape(-1, problem.X.shape[2])
    values, vectors = np.linalg.eigh(A.T @ A)
    seen = values > INDEPENDENT * values[-1]
    Q = A @ (vectors[:, seen] / np.sqrt(values[seen]))

    def left(order: int, lag: float) -> Array:
        """Return what the columns leave of the efforts, or of their derivative."""
        y = np.zeros_like(problem.tau)
        for rows, spline in splines:
            y[rows] = spline(motion.time[rows] + lag, order)
        v = (y * root).reshape(-1)
        return np.asarray(v - Q @ (Q.T @ v))

    lag = 0.0
    for _ in range(ROUNDS):
        slope = left(1, lag)
        step = -float(slope @ left(0, lag)) / max(float(slope @ slope), 1e-300)
        before, lag = lag, float(np.clip(lag + step, -LONGEST_S, LONGEST_S))
        if abs(lag - before) < PRECISION_S:
            break
    with_lag, without = (float(np.linalg.norm(left(0, x))) for x in (0.0, lag))
    return EffortLag(lag, with_lag / max(without, 1e-300))


def lag_warnings(fit: Fit, recordings: Sequence[Recording]) -> list[QualityWarning]:
    """Return a warning if the efforts of the recordings lag, or lead.

    A lag at an end of the range is none: no lag fits, and the cause is another.
    """
    lag, ratio = effort_lag(fit)
    if abs(lag) < LEAST_S or ratio < WORTH:
        return []
    source = recordings[0].source if len(recordings) == 1 else f"{len(recordings)} recordings"
    if abs(lag) >= LONGEST_S:
        return [
            QualityWarning(
                f"{source}: no lag of the efforts within {1e3 * LONGEST_S:g} ms fits the motion; "
                "they are noise, come later or earlier still, or are of other joints, signs or "
                "units: check how they were recorded"
            )
        ]
    where = "after" if lag > 0.0 else "before"
    return [
        QualityWarning(
            f"{source}: efforts come {1e3 * abs(lag):.3g} ms {where} the motion; without that lag "
            f"the residual is {ratio:.2g} times smaller: --effort-lag={lag:.3g} takes it out"
        )
    ]
