"""Vectors, matrices and wrenches brought from a link to its parent and back.

The turn of a joint and the constant rotation of its origin are applied one after
the other and not as their product: with the usual axis along a coordinate axis
and origins turned by right angles that is 4 multiplications for a vector and 8
for a matrix, where the product would take 9 and 45.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from robot_dynamics.formulations.vectors import Array, cross, rotation_about
from robot_dynamics.robot.robot import Joint


class ChangeOfFrame:
    """Between the frame of a link (child C) and the frame of its parent P, at position q.

    Args:
        joint: Moving joint that carries the link.
        q: Its position, rad or m.

    Attributes:
        p: Position of the child's origin in P, shape (3,), m.
        axis: Axis of the joint in axes of P, unit vector, shape (3,).
    """

    def __init__(self, joint: Joint, q: Any) -> None:
        R0, self.p = joint.origin.rotation, joint.origin.translation
        self.axis: Array = R0 @ joint.axis
        self._turn: _Turn | None = None
        if not joint.type.rotates:
            self._R = R0
            self.p = self.p + self.axis * q
        elif (along := coordinate_axis(joint.axis)) is not None:
            i, sign = along
            self._R = R0
            self._turn = _Turn(i, np.cos(q), sign * np.sin(q))
        else:
            self._R = R0 @ rotation_about(joint.axis, q)
        self._R_is_turn = _Turn.of_matrix(self._R)

    def vector_to_parent(self, v: Array) -> Array:
        """The same vector, from axes of C to axes of P, shape (3,)."""
        if self._turn is not None:
            v = self._turn.vector(v)
        return self._R @ v

    def vector_to_child(self, v: Array) -> Array:
        """The same vector, from axes of P to axes of C, shape (3,)."""
        v = self._R.T @ v
        return v if self._turn is None else self._turn.inverse().vector(v)

    def matrix_to_parent(self, B: Array) -> Array:
        """R_PC B R_PC^T, shape (3, 3): a second-order tensor from axes of C to axes of P."""
        if self._turn is not None:
            B = self._turn.matrix(B)
        return self._R_is_turn.matrix(B) if self._R_is_turn else self._R @ B @ self._R.T

    def symmetric_to_parent(self, B: Array) -> Array:
        """`matrix_to_parent` of a symmetric matrix, with the lower triangle copied."""
        return symmetric(self.matrix_to_parent(B))

    def wrench_to_parent(self, force: Array, moment: Array) -> tuple[Array, Array]:
        """Force and moment about the origin of C to force and moment about the origin of P."""
        f = self.vector_to_parent(force)
        return f, self.vector_to_parent(moment) + cross(self.p, f)


class _Turn:
    """Rotation about coordinate axis i by an angle with cosine c and sine s."""

    def __init__(self, i: int, c: Any, s: Any) -> None:
        self.i, self.c, self.s = i, c, s

    @staticmethod
    def of_matrix(R: Array) -> _Turn | None:
        """The turn that a constant matrix is, unless its entries are symbols or only 0 and 1."""
        if R.dtype == object or np.all((R == 0.0) | (np.abs(R) == 1.0)):
            return None
        for i in range(3):
            if R[i, i] == 1.0 and np.count_nonzero(R[i]) == np.count_nonzero(R[:, i]) == 1:
                return _Turn(i, R[i - 2, i - 2], R[i - 1, i - 2])
        return None

    def inverse(self) -> _Turn:
        return _Turn(self.i, self.c, -self.s)

    def vector(self, v: Array) -> Array:
        i, j, k = self.i, (self.i + 1) % 3, (self.i + 2) % 3
        turned: list[Any] = [0.0] * 3
        turned[i] = v[i]
        turned[j] = self.c * v[j] - self.s * v[k]
        turned[k] = self.s * v[j] + self.c * v[k]
        return np.array(turned)

    def matrix(self, B: Array) -> Array:
        i, j, k, c, s = self.i, (self.i + 1) % 3, (self.i + 2) % 3, self.c, self.s
        # Trace and antisymmetric part of the j-k block stay; only its deviator turns
        e = s * (B[j, j] - B[k, k]) + c * (B[j, k] + B[k, j])
        T: Any = np.empty((3, 3), dtype=np.result_type(B.dtype, type(e)))
        T[i, i] = B[i, i]
        T[j, j], T[k, k] = B[j, j] - s * e, B[k, k] + s * e
        T[j, k], T[k, j] = c * e - B[k, j], c * e - B[j, k]
        T[i, j], T[i, k] = c * B[i, j] - s * B[i, k], s * B[i, j] + c * B[i, k]
        T[j, i], T[k, i] = c * B[j, i] - s * B[k, i], s * B[j, i] + c * B[k, i]
        return np.array(T)


def symmetric(B: Array) -> Array:
    """The matrix with the upper triangle of B on both sides: nobody computes the lower one."""
    n = len(B)
    return np.array([[B[min(i, j), max(i, j)] for j in range(n)] for i in range(n)])


def coordinate_axis(axis: Array) -> tuple[int, float] | None:
    """Index and sign of the coordinate axis that a joint axis is, None for an oblique one."""
    if axis.dtype == object:
        return None
    nonzero = np.flatnonzero(axis)
    if len(nonzero) == 1 and abs(axis[nonzero[0]]) == 1.0:
        return int(nonzero[0]), float(axis[nonzero[0]])
    return None
