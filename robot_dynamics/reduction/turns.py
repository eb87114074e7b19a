"""Rotations as turns in a plane: what costs nothing, a right angle, leaves no operations behind.

The rotation matrix of a joint is Rz(gamma) Rx(alpha) Rz(theta + q) in frames with z on the joint.
Applied one after the other its turns take 4 multiplications and 2 additions each, and most
angles of a robot are right ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from robot_dynamics.arrays import Array


@dataclass(frozen=True)
class Turn:
    """Rotation Rx or Rz between two sets of axes, by an angle of which cosine and sine are kept."""

    about_x: bool
    cos: Any
    sin: Any

    def inward(self, v: Array) -> Array:
        """R v: components in the axes nearer to the base."""
        return self._rotate(v, self.sin)

    def outward(self, v: Array) -> Array:
        """R^T v: components in the axes nearer to the tip."""
        return self._rotate(v, -self.sin)

    def _rotate(self, v: Array, sin: Any) -> Array:
        x, y, z = v
        if self.about_x:
            return np.array([x, self.cos * y - sin * z, sin * y + self.cos * z])
        return np.array([self.cos * x - sin * y, sin * x + self.cos * y, z])


def outward(turns: Sequence[Turn], v: Array) -> Array:
    """Components of a vector of the parent in the axes of the link, shape (3,)."""
    for turn in turns:
        v = turn.outward(v)
    return v


def inward(turns: Sequence[Turn], v: Array) -> Array:
    """Components of a vector of the link in the axes of its parent, shape (3,)."""
    for turn in reversed(turns):
        v = turn.inward(v)
    return v


@dataclass(frozen=True)
class Angle:
    """Angle about z: a constant, kept as its cosine and sine, plus joint positions.

    A constant of right angles swaps cosine and sine of the variable part and costs nothing;
    any other one is added to it before cosine and sine are taken.
    """

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
        if self.cos * self.sin == 0.0:
            c, s = np.cos(self.variable), np.sin(self.variable)
            return self.cos * c - self.sin * s, self.sin * c + self.cos * s
        angle = self.variable + math.atan2(self.sin, self.cos)
        return np.cos(angle), np.sin(angle)

    def about_z(self) -> list[Turn]:
        """The turn about z by this angle; none if it is zero."""
        if not self.varies and self.sin == 0.0 and self.cos == 1.0:
            return []
        return [Turn(False, *self.cos_sin())]

    def turn(self, v: Array) -> Array:
        """Rz v."""
        return inward(self.about_z(), v)

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


def split_at_link(R0: Array, held: Angle) -> tuple[list[Turn], Angle]:
    """Split the rotation of a joint at position zero: R0 = Rz(gamma) Rx(alpha) Rz(theta).

    Args:
        R0: Orientation of the link in its parent at joint position zero.
        held: Angle from the axes of vectors of the parent to the parent's own; it joins gamma.

    Returns:
        The turns Rz(gamma) Rx(alpha), and the angle theta about z that remains.
    """
    cos_alpha = R0[2, 2]
    if R0[0, 2] == 0.0:
        gamma, sin_alpha = Angle(), -R0[1, 2]
    else:
        sin_alpha = math.hypot(R0[0, 2], R0[1, 2])
        gamma = Angle(-R0[1, 2] / sin_alpha, R0[0, 2] / sin_alpha)
    gamma = held.plus(gamma)
    tilt = [] if cos_alpha == 1.0 and sin_alpha == 0.0 else [Turn(True, cos_alpha, sin_alpha)]
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
