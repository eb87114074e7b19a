"""Signs of lanes: which lanes of a vector hold the negative of their node.

Limbs of two sides are mirror images of each other: where one side adds, the other subtracts, and
one vector instruction does not do both. But a vector of constants, and one that is put together
from scalars, may hold any of its lanes with the other sign. A product multiplies the signs of its
operands; a sum asks for operands whose signs differ alike in all lanes. These are linear equations
over the field of two elements. They are taken up one by one; one that contradicts those before is
dropped, and costs a change of sign where the vector is used.
"""

from __future__ import annotations

from robot_dynamics.compiler.graph.operations import CONSTANT
from robot_dynamics.compiler.graph.packing import Operand, Pack, Packing

Source = Operand | tuple[int, ...]
"""A vector whose signs are free: constants of one operand, or scalars, by their indices."""

Equation = int
"""A sum over the field of two elements: bit 0 is the constant 1, bit k the unknown k."""


class LaneSigns:
    """The signs of all free vectors of a program; the first lane of each keeps its own.

    Args:
        packing: Its packs.
    """

    def __init__(self, packing: Packing) -> None:
        self._unknowns: dict[tuple[Source, int], int] = {}
        self._equations: dict[int, Equation] = {}  # by the last unknown of each
        self._packing = packing
        self._of: dict[Pack, list[Equation]] = {}
        for pack in packing.packs:
            left, right = self._signs(pack.left), self._signs(pack.right)
            both = [a ^ b for a, b in zip(left, right, strict=True)]
            if not pack.multiplies:
                for of_lane in both[1:]:
                    self._take_up(of_lane ^ both[0])
            self._of[pack] = both if pack.multiplies else left
        self._solution = self._solve()

    def chosen(self, operand: Operand) -> tuple[bool, ...]:
        """Lanes of a free vector that hold the negative of their node."""
        source = source_of(operand)
        unknowns = [self._unknowns.get((source, lane), 0) for lane in range(len(operand.nodes))]
        return tuple(k > 0 and bool(self._solution >> k & 1) for k in unknowns)

    def _signs(self, operand: Operand) -> list[Equation]:
        """The sign of every lane as the equations of a pack use it."""
        pack = self._packing.pack_of(operand.nodes)
        signs = self._of[pack] if pack is not None else self._free(source_of(operand), operand)
        return [sign ^ minus for sign, minus in zip(signs, operand.negative, strict=True)]

    def _free(self, source: Source, operand: Operand) -> list[Equation]:
        places = [(source, lane) for lane in range(1, len(operand.nodes))]
        return [0, *(1 << self._unknowns.setdefault(p, len(self._unknowns) + 1) for p in places)]

    def _take_up(self, equation: Equation) -> None:
        """Ask that a sum be zero, unless the equations so far say that it is not."""
        while equation > 1:
            last = equation.bit_length() - 1
            if last not in self._equations:
                self._equations[last] = equation
                return
            equation ^= self._equations[last]

    def _solve(self) -> Equation:
        """The unknowns that are 1, beside the constant; what no equation fixes is 0."""
        solution = 1
        for last in sorted(self._equations):
            if (self._equations[last] & solution).bit_count() % 2:
                solution |= 1 << last
        return solution


def source_of(operand: Operand) -> Source:
    """What tells a free vector from others: constants are written anew wherever they are used."""
    if all(x.op == CONSTANT for x in operand.nodes):
        return operand
    return tuple(x.index for x in operand.nodes)
