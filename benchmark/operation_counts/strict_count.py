"""A strict reading: every operation that equations carry out, counted where it is carried out.

The count of an expression graph computes nothing twice and nothing in vain. Here a term that
occurs twice counts twice, and what the result does not use counts too, as in a program
that is written line by line from a paper. Free are only what the papers leave out themselves:
products with 0 and 1, sums with 0, changes of sign, and what depends on the constants of the
arm alone, which is ready before the motion.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from robot_dynamics.compiler.operation_count import OperationCount
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.papers.counts import general_arm, general_zero_arm
from robot_dynamics.robot.robot import Robot

Equations = Callable[[Robot, Array, Array, Array], Any]
"""Of robot, q, qd and qdd (or tau), on any scalar."""


class Tally:
    """Operations so far."""

    def __init__(self) -> None:
        self.multiplications = self.additions = self.sines_cosines = self.divisions = 0

    @property
    def count(self) -> OperationCount:
        """As a count."""
        return OperationCount(
            self.multiplications, self.additions, self.sines_cosines, self.divisions
        )


class Operand:
    """A number that is not known, which tells its tally of every operation on it.

    Args:
        tally: Hears of operations.
        ready: Whether it is known before the motion.
    """

    __slots__ = ("ready", "tally")

    def __init__(self, tally: Tally, ready: bool = False) -> None:
        self.tally, self.ready = tally, ready

    def __add__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented  # NumPy takes it entry by entry
        return self if _is(0.0, other) else self._made("additions", other)

    __radd__ = __sub__ = __rsub__ = __add__

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        if _is(0.0, other):
            return 0.0
        one = _is(1.0, other) or _is(-1.0, other)
        return self if one else self._made("multiplications", other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        if not isinstance(other, Operand):
            return self * (1.0 / other)  # by a constant whose reciprocal is known
        return self * other._made("divisions", 1.0)

    def __rtruediv__(self, other: Any) -> Any:
        return 0.0 if _is(0.0, other) else self._made("divisions", 1.0) * other

    def __neg__(self) -> Operand:
        return self

    def sin(self) -> Operand:
        """Sine; `np.sin` calls it."""
        return self._made("sines_cosines", 1.0)

    cos = sin

    def _made(self, kind: str, other: Any) -> Operand:
        ready = self.ready and not (isinstance(other, Operand) and not other.ready)
        if not ready:
            setattr(self.tally, kind, getattr(self.tally, kind) + 1)
        return Operand(self.tally, ready)


def _is(number: float, value: Any) -> bool:
    return not isinstance(value, Operand) and bool(value == number)


def strict_count(n: int, equations: Equations) -> OperationCount:
    """Count equations on the general arm of n revolute joints, `general_arm`."""
    return _counted(
        n, general_arm.CONSTANTS, lambda g, constants: general_arm.general_arm(n, g, **constants),
        equations,
    )  # fmt: skip


def strict_zero_count(types: str, equations: Equations) -> OperationCount:
    """Count equations on the general arm in its zero position, `general_zero_arm`."""
    return _counted(
        len(types),
        general_zero_arm.CONSTANTS,
        lambda g, constants: general_zero_arm.general_zero_arm(types, g, **constants),
        equations,
    )


def _counted(
    n: int,
    constants: Mapping[str, tuple[int, ...]],
    arm: Callable[[Array, dict[str, Array]], Robot],
    equations: Equations,
) -> OperationCount:
    tally = Tally()

    def operands(shape: tuple[int, ...], ready: bool) -> Array:
        array = np.empty(shape, dtype=object)
        for where in np.ndindex(shape):
            array[where] = Operand(tally, ready)
        return array

    parameters = {name: operands((n, *shape), ready=True) for name, shape in constants.items()}
    robot = arm(operands((3,), ready=True), parameters)
    equations(robot, *(operands((n,), ready=False) for _ in range(3)))
    return tally.count
