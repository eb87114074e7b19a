"""Counts of the two closed forms beside the polynomials of Lee, Lee and Nigam.

[Lee1982], table 1, counts the operations for one point of a motion of a general arm
with n revolute joints. `dalembert_steps` counts this package's equations on `general_arm`, step by
step; `DIFFERENCES` says where the steps part from the paper.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from robot_dynamics.algorithms.base_axes import BaseAxes, base_axes
from robot_dynamics.compiler.graph.trace import Program, operation_count
from robot_dynamics.compiler.operation_count import OperationCount
from robot_dynamics.formulations import dalembert, formulation_named
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.papers.counts.general_arm import trace_general_arm
from robot_dynamics.robot.robot import Robot

Polynomial = tuple[Fraction, ...]
"""Coefficients of a polynomial in the number of joints, constant first."""


def _polynomial(*coefficients: str) -> Polynomial:
    """Coefficients as printed, highest power first."""
    return tuple(Fraction(text) for text in reversed(coefficients))


LEE_TABLE_1: Mapping[str, tuple[Polynomial, Polynomial]] = {
    "lagrange_euler": (
        _polynomial("128/3", "512/3", "739/3", "160/3", "0"),
        _polynomial("98/3", "781/6", "559/3", "245/6", "0"),
    ),
    "newton_euler": (_polynomial("132", "0"), _polynomial("111", "-4")),
    "generalized_dalembert": (
        _polynomial("13/6", "105/2", "268/3", "69"),
        _polynomial("4/3", "44", "146/3", "45"),
    ),
}
"""Multiplications and additions of [Lee1982], table 1."""


OURS: Mapping[str, tuple[Polynomial, Polynomial]] = {
    "dalembert": (
        _polynomial("7/6", "22", "779/6", "-143"),
        _polynomial("1", "17", "102", "-138"),
    ),
    "lagrange_euler": (
        _polynomial("13/8", "239/12", "439/8", "-401/12", "6"),
        _polynomial("3/2", "16", "38", "-67/2", "8"),
    ),
    "lagrange": (
        _polynomial("5/6", "13/2", "79/6", "199/2", "-74"),
        _polynomial("19/24", "17/4", "197/24", "263/4", "-48"),
    ),
}
"""Multiplications and additions of this package's equations, exact from three joints on."""

DIFFERENCES: Mapping[str, str] = {
    "dalembert": """\
n^3: in ours, D alone. Every choice of i <= j <= s, n^3/6 of them, costs a product of two axes
through the inertia (3 mult, 2 add), one of two velocity columns (3 mult, 2 add), the mass (1 mult)
and two running sums (2 add): 7/6 n^3 and n^3. n^2: velocity columns 3 and 3; axes in links 4 and
2.5; their products with the inertia and the rest of D 6.5 and 4; (31) 1.5 and 1.5; (32) 6 and 4.5;
D qdd 1 and 1.5. n: rotation and origin of every link in the base 37 and 24, (31) 49.5 and 39.5,
(33) 21 and 17. Constant: the base is at rest, so that products of the first link with 0 and 1 are
never formed, which the paper, whose polynomial counts all links alike, does form.
The paper's steps stand in its figure 2, which is not legible in the copies at hand: the rest of the
difference, n^3 and n^3/3, 30.5 n^2 and 27 n^2, and what is left of n, is not explained.""",
    "lagrange_euler": """\
Ours are the same equations (1) to (5) on the same matrices. The paper multiplies all zeros and ones
of a 4 x 4 matrix out: with 64 mult for a product, the two products of (4) for every i, k, m and
s >= max(i, k), n^4/3 of them, come to its 128/3 n^4. Ours forms the trace without the second
product (16 mult at most), pairs k <= m only, links that all three joints move only, and leaves out
zeros and ones: 13/8 n^4. Its 98/3 n^4 additions, one less than 48 + 48 + 3 for the same, and its
lower powers are not explained: the paper lists no steps.""",
    "lagrange": """\
Not a form that the paper counts: Jacobians of mass centres (5-28) and derivatives (5-39) of Asada
and Slotine. Derivatives dH_ij/dq_k that vanish because k lies inward of i and j are left out, and
H_ij = H_ji is computed once; 20 mult and 19 add for each of n^4/24 choices of three joints and a
link. The book cites 66271 mult at n = 6 for Lagrange-Euler equations and does not say how they were
counted; neither they nor how they differ from Lee's 101348 is explained.""",
}
"""Differences between our steps and those of the papers, as far as the papers show them."""


def at(polynomial: Polynomial, n: int) -> Fraction:
    """Value of a polynomial at n."""
    return sum((c * n**power for power, c in enumerate(polynomial)), Fraction(0))


def polynomial_through(values: Mapping[int, int]) -> Polynomial:
    """Polynomial of lowest degree through the given values, exactly (Newton's differences)."""
    points = sorted(values)
    differences = [Fraction(values[n]) for n in points]
    basis, total = [Fraction(1)], [Fraction(0)] * len(points)
    for k, n in enumerate(points):
        for power, c in enumerate(basis):
            total[power] += differences[0] * c
        basis = [
            (basis[p - 1] if p else Fraction(0)) - n * (basis[p] if p < len(basis) else Fraction(0))
            for p in range(len(basis) + 1)
        ]
        differences = [
            (differences[i + 1] - differences[i]) / (points[i + k + 1] - points[i])
            for i in range(len(differences) - 1)
        ]
    while len(total) > 1 and total[-1] == 0:
        total.pop()
    return tuple(total)


def closed_form_count(n: int, formulation: str) -> OperationCount:
    """Count a formulation for one point of a motion of the general arm of n joints."""
    equations = formulation_named(formulation)
    return operation_count(
        trace_general_arm(n, lambda robot, q, qd, qdd: equations(robot, q, qd, qdd, {}))
    )


def beside_lee(n: int) -> dict[str, tuple[OperationCount, OperationCount]]:
    """Count each row of [Lee1982], table 1, for n joints: as printed, and as here."""
    ours = {
        "lagrange_euler": "lagrange_euler",
        "newton_euler": "newton_euler",
        "generalized_dalembert": "dalembert",
    }
    rows = {}
    for row, (multiplications, additions) in LEE_TABLE_1.items():
        printed = OperationCount(int(at(multiplications, n)), int(at(additions, n)))
        rows[row] = printed, closed_form_count(n, ours[row])
    return rows


def dalembert_steps(n: int) -> dict[str, OperationCount]:
    """Count each step of `formulations.dalembert` on the general arm of n joints."""

    def step(name: str, robot: Robot, axes: BaseAxes, qd: Array, qdd: Array) -> Any:
        every = range(len(robot.joints))
        if name == "(7) axes in links":
            return dalembert.axes_in_link(robot, axes)
        if name == "(12) velocity columns":
            return [dalembert.velocity_columns(robot, axes, s) for s in every]
        if name == "(30) D, translation":
            return dalembert.inertia_coefficients(robot, axes)[0]
        if name == "(30) D, rotation":
            return dalembert.inertia_coefficients(robot, axes)[1]
        if name == "(31) H, translation":
            return dalembert.translational_velocity_efforts(robot, axes, qd)
        if name == "(32) H, rotation":
            return dalembert.rotational_velocity_efforts(robot, axes, qd)
        if name == "(33) G":
            return dalembert.gravity_efforts(robot, axes)
        e = dalembert.equations_on_tree(robot, axes, qd)
        return e.D @ qdd + e.H_tran + e.H_rot + e.G

    names = (
        "(12) velocity columns",
        "(30) D, translation",
        "(7) axes in links",
        "(30) D, rotation",
        "(31) H, translation",
        "(32) H, rotation",
        "(33) G",
        "(29) torque",
    )
    return _steps(n, names, step)


FRAMES = "frames in the base"
"""First step of both: rotation of every link in the link before and in the base, origins."""


def _steps(
    n: int, names: Sequence[str], step: Callable[[str, Robot, BaseAxes, Array, Array], Any]
) -> dict[str, OperationCount]:
    """Share out the operations of the last step among the steps that first need them."""

    def equations(robot: Robot, q: Array, qd: Array, qdd: Array) -> Any:
        axes = base_axes(robot, q)
        found = {FRAMES: [*axes.R_P, *axes.R, *axes.p, *axes.b]}
        found.update((name, step(name, robot, axes, qd, qdd)) for name in names)
        arrays = [np.concatenate([np.ravel(a) for a in list(v)]) for v in found.values()]
        return {f"step_{k}": array for k, array in enumerate(arrays)}

    program = trace_general_arm(n, equations)
    outputs = list(program.outputs)

    def count(*chosen: str) -> OperationCount:
        some = {name: program.outputs[name] for name in chosen}
        return operation_count(Program("steps", program.inputs, some))

    counts, before = {}, (0, 0, 0)
    for k, name in enumerate((FRAMES, *names)):
        # Operations of steps 0 to k that the result needs: |A and B| = |A| + |B| - |A or B|
        parts = count(*outputs[: k + 1]), count(outputs[-1]), count(*outputs[: k + 1], outputs[-1])
        m, a, sc = (
            sum(sign * getattr(part, kind) for sign, part in zip((1, 1, -1), parts, strict=True))
            for kind in ("multiplications", "additions", "sines_cosines")
        )
        counts[name] = OperationCount(m - before[0], a - before[1], sc - before[2])
        before = m, a, sc
    return counts
