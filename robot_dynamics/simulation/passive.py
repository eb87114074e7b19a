"""Dry friction and joint stops, without chatter.

Both are set-valued: friction at rest takes any value up to its limit, and the reaction of a stop
any outward value. A force law at the old velocity would change sign in every step. This module
solves for new velocities and impulses together, for all joints, so that a sticking joint has a
velocity of exactly zero.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robot_dynamics.foundation.arrays import Array

ROUNDS = 8
"""Largest number of Newton rounds; one or two suffice from the last step's solution."""

SWEEPS = 4
"""Gauss-Seidel sweeps that improve a first guess."""

ATTEMPTS = 20
"""Largest number of restarts from a new guess."""


class Passive(NamedTuple):
    """Dry friction and stops of one step; shape (n,) each.

    Args:
        dry: Largest friction impulse, N m s or N s, zero or more.
        lower: Lowest velocity that the stops allow, zero or less.
        upper: Highest velocity that the stops allow, zero or more.
    """

    dry: Array
    lower: Array
    upper: Array


class Resolved(NamedTuple):
    """Result of `resolve`; shape (n,) each.

    Args:
        v: Velocities at the end of the step.
        p: Impulses of friction and stops.
        held: Joints whose velocity friction or a stop imposes: they stick, or arrive at a stop.
    """

    v: Array
    p: Array
    held: Array


def resolve(A: Array, c: Array, passive: Passive, v: Array, p: Array) -> Resolved:
    """Solve A v = c + p for velocities v under the impulses p of dry friction and stops.

    Joint i slides with p_i = -dry_i sign(v_i), sticks with v_i = 0 and |p_i| <= dry_i, or is at a
    stop with v_i = lower_i or upper_i and p_i beyond friction. A guess of every joint's case gives
    a linear system, whose solution gives a better guess. This semismooth Newton method needs one
    or two rounds from the last step's solution. A joint that would reverse is first guessed to
    stick, because light joints at the end of heavy ones would otherwise alternate. If the cases
    cycle, a few Gauss-Seidel sweeps provide a new guess.

    Args:
        A: Symmetric and positive definite, shape (n, n): mass matrix with implicit damping.
        c: Momentum without the impulses, shape (n,).
        passive: Friction and stops.
        v: Guess of the velocities, shape (n,).
        p: Guess of the impulses, shape (n,).
    """
    for _ in range(ATTEMPTS):
        answer = _newton(A, c, passive, v, p)
        if answer is not None:
            return answer
        v = sweep(A, c, passive, v)
        p = A @ v - c
    return Resolved(v, p, (v == 0.0) | (v == passive.lower) | (v == passive.upper))


def _newton(A: Array, c: Array, passive: Passive, v: Array, p: Array) -> Resolved | None:
    """Return the exact solution, or None if the cases do not converge."""
    dry, lower, upper = passive
    rho = A.diagonal()
    from_upper, from_lower = dry + rho * upper, rho * lower - dry
    previous, came = b"", None
    for _ in range(ROUNDS):
        w = rho * v - p  # one number per joint tells its case, and whether it is the right one
        forward, backward = w > dry, w < -dry
        if came is not None:
            forward, backward = forward & ~came[1], backward & ~came[0]
        came = forward, backward
        free = (forward & (w <= from_upper)) | (backward & (w >= from_lower))
        case = forward.tobytes() + backward.tobytes() + free.tobytes()
        if case == previous:
            return Resolved(v, p, ~free)
        previous = case
        slide = np.where(forward, -dry, dry)
        if free.all():
            v, p = np.linalg.solve(A, c + slide), slide
            continue
        fixed = np.where(forward, upper, np.where(backward, lower, 0.0))
        B = A.copy()
        B[~free] = 0.0
        B[~free, ~free] = 1.0  # v_i = fixed_i instead of the equation of motion
        v = np.where(free, np.linalg.solve(B, np.where(free, c + slide, fixed)), fixed)
        p = np.where(free, slide, A @ v - c)
    return None


def sweep(A: Array, c: Array, passive: Passive, v: Array, sweeps: int = SWEEPS) -> Array:
    """Return velocities nearer to those of `resolve` by Gauss-Seidel sweeps, shape (n,)."""
    dry, lower, upper = (x.tolist() for x in passive)
    new = np.clip(v, passive.lower, passive.upper)
    for _ in range(sweeps):
        for i in range(len(new)):
            rest = float(c[i] - A[i] @ new + A[i, i] * new[i])
            sliding = max(abs(rest) - dry[i], 0.0) / float(A[i, i])
            new[i] = min(max(sliding if rest > 0.0 else -sliding, lower[i]), upper[i])
    return new
