"""A reduced robot: what it is, how its equations are written and what they cost."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.compiler.graph.count import operation_count
from robot_dynamics.compiler.graph.operations import CONSTANT, MULTIPLY
from robot_dynamics.compiler.graph.trace import Program, trace
from robot_dynamics.reduction import augmented_body_columns
from robot_dynamics.reduction.augmented_body_columns import RecursionOptions
from robot_dynamics.robot.endpoint import Wrenches
from robot_dynamics.robot.joint_frames import Residual, in_length_unit
from robot_dynamics.robot.robot import Robot

SMALLEST_UNIT_M = 1e-3
"""Length unit, m, below which (or above its inverse) constants would only look strange."""


@dataclass(frozen=True, eq=False)
class ReducedRobot:
    """A robot whose inverse dynamics takes few operations, and how to write it.

    Args:
        robot: Tree in joint frames with regrouped bodies, which are not physical. Frames of the
            original links are among its named frames. SI units.
        options: How the equations of each link are written.
        length_unit: Unit in which the lengths of the equations are expressed, m.
        residual: Largest change of a constant, by snapping.
        torque_residual: Largest change of a torque or an acceleration, relative to the largest,
            at random states: what snapping and round-off amount to.
    """

    robot: Robot
    options: tuple[RecursionOptions, ...]
    length_unit: float
    residual: Residual
    torque_residual: float = 0.0

    def inverse_dynamics(
        self, robot: Robot, q: Array, qd: Array, qdd: Array, wrenches: Wrenches
    ) -> Array:
        """Joint efforts: a formulation to use in place of `augmented_body`.

        Args:
            robot: `self.robot`, perhaps with other gravity or with a load added to its bodies,
                as numbers or symbols.
            q: Joint positions, shape (n,), rad or m.
            qd: Joint velocities, shape (n,).
            qdd: Joint accelerations, shape (n,).
            wrenches: Force and moment that links of `robot` exert on their surroundings.

        Returns:
            Joint efforts, shape (n,), N m or N.
        """
        unit = self.length_unit
        per_unit = np.array([1.0 if j.type.rotates else 1.0 / unit for j in robot.joints])
        tau = augmented_body_columns.inverse_dynamics(
            in_length_unit(robot, unit),
            q * per_unit,
            qd * per_unit,
            qdd * per_unit,
            {i: (force * unit, moment) for i, (force, moment) in wrenches.items()},
            self.options,
        )
        return tau * per_unit


def cost(reduced: ReducedRobot) -> tuple[int, int]:
    """Operations and, to break ties, multiplications of the inverse dynamics."""
    count = operation_count(program(reduced))
    return count.arithmetic, count.multiplications


def program(reduced: ReducedRobot) -> Program:
    """The equations of the inverse dynamics, before graph passes."""
    n = len(reduced.robot.joints)

    def equations(q: Array, qd: Array, qdd: Array) -> Array:
        return reduced.inverse_dynamics(reduced.robot, q, qd, qdd, {})

    return trace("inverse", equations, {"q": (n,), "qd": (n,), "qdd": (n,)})


def units(reduced: ReducedRobot) -> list[float]:
    """Units that turn a length or first moment into one, the most often used constant first."""
    robot = reduced.robot
    products = Counter(
        float(node.args[0].value)
        for node in program(reduced).nodes
        if node.op == MULTIPLY and node.args[0].op == CONSTANT
    )
    lengths = {abs(float(x)) for joint in robot.joints for x in joint.origin.translation}
    moments = {abs(float(x)) for link in robot.links for x in link.inertia.first_moment}
    saved: Counter[float] = Counter({1.0: 0})
    for value in lengths | moments:
        unit = value if value in lengths else 1.0 / value if value else 0.0
        if SMALLEST_UNIT_M <= unit <= 1.0 / SMALLEST_UNIT_M:
            saved[unit] += products[value]
    return sorted(saved, key=lambda unit: (-saved[unit], unit))
