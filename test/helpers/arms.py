"""Arms that several tests use: small ones in closed form, printed ones, those of kinematics."""

import functools
import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from robot_dynamics.papers.counts.augmented_body_count import renaud_arm
from robot_dynamics.papers.paper_arms import (
    five_revolute_one_prismatic_arm,
    lee_puma,
    puma_type_arm,
    stanford_arm,
    thomas_tesar_arm,
)
from robot_dynamics.robot import JointType, find_robot, read_urdf
from robot_dynamics.robot.denavit_hartenberg import TOOL, DHRow, Table
from robot_dynamics.robot.kinematic_tree import Link
from robot_dynamics.spatial import Inertia


def arm_of(types, a, alpha, d, theta=None):
    """A robot of a classic Denavit-Hartenberg table, angles in degrees."""
    kinds = {"R": JointType.REVOLUTE, "P": JointType.PRISMATIC}
    theta = [0.0] * len(types) if theta is None else theta
    rows = tuple(
        DHRow(kinds[kind], a[i], np.radians(alpha[i]), d[i], np.radians(theta[i]))
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
    "spherical wrist: the axes of joint_4, joint_5, joint_6 meet in one point, with a quartic",
)


def inner_wrist(lengths, offsets, words, twists=(-70, 80, -75, 60, -80, 20), types="RRRRRR"):
    """An arm whose axes 2 to 4, or 3 to 5, meet in one point."""
    return Arm(
        lambda: arm_of(types, lengths, twists, offsets),
        TOOL,
        (2, 4, 6, 8),
        f"inner wrist: the axes of {words}",
    )


SECOND, THIRD = (f"joint_{k}, joint_{k + 1}, joint_{k + 2} meet in one point" for k in (2, 3))
INNER = {  # the two other axes at one end meet, or not: a quartic
    "inner_234": inner_wrist((0.3, 0, 0, 0.25, 0, 0.1), (0.4, 0.1, 0, 0.2, 0, 0.1), SECOND),
    "inner_345": inner_wrist((0, 0.35, 0, 0, 0.2, 0.1), (0.4, 0.1, 0.2, 0, 0.15, 0.1), THIRD),
    "inner_234_skew": inner_wrist(
        (0.3, 0, 0, 0.25, 0.2, 0.1), (0.4, 0.1, 0, 0.2, 0.15, 0.1), SECOND + ", with a quartic"
    ),
    "inner_345_skew": inner_wrist(
        (0.3, 0.35, 0, 0, 0.2, 0.1), (0.4, 0.1, 0.2, 0, 0.15, 0.1), THIRD + ", with a quartic"
    ),
}
ACROSS = ((0.1, 0.3, 0.2, 0, 0, 0), (-70, 50, 40, -90, 90, 0), (0.4, 0.2, 0.3, 0.1, 0, 0.15))
SLIDES = {  # no equation of a slide before a wrist, or around it, has an unknown of its own
    "rrp_skew": Arm(
        lambda: arm_of("RRPRRR", *ACROSS),
        TOOL,
        (4, 8),
        "spherical wrist: the axes of joint_4, joint_5, joint_6 meet in one point, with a quartic",
    ),
    "prr_skew": Arm(
        lambda: arm_of("PRRRRR", *ACROSS),
        TOOL,
        (4, 8),
        "spherical wrist: the axes of joint_4, joint_5, joint_6 meet in one point, with a quartic",
    ),
    "prp_skew": Arm(lambda: arm_of("PRPRRR", *ACROSS), TOOL, (4,), "spherical wrist"),
    "inner_345_slides": inner_wrist(
        (0.1, 0.3, 0, 0, 0.2, 0), (0.2, 0.1, 0.3, 0, 0.1, 0.1), THIRD, types="RPRRRP"
    ),
}
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


# -- small and printed ones ------------------------------------------------------------------

NUMBERS = ("l1", "lc1", "lc2", "m1", "m2", "I1", "I2", "g")


def puma_as_printed(folder):
    """Path of a URDF of Gupta's arm with the moment of link 4 as printed, which no body has."""
    text = find_robot("puma_gupta").read_text().replace("0.1564839882032491", "0.17908095400877244")
    path = folder / "puma_as_printed.urdf"
    path.write_text(text)
    return str(path)


RENAUD = json.loads((Path(__file__).parents[1] / "data" / "renaud_6r.json").read_text())


def renaud_6r():
    """The arm of Renaud's example with the numbers of `RENAUD`: its bodies as they are."""
    lengths = np.array([RENAUD["a2"], RENAUD["r4"], RENAUD["g"]])
    geometry = renaud_arm(lengths, np.zeros(6), np.zeros((6, 3)))
    bodies = [
        Link(link.name, Inertia(m, np.array(u, float), np.diag(k).astype(float)))
        for link, m, u, k in zip(
            geometry.links[1:],
            RENAUD["mass"],
            RENAUD["first_moment"],
            RENAUD["inertia_diagonal"],
            strict=True,
        )
    ]
    return replace(geometry, links=(geometry.links[0], *bodies))


def slider(effort, velocity=10.0, friction=0.0):
    """2 kg on a level rail of 2 m, with limits (N, m/s) and dry friction (N)."""
    return read_urdf(f"""
<robot name="slider">
  <link name="base"/>
  <link name="block"><inertial><mass value="2"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="slide" type="prismatic"><parent link="base"/><child link="block"/>
    <axis xyz="1 0 0"/><limit lower="-1" upper="1" velocity="{velocity}" effort="{effort}"/>
    <dynamics damping="0" friction="{friction}"/></joint>
</robot>""")
