"""Stability of PD on an inertia, sampled every T s, with efforts that act d s after the sample.

Derived in docs/gains.md. The joints' errors obey M e'' = -(Kp e + Kd e'). With Kp = r Kd they
are modes, one for every eigenvalue mu of M^-1 Kd, that obey e'' = -mu (r e + e'). Efforts are
held between two samples and late, so that each mode is stable only up to a limit mu(r, T, d),
and none is beyond r (T/2 + d) = 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from robot_dynamics.foundation.arrays import Array

GAIN_MARGIN = 2.0
"""Factor by which the loop gain may be wrong before a mode becomes unstable: 6 dB."""

LARGEST_LAG = 0.25
"""Largest lag by sampling and delay, relative to the lead kd/kp of PD."""

HALVINGS = 40
"""Steps of bisection, to nearly the precision of float64."""

INTERVALS = 256
"""Number of intervals of frequency; the first one without lead is bisected."""


def frequency_response(theta: Array, r: float, period: float, delay: float) -> tuple[Array, Array]:
    """Loop gain for mu = 1 and lead over -180 degrees of one mode, in cycles of its samples.

    G(z) = (r E(z) + E'(z)) / A(z) at z = exp(i theta), where e and e' are the state of a double
    integrator at the samples and a is the correction that is computed from them.

    Args:
        theta: Phase of an oscillation from one sample to the next, rad, in (0, pi].
        r: Position gain over velocity gain, 1/s.
        period: T, s.
        delay: d, s: whole periods, and a part of one after which a correction takes over from
            the one before.

    Returns:
        |G| in s, and arg G + pi in rad, both in the shape of `theta`.
    """
    whole = int(delay / period)
    late = delay - whole * period
    z = np.exp(1j * theta)
    # Effect of a correction on e' and e, in its cycle and the next one
    into_velocity = period - late + late / z
    into_position = ((period - late) ** 2 + (period**2 - (period - late) ** 2) / z) / 2.0
    # G (z - 1)^2 z^whole; (z - 1)^2 is -(2 sin(theta / 2))^2 z
    numerator = (z - 1.0) * (into_velocity + r * into_position) + r * period * into_velocity
    lead = np.angle(numerator) - (whole + 1.0) * theta
    return np.abs(numerator) / (2.0 * np.sin(theta / 2.0)) ** 2, lead


def stability_limit(r: float, period: float, delay: float) -> float:
    """Return the mu above which a mode is unstable, 1/s; zero if every mode is.

    By Nyquist's criterion: there mu |G| = 1 where the lead over -180 degrees is used up.
    """
    lag = period / 2.0 + delay
    if r * lag >= 1.0:
        return 0.0
    # The lead grows from zero to less than a quarter of a turn, less the lag; a loop with little
    # delay keeps it up to the fastest oscillation, which turns at every sample
    last = min(np.pi, 2.0 * np.pi * period / lag)
    theta = np.linspace(0.0, last, INTERVALS + 1)[1:]
    gain, lead = frequency_response(theta, r, period, delay)
    largest = gain[-1] if last == np.pi and np.cos(lead[-1]) > 0.0 else 0.0
    used_up = np.flatnonzero(lead[theta < np.pi] < 0.0)
    if len(used_up):
        high = theta[used_up[0]]
        low = high - theta[0]
        for _ in range(HALVINGS):
            middle = (low + high) / 2.0
            leads = frequency_response(middle, r, period, delay)[1] > 0.0
            low, high = (middle, high) if leads else (low, middle)
        largest = max(largest, frequency_response(high, r, period, delay)[0])
    return float(1.0 / largest)


def limit_of_a_late_cycle(r: Any, rate: Any) -> Any:
    """Return `stability_limit` for efforts that act a whole period later, 1/s.

    By Jury's test of the errors' polynomial z (z - 1)^2 + mu T (z - 1) + mu r T^2 (z + 1) / 2.
    Negative if every mode is unstable. Numbers or symbols.

    Args:
        r: Position gain over velocity gain, 1/s.
        rate: 1/T, Hz.
    """
    x = r / rate
    return rate * (1.0 - 1.5 * x) / (1.0 - 0.5 * x) ** 2


def largest_ratio(period: float, delay: float) -> float:
    """Return the largest kp/kd with enough lead, 1/s."""
    return LARGEST_LAG / (period / 2.0 + delay)


def fitting_damping(kd: Array, r: float, inverses: Array, period: float, delay: float) -> Array:
    """Return velocity gains with a margin of `GAIN_MARGIN` to the limit of every mode, shape (n,).

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
    allowed = stability_limit(r, period, delay) / GAIN_MARGIN
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
    """Return the largest eigenvalue of M^-1 Kd, 1/s, over poses.

    Args:
        kd: Velocity gains, shape (n,).
        roots: L of M^-1 = L L^T in many poses, shape (N, n, n).
    """
    return float(np.linalg.eigvalsh(np.swapaxes(roots, 1, 2) @ (kd[:, None] * roots)).max())


def largest_mode(kd: Array, inverse: Array) -> Any:
    """Return a bound of the largest eigenvalue of M^-1 Kd, 1/s, of numbers or symbols.

    It exceeds the eigenvalue at most by the fourth root of n.

    Args:
        kd: Velocity gains, shape (n,).
        inverse: M^-1 in one pose, shape (n, n).
    """
    root = np.sqrt(kd)
    similar = root[:, None] * inverse * root
    return np.sqrt(np.sqrt(np.sum((similar @ similar) ** 2)))
