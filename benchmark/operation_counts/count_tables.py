"""The papers' tables of operation counts, with ours beside every row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmark.operation_counts.strict_count import strict_count, strict_zero_count
from benchmark.table import Table
from robot_dynamics.compiler.operation_count import OperationCount
from robot_dynamics.formulations import FORMULATIONS, formulation_named
from robot_dynamics.papers.counts.augmented_body_count import (
    PRINTED,
    compare_renaud,
    compare_renaud_grouped,
    count_renaud,
)
from robot_dynamics.papers.counts.closed_forms import DIFFERENCES, beside_lee, polynomial_through
from robot_dynamics.papers.counts.newton_euler_count import compare_newton_euler
from robot_dynamics.papers.counts.printed_counts import general_count
from robot_dynamics.papers.counts.recursions import (
    ANGELES_TABLE_1,
    ONE_PRODUCT,
    CountComparison,
    compare_direct_dynamics,
    compare_kane,
    compare_zero_reference,
    compare_zero_reference_arm,
    direct_dynamics,
    kane_with_coincident_frames,
    zero_reference_torques,
)


def general_arm_table() -> Table:
    """Every formulation on the general arm, and the rows of the literature."""
    rows = []
    for name, title in FORMULATIONS.items():
        found = {n: general_count(name, n) for n in range(3, 9 if _closed_form(name) else 6)}
        polynomials = [
            _written(polynomial_through({n: getattr(c, kind) for n, c in found.items()}))
            for kind in ("multiplications", "additions")
        ]
        six = found[6] if 6 in found else general_count(name, 6)
        rows.append([f"`{name}`, {title}", *polynomials, pair(six), pair(_strict_count(name, 6))])
    for author, multiplications, additions, m6, a6 in ANGELES_TABLE_1:
        rows.append([f"printed: {author}", multiplications, additions, f"{m6} / {a6}", ""])
    about = (
        "Ours are exact from three joints on, gravity in any direction. The printed rows are those "
        "of [Angeles1989], table 1. Renaud's paper has no count for the general arm. Gupta counts "
        "an arm whose joint axes are symbolic too, which is compared below; here they are known "
        "in the axes of their links. The last column is a strict reading: every operation that the "
        "equations as written carry out, terms that occur twice counted twice and results that "
        "are not needed counted too; zeros, ones and terms of parameters alone are free there "
        "as well."
    )
    header = ["formulation", "multiplications", "additions", "n = 6", "strict, n = 6"]
    return Table("The general arm of n revolute joints", about, header, rows)


def renaud_table() -> Table:
    """Renaud's step table beside ours."""
    ours, grouped = count_renaud(), count_renaud(grouped=True)
    rows = [
        [step, f"{m} / {a}", pair(ours[step]), pair(grouped[step])]
        for step, (m, a) in PRINTED.items()
    ]
    whole, less = compare_renaud(), compare_renaud_grouped()
    rows.append(["total", pair(whole.printed), pair(whole.ours), pair(less.ours)])
    rows.append(["total, grouped", pair(less.printed), "", pair(less.ours)])
    about = (
        "`augmented_body` on the 6R arm of the paper's example, augmented bodies symbolic. "
        "Steps 0, 5, 8 and 10 need nothing. In the last column y_5 - z_6 is one parameter."
    )
    header = ["step", "printed", "ours", "ours, grouped"]
    return Table("Renaud's example", about, header, rows)


def lee_table() -> Table:
    """Lee's polynomials for six joints beside ours."""
    names = {
        "lagrange_euler": "Lagrange-Euler / `lagrange_euler`",
        "newton_euler": "Newton-Euler / `newton_euler`",
        "generalized_dalembert": "generalized d'Alembert / `dalembert`",
    }
    rows = [
        [names[row], pair(printed), pair(ours)] for row, (printed, ours) in beside_lee(6).items()
    ]
    about = (
        "[Lee1982], table 1: 128/3 n^4 + 512/3 n^3 + 739/3 n^2 + 160/3 n and 98/3 n^4 + 781/6 n^3 "
        "+ 559/3 n^2 + 245/6 n for Lagrange-Euler, 132 n and 111 n - 4 for Newton-Euler, "
        "13/6 n^3 + 105/2 n^2 + 268/3 n + 69 and 4/3 n^3 + 44 n^2 + 146/3 n + 45 for "
        "d'Alembert, here for n = 6."
    )
    return Table("Lee's polynomials", about, ["row", "printed", "ours"], rows)


def differences(
    title: str, comparison: CountComparison, strict: OperationCount | None = None
) -> str:
    """A printed count, ours (by a strict reading too, if given), and what lies between."""
    strictly = f" ({pair(strict)} by a strict reading)" if strict else ""
    lines = [
        f"**{title}**: printed {pair(comparison.printed)}, ours {pair(comparison.ours)}{strictly}.",
        "",
    ]
    lines += [
        f"- {d.multiplications:+d} / {d.additions:+d}: {d.reason}" for d in comparison.differences
    ]
    open_ = comparison.unexplained
    if open_ != (0, 0):
        lines.append(f"- {open_[0]:+d} / {open_[1]:+d}: not explained")
    return "\n".join(lines)


def compared_counts() -> Iterator[str]:
    """Every count beside the printed one, step by step, as paragraphs of Markdown."""
    yield general_arm_table().markdown()
    yield (
        "## Where ours differ\n\nThe sum of the lines is the difference, to the last operation. A "
        "reason stands only where the printed steps, or the printed totals, show it; the rest is "
        "not explained."
    )
    yield "### Luh, Walker, Paul: `newton_euler`"
    yield differences("Six joints", compare_newton_euler(), _strict_count("newton_euler", 6))
    yield "### Angeles, Ma, Rojas: `kane`"
    yield differences("Six joints", compare_kane(), _strict_count("kane", 6))
    any_gravity, along_axis = kane_with_coincident_frames()
    yield (
        "With frames 0 and 1 coincident the paper has 513 / 432; ours is then "
        f"{pair(any_gravity)} with gravity in any direction and {pair(along_axis)} with gravity "
        "along the first axis."
    )
    yield "### Gupta: `zero_reference`"
    yield differences("One revolute joint more", compare_zero_reference("R"))
    yield differences("One prismatic joint more", compare_zero_reference("P"))
    strict = strict_zero_count("RRRRRR", zero_reference_torques)
    yield differences("Six revolute joints", compare_zero_reference_arm(), strict)
    yield f"Of the 8 / 8 of each joint that are not explained: {ONE_PRODUCT}."
    strict = strict_zero_count("RRRRRR", direct_dynamics)
    yield differences("Direct dynamics, six revolute joints", compare_direct_dynamics(), strict)
    yield "### Lee, Lee, Nigam: `dalembert` and `lagrange_euler`; `lagrange`"
    yield lee_table().markdown().replace("## ", "#### ")
    for name, text in DIFFERENCES.items():
        yield f"`{name}`: " + text
    yield "### Renaud: `augmented_body`"
    yield renaud_table().markdown().replace("## ", "#### ")
    yield differences("The example", compare_renaud())
    yield differences("The example, y_5 - z_6 one parameter", compare_renaud_grouped())


# -- numbers as text -------------------------------------------------------------------------


def _strict_count(name: str, n: int) -> OperationCount:
    equations = formulation_named(name)
    return strict_count(n, lambda robot, q, qd, qdd: equations(robot, q, qd, qdd, {}))


def _closed_form(name: str) -> bool:
    """Return whether the count grows faster than the number of joints."""
    return name in ("lagrange", "dalembert", "lagrange_euler")


def pair(found: OperationCount) -> str:
    """Multiplications / additions."""
    return f"{found.multiplications} / {found.additions}"


def _written(polynomial: Sequence[object]) -> str:
    """A polynomial with the highest power first, such as 105n - 109."""
    text = ""
    for power in reversed(range(len(polynomial))):
        coefficient = str(polynomial[power])
        if coefficient == "0":
            continue
        sign, size = (" - ", coefficient[1:]) if coefficient[0] == "-" else (" + ", coefficient)
        variable = {0: "", 1: "n"}.get(power, f"n^{power}")
        number = (
            "" if size == "1" and variable else size + (" " if "/" in size and variable else "")
        )
        text += sign + number + variable
    return text.removeprefix(" + ")
