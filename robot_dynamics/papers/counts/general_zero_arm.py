"""The general arm in its zero reference position, for counting.

As `general_arm`, but for the publication that has no link frames, and with prismatic
joints too: joint axes, body vectors and inertias are symbolic parameters in base axes, and no
component of an axis is known to be zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from robot_dynamics.compiler.graph.trace import Program, trace
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.papers.counts.general_arm import MOTION, CentroidalInertia, without_constants
from robot_dynamics.robot.kinematic_tree import Joint, JointType, Link
from robot_dynamics.robot.robot import Robot
from robot_dynamics.spatial import Pose

CONSTANTS = {"u": (3,), "b": (3,), "s": (3,), "mass": (), "inertia": (6,)}
"""Constants of one joint and the link that it carries, with their shapes: unit vector along the
joint, body vector that ends at it, vector from it to the mass centre, mass, and xx, yy, zz, xy,
xz, yz of the inertia about the mass centre."""


TYPES = {"R": JointType.REVOLUTE, "P": JointType.PRISMATIC}


def general_zero_arm(types: str, gravity: Array, **constants: Array) -> Robot:
    """Build a chain of n joints with all link frames parallel at zero.

    Args:
        types: A letter for each joint from the base: R revolute, P prismatic.
        gravity: Gravitational acceleration, shape (3,).
        constants: One array for each entry of `CONSTANTS`, with n in front of its shape.
    """
    joints, links = [], [Link("link_1")]
    for k, letter in enumerate(types):
        own = {name: array[k] for name, array in constants.items()}
        xx, yy, zz, xy, xz, yz = own["inertia"]
        I_G = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        joints.append(
            Joint(
                f"joint_{k + 1}",
                TYPES[letter],
                links[-1].name,
                f"link_{k + 2}",
                Pose(np.eye(3), own["b"]),
                own["u"],
            )
        )
        body = CentroidalInertia.from_com(own["mass"], own["s"], I_G)
        links.append(Link(f"link_{k + 2}", body))
    return Robot(f"general {types} arm", tuple(links), tuple(joints), gravity)


def trace_general_zero_arm(
    types: str, equations: Callable[[Robot, Array, Array, Array], Any]
) -> Program:
    """Trace a function of the general arm and its motion; constants are ready beforehand.

    Args:
        types: A letter for each joint, as for `general_zero_arm`.
        equations: Called with robot, q, qd, qdd; returns arrays as for `trace`.
    """

    def function(q: Array, qd: Array, qdd: Array, gravity: Array, **constants: Array) -> Any:
        return equations(general_zero_arm(types, gravity, **constants), q, qd, qdd)

    n = len(types)
    shapes = {name: (n, *shape) for name, shape in CONSTANTS.items()}
    motion = dict.fromkeys(MOTION, (n,))
    program = trace("general_zero_arm", function, {**motion, "gravity": (3,), **shapes})
    return without_constants(program)
