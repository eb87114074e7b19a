"""Friction of one joint as columns of a linear model, and which of them a joint needs.

    tau_f = viscous qd + (coulomb + load |tau_r| + stiction exp(-(qd / stribeck)^2)) s(qd) + offset
    s(qd) = tanh(qd / width)

tau_r is the rigid-body effort of the joint: gear friction grows with the load. A negative
stiction is friction that rises with speed and bends (a viscous part that falls with speed).
Width and Stribeck speed are not linear; they are tried on a grid. What a joint needs is
decided by the error on held-out blocks of samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product

import numpy as np

from robot_dynamics.control.friction import slip_distances, slipped_along
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.recordings.signals import Path, Signals

WIDTHS = (0.0007, 0.0015, 0.003, 0.007, 0.015, 0.03, 0.05, 0.08, 0.12, 0.2)
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
        memory: Part of dry friction with presliding; see `Friction`.
        slip: Its slip distance, rad or m.
        slip_ratio: Ratio of the slip distances of its elements.
        elastic: Part of dry friction up to which an element is elastic.
    """

    width: float = 0.0
    stribeck: float = 0.0
    viscous: bool = False
    loaded: bool = False
    memory: float = 0.0
    slip: float = 1.0
    slip_ratio: float = 1.0
    elastic: float = 1.0

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

    @property
    def model(self) -> str:
        """Name of the model of its dry friction, of `MODELS`."""
        if not self.memory:
            return "static"
        if self.slip_ratio > 1.0:
            return "maxwell"
        if self.elastic == 1.0:
            return "stop"
        return "lugre" if self.elastic > 0.0 else "dahl"


MODELS = {
    "stop": ((1.0, 1.0),),
    "maxwell": ((2.0, 1.0), (4.0, 1.0)),
    "dahl": ((1.0, 0.0),),
    "lugre": ((1.0, 0.5),),
}
"""Models with memory, the simplest first: slip_ratio and elastic parts to try."""

SHARES = (0.75,)
"""Parts of dry friction with memory that are tried beside all of it."""

MEMORY_WIDTHS = (0.015, 0.05, 0.12, 0.25)
"""Widths of the other part that are tried, over the highest speed of the joint."""

MEMORY_STRIBECK = (0.05, 0.2, 0.8)
"""Stribeck speeds that are tried beside that without memory, over the highest speed."""

LONGEST_SLIP = 0.05
"""Longest slip distance that is tried, over the range of the motion."""

SHORTEST_SLIP = 4e-5
"""Shortest one."""

NOISES = 4.0
"""Shortest slip distance, in standard deviations of the positions."""


BLOCKS = 6
"""Number of blocks for cross-validation."""

ROUND_OFF = 1e-12
"""Part of a sum of squares that is left of it by round-off alone."""

PIECE_S = 1.0
"""Time of a piece of mixed blocks, s: longer than a reversal, shorter than most moves."""


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
        self.range = np.ptp(motion.q @ drive.T, axis=0)
        self._column = lru_cache(maxsize=None)(self._filtered)
        self._tracks: dict[tuple[int, float], dict[tuple[float, float], Array]] = {}
        self._cache: dict[tuple[int, int, tuple[tuple[float, float], ...]], Array] = {}

    def slips(self, j: int) -> list[float]:
        """Return slip distances to try, each half of the last, rad or m."""
        noise = max(
            float(np.median(np.abs(np.diff(path.q @ self.drive[j], 3)))) / 3.0
            for path in self.motion.paths
        )
        longest = LONGEST_SLIP * self.range[j]
        least = max(SHORTEST_SLIP * float(self.range[j]), NOISES * noise)
        return [longest * 0.5**k for k in range(1 + max(0, int(np.log2(longest / least))))]

    def of(self, j: int, shape: FrictionTerms, load: Array) -> Array:
        """Columns of joint j, shape (N, k); `load` is |tau_r| of the joint, shape (N,)."""
        columns = [np.ones(len(self.qd))]
        if shape.viscous:
            columns.append(self.qd[:, j])
        if shape.width:
            sign = self.direction(j, shape, 0.0)
            columns.append(sign)
            if shape.stribeck:
                columns.append(self.direction(j, shape, shape.stribeck))
            if shape.loaded:
                columns.append(load * sign)
        return np.column_stack(columns)

    def direction(self, j: int, shape: FrictionTerms, stribeck: float) -> Array:
        """Return the filtered direction of dry friction times its fall with speed, shape (N,)."""
        column = self._column(j, shape.width, stribeck) if shape.memory < 1.0 else 0.0
        if not shape.memory:
            return np.asarray(column)
        elements = sorted(slip_distances(shape.slip, shape.slip_ratio))
        tracks = self.tracks(j, stribeck, [(slip, shape.elastic) for slip in elements])
        mean = sum(tracks) / len(tracks)
        return np.asarray((1.0 - shape.memory) * column + shape.memory * mean)

    def prepare(self, j: int, shapes: Sequence[FrictionTerms]) -> None:
        """Compute what the elements of shapes of a joint remember, all of them at once."""
        elements = [
            (slip, shape.elastic)
            for shape in shapes
            if shape.memory
            for slip in slip_distances(shape.slip, shape.slip_ratio)
        ]
        for fall in {0.0, *(shape.stribeck for shape in shapes)}:
            self.tracks(j, fall, elements)

    def tracks(
        self, j: int, stribeck: float, elements: Sequence[tuple[float, float]]
    ) -> list[Array]:
        """Return filtered directions that elements of slip distance and elastic part remember."""
        known = self._tracks.setdefault((j, stribeck), {})
        wanted = list(dict.fromkeys(one for one in elements if one not in known))
        if wanted:

            def column(path: Path) -> Array:
                z = self._states(path, j, tuple(wanted))
                v = path.qd @ self.drive[j]
                return z * np.exp(-((v / stribeck) ** 2))[:, None] if stribeck else z

            filtered = np.ascontiguousarray(self.motion.low_pass(column).T)
            known.update(zip(wanted, filtered, strict=True))
        return [known[one] for one in elements]

    def _states(self, path: Path, j: int, elements: tuple[tuple[float, float], ...]) -> Array:
        key = (id(path), j, elements)
        if key not in self._cache:
            slip, elastic = np.array(elements).T
            self._cache[key] = slipped_along((path.q @ self.drive[j])[:, None], slip, elastic)
        return self._cache[key]

    def _filtered(self, j: int, width: float, stribeck: float) -> Array:
        def column(path: Path) -> Array:
            v = path.qd @ self.drive[j]
            fall = np.exp(-((v / stribeck) ** 2)) if stribeck else 1.0
            return np.asarray(fall * np.tanh(v / width))

        return self.motion.low_pass(column)


def static_shapes(speed: float) -> list[FrictionTerms]:
    """Return shapes without memory to try for a joint of that highest speed, rad/s or m/s."""
    none = FrictionTerms()
    if speed <= 0.0:
        return [none]
    return [none] + [
        FrictionTerms(width * speed, fall * speed)
        for width, fall in product(WIDTHS, (0.0, *STRIBECK))
        if not fall or fall >= 2.0 * width
    ]


def shapes_with_memory(
    model: str, static: FrictionTerms, speed: float, slips: Sequence[float]
) -> list[FrictionTerms]:
    """Return shapes of a model of `MODELS` to try for a joint.

    Args:
        model: Its name.
        static: The best shape without memory.
        speed: Highest speed, rad/s or m/s.
        slips: Slip distances, rad or m.
    """
    falls = sorted({0.0, static.stribeck, *(part * speed for part in MEMORY_STRIBECK)})
    widths = [part * speed for part in MEMORY_WIDTHS]
    rates = [(1.0, widths[0]), *product(SHARES, widths)]
    return [
        FrictionTerms(width, fall, memory=share, slip=slip, slip_ratio=slip_ratio, elastic=elastic)
        for fall, (slip_ratio, elastic), slip, (share, width) in product(
            falls, MODELS[model], slips, rates
        )
    ]


def chosen(
    columns: FrictionColumns,
    j: int,
    effort: Array,
    load: Array,
    weight: Array,
    time: Array,
    *,
    memory: bool,
) -> FrictionTerms:
    """Return the simplest model within one standard error of the least error on held-out blocks.

    Without memory the terms are those with the least error on successive blocks. A model with
    memory is compared with them on these and on `mixed_blocks`.

    Args:
        columns: Of all joints.
        j: The joint.
        effort: Effort to be explained by friction, shape (N,), N m or N.
        load: |tau_r|, shape (N,).
        weight: Of every sample, shape (N,).
        time: Of every sample, shape (N,), s.
        memory: Whether models with memory are tried.
    """
    speed = float(columns.speed[j])
    data = (columns, j, effort, load, weight)
    static, _ = _Search(*data, successive_blocks(time)).best(static_shapes(speed))
    if not (memory and speed > 0.0):
        return static
    search = _Search(*data, [*successive_blocks(time), *mixed_blocks(time)])
    slips = columns.slips(j)
    found = [search.best([static])]
    tried = [shapes_with_memory(model, static, speed, slips) for model in MODELS]
    columns.prepare(j, [shape for shapes in tried for shape in shapes])
    found += [search.best(shapes) for shapes in tried]
    least = min((errors for _, errors in found), key=np.sum)
    for shape, errors in found:
        excess = errors - least
        if excess.sum() <= np.sqrt(len(excess)) * excess.std(ddof=1):
            return shape
    raise AssertionError("the least error is within one standard error of itself")


def successive_blocks(time: Array) -> list[Array]:
    """Return the indices of the samples of `BLOCKS` blocks, one after the other."""
    return [block for block in np.array_split(np.arange(len(time)), BLOCKS) if len(block)]


def mixed_blocks(time: Array) -> list[Array]:
    """Return the indices of the samples of `BLOCKS` blocks, each of pieces from end to end.

    With `PIECE_S` or less a piece, each block contains motion, reversals and rest as the recording
    does.
    """
    rounds = max(1, int(np.ptp(time) / (BLOCKS * PIECE_S)))
    pieces = np.array_split(np.arange(len(time)), rounds * BLOCKS)
    blocks = [np.concatenate(pieces[k::BLOCKS]) for k in range(BLOCKS)]
    return [block for block in blocks if len(block)]


class _Search:
    """Search of friction terms of one joint; arguments as of `chosen`."""

    def __init__(
        self,
        columns: FrictionColumns,
        j: int,
        effort: Array,
        load: Array,
        weight: Array,
        blocks: Sequence[Array],
    ) -> None:
        self.columns, self.j, self.effort, self.load = columns, j, effort, load
        self.weight, self.blocks = weight, blocks
        self.times = sum(len(block) for block in blocks) // len(effort)

    def best(self, shapes: Sequence[FrictionTerms]) -> tuple[FrictionTerms, Array]:
        """Return the shape with the least error on held-out blocks, with or without its terms.

        Returns:
            The shape, and its squared error on each block.
        """
        found, least = FrictionTerms(), np.full(len(self.blocks), np.inf)
        alike: dict[tuple[float, bool], list[FrictionTerms]] = {}
        for one in shapes:
            alike.setdefault((one.stribeck, one.width > 0.0), []).append(one)
        for some in alike.values():
            whole = replace(some[0], viscous=True, loaded=some[0].width > 0.0)
            grams = self._grams(some)
            for viscous, loaded in product((True, False), (False, True)[: 1 + whole.loaded]):
                part = replace(some[0], viscous=viscous, loaded=loaded)
                kept = [whole.names.index(name) for name in part.names] + [-1]
                errors = held_out_errors(grams[:, :, kept][:, :, :, kept], part, self.times)
                errors *= (1.0 + WORTH) ** (2 * len(part.names))
                best = int(np.argmin(errors.sum(axis=1)))
                if errors[best].sum() < least.sum():
                    found = replace(some[best], viscous=viscous, loaded=loaded)
                    least = errors[best]
        return found, least

    def _grams(self, shapes: Sequence[FrictionTerms]) -> Array:
        """Return Z^T W Z of each block, (shapes, blocks, k + 1, k + 1), for equal terms."""
        columns, j, fall = self.columns, self.j, shapes[0].stribeck
        size = (len(shapes), len(self.effort))
        rows = [np.ones(size), np.broadcast_to(columns.qd[:, j], size)]
        if shapes[0].width:
            sign = np.array([columns.direction(j, shape, 0.0) for shape in shapes])
            rows.append(sign)
            if fall:
                rows.append(np.array([columns.direction(j, shape, fall) for shape in shapes]))
            rows.append(self.load * sign)
        rows.append(np.broadcast_to(self.effort, size))
        Z = np.stack(rows, axis=1) * np.sqrt(self.weight)
        parts = [np.ascontiguousarray(Z[:, :, block]) for block in self.blocks]
        return np.stack([part @ part.transpose(0, 2, 1) for part in parts], axis=1)


def held_out_errors(grams: Array, shape: FrictionTerms, times: int = 1) -> Array:
    """Return the squared error on each held-out block; infinite for invalid coefficients.

    Args:
        grams: Z^T W Z of each block with the columns of a shape and the effort as last column
            of Z, shape (shapes, blocks, k + 1, k + 1). Blocks contain every sample equally often.
        shape: One of the shapes, which have equal terms.
        times: How often.

    Returns:
        Shape (shapes, blocks).
    """
    total = grams.sum(axis=1, keepdims=True) / times
    rest = total - grams
    squares, of_rest = (np.einsum("cbii->cbi", part) for part in (total, rest))
    seen = of_rest > ROUND_OFF * squares  # outside a block that contains all motion nothing is
    rest = np.where(seen[..., :, None] & seen[..., None, :], rest, 0.0)
    solutions = _solved(np.concatenate([total, rest], axis=1))
    step = np.concatenate([-solutions[:, 1:], np.ones((*grams.shape[:2], 1))], axis=2)
    errors = np.einsum("cbi,cbij,cbj->cb", step, grams, step)
    return np.where(sensible(solutions[:, 0], shape)[:, None], errors, np.inf)


def _solved(grams: Array) -> Array:
    """Coefficients of several normal equations, shape (c, b, k)."""
    k = grams.shape[-1] - 1
    scale = np.sqrt(np.maximum(np.einsum("cbii->cbi", grams)[..., :k], 1e-30))
    scaled = grams[..., :k, :k] / (scale[..., :, None] * scale[..., None, :]) + 1e-9 * np.eye(k)
    right = (grams[..., :k, k] / scale)[..., None]
    return np.asarray(np.linalg.solve(scaled, right)[..., 0] / scale)


def sensible(coefficients: Array, shape: FrictionTerms) -> Array:
    """Return whether friction dissipates power at every speed, of coefficients (c, k)."""
    value = dict.fromkeys(("viscous", "coulomb", "stiction", "load"), np.zeros(len(coefficients)))
    value |= dict(zip(shape.names, coefficients.T, strict=True))
    at_rest = value["coulomb"] + value["stiction"]
    least = np.min([value["viscous"], value["coulomb"], value["load"], at_rest], axis=0)
    return np.asarray((least >= 0.0) & (value["load"] <= MOST_LOADED))
