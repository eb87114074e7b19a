"""Settings of the step, and its load, of a model and the behaviour of a controller."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from robot_dynamics.control.collision import REACTIONS, contact_rows
from robot_dynamics.control.friction import Friction, FrictionRows
from robot_dynamics.control.laws import ALL_MODES
from robot_dynamics.control.limits import (
    NEAR,
    SoftLimits,
    default_tracking_errors,
    effort_limits,
    velocity_limits,
)
from robot_dynamics.control.model import Model
from robot_dynamics.control.settings import DRIVE, GRAVITY, ZERO_EFFORT, Settings
from robot_dynamics.dynamics.variant import payload_numbers
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot.robot import Robot
from robot_dynamics.spatial import Inertia

SHARED = (
    *("fade", "integral_time", "settling_time", "approach_time", "reference_timeout"),
    *("state_timeout", "open_loop_timeout", "resume_by_itself"),
)
"""Settings of the step that parameters and `Settings` have by the same name."""


def write(views: Mapping[str, Array], values: Mapping[str, Any]) -> None:
    """Write values into the fields of a vector, by name."""
    for name, value in values.items():
        views[name][:] = value


def of_model(model: Model, settings: Settings) -> dict[str, Any]:
    """Return gains, friction, rotors, and thresholds of external efforts, by name."""
    n, gains = model.dynamics.robot.dof, model.gains
    friction = model.friction or Friction.none(n)
    slip, elastic = friction.elements
    return {
        **{name: getattr(gains, name) for name in ("kp", "kd", "ki", "i_clamp")},
        "inertia_weighted": model.inertia_weighted and settings.feedback != DRIVE,
        "friction": [np.broadcast_to(getattr(friction, x), n) for x in FrictionRows._fields],
        "rotor": 0.0 if model.rotor_inertia is None else model.rotor_inertia,
        "has_memory": friction.has_memory,
        "slip": slip,
        "elastic": elastic,
        **{
            name: getattr(model, name)
            for name in ("bandwidth", "damping_ratio", "friction_width", "delay")
        },
        "softened": 0.0 if model.softened is None else model.softened,
        "adds_velocity_terms": not model.velocity_terms,
        "contact_rows": contact_rows(model, settings.collision),
    }


def of_behaviour(robot: Robot, settings: Settings) -> dict[str, Any]:
    """Return mode, limits and times, by name."""
    infinite, none = np.full(robot.dof, np.inf), np.zeros(robot.dof)
    zones = settings.soft_limits or SoftLimits(-infinite, infinite, infinite, none, none)
    collision = settings.collision
    return {
        **{name: getattr(settings, name) for name in (*SHARED, "stop", "effort_rate")},
        **{f"soft_{name}": values for name, values in vars(zones).items()},
        "effort": effort_limits(robot),
        "velocity": velocity_limits(robot),
        "lower": robot.limits.lower,
        "upper": robot.limits.upper,
        "nearest": NEAR * default_tracking_errors(robot),
        "allowed": settings.tracking_limit,
        "mode": list(ALL_MODES).index(settings.mode),
        "floats_on_timeout": settings.on_reference_timeout == GRAVITY,
        "ends_without_states": settings.on_state_timeout == ZERO_EFFORT,
        "drive_feedback": settings.feedback == DRIVE,
        "drive_velocity": settings.drive_velocity,
        "longest_cycle": settings.longest_cycle
        if np.isfinite(settings.effort_rate).any()
        else np.inf,
        "contact_gain": collision.gain,
        "contact_time": collision.time,
        "reaction": REACTIONS.index(collision.reaction),
    }


def of_load(model: Model) -> dict[str, Any]:
    """Return what arrives of the load and the base of a model, by name."""
    robot, base = model.dynamics.robot, model.base
    payload = Inertia.zero() if model.payload is None else model.payload
    moving = {}
    if base is not None:
        moving = {"base": base.numbers(robot) if hasattr(base, "numbers") else base}
    return {
        "payload_goal": payload_numbers(payload),
        "gravity_goal": robot.gravity if model.gravity_vector is None else model.gravity_vector,
        "wrench_goal": 0.0 if model.wrench is None else model.wrench,
        **moving,
    }
