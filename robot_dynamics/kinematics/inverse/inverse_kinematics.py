"""Inverse kinematics: every set of joint positions that brings a frame to a pose.

The structure of the arm is found from its axes. Where it has a closed form, that is traced and
compiled once, and returns all its branches; where it has none, positions are found numerically.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from robot_dynamics.compiler.kernel import Backend
from robot_dynamics.errors import ArgumentError, RobotError, ShapeError, check_known, shown
from robot_dynamics.foundation.arrays import Array, vector
from robot_dynamics.kinematics.inverse.axis_chain import (
    AxisChain,
    as_turn,
    equivalent_positions,
    within_limits,
)
from robot_dynamics.kinematics.inverse.closed_form import (
    ClosedForm,
    arm_angle_structure,
    find_structure,
    find_structure_around,
)
from robot_dynamics.kinematics.inverse.closed_form_kernel import (
    NOT_TURNED,
    SPECIAL,
    Branches,
    ClosedFormKernel,
    unusual,
)
from robot_dynamics.kinematics.inverse.equations.arm_angle import ARM_ANGLE
from robot_dynamics.kinematics.inverse.inverse_solutions import REACHED, InverseSolutions
from robot_dynamics.kinematics.inverse.near_rotations import nearest_rotations
from robot_dynamics.kinematics.inverse.nearby_arm import NearbyArm, nearby_closed_form
from robot_dynamics.kinematics.inverse.numeric_inverse import (
    POLISHED,
    NumericSolver,
    pose_and_jacobian,
)
from robot_dynamics.kinematics.inverse.self_motion import free_angles_within_reach, self_motions
from robot_dynamics.kinematics.selection import DIRECTIONS, Directions, Selection
from robot_dynamics.robot.endpoint import only_tip
from robot_dynamics.robot.robot import Robot

SOLVERS = ("auto", "numeric")


class InverseKinematics:
    """Find all joint positions, between the root and a frame, for a pose of that frame.

    Args:
        robot: Any robot; inertias are not needed.
        frame: Link or named frame; by default the only tip.
        redundant: Joint of an arm of seven joints that is given beside the pose; by default the
            last, the first or the first inner one that leaves a closed form. Or "arm angle", where
            three axes meet in the shoulder and three in the wrist: how far the elbow is turned
            about the line between, from the side of the first axis.
        solver: "auto", the closed form where there is one and else the search; or "numeric", always
            the search, for positions within the limits and without a redundant joint.
        selection: Directions of the pose that are reached; the others are free. Fewer than six are
            searched. As `selected_rows`: "x y z" for the position only, "x y z rx ry" with
            axes="frame" for a tool that may turn about its z axis.
        axes: Axes of the directions: those of the "root" link, or of the "frame" at the pose.
        cache: Keep the compiled equations on disk.
        backend: As of `compile_program`.

    Attributes:
        joint_names: Names of the n joints, in the order of the results.
        structure: What the closed form makes use of, in words; "nearly" before it, if that is of an
            arm with axes that meet or are parallel where here they nearly are, and its branches
            are led on to solutions; or "numeric": one solution is found, and more may exist.
        branches: Name of every branch: signs of the square roots that choose the solution at
            shoulder, elbow and wrist.
        redundant: The joint that is given beside the pose, or "arm angle", or None.
        selection: The `Selection`.

    Raises:
        UnknownNameError: If there is no such frame, joint, solver, direction or name of axes.
        RobotError: If a joint on the way to the frame follows another one, or `redundant` leaves
            no closed form.
        ArgumentError: If `redundant` is given to a solver that finds all joints, no direction is
            selected, or one twice.

    Examples:
        >>> from robot_dynamics import Dynamics, read_urdf
        >>> from robot_dynamics.kinematics import InverseKinematics
        >>> from robot_dynamics.robot import find_robot
        >>> robot = read_urdf(find_robot("ur5"))
        >>> solve = InverseKinematics(robot, "tool0")
        >>> rotation, position = Dynamics(robot).pose([0.3, -1.2, 1.5, -0.4, 0.8, 0.2], "tool0")
        >>> solve(rotation, position).q.shape  # eight solutions of six joints
        (8, 6)
    """

    def __init__(
        self,
        robot: Robot,
        frame: str | None = None,
        *,
        redundant: str | None = None,
        solver: str = "auto",
        selection: Directions = DIRECTIONS,
        axes: str = "root",
        cache: bool = True,
        backend: Backend | None = None,
    ) -> None:
        self.frame = only_tip(robot) if frame is None else frame
        self._chain = AxisChain.of(robot, self.frame)
        self.joint_names = self._chain.names
        check_known("solver", solver, "inverse kinematics", SOLVERS)
        self.selection = Selection.of(selection, axes)
        searched = solver != "auto" or not self.selection.all
        if redundant is not None and searched:
            which = f"solver '{solver}'" if self.selection.all else "a search with free directions"
            raise ArgumentError(
                f"redundant: {which} finds all joints; leave redundant={redundant!r} out"
            )
        self._numeric = NumericSolver(self._chain, cache, backend, self.selection)
        self._closed: ClosedFormKernel | None = None
        self._nearby: NearbyArm | None = None
        self._entry: Callable[..., InverseSolutions | None] = unusual
        self._given: int | None = None
        self.structure = "numeric"
        self.branches: tuple[str, ...] = (self.structure,)
        if not searched:
            self._given, found = self._take_apart(redundant)
            if found is not None:
                self._closed = ClosedFormKernel(self._chain, self._given, found, cache, backend)
                self._entry, self.branches = self._closed.entry, self._closed.branches
                self.structure = found.description
            elif len(self._chain) <= 6:
                self._take_nearby(cache, backend)
        self.redundant = None if self._given is None else self.joint_names[self._given]
        if self._closed is not None:
            self._enter(self._closed)
            if redundant == ARM_ANGLE:
                self.redundant = ARM_ANGLE

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
            redundant: Position of the redundant joint, or the arm angle, rad, one or N.
            free: At a degenerate pose, the angle of the free joint, rad: it selects a point of the
                self-motion. Another angle is taken where the pose is out of reach from there.
            start: Where a numeric search starts, shape (n,), to find a solution near to it; by
                default it looks for one in the middle of the ranges.

        Returns:
            Solutions of one pose, or branches of N.

        Raises:
            ShapeError: If a shape does not fit.
            ArgumentError: If an argument is not finite, `rotation` is no rotation matrix, or
                `redundant` is missing or not asked for.
        """
        try:
            R = np.asarray(rotation, dtype=np.float64, order="C")
            p = np.asarray(position, dtype=np.float64, order="C")
        except (TypeError, ValueError):
            raise ArgumentError("rotation and position must hold numbers") from None
        one = R.ndim == 2
        if one and free == 0.0:
            number = isinstance(redundant, (int, float))
            value = (np.array([redundant], dtype=np.float64),) if number else ()
            found = self._entry(R, p, *value)
            if found is not None:
                return found
        R, p = _checked_poses(R, p)
        given = self._redundant_positions(redundant, len(R))
        if self._nearby is not None:
            solutions = self._continue(self._nearby, nearest_rotations(R), p)
        elif self._closed is None:
            solutions = self._search(nearest_rotations(R), p, start)
        else:
            solutions = self._solutions(self._closed, R, p, given, free)
        return solutions.one() if one else solutions

    def turns(self, q: npt.ArrayLike) -> Array:
        """Find every position within the limits that equals q up to multiples of 2 pi.

        Args:
            q: Joint positions, shape (n,), rad or m, in the order of `joint_names`.

        Returns:
            Positions, shape (m, n); m is zero if none is within the limits.
        """
        return equivalent_positions(self._chain, np.asarray(q, dtype=np.float64))

    def redundant_of(self, q: npt.ArrayLike) -> float | None:
        """Return the redundant position, or the arm angle, of joint positions.

        Args:
            q: Joint positions, shape (n,), rad or m, in the order of `joint_names`.

        Returns:
            Position of the redundant joint, rad or m, or arm angle, rad; None if no joint is
            redundant.

        Raises:
            ShapeError: If q does not have one entry per joint.
        """
        positions = vector("q", q, len(self.joint_names))
        if self.redundant == ARM_ANGLE and self._closed is not None:
            return self._closed.arm_angle(positions)
        return None if self._given is None else float(positions[self._given])

    def _enter(self, closed: ClosedFormKernel) -> None:
        """Let the entry take calls without a Python frame in between, in a class of this object.

        A call looks `__call__` up in the class. A subclass with its own keeps it.
        """
        kind, method = type(self), InverseKinematics.__call__
        if kind.__call__ is not method:
            return
        signature = "__call__(rotation, position, *, redundant=None, free=0.0, start=None)"
        call = closed.bound(
            signature, inspect.getdoc(method) or "", functools.partial(method, self)
        )
        if call is not None:
            about = {"__doc__": kind.__doc__, "__module__": kind.__module__, "__call__": call}
            self.__class__ = type(kind.__name__, (kind,), about)

    # -- the redundant joint --------------------------------------------------------------------

    def _take_apart(self, redundant: str | None) -> tuple[int | None, ClosedForm | None]:
        """Return the index of the redundant joint, and the structure of the chain without it."""
        chain, last = self._chain, len(self._chain) - 1
        order = (last, 0, *range(1, last))
        if redundant == ARM_ANGLE:
            structure = arm_angle_structure(chain)
            if structure is None:
                raise RobotError(
                    f"redundant: the arm to '{self.frame}' has no arm angle, for which three axes "
                    "meet in its shoulder and three in its wrist; give a joint"
                )
            return None, structure
        if redundant is not None:
            check_known("joint", redundant, f"the chain to '{self.frame}'", chain.names)
            k = chain.names.index(redundant)
            structure = self._structure_but_for(k)
            if structure is None:
                others = [f"'{chain.names[j]}'" for j in order if self._structure_but_for(j)]
                raise RobotError(
                    f"redundant: with joint '{redundant}' given the arm to '{self.frame}' has no "
                    f"closed form; give {' or '.join(others) or 'none'}, or search for all joints "
                    "with solver='numeric'"
                )
            return k, structure
        if len(chain) <= 6:
            return None, find_structure(chain)
        for k in order:
            structure = self._structure_but_for(k)
            if structure is not None:
                return k, structure
        return None, None

    def _structure_but_for(self, k: int) -> ClosedForm | None:
        """Return the closed form of all joints but one, whose position is given."""
        chain, last = self._chain, len(self._chain) - 1
        structure = find_structure(chain.without(-1 if k else 0)) if k in (0, last) else None
        return structure or find_structure_around(chain, k)

    def _redundant_positions(self, redundant: npt.ArrayLike | None, N: int) -> Array | None:
        if self.redundant is None:
            if redundant is not None:
                raise ArgumentError("redundant is given, but no joint of this arm is redundant")
            return None
        if redundant is None:
            raise ArgumentError(
                "redundant: give the arm angle beside the pose"
                if self.redundant == ARM_ANGLE
                else f"redundant: give the position of joint '{self.redundant}' beside the pose"
            )
        values = np.asarray(redundant, dtype=np.float64)
        if values.shape not in ((), (N,)) or not np.all(np.isfinite(values)):
            raise ArgumentError(
                f"redundant must be a finite number, or {N}; got {shown(redundant)}"
            )
        return np.broadcast_to(values, (N,))

    # -- closed form ----------------------------------------------------------------------------

    def _solutions(
        self, closed: ClosedFormKernel, R: Array, p: Array, given: Array | None, free: float
    ) -> InverseSolutions:
        redundant = None if given is None else np.ascontiguousarray(given)[:, None]
        angles = None if free == 0.0 else np.tile(as_turn(free)[:2], 2)
        if not closed.exact(R):
            R = nearest_rotations(R)
        found = closed(R, p, redundant, angles)
        q, residual, inside, _, regular = found
        N, shape = len(R), residual.shape
        why: Any = np.empty(N, object)
        motion: Any = np.empty(shape, object)
        if regular.min(initial=0.0) < 0.0:
            rows = (regular < 0.0).nonzero()[0]
            frees = np.tile(NOT_TURNED if angles is None else angles, (len(rows), 1))
            pose = [R[rows], p[rows], None if redundant is None else redundant[rows], frees]
            special = Branches(*(array[rows] for array in found))
            reasons, motions = self._special(closed, special, pose)
            q[rows], residual[rows], inside[rows] = special[:3]
            why, motion = _placed(N, rows, reasons), _placed(shape, rows, motions)
        valid = residual <= REACHED
        np.copyto(residual, np.nan, where=~valid)
        within = valid & (inside == 1.0)
        return InverseSolutions(q, self.branches, residual, within, valid, why, motion)

    def _special(
        self, closed: ClosedFormKernel, found: Branches, pose: list[Any]
    ) -> tuple[Callable[[], list[Any]], Callable[[], list[Any]]]:
        """Improve N special poses; return functions that tell reasons and self-motions of each."""
        q, residual, _, freedom, regular = found
        rows = (regular == SPECIAL).nonzero()[0]
        if rows.size:  # without counting a near touch as one
            given = None if pose[2] is None else pose[2][rows]
            better = closed(pose[0][rows], pose[1][rows], given, pose[3][rows])
            for array, other in zip(found[:4], better[:4], strict=True):
                array[rows] = other
        self._polish(found, pose)
        frees = np.repeat(pose[3][:, None], q.shape[1], axis=1)
        lost = ((freedom == 2.0) & ~(residual <= REACHED)).nonzero()
        if lost[0].size:  # another point of the self-motion may reach the pose
            at, branch = lost
            R, p, given = pose[0][at], pose[1][at], None if pose[2] is None else pose[2][at]
            both = ~np.any(residual <= REACHED, axis=1)[at]
            frees[lost] = free_angles_within_reach(closed, R, p, given, branch, both)
            better = closed(R, p, given, frees[lost])
            for array, other in zip(found[:4], better[:4], strict=True):
                array[lost] = other[np.arange(len(at)), branch]
            self._polish(found, pose)
        valid: Any = residual <= REACHED
        q[~valid] = np.nan

        def poses() -> list[list[Any]]:
            return [[None if x is None else x[row] for x in pose] for row in range(len(q))]

        def reasons() -> list[Any]:
            rows = zip(valid, poses(), strict=True)
            return [None if reached.any() else closed.reason(*one) for reached, one in rows]

        def motions() -> list[Any]:
            turn = valid.any(axis=1) & (freedom > 0.0).any(axis=1)
            rows = zip(turn, valid, poses(), frees, strict=True)
            return [
                self_motions(closed, reached, [*one[:3], free]) if turns else [None] * len(free)
                for turns, reached, one, free in rows
            ]

        return reasons, motions

    def _polish(self, found: Branches, pose: list[Any]) -> None:
        """Improve solutions that miss their pose by little."""
        q, residual, inside, *_ = found
        rows = np.nonzero((residual > POLISHED[0]) & (residual < POLISHED[1]))
        if rows[0].size:
            self._numeric.polish(q, residual, pose[0], pose[1], self._given)
            turned, within = within_limits(self._chain, list(q[rows].T), self._given)
            q[rows] = np.transpose(turned)
            inside[rows] = within

    # -- numeric --------------------------------------------------------------------------------

    def _take_nearby(self, cache: bool, backend: Backend | None) -> None:
        """Compile the closed form of an arm that a calibration may have led away from."""
        nearby = nearby_closed_form(self._chain)
        if nearby is not None:
            arm, found = nearby
            closed = ClosedFormKernel(arm, None, found, cache, backend)
            self._nearby = NearbyArm(closed, self._numeric)
            self.branches = (*closed.branches, self.structure)
            self.structure = f"nearly {found.description}"

    def _continue(self, nearby: NearbyArm, R: Array, p: Array) -> InverseSolutions:
        """Find the solutions next to those of the nearby arm; search where there are none."""
        q, residual = nearby(R, p)
        one = np.full((len(R), 1), np.nan)
        residual, reasons = np.hstack([residual, one]), np.full(len(R), None, dtype=object)
        q = np.concatenate([q, np.full((len(R), 1, q.shape[2]), np.nan)], axis=1)
        lost = np.flatnonzero(np.isnan(residual).all(axis=1))
        if lost.size:
            other = self._search(R[lost], p[lost], None)
            q[lost, -1:], residual[lost, -1:] = other.q, other.residual
            reasons[lost] = other.reason
        q = np.where(np.array(self._chain.rotates), np.arctan2(np.sin(q), np.cos(q)), q)
        turned, inside = within_limits(self._chain, list(np.moveaxis(q, 2, 0)))
        valid = np.isfinite(residual)
        return InverseSolutions(
            q=np.stack(turned, axis=2),
            branch=self.branches,
            residual=residual,
            within_limits=valid & (inside == 1.0),
            valid=valid,
            why=reasons,
            motion=np.full(valid.shape, None, dtype=object),
        )

    def _search(self, R: Array, p: Array, start: npt.ArrayLike | None) -> InverseSolutions:
        q, residual = self._numeric.solve(R, p, start)
        valid = (residual <= REACHED)[:, None]
        reasons = np.full(len(R), None, dtype=object)
        remedy = "" if valid.all() else self._remedy()
        for row in np.flatnonzero(~valid[:, 0]):
            reasons[row] = (
                f"the search did not converge: the nearest positions miss the pose by "
                f"{residual[row]:.3g}; it is out of reach within the limits, or give another start"
                f"{remedy}"
            )
        return InverseSolutions(
            q=np.where(valid, q, np.nan)[:, None],
            branch=("numeric",),
            residual=np.where(valid, residual[:, None], np.nan),
            within_limits=valid,
            valid=valid,
            why=reasons,
            motion=np.full(valid.shape, None, dtype=object),
        )

    def _remedy(self) -> str:
        """Return the directions that are better left free, for the end of a reason."""
        n, m = len(self.joint_names), len(self.selection.rows)
        bent = np.linspace(0.3, 1.1, n)
        J = np.array(pose_and_jacobian(self._chain, bent)[2], dtype=np.float64)
        idle = np.abs(J).max(axis=1) < REACHED
        still = [DIRECTIONS[row] for row in self.selection.rows if idle[row]]
        if still and (self.selection.axes == "root" or self.selection.all):
            return f"; no joint moves {' '.join(still)}: leave them out of the selection"
        few = f"; {n} joints reach few poses in {m} directions: select {n} or fewer"
        return few if n < m else ""


def _placed(
    shape: Any, rows: Array, texts: Callable[[], list[Any]]
) -> Callable[[bytes | None], Array]:
    """Return a function that finds the texts of some rows, once; those of others are None."""

    @functools.cache
    def placed(_: bytes | None) -> Array:
        array = np.empty(shape, object)
        array[rows] = texts()
        return array

    return placed


def _checked_poses(R: Array, p: Array) -> tuple[Array, Array]:
    """Return rotation matrices (N, 3, 3) and positions (N, 3)."""
    if R.shape[-2:] != (3, 3) or R.ndim not in (2, 3) or p.shape != (*R.shape[:-2], 3):
        raise ShapeError(
            "rotation must have shape (3, 3) or (N, 3, 3), and position (3,) or (N, 3); got "
            f"{R.shape} and {p.shape}"
        )
    R, p = R.reshape(-1, 3, 3), p.reshape(-1, 3)
    for name, array in (("rotation", R), ("position", p)):
        if not np.isfinite(array).all():
            raise ArgumentError(f"{name} holds NaN or infinity; every entry must be finite")
    return R, p
