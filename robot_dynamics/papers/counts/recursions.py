"""Counts of two recursions beside what their papers print, and what accounts for the difference.

Gupta ([Gupta1986], equations (18) to (29) and (39) to (44)) and Angeles, Ma and
Rojas ([Angeles1989], section 6). Ours are counts of the traced equations on the
general arm of n revolute joints; the differences say, in the order of the steps,
where the two part, as far as the printed steps show it. What they do not show stays
unexplained: Gupta prints totals, and no steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from robot_dynamics.algorithms.composite_body import factorise, solve
from robot_dynamics.compiler.graph.trace import operation_count
from robot_dynamics.compiler.operation_count import OperationCount
from robot_dynamics.formulations import kane, zero_reference, zero_reference_direct
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.papers.counts.general_arm import CentroidalInertia, trace_general_arm
from robot_dynamics.papers.counts.general_zero_arm import trace_general_zero_arm
from robot_dynamics.robot.robot import Robot
from robot_dynamics.spatial import Pose


@dataclass(frozen=True)
class Difference:
    """One reason why our count is not the printed one: what ours has more (less, if negative)."""

    multiplications: int
    additions: int
    reason: str


@dataclass(frozen=True)
class CountComparison:
    """A printed count, ours, and what lies between."""

    printed: OperationCount
    ours: OperationCount
    differences: Sequence[Difference]

    @property
    def unexplained(self) -> tuple[int, int]:
        """Multiplications and additions that the differences leave open."""
        return (
            self.ours.multiplications
            - self.printed.multiplications
            - sum(d.multiplications for d in self.differences),
            self.ours.additions
            - self.printed.additions
            - sum(d.additions for d in self.differences),
        )


# -- Kane's equations -----------------------------------------------------------------------------

ANGELES_TABLE_1 = (
    ("Hollerbach (Lagrange)", "412n - 277", "320n - 201", 2195, 1719),
    ("Luh, Walker, Paul (Newton-Euler)", "150n - 48", "131n - 48", 852, 738),
    ("Walker, Orin (Newton-Euler)", "137n - 22", "101n - 11", 800, 595),
    ("Hollerbach, Sahar (Newton-Euler)", "", "", 688, 558),
    ("Kane, Levinson (Kane)", "", "", 646, 394),
    ("Khalil et al. (Newton-Euler)", "105n - 92", "94n - 86", 538, 478),
    ("Angeles, Ma, Rojas (Kane)", "105n - 109", "90n - 105", 521, 435),
)
"""[Angeles1989], table 1: author, polynomials, and their values for six joints."""


def kane_count(n: int) -> OperationCount:
    """Ours: `formulations.kane` on the general arm of n revolute joints."""
    return operation_count(trace_general_arm(n, _kane))


def compare_kane(n: int = 6) -> CountComparison:
    """Beside 105 n - 109 multiplications and 90 n - 105 additions, eqs. (58) and (59), n > 2."""
    return CountComparison(
        OperationCount(105 * n - 109, 90 * n - 105, 2 * n),
        kane_count(n),
        (
            Difference(
                0,
                -3 * (n - 1),
                "stage 2: a_i - rho_(i-1) is a constant at a revolute joint; the listing of "
                "p-double-dot_i has 25 additions, 3 of them for this difference",
            ),
            Difference(
                -4,
                -3,
                "stage 2, first link: gravity is turned by the constant twist alpha_1 once and "
                "for all, and W_1 rho_1 has no third component",
            ),
            Difference(
                -7,
                -5,
                "stage 2, second link: W_1 has a third row and column of zeros, and the third "
                "component of p-double-dot_1 is a constant",
            ),
            Difference(
                2,
                2,
                "stage 2, second link: omega_1 and omega-dot_1 have one component, which saves "
                "8 + 8; the printed total (56) takes off 10 + 10 from what is listed",
            ),
            Difference(
                2,
                0,
                "stage 3, first link: what tau_1 needs of v_2, w_2, k_1 and u_1 comes to 17 "
                "multiplications; 15 are printed",
            ),
            Difference(
                0,
                4,
                "stage 3: the steps listed come to 44 n - 54 additions, as do ours; (57) prints "
                "44 n - 58",
            ),
        ),
    )


def kane_with_coincident_frames(n: int = 6) -> tuple[OperationCount, OperationCount]:
    """The end of section 6: frames 0 and 1 coincide; printed as 513 and 432 for n = 6.

    The paper takes off the rotation of gravity by Q_1. Ours has no twist left to save, see
    `compare_kane`; only with gravity along the first axis does the turn fall away too.

    Returns:
        Ours with gravity in any direction, and along the first axis.
    """

    def along_axis(robot: Robot, q: Array, qd: Array, qdd: Array) -> Array:
        upright = replace(robot, gravity=np.array([0.0, 0.0, robot.gravity[2]]))
        return _coincident(upright, q, qd, qdd)

    return (
        operation_count(trace_general_arm(n, _coincident)),
        operation_count(trace_general_arm(n, along_axis)),
    )


def _kane(robot: Robot, q: Array, qd: Array, qdd: Array) -> Array:
    return kane.inverse_dynamics(robot, q, qd, qdd, {})


def _coincident(robot: Robot, q: Array, qd: Array, qdd: Array) -> Array:
    first = replace(robot.joints[0], origin=Pose.identity())
    return _kane(replace(robot, joints=(first, *robot.joints[1:])), q, qd, qdd)


# -- zero reference position ----------------------------------------------------------------------


def zero_reference_count(types: str = "RRRRRR", *, one_product: bool = False) -> OperationCount:
    """Ours: `formulations.zero_reference` on a general arm, types as in `general_zero_arm`.

    Args:
        types: A letter for each joint.
        one_product: Whether each link has one product of inertia, as links with a plane of symmetry
            have, in place of three.
    """
    equations = _with_one_product if one_product else zero_reference_torques
    return operation_count(trace_general_zero_arm(types, equations))


WEIGHT = (
    "(27), (28): the weight W* in the axes of the link; (18) to (29) have no step that turns it "
    "there. Ours turns gravity from link to link (9 + 6) and multiplies it by the mass (3)"
)

PRISMATIC_DIFFERENCES = (
    Difference(
        -54,
        -40,
        "R(0, u_ok) is the identity: neither is it built (9 + 10) nor are five vectors multiplied "
        "by it (9 + 6 each); the paper does both, as its 2 sines and cosines show",
    ),
    Difference(3, 0, "(27), (28): gravity, which does not turn, times the mass"),
    Difference(
        3,
        -3,
        "(40), (41), (43): omega and alpha pass unchanged (12 + 12), the acceleration of the "
        "joint centre has the terms of the sliding link (15 + 9)",
    ),
    Difference(0, 6, "(20), (28): u_ok q_k is added to two vectors"),
)


ONE_PRODUCT = (
    "an inertia with one product of inertia in place of three would save just these in (26), twice "
    "4 / 4 of a joint; the paper does not say so, and its table 2 has three"
)
"""Reason that explains the rest of Gupta's counts to the last operation."""


def compare_zero_reference(letter: str = "R", *, one_product: bool = False) -> CountComparison:
    """One more joint in a chain, beside the printed count of that type of joint.

    136 multiplications and 118 additions for a revolute joint, "R"; 139 and 118 for a prismatic
    one, "P". `one_product` is that of `zero_reference_count`: then nothing stays open.
    """
    more, fewer = (
        zero_reference_count(types, one_product=one_product)
        for types in (f"RRR{letter}RRR", "RRRRRR")
    )
    return CountComparison(
        OperationCount(139 if letter == "P" else 136, 118, 2),
        OperationCount(
            more.multiplications - fewer.multiplications,
            more.additions - fewer.additions,
            more.sines_cosines - fewer.sines_cosines,
        ),
        PRISMATIC_DIFFERENCES if letter == "P" else (Difference(12, 6, WEIGHT),),
    )


def compare_zero_reference_arm(*, one_product: bool = False) -> CountComparison:
    """Six revolute joints, beside the printed 816 multiplications and 708 additions."""
    return CountComparison(
        OperationCount(816, 708, 12),
        zero_reference_count("RRRRRR", one_product=one_product),
        (
            Difference(72, 36, WEIGHT),
            Difference(
                -33,
                -36,
                "(40) to (44), first link: the base is at rest, and products with its zeros fall "
                "away",
            ),
            Difference(
                -24, -24, "(27), (28), first link: force and moment at the base are not computed"
            ),
            Difference(0, -9, "(27), (28), last link: no link further out pulls at it"),
        ),
    )


def direct_dynamics_count(types: str = "RRRRRR") -> OperationCount:
    """Ours: `formulations.zero_reference_direct` with the solution of eq. (39)."""
    return operation_count(trace_general_zero_arm(types, direct_dynamics))


def compare_direct_dynamics() -> CountComparison:
    """Six revolute joints, beside the printed 2468 multiplications and 1879 additions."""
    return CountComparison(
        OperationCount(2468, 1879, 12),
        direct_dynamics_count(),
        (
            Difference(72, 36, WEIGHT),
            Difference(
                -57,
                -54,
                "(40) to (44), first link: the base is at rest, and products with its zeros fall "
                "away",
            ),
        ),
    )


def zero_reference_torques(robot: Robot, q: Array, qd: Array, qdd: Array) -> Array:
    """Return the torques of `formulations.zero_reference`, shape (n,)."""
    return zero_reference.inverse_dynamics(robot, q, qd, qdd, {})


def _with_one_product(robot: Robot, q: Array, qd: Array, qdd: Array) -> Array:
    """Leave of the products of inertia the one of x and z."""
    kept = np.array([[True, False, True], [False, True, False], [True, False, True]])
    links = [robot.links[0]]
    for link in robot.links[1:]:
        about_com = np.where(kept, link.inertia.about_com, 0.0)
        body = CentroidalInertia.from_com(link.inertia.mass, link.inertia.com, about_com)
        links.append(replace(link, inertia=body))
    return zero_reference_torques(replace(robot, links=tuple(links)), q, qd, qdd)


def direct_dynamics(robot: Robot, q: Array, qd: Array, tau: Array) -> Any:
    """Return the accelerations by `formulations.zero_reference_direct`, shape (n,)."""
    H, h = zero_reference_direct.equations_of_motion(robot, q, qd, {})
    parents = tuple(k - 1 for k in range(len(q)))
    L, inverse_D = factorise(H, parents)
    return solve(L, inverse_D, parents, tau - h)
