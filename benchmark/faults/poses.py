"""The motion in which a fault begins."""

from __future__ import annotations

POSES = {
    "ur5": ([0.0, -1.2, 1.5, -0.5, 0.3, 0.2], [0.9, -0.6, 0.9, 0.1, 0.9, 0.8]),
    "panda": ([0.0, -0.5, 0.0, -2.0, 0.0, 1.6, 0.8], [0.8, 0.1, 0.5, -1.4, 0.5, 2.1, 1.3]),
    "planar_2r": ([-1.0, 0.5], [0.2, -0.6]),
}
"""Positions between which the arms move, rad."""

DURATION_S, AFTER_S = 1.5, 0.2
"""Duration of the motion, and time at which the fault begins after 0.01 rad of it, s: the arm
accelerates."""

STEEPEST = 15.0 / 8.0
"""Largest speed of the motion, a polynomial of degree five, relative to its mean."""
