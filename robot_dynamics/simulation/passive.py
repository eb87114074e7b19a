"""Dry friction and joint stops, without chatter.

Both are set-valued: at rest friction may be anything up to its limit, at a
stop the reaction anything outward. A force law evaluated at the old velocity
would flip its sign every step. Here the new velocity and the impulses are
found together, for all joints at once, so that a joint that should stick has
a velocity of exactly zero.
"""

from __future__ import annotations

import numpy as np

from robot_dynamics.robot.robot import Array

MAX_ITERATIONS = 30
SWEEPS = 200


def resolve(
    A: Array,
    c: Array,
    dry: Array,
    lower: Array,
    upper: Array,
    v: Array,
    p: Array,
) -> tuple[Array, Array]:
    """Solve A v = c + p for velocities v under the impulses p of dry friction and stops.

    Joint i either slides with p_i = -dry_i sign(v_i), sticks with v_i = 0 and
    |p_i| <= dry_i, or lies at a stop with v_i = lower_i or upper_i and p_i
    beyond friction. A guess of the case of every joint gives a linear system,
    whose solution gives a better guess (a semismooth Newton method, which needs
    one or two rounds from the last step's answer).

    Args:
        A: Symmetric and positive definite, shape (n, n): mass matrix with implicit damping.
        c: Momentum without the impulses, shape (n,).
        dry: Largest friction impulse, shape (n,), zero or more.
        lower: Lowest velocity that the stops allow, shape (n,), zero or less.
        upper: Highest velocity that the stops allow, shape (n,), zero or more.
        v: Guess of the velocities, shape (n,).
        p: Guess of the impulses, shape (n,).

    Returns:
        v and p, shape (n,) each.
    """
    rho = A.diagonal()
    previous = None
    for _ in range(MAX_ITERATIONS):
        w = rho * v - p
        forward, backward = w > dry, w < -dry
        at_upper, at_lower = w > dry + rho * upper, w < rho * lower - dry
        free = (forward & ~at_upper) | (backward & ~at_lower)
        case = (forward.tobytes(), backward.tobytes(), free.tobytes())
        if case == previous:
            return v, p
        previous = case
        slide = np.where(forward, -dry, dry)
        if free.all():
            v = np.linalg.solve(A, c + slide)
            p = slide
            continue
        held = np.where(at_upper, upper, np.where(at_lower, lower, 0.0))
        B = np.where(free[:, None], A, np.diag(np.ones(len(c))))
        v = np.linalg.solve(B, np.where(free, c + slide, held))
        v[~free] = held[~free]  # exactly: the factorisation may round
        p = np.where(free, slide, A @ v - c)
    return _sweep(A, c, dry, lower, upper, v)


def _sweep(
    A: Array, c: Array, dry: Array, lower: Array, upper: Array, v: Array
) -> tuple[Array, Array]:
    """The same by projected Gauss-Seidel: slow, but it cannot cycle."""
    v = np.clip(v, lower, upper)
    for _ in range(SWEEPS):
        for i in range(len(v)):
            rest = c[i] - A[i] @ v + A[i, i] * v[i]
            sliding = np.sign(rest) * max(abs(rest) - dry[i], 0.0) / A[i, i]
            v[i] = min(max(sliding, lower[i]), upper[i])
    return v, A @ v - c
