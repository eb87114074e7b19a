"""The general arm of n revolute joints with nothing known about its numbers, for counting.

The publications count the operations of their equations for an arm whose lengths,
masses and inertias are symbolic parameters. `general_arm` is that arm; `trace_general_arm`
traces a formulation on it. What depends on the constants of the arm alone is computed
once, before the motion, and is therefore not counted: the papers count operations
for each point of a motion.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from robot_dynamics.compiler.graph.expression import Expression
from robot_dynamics.compiler.graph.operations import CONSTANT, INPUT, NEGATE
from robot_dynamics.compiler.graph.trace import Program, Rewritten, rebuilt, rewrite, trace
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot.kinematic_tree import Joint, JointType, Link
from robot_dynamics.robot.robot import Robot
from robot_dynamics.spatial import Inertia, Pose

MOTION = ("q", "qd", "qdd")
"""Inputs that change along a motion; all others of the general arm are constants."""

CONSTANTS = {
    "cos_alpha": (),
    "sin_alpha": (),
    "offset": (3,),
    "mass": (),
    "com": (3,),
    "inertia": (6,),
}
"""Constants of one link and their shapes: twist and position of its joint frame in the link
before, mass, mass centre, and xx, yy, zz, xy, xz, yz of the inertia about the mass centre."""


@dataclass(frozen=True, eq=False)
class CentroidalInertia(Inertia):
    """An inertia that answers with the mass centre and the inertia about it as they were given.

    `Inertia` stores moments about the link origin; symbols would come back from it as fractions.
    """

    given: tuple[Array, Array]

    @staticmethod
    def from_com(mass: Any, com: Any, about_com: Any) -> CentroidalInertia:
        """Keep mass centre (3,) and inertia about it (3, 3) beside the moments that they give."""
        body = Inertia.from_com(mass, com, about_com)
        return CentroidalInertia(mass, body.first_moment, body.second_moment, (com, about_com))

    @property
    def com(self) -> Array:
        """Mass centre as given."""
        return self.given[0]

    @property
    def about_com(self) -> Array:
        """Inertia about the mass centre as given."""
        return self.given[1]


def general_arm(n: int, gravity: Array, **constants: Array) -> Robot:
    """Build the chain of n revolute joints from arrays of symbols (or numbers).

    Every joint turns about z of its link; its frame lies in the link before with a turn about x
    by the twist alpha, as in Denavit and Hartenberg's convention, so that a rotation matrix has
    the pattern that the papers count.

    Args:
        n: Number of joints.
        gravity: Gravitational acceleration, shape (3,).
        constants: One array for each entry of `CONSTANTS`, with n in front of its shape.
    """
    joints, links = [], [Link("link_0")]
    for k in range(n):
        own = {name: array[k] for name, array in constants.items()}
        c, s = own["cos_alpha"], own["sin_alpha"]
        R = np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])
        xx, yy, zz, xy, xz, yz = own["inertia"]
        I_C = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        joints.append(
            Joint(
                f"joint_{k + 1}",
                JointType.REVOLUTE,
                links[-1].name,
                f"link_{k + 1}",
                Pose(R, own["offset"]),
                np.array([0.0, 0.0, 1.0]),
            )
        )
        links.append(
            Link(f"link_{k + 1}", CentroidalInertia.from_com(own["mass"], own["com"], I_C))
        )
    return Robot(f"general {n}R arm", tuple(links), tuple(joints), gravity)


def trace_general_arm(n: int, equations: Callable[[Robot, Array, Array, Array], Any]) -> Program:
    """Trace a function of the general arm and its motion; constants are ready beforehand.

    Args:
        n: Number of joints.
        equations: Called with robot, q, qd, qdd; returns arrays as for `trace`.
    """

    def function(q: Array, qd: Array, qdd: Array, gravity: Array, **constants: Array) -> Any:
        return equations(general_arm(n, gravity, **constants), q, qd, qdd)

    shapes = {name: (n, *shape) for name, shape in CONSTANTS.items()}
    motion = dict.fromkeys(MOTION, (n,))
    return without_constants(trace("general_arm", function, {**motion, "gravity": (3,), **shapes}))


def without_constants(program: Program) -> Program:
    """The same program with everything that no motion changes read from memory."""

    def ready(x: Expression) -> bool:
        return x.op == CONSTANT or (x.op == INPUT and x.value[0] not in MOTION)

    def rule(node: Expression, new: Rewritten) -> Expression:
        operands = [new[a.index] for a in node.args]
        bare = [a.args[0] if a.op == NEGATE else a for a in operands]
        if node.op != NEGATE and all(ready(a) for a in bare):
            return bare[0].graph.input("ready", node.index)
        return rebuilt(node, new)

    return rewrite(program, rule)
