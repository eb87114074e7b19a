"""The integral part of a PID, kept from winding up."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.control.gains import Gains


class Cut(NamedTuple):
    """The command of the last cycle, and which joints of it were cut; shape (n,) each."""

    tau: Array
    cut: Array


def integrate_error(
    integral: Array, e: Array, gains: Gains, dt: float, last: Cut | None = None
) -> Array:
    """Advance the integral part of a PID by one cycle.

    Held as an effort, so that a new ki does not make it jump. A joint whose
    effort was cut stops integrating in the direction of the cut, and no joint
    goes beyond `gains.i_clamp`.

    Args:
        integral: Effort of the integral part so far, shape (n,), N m or N.
        e: Position error, shape (n,).
        gains: ki and i_clamp are used.
        dt: Time since the last cycle, s.
        last: The last command; by default nothing was cut.

    Returns:
        Effort of the integral part, shape (n,), N m or N.
    """
    step = gains.ki * e * dt
    if last is not None:
        step = np.where(last.cut & (step * last.tau > 0.0), 0.0, step)
    return np.minimum(np.maximum(integral + step, -gains.i_clamp), gains.i_clamp)
