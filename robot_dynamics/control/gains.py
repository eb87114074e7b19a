"""Feedback gains of the joint controllers."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from robot_dynamics.errors import ArgumentError, ShapeError
from robot_dynamics.robot.robot import Array, frozen
from robot_dynamics.trajectory.motions import middle_pose, some_poses

if TYPE_CHECKING:
    from robot_dynamics.dynamics import Dynamics

DEFAULT_BANDWIDTH = 20.0
"""Natural frequency of each joint under the default gains, rad/s: slow against any 500 Hz loop."""

DEFAULT_DAMPING_RATIO = 1.0
"""Critically damped: the fastest return without overshoot."""


DEFAULT_DELAY = 2e-3
"""Time from a measurement to the effort that answers it, s: one cycle at 1 kHz and the way there."""


@dataclass(frozen=True, eq=False)
class Gains:
    """Feedback gains of n joints; every field has shape (n,).

    Args:
        kp: N m/rad or N/m.
        kd: N m s/rad or N s/m.
        ki: N m/(rad s) or N/(m s); by default zero.

    Raises:
        ShapeError: If the fields differ in length.
        ArgumentError: If a gain is negative or not finite.
    """

    kp: Array
    kd: Array
    ki: Array | None = None

    def __post_init__(self) -> None:
        n = len(np.atleast_1d(self.kp))
        if self.ki is None:
            object.__setattr__(self, "ki", np.zeros(n))
        for field in fields(self):
            array = np.atleast_1d(np.asarray(getattr(self, field.name), dtype=np.float64))
            if array.shape != (n,):
                raise ShapeError(
                    f"gains: {field.name} has shape {array.shape} for {n} joints; "
                    "give one number per joint"
                )
            if not np.all(np.isfinite(array) & (array >= 0.0)):
                i = int(np.flatnonzero(~np.isfinite(array) | (array < 0.0))[0])
                raise ArgumentError(
                    f"gains: {field.name}[{i}] is {array[i]}; give a finite number, zero or more"
                )
            object.__setattr__(self, field.name, frozen(array))


def gains_for(
    dynamics: Dynamics,
    *,
    bandwidth: float = DEFAULT_BANDWIDTH,
    damping_ratio: float = DEFAULT_DAMPING_RATIO,
    delay: float = DEFAULT_DELAY,
) -> Gains:
    """Gains that give every joint the same natural frequency, so that any robot works untuned.

    Each joint is taken as the inertia M_ii that it feels in the middle of its
    range: kp = M_ii w^2, kd = 2 z M_ii w. Joints whose axes nearly coincide
    feel far less when they move against each other, and there such a kd would
    shake a sampled loop. So kd is bounded by the inertia 1 / (M^-1)_ii that
    the joint feels while all others are free, the least over many poses:
    within a delay, each joint's feedback takes at most a quarter of a velocity
    error away. kp falls with it.

    Args:
        dynamics: Equations of the robot.
        bandwidth: Natural frequency w, rad/s.
        damping_ratio: z.
        delay: Time from measurement to effort, cycle included, s.

    Returns:
        Gains of all joints, without an integral part.
    """
    robot = dynamics.robot
    inertia = np.diag(dynamics.mass_matrix(middle_pose(robot)))
    free = 1.0 / np.linalg.inv(dynamics.mass_matrix(some_poses(robot)))[
        :, range(robot.dof), range(robot.dof)
    ].max(axis=0)
    kd = np.minimum(2.0 * damping_ratio * bandwidth * inertia, 0.25 / delay * free)
    return Gains(kd * bandwidth / (2.0 * damping_ratio), kd)
