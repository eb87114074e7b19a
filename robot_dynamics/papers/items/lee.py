"""Items of [Lee1982]."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from robot_dynamics.compiler.operation_count import OperationCount
from robot_dynamics.formulations import dalembert, lagrange_euler, newton_euler
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.kinematics import frame_pose
from robot_dynamics.papers.counts.closed_forms import (
    DIFFERENCES,
    LEE_TABLE_1,
    at,
    beside_lee,
    dalembert_steps,
)
from robot_dynamics.papers.counts.recursions import CountComparison
from robot_dynamics.papers.items.item import EXACT, Item, Row, count_row, matrix, row
from robot_dynamics.papers.paper_arms import LEE_PUMA_DRAWN, lee_puma
from robot_dynamics.papers.puma_three_link import (
    PumaThreeLink,
    printed_coefficients,
    printed_h_tran,
    printed_inertia,
    puma_vectors,
)
from robot_dynamics.papers.recommended_models import compare_on_the_circle
from robot_dynamics.papers.simplified_models import velocity_coefficients
from robot_dynamics.robot.denavit_hartenberg import TOOL, DHRow, Table
from robot_dynamics.robot.kinematic_tree import JointType

FIGURE_3 = (  # alpha, degrees, a and d, mm, and the range, degrees; row 6 is missing
    (-90, 0, 0, -160, 160),
    (0, 431.8, 149.09, -225, 45),
    (90, -20.32, 0, -45, 225),
    (-90, 0, 433.07, -110, 170),
    (90, 0, 0, -100, 100),
)

ROW_6 = (0, 0, 56.25, -266, 266)
"""Of the PUMA 560."""

TABLE_1_AT_6 = {
    "lagrange_euler": (101348, 77405),
    "newton_euler": (792, 662),
    "generalized_dalembert": (2963, 2209),
}
"""The printed polynomials for six joints, evaluated by hand."""

MORE = {  # multiplications and additions that ours has more, by row, and what is known of it
    "lagrange_euler": (-93159, -70830),
    "newton_euler": (-201, -212),
    "generalized_dalembert": (-1283, -907),
}

FRAGMENTS = (
    "Of the blocks of the figure these fragments are legible: (11n + 36) M, (15n + 18) A with a "
    "doubtful 8; (6n) A; (7n^2 .. n + 42) M; 4n^2 + 11n A; n^3 .. n^2 + 5n A; 20n .. - 3 A. The "
    "blocks that they belong to cannot be made out, nor do they add up to table 1, so that no "
    "block is compared: printed is the whole of table 1, ours what each step of (29) takes."
)


def _arm() -> PumaThreeLink:
    """Three links with chosen bodies: the paper has symbols."""
    coms = np.array([[0.0, 0.05, 0.01], [-0.25, 0.01, 0.02], [0.01, 0.0, 0.12]])
    inertias = np.array([[0.6, 0.3, 0.55], [0.15, 0.9, 0.95], [0.2, 0.21, 0.03]])
    return PumaThreeLink(np.array([10.0, 16.0, 6.0]), coms, inertias)


Q, QD, QDD = np.array([[0.3, -0.7, 1.1], [0.5, -0.8, 1.2], [1.0, -2.0, 0.7]])
SIX: tuple[Array, Array, Array] = (
    np.array([0.3, -0.7, 1.1, 0.4, -0.6, 0.2]),
    np.array([0.5, -0.8, 1.2, 0.3, -0.4, 0.7]),
    np.array([1.0, -2.0, 0.7, 0.6, -0.5, 0.9]),
)


def _table_1() -> Iterator[Row]:
    counts = beside_lee(6)
    for name, numbers in TABLE_1_AT_6.items():
        values = [float(at(polynomial, 6)) for polynomial in LEE_TABLE_1[name]]
        yield row(f"{name}: the polynomials, n = 6", numbers, values, 0.0)
    for name, (printed, ours) in counts.items():
        text = DIFFERENCES.get({"generalized_dalembert": "dalembert"}.get(name, name))
        remark = "not explained" if text is None else " ".join(text.split())
        comparison = CountComparison(printed, ours, ())
        yield count_row(f"{name}, n = 6: ours", comparison, MORE[name], remark)


def _figure_2() -> Iterator[Row]:
    m, a = TABLE_1_AT_6["generalized_dalembert"]
    steps = dalembert_steps(6)
    whole = OperationCount(
        sum(step.multiplications for step in steps.values()),
        sum(step.additions for step in steps.values()),
        12,
    )
    parts = tuple(
        f"{step.multiplications} / {step.additions}: {name}" for name, step in steps.items()
    )
    comparison = CountComparison(OperationCount(m, a, 12), whole, ())
    found = count_row("all blocks, n = 6", comparison, MORE["generalized_dalembert"])
    yield found._replace(reasons=(*parts, *found.reasons))


def _figure_3() -> Iterator[Row]:
    robot = lee_puma()
    for k, (*_, low, high) in enumerate(FIGURE_3):
        limits = robot.moving_joints[k].limits
        yield row(f"range of joint {k + 1} (deg)", (low, high),
                  np.degrees([limits.lower, limits.upper]), EXACT)  # fmt: skip
    rows = tuple(
        DHRow(JointType.REVOLUTE, 1e-3 * a, np.radians(alpha), 1e-3 * d, 0.0)
        for alpha, a, d, *_ in (*FIGURE_3, ROW_6)
    )
    table = Table(rows)
    for name, q in (("drawn", LEE_PUMA_DRAWN), ("another", SIX[0])):
        pose, ours = table.tool_pose(q), frame_pose(robot, q, TOOL)
        yield row(f"{name} pose, by the printed rows: tool (m)", pose.translation,
                  ours.translation)  # fmt: skip
        yield row(f"{name} pose: orientation", pose.rotation, ours.rotation)


def _lagrange_euler() -> Iterator[Row]:
    robot = lee_puma()
    tau = lagrange_euler.inverse_dynamics(robot, *SIX, {})
    yield row("torques by (29) and by (1) (N m)", tau, dalembert.inverse_dynamics(robot, *SIX, {}))
    yield row("torques by Newton-Euler and by (1) (N m)",
              newton_euler.inverse_dynamics(robot, *SIX, {}), tau)  # fmt: skip
    links = lagrange_euler.transformations(robot, SIX[0])
    ours = dalembert.structured_equations(robot, SIX[0], SIX[1])
    yield from matrix("(3) D and (30) (kg m^2)",
                      lagrange_euler.inertia_coefficients(robot, links), ours.D)  # fmt: skip
    C = lagrange_euler.velocity_efforts(robot, links, SIX[1])
    yield row("(4) C and (31), (32) (N m)", C, ours.H_tran + ours.H_rot)
    yield row("(5) G and (33) (N m)", lagrange_euler.gravity_efforts(robot, links), ours.G)


def _vectors() -> Iterator[Row]:
    """Vectors of (6) to (12), of section 4: axes and places of the joints in base axes."""
    arm = _arm()
    robot, v = arm.robot(), puma_vectors(arm, Q)
    for k in range(3):
        X = frame_pose(robot, Q, f"link{k + 1}")
        yield row(f"z_{k}", v.z[k], X.rotation[:, 2])
    yield row("p_2*, from joint 2 to joint 3 (m)", v.p_star[1],
              frame_pose(robot, Q, "link3").translation)  # fmt: skip


def _section_4() -> Iterator[Row]:
    arm = _arm()
    closed, ours = arm.equations(Q, QD), dalembert.structured_equations(arm.robot(), Q, QD)
    yield from matrix("D as printed (kg m^2)", printed_inertia(arm, Q), ours.D)
    yield row("H^tran, the printed brackets (N m)", printed_h_tran(arm, Q, QD), ours.H_tran)
    yield row("H^rot (N m)", closed.H_rot, ours.H_rot)
    yield row("G (N m)", closed.G, ours.G)
    yield row("tau (N m)", arm.inverse_dynamics(Q, QD, QDD), _tau(arm))
    arm = replace(arm, masses=arm.masses * [0.0, 0.0, 1.0])  # what is printed is of link 3
    h = velocity_coefficients(arm.robot(), Q).translation
    for (i, p, q), value in printed_coefficients(arm, Q).items():
        # of the pair of joints 1 and 2 in H_1 the factor 2 is lost in print: put in
        yield row(f"coefficient of rates {p}, {q} in H_{i}^tran (kg m^2)", value,
                  h[i - 1, p - 1, q - 1])  # fmt: skip


def _tau(arm: PumaThreeLink) -> Array:
    return dalembert.inverse_dynamics(arm.robot(), Q, QD, QDD, {})


def _section_3() -> Iterator[Row]:
    comparison = compare_on_the_circle()
    peak = comparison.peak_effort
    reasons = []
    for name, result in comparison.results.items():
        shares = ", ".join(f"{100.0 * x:.1f}" for x in result.peak_error / peak)
        c = result.operations
        reasons.append(f"{name}: {c.multiplications} / {c.additions}; {shares} % of the largest")
    inner = comparison.results["section 3, D"].peak_error[:3] / peak[:3]
    outer = comparison.results["section 3, D"].peak_error[3:] / peak[3:]
    yield row("translation dominates the first three joints: largest error (share)", np.zeros(3),
              inner, 0.10, reasons=tuple(reasons))  # fmt: skip
    yield row("rotation dominates the last three joints: largest error (share)", np.zeros(3),
              outer, 0.10)  # fmt: skip


ITEMS = (
    Item("figure-1", "vectors of the equations", "(6) to (12)",
         "papers.puma_three_link.puma_vectors", _vectors,
         "The figure explains symbols; shown on the three links of section 4."),
    Item("equations", "Lagrange-Euler and generalized d'Alembert", "(1) to (5), (29) to (33)",
         "formulations.dalembert.structured_equations", _lagrange_euler,
         "The paper prints no numbers: bodies and motion of lee_puma are chosen."),
    Item("figure-2", "operations of every block", "figure 2",
         "papers.counts.closed_forms.dalembert_steps", _figure_2, FRAGMENTS),
    Item("table-1", "operations of three formulations", "table 1",
         "papers.counts.closed_forms.beside_lee", _table_1,
         "Denominators are partly lost; with those chosen every polynomial is a whole number."),
    Item("figure-3", "the six-joint PUMA", "figure 3", "papers.paper_arms.lee_puma", _figure_3,
         "Row 6 is missing: it is that of the PUMA 560."),
    Item("section-3", "simplified models", "section 3",
         "papers.recommended_models.compare_on_the_circle", _section_3,
         "The paper prints no numbers for what dominates: a tenth of the largest torque is the "
         "bound here, on the arm of [Gupta1986] along its circle. `robot-dynamics simplify "
         "puma_gupta --motion circle` prints the table."),
    Item("section-4", "three links of a PUMA in closed form", "section 4",
         "papers.puma_three_link.PumaThreeLink", _section_4,
         "The paper prints no numbers: bodies and motion are chosen. G_2 and G_3 have the sign of "
         "an upward z_0."),
)  # fmt: skip
