"""Count of the Newton-Euler recursion beside the number that everyone cites for it.

Luh, Walker and Paul's 150 n - 48 multiplications and 131 n - 48 additions, 852 and
738 for six joints, are printed in [Angeles1989], table 1, and in [AsadaSlotine1986],
section 5.3.4; their own list of steps is not among the publications of this
package. What depends on them stays unexplained: ours costs `FORMAL` for a link, with
frames on the joint that carries it, so that its axis is (0, 0, 1) and one vector leads
from joint to joint; theirs lie on the next joint.
"""

from __future__ import annotations

from robot_dynamics.compiler.graph.trace import operation_count
from robot_dynamics.compiler.operation_count import OperationCount
from robot_dynamics.formulations import newton_euler
from robot_dynamics.papers.counts.general_arm import trace_general_arm
from robot_dynamics.papers.counts.recursions import CountComparison, Difference

FORMAL = (126, 100)
"""Multiplications and additions of one link by `formulations.newton_euler`, term by term.

Joint matrix R0 Rz (4, 0); five vectors rotated by a full matrix: omega, its rate, a, f and m
(45, 30); a + wd x p + w x (w x p) (18, 15); angular velocity and acceleration (2, 4);
a_C (18, 15); F (3, 0); I_C wd + w x (I_C w) (24, 15); c x F (6, 3) and the sum of moments
(0, 6); f (0, 3); p x f (6, 3) and moment on the link before (0, 6).
"""


def newton_euler_count(n: int) -> OperationCount:
    """Ours: `formulations.newton_euler` on the general arm of n revolute joints."""
    return operation_count(
        trace_general_arm(
            n, lambda robot, q, qd, qdd: newton_euler.inverse_dynamics(robot, q, qd, qdd, {})
        )
    )


def compare_newton_euler(n: int = 6) -> CountComparison:
    """Beside 150 n - 48 multiplications and 131 n - 48 additions, n > 1."""
    return CountComparison(
        OperationCount(150 * n - 48, 131 * n - 48, 2 * n),
        newton_euler_count(n),
        (
            Difference(
                -5 * n,
                -5 * n,
                "Rx(alpha) Rz(theta) has a zero, which each of five rotations of a vector saves",
            ),
            Difference(
                -87,
                -72,
                "first and last link: the base is at rest, gravity in the axes before joint 1 is "
                "constant, the force on the base is not computed, and nothing pulls at the tip; "
                "the paper's 48 and 48 are part of this",
            ),
        ),
    )
