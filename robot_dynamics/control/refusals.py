"""Reasons to refuse parameters and loads: numbers, and a sentence for each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from robot_dynamics.control.fields import SCALAR, Field
from robot_dynamics.control.logic import both, chosen, equal
from robot_dynamics.control.status import Sentence

if TYPE_CHECKING:
    from robot_dynamics.robot.robot import Robot

NONE_REFUSED = "none"

PLAUSIBLE_GRAVITY = (5.0, 20.0)
"""Range of accelerations that may be gravity, m/s^2; an IMU in units of g shows 1."""

REFUSALS: Mapping[str, Sentence] = {
    NONE_REFUSED: Sentence("", ("", ""), ""),
    "effort_beyond_urdf": Sentence(
        "limits.{joint}.effort of {value} is beyond the limit of the URDF, {limit}",
        ("effort", "effort"),
        "give less",
    ),
    "velocity_beyond_urdf": Sentence(
        "limits.{joint}.velocity of {value} is beyond the limit of the URDF, {limit}",
        ("velocity", "velocity"),
        "give less",
    ),
    **{
        f"unstable_{gain}": Sentence(
            f"gains.{{joint}}: {gain} of {{value}} makes the joint unstable at this update rate",
            ("", ""),
            "keep it below {limit}",
            digits=4,
        )
        for gain in "pd"
    },
    "unstable_i": Sentence(
        "gains.{joint}: i of {value} makes the joint unstable",
        ("", ""),
        "keep it below p d / inertia = {limit}",
        digits=4,
    ),
    "no_drive_gain": Sentence(
        "feedback is by the drives, but drive.{joint}.kp is {value}",
        ("", ""),
        "give drive.<joint>.kp and kd as the driver has them",
    ),
    "no_drive_position": Sentence(
        "feedback is by the drives, but they take no positions",
        ("", ""),
        "give command_interfaces [position, velocity, effort] or [position, effort]",
    ),
    "mode_with_drives": Sentence(
        "the mode has feedback of its own, against which the drives would work",
        ("", ""),
        "use feedforward, pd, pd_gravity, impedance or gravity_compensation with feedback: drive",
    ),
    "gravity_twice": Sentence(
        "compensate_gravity is true, but the driver of this model's arm holds its weight by itself",
        ("", ""),
        "set compensate_gravity: false, or export the model with --driver none",
    ),
    "drives_fight": Sentence(
        "feedback is by the controller, but the drives of this model's arm always add their own, "
        "and would pull it to their position command",
        ("", ""),
        "set feedback: drive and claim positions, or export the model with --driver none",
    ),
    "gravity": Sentence("gravity is {value}", ("m/s^2", "m/s^2"), "give {limit} at most"),
    "no_endpoint": Sentence(
        "payload of {value}: the model has no frame of payloads",
        ("kg", ""),
        "export it with --payload-frame",
    ),
    "payload_in_grams": Sentence(
        "payload: weighs {value}", ("kg", "kg"), "is the mass in grams?", digits=4
    ),
    "payload_in_millimetres": Sentence(
        "payload: mass centre is {value} from the frame",
        ("m", "m"),
        "are the lengths in millimetres?",
    ),
    "payload_without_mass": Sentence(
        "payload: has rotational inertia but no mass", ("", ""), "give both, or neither"
    ),
    "payload_too_large": Sentence(
        "payload: moments of inertia are too large for its mass", ("", ""), "are they in kg mm^2?"
    ),
    "payload_indefinite": Sentence(
        "payload: inertia is not positive definite (smallest eigenvalue {value})",
        ("kg m^2", ""),
        "check payload.inertia: xx, xy, xz, yy, yz, zz",
    ),
    "payload_triangle": Sentence(
        "payload: inertia breaks the triangle inequality: the largest principal moment {value} "
        "exceeds the sum of the others, {limit}",
        ("kg m^2", "kg m^2"),
        "check payload.inertia: xx, xy, xz, yy, yz, zz",
    ),
    "no_end_effector": Sentence(
        "modes in task space need an end effector, which the model has none of",
        ("", ""),
        "export it with --frame",
    ),
    "force_oscillates": Sentence(
        "task.force_integral + 0.5 task.force_proportional is {value}, with which a stiff contact "
        "oscillates",
        ("", ""),
        "keep it below {limit}",
    ),
    "force_undamped": Sentence(
        "task.damping_ratio is zero, but feedback in directions of force needs damping",
        ("", ""),
        "give it above zero",
    ),
    **{
        f"task_{name}": Sentence(f"task.{name} is not positive", ("", ""), "give positive numbers")
        for name in ("largest_error", "speed", "acceleration", "force_largest")
    },
    "heavy_wrench": Sentence(
        "with gravity it takes {value} of joint '{joint}'",
        ("effort", "%"),
        "{limit} of it is the most in this pose",
    ),
    "heavy_load": Sentence(
        "joint '{joint}' would need {value} here, beyond its limit of {limit}",
        ("effort", "effort"),
        "give a lighter load, or move to another pose first",
        digits=4,
    ),
    "implausible_imu": Sentence(
        "linear_acceleration of {{value}} is not within {:g} to {:g} m/s^2".format(
            *PLAUSIBLE_GRAVITY
        ),
        ("m/s^2", ""),
        "name an IMU that is fixed to the root link and measures in m/s^2",
    ),
    "drives_damp": Sentence(
        "the drives damp an arm that is led by hand, with drive.<joint>.kd",
        ("", ""),
        "lower kd in the driver",
    ),
    "friction_twice": Sentence(
        "compensate_friction is true, and the driver of this model's arm compensates friction by "
        "itself: it counts twice",
        ("", ""),
        "set compensate_friction: false, or export the model with --driver none where that is "
        "switched off in the robot",
    ),
    "velocity_terms_twice": Sentence(
        "compensate_velocity_terms is true, and the driver of this model's arm adds Coriolis and "
        "centrifugal efforts by itself: they count twice",
        ("", ""),
        "set compensate_velocity_terms: false",
    ),
    "slow_rate": Sentence(
        "the update rate is below those for which there are default gains",
        ("", ""),
        "give gains.<joint>.p and d",
    ),
    "own_gains": Sentence(
        "gains.{joint} are set, so feedback of every joint is by gains.<joint>.p and d, and no "
        "longer by the mass matrix",
        ("", ""),
        "set p and d of all joints, or of none",
    ),
}
"""Why parameters or a load are refused, or what is noticed, in the order of their numbers; 0 for
none."""

REFUSAL: Mapping[str, Field] = {
    "refused": Field(SCALAR, "number of the refusal, 0 for none"),
    "joint": Field(SCALAR, "the joint, or -1", -1.0),
    "value": Field(SCALAR, "the value"),
    "limit": Field(SCALAR, "its limit"),
    "noticed": Field(SCALAR, "number of what is accepted but noticed, 0 for none"),
    "noticed_joint": Field(SCALAR, "its joint, or -1", -1.0),
}
"""Results of a check."""


class Refusal:
    """The first reason to refuse something; none at the beginning.

    Attributes:
        found: Results of a check by name, as in `REFUSAL`.
    """

    def __init__(self) -> None:
        self.found: dict[str, Any] = {name: field.initial for name, field in REFUSAL.items()}

    def replace(self, takes: Any, name: str, value: Any, limit: Any, joint: float = -1.0) -> None:
        """Note a reason where a condition holds, in place of an earlier one."""
        new = {"refused": _number(name), "joint": joint, "value": value, "limit": limit}
        for key, number in new.items():
            self.found[key] = chosen(takes, number, self.found[key])

    def notice(self, name: str, happens: Any, joint: Any) -> None:
        """Note what is accepted but to be reported, if it holds."""
        new = {"noticed": _number(name), "noticed_joint": joint}
        for key, number in new.items():
            self.found[key] = chosen(happens, number, self.found[key])

    def __call__(
        self, name: str, happens: Any, value: Any, limit: Any, joint: float = -1.0
    ) -> None:
        """Note a reason if it holds and is the first."""
        takes = both(happens, equal(self.found["refused"], 0.0))
        self.replace(takes, name, value, limit, joint)


def refusal_words(found: Mapping[str, Any], robot: Robot, kind: str = "refused") -> str:
    """Return the sentence of a check, or of what it notices (`noticed`); empty for none."""
    sentence = list(REFUSALS.values())[round(float(found[kind]))]
    names = ("joint", "value", "limit") if kind == "refused" else ("noticed_joint",)
    i, value, limit = [*(float(found[name]) for name in names), 0.0, 0.0][:3]
    return sentence.line(robot, round(i), value, limit)


def _number(name: str) -> float:
    return float(list(REFUSALS).index(name))
