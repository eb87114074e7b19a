"""The manifold of q: positions of robots with floating and planar joints, and steps between them.

A step is a vector of velocities, held for unit time. Quaternions, and cosines with sines, keep
length one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot.free_joints import FreeJoint, free_joints
from robot_dynamics.robot.kinematic_tree import KinematicTree
from robot_dynamics.robot.transforms import merge_fixed
from robot_dynamics.spatial import cross, rotation_from_quaternion


def neutral(robot: KinematicTree) -> Array:
    """Positions with all joints at zero, shape (nq,)."""
    q = np.zeros(robot.nq)
    for free, at, _ in _segments(robot):
        if free is not None:
            q[at.stop - 1 if free.floating else at.stop - 2] = 1.0
    return q


def displacements(tree: KinematicTree, q: Array) -> Array:
    """Derivatives of q by small twists, as `integrate` adds them, shape (nq, dof), on any scalar.

    Args:
        tree: Tree without fixed joints.
        q: Positions, shape (nq,).
    """
    steps: Any = np.zeros((len(q), tree.dof), dtype=q.dtype)
    for free, at, of in _segments(tree):
        if free is None:
            steps[at, of] = np.eye(of.stop - of.start)
        elif free.floating:
            x, y, z, s = 0.5 * q[at][3:]
            steps[at, of][:3, :3] = rotation_from_quaternion(q[at][3:])
            steps[at, of][3:, 3:] = [[s, -z, y], [z, s, -x], [-y, x, s], [-x, -y, -z]]
        else:
            c, s = q[at][2:]
            steps[at, of][:2, :2] = [[c, -s], [s, c]]
            steps[at, of][2:, 2] = [-s, c]
    return np.asarray(steps)


def integrate(robot: KinematicTree, q: npt.ArrayLike, v: npt.ArrayLike) -> Array:
    """Move from q for unit time with constant velocities v, on the manifold of q.

    Args:
        robot: Any robot.
        q: Positions, shape (nq,) or (N, nq).
        v: Velocities times time, shape (dof,) or (N, dof).

    Returns:
        Positions, shape as q; quaternions, and cosines with sines, have length one.
    """
    q, v = np.asarray(q, dtype=np.float64), np.asarray(v, dtype=np.float64)
    parts = []
    for free, at, of in _segments(robot):
        x, rate = q[..., at], v[..., of]
        if free is None:
            parts.append(x + rate)
        elif free.floating:
            step, w = _along_screw(rate), rate[..., 3:]
            half = np.linalg.norm(w, axis=-1, keepdims=True) / 2.0
            turn = np.concatenate([np.sinc(half / np.pi) / 2.0 * w, np.cos(half)], axis=-1)
            parts.append(x[..., :3] + _turned(x[..., 3:], step))
            parts.append(_unit(_product(x[..., 3:], turn)))
        else:
            c, s, angle = x[..., 2:3], x[..., 3:], rate[..., 2:]
            step_x, step_y = np.split(_along_screw(_in_space(rate))[..., :2], 2, axis=-1)
            cos, sin = np.cos(angle), np.sin(angle)
            parts.append(
                x[..., :2]
                + np.concatenate([c * step_x - s * step_y, s * step_x + c * step_y], axis=-1)
            )
            parts.append(_unit(np.concatenate([c * cos - s * sin, s * cos + c * sin], axis=-1)))
    return np.concatenate(parts, axis=-1)


def difference(robot: KinematicTree, q0: npt.ArrayLike, q1: npt.ArrayLike) -> Array:
    """Velocities that lead from q0 to q1 in unit time: `integrate(robot, q0, v)` is q1.

    Args:
        robot: Any robot.
        q0: Positions, shape (nq,) or (N, nq).
        q1: Positions, same shape.

    Returns:
        Shape (dof,) or (N, dof).
    """
    q0, q1 = np.asarray(q0, dtype=np.float64), np.asarray(q1, dtype=np.float64)
    parts = []
    for free, at, _ in _segments(robot):
        x0, x1 = q0[..., at], q1[..., at]
        if free is None:
            parts.append(x1 - x0)
        elif free.floating:
            back = x0[..., 3:] * (-1.0, -1.0, -1.0, 1.0)
            turn = _product(back, x1[..., 3:])
            turn = np.where(turn[..., 3:] < 0.0, -turn, turn)
            sine = np.linalg.norm(turn[..., :3], axis=-1, keepdims=True)
            angle = 2.0 * np.arctan2(sine, turn[..., 3:])
            w = turn[..., :3] * np.where(sine > 0.0, angle / np.where(sine > 0.0, sine, 1.0), 2.0)
            parts += [_screw_to(_turned(back, x1[..., :3] - x0[..., :3]), w), w]
        else:
            c, s = x0[..., 2:3], x0[..., 3:]
            sine = c * x1[..., 3:] - s * x1[..., 2:3]
            angle = np.arctan2(sine, c * x1[..., 2:3] + s * x1[..., 3:])
            displacement_x, displacement_y = np.split(x1[..., :2] - x0[..., :2], 2, axis=-1)
            displacement = np.concatenate(
                [
                    c * displacement_x + s * displacement_y,
                    c * displacement_y - s * displacement_x,
                    angle,
                ],
                axis=-1,
            )
            space = _in_space(displacement)
            parts += [_screw_to(space[..., :3], space[..., 3:])[..., :2], angle]
    return np.concatenate(parts, axis=-1)


def rates_in_step(robot: KinematicTree, u: Array, v: Array) -> Array:
    """Rate of u where q = `integrate(robot, q0, u)` moves with velocities v, shape (dof,).

    Without terms of fourth order in u, as integrators of Munthe-Kaas of order four take it.
    """
    rates = v.copy()
    for free, _, of in _segments(robot):
        if free is not None:
            own = [u[of], v[of]] if free.floating else [_in_space(u[of]), _in_space(v[of])]
            once = _bracket(*own)
            change = once / 2.0 + _bracket(own[0], once) / 12.0
            rates[of] += change if free.floating else change[[0, 1, 5]]
    return rates


def _bracket(u: Array, v: Array) -> Array:
    """Lie bracket of twists: ad_u v, shape (6,)."""
    linear = cross(u[3:], v[:3]) + cross(u[:3], v[3:])
    return np.concatenate([linear, cross(u[3:], v[3:])])


_Segment = tuple[FreeJoint | None, slice, slice]


def _segments(robot: KinematicTree) -> Sequence[_Segment]:
    """Free joints and the joints between them, with their entries in q and in qd."""
    known: Sequence[_Segment] | None = robot.__dict__.get("_segments")
    if known is None:
        made: list[_Segment] = []
        q = v = 0
        for free in free_joints(merge_fixed(robot)):
            made.append((None, slice(q, free.q.start), slice(v, free.v.start)))
            made.append((free, free.q, free.v))
            q, v = free.q.stop, free.v.stop
        made.append((None, slice(q, robot.nq), slice(v, robot.dof)))
        known = robot.__dict__.setdefault("_segments", tuple(made))
    return known


def _in_space(planar: Array) -> Array:
    """A planar twist as one in space."""
    x, y, angle = (planar[..., i : i + 1] for i in range(3))
    return np.concatenate([x, y, 0.0 * x, 0.0 * x, 0.0 * x, angle], axis=-1)


def _along_screw(twist: Array) -> Array:
    """Displacement by a constant twist in unit time, in the axes at its start, shape (..., 3)."""
    v, w = twist[..., :3], twist[..., 3:]
    a2 = np.sum(w * w, axis=-1, keepdims=True)
    a, small = np.sqrt(a2), a2 < SMALL_ANGLE**2
    series = 1.0 / 6.0 - a2 / 120.0 + a2 * a2 / 5040.0
    b = np.where(small, series, (1.0 - np.sinc(a / np.pi)) / np.where(small, 1.0, a2))
    across = np.cross(w, v)
    return v + 0.5 * np.sinc(a / (2.0 * np.pi)) ** 2 * across + b * np.cross(w, across)


def _screw_to(p: Array, w: Array) -> Array:
    """Linear velocity of the twist with angular velocity w that leads to p in unit time."""
    a2 = np.sum(w * w, axis=-1, keepdims=True)
    half, small = np.sqrt(a2) / 2.0, a2 < SMALL_ANGLE**2
    series = 1.0 / 12.0 + a2 / 720.0 + a2 * a2 / 30240.0
    closed = (1.0 - half / np.tan(np.where(small, 1.0, half))) / np.where(small, 1.0, a2)
    across = np.cross(w, p)
    return p - 0.5 * across + np.where(small, series, closed) * np.cross(w, across)


SMALL_ANGLE = 0.03
"""Angle, rad, below which three terms of a series are exact and closed forms lose digits."""


def _product(a: Array, b: Array) -> Array:
    """Product of quaternions x, y, z, w, shape (..., 4)."""
    u, v, s, t = a[..., :3], b[..., :3], a[..., 3:], b[..., 3:]
    return np.concatenate(
        [s * v + t * u + np.cross(u, v), s * t - np.sum(u * v, axis=-1, keepdims=True)], axis=-1
    )


def _turned(quaternion: Array, vector: Array) -> Array:
    """Vector rotated by a unit quaternion, shape (..., 3)."""
    u, s = quaternion[..., :3], quaternion[..., 3:]
    across = 2.0 * np.cross(u, vector)
    return np.asarray(vector + s * across + np.cross(u, across))


def _unit(x: Array) -> Array:
    return np.asarray(x / np.linalg.norm(x, axis=-1, keepdims=True))
