"""Geometry of rigid bodies on any scalar: rotations, vectors, poses and inertias as values.

The functions take NumPy arrays of floats or of symbols; symbols build an expression graph. They
never branch on a value that varies.

A rotation about a coordinate axis costs 4 multiplications for a vector and 8 for a symmetric
matrix; a full rotation matrix costs 9 and about 40. Rotations by a right angle, the most frequent
constant ones, cost nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from robot_dynamics.foundation.arrays import Array, Value, frozen, numbers

# -- rotations ----------------------------------------------------------------------------------


def rotation_about(axis: Array, angle: Array) -> Array:
    """Return the rotation matrix by `angle` (rad) about the unit vector `axis`.

    A component of the axis that is exactly zero or one adds no operations to
    traced equations.
    """
    return rodrigues(axis, np.cos(angle), np.sin(angle))


def rodrigues(u: Array, c: Any, s: Any) -> Array:
    """Return the rotation matrix about the unit vector u, angle of cosine c and sine s."""
    v = 1.0 - c
    return np.array(
        [
            [c + v * (u[0] * u[0]), v * (u[0] * u[1]) - s * u[2], v * (u[0] * u[2]) + s * u[1]],
            [v * (u[0] * u[1]) + s * u[2], c + v * (u[1] * u[1]), v * (u[1] * u[2]) - s * u[0]],
            [v * (u[0] * u[2]) - s * u[1], v * (u[1] * u[2]) + s * u[0], c + v * (u[2] * u[2])],
        ]
    )


RIGHT_ANGLE = 1e-11
"""Distance from a multiple of a right angle below which an angle is rounded to it, rad."""


def cosine_and_sine(angle: npt.ArrayLike) -> tuple[Array, Array]:
    """Return cosine and sine of constant angles, rad; exactly 0, 1 and -1 for right angles.

    In floats the cosine of pi / 2 is 6e-17, and 5e-12 if an exporter printed the angle with eleven
    decimals. Compiled equations would multiply by such numbers in every call. An angle within
    `RIGHT_ANGLE` of a multiple of pi / 2 is therefore rounded to it: the end of a link of one metre
    moves by 1e-11 m, and torques change by about 1e-11 of the largest.
    """
    c, s = np.cos(angle), np.sin(angle)  # where one is this small, the other is 1 or -1 in floats
    return np.where(np.abs(c) < RIGHT_ANGLE, 0.0, c), np.where(np.abs(s) < RIGHT_ANGLE, 0.0, s)


def rotation_from_rpy(rpy: npt.ArrayLike) -> Array:
    """Return the matrix Rz(yaw) Ry(pitch) Rx(roll) of URDF's roll, pitch, yaw (3,), rad.

    Right angles map axes to axes exactly: see `cosine_and_sine`.
    """
    (cr, cp, cy), (sr, sp, sy) = cosine_and_sine(rpy)
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


UNIT_LENGTH = 1e-3
"""Deviation of the length of a quaternion from 1 that is taken for rounding."""


def rpy_from_rotation(R: Array) -> Array:
    """Return roll, pitch and yaw (3,), rad, of a rotation matrix of numbers.

    `rotation_from_rpy` undoes it to round-off everywhere. Where the pitch is a right angle, the
    roll is what the yaw leaves.
    """
    yaw = np.arctan2(R[1, 0], R[0, 0])
    c, s = np.cos(yaw), np.sin(yaw)
    pitch = np.arctan2(-R[2, 0], c * R[0, 0] + s * R[1, 0])
    roll = np.arctan2(s * R[0, 2] - c * R[1, 2], c * R[1, 1] - s * R[0, 1])
    return np.array([roll, pitch, yaw]) + 0.0


def rotation_from_quaternion(quaternion: Array) -> Array:
    """Return the matrix of a unit quaternion x, y, z, w, shape (4,)."""
    x, y, z, w = quaternion
    x2, y2, z2 = 2.0 * x, 2.0 * y, 2.0 * z
    return np.array(
        [
            [1.0 - (y * y2 + z * z2), x * y2 - w * z2, x * z2 + w * y2],
            [x * y2 + w * z2, 1.0 - (x * x2 + z * z2), y * z2 - w * x2],
            [x * z2 - w * y2, y * z2 + w * x2, 1.0 - (x * x2 + y * y2)],
        ]
    )


# -- rotations about coordinate axes ------------------------------------------------------------


class AxisRotation:
    """Rotation about coordinate axis i (0, 1, 2) by an angle of cosine c and sine s."""

    def __init__(self, i: int, c: Any, s: Any) -> None:
        self.i, self.c, self.s = i, c, s

    def inverse(self) -> AxisRotation:
        """The inverse rotation."""
        return AxisRotation(self.i, self.c, -self.s)

    def and_by(self, angle: Any) -> AxisRotation:
        """Add an angle, rad, to this constant rotation."""
        return AxisRotation(self.i, *cosine_and_sine_of_sum(self.c, self.s, angle))

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
        if _is_right_angle(c, s):  # the formula below would lose small entries to cancellation
            R = np.column_stack([self.vector(column) for column in np.eye(3)])
            return R @ B @ R.T
        # Trace and antisymmetric part of the j-k block are invariant; only its deviator rotates
        e = s * (B[j, j] - B[k, k]) + c * (B[j, k] + B[k, j])
        T: Any = np.empty((3, 3), dtype=np.result_type(B.dtype, type(e)))
        T[i, i] = B[i, i]
        T[j, j], T[k, k] = B[j, j] - s * e, B[k, k] + s * e
        T[j, k], T[k, j] = c * e - B[k, j], c * e - B[j, k]
        T[i, j], T[i, k] = c * B[i, j] - s * B[i, k], s * B[i, j] + c * B[i, k]
        T[j, i], T[k, i] = c * B[j, i] - s * B[k, i], s * B[j, i] + c * B[k, i]
        return np.array(T)


def to_parent(turns: Sequence[AxisRotation], v: Array) -> Array:
    """Transform a vector from the axes after the last rotation to those before the first."""
    for turn in reversed(turns):
        v = turn.vector(v)
    return v


def to_child(turns: Sequence[AxisRotation], v: Array) -> Array:
    """Transform a vector from the axes before the first rotation to those after the last."""
    for turn in turns:
        v = turn.inverse().vector(v)
    return v


def cosine_and_sine_of_sum(c: float, s: float, angle: Any) -> tuple[Any, Any]:
    """Return cosine and sine of a constant angle (cosine c, sine s) plus `angle`, rad.

    A constant right angle only swaps cosine and sine and changes signs; any other constant is
    added to the angle first.
    """
    if c * s == 0.0:
        cos, sin = np.cos(angle), np.sin(angle)
        return c * cos - s * sin, s * cos + c * sin
    total = angle + math.atan2(s, c)
    return np.cos(total), np.sin(total)


def turns_of(R: Array, i: int) -> list[AxisRotation]:
    """Split a constant rotation into rotations about the axes i, i + 1 and i again.

    Args:
        R: Rotation matrix, shape (3, 3), numbers.
        i: Coordinate axis.

    Returns:
        The first two rotations unless their angle is zero, and the last one, about axis i.
    """
    j, k = (i + 1) % 3, (i + 2) % 3
    tilt = AxisRotation(j, R[i, i], np.hypot(R[j, i], R[k, i]))
    before = []
    if tilt.s != 0.0:
        before = [AxisRotation(i, -R[k, i] / tilt.s, R[j, i] / tilt.s)]
    if tilt.s != 0.0 or tilt.c < 0.0:
        before.append(tilt)
    # The last rotation is the remainder of R, so that it keeps all digits of a small tilt
    rest = R[:, j]
    for turn in before:
        rest = turn.inverse().vector(rest)
    return [
        *(turn for turn in before if turn.s != 0.0 or turn.c < 0.0),
        AxisRotation(i, rest[j], rest[k]),
    ]


def trace_minus(B: Array) -> Array:
    """Return tr(B) 1 - B: for B = y x^T, the matrix of x cross (u cross y) in u."""
    T: Any = -B
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        T[i, i] = B[j, j] + B[k, k]
    return np.array(T)


def symmetric(B: Array) -> Array:
    """Copy the upper triangle of B to the lower one, so that the lower one costs no operations."""
    n = len(B)
    upper = [B[min(i, j), max(i, j)] for i in range(n) for j in range(n)]
    return np.array(upper).reshape(B.shape)


def coordinate_axis(axis: Array) -> tuple[int, float] | None:
    """Return index and sign of the coordinate axis along a joint axis, None if oblique."""
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
    """Return the matrix S of the cross product: S @ w = v x w."""
    return np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])


def cross(a: Array, b: Array) -> Array:
    """Return the cross product a x b of two 3-vectors."""
    return np.array(
        [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    )


# -- poses and mass distributions ---------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Pose(Value):
    """Pose X_AB of frame B in frame A: p_A = rotation @ p_B + translation.

    Args:
        rotation: R_AB, shape (3, 3).
        translation: Position of the origin of B in A, shape (3,), m.
    """

    rotation: Array
    translation: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "rotation", frozen(self.rotation))
        object.__setattr__(self, "translation", frozen(self.translation))

    @staticmethod
    def identity() -> Pose:
        """Return the pose of a frame in itself."""
        return Pose(np.eye(3), np.zeros(3))

    def __matmul__(self, other: Pose) -> Pose:
        """X_AC = X_AB @ X_BC."""
        return Pose(
            self.rotation @ other.rotation, self.rotation @ other.translation + self.translation
        )

    def inverse(self) -> Pose:
        """Return X_BA, the pose of A in B."""
        return Pose(self.rotation.T, -self.rotation.T @ self.translation)


def homogeneous(X: Pose) -> Array:
    """Return the pose as a homogeneous matrix T, shape (4, 4)."""
    T: Any = np.zeros((4, 4), dtype=np.result_type(X.rotation, X.translation))
    T[:3, :3], T[:3, 3], T[3, 3] = X.rotation, X.translation, 1.0
    return np.array(T)


@dataclass(frozen=True, eq=False)
class Inertia(Value):
    """Mass distribution of a rigid body: its moments of order 0, 1 and 2.

    Stored about the origin of the link frame, in its axes, because torques are
    linear in these ten numbers and because a massless body then needs no
    special case.

    Args:
        mass: Moment of order 0, kg.
        first_moment: mass times position of the mass centre, shape (3,), kg m.
        second_moment: Rotational inertia about the frame origin, shape (3, 3), kg m^2.

    Raises:
        RobotError: If one of them is anything but numbers, or symbols, of its shape.
    """

    mass: Any
    first_moment: Array
    second_moment: Array

    def __post_init__(self) -> None:
        mass = numbers("mass", self.mass, (), traced=True)
        if mass.dtype == object:
            object.__setattr__(self, "mass", mass[()])
        for name, shape in (("first_moment", (3,)), ("second_moment", (3, 3))):
            moment = numbers(name, getattr(self, name), shape, traced=True)
            object.__setattr__(self, name, frozen(moment))

    @staticmethod
    def zero() -> Inertia:
        """Return a body without mass."""
        return Inertia(0.0, np.zeros(3), np.zeros((3, 3)))

    @staticmethod
    def from_com(mass: Any, com: npt.ArrayLike, about_com: npt.ArrayLike) -> Inertia:
        """Build from mass, mass centre and inertia about the mass centre, by Huygens' theorem.

        Huygens' theorem, with the axes of the link frame on both sides.

        Args:
            mass: Mass, kg.
            com: Mass centre in the frame, shape (3,), m.
            about_com: Inertia about the mass centre in axes of the frame, shape (3, 3), kg m^2.

        Returns:
            Moments about the origin of the frame, in its axes.

        Raises:
            RobotError: If one of them is anything but numbers, or symbols, of its shape.

        Examples:
            >>> import numpy as np
            >>> from robot_dynamics.robot import Inertia
            >>> load = Inertia.from_com(2.0, (0.0, 0.0, 0.1), np.zeros((3, 3)))
            >>> load.second_moment.round(3) + 0.0
            array([[0.02, 0.  , 0.  ],
                   [0.  , 0.02, 0.  ],
                   [0.  , 0.  , 0.  ]])
        """
        mass = numbers("mass", mass, (), traced=True)[()]
        c = numbers("com", com, (3,), traced=True)
        I_C = numbers("about_com", about_com, (3, 3), traced=True)
        return Inertia(mass, mass * c, I_C - mass * (skew(c) @ skew(c)))

    @property
    def com(self) -> Array:
        """Mass centre in the link frame, shape (3,), m; the origin for a massless body."""
        if isinstance(self.mass, (int, float)) and self.mass == 0.0:
            return np.zeros(3)
        return self.first_moment / self.mass

    @property
    def about_com(self) -> Array:
        """Rotational inertia about the mass centre, axes of the link, shape (3, 3), kg m^2."""
        c = self.com
        return self.second_moment + self.mass * (skew(c) @ skew(c))

    def expressed_in(self, X_AB: Pose) -> Inertia:
        """Transform the inertia from frame B to frame A.

        Args:
            X_AB: Pose of frame B in frame A.

        Returns:
            Moments about the origin of A, in its axes.
        """
        R, p = X_AB.rotation, X_AB.translation
        h = R @ self.first_moment
        turned = R @ self.second_moment @ R.T
        # Huygens' theorem with k halfway between both origins:
        # -skew(p) skew(h) - skew(h) skew(p) - m skew(p)^2 = 2 (p.k) 1 - (k p^T + p k^T)
        k = h + (self.mass / 2.0) * p
        twice_pk = (2.0 * p) * k
        shift = [
            [twice_pk[1] + twice_pk[2], -(k[0] * p[1] + k[1] * p[0]), -(k[0] * p[2] + k[2] * p[0])],
            [0.0, twice_pk[2] + twice_pk[0], -(k[1] * p[2] + k[2] * p[1])],
            [0.0, 0.0, twice_pk[0] + twice_pk[1]],
        ]
        # Upper triangle only: the lower one would repeat the same symbolic equations
        second = [
            [turned[min(i, j), max(i, j)] + shift[min(i, j)][max(i, j)] for j in range(3)]
            for i in range(3)
        ]
        return Inertia(self.mass, h + self.mass * p, np.array(second))

    def __add__(self, other: Inertia) -> Inertia:
        """Join two bodies rigidly; both inertias are in the same frame."""
        return Inertia(
            self.mass + other.mass,
            self.first_moment + other.first_moment,
            self.second_moment + other.second_moment,
        )


# -- the ten parameters of a body, and its pseudo-inertia ------------------------------------------

PARAMETERS = ("m", "hx", "hy", "hz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
"""Names of the inertial parameters of a body: kg, kg m and kg m^2, about the link origin."""

UPPER = np.triu_indices(3)
"""Indices of the upper triangle of a 3x3 matrix, stored because control cycles use them."""


def inertial_parameters(body: Inertia) -> Array:
    """Return the ten parameters of a body in the order of `PARAMETERS`, shape (10,).

    Ixy, Ixz and Iyz are entries of the matrix (the negative of products of inertia).
    """
    return np.array([body.mass, *body.first_moment, *body.second_moment[UPPER]])


def body_with(parameters: Array) -> Inertia:
    """Return the body with ten given parameters, in the order of `PARAMETERS`, shape (10,)."""
    xx, xy, xz, yy, yz, zz = parameters[4:]
    return Inertia(
        parameters[0], parameters[1:4], np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    )


def second_mass_moment(body: Inertia) -> Array:
    """S = integral r r^T dm about the link origin, shape (3, 3), kg m^2: 1/2 tr(I) - I."""
    (xx, _, _), (_, yy, _), (_, _, zz) = body.second_moment
    return (xx + yy + zz) / 2.0 * np.eye(3) - body.second_moment


def pseudo_inertia(body: Inertia) -> Array:
    """J = [[S, h], [h^T, m]], shape (4, 4): integral (r, 1) (r, 1)^T dm."""
    h = body.first_moment.reshape(3, 1)
    return np.block([[second_mass_moment(body), h], [h.T, np.array([[body.mass]])]])


def body_of(J: Array) -> Inertia:
    """Return the body with a given pseudo-inertia, shape (4, 4)."""
    S = J[:3, :3]
    return Inertia(J[3, 3], J[:3, 3], (S[0, 0] + S[1, 1] + S[2, 2]) * np.eye(3) - S)


def first_moment_size(body: Inertia) -> float:
    """Return an upper bound of the first moment |h|, kg m: sqrt(m tr S)."""
    return float(np.sqrt(abs(body.mass * np.trace(second_mass_moment(body)))))
