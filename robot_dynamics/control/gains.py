"""Feedback gains of the joint controllers."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from robot_dynamics.control.logic import chosen, less
from robot_dynamics.dynamics.joint_vectors import per_joint
from robot_dynamics.foundation.arrays import Array, frozen
from robot_dynamics.trajectory.motions import middle_pose

if TYPE_CHECKING:
    from robot_dynamics.dynamics.dynamics import Dynamics

DEFAULT_BANDWIDTH = 20.0
"""Natural frequency of each joint under the default gains, rad/s."""

DEFAULT_DAMPING_RATIO = 1.0
"""Critically damped: the fastest return without overshoot."""


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


def ideal_gains(
    dynamics: Dynamics,
    bandwidth: float = DEFAULT_BANDWIDTH,
    damping_ratio: float = DEFAULT_DAMPING_RATIO,
) -> Gains:
    """Return gains with the same natural frequency of every joint in a loop without delay.

    With the inertia M_ii in the middle of the ranges, kp = M_ii w^2 and kd = 2 z M_ii w.

    Raises:
        SingularMassMatrixError: If a joint moves no inertia.
    """
    robot, at_rest = dynamics.robot, np.zeros(dynamics.robot.dof)
    dynamics.forward(middle_pose(robot), at_rest, at_rest)  # refuses a joint without inertia
    inertia = np.diag(dynamics.mass_matrix(middle_pose(robot)))
    return Gains(inertia * bandwidth**2, 2.0 * damping_ratio * bandwidth * inertia)


def largest_integral_gain(p: Any, d: Any, inertia: Any) -> Any:
    """Return the ki above which a joint is unstable, N m/(rad s) or N/(m s).

    A joint of inertia M under PID obeys M s^3 + kd s^2 + kp s + ki = 0, whose
    motions die out only if kp kd > M ki (Routh). Numbers or symbols.

    Args:
        p: Gain on the position error, N m/rad or N/m.
        d: Gain on the velocity error, N m s/rad or N s/m.
        inertia: M, kg m^2 or kg, positive.
    """
    return p * d / inertia


def largest_position_gain(d: Any, inertia: Any, lag: float | Any) -> Any:
    """Return the kp above which a joint is unstable, N m/rad or N/m; see `sampling.stability`.

    Args:
        d: Gain on the velocity error, N m s/rad or N s/m.
        inertia: Of the joint, kg m^2 or kg.
        lag: Half a period and the delay of the efforts, s.
    """
    return chosen(less(0.0, d), d / lag, inertia / (lag * lag))


def feedback_rate(gains: Gains) -> Array:
    """Return the rate of the effort of PD per error, shape (n,), N m/(rad s) or N/(m s).

    An error e, and its effort kp e, decays within about 1/w = kd/kp.
    """
    return np.divide(gains.kp**2, gains.kd, out=np.zeros_like(gains.kp), where=gains.kd > 0.0)
