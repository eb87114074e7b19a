"""Inverse kinematics: every set of joint positions that brings a frame to a pose.

The structure of the arm is found from its axes. Where it has a closed form, that is traced and
compiled once, and returns all its branches; where it has none, positions are found numerically.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from robot_dynamics.arrays import Array
from robot_dynamics.compiler.backends import compile_program
from robot_dynamics.compiler.graph.trace import trace
from robot_dynamics.compiler.kernel import Backend
from robot_dynamics.errors import ArgumentError, RobotError, check_known, shown
from robot_dynamics.kinematics.axis_chain import AxisChain, as_turn
from robot_dynamics.kinematics.closed_form import Structure, find_structure
from robot_dynamics.kinematics.inverse_solutions import (
    FREE,
    REACHED,
    InverseSolutions,
    all_turns,
    family_of,
    reason_of,
    within_limits,
)
from robot_dynamics.kinematics.numeric_inverse import POLISHED, NumericSolver, polished
from robot_dynamics.kinematics.pose_arguments import (
    EXACT,
    checked_poses,
    deviation,
    nearest_rotations,
)
from robot_dynamics.kinematics.positioning import Partial
from robot_dynamics.kinematics.subproblems import Turn, Vector, dot, minus
from robot_dynamics.robot.endpoint import only_tip
from robot_dynamics.robot.robot import Robot

NOT_TURNED = np.array([1.0, 0.0])
"""The member of a family that is returned by default, as cosine and sine."""

PART = 1024
"""Poses that are solved together: their branches fit into the cache of a core."""

FREE_TRIALS = 32
"""Members of a family of solutions that are tried where the first one is out of reach."""


class InverseKinematics:
    """All joint positions for a pose of a frame, of the joints between the root and that frame.

    Args:
        robot: Any robot; inertias are not needed.
        frame: Link or named frame; by default the only tip.
        redundant: Joint of an arm of seven joints that is given beside the pose: its first or last;
            by default whichever leaves a closed form. Lock any other with `robot.with_locked`.
        cache: Keep the compiled equations on disk.
        backend: One of `robot_dynamics.compiler.backends.BACKENDS`, or a function like them.

    Attributes:
        joint_names: Names of the n joints, in the order of the results.
        structure: What the closed form makes use of, in words; or "numeric".
        branches: Name of every branch: signs of the square roots that choose the solution at
            shoulder, elbow and wrist.
        redundant: The joint that is given beside the pose, or None.

    Raises:
        UnknownNameError: If there is no such frame or joint.
        RobotError: If a joint on the way to the frame follows another one.
    """

    def __init__(
        self,
        robot: Robot,
        frame: str | None = None,
        *,
        redundant: str | None = None,
        cache: bool = True,
        backend: str | Backend = "auto",
    ) -> None:
        self.frame = only_tip(robot) if frame is None else frame
        self._chain = AxisChain.of(robot, self.frame)
        self.joint_names = self._chain.names
        self._given, self._moving, self._found = self._take_apart(redundant)
        self.redundant = None if self._given is None else self.joint_names[self._given]
        self.structure = "numeric" if self._found is None else self._found.description
        self._numeric = NumericSolver(self._chain)
        self._direct = False  # whether a single pose may go straight to the kernel
        if self._found is None:
            self.branches: tuple[str, ...] = ("numeric",)
            return
        start = self._ways(np.eye(3), np.zeros(3), as_turn(0.0))
        self.branches = tuple(_branch_name(way) for way in start)
        self._kernel: Any = functools.partial(_on_arrays, self._closed_form)
        closed, slides = self._found.equations.closed, not all(self._moving.rotates)
        self._direct = closed and self._given is None and not slides
        if self._found.equations.closed:
            inputs = {"rotation": (3, 3), "position": (3,), "free": (2,)}
            program = trace("inverse_kinematics", self._closed_form, inputs)
            self._kernel = compile_program(program, use_cache=cache, backend=backend)

    def __call__(
        self,
        rotation: npt.ArrayLike,
        position: npt.ArrayLike,
        *,
        redundant: npt.ArrayLike | None = None,
        free: float = 0.0,
        start: npt.ArrayLike | None = None,
    ) -> InverseSolutions:
        """Find the joint positions for a pose, or for N.

        Args:
            rotation: Axes of the frame in the root link, shape (3, 3) or (N, 3, 3).
            position: Its origin, shape (3,) or (N, 3), m.
            redundant: Position of the redundant joint, rad, one or N.
            free: At a degenerate pose, which member of the family is returned: an angle, rad;
                another one where that is out of reach.
            start: Where a numeric search starts, shape (n,); by default the middle of the ranges.

        Returns:
            Solutions of one pose, or branches of N.

        Raises:
            ShapeError: If a shape does not fit.
            ArgumentError: If an argument is not finite, `rotation` is no rotation matrix, or
                `redundant` is missing or not asked for.
        """
        if self._direct and redundant is None and free == 0.0:
            found = self._regular_pose(rotation, position)
            if found is not None:
                return found
        R, p, one = checked_poses(rotation, position)
        given = self._redundant_positions(redundant, len(R))
        if self._found is None:
            solutions = self._search(nearest_rotations(R), p, start)
        else:
            solutions = self._solutions(R, p, given, free)
        return solutions.one() if one else solutions

    def _regular_pose(
        self, rotation: npt.ArrayLike, position: npt.ArrayLike
    ) -> InverseSolutions | None:
        """The solutions of a single pose of which nothing special is to be said; else None."""
        if not (getattr(rotation, "shape", None) == (3, 3) and np.shape(position) == (3,)):
            return None
        c, s, residual, lever, off = self._kernel(rotation, position, NOT_TURNED)
        valid = residual <= POLISHED[0]
        if not (off[0] <= EXACT and lever.min() >= FREE and valid.all()):
            return None
        q, inside = within_limits(self._chain, np.arctan2(s, c))
        nothing = np.full(len(q), None, dtype=object)
        return InverseSolutions(q, self.branches, residual, inside, valid, None, nothing)

    def turns(self, q: npt.ArrayLike) -> Array:
        """Every position within the limits that differs from q (n,) by whole turns, (m, n)."""
        return all_turns(self._chain, np.asarray(q, dtype=np.float64))

    # -- the redundant joint --------------------------------------------------------------------

    def _take_apart(self, redundant: str | None) -> tuple[int | None, AxisChain, Structure | None]:
        """Index of the redundant joint, the chain without it, and the structure of that."""
        chain, last = self._chain, len(self._chain) - 1
        if redundant is not None:
            check_known("joint", redundant, f"the chain to '{self.frame}'", chain.names)
            k = chain.names.index(redundant)
            if k not in (0, last):
                raise RobotError(
                    f"redundant: joint '{redundant}' stands inside the chain; give "
                    f"'{chain.names[0]}' or '{chain.names[-1]}', or lock it with with_locked"
                )
            ends = [k]
        elif len(chain) <= 6:
            return None, chain, find_structure(chain)
        else:
            ends = [last, 0]
        for k in ends:
            rest = chain.without(0 if k == 0 else -1)
            structure = find_structure(rest)
            if structure is not None:
                return k, rest, structure
        return None, chain, None

    def _redundant_positions(self, redundant: npt.ArrayLike | None, N: int) -> Array | None:
        if self._given is None:
            if redundant is not None:
                raise ArgumentError("redundant is given, but no joint of this arm is redundant")
            return None
        if redundant is None:
            raise ArgumentError(
                f"redundant: give the position of joint '{self.redundant}' beside the pose"
            )
        values = np.asarray(redundant, dtype=np.float64)
        if values.shape not in ((), (N,)) or not np.all(np.isfinite(values)):
            raise ArgumentError(
                f"redundant must be a finite number, or {N}; got {shown(redundant)}"
            )
        return np.broadcast_to(values, (N,))

    def _pose_without(self, R: Array, p: Array, given: Array) -> tuple[Array, Array]:
        """Where the hand would be if the redundant joint stood at zero and all others as they do.

        The joints that are left have the same zero position as the whole chain.
        """
        assert self._given is not None
        turn, shift = self._chain.only(self._given).pose(given[:, None])
        if self._given == 0:  # E_1^-1 T
            back = turn.transpose(0, 2, 1)
            return back @ R, np.einsum("nij,nj->ni", back, p - shift)
        # T T_0^-1 E_7^-1 T_0
        R_0, p_0 = self._chain.tool.rotation, self._chain.tool.translation
        moved = turn @ R_0, np.einsum("nij,j->ni", turn, p_0) + shift
        rotation = R @ moved[0].transpose(0, 2, 1) @ R_0
        hand = np.einsum("nij,nj->ni", moved[0].transpose(0, 2, 1), p_0 - moved[1])
        return rotation, np.einsum("nij,nj->ni", R, hand) + p

    # -- closed form ----------------------------------------------------------------------------

    def _ways(self, rotation: Array, position: Array, free: Turn) -> list[Partial]:
        assert self._found is not None
        target = self._moving.displacement(rotation, position)
        return self._found.equations.solve(target, free)

    def _closed_form(self, rotation: Array, position: Array, free: Array) -> Mapping[str, Array]:
        """The equations that are traced: every branch, its residual and its smallest lever."""
        ways = self._ways(rotation, position, Turn(free[0], free[1]))
        joints = range(len(self._moving))
        rotates = self._moving.rotates
        values = [
            [way.values[k] if rotates[k] else (way.values[k], 0.0) for k in joints] for way in ways
        ]
        levers = [[s.size * s.size if s.name else s.size for s in way.steps] for way in ways]
        return {
            "c": _stacked([[value[0] for value in row] for row in values]),
            "s": _stacked([[value[1] for value in row] for row in values]),
            "residual": _stacked([self._residual(way, rotation, position) for way in ways]),
            "lever": _stacked([functools.reduce(_least, sizes) for sizes in levers]),
            "off": _stacked([deviation(rotation)]),
        }

    def _residual(self, way: Partial, rotation: Array, position: Array) -> Any:
        chain = self._moving
        tool: list[Vector] = [tuple(map(float, column)) for column in chain.tool.rotation.T[:2]]
        point: Vector = tuple(map(float, chain.tool.translation))
        for k, axis in reversed(list(enumerate(chain.axes))):
            tool = [axis.vector(v, way.values[k]) for v in tool]
            point = axis.point(point, way.values[k])
        misses = [
            minus(point, list(position)),
            *(minus(tool[k], list(rotation[:, k])) for k in (0, 1)),
        ]
        return np.sqrt(sum((dot(miss, miss) for miss in misses), 0.0))

    def _solutions(self, R: Array, p: Array, given: Array | None, free: float) -> InverseSolutions:
        rest = (R, p) if given is None else self._pose_without(R, p, given)
        q, residual, lever, off = self._evaluate(*rest, free)
        if off.max(initial=0.0) > EXACT:
            return self._solutions(nearest_rotations(R), p, given, free)
        frees: float | Array = free
        free_rows = (lever < FREE).any(axis=1)
        lost = np.flatnonzero(free_rows & ~(residual <= REACHED).any(axis=1))
        if lost.size:
            frees = np.full(len(R), free)
            frees[lost] = self._member_within_reach(rest[0][lost], rest[1][lost])
            *found, _ = self._evaluate(rest[0][lost], rest[1][lost], frees[lost])
            q[lost], residual[lost], lever[lost] = found
        valid = residual <= REACHED
        if self._given is not None:
            others = np.broadcast_to(np.asarray(given)[:, None, None], (*q.shape[:2], 1))
            q = np.concatenate([others, q] if self._given == 0 else [q, others], axis=2)
        q, inside = within_limits(self._chain, q)
        explain = functools.partial(self._explained, *rest, frees)
        reasons = self._reasons(valid, residual, explain)
        if not valid.all():
            q[~valid] = np.nan
            residual[~valid] = np.nan
            inside &= valid
        families = self._families(valid & (lever < FREE), explain)
        return InverseSolutions(q, self.branches, residual, inside, valid, reasons, families)

    def _member_within_reach(self, R: Array, p: Array) -> Array:
        """The member of each family of solutions that comes nearest to its pose, shape (N,)."""
        best = np.zeros(len(R))
        for spread in np.pi * (2.0 / FREE_TRIALS) ** np.arange(5):  # at the rim only one reaches
            trials = best[:, None] + spread * np.linspace(-1.0, 1.0, FREE_TRIALS + 1)
            repeated = [np.repeat(x, FREE_TRIALS + 1, axis=0) for x in (R, p)]
            residual = self._kernel(*repeated, np.column_stack(as_turn(trials.ravel())))[2]
            residual = np.where(np.isfinite(residual), residual, np.inf)
            nearest = residual.min(axis=1).reshape(trials.shape).argmin(axis=1)
            best = np.take_along_axis(trials, nearest[:, None], axis=1)[:, 0]
        return best

    def _evaluate(self, R: Array, p: Array, free: float | Array) -> tuple[Array, ...]:
        """Positions (N, s, n), residuals and smallest levers (N, s), and the deviation of R.

        Residuals are never NaN.
        """
        turn = np.stack(as_turn(free), axis=-1)
        parts = [slice(k, k + PART) for k in range(0, max(len(R), 1), PART)]
        found = [self._at_once(R[k], p[k], turn if turn.ndim == 1 else turn[k]) for k in parts]
        q, residual, lever, off = (
            found[0]
            if len(found) == 1
            else (np.concatenate(arrays) for arrays in zip(*found, strict=True))
        )
        return *polished(self._moving, q, residual, R, p), lever, off

    def _at_once(self, R: Array, p: Array, turn: Array) -> tuple[Array, ...]:
        c, s, residual, lever, off = self._kernel(R, p, turn)
        q = np.arctan2(s, c)
        if not all(self._moving.rotates):
            q = np.where(self._moving.rotates, q, c)
        if not np.isfinite(residual).all():
            residual = np.where(np.isfinite(residual), residual, np.inf)
        return q, residual, lever, off

    def _explained(self, R: Array, p: Array, free: float | Array, row: int) -> list[Partial]:
        turn = as_turn(np.broadcast_to(free, len(R))[row])
        with np.errstate(all="ignore"):
            return self._ways(R[row], p[row], turn)

    def _reasons(self, valid: Array, residual: Array, explain: Any) -> Array:
        reasons = np.full(len(valid), None, dtype=object)
        for row in np.flatnonzero(~valid.any(axis=1)):
            reasons[row] = reason_of(explain(row), residual[row], self._moving.names)
        return reasons

    def _families(self, free: Array, explain: Any) -> Array:
        families = np.full(free.shape, None, dtype=object)
        for row in np.flatnonzero(free.any(axis=1)):
            ways = explain(row)
            for k in np.flatnonzero(free[row]):
                families[row, k] = family_of(ways[k], self._moving.names)
        return families

    # -- numeric --------------------------------------------------------------------------------

    def _search(self, R: Array, p: Array, start: npt.ArrayLike | None) -> InverseSolutions:
        found = [self._numeric.solve(*pose, start) for pose in zip(R, p, strict=True)]
        q, residual = np.array([x for x, _ in found]), np.array([x for _, x in found])
        valid = (residual <= REACHED)[:, None]
        reasons = np.full(len(R), None, dtype=object)
        for row in np.flatnonzero(~valid[:, 0]):
            reasons[row] = (
                f"the search did not converge: the nearest positions miss the pose by "
                f"{residual[row]:.3g}; it is out of reach within the limits, or give another start"
            )
        return InverseSolutions(
            q=np.where(valid, q, np.nan)[:, None],
            branch=self.branches,
            residual=np.where(valid, residual[:, None], np.nan),
            within_limits=valid,
            valid=valid,
            reason=reasons,
            family=np.full(valid.shape, None, dtype=object),
        )


def _on_arrays(equations: Any, R: Array, p: Array, free: Array) -> tuple[Array, ...]:
    """The equations on N poses as arrays, where they cannot be traced."""
    with np.errstate(all="ignore"):
        results = equations(R.transpose(1, 2, 0), p.T, free.T)
    return tuple(np.moveaxis(array.astype(float), -1, 0) for array in results.values())


def _stacked(rows: list[Any]) -> Array:
    """Scalars, or scalars in rows, as an array; if some are arrays of N, with N last."""
    flat = [x for row in rows for x in (row if isinstance(row, list) else [row])]
    shape = (len(rows), len(rows[0])) if isinstance(rows[0], list) else (len(rows),)
    if any(isinstance(x, np.ndarray) and x.ndim for x in flat):
        return np.stack(np.broadcast_arrays(*flat)).reshape(*shape, -1)
    array = np.empty(len(flat), dtype=object)
    array[:] = flat
    return array.reshape(shape)


def _least(a: Any, b: Any) -> Any:
    return 0.5 * (a + b - np.abs(a - b))


def _branch_name(way: Partial) -> str:
    """As "shoulder+ elbow- wrist+", in that order."""
    signs = {step.name: step.sign for step in way.steps if step.name}
    order = [name for name in ("shoulder", "elbow", "wrist") if name in signs]
    return " ".join(name + signs[name] for name in order) or "only"
