"""Operations of inverse dynamics that the publications print, and ours on the same general arm."""

from __future__ import annotations

from typing import NamedTuple

from robot_dynamics.compiler.graph.trace import operation_count
from robot_dynamics.compiler.operation_count import OperationCount
from robot_dynamics.formulations import formulation_named
from robot_dynamics.papers.counts.augmented_body_count import (
    compare_renaud,
    compare_renaud_grouped,
)
from robot_dynamics.papers.counts.closed_forms import beside_lee
from robot_dynamics.papers.counts.general_arm import trace_general_arm
from robot_dynamics.papers.counts.recursions import ANGELES_TABLE_1, compare_zero_reference_arm

ARMS = ("stanford", "thomas_tesar", "lee_puma", "puma_gupta", "renaud_6r", "asada_5r1p")
"""Names of the arms of the publications, one reading of each; all have six joints."""

ANY_ARM = "any arm"
"""Arm of a count for six joints in general, whose lengths and bodies are symbols."""

JOINTS = 6

PRINTED_TIME = (
    "printed, newton_euler: 4.5 ms on a PDP 11/45 for six joints: [AsadaSlotine1986], section 5.3.4"
)

_KINDS = {"Newton-Euler": "newton_euler", "Kane": "kane", "Lagrange": "lagrange"}
"""Formulations of the rows of [Angeles1989], table 1."""

_LEE = {"generalized_dalembert": "dalembert"}
"""Formulations of the rows of [Lee1982], table 1, where the names differ."""


class PrintedCount(NamedTuple):
    """A count of a publication, for six joints.

    Attributes:
        formulation: One of `FORMULATIONS`: the equations that it counts, or those nearest to them.
        author: Who counted, and where it is printed.
        arm: `ANY_ARM`, or a name of `ARMS`.
        multiplications: Of one point of a motion.
        additions: The same.
    """

    formulation: str
    author: str
    arm: str
    multiplications: int
    additions: int


def printed_counts() -> list[PrintedCount]:
    """Return every count that the publications print for six joints."""
    found = []
    for author, _, _, multiplications, additions in ANGELES_TABLE_1:
        name, kind = author.rstrip(")").split(" (")
        source = f"{name}: [Angeles1989], table 1"
        found.append(PrintedCount(_KINDS[kind], source, ANY_ARM, multiplications, additions))
    for name, (printed, _) in beside_lee(JOINTS).items():
        source = "Lee, Lee, Nigam: [Lee1982], table 1"
        found.append(_counted(_LEE.get(name, name), source, ANY_ARM, printed))
    gupta = compare_zero_reference_arm().printed
    found.append(_counted("zero_reference", "Gupta: [Gupta1986]", ANY_ARM, gupta))
    for comparison, how in ((compare_renaud(), ""), (compare_renaud_grouped(), ", grouped")):
        source = f"Renaud{how}: [Renaud1987], example"
        found.append(_counted("augmented_body", source, "renaud_6r", comparison.printed))
    return found


def _counted(formulation: str, author: str, arm: str, count: OperationCount) -> PrintedCount:
    return PrintedCount(formulation, author, arm, count.multiplications, count.additions)


def general_count(name: str, n: int = JOINTS) -> OperationCount:
    """Count the operations of a formulation on the general arm of n revolute joints.

    Args:
        name: One of `FORMULATIONS`.
        n: Number of joints.
    """
    equations = formulation_named(name)
    return operation_count(
        trace_general_arm(n, lambda robot, q, qd, qdd: equations(robot, q, qd, qdd, {}))
    )
