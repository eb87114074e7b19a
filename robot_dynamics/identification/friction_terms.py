"""Friction of one joint as columns of a linear model, and which of them a joint needs.

    tau_f = viscous qd + (coulomb + load |tau_r| + stiction exp(-(qd / stribeck)^2)) s(qd) + offset
    s(qd) = tanh(qd / width)

tau_r is the rigid-body effort of the joint: gear friction grows with the load. A negative
stiction is friction that rises with speed and bends (a viscous part that falls with speed).
Width and Stribeck speed are not linear; they are tried on a grid. What a joint needs is
decided by the error on held-out blocks of samples.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np

from robot_dynamics.foundation.arrays import Array
from robot_dynamics.identification.signals import Signals

WIDTHS = (0.003, 0.007, 0.015, 0.03, 0.05, 0.08, 0.12, 0.2)
"""Widths that are tried, over the highest speed of the joint."""

STRIBECK = (0.05, 0.1, 0.2, 0.4, 0.8)
"""Stribeck speeds that are tried, over the highest speed of the joint."""

WORTH = 0.02
"""Share of the error that an additional coefficient must remove to be kept."""


MOST_LOADED = 0.9
"""Largest friction per effort borne by a gear; a gear with 1 would be self-locking."""


@dataclass(frozen=True)
class FrictionTerms:
    """Terms of the friction of a joint.

    Args:
        width: Speed at which the sign is at 76 %, rad/s or m/s; 0 for none.
        stribeck: Stribeck speed, rad/s or m/s; 0 for no such term.
        viscous: Whether friction grows with speed.
        loaded: Whether it grows with the load.
    """

    width: float = 0.0
    stribeck: float = 0.0
    viscous: bool = False
    loaded: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Coefficients, in the order of the columns."""
        present = {
            "offset": True,
            "viscous": self.viscous,
            "coulomb": self.width > 0.0,
            "stiction": self.stribeck > 0.0,
            "load": self.loaded,
        }
        return tuple(name for name, there in present.items() if there)


class FrictionColumns:
    """Columns of the terms of all joints, filtered as the efforts are.

    Args:
        motion: Filtered samples.
        drive: Movement of every drive per movement of every joint, shape (n, n).
    """

    def __init__(self, motion: Signals, drive: Array) -> None:
        self.motion, self.drive = motion, drive
        self.qd = motion.qd @ drive.T
        self.speed = np.quantile(np.abs(self.qd), 0.99, axis=0)
        self._column = lru_cache(maxsize=None)(self._filtered)

    def of(self, j: int, shape: FrictionTerms, load: Array) -> Array:
        """Columns of joint j, shape (N, k); `load` is |tau_r| of the joint, shape (N,)."""
        columns = [np.ones(len(self.qd))]
        if shape.viscous:
            columns.append(self.qd[:, j])
        if shape.width:
            sign = self._column(j, shape.width, 0.0)
            columns.append(sign)
            if shape.stribeck:
                columns.append(self._column(j, shape.width, shape.stribeck))
            if shape.loaded:
                columns.append(load * sign)
        return np.column_stack(columns)

    def _filtered(self, j: int, width: float, stribeck: float) -> Array:
        def column(qd: Array) -> Array:
            v = qd @ self.drive[j]
            fall = np.exp(-((v / stribeck) ** 2)) if stribeck else 1.0
            return np.asarray(fall * np.tanh(v / width))

        return self.motion.low_pass(column)


def candidates(speed: float) -> Iterator[tuple[FrictionTerms, list[FrictionTerms]]]:
    """Shapes to try for a joint of that highest speed, rad/s or m/s: one with all terms, and parts.

    The parts share width and Stribeck speed, so that sums over samples serve all of them.
    """
    if speed <= 0.0:
        yield FrictionTerms(), [FrictionTerms()]
        return
    yield FrictionTerms(viscous=True), [FrictionTerms(), FrictionTerms(viscous=True)]
    for width, fall in product(WIDTHS, (0.0, *STRIBECK)):
        if not fall or fall >= 2.0 * width:
            w, v = width * speed, fall * speed
            parts = [FrictionTerms(w, v, *which) for which in product((True, False), (False, True))]
            yield FrictionTerms(w, v, viscous=True, loaded=True), parts


def chosen(
    columns: FrictionColumns,
    j: int,
    effort: Array,
    load: Array,
    weight: Array,
    blocks: Sequence[Array],
) -> FrictionTerms:
    """Return the terms with the least error on held-out blocks.

    Args:
        columns: Of all joints.
        j: The joint.
        effort: Effort to be explained by friction, shape (N,), N m or N.
        load: |tau_r|, shape (N,).
        weight: Of every sample, shape (N,).
        blocks: Indices of the samples of each block.
    """
    best, least = FrictionTerms(), np.inf
    for whole, parts in candidates(float(columns.speed[j])):
        Z = np.column_stack([columns.of(j, whole, load), effort])
        grams = np.array([(Z[rows] * weight[rows, None]).T @ Z[rows] for rows in blocks])
        for shape in parts:
            kept = [whole.names.index(name) for name in shape.names] + [-1]
            error = held_out_error(grams[:, kept][:, :, kept], shape)
            error *= (1.0 + WORTH) ** (2 * len(shape.names))
            if error < least:
                best, least = shape, error
    return best


def held_out_error(grams: Array, shape: FrictionTerms) -> float:
    """Return the squared error on held-out blocks; infinite for invalid coefficients.

    Args:
        grams: Z^T W Z of each block with the columns of the shape and the effort as last column
            of Z, shape (blocks, k + 1, k + 1).
        shape: The shape.
    """
    total = grams.sum(axis=0)
    solutions = _solved(np.concatenate([total[None], total - grams]))
    if not sensible(solutions[0], shape):
        return np.inf
    step = np.column_stack([-solutions[1:], np.ones(len(grams))])
    return float(np.einsum("bi,bij,bj->", step, grams, step))


def _solved(grams: Array) -> Array:
    """Coefficients of several normal equations, shape (b, k)."""
    k = grams.shape[1] - 1
    scale = np.sqrt(np.maximum(np.einsum("bii->bi", grams)[:, :k], 1e-30))
    scaled = grams[:, :k, :k] / (scale[:, :, None] * scale[:, None, :]) + 1e-9 * np.eye(k)
    right = (grams[:, :k, k] / scale)[:, :, None]
    return np.asarray(np.linalg.solve(scaled, right)[:, :, 0] / scale)


def sensible(coefficients: Array, shape: FrictionTerms) -> bool:
    """Return whether friction dissipates power at every speed."""
    value = dict.fromkeys(("viscous", "coulomb", "stiction", "load"), 0.0)
    value |= dict(zip(shape.names, coefficients, strict=True))
    at_rest = value["coulomb"] + value["stiction"]
    takes = min(value["viscous"], value["coulomb"], value["load"], at_rest) >= 0.0
    return takes and value["load"] <= MOST_LOADED
