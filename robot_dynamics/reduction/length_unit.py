"""A length unit other than the metre, in which constants become ones."""

from __future__ import annotations

from collections import Counter

from robot_dynamics.compiler.graph.operations import CONSTANT, MULTIPLY
from robot_dynamics.reduction.reduced_robot import ReducedRobot, program

SMALLEST_UNIT = 1e-3  # m; beyond, constants would only look strange


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
        if SMALLEST_UNIT <= unit <= 1.0 / SMALLEST_UNIT:
            saved[unit] += products[value]
    return sorted(saved, key=lambda unit: (-saved[unit], unit))
