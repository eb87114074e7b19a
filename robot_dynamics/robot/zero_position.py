"""The zero reference position: a description of a robot in base axes at position zero.

[Gupta1986], section 2: unit vectors along the joint axes and body vectors between
joint centres and mass centres, all in base axes while every joint position is zero.
No link frames are needed. In this package it is a robot whose link frames are
parallel to the base, so that one Robot -> Robot function converts in both directions.

Numbering. The paper counts links from 1 (the base) to n + 1 and joints from 1 to
n, so that joint k carries link k + 1. Here `links[i]` is the paper's link i + 1
and `joints[k]` its joint k + 1. A body vector b or d has the number of the joint
where it ends, as in the paper; on a tree a link has one for every joint it carries.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from robot_dynamics.foundation.arrays import Array, Value, frozen
from robot_dynamics.foundation.text_tables import TextTable
from robot_dynamics.robot.joint_frames import in_frames
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.transforms import merge_fixed
from robot_dynamics.spatial import Pose

ROUND_OFF = 1e-15
"""Absolute value below which tables show a number as zero."""


@dataclass(frozen=True, eq=False)
class ZeroReference(Value):
    """A robot in its zero reference position, all vectors in base axes.

    Args:
        robot: The robot with every link frame parallel to the base at zero.
        axes: R_0L, orientation at zero of the original link frames, shape (n + 1, 3, 3).
    """

    robot: Robot
    axes: Array

    def __str__(self) -> str:
        """Return tables of the paper's form, 1 of the joints and 2 of the links, in m and kg."""
        name, tree = self.robot.name, self.robot
        joints = TextTable(
            f"{name}: joints; b from the joint before, d from the mass centre before it",
            ["k", "joint", "type"],
            ["u", "b (m)", "d (m)"],
        )
        for k, joint in enumerate(tree.joints):
            vectors = (_text(x[k]) for x in (self.u, self.b, self.d))
            joints.add_row(str(k + 1), joint.name, joint.type.value, *vectors)
        links = TextTable(
            f"{name}: links; s from the joint that carries it to its mass centre",
            ["k", "link"],
            ["mass (kg)", "s (m)", "xx, yy, zz (kg m^2)", "xy, xz, yz (kg m^2)"],
        )
        for i, link in enumerate(tree.links[1:], start=1):
            I_C = self.inertia[i]
            products = np.array([I_C[0, 1], I_C[0, 2], I_C[1, 2]])
            numbers = (_text(x) for x in (self.s[i], np.diagonal(I_C), products))
            links.add_row(str(i + 1), link.name, _text(self.mass[[i]]), *numbers)
        return f"{joints}\n\n{links}"

    # -- from a robot and back ----------------------------------------------------------------

    @staticmethod
    def from_robot(robot: Robot) -> ZeroReference:
        """Describe a robot by its zero reference position; fixed links are merged."""
        tree = merge_fixed(robot)
        R_0L: list[Array] = [np.eye(3)]
        for k, joint in enumerate(tree.joints):
            R_0L.append(R_0L[tree.parents[k]] @ joint.origin.rotation)
        axes = np.array(R_0L)
        turned = _in_axes(tree, np.swapaxes(axes, 1, 2))
        # Parallel by construction; the product above is so only up to round-off
        joints = [
            replace(joint, origin=Pose(np.eye(3), joint.origin.translation))
            for joint in turned.joints
        ]
        return ZeroReference(replace(turned, joints=tuple(joints)), frozen(axes))

    def to_robot(self) -> Robot:
        """Return the robot in its original link frames."""
        return _in_axes(self.robot, self.axes)

    # -- the vectors of section 2 -------------------------------------------------------------

    @property
    def u(self) -> Array:
        """Unit vectors u_ok along the joints, shape (n, 3)."""
        return np.array([joint.axis for joint in self.robot.joints])

    @property
    def b(self) -> Array:
        """Body vectors b_ok that end at joint k, shape (n, 3), m.

        They start at the centre of the joint that carries the link, or at the base origin.
        """
        return np.array([joint.origin.translation for joint in self.robot.joints])

    @property
    def s(self) -> Array:
        """Vectors s_ok from the joint that carries link k to its mass centre, (n + 1, 3), m."""
        return np.array([link.inertia.com for link in self.robot.links])

    @property
    def d(self) -> Array:
        """Vectors d_ok from the mass centre of the link before joint k to joint k, (n, 3), m."""
        b, s = self.b, self.s
        return np.array([b[k] - s[i] for k, i in enumerate(self.robot.parents)])

    @property
    def mass(self) -> Array:
        """Masses of the links, shape (n + 1,), kg; the paper lists weights m g."""
        return np.array([link.inertia.mass for link in self.robot.links])

    @property
    def inertia(self) -> Array:
        """Inertias [I_ok] about the mass centres, in base axes at zero, (n + 1, 3, 3), kg m^2."""
        return np.array([link.inertia.about_com for link in self.robot.links])

    @property
    def centres(self) -> Array:
        """Positions P_ok of the joint centres in the base, shape (n, 3), m: sums of the b_ok."""
        P: list[Array] = [np.zeros(3)]
        for k, i in enumerate(self.robot.parents):
            P.append(P[i] + self.robot.joints[k].origin.translation)
        return np.array(P[1:])


def _text(vector: Array) -> str:
    """Return the entries with six digits, round-off as zero, and symbols as they are."""
    if vector.dtype == object:
        return ", ".join(map(str, vector))
    return ", ".join(f"{0.0 if abs(x) < ROUND_OFF else x:.6g}" for x in vector)


def _in_axes(tree: Robot, R: Array) -> Robot:
    """Rotate link frames about their origins: R[i] is the new frame of link i in its old one."""
    return in_frames(tree, [Pose(R_LN, np.zeros(3)) for R_LN in R[1:]])
