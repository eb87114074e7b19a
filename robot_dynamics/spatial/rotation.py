"""Rotations, as matrices and as turns about coordinate axes, and vectors, on any scalar.

NumPy carries floats and symbols: an array of floats computes numbers, an object array of
symbols builds an expression graph. These functions return whichever fits what they are
given, and never branch on a value that varies.

A turn about a coordinate axis costs 4 multiplications for a vector, 8 for a symmetric matrix,
and nothing at all by a right angle, as most constant turns are; a full rotation matrix takes 9
and some 40.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from robot_dynamics.arrays import Array


def rotation_about(axis: Array, angle: Array) -> Array:
    """Rotation matrix of a turn by `angle` (rad) about the unit vector `axis`.

    A component of the axis that is exactly zero or one leaves no operations
    behind when the equations are traced.
    """
    return rodrigues(axis, np.cos(angle), np.sin(angle))


def rodrigues(u: Array, c: Any, s: Any) -> Array:
    """Rotation matrix about the unit vector u by an angle of cosine c and sine s (Rodrigues)."""
    v = 1.0 - c
    return np.array(
        [
            [c + v * (u[0] * u[0]), v * (u[0] * u[1]) - s * u[2], v * (u[0] * u[2]) + s * u[1]],
            [v * (u[0] * u[1]) + s * u[2], c + v * (u[1] * u[1]), v * (u[1] * u[2]) - s * u[0]],
            [v * (u[0] * u[2]) - s * u[1], v * (u[1] * u[2]) + s * u[0], c + v * (u[2] * u[2])],
        ]
    )


RIGHT_ANGLE = 1e-11
"""What an angle may differ from a multiple of a right angle, as which it is then taken, rad."""


def cosine_and_sine(angle: npt.ArrayLike) -> tuple[Array, Array]:
    """Cosine and sine of constant angles, rad: of right angles exactly 0, 1 and -1.

    In floats the cosine of pi / 2 is 6e-17, and 5e-12 if the angle was printed with eleven
    decimals, as exporters do; compiled equations would multiply by such numbers forever. An angle
    within `RIGHT_ANGLE` of a multiple of pi / 2 is therefore taken as that multiple: the end of a
    link of one metre moves by 1e-11 m, and torques change by some 1e-11 of the largest.
    """
    c, s = np.cos(angle), np.sin(angle)  # where one is this small, the other is 1 or -1 in floats
    return np.where(np.abs(c) < RIGHT_ANGLE, 0.0, c), np.where(np.abs(s) < RIGHT_ANGLE, 0.0, s)


def rotation_from_rpy(rpy: npt.ArrayLike) -> Array:
    """Rotation matrix Rz(yaw) Ry(pitch) Rx(roll) of URDF's roll, pitch, yaw (3,), rad.

    A right angle turns axes into axes, exactly: see `cosine_and_sine`.
    """
    (cr, cp, cy), (sr, sp, sy) = cosine_and_sine(rpy)
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


# -- turns about coordinate axes ----------------------------------------------------------------


class Turn:
    """Rotation about coordinate axis i (0, 1, 2) by an angle of cosine c and sine s."""

    def __init__(self, i: int, c: Any, s: Any) -> None:
        self.i, self.c, self.s = i, c, s

    def inverse(self) -> Turn:
        """The turn back."""
        return Turn(self.i, self.c, -self.s)

    def and_by(self, angle: Any) -> Turn:
        """This constant turn and one more about the same axis, by an angle in rad."""
        return Turn(self.i, *cosine_and_sine_of_sum(self.c, self.s, angle))

    def vector(self, v: Array) -> Array:
        """R v, shape (3,)."""
        i, j, k = self.i, (self.i + 1) % 3, (self.i + 2) % 3
        turned: list[Any] = [0.0] * 3
        turned[i] = v[i]
        turned[j] = self.c * v[j] - self.s * v[k]
        turned[k] = self.s * v[j] + self.c * v[k]
        return np.array(turned)

    def matrix(self, B: Array) -> Array:
        """R B R^T, shape (3, 3)."""
        i, j, k, c, s = self.i, (self.i + 1) % 3, (self.i + 2) % 3, self.c, self.s
        if _is_right_angle(c, s):  # below, a small entry could drown in the difference of two
            R = np.column_stack([self.vector(column) for column in np.eye(3)])
            return R @ B @ R.T
        # Trace and antisymmetric part of the j-k block stay; only its deviator turns
        e = s * (B[j, j] - B[k, k]) + c * (B[j, k] + B[k, j])
        T: Any = np.empty((3, 3), dtype=np.result_type(B.dtype, type(e)))
        T[i, i] = B[i, i]
        T[j, j], T[k, k] = B[j, j] - s * e, B[k, k] + s * e
        T[j, k], T[k, j] = c * e - B[k, j], c * e - B[j, k]
        T[i, j], T[i, k] = c * B[i, j] - s * B[i, k], s * B[i, j] + c * B[i, k]
        T[j, i], T[k, i] = c * B[j, i] - s * B[k, i], s * B[j, i] + c * B[k, i]
        return np.array(T)


def to_parent(turns: Sequence[Turn], v: Array) -> Array:
    """Components in the axes before the first turn of a vector given in those after the last."""
    for turn in reversed(turns):
        v = turn.vector(v)
    return v


def to_child(turns: Sequence[Turn], v: Array) -> Array:
    """Components in the axes after the last turn of a vector given in those before the first."""
    for turn in turns:
        v = turn.inverse().vector(v)
    return v


def cosine_and_sine_of_sum(c: float, s: float, angle: Any) -> tuple[Any, Any]:
    """Cosine and sine of a constant angle, given by its cosine and sine, plus another in rad.

    A constant right angle only swaps cosine and sine of the other and changes signs; any other
    constant is added to it before cosine and sine are taken.
    """
    if c * s == 0.0:
        cos, sin = np.cos(angle), np.sin(angle)
        return c * cos - s * sin, s * cos + c * sin
    total = angle + math.atan2(s, c)
    return np.cos(total), np.sin(total)


def turns_of(R: Array, i: int) -> list[Turn]:
    """Split a constant rotation into turns about the axes i, i + 1 and i again.

    Args:
        R: Rotation matrix, shape (3, 3), numbers.
        i: Coordinate axis.

    Returns:
        The last turn, about axis i, after those before it that are not by the angle zero.
    """
    j, k = (i + 1) % 3, (i + 2) % 3
    tilt = Turn(j, R[i, i], np.hypot(R[j, i], R[k, i]))
    before = []
    if tilt.s != 0.0:
        before = [Turn(i, -R[k, i] / tilt.s, R[j, i] / tilt.s)]
    if tilt.s != 0.0 or tilt.c < 0.0:
        before.append(tilt)
    # The last turn is what remains, so that no digit of a small tilt is missed in the sum
    rest = R[:, j]
    for turn in before:
        rest = turn.inverse().vector(rest)
    return [*(turn for turn in before if turn.s != 0.0 or turn.c < 0.0), Turn(i, rest[j], rest[k])]


def trace_minus(B: Array) -> Array:
    """Trace(B) 1 - B: for B = y x^T, the matrix of x cross (u cross y) in u."""
    T: Any = -B
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        T[i, i] = B[j, j] + B[k, k]
    return np.array(T)


def symmetric(B: Array) -> Array:
    """The matrix with the upper triangle of B on both sides: nobody computes the lower one."""
    n = len(B)
    upper = [B[min(i, j), max(i, j)] for i in range(n) for j in range(n)]
    return np.array(upper).reshape(B.shape)


def coordinate_axis(axis: Array) -> tuple[int, float] | None:
    """Index and sign of the coordinate axis that a joint axis is, None for an oblique one."""
    if axis.dtype == object:
        return None
    nonzero = np.flatnonzero(axis)
    if len(nonzero) == 1 and abs(axis[nonzero[0]]) == 1.0:
        return int(nonzero[0]), float(axis[nonzero[0]])
    return None


def _is_right_angle(c: Any, s: Any) -> bool:
    constant = isinstance(c, float) and isinstance(s, float)
    return constant and abs(c) + abs(s) == 1.0 and c * s == 0.0


# -- vector algebra -----------------------------------------------------------------------------


def skew(v: Array) -> Array:
    """Matrix that multiplies a vector w to give the cross product v x w."""
    return np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])


def cross(a: Array, b: Array) -> Array:
    """Cross product a x b of two 3-vectors."""
    return np.array(
        [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    )
