"""Search a self-motion for the point that reaches a pose, where the first one tried does not.

At the boundary of the workspace the equation of a joint may leave it free, while others reach the
pose from one of its positions only. An arm stretched out above its shoulder, with wrist axes in
line, has two such joints. The search tries angles side by side, and narrows about the best.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from robot_dynamics.foundation.arrays import Array
from robot_dynamics.kinematics.inverse.axis_chain import as_turn
from robot_dynamics.kinematics.inverse.closed_form_kernel import ClosedFormKernel
from robot_dynamics.kinematics.inverse.inverse_solutions import lever_of
from robot_dynamics.kinematics.inverse.numeric_inverse import POLISHED

TRIALS = 33
"""Angles that are tried at a time, over a range that then shrinks to the 16th part."""

ROUNDS = 5
"""Until the best is known well enough to be polished."""

EXACT_ROUNDS = 13
"""Until it is known to the last digits: how near a second joint has to come to being free."""


def free_angles_within_reach(
    closed: ClosedFormKernel, R: Array, p: Array, redundant: Array | None
) -> Array:
    """Find cosine and sine for arm and hand that bring each of N poses into reach, (N, 4).

    Args:
        closed: The closed form.
        R: Rotations, shape (N, 3, 3).
        p: Positions, shape (N, 3), m.
        redundant: Position of the redundant joint, shape (N, 1), or None.
    """

    def residual(arm: Array, hand: Array) -> Array:  # of shape (N, trials), as the result
        found = closed(*_repeated(arm, hand, R, p, redundant)).residual
        found = np.where(np.isfinite(found), found, np.inf)
        return found.min(axis=1).reshape(arm.shape)

    def second_lever(arm: Array) -> Array:  # vanishes where another joint is free as well
        R_all, p_all, given, frees = _repeated(arm, arm, R, p, redundant)
        with np.errstate(all="ignore"):
            rows = None if given is None else given.T
            ways = closed.ways(R_all.transpose(1, 2, 0), p_all.T, rows, frees.T)
            levers = [[np.broadcast_to(lever_of(s), arm.size) for s in w.steps] for w in ways]
        sizes = [np.nan_to_num([*rows, np.ones(arm.size)], nan=np.inf) for rows in levers]
        second = [np.sort(rows, axis=0)[1] for rows in sizes]
        return np.min(second, axis=0).reshape(arm.shape)

    best = _narrowed(lambda angles: residual(angles, angles), len(R), ROUNDS)
    arm, hand = best, best.copy()
    far = np.flatnonzero(residual(arm[:, None], hand[:, None])[:, 0] > POLISHED[1])
    if far.size:
        in_line = _narrowed(second_lever, len(R), EXACT_ROUNDS)
        turned = _narrowed(
            lambda angles: residual(np.broadcast_to(in_line[:, None], angles.shape), angles),
            len(R),
            ROUNDS,
        )
        arm[far], hand[far] = in_line[far], turned[far]
    return np.column_stack([*as_turn(arm)[:2], *as_turn(hand)[:2]])


def _repeated(
    arm: Array, hand: Array, R: Array, p: Array, redundant: Array | None
) -> tuple[Array, Array, Array | None, Array]:
    """Return the arguments of the closed form for every trial, shape (N, trials)."""
    trials = arm.shape[1]
    frees = np.column_stack([*as_turn(arm.ravel())[:2], *as_turn(hand.ravel())[:2]])
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
