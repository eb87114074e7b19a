"""Parameters of controller_node, and the gains and settings that they stand for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.control import MODES, Gains, Settings, SoftLimits
from robot_dynamics.control.gains import (
    DEFAULT_BANDWIDTH,
    DEFAULT_DAMPING_RATIO,
    feedback_rate,
    largest_integral_gain,
)
from robot_dynamics.control.safety import default_tracking_errors
from robot_dynamics.control.settings import (
    HOLD,
    ON_REFERENCE_TIMEOUT,
    ON_STATE_TIMEOUT,
    ZERO_EFFORT,
)
from robot_dynamics.errors import ArgumentError
from robot_dynamics.nodes.ros.node_parameters import Declared, parameter
from robot_dynamics.nodes.runtime.actuator_parameters import ActuatorParameters
from robot_dynamics.nodes.runtime.online_model import ModelParameters
from robot_dynamics.robot import Robot

LOWER, REFUSE = "lower", "refuse"

LARGEST = 1e9
"""What no gain and no limit of a joint exceeds, in SI units: more is a slip of the hand."""

SMALL_ERROR = 0.02
"""Position error to which feedback must be able to answer at its own speed, rad or m."""

MAX_CYCLE_PERIODS = 5.0
"""Periods of a late cycle that count for the limits on the change of efforts."""


@dataclass(frozen=True)
class ControllerParameters(ActuatorParameters, ModelParameters):
    """Parameters of controller_node."""

    mode: str = parameter(Settings.mode, "Control law", one_of=MODES)
    bandwidth: float = parameter(
        DEFAULT_BANDWIDTH,
        "Natural frequency of each joint under the default gains, rad/s",
        low=0.1,
        high=1000.0,
        read_only=True,
    )
    damping_ratio: float = parameter(
        DEFAULT_DAMPING_RATIO,
        "Damping ratio of each joint under the default gains",
        low=0.01,
        high=10.0,
        read_only=True,
    )
    fade: float = parameter(
        Settings.fade,
        "Time to pass from one mode or set of gains to another, s",
        low=0.0,
        high=10.0,
    )
    state_timeout: float = parameter(
        Settings.state_timeout,
        "Age of the last joint_states at which feedback stops, s",
        low=1e-3,
        high=3600.0,
    )
    reference_timeout: float = parameter(
        Settings.reference_timeout,
        "Age of the last reference at which the joints are brought to rest, s",
        low=1e-3,
        high=3600.0,
    )
    settle: float = parameter(
        Settings.settle,
        "Time for which the arm is held where it is, before references are followed, once its "
        "joint_states come or come again and somebody listens to its commands, s; more than its "
        "brakes take to open",
        low=0.0,
        high=60.0,
    )
    join: float = parameter(
        Settings.join,
        "Least time to join references that are not where the arm is, as after a stop, s; more "
        "where a joint would exceed a quarter of its speed limit",
        low=1e-3,
        high=60.0,
    )
    on_state_timeout: str = parameter(
        Settings.on_state_timeout,
        "What becomes of an arm whose joint_states stop: it is brought to rest and held by its "
        "model, or its efforts fade to zero",
        one_of=ON_STATE_TIMEOUT,
    )
    blind_time: float = parameter(
        Settings.blind_time,
        "Time without joint_states, after state_timeout, at which nothing is commanded any more, "
        "s: brakes that watch the commands then close, and a stand-by that sees the arm takes over",
        low=1e-3,
        high=3600.0,
    )
    on_reference_timeout: str = parameter(
        Settings.on_reference_timeout,
        "What becomes of an arm whose references stop: it comes to rest and is held, or only its "
        "weight is",
        one_of=ON_REFERENCE_TIMEOUT,
    )
    resume_by_itself: bool = parameter(
        Settings.resume_by_itself,
        "Follow again as soon as messages come again; false: when ~/resume is called",
    )
    on_slow_states: str = parameter(
        LOWER,
        "What becomes of feedback that joint_states are too slow or too late for: its bandwidth is "
        "lowered, or references are refused",
        one_of=(LOWER, REFUSE),
    )
    standby: bool = parameter(
        False,
        "Command nothing while another node commands effort_command; once that stops, bring the "
        "arm to rest and hold it",
        read_only=True,
    )
    standby_timeout: float = parameter(
        0.03,
        "Age of the last command of the other node at which one that stands by takes over, s; "
        "three periods of joint_states at least",
        low=1e-3,
        high=10.0,
    )
    trust_measured_effort: bool = parameter(
        False,
        "Begin with the efforts that joint_states show; only where they are N m or N, no currents",
    )
    on_deactivate: str = parameter(
        HOLD,
        "The last command when the node is deactivated or ended, after coming to rest: what holds "
        "the arm, or zero effort, faded to",
        one_of=(HOLD, ZERO_EFFORT),
    )


@dataclass(frozen=True)
class GainParameters:
    """Gains of one joint."""

    p: float = parameter(0.0, "Gain on the position error, N m/rad or N/m", low=0.0, high=LARGEST)
    i: float = parameter(0.0, "Gain on its integral, N m/(rad s) or N/(m s)", low=0.0, high=LARGEST)
    i_clamp_max: float = parameter(
        0.0, "Largest effort of the integral part, N m or N; 0 for any", low=0.0, high=LARGEST
    )
    d: float = parameter(
        0.0, "Gain on the velocity error, N m s/rad or N s/m", low=0.0, high=LARGEST
    )


@dataclass(frozen=True)
class LimitParameters:
    """What one joint may do; every limit is off at zero."""

    effort_rate: float = parameter(
        0.0, "Largest change of effort, N m/s or N/s; 0 for any", low=0.0, high=LARGEST
    )
    soft_margin: float = parameter(
        0.0,
        "Width of a spring and a damper inside both ends of the position range, rad or m; "
        "0 for none",
        low=0.0,
        high=LARGEST,
    )
    velocity: float = parameter(
        0.0,
        "Speed above which d of the gains brakes, rad/s or m/s; 0 for none",
        low=0.0,
        high=LARGEST,
    )
    tracking_error: float = parameter(
        0.0,
        "Position error that stops the arm, rad or m; 0 for any. Where none is given, 0.5 rad or "
        "0.1 m, or a quarter of the range of the joint if that is less",
        low=0.0,
        high=LARGEST,
    )


class JointParameters:
    """Gains and limits of every joint, as parameters.

    Args:
        group: Declares a group of parameters: `RobotNode.group`.
        robot: The robot, of n joints.
        default: Gains where none are given.
        inertia: Inertia that each joint moves, shape (n,), kg m^2 or kg.
        changed: Called after some have changed, with what they are now, in words.
    """

    def __init__(
        self,
        group: Callable[..., Declared[Any]],
        robot: Robot,
        default: Gains,
        inertia: Array,
        changed: Callable[[str], None],
    ) -> None:
        joint_names = self._names = robot.joint_names
        tracking = default_tracking_errors(robot)
        self._told: dict[str, float] = {}
        """Joints whose limit on the change of effort has been told of, and that limit."""

        def tell(name: str, value: GainParameters | LimitParameters) -> None:
            changed(f"{name}: " + ", ".join(f"{k} {v:g}" for k, v in asdict(value).items()))

        self._gains = [
            group(
                GainParameters,
                f"gains.{name}",
                defaults=GainParameters(p=float(default.kp[i]), d=float(default.kd[i])),
                check=partial(check_gains, name, float(inertia[i])),
                changed=partial(tell, f"gains.{name}"),
            )
            for i, name in enumerate(joint_names)
        ]
        self._limits = [
            group(
                LimitParameters,
                f"limits.{name}",
                defaults=LimitParameters(tracking_error=float(tracking[i])),
                changed=partial(tell, f"limits.{name}"),
            )
            for i, name in enumerate(joint_names)
        ]

    def gains(self) -> Gains:
        """Gains as the parameters are now."""
        values = [declared.value for declared in self._gains]
        terms = np.array([(v.p, v.d, v.i, v.i_clamp_max) for v in values]).reshape(-1, 4)
        kp, kd, ki, clamp = terms.T
        return Gains(kp, kd, ki, np.where(clamp > 0.0, clamp, np.inf))

    def limits(self, name: str) -> Array:
        """One limit of all joints, shape (n,), infinite where it is off."""
        values = np.array([getattr(declared.value, name) for declared in self._limits])
        return np.where(values > 0.0, values, np.inf)

    def settings(self, parameters: ControllerParameters, robot: Robot) -> Settings:
        """Settings as the parameters are now."""
        return Settings(
            mode=parameters.mode,
            fade=parameters.fade,
            effort_rate=self.limits("effort_rate"),
            soft_limits=self._soft_limits(robot),
            tracking_limit=self.limits("tracking_error"),
            state_timeout=parameters.state_timeout,
            reference_timeout=parameters.reference_timeout,
            on_state_timeout=parameters.on_state_timeout,
            blind_time=parameters.blind_time,
            on_reference_timeout=parameters.on_reference_timeout,
            resume_by_itself=parameters.resume_by_itself,
            settle=parameters.settle,
            join=parameters.join,
            longest_cycle=MAX_CYCLE_PERIODS / parameters.rate,
        )

    def _soft_limits(self, robot: Robot) -> SoftLimits | None:
        margin, velocity = self.limits("soft_margin"), self.limits("velocity")
        none = np.isinf(margin)
        if none.all() and np.isinf(velocity).all():
            return None
        zones = SoftLimits.of(robot, self.gains().kd, margin=np.where(none, 0.0, margin))
        return replace(
            zones,
            lower=np.where(none, -np.inf, zones.lower),
            upper=np.where(none, np.inf, zones.upper),
            velocity=velocity,
        )

    def slow_efforts(self) -> list[str]:
        """A line for each joint whose effort may not change as fast as feedback asks for; once."""
        rate, least = self.limits("effort_rate"), feedback_rate(self.gains())
        slow = {self._names[i]: i for i in np.flatnonzero(rate < SMALL_ERROR * least)}
        told, self._told = self._told, {name: rate[i] for name, i in slow.items()}
        return [
            f"limits.{name}.effort_rate of {rate[i]:g} is reached by the feedback of an "
            f"error of {rate[i] / least[i]:.2g} rad or m, and one far larger may swing up; "
            f"lower p, or allow {SMALL_ERROR * least[i]:.3g}"
            for name, i in slow.items()
            if told.get(name) != rate[i]
        ]


def check_gains(name: str, inertia: float, gains: GainParameters) -> None:
    """Refuse an integral gain that makes the joint swing up, whatever else is right.

    Raises:
        ArgumentError: If i is too large for p and d.
    """
    pd = Gains(np.array([gains.p]), np.array([gains.d]))
    most = float(largest_integral_gain(np.array([inertia]), pd)[0])
    if gains.i > 0.0 and gains.i >= most:
        raise ArgumentError(
            f"gains.{name}: i of {gains.i:g} makes the joint swing up; keep it below p d / "
            f"inertia = {most:.4g}"
        )
