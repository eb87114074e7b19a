"""Feedback gains of the joint controllers."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

import numpy as np

from robot_dynamics.arrays import Array, frozen
from robot_dynamics.control.per_joint import per_joint
from robot_dynamics.trajectory.motions import middle_pose, some_poses

if TYPE_CHECKING:
    from robot_dynamics.dynamics import Dynamics

DEFAULT_BANDWIDTH = 20.0
"""Natural frequency of each joint under the default gains, rad/s: slow against any 500 Hz loop."""

DEFAULT_DAMPING_RATIO = 1.0
"""Critically damped: the fastest return without overshoot."""

DEFAULT_DELAY_S = 2e-3
"""Time from a measurement to the effort that answers it: a cycle at 1 kHz and the way there."""


@dataclass(frozen=True, eq=False)
class Gains:
    """Feedback gains of n joints; every field has shape (n,), or one number for all joints.

    Args:
        kp: N m/rad or N/m.
        kd: N m s/rad or N s/m.
        ki: N m/(rad s) or N/(m s); by default zero.
        i_clamp: Largest effort of the integral part, N m or N; by default without bound.

    Raises:
        ShapeError: If the fields differ in length.
        ArgumentError: If a gain is negative or not finite.
    """

    kp: Array
    kd: Array
    ki: Array = field(default_factory=lambda: frozen([0.0]))
    i_clamp: Array = field(default_factory=lambda: frozen([np.inf]))

    def __post_init__(self) -> None:
        n = max(np.size(getattr(self, setting.name)) for setting in fields(self))
        for setting in fields(self):
            checked = per_joint(
                f"gains: {setting.name}",
                getattr(self, setting.name),
                n,
                may_be_infinite=setting.name == "i_clamp",
            )
            object.__setattr__(self, setting.name, checked)

    @functools.cached_property
    def has_integral(self) -> bool:
        """Whether any joint has an integral part."""
        return bool(self.ki.any())


def gains_for(
    dynamics: Dynamics,
    *,
    bandwidth: float = DEFAULT_BANDWIDTH,
    damping_ratio: float = DEFAULT_DAMPING_RATIO,
    delay: float = DEFAULT_DELAY_S,
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

    Raises:
        SingularMassMatrixError: If a joint moves no inertia.
    """
    robot, at_rest = dynamics.robot, np.zeros(dynamics.robot.dof)
    dynamics.forward(middle_pose(robot), at_rest, at_rest)  # refuses a joint without inertia
    inertia = np.diag(dynamics.mass_matrix(middle_pose(robot)))
    free = 1.0 / np.linalg.inv(dynamics.mass_matrix(some_poses(robot)))[
        :, range(robot.dof), range(robot.dof)
    ].max(axis=0)
    kd = np.minimum(2.0 * damping_ratio * bandwidth * inertia, 0.25 / delay * free)
    return Gains(kd * bandwidth / (2.0 * damping_ratio), kd)


def largest_integral_gain(inertia: Array, gains: Gains) -> Array:
    """The ki from which on a joint swings up, shape (n,), N m/(rad s) or N/(m s).

    A joint of inertia M under PID obeys M s^3 + kd s^2 + kp s + ki = 0, whose
    motions die out only if kp kd > M ki (Routh).

    Args:
        inertia: M of every joint, shape (n,), kg m^2 or kg, zero or more.
        gains: kp and kd are used.
    """
    unbounded = np.full_like(inertia, np.inf)
    return np.divide(gains.kp * gains.kd, inertia, out=unbounded, where=inertia > 0.0)


def feedback_rate(gains: Gains) -> Array:
    """Change of the effort of PD per error and time, shape (n,), N m/(rad s) or N/(m s).

    An error e rings down within 1/w = kd/kp or so, and its effort kp e with it.
    """
    return np.divide(gains.kp**2, gains.kd, out=np.zeros_like(gains.kp), where=gains.kd > 0.0)
