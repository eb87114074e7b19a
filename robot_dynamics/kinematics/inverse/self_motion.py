"""Self-motions: the point that reaches a pose where the first one tried does not, and their range.

At the boundary of the workspace the equation of a joint may leave it free, while others reach the
pose from one of its positions only. An arm stretched out above its shoulder, with wrist axes in
line, has two such joints. The search tries angles side by side, and narrows about the best.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from robot_dynamics.foundation.arrays import Array
from robot_dynamics.kinematics.inverse.axis_chain import as_turn
from robot_dynamics.kinematics.inverse.closed_form_kernel import ClosedFormKernel
from robot_dynamics.kinematics.inverse.numeric_inverse import POLISHED

TRIALS = 33
"""Angles that are tried at a time, over a range that then shrinks to the 16th part."""

ROUNDS = 5
"""Until the best is known well enough to be polished."""

SAMPLES = 360
"""Angles at which a self-motion is tried for its range."""

OFFSETS = 2e-13 * np.vstack([np.zeros(3), np.eye(3), -np.eye(3)])
"""Offsets of a position, m, above the round-off of a double root."""

EXACT_ROUNDS = 13
"""Until it is known to the last digits: how near a second joint has to come to being free."""


def free_angles_within_reach(
    closed: ClosedFormKernel,
    R: Array,
    p: Array,
    redundant: Array | None,
    branch: Array,
    both: Array,
) -> Array:
    """Find cosine and sine of both turns that bring branches of N poses into reach, (N, 4).

    Args:
        closed: The closed form.
        R: Rotations, shape (N, 3, 3).
        p: Positions, shape (N, 3), m.
        redundant: Position of the redundant joint, shape (N, 1), or None.
        branch: Number of the branch, shape (N,).
        both: Whether arm and end effector may have to be turned by different angles, shape (N,).
    """

    def of_branch(values: Array, trials: int) -> Array:  # from shape (N trials, s)
        return values[np.arange(len(values)), np.repeat(branch, trials)].reshape(-1, trials)

    def residual(arm: Array, end_effector: Array) -> Array:  # of shape (N, trials), as the result
        found = closed(*_repeated(arm, end_effector, R, p, redundant)).residual
        return of_branch(np.where(np.isfinite(found), found, np.inf), arm.shape[1])

    def second_lever(arm: Array) -> Array:  # vanishes where another joint is free as well
        sizes = np.nan_to_num(closed.levers(*_repeated(arm, arm, R, p, redundant)), nan=np.inf)
        return of_branch(np.sort(sizes, axis=2)[..., 1], arm.shape[1])

    best = _narrowed(lambda angles: residual(angles, angles), len(R), ROUNDS)
    arm, end_effector = best, best.copy()
    far = np.flatnonzero(both & (residual(arm[:, None], end_effector[:, None])[:, 0] > POLISHED[1]))
    if far.size:
        in_line = _narrowed(second_lever, len(R), EXACT_ROUNDS)
        turned = _narrowed(
            lambda angles: residual(np.broadcast_to(in_line[:, None], angles.shape), angles),
            len(R),
            ROUNDS,
        )
        arm[far], end_effector[far] = in_line[far], turned[far]
    return np.column_stack([*as_turn(arm)[:2], *as_turn(end_effector)[:2]])


def self_motions(closed: ClosedFormKernel, valid: Array, pose: list[Any]) -> list[Any]:
    """Describe the self-motion of every branch of a pose, or return None for it.

    The free angles are turned round, together and one by one: where the others still reach the
    pose, next to each other, is the range of the joint that turned.

    Args:
        closed: The closed form.
        valid: Whether the branches reach the pose, shape (s,).
        pose: Rotation, position, redundant position or None, and free angles, shape (s, 4).
    """
    texts: list[str | None] = [None] * len(valid)
    R, p, given, every = pose
    for free in np.unique(every[valid], axis=0):
        joints = closed.free_joints(R, p, given, free)
        mine = valid & (every == free).all(axis=1)
        left = [int(k) for k in np.flatnonzero(mine) if joints[k]]
        for offset in OFFSETS:
            if left:
                found = _ranges(closed, left, joints, [R, p + offset, given], free)
                for k, (joint, low, high) in found.items():
                    texts[k] = _described(closed.chain.names, joints[k], joint, low, high)
                left = [k for k in left if k not in found]
    return texts


Range = tuple[int | None, float, float]
"""Joint that moves, None if none does, and the ends of its range, rad."""


def _ranges(
    closed: ClosedFormKernel,
    branches: list[int],
    joints: list[list[int]],
    pose: list[Any],
    free: Array,
) -> dict[int, Range]:
    """Return the ranges of the free joints of branches, without those that do not turn with `free`.

    Round-off at a double root leaves a joint nearly free, and hides that it is: a pose beside it,
    for which the root does not exist, shows it.
    """
    found: dict[int, Range] = {}
    turns = np.linspace(0.0, 2.0 * np.pi, SAMPLES, endpoint=False)
    here: list[Any] = [None if x is None else x[None] for x in pose]
    frees = np.arctan2(free[1::2], free[::2])[:, None, None]
    several = max(len(joints[k]) for k in branches) > 1
    for sides in ((1, 1), (1, 0), (0, 1))[: 3 if several else 1]:
        arm, end_effector = (start + side * turns for start, side in zip(frees, sides, strict=True))
        q, residual, *_ = closed(*_repeated(arm, end_effector, *here))
        reached = residual < POLISHED[1]
        for k in branches:
            near = 1 if reached[1, k] else -1
            if not reached[0, k]:
                continue
            if not reached[near, k]:
                found.setdefault(k, (None, 0.0, 0.0))
                continue
            speeds = np.sin(q[near, k] - q[0, k]) / np.sin(turns[near])
            moved = [j for j in joints[k] if abs(abs(speeds[j]) - 1.0) < 1e-3]
            if moved:
                misses = np.flatnonzero(~reached[:, k])
                ends = (misses[-1] - SAMPLES + 1, misses[0] - 1) if misses.size else (0, SAMPLES)
                low, high = sorted(
                    q[0, k, moved[0]] + np.sign(speeds[moved[0]]) * turns[1] * np.array(ends)
                )
                _, *known = found.get(k, (None, 0.0, 0.0))
                if high - low > known[1] - known[0]:
                    found[k] = moved[0], low, high
    return found


def _described(
    names: tuple[str, ...], free: list[int], joint: int | None, low: float, high: float
) -> str:
    """Describe the self-motion of one branch: its free joints, and the range of one of them."""
    if joint is None:
        joints = " and ".join(f"joint '{names[j]}'" for j in free)
        return f"{joints} may turn, but others reach the pose only from here"
    if high - low > 2.0 * np.pi - 1e-9:
        return f"joint '{names[joint]}' may be anywhere, and others follow"
    return f"joint '{names[joint]}' may be from {low:.2f} to {high:.2f} rad, and others follow"


def _repeated(
    arm: Array, end_effector: Array, R: Array, p: Array, redundant: Array | None
) -> tuple[Array, Array, Array | None, Array]:
    """Return the arguments of the closed form for every trial, shape (N, trials)."""
    trials = arm.shape[1]
    frees = np.column_stack([*as_turn(arm.ravel())[:2], *as_turn(end_effector.ravel())[:2]])
    given = None if redundant is None else np.repeat(redundant, trials, axis=0)
    return np.repeat(R, trials, axis=0), np.repeat(p, trials, axis=0), given, frees


def _narrowed(measure: Callable[[Array], Array], N: int, rounds: int) -> Array:
    """Find where trials make the measure of N angles least; shape (N,), rad."""
    best = np.zeros(N)
    for number in range(rounds):
        width = np.pi * (2.0 / (TRIALS - 1)) ** number
        trials = best[:, None] + width * np.linspace(-1.0, 1.0, TRIALS)
        nearest = measure(trials).argmin(axis=1)
        best = np.take_along_axis(trials, nearest[:, None], axis=1)[:, 0]
    return best
