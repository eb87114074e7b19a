"""Units and constants that several packages share."""

from __future__ import annotations

import math

NS_PER_S = 1_000_000_000
"""Nanoseconds per second."""

FULL_TURN = 2.0 * math.pi
"""One revolution, rad."""
