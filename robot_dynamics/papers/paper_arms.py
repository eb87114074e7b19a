"""The arms of the worked examples, from the tables of their papers.

In SI units. Where a printed number is illegible or contradicts its paper, the
docstring says what was chosen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from robot_dynamics.errors import ArgumentError
from robot_dynamics.robot.denavit_hartenberg import DHRow, Table
from robot_dynamics.robot.kinematic_tree import JointLimits, JointType
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.zero_position import ZeroReference
from robot_dynamics.robot.zero_reference_tables import zero_reference_from_tables
from robot_dynamics.spatial import Inertia

_T = TypeVar("_T")

INCH = 0.0254
"""One inch, m."""

POUND = 0.45359237
"""Mass that weighs one lbf under standard gravity, kg."""

POUND_INCH = 4.4482216152605 * INCH
"""One lbf in, N m; also one lbf in s^2 in kg m^2."""

# -- PUMA-type arm: [Gupta1986] and its continuation, Tables 1 and 2 ------------------------------

_PUMA_AXES = ((0, 0, 1), (0, 1, 0), (0, 1, 0), (0, 0, 1), (0, -1, 0), (0, 0, -1))
_PUMA_S = ((0, 5, 0), (8, 2, 0), (0, 0, -9), (0, 0, -1), (0, -1, 0), (0, 0, -3))  # in
_PUMA_B = ((0, 10, 0), (17, 0, 0), (0, 0, -17), (0, 0, 0), (0, 0, 0), (0, 0, -5))  # in
_PUMA_WEIGHTS = (10, 16, 12, 1, 1, 6)  # lbf
_PUMA_INERTIAS = (  # principal moments, lbf in s^2
    (0.230, 0.005, 0.230),
    (0.069, 1.453, 1.394),
    (1.405, 1.585, 0.034),
    (0.001, 0.001, 0.0001),
    (0.001, 0.0001, 0.001),
    (0.069, 0.069, 0.01),
)


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
    moments = [np.diag(row) for row in _PUMA_INERTIAS]
    moments[2][1, 1] = _reading(reading, PUMA_READINGS)
    return zero_reference_from_tables(
        types=["revolute"] * 6,
        u=np.array(_PUMA_AXES),
        s=INCH * np.array(_PUMA_S),
        b=INCH * np.array(_PUMA_B),
        masses=POUND * np.array(_PUMA_WEIGHTS),
        inertias=POUND_INCH * np.array(moments),
        u_oa=(0.0, 0.0, -1.0),
        u_ot=(0.0, -1.0, 0.0),
        gravity=(0.0, 0.0, -9.80665),
        name="PUMA-type arm",
    )


# -- arms of [Angeles1989], section 7 -------------------------------------------------------------

_Body = tuple[float, tuple[float, float, float], tuple[float, float, float]]
"""Mass, kg; mass centre in frame i, m; principal moments about it, kg m^2."""

_STANFORD_BODIES: tuple[_Body, ...] = (
    (9.0, (0.0, 0.0, -0.1), (0.02, 0.01, 0.01)),
    (6.0, (0.0, 0.0, 0.0), (0.05, 0.01, 0.06)),
    (4.0, (0.0, 0.0, 0.0), (0.4, 0.4, 0.01)),
    (1.0, (0.0, 0.0, 0.1), (0.001, 0.0005, 0.001)),
    (0.6, (0.0, 0.06, 0.0), (0.0005, 0.0002, 0.0005)),
    (0.5, (0.0, 0.0, 0.0), (0.003, 0.001, 0.002)),
)

STANFORD_READINGS = {
    "legible": (0.0, 90.0, 90.0, 0.0, 90.0, 90.0),
    "classic": (0.0, -90.0, 90.0, 0.0, 90.0, -90.0),
}
"""Twists alpha_i, degrees, by reading of the damaged Table 2."""


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
    twists = _reading(reading, STANFORD_READINGS)
    lengths_b = (-0.1, -0.1, 0.0, -0.6, 0.0, 0.0)
    robot = _hartenberg_denavit(
        "Stanford arm", "RRPRRR", (0.0,) * 6, twists, lengths_b, _STANFORD_BODIES
    )
    if reading == "classic":
        return robot
    boom = replace(robot.joints[2], axis=-robot.joints[2].axis)  # b_3 runs against Z_3
    return replace(robot, joints=(*robot.joints[:2], boom, *robot.joints[3:]))


_TESAR_BODIES: dict[str, tuple[_Body, ...]] = {
    "printed": (
        (680.0, (0.0, -0.33, 0.0), (0.0, 62.0, 0.0)),
        (360.0, (-0.87, 0.0, -0.13), (11.0, 53.0, 44.0)),
        (180.0, (-0.64, 0.04, 0.0), (1.1, 44.0, 44.0)),
        (55.0, (-0.12, 0.04, 0.0), (0.44, 0.91, 0.82)),
        (36.0, (0.0, -0.05, -0.08), (0.47, 0.38, 0.18)),
        (68.0, (0.0, 0.0, 0.0), (0.44, 0.64, 0.73)),
    ),
    "distal": (
        (680.0, (0.0, 0.0, -0.33), (0.0, 0.0, 62.0)),
        (360.0, (0.15, 0.0, -0.13), (11.0, 53.0, 44.0)),
        (180.0, (0.38, 0.04, 0.0), (1.1, 44.0, 44.0)),
        (55.0, (0.08, 0.0, 0.04), (0.44, 0.82, 0.91)),
        (36.0, (0.0, 0.08, -0.05), (0.47, 0.18, 0.38)),
        (68.0, (0.0, 0.0, 0.0), (0.44, 0.64, 0.73)),
    ),
}


def thomas_tesar_arm(reading: str = "printed") -> Robot:
    """The industrial arm of example 2, six revolute joints.

    "printed" takes mass centres and inertias in frame i, as the paper says. They make better
    sense at the far end of each link, in the next joint's axes: "distal" reads them so. Neither
    gives link 1 an inertia that a body has, of which the motion uses one number only.

    Raises:
        ArgumentError: If there is no such reading.
    """
    return _hartenberg_denavit(
        "Thomas-Tesar arm",
        "RRRRRR",
        (0.0, 0.0, 1.02, 1.02, 0.2, 0.0),
        (0.0, 90.0, 0.0, 0.0, 90.0, 90.0),
        (-1.5, 0.0, 0.0, 0.0, 0.0, -0.41),
        _reading(reading, _TESAR_BODIES),
    )


def _hartenberg_denavit(
    name: str,
    types: str,
    a: Sequence[float],
    alpha: Sequence[float],
    b: Sequence[float],
    bodies: Sequence[_Body],
) -> Robot:
    """Robot of a table in the paper's notation: modified convention with d_i = -b_i."""
    kinds = {"R": JointType.REVOLUTE, "P": JointType.PRISMATIC}
    rows = tuple(
        DHRow(
            type=kinds[types[i]],
            a=a[i],
            alpha=np.radians(alpha[i]),
            d=-b[i],
            theta=0.0,
            inertia=Inertia.from_com(mass, com, np.diag(moments)),
        )
        for i, (mass, com, moments) in enumerate(bodies)
    )
    return Table(rows, "modified", gravity=np.array([0.0, 0.0, -9.81]), name=name).to_robot()


def _reading(name: str, known: Mapping[str, _T]) -> _T:
    if name not in known:
        raise ArgumentError(f"no reading '{name}' of this arm; choose one of: {', '.join(known)}")
    return known[name]


# -- arms of [Lee1982] and [AsadaSlotine1986], without inertias -----------------------------------

_LEE_PUMA = (  # alpha, degrees; a, d, mm; range, degrees: figure 3
    (-90.0, 0.0, 0.0, -160.0, 160.0),
    (0.0, 431.8, 149.09, -225.0, 45.0),
    (90.0, -20.32, 0.0, -45.0, 225.0),
    (-90.0, 0.0, 433.07, -110.0, 170.0),
    (90.0, 0.0, 0.0, -100.0, 100.0),
    (0.0, 0.0, 56.25, -266.0, 266.0),
)

LEE_PUMA_DRAWN = np.pi / 2.0 * np.array([1.0, 0.0, 1.0, 0.0, 0.0, 0.0])
"""Joint positions of `lee_puma` in the pose that figure 3 draws, rad."""


def lee_puma() -> Robot:
    """The six-joint PUMA of figure 3 with its ranges; positions are the printed angles theta.

    Those are zero as in the matrices of section 4; `LEE_PUMA_DRAWN` is the pose of the figure. The
    sixth row is missing in the copies at hand: d_6 = 56.25 mm and its range are of the PUMA 560.
    """
    rows = [
        DHRow(
            JointType.REVOLUTE,
            a / 1000.0,
            np.radians(alpha),
            d / 1000.0,
            0.0,
            limits=JointLimits(*np.radians(limits)),
        )
        for alpha, a, d, *limits in _LEE_PUMA
    ]
    return Table(tuple(rows), name="Lee's PUMA").to_robot()


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
