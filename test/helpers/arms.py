"""Arms for tests of kinematics, with what theory says of their inverse kinematics."""

import functools
from dataclasses import dataclass

import numpy as np

from robot_dynamics.papers.paper_arms import (
    five_revolute_one_prismatic_arm,
    lee_puma,
    puma_type_arm,
    stanford_arm,
    thomas_tesar_arm,
)
from robot_dynamics.robot import JointType, find_robot, read_urdf
from robot_dynamics.robot.denavit_hartenberg import TOOL, Row, Table


def arm_of(types, a, alpha, d, theta=None):
    """A robot of a classic Denavit-Hartenberg table, angles in degrees."""
    kinds = {"R": JointType.REVOLUTE, "P": JointType.PRISMATIC}
    theta = [0.0] * len(types) if theta is None else theta
    rows = tuple(
        Row(kinds[kind], a[i], np.radians(alpha[i]), d[i], np.radians(theta[i]))
        for i, kind in enumerate(types)
    )
    return Table(rows).to_robot()


@dataclass(frozen=True)
class Arm:
    """A robot, the frame that is moved, and the counts of solutions that theory allows."""

    make: object
    frame: str
    counts: tuple
    structure: str

    @functools.cached_property
    def robot(self):
        return self.make()


def example(name):
    return functools.partial(lambda name: read_urdf(find_robot(name)), name)


WRISTS = (0, 4, 8)  # a wrist and an elbow: two solutions each, of every shoulder that reaches
SIX_JOINTS = {
    "puma_gupta": Arm(lambda: puma_type_arm().to_robot(), "hand", (8,), "spherical wrist"),
    "puma_lee": Arm(lee_puma, TOOL, (8,), "spherical wrist"),
    "stanford": Arm(stanford_arm, TOOL, (8,), "spherical wrist"),
    "5r1p": Arm(five_revolute_one_prismatic_arm, TOOL, (8,), "spherical wrist"),
    # KUKA KR 6 R900 and ABB IRB 120: axis 2 does not meet axis 1
    "kr6": Arm(
        lambda: arm_of(
            "RRRRRR",
            (0.025, 0.455, 0.035, 0.0, 0.0, 0.0),
            (-90, 0, -90, 90, -90, 0),
            (0.4, 0.0, 0.0, 0.42, 0.0, 0.08),
        ),
        TOOL,
        (4, 8),
        "spherical wrist",
    ),
    "irb120": Arm(
        lambda: arm_of(
            "RRRRRR",
            (0.0, 0.27, 0.07, 0.0, 0.0, 0.0),
            (-90, 0, -90, 90, -90, 0),
            (0.29, 0.0, 0.0, 0.302, 0.0, 0.072),
        ),
        TOOL,
        (8,),
        "spherical wrist",
    ),
    "ur5": Arm(example("ur5"), "tool0", (2, 4, 6, 8), "three parallel axes"),
    "ur10": Arm(example("ur10"), "tool0", (2, 4, 6, 8), "three parallel axes"),
    "thomas_tesar": Arm(thomas_tesar_arm, TOOL, (2, 4, 6, 8), "three parallel axes"),
}
PANDA = Arm(example("panda"), "panda_hand", (4, 8), "spherical shoulder")
ANY_WRIST = Arm(  # neighbouring axes neither meet nor are parallel: a quartic
    lambda: arm_of(
        "RRRRRR",
        (0.1, 0.35, 0.08, 0.0, 0.0, 0.0),
        (-70, 35, -80, 90, -90, 0),
        (0.4, 0.12, 0.05, 0.42, 0.0, 0.08),
    ),
    TOOL,
    (4, 8),
    "spherical wrist",
)
SHORT = {  # fewer than six joints: a pose is reached by those that made it
    "planar_2r": (lambda: arm_of("RR", (0.5, 0.4), (0, 0), (0, 0))),
    "planar_3r": (lambda: arm_of("RRR", (0.5, 0.4, 0.2), (0, 0, 0), (0, 0, 0))),
    "scara": (lambda: arm_of("RRPR", (0.3, 0.25, 0, 0), (0, 180, 0, 0), (0.4, 0, 0, 0.1))),
    "elbow_arm": (lambda: arm_of("RRR", (0, 0.4, 0.3), (90, 0, 0), (0.3, 0, 0))),
    "polar": (lambda: arm_of("RRP", (0, 0, 0), (90, 90, 0), (0.3, 0, 0))),
    "five_joints": (
        lambda: arm_of(
            "RRRRR", (0.03, 0.155, 0.135, 0, 0), (90, 0, 0, 90, 0), (0.147, 0, 0, 0, 0.2)
        )
    ),
    "cylindrical_wrist": (
        lambda: arm_of("RPPRR", (0, 0, 0, 0, 0), (0, -90, 0, 90, 0), (0.3, 0, 0, 0, 0.1))
    ),
}
