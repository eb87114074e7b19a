"""A closed form as one kernel: every branch of a pose, how well it fits, and the joint limits.

What follows the closed form is written on any scalar as well, and traced with it: the angles, the
turns that the limits ask for, the residual, and whether anything about a pose is special.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.compiler.graph.piecewise import minimum, select
from robot_dynamics.compiler.graph.trace import trace
from robot_dynamics.compiler.kernel import Backend, RowChoice, compile_program
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.lazy import cached_property, imported
from robot_dynamics.kinematics.inverse.axis_chain import (
    AxisChain,
    Displacement,
    as_turn,
    within_limits,
)
from robot_dynamics.kinematics.inverse.closed_form import ClosedForm
from robot_dynamics.kinematics.inverse.equations.partial_solutions import Frees, Partial
from robot_dynamics.kinematics.inverse.inverse_solutions import (
    FREE,
    REACHED,
    InverseSolutions,
    lever_of,
    reason_of,
)
from robot_dynamics.kinematics.inverse.near_rotations import EXACT, repaired, rotation_error
from robot_dynamics.kinematics.inverse.numeric_inverse import POLISHED, stacked
from robot_dynamics.kinematics.inverse.subproblems import TOUCHING, Turn

NOT_TURNED = np.array([1.0, 0.0, 1.0, 0.0])
"""Free angles by default: cosine and sine, of arm and end effector."""

SETTLED, SPECIAL = -1.0, -2.0
"""Values of `Branches.regular`."""

RECENT = 128
"""Poses whose texts are kept once they are found."""


class Branches(NamedTuple):
    """All branches of a pose; for N poses every array has a leading N.

    Attributes:
        q: Shape (s, n), rad or m; NaN where the residual is too large to be polished.
        residual: Distance from the pose, shape (s,).
        inside: 1 within the limits, else 0, shape (s,).
        freedom: 1 where a joint is free, shape (s,); 2 where its angle may decide whether others
            reach the pose; else 0.
        regular: Shape (): 2 if all branches reach the pose within the limits, 1 if some are beyond
            them, 0 if some branches miss it; `SETTLED` if none reaches it or a joint is free, but
            all branches reach the pose exactly or miss it clearly, from any angle of free joints;
            `SPECIAL` if some branch is to be improved.
    """

    q: Array
    residual: Array
    inside: Array
    freedom: Array
    regular: Array


class ClosedFormKernel:
    """The closed form of a chain, compiled.

    Args:
        chain: Joints from root to frame.
        given: Index of the joint that is given beside the pose, or None.
        structure: The closed form of the others.
        cache: Keep the code on disk.
        backend: As of `compile_program`.

    Attributes:
        branches: Name of every branch.
        entry: The solutions of one pose where all is as usual, and None where it is not.
    """

    def __init__(
        self,
        chain: AxisChain,
        given: int | None,
        structure: ClosedForm,
        cache: bool,
        backend: Backend | None,
    ) -> None:
        self.chain, self.given = chain, given
        self._equations: Any = structure.equations
        self._parameter = structure.parameter
        outside = None if structure.parameter else given  # a joint before or behind all others
        self._outside = outside
        self._names = tuple(name for k, name in enumerate(chain.names) if k != outside)
        parameter = structure.parameter or given is not None
        some = np.zeros(1) if parameter else None
        with np.errstate(all="ignore"):
            start = self.partials(np.eye(3), np.zeros(3), some, NOT_TURNED)
        self.branches = tuple(_branch_name(partial) for partial in start)
        first = outside == 0
        self._joints = [[step.joint + first for step in partial.steps] for partial in start]
        self._compile = functools.partial(compile_program, use_cache=cache, backend=backend)
        self._inputs = {"rotation": (3, 3), "position": (3,)}
        self._inputs |= {"redundant": (1,)} if parameter else {}
        text = "Branches of a pose; None where arguments are unusual."
        every = self._kernel.native_entry("branches(*pose)", text, unusual, alone=True)
        self._every = every or unusual
        choice = RowChoice(
            results=InverseSolutions,
            fields={"q": "q", "residual": "residual"},
            measure="residual",
            limit=REACHED,
            flag="inside",
            verdict="regular",
            special=SETTLED,
            inputs="pose",
            error=self._error,
            exact=EXACT,
            repair=self._repair,
        )
        rows = self._kernel.row_entry(choice, "solutions(*pose)", text, self._first_of_its_kind)
        self._rows = rows
        self.entry: Callable[..., InverseSolutions | None] = rows.function if rows else unusual

    def __call__(
        self, R: Array, p: Array, redundant: Array | None = None, free: Array | None = None
    ) -> Branches:
        """Compute every branch of N poses.

        Args:
            R: Rotations, shape (N, 3, 3).
            p: Positions, shape (N, 3), m.
            redundant: Redundant position, shape (N, 1), if there is one.
            free: Cosine and sine of the free angles, shape (4,) or (N, 4); by default `NOT_TURNED`.
        """
        given = () if redundant is None else (redundant,)
        if free is None:
            one = self._every(R[0], p[0], *(x[0] for x in given)) if len(R) == 1 else None
            if one is not None:
                return Branches(*(array[None] for array in one))
            return Branches(*self._kernel(R, p, *given))
        return Branches(*self._at_free_angles(R, p, *given, free)[:-1])

    def levers(self, R: Array, p: Array, redundant: Array | None, free: Array) -> Array:
        """Compute `lever_of` each step of each branch of N poses, (N, s, steps); 1 behind the last.

        Arguments are those of a call.
        """
        given = () if redundant is None else (redundant,)
        levers: Array = self._at_free_angles(R, p, *given, free)[-1]
        return levers

    def bound(
        self, signature: str, text: str, unusual: Callable[..., InverseSolutions]
    ) -> Callable[..., InverseSolutions] | None:
        """Return the entry as a function that leaves other calls to `unusual`; None without one."""
        return self._rows.bound(signature, text, unusual) if self._rows else None

    def exact(self, R: Array) -> bool:
        """Return whether matrices are rotations to all digits, shape (3, 3) or (N, 3, 3)."""
        return bool(np.all(self._error(R) < EXACT))

    def _first_of_its_kind(self, *pose: Any) -> InverseSolutions | None:
        """Return the solutions of a pose that others reach than any pose before; or None."""
        found = self._every(*pose)
        if found is not None and not self.exact(pose[0]):
            found = self._every(self._repair(pose[0]), *pose[1:])
        if self._rows is None or found is None or found.regular.item() < SETTLED:
            return None
        reached, inside = found.residual <= REACHED, found.inside == 1.0
        digits = np.where(reached, 1 + inside, 0).tolist()
        settled = found.regular.item() == SETTLED
        self._rows.remember(digits, settled, self._in_common(tuple(digits), settled))
        return self.entry(*pose)

    def _in_common(self, digits: tuple[int, ...], settled: bool) -> InverseSolutions:
        """Return what results have in common, whose arrays all of them hold.

        Args:
            digits: 0, 1 and 2 for branches missed, reached, and within the limits.
            settled: Whether the poses are special: a joint is free, or no branch reaches them.
        """
        reached = np.array(digits) > 0
        names = tuple(name for name, k in zip(self.branches, digits, strict=True) if k)
        inside, every = _fixed(np.array(digits)[reached] == 2), _fixed(np.full(len(names), True))
        none = _fixed(np.full(len(names), None))

        @functools.lru_cache(maxsize=RECENT)
        def reason(pose: bytes) -> str:
            return self.reason(*self._numbers(pose), NOT_TURNED)

        @functools.lru_cache(maxsize=RECENT)
        def motions(pose: bytes) -> Array:
            self_motion = imported("robot_dynamics.kinematics.inverse.self_motion")
            free = np.tile(NOT_TURNED, (len(digits), 1))
            texts = self_motion.self_motions(self, reached, [*self._numbers(pose), free])
            return _fixed(np.array(texts, dtype=object)[reached])

        why, motion = (None, motions) if names else (reason, none)
        if not settled:
            why, motion = None, none
        return InverseSolutions(none, names, none, inside, every, why, motion)

    def _numbers(self, pose: bytes) -> tuple[Array, Array, Array | None]:
        """Return rotation, position and redundant position, or None, of `InverseSolutions.pose`."""
        numbers = np.frombuffer(pose)
        given = numbers[12:] if len(numbers) > 12 else None
        return numbers[:9].reshape(3, 3), numbers[9:12], given

    @cached_property
    def _kernel(self) -> Any:
        """Compile the equations with the free angles `NOT_TURNED`."""

        def equations(
            rotation: Array, position: Array, redundant: Array | None = None
        ) -> dict[str, Array]:
            found = self._equations_of_pose(rotation, position, redundant, NOT_TURNED, TOUCHING)
            del found["levers"]
            return found

        return self._compiled("inverse_kinematics", equations, self._inputs, finite=True)

    @cached_property
    def _at_free_angles(self) -> Any:
        """Compile the equations with the free angles as an input."""
        inputs = {**self._inputs, "free": (4,)}
        return self._compiled("inverse_kinematics_self_motion", self._equations_of_pose, inputs)

    @cached_property
    def _error(self) -> Any:
        """Compile the error of a rotation matrix."""
        return self._compiled("rotation_error", rotation_error, {"rotation": (3, 3)})

    @cached_property
    def _repair(self) -> Any:
        """Compile the rotation nearest to a matrix."""
        return self._compiled("nearest_rotation", repaired, {"rotation": (3, 3)})

    def _compiled(
        self, name: str, equations: Any, inputs: dict[str, tuple[int, ...]], finite: bool = False
    ) -> Any:
        return self._compile(trace(name, equations, inputs), finite=finite)

    def partials(
        self,
        rotation: Array,
        position: Array,
        redundant: Array | None,
        free: Array,
        touching: float = 0.0,
    ) -> list[Partial]:
        """Return the motions of all joints but the redundant one, with the steps to them."""
        target = self._target(rotation, position, redundant)
        frees = Frees(Turn(free[0], free[1]), Turn(free[2], free[3]), touching)
        given = None
        if self._parameter and redundant is not None:
            given = self._motion(redundant)
        return self._equations.solve(target, frees, given)

    def arm_angle(self, q: Array) -> float:
        """Return the arm angle at joint positions (n,), rad, of an arm that takes it."""
        return float(self._equations.angle([as_turn(x) for x in q]))

    def reason(self, *pose: Any) -> str:
        """Explain why there is no solution for a pose; arguments as of `partials`."""
        with np.errstate(all="ignore"):
            partials = self.partials(*pose)
            misses = [self.residual(partial, *pose[:3]) for partial in partials]
        return reason_of(partials, np.array(misses, dtype=np.float64), self._names)

    def free_joints(
        self, R: Array, p: Array, redundant: Array | None, free: Array
    ) -> list[list[int]]:
        """Return the joints, counted in the chain, that each branch of one pose leaves free."""
        given = None if redundant is None else redundant[None]
        levers = self.levers(R[None], p[None], given, free[None])[0]
        return [
            list(dict.fromkeys(k for k, x in zip(joints, row, strict=False) if x < FREE))
            for joints, row in zip(self._joints, levers.tolist(), strict=True)
        ]

    def residual(
        self, partial: Partial, rotation: Array, position: Array, redundant: Array | None
    ) -> Any:
        """Return the root of the squares by which the position and two directions are missed."""
        target = self._target(rotation, position, redundant)
        return np.sqrt(self._equations.missed(partial, target))

    def _target(self, rotation: Array, position: Array, redundant: Array | None) -> Displacement:
        """Return the displacement by the joints without a redundant one outside of the others."""
        target = self.chain.displacement(rotation, position)
        if self._outside is None or redundant is None:
            return target
        axis, motion = self.chain.axes[self._outside], self._motion(redundant)
        return target.after(axis, motion) if self._outside == 0 else target.before(axis, motion)

    def _motion(self, redundant: Array) -> Any:
        """Return the motion of the redundant joint at a position (1,), or that by an arm angle."""
        rotates = self.given is None or self.chain.rotates[self.given]
        return as_turn(redundant[0]) if rotates else redundant[0]

    def _equations_of_pose(
        self,
        rotation: Array,
        position: Array,
        redundant: Array | None = None,
        free: Any = None,
        touching: float = 0.0,
    ) -> dict[str, Array]:
        """Return the outputs of the kernel; see `Branches` and `levers`."""
        rows, residuals, within, frees, levers = [], [], [], [], []
        nothing = np.sqrt(-1.0 - position[0] * position[0])
        for partial in self.partials(rotation, position, redundant, free, touching):
            residual = self.residual(partial, rotation, position, redundant)
            positions, inside = self._positions(partial, redundant)
            rows.append([select(residual, POLISHED[1], x, nothing) for x in positions])
            residuals.append(residual)
            levers.append(list(map(lever_of, partial.steps)))
            frees.append(self._freedom(partial, levers[-1]))
            within.append(inside)
        most = 1 + max(map(len, levers))
        return {
            "q": stacked(rows),
            "residual": stacked(residuals),
            "inside": stacked(within),
            "freedom": stacked(frees),
            "regular": stacked([self._regular(residuals, within, frees)]),
            "levers": stacked([row + [1.0] * (most - len(row)) for row in levers]),
        }

    def _freedom(self, partial: Partial, levers: list[Any]) -> Any:
        """Return `freedom` of `Branches` for one of them."""
        some = select(functools.reduce(minimum, levers), FREE, 1.0, 0.0)
        decisive = self._equations.decisive
        deciding = [
            x for x, step in zip(levers, partial.steps, strict=True) if step.joint in decisive
        ]
        return select(functools.reduce(minimum, deciding, 1.0), FREE, 2.0, some)

    def _regular(self, residuals: list[Any], within: list[Any], free: list[Any]) -> Any:
        """Return `regular` of `Branches`."""
        all_within = select(sum(within), len(within) - 0.5, 1.0, 2.0)
        known = select(sum(residuals), POLISHED[0], all_within, 0.0)  # NaN is no number below
        nearest = functools.reduce(minimum, residuals, POLISHED[1])
        known = select(nearest, REACHED, select(0.0, sum(free), SETTLED, known), SETTLED)
        lost = [select(1.0, x, 1.0, 0.0) for x in free]
        missed = [select(x, POLISHED[1], 1.0, y) for x, y in zip(residuals, lost, strict=True)]
        inexact = [select(x, POLISHED[0], 0.0, m) for x, m in zip(residuals, missed, strict=True)]
        return select(0.0, sum(inexact), SPECIAL, known)

    def _positions(self, partial: Partial, redundant: Array | None) -> tuple[list[Any], Any]:
        """Return joint positions, in the limits where possible, and 1 if they are within, or 0."""
        motions = [partial.values[k] for k in range(len(partial.values))]
        if self._outside is not None and redundant is not None:
            motions.insert(self._outside, self._motion(redundant))
        pairs = zip(motions, self.chain.rotates, strict=True)
        q = [x.angle if rotates else x for x, rotates in pairs]
        if self.given is not None and redundant is not None:
            q[self.given] = redundant[0]
        return within_limits(self.chain, q, self.given)


def unusual(*_: Any) -> None:
    """Return None: the answer of an entry that declines its arguments."""


def _fixed(array: Array) -> Array:
    """Return an array after making it read-only, because many results hold it."""
    array.setflags(write=False)
    return array


def _branch_name(partial: Partial) -> str:
    """Return a name such as "shoulder+ elbow- wrist+", in that order."""
    signs = {step.name: step.sign for step in partial.steps if step.name}
    order = [name for name in ("shoulder", "elbow", "wrist") if name in signs]
    return " ".join(name + signs[name] for name in order) or "only"
