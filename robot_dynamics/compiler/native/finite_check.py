"""Whether every number that a kernel reads is finite."""

from __future__ import annotations

from robot_dynamics.compiler.native.ir import Code, Lanes, any_lane


class FiniteCheck:
    """Finds out whether any of many values is infinite or not a number.

    0 x is 0 for every number and nan otherwise, and a sum with nan is nan. There are four
    sums, so that additions need not wait for each other.
    """

    def __init__(self, code: Code, lanes: Lanes) -> None:
        self.code = code
        self.lanes = lanes
        self._zero = lanes.number(0.0)
        self._sums = [self._zero] * 4
        self._count = 0

    def add(self, x: str) -> None:
        """Write the test of one more value."""
        kind, k = self.lanes.type, self._count % 4
        product = self.code.let(f"fmul contract {kind} {x}, {self._zero}")
        self._sums[k] = self.code.let(f"fadd contract {kind} {product}, {self._sums[k]}")
        self._count += 1

    def failed(self) -> str:
        """True (i1) if a value is not finite."""
        total, kind = self._sums[0], self.lanes.type
        for other in self._sums[1:]:
            total = self.code.let(f"fadd {kind} {total}, {other}")
        flags = self.code.let(f"fcmp uno {kind} {total}, {self._zero}")
        return any_lane(self.code, self.lanes, flags)
