"""Transformation of vectors, matrices and wrenches between a link and its parent.

Every rotation is a sequence of rotations about coordinate axes, which cost fewer
operations than a rotation matrix: see `spatial`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot.kinematic_tree import Joint
from robot_dynamics.spatial import (
    AxisRotation,
    Inertia,
    coordinate_axis,
    cross,
    rotation_about,
    symmetric,
    to_child,
    to_parent,
    trace_minus,
    turns_of,
)


class ChangeOfFrame:
    """Transformation between the frame of a link (child C) and that of its parent P.

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
        self._turns: list[AxisRotation] = []  # from P to C
        self._R: Array | None = None  # in place of turns, for symbolic origins and oblique axes
        along = coordinate_axis(joint.axis)
        if not joint.type.rotates:
            self.p = self.p + self.axis * q
            if R0.dtype == object:
                self._R = R0
            else:
                self._turns = turns_of(R0, 2)
        elif R0.dtype == object or along is None:
            self._R = R0 @ rotation_about(joint.axis, q)
        else:
            i, sign = along
            *before, last = turns_of(R0, i)
            self._turns = [*before, last.and_by(sign * q)]

    def vector_to_parent(self, v: Array) -> Array:
        """Transform a vector from axes of C to axes of P, shape (3,)."""
        return to_parent(self._turns, v) if self._R is None else self._R @ v

    def vector_to_child(self, v: Array) -> Array:
        """Transform a vector from axes of P to axes of C, shape (3,)."""
        return to_child(self._turns, v) if self._R is None else self._R.T @ v

    def matrix_to_parent(self, B: Array) -> Array:
        """Transform a second-order tensor from axes of C to axes of P: R_PC B R_PC^T, (3, 3)."""
        if self._R is not None:
            return self._R @ B @ self._R.T
        for turn in reversed(self._turns):
            B = turn.matrix(B)
        return B

    def symmetric_to_parent(self, B: Array) -> Array:
        """Transform a symmetric matrix; the lower triangle is copied."""
        return symmetric(self.matrix_to_parent(B))

    def wrench_to_parent(self, force: Array, moment: Array) -> tuple[Array, Array]:
        """Transform force and moment about the origin of C to those about the origin of P."""
        f = self.vector_to_parent(force)
        return f, self.vector_to_parent(moment) + cross(self.p, f)

    def inertia_to_parent(self, body: Inertia) -> Inertia:
        """Transform an inertia to the axes and origin of P."""
        h_R, p = self.vector_to_parent(body.first_moment), self.p
        h = h_R + body.mass * p
        # Huygens: replacing x by x + p adds h_R p^T + p h^T to the sum of x x^T dm
        gained = symmetric(trace_minus(np.outer(h_R, p) + np.outer(p, h)))
        return Inertia(body.mass, h, self.symmetric_to_parent(body.second_moment) + gained)
