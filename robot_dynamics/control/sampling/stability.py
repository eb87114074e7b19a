"""Stability of PD on an inertia, sampled every T s, with efforts that act d s after the sample.

Derived in docs/gains.md. The joints' errors obey M e'' = -(Kp e + Kd e'). With Kp = r Kd they
are modes, one for every eigenvalue mu of M^-1 Kd, that obey e'' = -mu (r e + e'). Efforts are
held between two samples and late, so that each mode is stable only up to an edge mu(r, T, d),
and none is beyond r (T/2 + d) = 1.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from robot_dynamics.arrays import Array

GAIN_MARGIN = 2.0
"""By how much the loop gain may be wrong before a mode swings up: 6 dB, as textbooks ask."""

LARGEST_LAG = 0.25
"""Part of the lead kd/kp of PD that sampling and delay may take away."""

HALVINGS = 40
"""Steps of bisection: float64 to a few digits less than it has."""


def mode_matrix(mu: float, r: float, period: float, delay: float) -> Array:
    """One cycle of one mode; the state is e, e' and the corrections that are still to act.

    Args:
        mu: Velocity gain over inertia, 1/s.
        r: Position gain over velocity gain, 1/s.
        period: T, s.
        delay: d, s: whole periods, and a part of one after which a correction takes over from
            the one before.
    """
    whole = int(delay / period)
    late = delay - whole * period
    n = 3 + whole
    A = np.zeros((n, n))
    A[0, :2] = 1.0, period
    A[1, 1] = 1.0
    # Corrections a: state[2] is the newest of the past; state[1 + k] is k cycles old
    for age, begin, end in ((whole + 1, 0.0, late), (whole, late, period)):
        into_e = ((period - begin) ** 2 - (period - end) ** 2) / 2.0
        feedback = np.zeros(n)
        if age:
            feedback[1 + age] = 1.0
        else:
            feedback[:2] = -mu * r, -mu
        A[0] += into_e * feedback
        A[1] += (end - begin) * feedback
    A[2, :2] = -mu * r, -mu
    A[3:, 2:-1] = np.eye(n - 3)
    return A


def decay(mu: float, r: float, period: float, delay: float) -> float:
    """Factor by which a mode grows (above 1) or decays from one cycle to the next."""
    return float(np.abs(np.linalg.eigvals(mode_matrix(mu, r, period, delay))).max())


@lru_cache(maxsize=1024)  # a search by halves comes by the same ratios for every arm
def edge(r: float, period: float, delay: float) -> float:
    """The mu from which on a mode is not stable, 1/s; zero if none is."""
    lag = period / 2.0 + delay
    if r * lag >= 1.0:
        return 0.0
    low, high = 0.0, 4.0 / lag  # pi/2 of a pure delay, 1 without one, 3 for one of T/4
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        stable = decay(middle, r, period, delay) < 1.0
        low, high = (middle, high) if stable else (low, middle)
    return low


def largest_ratio(period: float, delay: float) -> float:
    """Largest kp/kd that leaves PD its lead, 1/s."""
    return LARGEST_LAG / (period / 2.0 + delay)


def fitting_damping(kd: Array, r: float, inverses: Array, period: float, delay: float) -> Array:
    """Velocity gains that keep every mode of an arm `GAIN_MARGIN` away from the edge, shape (n,).

    Each is at most in proportion to the inertia 1 / (M^-1)_ii that its joint feels while all
    others are free: joints whose axes nearly coincide feel little when they move against each
    other.

    Args:
        kd: Wanted, shape (n,), N m s/rad or N s/m.
        r: Largest kp/kd of them, 1/s.
        inverses: M^-1 in many poses, shape (N, n, n).
        period: T, s.
        delay: d, s.
    """
    allowed = edge(r, period, delay) / GAIN_MARGIN
    free = 1.0 / np.diagonal(inverses, axis1=1, axis2=2).max(axis=0)
    roots = np.linalg.cholesky(inverses)
    if fastest_mode(kd, roots) <= allowed:
        return kd
    low, high = 0.0, float((kd / free).max())
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        fits = fastest_mode(np.minimum(kd, middle * free), roots) <= allowed
        low, high = (middle, high) if fits else (low, middle)
    return np.asarray(np.minimum(kd, low * free))


def fastest_mode(kd: Array, roots: Array) -> float:
    """Largest eigenvalue of M^-1 Kd, 1/s, over poses.

    Args:
        kd: Velocity gains, shape (n,).
        roots: L of M^-1 = L L^T in many poses, shape (N, n, n).
    """
    return float(np.linalg.eigvalsh(np.swapaxes(roots, 1, 2) @ (kd[:, None] * roots)).max())
