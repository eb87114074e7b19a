"""The arms of the worked examples, from the tables of their papers.

The numbers stand in the folder `tables`, as robots that every verb and node takes by name. Where a
printed number is illegible or contradicts its paper, the docstring and the table say what was
chosen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

import numpy as np

from robot_dynamics.errors import ArgumentError
from robot_dynamics.robot.catalogue import find_robot
from robot_dynamics.robot.denavit_hartenberg import DHRow, Table
from robot_dynamics.robot.kinematic_tree import JointLimits, JointType
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.table_files import read_table
from robot_dynamics.robot.zero_position import ZeroReference
from robot_dynamics.spatial import Inertia

_T = TypeVar("_T")

INCH = 0.0254
"""One inch, m."""

POUND = 0.45359237
"""Mass that weighs one lbf under standard gravity, kg."""

POUND_INCH = 4.4482216152605 * INCH
"""One lbf in, N m; also one lbf in s^2 in kg m^2."""

# -- PUMA-type arm: [Gupta1986] and its continuation, Tables 1 and 2 ------------------------------

PUMA_READINGS = {"printed": 1.585, "physical": 1.385}
"""Second moment of link 4, lbf in s^2, by reading of Table 2."""


def puma_type_arm(reading: str = "printed") -> ZeroReference:
    """The arm whose hand goes round a circle, with six revolute joints.

    The second moment of link 4 is printed as 1.585, more than the sum of the other two, which no
    body has. "physical" takes 1.385, a 3 read as a 5, and is the shipped robot puma_gupta. Gravity
    is not printed: 9.80665 m/s^2 along -z is chosen.

    Raises:
        ArgumentError: If there is no such reading.
    """
    robot = _shipped("puma_gupta_printed")
    moment = POUND_INCH * _reading(reading, PUMA_READINGS)
    k = robot.link_index("link_4")
    body = robot.links[k].inertia
    I_C = body.about_com.copy()
    I_C[1, 1] = moment
    link = replace(robot.links[k], inertia=Inertia.from_com(body.mass, body.com, I_C))
    links = (*robot.links[:k], link, *robot.links[k + 1 :])
    return ZeroReference.from_robot(replace(robot, links=links))


# -- arms of [Angeles1989], section 7 -------------------------------------------------------------

STANFORD_READINGS = {"legible": "stanford", "classic": "stanford_classic"}
"""Shipped robots, by reading of the damaged Table 2."""


def stanford_arm(reading: str = "legible") -> Robot:
    """The Stanford arm of example 1: revolute joints but for the third, whose position is b_3.

    Table 2 is damaged in the copies at hand, and its signs are open. "legible" takes the signs
    that can be seen and eq. (8) by the letter, so that growing b_3 draws the boom in and the
    motion of the example lowers it. "classic" is the arm as it was built: the motion raises the
    boom, and growing b_3 extends it. Efforts are those that go with theta_i and b_3; the paper's
    force (43) points along +Z_3, which is against b_3 in the reading "legible".

    Raises:
        ArgumentError: If there is no such reading.
    """
    return _shipped(_reading(reading, STANFORD_READINGS))


TESAR_READINGS = {
    "printed": "thomas_tesar_printed",
    "distal": "thomas_tesar_distal",
    "physical": "thomas_tesar",
}
"""Shipped robots, by reading of the bodies."""


def thomas_tesar_arm(reading: str = "printed") -> Robot:
    """The industrial arm of example 2, six revolute joints.

    "printed" takes mass centres and inertias in frame i, as the paper says. They make better
    sense at the far end of each link, in the next joint's axes: "distal" reads them so. Neither
    gives link 1 an inertia that a body has, of which the motion uses one number only; "physical" is
    "distal" with two other moments of link 1.

    Raises:
        ArgumentError: If there is no such reading.
    """
    return _shipped(_reading(reading, TESAR_READINGS))


def _shipped(name: str) -> Robot:
    """Return a robot of this package from its table, with the frames of the table."""
    return read_table(find_robot(name))


def _reading(name: str, known: Mapping[str, _T]) -> _T:
    if name not in known:
        raise ArgumentError(f"no reading '{name}' of this arm; choose one of: {', '.join(known)}")
    return known[name]


# -- arms of [Lee1982], [Renaud1987] and [AsadaSlotine1986], printed without inertias ------------

LEE_PUMA_DRAWN = np.pi / 2.0 * np.array([1.0, 0.0, 1.0, 0.0, 0.0, 0.0])
"""Joint positions of `lee_puma` in the pose that figure 3 draws, rad."""


def lee_puma() -> Robot:
    """The six-joint PUMA of figure 3 with its ranges; positions are the printed angles theta.

    Those are zero as in the matrices of section 4; `LEE_PUMA_DRAWN` is the pose of the figure. The
    sixth row is missing in the copies at hand: d_6 = 56.25 mm and its range are of the PUMA 560.
    The paper prints no bodies, velocities and efforts; those here are chosen.
    """
    return _shipped("lee_puma")


def renaud_6r() -> Robot:
    """The arm of [Renaud1987]; lengths, bodies and limits are chosen, the paper has symbols."""
    return _shipped("renaud_6r")


def five_revolute_one_prismatic_arm(
    l_0: float = 0.6,
    l_1: float = 0.2,
    l_2: float = 0.15,
    stroke: tuple[float, float] = (0.0, np.inf),
) -> Robot:
    """The 5-R-1-P arm of example 2-4, Table 2-1; the book gives its lengths, m, no numbers.

    The stroke is the range of d_3, m; the book's solution takes d_3 > 0 and has no upper limit.
    """
    revolute, right = JointType.REVOLUTE, np.pi / 2.0
    rows = (
        DHRow(revolute, 0.0, -right, l_0, 0.0),
        DHRow(revolute, 0.0, right, l_1, 0.0),
        DHRow(JointType.PRISMATIC, 0.0, 0.0, 0.0, 0.0, limits=JointLimits(*stroke)),
        DHRow(revolute, 0.0, -right, 0.0, 0.0),
        DHRow(revolute, 0.0, right, 0.0, 0.0),
        DHRow(revolute, 0.0, 0.0, l_2, 0.0),
    )
    return Table(rows, name="5-R-1-P arm").to_robot()
