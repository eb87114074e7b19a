"""Configuration: the settings of the step from the parameters of a controller, as one function.

The function is ordinary arithmetic on numbers or symbols. A parameter that is NaN has its default,
which depends on the robot and on the update rate. The effective parameters have all defaults
filled in, and configure the same settings again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from robot_dynamics.compiler.graph.piecewise import clip, maximum, minimum
from robot_dynamics.control import added_efforts
from robot_dynamics.control.collision import unidentified_rows
from robot_dynamics.control.fields import SCALAR, Facts, Field, Layout
from robot_dynamics.control.friction import ELEMENTS, Friction, FrictionRows
from robot_dynamics.control.gains import (
    DEFAULT_DAMPING_RATIO,
    ideal_gains,
    largest_integral_gain,
    largest_position_gain,
)
from robot_dynamics.control.intake import LOADS
from robot_dynamics.control.laws import GRAVITY_LAW, IN_TASK_SPACE, WITH_DRIVES
from robot_dynamics.control.limits import (
    NEAR,
    UNLIMITED,
    SoftLimits,
    default_limits,
    default_tracking_errors,
    effort_limits,
    finite,
    velocity_limits,
    zero_as_none,
)
from robot_dynamics.control.logic import (
    HUGE,
    among,
    any_of,
    both,
    chosen,
    either,
    equal,
    first_largest,
    less,
    negated,
)
from robot_dynamics.control.model import Model
from robot_dynamics.control.parameters import LARGEST_GRAVITY, OF_SETTINGS
from robot_dynamics.control.refusals import REFUSAL, Refusal
from robot_dynamics.control.sampled_loop import UNKNOWN_AGE_S, Sampling, largest_frequency
from robot_dynamics.control.sampling.tuning import Tuner
from robot_dynamics.control.settings import (
    DRIVE,
    FEEDBACK,
    GRAVITY,
    ON_REFERENCE_TIMEOUT,
    ON_STATE_TIMEOUT,
    ZERO_EFFORT,
    Settings,
)
from robot_dynamics.control.stability import limit_of_a_late_cycle
from robot_dynamics.control.step_settings import SHARED
from robot_dynamics.control.task_configuration import TaskConfiguration
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.spatial import UPPER, Inertia
from robot_dynamics.trajectory.motions import middle_pose

FACTS = {
    "rate": Field(SCALAR, "update rate, Hz", np.nan),
    "takes_position": Field(SCALAR, "1 if the hardware takes positions", np.nan),
    "takes_velocity": Field(SCALAR, "1 if it takes velocities", np.nan),
}
"""What a controller knows of its hardware, before the parameters."""

RUBBING = ("viscous", "coulomb", "load")
"""Terms of friction that resist motion."""

RATES = (50.0, 100.0, 200.0, 250.0, 333.0, 400.0, 500.0, 800.0, 1000.0, 2000.0, 4000.0)
"""Update rates for which default gains are computed, Hz; one between two uses the lower one."""

SAME = 1e-3
"""Relative difference up to which a gain is the default: printed digits may have been copied."""

LONGEST_CYCLE = 5.0
"""Time between two cycles that counts for the limit on the effort rate, in periods."""

HEAVY, LONG = 2000.0, 20.0
"""Mass, kg, and lengths, m, of a payload beyond which they are in other units."""

ROUND_OFF = 1e-5
"""Relative round-off of moments of inertia, of which files print six digits."""

SIZE_OF_LOAD = sum(LOADS.values())
"""Numbers of payload, gravity and wrench."""


@dataclass(frozen=True, eq=False)
class Defaults:
    """Robot and options that determine the defaults of the parameters.

    Args:
        dynamics: Equations of the robot.
        endpoint: Frame of payloads, or None.
        end_effector: End effector of the modes in task space, or None.
        payload: Carried from the start, in that frame.
        friction: Friction of the joints.
        rotor_inertia: Rotor inertia at the joints, shape (n,), kg m^2 or kg.
        bandwidth: Natural frequency under the default gains, rad/s.
        added: What the robot is known to add to its commands, of `added_efforts`.
    """

    dynamics: Dynamics
    endpoint: str | None
    end_effector: str | None
    payload: Inertia | None
    friction: Friction
    rotor_inertia: Array
    bandwidth: float
    added: Sequence[str] = ()

    def models(self) -> dict[float, Model]:
        """Return models with the default feedback, by update rate in Hz.

        An effort acts at the latest a cycle after its state.
        """
        wanted = ideal_gains(self.dynamics, self.bandwidth)
        base, tuner = Model(self.dynamics, wanted, bandwidth=self.bandwidth), Tuner(self.dynamics)
        # Nothing measures how old the states of hardware interfaces are
        return {
            rate: replace(
                tuner.model(base, wanted, self.bandwidth, Sampling(1.0 / rate, 1.0 / rate)),
                fastest=largest_frequency(
                    base.damping_ratio, Sampling.of(1.0 / rate, UNKNOWN_AGE_S)
                ),
            )
            for rate in RATES
        }


class Configuration:
    """The function from parameters to settings, for one robot.

    Args:
        defaults: The robot and its defaults.
        settings: Layout of the settings of the step.

    Attributes:
        parameters: Layout of the parameters.
        refusal: Layout of the result of a check.
    """

    def __init__(self, defaults: Defaults, settings: Layout) -> None:
        robot = defaults.dynamics.robot
        self.n, self.settings = robot.dof, settings
        named = FACTS | {
            name: Field(one.shape, one.description, np.nan) for name, one in OF_SETTINGS.items()
        }
        self.parameters, self.refusal = Layout(named, self.n), Layout(REFUSAL, self.n)
        self._of = defaults
        self._models = defaults.models()
        self._end_effector = TaskConfiguration(
            defaults.dynamics, defaults.end_effector, self._models, self._by_rate
        )
        self._inertia = np.diag(defaults.dynamics.mass_matrix(middle_pose(robot)))

    def __call__(self, parameters: Array) -> dict[str, Array]:
        """Return settings, effective parameters and refusal.

        Args:
            parameters: Vector of `parameters`; NaN stands for a default.
        """
        given = Facts({name: self.parameters.of(parameters, name) for name in self.parameters})
        rate = chosen(less(0.0, given.rate), given.rate, 1000.0)
        effective = self._filled(given, rate)
        x = Facts(effective)
        found = {
            **self._times(x),
            **self._limits(x),
            **self._gains(x, rate),
            **self._drives(x),
            **self._end_effector.settings(x, rate),
        }
        load, body = self._load(x)
        return {
            "settings": self.settings.packed(found),
            "load": load,
            "effective": self.parameters.packed({**effective, "rate": rate}),
            "refusal": self.refusal.packed(self._refusal(x, rate, body)),
        }

    # -- defaults ---------------------------------------------------------------------------

    def _by_rate(self, rate: Any, values: dict[float, Any]) -> Any:
        """Return the value of the next lower rate."""
        (_, found), *others = values.items()
        for least, value in others:
            found = chosen(less(rate, least), found, value)
        return found

    def _filled(self, given: Any, rate: Any) -> dict[str, Any]:
        """Return the parameters with their defaults in place of NaN."""
        robot, models = self._of.dynamics.robot, self._models
        numbers: dict[str, Any] = {
            name: one.number(one.default)
            for name, one in OF_SETTINGS.items()
            if one.default is not None
        }
        payload = self._of.payload or Inertia.zero()
        numbers |= {
            "rate": rate,
            "takes_position": 0.0,
            "takes_velocity": 0.0,
            "gravity": np.asarray(robot.gravity),
            "payload.mass": payload.mass,
            "payload.com": payload.com if payload.mass else np.zeros(3),
            "payload.inertia": payload.about_com[UPPER] if payload.mass else np.zeros(6),
            "gains.p": self._by_rate(rate, {r: m.gains.kp for r, m in models.items()}),
            "gains.d": self._by_rate(rate, {r: m.gains.kd for r, m in models.items()}),
            "limits.effort": finite(effort_limits(robot)),
            "limits.velocity": finite(velocity_limits(robot)),
            "rotor.inertia": self._of.rotor_inertia,
            **self._end_effector.defaults(),
        }
        limits = default_limits(robot, self._of.bandwidth, DEFAULT_DAMPING_RATIO)
        numbers |= {f"limits.{name}": values for name, values in limits.items()}
        for name in FrictionRows._fields:
            numbers[f"friction.{name}"] = getattr(self._of.friction, name)
        found = {}
        for name in self.parameters:
            value = getattr(given, name)
            default = np.broadcast_to(numbers[name], np.shape(value))
            found[name] = chosen(less(abs(value), HUGE), value, default)
        for name in ("limits.effort", "limits.velocity"):
            found[name] = chosen(less(0.0, found[name]), found[name], numbers[name])
        return found

    # -- settings ---------------------------------------------------------------------------

    def _times(self, x: Any) -> dict[str, Any]:
        default = Settings()
        return {
            **{name: getattr(x, name) for name in SHARED},
            "settings_edition": 0.0,  # of the caller
            "stop": default.stop,
            "mode": x.mode,
            "load_ramp": x.load_ramp,
            "longest_cycle": LONGEST_CYCLE / x.rate,
            "delay": 0.0,  # states come in the cycle in which they are measured
            "floats_on_timeout": equal(x.on_reference_timeout, ON_REFERENCE_TIMEOUT.index(GRAVITY)),
            "ends_without_states": equal(x.on_state_timeout, ON_STATE_TIMEOUT.index(ZERO_EFFORT)),
            "reaction": getattr(x, "collision.reaction"),
            "contact_gain": getattr(x, "collision.gain"),
            "contact_time": getattr(x, "collision.time"),
        }

    def _limits(self, x: Any) -> dict[str, Any]:
        robot = self._of.dynamics.robot
        effort = minimum(getattr(x, "limits.effort"), finite(effort_limits(robot)))
        fastest = finite(velocity_limits(robot))
        velocity = minimum(getattr(x, "limits.velocity"), fastest)
        zones = SoftLimits.of(
            robot,
            getattr(x, "gains.d"),
            margin=getattr(x, "limits.soft_margin"),
            effort=effort,
            velocity=chosen(less(velocity, fastest), velocity, np.full(self.n, UNLIMITED)),
        )
        return {
            "effort": effort,
            "velocity": velocity,
            "lower": finite(robot.limits.lower),
            "upper": finite(robot.limits.upper),
            "nearest": NEAR * default_tracking_errors(robot),
            **{f"soft_{name}": values for name, values in vars(zones).items()},
            "allowed": zero_as_none(getattr(x, "limits.tracking_error")),
            "effort_rate": zero_as_none(getattr(x, "limits.effort_rate")),
        }

    def _gains(self, x: Any, rate: Any) -> dict[str, Any]:
        models, drives = self._models, _closes_drives(x)
        return {
            "drive_feedback": drives,
            "drive_velocity": x.takes_velocity,
            "kp": chosen(drives, getattr(x, "drive.kp"), getattr(x, "gains.p")),
            "kd": chosen(drives, getattr(x, "drive.kd"), getattr(x, "gains.d")),
            "ki": getattr(x, "gains.i"),
            "i_clamp": zero_as_none(getattr(x, "gains.i_clamp_max")),
            "inertia_weighted": both(
                self._couples(rate), negated(either(drives, any_of(self._own_gains(x, rate))))
            ),
            "bandwidth": self._by_rate(rate, {r: m.bandwidth for r, m in models.items()}),
            "damping_ratio": DEFAULT_DAMPING_RATIO,
            "softened": np.zeros(self.n),
        }

    def _couples(self, rate: Any) -> Any:
        """Return whether feedback of the default gains is by the mass matrix."""
        return self._by_rate(rate, {r: float(m.inertia_weighted) for r, m in self._models.items()})

    def _own_gains(self, x: Any, rate: Any) -> Array:
        """Return which joints have other gains than the default ones."""
        own: Any = np.zeros(self.n)
        for name, field in (("gains.p", "kp"), ("gains.d", "kd")):
            default = self._by_rate(
                rate, {r: getattr(m.gains, field) for r, m in self._models.items()}
            )
            own = either(own, less(SAME * default, abs(getattr(x, name) - default)))
        return own

    def _rotor(self, x: Any) -> Array:
        ratio = getattr(x, "rotor.ratio")
        return getattr(x, "rotor.inertia") * ratio * ratio

    def _drives(self, x: Any) -> dict[str, Any]:
        rows = FrictionRows(*(getattr(x, f"friction.{name}") for name in FrictionRows._fields))
        rows = rows._replace(stiction=maximum(rows.stiction, -rows.coulomb))
        on = x.compensate_friction
        rows = FrictionRows(
            *(row if name == "stribeck" else on * row for name, row in rows._asdict().items())
        )
        slip, elastic = self._of.friction.elements
        width = chosen(less(0.0, rows.width), rows.width, x.friction_width + 0.0 * rows.width)
        threshold = zero_as_none(getattr(x, "limits.external_effort"))
        return {
            "friction": np.array(list(rows)),
            "has_memory": any_of(less(0.0, rows.memory)),
            "slip": np.broadcast_to(slip, (ELEMENTS, self.n)),
            "elastic": np.broadcast_to(elastic, (ELEMENTS, self.n)),
            "friction_width": x.friction_width,
            "adds_velocity_terms": 1.0 - x.compensate_velocity_terms,
            "rotor": x.compensate_rotor_inertia * self._rotor(x),
            "contact_rows": np.array([threshold, *unidentified_rows(width)]),
        }

    def _load(self, x: Any) -> tuple[Array, dict[str, Any]]:
        """Return payload, gravity and wrench, and the payload in numbers that a check takes."""
        mass, com = getattr(x, "payload.mass"), getattr(x, "payload.com")
        moments = getattr(x, "payload.inertia")
        a, b, c = com
        shift = np.array([b * b + c * c, -a * b, -a * c, a * a + c * c, -b * c, a * a + b * b])
        payload = np.concatenate([np.array([mass]), mass * com, moments + mass * shift])
        gravity = x.compensate_gravity * x.gravity
        load = np.concatenate([payload, gravity, np.zeros(LOADS["wrench"])])
        return load, {"mass": mass, "com": com, "moments": moments}

    # -- refusals ---------------------------------------------------------------------------

    def _refusal(self, x: Any, rate: Any, body: dict[str, Any]) -> dict[str, Any]:
        """Return the first reason to refuse the parameters."""
        refuse = Refusal()
        robot = self._of.dynamics.robot
        for quantity, found_limits in (("effort", effort_limits), ("velocity", velocity_limits)):
            requested, limits = getattr(x, f"limits.{quantity}"), finite(found_limits(robot))
            for i in range(self.n):
                refuse(
                    f"{quantity}_beyond_urdf",
                    less(limits[i], requested[i]),
                    requested[i],
                    limits[i],
                    i,
                )
        self._refuse_gains(x, rate, refuse)
        self._refuse_drives(x, refuse)
        self._refuse_added(x, refuse)
        self._refuse_load(x, body, refuse)
        self._end_effector.refuse(x, among(x.mode, IN_TASK_SPACE), refuse)
        return refuse.found

    def _refuse_gains(self, x: Any, rate: Any, refuse: Any) -> None:
        """Refuse gains with which a joint alone is unstable."""
        p, d, i = (getattr(x, f"gains.{name}") for name in "pdi")
        inertia, own = self._inertia + self._rotor(x), self._own_gains(x, rate)
        first, any_own = first_largest(own)
        refuse.notice("slow_rate", less(rate, RATES[0]), -1.0)
        alone = both(self._couples(rate), any_own, negated(_closes_drives(x)))
        refuse.notice("own_gains", alone, first)
        lag = 1.5 / rate  # half a period, and at the latest a cycle
        for k in range(self.n):
            judged = either(own[k], less(0.0, i[k]))
            most_d = inertia[k] * limit_of_a_late_cycle(lead_of(p[k], d[k]), rate)
            refuse_gains(refuse, k, (p[k], i[k], d[k]), inertia[k], lag, most_d, judged)

    def _refuse_drives(self, x: Any, refuse: Any) -> None:
        """Refuse feedback by drives without what it needs."""
        drives, kp = _closes_drives(x), getattr(x, "drive.kp")
        refuse("no_drive_position", both(drives, negated(x.takes_position)), 0.0, 0.0)
        for k in range(self.n):
            refuse("no_drive_gain", both(drives, negated(less(0.0, kp[k]))), kp[k], 0.0, k)
        led = equal(x.mode, GRAVITY_LAW)
        refuse.notice("drives_damp", both(drives, led), -1.0)
        refuse("mode_with_drives", both(drives, negated(among(x.mode, WITH_DRIVES))), x.mode, 0.0)

    def _refuse_added(self, x: Any, refuse: Any) -> None:
        """Refuse, or notice, what would count twice because the robot adds it itself."""

        def adds(effort: str, *conditions: Any) -> Any:
            return both(float(effort in self._of.added), *conditions)

        pulls = both(x.compensate_gravity, less(0.0, norm(x.gravity)))
        refuse("gravity_twice", adds(added_efforts.GRAVITY, pulls), 0.0, 0.0)
        fights = adds(added_efforts.DRIVE_FEEDBACK, negated(_closes_drives(x)))
        refuse("drives_fight", fights, 0.0, 0.0)
        turns = adds(added_efforts.VELOCITY_TERMS, x.compensate_velocity_terms)
        refuse.notice("velocity_terms_twice", turns, -1.0)
        friction = [abs(getattr(x, f"friction.{name}")) for name in RUBBING]
        rubs = both(x.compensate_friction, less(0.0, sum(sum(row) for row in friction)))
        refuse("friction_twice", adds(added_efforts.FRICTION, rubs), 0.0, 0.0)

    def _refuse_load(self, x: Any, body: dict[str, Any], refuse: Any) -> None:
        """Refuse gravity that is on no planet, and a physically impossible payload."""
        size = norm(x.gravity)
        refuse("gravity", less(LARGEST_GRAVITY, size), size, LARGEST_GRAVITY)
        if self._of.endpoint is None:
            refuse("no_endpoint", less(0.0, body["mass"]), body["mass"], 0.0)
        refuse_payload(refuse, body["mass"], body["com"], body["moments"])


def _closes_drives(x: Any) -> Any:
    """Return whether the drives close the loop."""
    return equal(x.feedback, FEEDBACK.index(DRIVE))


def lead_of(p: Any, d: Any) -> Any:
    """Return the position gain over the velocity gain of a joint, 1/s; or p without damping."""
    return p / chosen(less(0.0, d), d, 1.0)


def refuse_gains(
    refuse: Refusal,
    joint: int,
    gains: tuple[Any, Any, Any],
    inertia: Any,
    lag: Any,
    most_d: Any,
    judged: Any = 1.0,
) -> None:
    """Refuse gains with which a joint alone is unstable.

    Args:
        refuse: Reason so far.
        joint: Its index.
        gains: p, i and d.
        inertia: That it moves, kg m^2 or kg.
        lag: Half a period and the delay of the efforts, s.
        most_d: Largest velocity gain at this ratio of the gains, N m s/rad or N s/m.
        judged: Whether they count.
    """
    p, i, d = gains
    most_i = largest_integral_gain(p, d, inertia)
    most_p = largest_position_gain(d, inertia, lag)
    for name, unstable, gain, most in (
        ("i", both(less(0.0, i), negated(less(i, most_i))), i, most_i),
        ("p", less(most_p, p), p, most_p),
        ("d", both(less(0.0, d), less(most_d, d)), d, most_d),
    ):
        refuse(f"unstable_{name}", both(judged, unstable), gain, most, joint)


def refuse_payload(refuse: Refusal, mass: Any, com: Array, moments: Array) -> None:
    """Refuse a physically impossible payload.

    Args:
        refuse: Reason so far.
        mass: Mass, kg.
        com: Mass centre, shape (3,), m.
        moments: Inertia about it, xx, xy, xz, yy, yz, zz, shape (6,), kg m^2.
    """
    distance = norm(com)
    refuse("payload_in_grams", less(HEAVY, mass), mass, HEAVY)
    refuse("payload_in_millimetres", less(LONG, distance), distance, LONG)
    shaped = any_of(less(0.0, abs(moments)))  # settings of grippers are often of a point
    refuse("payload_without_mass", both(shaped, negated(less(0.0, mass))), 0.0, 0.0)
    smallest, middle, largest = principal_moments(moments)
    smallest = chosen(less(ROUND_OFF * 1e-7 * largest, abs(smallest)), smallest, 0.0)
    gyration = largest / maximum(mass, 1e-30)
    refuse("payload_too_large", both(shaped, less(LONG * LONG, gyration)), largest, 0.0)
    refuse("payload_indefinite", both(shaped, negated(less(0.0, smallest))), smallest, 0.0)
    others = smallest + middle
    unequal = both(shaped, less(others, largest * (1.0 - ROUND_OFF)))
    refuse("payload_triangle", unequal, largest, others)


def norm(vector: Array) -> Any:
    """Return the length of a vector."""
    return np.sqrt(sum(x * x for x in vector))


def principal_moments(m: Array) -> tuple[Any, Any, Any]:
    """Return the eigenvalues of a symmetric matrix xx, xy, xz, yy, yz, zz, ascending."""
    mean = (m[0] + m[3] + m[5]) / 3.0
    a, b, c = m[0] - mean, m[3] - mean, m[5] - mean
    off = m[1] * m[1] + m[2] * m[2] + m[4] * m[4]
    size = np.sqrt((a * a + b * b + c * c + 2.0 * off) / 6.0)
    determinant = (
        a * (b * c - m[4] * m[4])
        - m[1] * (m[1] * c - m[4] * m[2])
        + m[2] * (m[1] * m[4] - b * m[2])
    )
    cube = size * size * size
    cosine = clip(determinant / (2.0 * maximum(cube, 1e-300)), -1.0, 1.0)
    angle = np.arctan2(np.sqrt(maximum(1.0 - cosine * cosine, 0.0)), cosine) / 3.0
    third = 2.0 * np.pi / 3.0
    least, most = np.cos(angle + third), np.cos(angle)
    middle = -least - most
    return tuple(mean + 2.0 * size * x for x in (least, middle, most))
