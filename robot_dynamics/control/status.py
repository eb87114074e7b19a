"""Status of a controller: the table of statuses, and the causes that stop an arm.

In every cycle the first row of `TABLE` whose condition holds is the status. The rows are the
definition: the step evaluates their conditions, and the documents print their texts.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from robot_dynamics.compiler.graph.piecewise import maximum
from robot_dynamics.control.logic import chosen, either, less, negated
from robot_dynamics.foundation.numbers import short_number
from robot_dynamics.robot.joint_units import UNITS, unit_of

if TYPE_CHECKING:
    from robot_dynamics.robot.robot import Robot


class Status(enum.IntEnum):
    """Status of a controller. Its number is the one of the field `status`."""

    WAITING = 0
    SETTLING = 1
    TRACKING = 2
    HOLDING = 3
    SILENT = 4
    OPEN_LOOP = 5
    STOPPED = 6
    PAUSED = 7
    RESUMED = 8

    @property
    def words(self) -> str:
        """Words for a log."""
        return WORDS[self]


WORDS = {
    Status.WAITING: "waiting for joint states",
    Status.SETTLING: "holding still for a moment before the reference is followed",
    Status.TRACKING: "tracking the reference",
    Status.HOLDING: "holding still: no reference comes",
    Status.SILENT: "commanding nothing: no valid joint states come",
    Status.OPEN_LOOP: "coming to rest open-loop: no valid joint states come",
    Status.STOPPED: "stopped",
    Status.PAUSED: "holding still until it is resumed: messages had stopped",
    Status.RESUMED: "holding still until the reference comes to the arm",
}
"""Words for every status."""

WORDS_IN_TASK = {
    **WORDS,
    Status.SETTLING: "holding still for a moment before targets of the end effector are followed",
    Status.TRACKING: "moving the end effector to its target",
    Status.HOLDING: "holding the end effector: no target asks for motion",
}
"""Words for every status in the modes that control the end effector."""

LEVELS = {
    **dict.fromkeys(Status, 0),
    **dict.fromkeys((Status.WAITING, Status.PAUSED), 1),
    **dict.fromkeys((Status.SILENT, Status.OPEN_LOOP, Status.STOPPED), 2),
}
"""Severity of every status in diagnostics: 0 in order, 1 a warning, 2 an error."""

LOG_LEVELS = {
    **dict.fromkeys(Status, 0),
    **dict.fromkeys((Status.OPEN_LOOP, Status.STOPPED, Status.PAUSED), 1),
    Status.SILENT: 2,
}
"""Severity of its line in a log: an arm that the controller holds by itself is no error."""

REMEDIES = {
    **dict.fromkeys(Status, ""),
    **dict.fromkeys((Status.STOPPED, Status.PAUSED), "; call {node}/resume to go on"),
    Status.RESUMED: "; send a motion that begins at the arm",
    Status.SILENT: "; the hardware keeps the last efforts, or brakes: stop the arm, then see why "
    "none come",
}
"""Remedy for every status, behind its words; {node} is the name of the node."""

WITHOUT_STATES = (Status.WAITING, Status.OPEN_LOOP, Status.SILENT)
"""Statuses of a controller that has no present state."""

AT_REST = (Status.SETTLING, Status.HOLDING, Status.STOPPED, Status.PAUSED, Status.RESUMED)
"""Statuses in which the arm is held or comes to rest."""

GIVEN_UP = (Status.SILENT, Status.OPEN_LOOP, Status.STOPPED, Status.PAUSED)
"""Statuses in which targets in task space are given up, so that none moves the arm later."""


class StatusRow(NamedTuple):
    """A status, when it is entered, and what the arm then does.

    Args:
        status: The status.
        holds: Its condition, of the facts of a cycle.
        condition: The condition in words.
        motion: The motion in words.
    """

    status: Status
    holds: Callable[[Any], Any]
    condition: str
    motion: str


TABLE = (
    StatusRow(
        Status.WAITING, lambda x: negated(x.seen), "no state has come yet", "nothing is commanded"
    ),
    StatusRow(
        Status.SILENT,
        lambda x: less(x.state_timeout + maximum(x.open_loop_timeout, x.stop), x.age),
        "no state for `state_timeout` and `open_loop_timeout` together, or `stop` if that is "
        "longer",
        "nothing is commanded: brakes or friction hold it",
    ),
    StatusRow(
        Status.OPEN_LOOP,
        lambda x: x.without_states,
        "no state for `state_timeout`",
        "to rest, then held, by the model alone",
    ),
    StatusRow(
        Status.STOPPED,
        lambda x: less(0.5, x.cause),
        "a tracking error, a speed or a reference's velocity beyond its limit, a joint that "
        "stands, unrequested motion at the effort limit, an oscillation, a collision, or gravity "
        "that counts twice, until `resume`",
        "to rest, then held; or by `collision.reaction`; by softer feedback if it oscillates",
    ),
    StatusRow(
        Status.HOLDING,
        lambda x: either(x.halted, x.refused, negated(x.commanded)),
        "no reference for `reference_timeout`, deactivated, or `on_slow_states: refuse`",
        "to rest, then held; or led by hand, with `on_reference_timeout`",
    ),
    StatusRow(
        Status.PAUSED,
        lambda x: x.paused,
        "states or references had stopped, until `resume`; not with `resume_by_itself`",
        "held",
    ),
    # The distances are `AT_ARM` and `NEAR` times the default tracking limits
    StatusRow(
        Status.RESUMED,
        lambda x: x.comes,
        "until the reference has rested within 0.02 rad or 4 mm of the arm; again after a jump",
        "held",
    ),
    StatusRow(
        Status.SETTLING,
        lambda x: less(x.now, x.settled_at),
        "for `settling_time` after states come or come again, after commands are first received, "
        "and after a joint did not move when pushed",
        "held",
    ),
    StatusRow(Status.TRACKING, lambda x: 1.0, "otherwise", "joins the reference, then follows it"),
)
"""Every status in order of precedence."""


def next_status(x: Any) -> Any:
    """Return the number of the first status of `TABLE` whose condition holds."""
    found: Any = float(TABLE[-1].status)
    for row in reversed(TABLE[:-1]):
        found = chosen(row.holds(x), float(row.status), found)
    return found


class Cause(enum.IntEnum):
    """Cause of a stop or of a report.

    Its number is the one of the fields `cause`, `warning`, `brake_cause` and `limited`.
    """

    NONE = 0
    TRACKING_ERROR = 1
    SATURATION = 2
    FAST_REFERENCE = 3
    COLLISION = 4
    OSCILLATION = 5
    OVERSPEED = 6
    STANDING = 7
    END_OF_RANGE = 8
    GRAVITY_TWICE = 9
    FRICTION_TWICE = 10
    BRAKED = 11
    UNANSWERED = 12
    SOFTENED = 13
    LIMITED = 14
    OVERLOADED = 15


class Sentence(NamedTuple):
    """Words for a cause.

    Args:
        text: Sentence with the places {joint}, {value} and {limit}.
        quantities: Quantities of value and limit, which tell their units.
        remedy: What to do.
        digits: Significant digits of the numbers.
    """

    text: str
    quantities: tuple[str, str]
    remedy: str
    digits: int = 3

    def words(self, robot: Robot, i: int, value: float, limit: float = 0.0) -> str:
        """Return the sentence on joint i, or on none if i is negative."""
        return self._filled(self.text, robot, i, value, limit)

    def line(self, robot: Robot, i: int, value: float, limit: float = 0.0) -> str:
        """Return the sentence with its remedy."""
        text = f"{self.text}; {self.remedy}" if self.remedy else self.text
        return self._filled(text, robot, i, value, limit)

    def _filled(self, text: str, robot: Robot, i: int, *numbers: float) -> str:
        joint, words = robot.joint_names[i] if i >= 0 else "", []
        for x, quantity in zip(numbers, self.quantities, strict=True):
            unit = unit_of(robot, i, quantity) if i >= 0 and quantity in UNITS else quantity
            words.append(f"{short_number(x, self.digits)} {unit}".rstrip())
        return text.format(joint=joint, value=words[0], limit=words[1])


SENTENCES = {
    Cause.TRACKING_ERROR: Sentence(
        "joint '{joint}' is {value} from its reference, beyond its limit of {limit}",
        ("position", "position"),
        "is the joint blocked, the model wrong, or does its drive hold a position of its own?",
    ),
    Cause.SOFTENED: Sentence(
        "joint '{joint}' is {value} from its reference: its feedback is soft, so that no spring of "
        "a joint oscillates at {limit}",
        ("position", "frequency"),
        "let encoders measure the motors too, or make masses and friction of the model exact",
    ),
    Cause.OVERLOADED: Sentence(
        "joint '{joint}' is {value} from its reference, beyond its limit of {limit}, and its "
        "effort was at its limit",
        ("position", "position"),
        "is the load too heavy, or the motion too fast?",
    ),
    Cause.LIMITED: Sentence(
        "the effort of joint '{joint}' is at its limit of {limit} for {value} of the time",
        ("%", "effort"),
        "does a joint push its stop, is the load too heavy, or does it oscillate?",
        2,
    ),
    Cause.SATURATION: Sentence(
        "joint '{joint}' moves at {value} against its reference, with its effort at its limit of "
        "{limit}",
        ("velocity", "effort"),
        "is the load too heavy, or the motion too fast?",
    ),
    Cause.FAST_REFERENCE: Sentence(
        "the reference of joint '{joint}' moves at {value}, beyond its limit of {limit}",
        ("velocity", "velocity"),
        "slow the motion down, and give all nodes the same limits",
    ),
    Cause.COLLISION: Sentence(
        "joint '{joint}' feels an external {value}, beyond its threshold of {limit}",
        ("effort", "effort"),
        "clear the contact; without one, the load or the model is wrong",
    ),
    Cause.STANDING: Sentence(
        "joint '{joint}' stands, although its reference moved on by {value} (limit {limit})",
        ("position", "position"),
        "is its brake closed, is it blocked, or do its states not change any more?",
    ),
    Cause.OVERSPEED: Sentence(
        "joint '{joint}' moves at {value}, beyond its limit of {limit}",
        ("velocity", "velocity"),
        "look whether the states are right and the gains fit, then resume",
    ),
    Cause.END_OF_RANGE: Sentence(
        "joint '{joint}' is {value} from its reference, and {limit} from the end of its range",
        ("position", "position"),
        "keep motions within the range, or clear what pushes the joint there",
    ),
    Cause.GRAVITY_TWICE: Sentence(
        "joint '{joint}' feels an external {value}, which is its gravity, {limit}, and the other "
        "joints feel theirs",
        ("effort", "effort"),
        "does the robot hold its weight by itself? Then set compensate_gravity: false",
    ),
    Cause.FRICTION_TWICE: Sentence(
        "joint '{joint}' is pushed along its motion by {value}, its friction in the model is "
        "{limit}, and the other joints likewise",
        ("effort", "effort"),
        "does the robot compensate friction by itself? Then set compensate_friction: false",
    ),
    Cause.BRAKED: Sentence(
        "joint '{joint}' does not move although it is pushed with {value}, more than half of its "
        "effort limit of {limit}",
        ("effort", "effort"),
        "are its brakes closed?",
    ),
    Cause.UNANSWERED: Sentence(
        "no joint moves although joint '{joint}' is pushed with {value}, more than a tenth of its "
        "effort limit of {limit}",
        ("effort", "effort"),
        "is what receives the commands active?",
    ),
    Cause.OSCILLATION: Sentence(
        "joint '{joint}' oscillates by {value} at {limit}",
        ("position", "frequency"),
        "lower the gains or the bandwidth, raise the rate of the states, or set the elasticity of "
        "the joints",
        2,
    ),
}
"""Words for every cause."""
