"""Second derivatives of the joint efforts and of the accelerations.

The first derivatives, in closed form, are evaluated on numbers that carry their derivatives by the
joint positions. In axes of the links, most quantities depend on few positions, so that most of
these derivatives are exactly zero and cost nothing.

Efforts are linear in qdd and quadratic in qd. The derivatives by qdd are those of the mass matrix,
and the second derivatives by qd are its Christoffel symbols.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot.free_joints import free_joints
from robot_dynamics.robot.manifold import displacements
from robot_dynamics.robot.robot import Robot

# -- numbers with derivatives -----------------------------------------------------------------


class Variation:
    """A number with its derivatives in some directions; those that are missing are zero.

    Args:
        value: The number, any scalar.
        slopes: Derivative by direction.
    """

    __slots__ = ("slopes", "value")

    def __init__(self, value: Any, slopes: dict[int, Any]) -> None:
        self.value, self.slopes = value, slopes

    def __add__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented  # NumPy takes it entry by entry
        if not isinstance(other, Variation):
            return Variation(self.value + other, self.slopes)
        slopes = dict(self.slopes)
        for k, slope in other.slopes.items():
            slopes[k] = slopes[k] + slope if k in slopes else slope
        return Variation(self.value + other.value, slopes)

    __radd__ = __add__

    def __neg__(self) -> Variation:
        return Variation(-self.value, {k: -slope for k, slope in self.slopes.items()})

    def __sub__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else self + -other

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        if not isinstance(other, Variation):
            if _is_zero(other):
                return 0.0
            slopes = {k: slope * other for k, slope in self.slopes.items()}
            return Variation(self.value * other, slopes)
        slopes = {k: slope * other.value for k, slope in self.slopes.items()}
        for k, slope in other.slopes.items():
            more = self.value * slope
            slopes[k] = slopes[k] + more if k in slopes else more
        return Variation(self.value * other.value, slopes)

    __rmul__ = __mul__

    def cos(self) -> Variation:
        """Cosine, as NumPy calls it."""
        c, s = np.cos(self.value), np.sin(self.value)
        return Variation(c, {k: -(s * slope) for k, slope in self.slopes.items()})

    def sin(self) -> Variation:
        """Sine, as NumPy calls it."""
        c, s = np.cos(self.value), np.sin(self.value)
        return Variation(s, {k: c * slope for k, slope in self.slopes.items()})


def with_derivatives(
    function: Callable[[Array], Sequence[Array]], x: Array, steps: Array | None = None
) -> list[tuple[Array, Array]]:
    """Evaluate a function of a vector, and differentiate every result.

    Args:
        function: Sums, products, sines and cosines of x, shape (n,); returns arrays.
        x: Any scalar.
        steps: Derivatives of x by k parameters, shape (n, k); by default x itself is varied.

    Returns:
        For each result its value, shape S, and its derivative by the parameters, shape (*S, k).
    """
    varied = np.empty(len(x), dtype=object)
    steps = np.eye(len(x)) if steps is None else steps
    for i, (value, row) in enumerate(zip(x, steps.tolist(), strict=True)):
        varied[i] = Variation(value, {k: step for k, step in enumerate(row) if not _is_zero(step)})
    found = []
    for result in function(varied):
        values = np.empty(result.shape, object)
        slopes = np.zeros((*result.shape, steps.shape[1]), object)
        for place, entry in np.ndenumerate(np.asarray(result, dtype=object)):
            if isinstance(entry, Variation):
                values[place] = entry.value
                for k, slope in entry.slopes.items():
                    slopes[place][k] = slope
            else:
                values[place] = entry
        found.append((_plain(values, x), _plain(slopes, x)))
    return found


def _is_zero(scalar: Any) -> bool:
    return isinstance(scalar, (int, float)) and scalar == 0.0


def _plain(array: Array, like: Array) -> Array:
    """Return an array of objects as one of the type of another."""
    return array if like.dtype == object else array.astype(like.dtype)


# -- the second derivatives ---------------------------------------------------------------------

FirstDerivatives = Callable[[Array, Array, Array], Sequence[Array]]
"""dtau/dq, dtau/dqd and M of q, qd and qdd; on any scalar."""


def inverse_second_derivatives(
    first: FirstDerivatives, q: Array, qd: Array, qdd: Array, tree: Robot | None = None
) -> tuple[Array, Array, Array, Array]:
    """Differentiate the joint efforts of a motion twice.

    Args:
        first: Their first derivatives.
        q: Joint positions, shape (nq,).
        qd: Joint velocities, shape (n,).
        qdd: Joint accelerations, shape (n,).
        tree: Tree whose floating and planar joints are in q, without fixed joints.

    Returns:
        d2tau/dq2, d2tau/dqdqd, d2tau/dqd2 and d2tau/dqddqdd = dM/dq, shape (n, n, n) each: entry
        i, j, k of effort i. Of dqdqd j is the position and k the velocity; of dM/dq j is the
        acceleration and k the position. Of dq2 k is the displacement that is later: those of one
        floating or planar joint do not commute.
    """
    free, steps = ((), None) if tree is None else (free_joints(tree), displacements(tree, q))
    by_position = with_derivatives(lambda x: first(x, qd, qdd), q, steps)
    (_, by_q), (_, by_qd), (M, M_by_q) = by_position
    own = [by_q[:, joint.v, joint.v].copy() for joint in free]
    for j in range(len(qd)):
        by_q[:, j, :j] = by_q[:, :j, j]  # the same, with fewer operations
    christoffel = M_by_q + M_by_q.transpose(0, 2, 1) - M_by_q.transpose(2, 0, 1)
    for joint, block in zip(free, own, strict=True):
        v = joint.v
        by_q[:, v, v] = block
        # Hamel's coefficients: the twist is not the rate of any coordinates
        more = np.tensordot(joint.commutators, M[v], axes=(0, 0))
        christoffel[v, v] += more
        christoffel[v, :, v] += more.transpose(0, 2, 1)
    return by_q, by_qd.transpose(0, 2, 1), christoffel, M_by_q


def forward_second_derivatives(
    second: tuple[Array, Array, Array, Array], first: tuple[Array, Array, Array]
) -> tuple[Array, Array, Array, Array]:
    """Differentiate the joint accelerations that given efforts produce twice.

    tau(q, qd, qdd(q, qd, tau)) is tau. Its second derivatives vanish, and only those of efforts at
    fixed qdd, and of M by q times a first derivative of qdd, are left beside M d2qdd.

    Args:
        second: Second derivatives of the efforts, as of `inverse_second_derivatives`, at the
            accelerations that the efforts produce.
        first: dqdd/dq, dqdd/dqd and dqdd/dtau = M^-1, shape (n, n) each.

    Returns:
        d2qdd/dq2, d2qdd/dqdqd, d2qdd/dqd2 and d2qdd/dtaudq, shape (n, n, n) each: entry i, j, k of
        acceleration i. Of dqdqd j is the position and k the velocity; of dtaudq j is the effort and
        k the position. Those by tau twice, or by tau and qd, are zero.
    """
    by_q, by_q_qd, by_qd, M_by_q = second
    dqdd_dq, dqdd_dqd, inverse_M = first

    def moved(slopes: Array) -> Array:
        """dM/dq_j times the change of qdd in direction k, entry i, j, k."""
        return np.array([M_by_q[:, :, j] @ slopes for j in range(len(slopes))]).transpose(1, 0, 2)

    of_q = moved(dqdd_dq)
    parts = (
        by_q + of_q + of_q.transpose(0, 2, 1),
        by_q_qd + moved(dqdd_dqd),
        by_qd,
        moved(inverse_M).transpose(0, 2, 1),
    )
    n = len(inverse_M)
    solved = [-(inverse_M @ part.reshape(n, n * n)).reshape(n, n, n) for part in parts]
    return solved[0], solved[1], solved[2], solved[3]
