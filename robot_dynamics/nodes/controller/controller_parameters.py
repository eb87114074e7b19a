"""Parameters of controller_node, and their conversion to gains and settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from functools import partial
from typing import Any

import numpy as np

from robot_dynamics.control import Gains, Settings, SoftLimits
from robot_dynamics.control.collision import (
    Collision,
    ThresholdBands,
)
from robot_dynamics.control.configuration import (
    LONGEST_CYCLE,
    lead_of,
    refuse_gains,
)
from robot_dynamics.control.gains import feedback_rate
from robot_dynamics.control.limits import default_limits
from robot_dynamics.control.refusals import Refusal, refusal_words
from robot_dynamics.control.sampled_loop import DEFAULT_PERIOD_S, Sampling
from robot_dynamics.control.stability import stability_limit
from robot_dynamics.errors import ArgumentError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.nodes.ros.node_parameters import Declared, listed, listed_group
from robot_dynamics.nodes.runtime.drive_parameters import ActuatorParameters, BandParameters
from robot_dynamics.nodes.runtime.online_model import ModelParameters
from robot_dynamics.robot import Robot

SMALL_ERROR = 0.02
"""Position error to which feedback must respond without reaching the effort rate, rad or m."""


@dataclass(frozen=True)
class ControllerParameters(ActuatorParameters, ModelParameters):
    """Parameters of controller_node."""

    mode: str = listed("mode")
    bandwidth: float = listed("bandwidth")
    damping_ratio: float = listed("damping_ratio")
    resonance_share: float = listed("resonance_share")
    fade: float = listed("fade")
    integral_time: float = listed("integral_time")
    state_timeout: float = listed("state_timeout")
    velocity_filter: float = listed("velocity_filter")
    reference_timeout: float = listed("reference_timeout")
    settling_time: float = listed("settling_time")
    approach_time: float = listed("approach_time")
    on_state_timeout: str = listed("on_state_timeout")
    open_loop_timeout: float = listed("open_loop_timeout")
    on_reference_timeout: str = listed("on_reference_timeout")
    resume_by_itself: bool = listed("resume_by_itself")
    on_slow_states: str = listed("on_slow_states")
    trust_measured_effort: bool = listed("trust_measured_effort")
    require_effort_limits: bool = listed("require_effort_limits")
    on_deactivate: str = listed("on_deactivate")


SHARED = {f.name for f in fields(Settings)} & {f.name for f in fields(ControllerParameters)}
"""Parameters of the node that are settings of the same name."""


CollisionParameters = listed_group("collision", "gain", "reaction", "time", "use_bands", "factor")
"""Parameters of the detection of collisions; see `control.collision.Collision`."""

GainParameters = listed_group("gains", "p", "i", "i_clamp_max", "d")
"""Gain parameters of one joint."""

LimitParameters = listed_group(
    "limits", "effort_rate", "soft_margin", "tracking_error", "external_effort"
)
"""Further limit parameters of one joint; zero disables a limit."""


class JointParameters:
    """Gain, limit and band parameters of all joints.

    Args:
        group: Declares a group of parameters: `RobotNode.group`.
        parameters: Parameters of the node.
        robot: The robot, of n joints.
        default: Default gains.
        inertia: Inertia that each joint moves, shape (n,), kg m^2 or kg.
        changed: Called after a change with the new values, in words.
    """

    def __init__(
        self,
        group: Callable[..., Declared[Any]],
        parameters: ControllerParameters,
        robot: Robot,
        default: Gains,
        inertia: Array,
        changed: Callable[[str], None],
    ) -> None:
        self._robot, joint_names = robot, robot.joint_names
        self._names = joint_names
        limits = default_limits(robot, parameters.bandwidth, parameters.damping_ratio)
        self._inertia, self._sampling = (
            inertia,
            Sampling.of(min(1.0 / parameters.rate, DEFAULT_PERIOD_S)),
        )
        self._rotors: Callable[[], Array] | None = None
        self._warned: dict[str, float] = {}  # joints with a reported effort rate, and this rate

        def report(name: str, value: Any) -> None:
            changed(f"{name}: " + ", ".join(f"{k} {v:g}" for k, v in asdict(value).items()))

        self._gains = [
            group(
                GainParameters,
                f"gains.{name}",
                defaults=GainParameters(p=float(default.kp[i]), d=float(default.kd[i])),
                check=partial(self._check, i),
                changed=partial(report, f"gains.{name}"),
            )
            for i, name in enumerate(joint_names)
        ]
        self._limits = [
            group(
                LimitParameters,
                f"limits.{name}",
                defaults=LimitParameters(**{x: float(limits[x][i]) for x in limits}),
                changed=partial(report, f"limits.{name}"),
            )
            for i, name in enumerate(joint_names)
        ]
        self._bands = [
            group(BandParameters, f"bands.{name}", changed=partial(report, f"bands.{name}"))
            for name in joint_names
        ]

    def bound(self, rotors: Callable[[], Array]) -> None:
        """Refuse unstable gains from now on.

        Args:
            rotors: Returns the rotor inertia at the joints, shape (n,), kg m^2 or kg.

        Raises:
            ArgumentError: If a present gain is unstable.
        """
        self._rotors = rotors
        for i, declared in enumerate(self._gains):
            self._check(i, declared.value)

    def _check(self, i: int, gains: Any) -> None:
        """Refuse gains with which a joint alone is unstable at the fastest possible states.

        Commands over topics act later than those of ros2_control; the rule is the same otherwise.

        Raises:
            ArgumentError: If a gain is beyond its stability limit.
        """
        if self._rotors is None:
            return
        inertia, (period, delay) = float(self._inertia[i] + self._rotors()[i]), self._sampling
        most_d = inertia * stability_limit(lead_of(gains.p, gains.d), period, delay)
        refusal, given = Refusal(), (gains.p, gains.i, gains.d)
        refuse_gains(refusal, i, given, inertia, period / 2.0 + delay, most_d)
        if why := refusal_words(refusal.found, self._robot):
            raise ArgumentError(
                f"{why}; states come every {1e3 * period:.3g} ms, {1e3 * delay:.3g} ms late"
            )

    def gains(self) -> Gains:
        """Return the present gains."""
        values = [declared.value for declared in self._gains]
        terms = np.array([(v.p, v.d, v.i, v.i_clamp_max) for v in values]).reshape(-1, 4)
        kp, kd, ki, clamp = terms.T
        return Gains(kp, kd, ki, np.where(clamp > 0.0, clamp, np.inf))

    def limits(self, name: str) -> Array:
        """Return one limit of all joints, shape (n,), infinite where it is disabled."""
        values = np.array([getattr(declared.value, name) for declared in self._limits])
        return np.where(values > 0.0, values, np.inf)

    def settings(
        self,
        parameters: ControllerParameters,
        robot: Robot,
        velocity: Mapping[str, float],
        collision: Any,
    ) -> Settings:
        """Return the present settings; a damper acts above these velocities, by joint."""
        shared = {name: getattr(parameters, name) for name in SHARED}
        return Settings(
            **shared,
            effort_rate=self.limits("effort_rate"),
            soft_limits=self._soft_limits(robot, velocity),
            tracking_limit=self.limits("tracking_error"),
            longest_cycle=LONGEST_CYCLE / parameters.rate,
            collision=self._collision(collision),
        )

    def _collision(self, value: Any) -> Collision:
        threshold = self.limits("external_effort")
        given = asdict(value)
        if not given.pop("use_bands"):
            return Collision(**given, threshold=threshold)
        rows = np.array([list(asdict(declared.value).values()) for declared in self._bands])
        moving, per_speed, slow, slow_speed = rows.T
        moving = np.where(moving > 0.0, moving, threshold / value.factor)
        return Collision(**given, bands=ThresholdBands(moving, per_speed, slow, slow_speed))

    def _soft_limits(self, robot: Robot, damped: Mapping[str, float]) -> SoftLimits:
        velocity = np.array([damped.get(name, np.inf) for name in self._names])
        margin = np.array([declared.value.soft_margin for declared in self._limits])
        return SoftLimits.of(robot, self.gains().kd, margin=margin, velocity=velocity)

    def slow_efforts(self) -> list[str]:
        """Return a warning, once, per joint whose effort rate limit is too low for feedback."""
        rate, least = self.limits("effort_rate"), feedback_rate(self.gains())
        slow = {self._names[i]: i for i in np.flatnonzero(rate < SMALL_ERROR * least)}
        warned, self._warned = self._warned, {name: rate[i] for name, i in slow.items()}
        return [
            f"limits.{name}.effort_rate of {rate[i]:g} is reached by the feedback of an "
            f"error of {rate[i] / least[i]:.2g} rad or m, and far larger errors may be unstable; "
            f"lower p, or allow {SMALL_ERROR * least[i]:.3g}"
            for name, i in slow.items()
            if warned.get(name) != rate[i]
        ]
