"""The planar arm with two revolute joints of Asada and Slotine, figure 5-2, from any numbers."""

import numpy as np

from robot_dynamics.papers.counting.general_arm import CentroidalInertia
from robot_dynamics.robot.joint import Joint, JointType
from robot_dynamics.robot.link import Link
from robot_dynamics.robot.robot import Robot
from robot_dynamics.spatial.pose import Pose

NUMBERS = ("l1", "lc1", "lc2", "m1", "m2", "I1", "I2", "g")


def planar_two_link(l1, lc1, lc2, m1, m2, I1, I2, g, tip=None):
    """Arm in the x-y plane; mass centres on the links, gravity g along -y.

    Numbers or symbols; `tip` adds a massless link "tip" fixed at that distance from joint 2.
    """
    z = np.array([0.0, 0.0, 1.0])

    def moment_about_z(Izz):
        return np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, Izz]])

    def body(m, lc, Izz):
        return CentroidalInertia.from_com(m, np.array([lc, 0.0, 0.0]), moment_about_z(Izz))

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
