"""Number of operations of equations."""

from __future__ import annotations

from dataclasses import dataclass, fields

from robot_dynamics.foundation.text_tables import html_table


@dataclass(frozen=True)
class OperationCount:
    """Number of scalar operations, as the literature counts them.

    Args:
        multiplications: Products of two numbers.
        additions: Sums and differences.
        sines_cosines: Sines and cosines, each counted separately.
        divisions: Reciprocals; x / y is one reciprocal and one multiplication.
        others: Square roots, exponentials and the like.

    Changes of sign are free: an addition turns into a subtraction.
    """

    multiplications: int = 0
    additions: int = 0
    sines_cosines: int = 0
    divisions: int = 0
    others: int = 0

    @property
    def arithmetic(self) -> int:
        """Multiplications and additions together."""
        return self.multiplications + self.additions

    def _repr_html_(self) -> str:
        counts = {field.name: getattr(self, field.name) for field in fields(self)}
        headings = [name.replace("_", " and ") for name in counts]
        return html_table("operations", headings, [counts.values()])

    def __str__(self) -> str:
        text = (
            f"{self.multiplications} multiplications, {self.additions} additions, "
            f"{self.sines_cosines} sines and cosines"
        )
        if self.divisions:
            text += f", {self.divisions} divisions"
        if self.others:
            text += f", {self.others} other functions"
        return text
