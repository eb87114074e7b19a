"""Counts of the augmented-body recursion beside the step table of its paper.

The example of [Renaud1987] is an arm with six revolute joints whose augmented
bodies are symbolic: each mass centre on one axis of its frame, no products of
inertia. `renaud_arm` is that arm, `count_renaud` counts `formulations.augmented_body` on it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from robot_dynamics.compiler.graph.trace import trace
from robot_dynamics.compiler.operation_count import OperationCount
from robot_dynamics.formulations.augmented_body import backward, forward
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.papers.counts.general_arm import without_constants
from robot_dynamics.papers.counts.recursions import CountComparison, Difference
from robot_dynamics.papers.counts.steps import count_steps, flat
from robot_dynamics.robot.kinematic_tree import Joint, JointType, Link
from robot_dynamics.robot.robot import Robot
from robot_dynamics.spatial import Inertia, Pose

TWISTS = (0, 1, 0, 1, -1, 1)
"""Twist alpha_(i-1) of every joint, in right angles."""

PRINTED: Mapping[str, tuple[int, int]] = {
    "1": (18, 12),
    "2": (25, 0),
    "3": (28, 22),
    "4": (0, 15),
    "6": (22, 12),
    "7": (26, 16),
    "9": (62, 50),
}
"""Multiplications and additions of every step, as printed; steps 0, 5, 8 and 10 have none."""

PRINTED_TOTAL = OperationCount(181, 127, 10)
PRINTED_GROUPED = OperationCount(164, 115, 10)
"""With y_5 and z_6 as their difference."""


def renaud_arm(lengths: Array, first: Array, second: Array) -> Robot:
    """The example as a robot of bodies without mass, whose moments are the augmented ones.

    Augmenting a massless body leaves it as it is, so that step 0 is done beforehand, as printed.

    Args:
        lengths: Distance a2 of axes 2 and 3, distance r4 of the wrist from axis 3, and the
            acceleration g due to gravity along -z_0, shape (3,); numbers or symbols.
        first: First moments of the augmented bodies: z1, X2, Y3, z4, y5, z6, each along the axis
            that the letter names, shape (6,).
        second: Second moments a*, b*, c* of the augmented bodies, shape (6, 3).
    """
    a2, r4, g = lengths
    p = np.zeros((6, 3), dtype=lengths.dtype)
    p[2, 0], p[3, 1] = a2, -r4
    joints, links = [], [Link("mount")]
    for i, (twist, axis) in enumerate(zip(TWISTS, (2, 0, 1, 2, 1, 2), strict=True)):
        c, s = float(twist == 0), float(twist)
        R = np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])
        u = np.zeros(3, dtype=first.dtype)
        u[axis] = first[i]
        joints.append(
            Joint(
                f"q{i + 1}",
                JointType.REVOLUTE,
                links[-1].name,
                f"body {i + 1}",
                Pose(R, p[i]),
                np.array([0.0, 0.0, 1.0]),
            )
        )
        links.append(Link(f"body {i + 1}", Inertia(0.0, u, np.diag(second[i]))))
    gravity = np.array([0.0, 0.0, -g])
    return Robot("Renaud's 6R arm", tuple(links), tuple(joints), gravity)


def count_renaud(grouped: bool = False) -> Mapping[str, OperationCount]:
    """Count the steps of the example, by their numbers.

    Args:
        grouped: Put y_5 - z_6 in place of y_5 and 0 in place of z_6, which only ever occur as
            this difference: the improvement that ends the paper's example.
    """

    def steps(
        q: Array, qd: Array, qdd: Array, lengths: Array, first: Array, second: Array
    ) -> Mapping[str, Array]:
        u = first * np.array([1.0, 1.0, 1.0, 1.0, 1.0, 0.0]) if grouped else first
        robot = renaud_arm(lengths, u, second)
        motion = forward(robot, q, qd, qdd)
        forces = backward(robot, motion, {})
        return {
            "step_1": flat(motion.omega),
            "step_2": flat(motion.delta),
            "step_3": flat(motion.a),
            "step_4": flat(motion.b),
            "step_6": flat(motion.alpha),
            "step_7": flat(forces.e),
            "step_9": forces.Gamma,
        }

    shapes = {"q": (6,), "qd": (6,), "qdd": (6,), "lengths": (3,), "first": (6,), "second": (6, 3)}
    counts = count_steps(without_constants(trace("renaud", steps, shapes)))
    return {name.removeprefix("step_"): count for name, count in counts.items()}


def compare_renaud() -> CountComparison:
    """Beside 181 multiplications and 127 additions."""
    return CountComparison(
        PRINTED_TOTAL,
        _total(count_renaud()),
        (
            Difference(
                -2,
                0,
                "step 3, body 2: omega_2z is the rate of joint 2, so that the products of that "
                "rate with omega_1 in (3b) are two products of step 2 already. The table has them "
                "twice; with them once the grouped parameters come to the 164 that are printed",
            ),
        ),
    )


def compare_renaud_grouped() -> CountComparison:
    """Beside 164 multiplications and 115 additions, y_5 - z_6 being one parameter."""
    return CountComparison(PRINTED_GROUPED, _total(count_renaud(grouped=True)), ())


def _total(counts: Mapping[str, OperationCount]) -> OperationCount:
    def total(of: Callable[[OperationCount], int]) -> int:
        return sum(of(count) for count in counts.values())

    return OperationCount(
        total(lambda c: c.multiplications),
        total(lambda c: c.additions),
        total(lambda c: c.sines_cosines),
    )
