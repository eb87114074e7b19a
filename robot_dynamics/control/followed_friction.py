"""Friction that follows a tracked scale while a loop uses it, without a step in effort."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robot_dynamics.control.model import Model
from robot_dynamics.control.transitions import Ramp
from robot_dynamics.foundation.arrays import Array

LEAST_CHANGE = 0.005
"""Change of a scale from which it is followed, so that the model rests between changes."""


class FollowedFriction:
    """Dry and viscous friction of n joints over those of the model; one at first.

    The loop calls `on`; another thread may call `follow`.

    Args:
        n: Number of joints.
        least: Smallest scale that is followed.
        most: Largest scale that is followed.
        duration: Time from a scale to another one, s.
    """

    def __init__(self, n: int, least: float, most: float, duration: float) -> None:
        self._least, self._most = least, most
        self._ramp = Ramp(np.ones((n, 2)), duration)
        self.forget()

    def use(self, least: float, most: float, duration: float) -> None:
        """Use other bounds and another duration."""
        self._least, self._most, self._ramp.duration = least, most, duration
        self.follow(self._wanted)

    def forget(self) -> None:
        """Return to the friction of the model at once, while no loop runs."""
        self._wanted = np.ones_like(self._ramp.target)
        self._ramp = Ramp(self._wanted, self._ramp.duration)
        self._last: tuple[object, object, Model | None] = None, None, None

    @property
    def scale(self) -> Array:
        """Return the scale that friction moves to, shape (n, 2): dry, viscous."""
        return self._ramp.target

    def follow(self, scale: Array) -> None:
        """Move to a scale, shape (n, 2), within the bounds."""
        self._wanted = scale
        bounded = np.clip(scale, self._least, self._most)
        if np.abs(bounded - self._ramp.target).max() > LEAST_CHANGE:
            self._ramp.aim(bounded)

    def release(self) -> None:
        """Move back to the friction of the model."""
        self._wanted = np.ones_like(self._wanted)
        self._ramp.aim(self._wanted)

    def on(self, model: Model, now: float) -> Model:
        """Return a model with friction at time `now`, s; the same object until that changes."""
        last, ramp = self._last, self._ramp
        if model is last[0] and ramp.target is last[1] and last[2] is not None:  # nearly always
            return last[2]
        scale = ramp.value(now)
        scaled = _scaled(model, scale)
        self._last = model, scale, scaled
        return scaled

    def target(self, model: Model) -> Model:
        """Return a model as it is once the ramp has ended."""
        return _scaled(model, self._ramp.target)


def _scaled(model: Model, scale: Array) -> Model:
    """Return a model with scaled friction; its presliding state stays."""
    if model.friction is None or (scale == 1.0).all():
        return model
    return replace(model, friction=model.friction.scaled(*scale.T))
