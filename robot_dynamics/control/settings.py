"""Settings of a controller, with the defaults of its node."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from robot_dynamics.control.collision import Collision
from robot_dynamics.control.laws import ALL_MODES, WITH_DRIVES
from robot_dynamics.control.limits import SoftLimits
from robot_dynamics.control.refusals import REFUSALS
from robot_dynamics.errors import ArgumentError, unknown_name
from robot_dynamics.foundation.arrays import Array

REST, HOLD, GRAVITY, ZERO_EFFORT = "rest", "hold", "gravity_compensation", "zero_effort"
CONTROLLER, DRIVE = "controller", "drive"
FEEDBACK = (CONTROLLER, DRIVE)
ON_STATE_TIMEOUT = (REST, ZERO_EFFORT)
ON_REFERENCE_TIMEOUT = (HOLD, GRAVITY)


@dataclass(frozen=True, eq=False)
class Settings:
    """Behaviour of a controller; every time in s.

    Args:
        mode: One of `ALL_MODES`.
        feedback: Where the loop is closed, one of `FEEDBACK`: by this controller, or by drives that
            take positions, velocities and efforts, with the gains of the model.
        drive_velocity: Whether these drives take velocities; without, damping of the desired
            velocity is part of the efforts.
        effort_rate: Largest change of effort, N m/s or N/s, shape (n,) or one number.
        fade: Time to fade from one law or set of gains to another.
        integral_time: Time within which the feedback of the mode `feedforward` becomes a lasting
            effort while a joint moves: against friction and load that the model lacks; 0 for never.
        soft_limits: Springs at the ends of the joint ranges; by default none.
        tracking_limit: Position error that stops the arm, shape (n,), rad or m; infinite for none.
        state_timeout: Age at which measured states are stale.
        reference_timeout: Age at which references are stale.
        on_state_timeout: Reaction when states stop, one of `ON_STATE_TIMEOUT`: the arm is
            brought to rest and held by its model, or its efforts fade to zero.
        open_loop_timeout: Further time without states after which commands end: brakes must then
            hold the arm.
        on_reference_timeout: Reaction when references stop, one of `ON_REFERENCE_TIMEOUT`: the arm
            comes to rest and is held, or only its gravity is compensated.
        resume_by_itself: Whether references are followed again as soon as messages return;
            otherwise after `resume`.
        settling_time: Time to hold the arm before references are followed, once its states arrive
            and its commands are received. Brakes may take that long to open; feedback of a
            reference that moves meanwhile would start the arm with a jerk.
        stop: Time to come to rest when references or states stop.
        approach_time: Least time to join references from another position; fast joints may need
            more.
        collision: Detection of collisions; its reaction `none` switches it off.
        longest_cycle: Time between two cycles that counts for `effort_rate`: after a stall a
            drive would feel a larger change as a step.
    """

    mode: str = "feedforward"
    feedback: str = CONTROLLER
    drive_velocity: bool = True
    effort_rate: Array | float = np.inf
    fade: float = 0.2
    integral_time: float = 0.5
    soft_limits: SoftLimits | None = None
    tracking_limit: Array | float = np.inf
    state_timeout: float = 0.1
    reference_timeout: float = 0.2
    on_state_timeout: str = REST
    open_loop_timeout: float = 1.0
    on_reference_timeout: str = HOLD
    resume_by_itself: bool = True
    settling_time: float = 0.3
    stop: float = 0.3
    approach_time: float = 0.5
    collision: Collision = field(default_factory=Collision)
    longest_cycle: float = 0.01

    def __post_init__(self) -> None:
        for name, choices in (
            ("mode", ALL_MODES),
            ("feedback", FEEDBACK),
            ("on_state_timeout", ON_STATE_TIMEOUT),
            ("on_reference_timeout", ON_REFERENCE_TIMEOUT),
        ):
            if getattr(self, name) not in choices:
                raise unknown_name(name, getattr(self, name), "robot_dynamics.control", choices)
        if self.feedback == DRIVE and list(ALL_MODES).index(self.mode) not in WITH_DRIVES:
            text, _, remedy, _ = REFUSALS["mode_with_drives"]
            raise ArgumentError(f"mode '{self.mode}': {text}; {remedy}")
        positive = "effort_rate tracking_limit state_timeout open_loop_timeout reference_timeout"
        for name in positive.split():
            if not np.all(np.asarray(getattr(self, name)) > 0.0):
                raise ArgumentError(f"{name} is {getattr(self, name)}; give a positive number")
        for name in (
            "fade",
            "integral_time",
            "settling_time",
            "stop",
            "approach_time",
            "longest_cycle",
        ):
            if not 0.0 <= getattr(self, name) < np.inf:
                raise ArgumentError(f"{name} is {getattr(self, name)} s; give zero or more")
