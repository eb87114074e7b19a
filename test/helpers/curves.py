"""Smoothness of a trajectory, from its polynomials."""

import numpy as np


def steps(trajectory, order, within=slice(None)):
    """Largest step of a derivative at the inner breaks, or at some of them.

    Args:
        trajectory: Any trajectory.
        order: 0 for position, 1 for velocity, and so on.
        within: Which inner breaks.
    """
    h = np.diff(trajectory.breaks)
    step = 0.0
    for k in range(len(h) - 1)[within]:
        for before, after in zip(*trajectory.coefficients[k : k + 2], strict=True):
            left = np.polynomial.Polynomial(before).deriv(order)(h[k])
            right = np.polynomial.Polynomial(after).deriv(order)(0.0)
            step = max(step, abs(left - right))
    return step
