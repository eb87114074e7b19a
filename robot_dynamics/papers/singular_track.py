"""Example 3-2 of [AsadaSlotine1986]: the endpoint of the unit arm passes its singular points.

Figure 3-7, the track, is not in the copies at hand: the text names its points A to D, where rates
are excessive and why, and a constant speed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from robot_dynamics.foundation.arrays import Array

REACH_M = 1.999
"""Distance of A and D from the origin, m: just inside the boundary, where rates are infinite."""

CORNER_M = 0.1
"""Distance of B and C from the origin, m."""


class Track(NamedTuple):
    """Example 3-2: N points of a track of the unit arm.

    Attributes:
        times: Shape (N,), s.
        position: Of the endpoint, shape (N, 2), m.
        angles: theta_1 and theta_2, shape (N, 2), rad.
        rates: Their derivatives, shape (N, 2), rad/s.
    """

    times: Array
    position: Array
    angles: Array
    rates: Array


def singular_track(points: int) -> Track:
    """The endpoint of the unit arm goes from A to B, C and D along straight lines, at 1 m/s.

    A = (`REACH_M`, 0) and D = (0, `REACH_M`) lie at the boundary of what it reaches,
    B = (`CORNER_M`, 0) and C = (0, `CORNER_M`) by the origin: A and D, and the origin, are singular
    points.

    Args:
        points: Number of points.
    """
    corners = np.array([(REACH_M, 0.0), (CORNER_M, 0.0), (0.0, CORNER_M), (0.0, REACH_M)])
    steps = np.diff(corners, axis=0)
    lengths = np.linalg.norm(steps, axis=1)
    passed = np.concatenate(([0.0], np.cumsum(lengths)))
    s = np.linspace(0.0, passed[-1], points)
    position = np.column_stack([np.interp(s, passed, column) for column in corners.T])
    side = np.clip(np.searchsorted(passed, s, side="right") - 1, 0, 2)
    velocity = steps[side] / lengths[side, None]
    angles = unit_arm_angles(position)
    rates = np.array([unit_arm_rates(q, v) for q, v in zip(angles, velocity, strict=True)])
    return Track(s, position, angles, rates)


def unit_arm_angles(position: npt.ArrayLike) -> Array:
    """Angles of the arm with links of 1 m, the elbow with theta_2 in (0, pi), shape (N, 2), rad."""
    x, y = np.asarray(position, dtype=np.float64).T
    theta_2 = np.arccos(np.clip((x**2 + y**2) / 2.0 - 1.0, -1.0, 1.0))
    theta_1 = np.arctan2(y, x) - theta_2 / 2.0  # both links make the same angle with the chord
    return np.column_stack((theta_1, theta_2))


def unit_arm_rates(q: npt.ArrayLike, velocity: npt.ArrayLike) -> Array:
    """Joint velocities (3-35) and (3-36) of a velocity of the endpoint, shape (2,), rad/s."""
    theta_1, theta_2 = np.asarray(q, dtype=np.float64)
    v_x, v_y = np.asarray(velocity, dtype=np.float64)
    c_1, s_1 = np.cos(theta_1), np.sin(theta_1)
    c_12, s_12 = np.cos(theta_1 + theta_2), np.sin(theta_1 + theta_2)
    first = (v_x * c_12 + v_y * s_12) / np.sin(theta_2)
    return np.array([first, -(v_x * (c_1 + c_12) + v_y * (s_1 + s_12)) / np.sin(theta_2)])
