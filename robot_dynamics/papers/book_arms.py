"""The arms of the small examples of [AsadaSlotine1986], with numbers or symbols."""

from __future__ import annotations

from typing import Any

import numpy as np

from robot_dynamics.papers.counts.general_arm import CentroidalInertia
from robot_dynamics.robot.denavit_hartenberg import DHRow, Table
from robot_dynamics.robot.kinematic_tree import Joint, JointType, Link
from robot_dynamics.robot.robot import Robot
from robot_dynamics.spatial import Pose


def planar_two_link(
    l1: Any, lc1: Any, lc2: Any, m1: Any, m2: Any, I1: Any, I2: Any, g: Any, tip: Any = None
) -> Robot:
    """The planar arm of figure 5-2, in the x-y plane, gravity along -y.

    Args:
        l1: Length of link 1, m.
        lc1: Distance of the mass centre of link 1 from joint 1, m.
        lc2: Distance of the mass centre of link 2 from joint 2, m.
        m1: Mass of link 1, kg.
        m2: Mass of link 2, kg.
        I1: Moment of inertia of link 1 about its mass centre, kg m^2.
        I2: Moment of inertia of link 2 about its mass centre, kg m^2.
        g: Gravitational acceleration, m/s^2.
        tip: Distance from joint 2 of a massless link "tip" on link 2, m; by default none.
    """
    z = np.array([0.0, 0.0, 1.0])

    def body(m: Any, lc: Any, Izz: Any) -> CentroidalInertia:
        moments = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, Izz]])
        return CentroidalInertia.from_com(m, np.array([lc, 0.0, 0.0]), moments)

    links = [Link("base"), Link("link1", body(m1, lc1, I1)), Link("link2", body(m2, lc2, I2))]
    elbow = Pose(np.eye(3), np.array([l1, 0.0, 0.0]))
    joints = [
        Joint("joint1", JointType.REVOLUTE, "base", "link1", Pose.identity(), z),
        Joint("joint2", JointType.REVOLUTE, "link1", "link2", elbow, z),
    ]
    if tip is not None:
        links.append(Link("tip"))
        at_tip = Pose(np.eye(3), np.array([tip, 0.0, 0.0]))
        joints.append(Joint("tip_joint", JointType.FIXED, "link2", "tip", at_tip))
    return Robot("planar", tuple(links), tuple(joints), np.array([0.0, -g, 0.0]))


def polar_arm() -> Robot:
    """The arm of example 3-1, figure 3-5: two revolute joints and one prismatic."""
    right = np.pi / 2.0
    rows = (
        DHRow(JointType.REVOLUTE, 0.0, -right, 0.0, 0.0),
        DHRow(JointType.REVOLUTE, 0.0, right, 0.0, 0.0),
        DHRow(JointType.PRISMATIC, 0.0, 0.0, 0.0, 0.0),
    )
    return Table(rows, name="polar arm").to_robot()
