"""Efforts that a robot may add to its commands by itself, and parameters that leave them out."""

from __future__ import annotations

from collections.abc import Mapping

GRAVITY, FRICTION, VELOCITY_TERMS = "gravity", "friction", "velocity terms"
"""Efforts that a robot may add; the last are Coriolis and centrifugal efforts."""

DRIVE_FEEDBACK = "position and velocity feedback"
"""Efforts of drives that close their own loop."""

SWITCHES: Mapping[str, str] = {
    GRAVITY: "compensate_gravity",
    FRICTION: "compensate_friction",
    VELOCITY_TERMS: "compensate_velocity_terms",
}
"""Parameter that is false where the robot adds an effort itself."""
