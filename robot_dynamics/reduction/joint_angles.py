"""The rotation of a joint in frames with z on it, Rz(gamma) Rx(alpha) Rz(theta + q), as turns."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.spatial.turns import Turn, cosine_and_sine_of_sum, to_parent


@dataclass(frozen=True)
class Angle:
    """Angle about z: a constant, kept as its cosine and sine, plus joint positions."""

    cos: float = 1.0
    sin: float = 0.0
    variable: Any = 0.0
    varies: bool = False

    def plus(self, other: Angle, sign: float = 1.0) -> Angle:
        """This angle plus, or with sign -1 minus, another."""
        sin = sign * other.sin
        return Angle(
            self.cos * other.cos - self.sin * sin,
            self.sin * other.cos + self.cos * sin,
            self.variable + sign * other.variable,
            self.varies or other.varies,
        )

    def cos_sin(self) -> tuple[Any, Any]:
        """Cosine and sine."""
        if not self.varies:
            return self.cos, self.sin
        return cosine_and_sine_of_sum(self.cos, self.sin, self.variable)

    def about_z(self) -> list[Turn]:
        """The turn about z by this angle; none if it is zero."""
        if not self.varies and self.sin == 0.0 and self.cos == 1.0:
            return []
        return [Turn(2, *self.cos_sin())]

    def turn(self, v: Array) -> Array:
        """Rz v."""
        return to_parent(self.about_z(), v)

    def turn_tensor(self, S: Array) -> Array:
        """Rz S Rz^T of a symmetric tensor."""
        if not self.about_z():
            return S
        c, s = self.cos_sin()
        cs, ss = c * s, s * s
        difference, xy2 = S[0, 0] - S[1, 1], 2.0 * S[0, 1]
        change = difference * ss + xy2 * cs  # S_xx S_yy exchange this much
        xy = S[0, 1] + difference * cs - xy2 * ss
        xz, yz = c * S[0, 2] - s * S[1, 2], s * S[0, 2] + c * S[1, 2]
        return np.array([[S[0, 0] - change, xy, xz], [xy, S[1, 1] + change, yz], [xz, yz, S[2, 2]]])


def split_at_link(R0: Array, to_parent_link: Angle) -> tuple[list[Turn], Angle]:
    """Split the rotation of a joint at position zero: R0 = Rz(gamma) Rx(alpha) Rz(theta).

    Args:
        R0: Orientation of the link in its parent at joint position zero.
        to_parent_link: Angle from the axes of vectors of the parent to the parent's own; it joins
            gamma.

    Returns:
        The turns Rz(gamma) Rx(alpha), and the angle theta about z that remains.
    """
    cos_alpha = R0[2, 2]
    if R0[0, 2] == 0.0:
        gamma, sin_alpha = Angle(), -R0[1, 2]
    else:
        sin_alpha = math.hypot(R0[0, 2], R0[1, 2])
        gamma = Angle(-R0[1, 2] / sin_alpha, R0[0, 2] / sin_alpha)
    gamma = to_parent_link.plus(gamma)
    tilt = [] if cos_alpha == 1.0 and sin_alpha == 0.0 else [Turn(0, cos_alpha, sin_alpha)]
    if sin_alpha == 0.0:  # parallel axes: a turn about one is a turn about the other
        return tilt, Angle(R0[0, 0], cos_alpha * R0[1, 0]).plus(gamma, cos_alpha)
    theta = Angle(R0[2, 1] / sin_alpha, R0[2, 0] / sin_alpha)
    return gamma.about_z() + tilt, theta


def split_at_base(R0: Array, alpha_0: Array) -> tuple[Angle, Array]:
    """Choose axes before a joint on the base, where any axes are free: all there is constant.

    Returns:
        The angle about z from these axes to the link at joint position zero, chosen so that
        gravity has no y component; and alpha_0 in these axes.
    """
    alpha = R0.T @ alpha_0
    if alpha.dtype == object or alpha[1] == 0.0:
        return Angle(), alpha
    across = math.hypot(alpha[0], alpha[1])
    if across < 1e-15 * np.linalg.norm(alpha):  # round-off of R0
        return Angle(), np.array([0.0, 0.0, alpha[2]])
    theta = Angle(alpha[0] / across, -alpha[1] / across)
    return theta, np.array([across, 0.0, alpha[2]])
