"""Numeric inverse kinematics: for arms without a closed form, and to polish solutions of one.

Damped Gauss-Newton within the joint limits (`search_step`, compiled), for many
poses and from several starts at once, for all directions of a pose or a selection of them. The
search moves arms with more joints than directions towards the middle of their ranges in the null
space of the task.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from robot_dynamics.algorithms.composite_body import factorise, solve
from robot_dynamics.compiler.graph.piecewise import clip, select
from robot_dynamics.compiler.graph.trace import trace
from robot_dynamics.compiler.kernel import Backend, Kernel, compile_program
from robot_dynamics.foundation.arrays import Array, vector
from robot_dynamics.foundation.lazy import cached_property, imported
from robot_dynamics.kinematics.inverse.axis_chain import AxisChain, as_turn
from robot_dynamics.kinematics.inverse.subproblems import (
    Vector,
    cross,
    dot,
    minus,
    plus,
    times,
    turned,
)
from robot_dynamics.kinematics.selection import ALL, Selection

STARTS = 8
"""Searches side by side for every pose."""

STEPS = 30
"""Steps of a round of searches; most end after seven."""

CENTRED = 4
"""Steps that also draw to the middle of the ranges; later ones would keep it from converging."""

PULL = 0.2
"""By how much, as part of the damping."""

ROUNDS = 60
"""Rounds of new starts before a search is given up."""

CONVERGED = 1e-10
"""Residual at which a search ends."""

POLISHED = (1e-11, 1e-5)
"""Residuals that a closed form leaves where axes meet or are parallel but for the digits of a URDF,
and near double roots."""

POLISHING_STEPS = 4

CONTINUATION_STEPS = 10

LONGEST = 0.2
"""Longest step of a continuation, rad or m."""

NEAR = 1e-6
"""Residual below which a polishing step that leads away is followed by others."""

LOST = (1e-5, 1e-9)
"""Singular values, as parts of the largest, below which a direction is left alone: first where the
arm is singular, then where it is only nearly so."""


class NumericSolver:
    """Searches for joint positions of a chain, and the last digits of positions found otherwise.

    Args:
        chain: The joints.
        cache: Keep the code on disk.
        backend: As of `compile_program`.
        selection: Directions that the search takes account of.
    """

    def __init__(
        self,
        chain: AxisChain,
        cache: bool,
        backend: Backend | None,
        selection: Selection = ALL,
    ) -> None:
        self.chain, self._cache, self._backend = chain, cache, backend
        self.selection = selection
        known = np.isfinite(chain.lower) & np.isfinite(chain.upper)
        self.lower = np.where(known, chain.lower, -np.pi)
        self.upper = np.where(known, chain.upper, np.pi)
        self.clip = np.where(known, chain.lower, -np.inf), np.where(known, chain.upper, np.inf)

    def solve(self, R: Array, p: Array, start: npt.ArrayLike | None = None) -> tuple[Array, Array]:
        """Find positions within the limits nearest to N poses, (N, n), and residuals (N,).

        The first search is from `start` alone, and in no preferred direction.
        """
        n, N = len(self.chain), len(R)
        rng = imported("numpy.random").default_rng(0)
        best, least, left = np.zeros((N, n)), np.full(N, np.inf), np.arange(N)
        for attempt in range(ROUNDS):
            q, pull = rng.uniform(self.lower, self.upper, (STARTS, n)), PULL
            if attempt == 0 and start is None:
                q[0] = 0.5 * (self.lower + self.upper)
            elif attempt == 0 and start is not None:
                q, pull = np.clip(vector("start", start, n), *self.clip)[None], 0.0
            found, residual = self._descend(np.tile(q, (len(left), 1, 1)), R[left], p[left], pull)
            better = residual < least[left]
            best[left[better]], least[left[better]] = found[better], residual[better]
            left = left[least[left] > CONVERGED]
            if not left.size:
                break
        turns = np.isinf(self.clip[0]) & self.chain.rotates
        return np.where(turns, np.arctan2(np.sin(best), np.cos(best)), best), least

    def _descend(self, q: Array, R: Array, p: Array, pull: float) -> tuple[Array, Array]:
        """Return the best of the searches from q, shape (N, starts, n), for every pose."""
        N, starts, n = q.shape
        idle = n > len(self.selection.rows)
        best, least, left = q[:, 0].copy(), np.full(N, np.inf), np.arange(N)
        pose, at = (np.repeat(R, starts, axis=0), np.repeat(p, starts, axis=0)), q.reshape(-1, n)
        for step in range(STEPS):
            pulls = np.full((len(at), 1), pull if idle and step < CENTRED else 0.0)
            moved, residual = self._step(at, *pose, pulls)
            going = residual.reshape(-1, starts).min(axis=1) > CONVERGED
            if step < STEPS - 1 and going.all():
                at = moved
                continue
            k = starts * np.arange(len(left)) + residual.reshape(-1, starts).argmin(axis=1)
            best[left], least[left] = at[k], residual[k]
            left, rows = left[going], np.repeat(going, starts)
            pose, at = (pose[0][rows], pose[1][rows]), moved[rows]
            if not left.size:
                break
        return best, least

    def continued(self, q: Array, R: Array, p: Array) -> tuple[Array, Array]:
        """Lead positions near to a pose to solutions by Newton's steps.

        Args:
            q: Positions, shape (N, s, n); NaN where there are none.
            R: Rotations to reach, shape (N, 3, 3).
            p: Positions to reach, shape (N, 3).

        Returns:
            Positions, and residuals (N, s), NaN where no solution is reached.
        """
        found, residuals = np.full(q.shape, np.nan), np.full(q.shape[:2], np.nan)
        rows = np.nonzero(np.isfinite(q).all(axis=2))
        at, pose = q[rows], (R[rows[0]], p[rows[0]])
        for _ in range(CONTINUATION_STEPS):
            error, J, _ = self._error(at, *pose)
            step = np.einsum("nij,nj->ni", np.linalg.pinv(J, rcond=LOST[1]), error)
            at = at + step.clip(-LONGEST, LONGEST)
        *_, residual = self._error(at, *pose)
        kept = residual <= CONVERGED
        rows = tuple(x[kept] for x in rows)
        found[rows], residuals[rows] = at[kept], residual[kept]
        return found, residuals

    def polish(
        self, q: Array, residual: Array, R: Array, p: Array, held: int | None = None
    ) -> None:
        """Polish solutions of closed form, shape (N, s, n), to the last digits.

        Args:
            q: Positions; those of `residual` in the range `POLISHED` are changed.
            residual: Residuals, shape (N, s), changed as well.
            R: Rotations to reach, shape (N, 3, 3).
            p: Positions to reach, shape (N, 3).
            held: Joint that stays where it is, or None.
        """
        rows = np.nonzero((residual > POLISHED[0]) & (residual < POLISHED[1]))
        lost = np.repeat(LOST, len(rows[0]))  # both ways side by side
        rows = tuple(np.tile(x, len(LOST)) for x in rows)
        at, pose = q[rows], (R[rows[0]], p[rows[0]])
        error, J, before = self._error(at, *pose)
        for _ in range(POLISHING_STEPS):
            if held is not None:
                J[:, :, held] = 0.0
            step = np.einsum("nij,nj->ni", np.linalg.pinv(J, rcond=lost), error)
            # what is missed along a lost direction no step makes good
            rest = error - np.einsum("nij,nj->ni", J, step)
            hope = np.einsum("ni,ni->n", rest, rest) < 0.25 * np.einsum("ni,ni->n", error, error)
            if not hope.any():
                break
            if not hope.all():
                rows, pose = tuple(x[hope] for x in rows), (pose[0][hope], pose[1][hope])
                at, step, before, lost = (x[hope] for x in (at, step, before, lost))
            at = at + step
            error, J, after = self._error(at, *pose)
            better = np.flatnonzero(after < residual[rows])
            better = better[np.argsort(-after[better])]  # of two for one solution the last is kept
            kept = tuple(x[better] for x in rows)
            q[kept], residual[kept] = at[better], after[better]
            # a step may lead away first, next to a singularity, but not from far
            going = ((after < 0.5 * before) | (before < NEAR)) & (after > 0.1 * POLISHED[0])
            if not going.any():
                break
            rows, pose = tuple(x[going] for x in rows), (pose[0][going], pose[1][going])
            at, error, J, before, lost = (x[going] for x in (at, error, J, after, lost))

    @cached_property
    def _step(self) -> Kernel:
        """The kernel of `search_step`."""
        middle = 0.5 * (self.lower + self.upper)

        def equations(q: Array, rotation: Array, position: Array, pull: Array) -> dict[str, Array]:
            moved, residual = search_step(
                self.chain, self.clip, middle, q, rotation, position, pull[0], self.selection
            )
            return {"moved": moved, "residual": np.array(residual)}

        n = len(self.chain)
        return self._compiled("search_step", equations, {"q": (n,), **_POSE, "pull": (1,)})

    @cached_property
    def _error(self) -> Kernel:
        """The kernel of `pose_error`."""

        def equations(q: Array, rotation: Array, position: Array) -> dict[str, Array]:
            error, J, residual = pose_error(self.chain, q, rotation, position)
            return {"error": np.array(error), "J": J, "residual": np.array(residual)}

        return self._compiled("pose_error", equations, {"q": (len(self.chain),), **_POSE})

    def _compiled(self, name: str, equations: Any, inputs: dict[str, tuple[int, ...]]) -> Kernel:
        program = trace(name, equations, inputs)
        return compile_program(program, use_cache=self._cache, backend=self._backend)


_POSE = {"rotation": (3, 3), "position": (3,)}


# -- equations of the search, on any scalar ------------------------------------------------------


DAMPING = 0.05
"""Damping by squared error."""

LEAST_DAMPING = 1e-12
"""Its value where the pose is reached."""


def pose_and_jacobian(chain: AxisChain, q: Array) -> tuple[list[Vector], Vector, Array]:
    """Compute the columns of the frame's rotation, its position, and its Jacobian.

    Args:
        chain: The joints.
        q: Their positions, shape (n,).

    Returns:
        Three columns; the position; and six rows of n, linear over angular, axes of the root.
    """
    columns = _UNIT  # of the link in axes of the root
    origin: Vector = (0.0, 0.0, 0.0)
    lines = []
    for axis, x in zip(chain.axes, q, strict=True):
        lines.append((_combined(columns, axis.h), plus(_combined(columns, axis.p), origin)))
        direction, point = lines[-1]
        if axis.rotates:
            turn = as_turn(x)
            columns = [_combined(columns, turned(axis.h, turn, e)) for e in _UNIT]
            origin = minus(point, _combined(columns, axis.p))
        else:
            origin = plus(origin, times(x, direction))
    position = plus(_combined(columns, tuple(map(float, chain.tool.translation))), origin)
    tool = [_combined(columns, tuple(map(float, column))) for column in chain.tool.rotation.T]
    J = [
        (*cross(h, minus(position, p)), *h) if rotates else (*h, 0.0, 0.0, 0.0)
        for (h, p), rotates in zip(lines, chain.rotates, strict=True)
    ]
    return tool, position, stacked(list(zip(*J, strict=True)))


def pose_error(
    chain: AxisChain, q: Array, rotation: Array, position: Array, selection: Selection = ALL
) -> tuple[list[Any], Array, Any]:
    """Return the error of a pose in the selected directions, how joints move it, and the residual.

    Axes of the frame are those at the wanted pose. The orientation counts by its three, two or one
    selected directions: as a rotation vector; as the least rotation that brings the free axis to
    where it should be; or as the angle about the selected axis, where a rotation is a turn about it
    and a rotation about a perpendicular axis. The first two are zero for half a turn, from which
    other starts lead away.

    Returns:
        Target minus present pose, m and rad, position over orientation; the Jacobian of its
        directions, a row for each entry; and the root of the squares of the distances.
    """
    columns, at, J = pose_and_jacobian(chain, q)
    wanted = [[rotation[i, j] for i in range(3)] for j in range(3)]
    axes = wanted if selection.axes == "frame" else _UNIT
    apart = minus([position[i] for i in range(3)], at)
    linear = [k for k in range(3) if k in selection.rows]
    about = [k for k in range(3) if k + 3 in selection.rows]
    error, rates, misses = list(apart), list(J[:3]), [apart]
    turning = list(J[3:])
    if len(linear) < 3:  # in any axes, three count as one distance
        error = [dot(axes[k], apart) for k in linear]
        rates = [dot(axes[k], list(J[:3])) for k in linear]
        misses = [(x, 0.0, 0.0) for x in error]
    if about:
        sine_axis = times(
            0.5, plus(cross(columns[0], wanted[0]), plus(*map(cross, columns[1:], wanted[1:])))
        )
        traces = [dot(a, b) for a, b in zip(columns, wanted, strict=True)]
    if len(about) == 3:
        error += _angles(sine_axis, 0.5 * (sum(traces) - 1.0))
        rates += turning
        misses += [minus(columns[k], wanted[k]) for k in (0, 1)]
    elif len(about) == 2:
        (free,) = {0, 1, 2} - set(about)
        there = axes[free]
        here = _carried(columns, wanted, selection, free)
        error += _angles(cross(here, there), dot(here, there))
        along = dot(here, turning)  # turns about the free axis do not count
        rates += [row - x * along for row, x in zip(turning, here, strict=True)]
        misses.append(minus(here, there))
    elif len(about) == 1:
        axis = axes[about[0]]
        here = _carried(columns, wanted, selection, about[0])
        along = dot(here, axis)
        angle = np.arctan2(2.0 * dot(sine_axis, axis), sum(traces) - along)
        # half a turn of the axis leaves no angle
        opened = 1.0 + along
        rates.append(dot(times(1.0 / select(0.0, opened, opened, 1.0), plus(here, axis)), turning))
        error.append(angle)
        misses.append((angle, 0.0, 0.0))
    residual = np.sqrt(sum(dot(miss, miss) for miss in misses))
    return error, stacked([list(row) for row in rates]), residual


_UNIT: list[Vector] = [tuple(map(float, e)) for e in np.eye(3)]


def _angles(sine_axis: Vector, cosine: Any) -> Vector:
    """Return the rotation vector of a rotation, from its axis times sine and its cosine."""
    sine = np.sqrt(dot(sine_axis, sine_axis))
    return times(np.arctan2(sine, cosine) / select(0.0, sine, sine, 1.0), sine_axis)


def _carried(
    columns: Sequence[Vector], wanted: Sequence[Vector], selection: Selection, k: int
) -> Vector:
    """Return where the present pose has the vector that the wanted pose has along axis k."""
    if selection.axes == "frame":
        return columns[k]
    return _combined(columns, [column[k] for column in wanted])


def _combined(columns: Sequence[Vector], v: Vector) -> Vector:
    """Return the product of a matrix, given by its columns, and a vector."""
    parts = [times(x, column) for x, column in zip(v, columns, strict=True)]
    return plus(parts[0], plus(parts[1], parts[2]))


def search_step(
    chain: AxisChain,
    limits: tuple[Array, Array],
    middle: Array,
    q: Array,
    rotation: Array,
    position: Array,
    pull: Any,
    selection: Selection = ALL,
) -> tuple[Array, Any]:
    """Make one damped step towards a pose within the limits; return positions, and residual of q.

    Levenberg-Marquardt with the damping of Sugihara, by the squared error. A joint at its limit
    that would go beyond is left out. `pull` times the damping draws to the middle of the ranges.
    """
    n, (lower, upper) = len(chain), limits  # infinite where there are none
    error, J, residual = pose_error(chain, q, rotation, position, selection)
    damping = DAMPING * sum(e * e for e in error) + LEAST_DAMPING
    slope = [sum(J[i, k] * error[i] for i in range(len(error))) for k in range(n)]
    for k in range(n):
        goes = 1.0
        if np.isfinite(lower[k]):
            goes = select(slope[k], 0.0, select(lower[k], q[k], 1.0, 0.0), goes)
        if np.isfinite(upper[k]):
            goes = select(0.0, slope[k], select(q[k], upper[k], 1.0, 0.0), goes)
        slope[k] = slope[k] * goes + pull * damping * (middle[k] - q[k])
        J[:, k] = J[:, k] * goes
    A = J.T @ J + damping * np.eye(n)
    parents = tuple(range(-1, n - 1))
    moved = q + solve(*factorise(A, parents), parents, np.array(slope, dtype=object))
    inside = [
        clip(x, *pair) if np.isfinite(pair).all() else x
        for x, *pair in zip(moved, lower, upper, strict=True)
    ]
    return np.array(inside, dtype=object), residual


def stacked(rows: Sequence[Any]) -> Array:
    """Return scalars, or scalars in rows, as an array."""
    flat = [x for row in rows for x in (row if isinstance(row, (list, tuple)) else [row])]
    shape = (len(rows), len(rows[0])) if isinstance(rows[0], (list, tuple)) else (len(rows),)
    array = np.empty(len(flat), dtype=object)
    array[:] = flat
    return array.reshape(shape)
