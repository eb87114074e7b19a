"""The choices of a reduction, by rule or by search: frames, shared masses, recursion options."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from robot_dynamics.algorithms.composite_body import mass_matrix
from robot_dynamics.compiler.graph.operations import CONSTANT, MULTIPLY
from robot_dynamics.compiler.graph.trace import Program, operation_count, trace
from robot_dynamics.formulations import augmented_body
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.lazy import imported
from robot_dynamics.reduction.augmented_body_columns import RecursionOptions, ReducedRobot
from robot_dynamics.robot.joint_frames import (
    FrameCandidates,
    Placement,
    Residual,
    joint_frames,
    snapped,
)
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.transforms import CLEARABLE, merge_fixed, outward_bodies, regroup
from robot_dynamics.spatial import Inertia

log = logging.getLogger(__name__)

Progress = Callable[[int, int], None]
"""Called with the number of steps done and the number of steps in all."""

UNITS_TO_COUNT = 8  # length units that the search compares


def reduce(
    robot: Robot,
    search: bool = False,
    progress: Progress | None = None,
    *,
    accelerations: bool = False,
) -> ReducedRobot:
    """Rewrite a robot so that its inverse dynamics takes few operations.

    The result is deterministic.

    Args:
        robot: Any robot, as numbers.
        search: Search over frames, shared masses and unrotated axes at every link, which takes one
            or two seconds for an arm and half a minute for a humanoid. By default they are chosen
            by rule, and by a few counts for every run of parallel joints, in less than 0.1 s for
            an arm.
        progress: Called repeatedly during a search.
        accelerations: Whether the equations will be solved for accelerations, which are more
            sensitive to snapped constants than torques.

    Returns:
        The reduced robot, with the largest change of a torque relative to the robot's.
    """
    plan, default, change = plan_of(merge_fixed(robot), accelerations)
    if search:
        found = found_by_search(plan, progress)
        change_of_search = change_of(plan.tree, found, accelerations)
        if change_of_search <= max(HARMLESS, change):
            return replace(found, torque_residual=change_of_search)
        log.debug("robot '%s': the search result loses digits and is rejected", robot.name)
    if plan.runs:
        default = plan.reduced(default_choices(plan))
        change = change_of(plan.tree, default, accelerations)
    return replace(default, length_unit=units(default)[0], torque_residual=change)


def reduce_to_solve(
    robot: Robot, reduced: ReducedRobot, search: bool = False, progress: Progress | None = None
) -> ReducedRobot:
    """Rewrite a robot for equations that are solved for accelerations.

    Args:
        robot: Any robot, as numbers.
        reduced: Result of `reduce`, which serves unless it loses digits of accelerations.
        search: As of `reduce`.
        progress: As of `reduce`.

    Returns:
        `reduced`, or another reduction that keeps the digits.
    """
    change = change_of(merge_fixed(robot), reduced, accelerations=True)
    if change <= HARMLESS:
        return replace(reduced, torque_residual=change)
    return reduce(robot, search, progress, accelerations=True)


# -- the rule for runs of parallel joints ----------------------------------------------------


def default_choices(plan: Plan) -> list[LinkChoice]:
    """Choose default frames, and unrotated axes on runs of parallel joints where they save work.

    Unrotated axes at a single link of a run, or without the matching shared mass, save nothing.
    All of a run is therefore decided together, by a few counts on its branch.
    """
    choices = [LinkChoice()] * len(plan.tree.joints)
    for run in plan.runs:
        branch, joints = plan.branch(run[-1])
        best = [choices[k] for k in joints]
        for unrotated in (run, run[:-1]):
            for shared in ("", "hx", "Sxx-Syy"):
                tried = [choices[k] for k in joints]
                for k in unrotated:
                    tried[joints.index(k)] = LinkChoice(options=RecursionOptions(unrotated=True))
                for k in run[1:]:
                    tried[joints.index(k)] = replace(tried[joints.index(k)], shared=shared)
                if branch.cost(tried) < branch.cost(best):
                    best = tried
        for k, choice in zip(joints, best, strict=True):
            choices[k] = choice
    return choices


# -- the search ------------------------------------------------------------------------------

SWEEPS = 4  # at most, over all joints; the search ends after a sweep without a change


KINDS = ("offset", "direction", "shared", "diagonal", "unrotated")
"""Kinds of choices at a link, in the order in which the search tries them."""


def found_by_search(
    plan: Plan, progress: Progress | None = None, kinds: Sequence[str] = KINDS
) -> ReducedRobot:
    """Improve one choice at one link at a time, tips to base, until no change saves operations.

    The search starts once from default frames with rotated axes, and once from `default_choices`.

    Args:
        plan: The robot.
        progress: Called after every link.
        kinds: Kinds of choices to try.
    """
    n = len(plan.tree.joints)
    starts = [[LinkChoice()] * n]
    if "unrotated" in kinds and "shared" in kinds and plan.runs:
        starts.append(default_choices(plan))
    branches = [plan.branch(k) for k in range(n)]
    total = len(starts) * SWEEPS * n
    ends = list(starts)
    for start, choices in enumerate(starts):
        ends.append(list(choices))
        for sweep in range(SWEEPS):
            before = list(ends[-1])
            for step, k in enumerate(reversed(range(n))):
                if plan.tree.joints[k].type.rotates:
                    _improve(*branches[k], k, ends[-1], kinds)
                if progress is not None:
                    progress((start * SWEEPS + sweep) * n + step + 1, total)
            if ends[-1] == before:
                break
    if progress is not None:
        progress(total, total)
    reduced = plan.reduced(min(ends, key=plan.cost))
    candidates = [replace(reduced, length_unit=unit) for unit in units(reduced)[:UNITS_TO_COUNT]]
    return min(candidates, key=cost)


def _improve(
    plan: Plan,
    joints: Sequence[int],
    k: int,
    choices: list[LinkChoice],
    kinds: Sequence[str],
) -> None:
    """Try all alternatives at joint k, one kind of choice after the other."""
    place = joints.index(k)
    on_branch = [choices[c] for c in joints]
    best = plan.cost(on_branch)
    for kind in kinds:
        for alternative in _alternatives(plan, place, choices[k], kind):
            on_branch[place] = alternative
            found = plan.cost(on_branch)
            if found < best:
                best, choices[k] = found, alternative
        on_branch[place] = choices[k]


def _alternatives(plan: Plan, k: int, choice: LinkChoice, kind: str) -> list[LinkChoice]:
    """List the choice with every value of one kind."""
    options = choice.options
    if kind == "offset":
        return [replace(choice, offset=o) for o in range(len(plan.offsets[k]))]
    if kind == "direction":
        return [replace(choice, direction=d) for d in range(len(plan.directions[k]))]
    if kind == "shared":
        names = ("", *CLEARABLE) if plan.tree.parents[k] > 0 else ("",)
        return [replace(choice, shared=name) for name in names]
    if kind == "diagonal":
        return [replace(choice, options=replace(options, diagonal=d)) for d in ("", "xx", "yy")]
    return [
        replace(choice, options=replace(options, unrotated=unrotated))
        for unrotated in (False, True)
    ]


# -- the cost of the equations ----------------------------------------------


SMALLEST_UNIT_M = 1e-3
"""Smallest length unit, m; the largest is its inverse."""


def cost(reduced: ReducedRobot) -> tuple[int, int]:
    """Count operations and, to break ties, multiplications of the inverse dynamics."""
    count = operation_count(program(reduced))
    return count.arithmetic, count.multiplications


def program(reduced: ReducedRobot) -> Program:
    """Trace the inverse dynamics, before graph passes."""
    n = len(reduced.robot.joints)

    def equations(q: Array, qd: Array, qdd: Array) -> Array:
        return reduced.inverse_dynamics(reduced.robot, q, qd, qdd, {})

    return trace("inverse", equations, {"q": (n,), "qd": (n,), "qdd": (n,)})


def units(reduced: ReducedRobot) -> list[float]:
    """List the units in which a length or first moment is one, most frequent constant first."""
    robot = reduced.robot
    products = Counter(
        float(node.args[0].value)
        for node in program(reduced).nodes
        if node.op == MULTIPLY and node.args[0].op == CONSTANT
    )
    lengths = {abs(float(x)) for joint in robot.joints for x in joint.origin.translation}
    moments = {abs(float(x)) for link in robot.links for x in link.inertia.first_moment}
    saved: Counter[float] = Counter({1.0: 0})
    for value in lengths | moments:
        unit = value if value in lengths else 1.0 / value if value else 0.0
        if SMALLEST_UNIT_M <= unit <= 1.0 / SMALLEST_UNIT_M:
            saved[unit] += products[value]
    return sorted(saved, key=lambda unit: (-saved[unit], unit))


# -- the choices --------------------------------------------------------------------------------


TOLERANCES = (1e-9, 1e-11, 1e-13)  # of snapped constants; the first harmless one is used
HARMLESS = 1e-10
"""Largest relative change of a result that snapped constants may cause."""


@dataclass(frozen=True)
class LinkChoice:
    """The free choices at one link.

    Args:
        offset: Index into `FrameCandidates.offsets` of the origin.
        direction: Index into `FrameCandidates.directions` of the x axis.
        shared: Quantity of the parent that a mass left in this link clears, a name of
            `CLEARABLE`, or "".
        options: Options of the recursion.
    """

    offset: int = 0
    direction: int = 0
    shared: str = ""
    options: RecursionOptions = field(default_factory=RecursionOptions)


@dataclass(eq=False)
class Plan:
    """A tree and its free choices.

    Args:
        tree: Tree without fixed joints.
        offsets: Candidates for the origin, per joint.
        directions: Candidates for the x direction, per joint.
        sizes: For every link the bodies that its joint carries; see `snapped`.
        tolerance: Tolerance of snapping; see `snapped`.
        runs: Runs of parallel joints, as lists of joints.
    """

    tree: Robot
    offsets: Sequence[Sequence[float]]
    directions: Sequence[Sequence[Array]]
    sizes: Sequence[Inertia]
    tolerance: float
    runs: Sequence[Sequence[int]] = ()
    _counts: dict[tuple[LinkChoice, ...], tuple[int, int]] = field(default_factory=dict, init=False)

    def reduced(self, choices: Sequence[LinkChoice]) -> ReducedRobot:
        """Return the robot with these choices, in SI units."""
        places = [
            Placement(self.offsets[k][c.offset], self.directions[k][c.direction])
            for k, c in enumerate(choices)
        ]
        framed, first = snapped(joint_frames(self.tree, places), self.tolerance, self.sizes)
        shared = {k: choice.shared for k, choice in enumerate(choices) if choice.shared}
        regrouped, second = snapped(regroup(framed, shared), self.tolerance, self.sizes)
        residual = Residual(first.angle, first.length, max(first.inertia, second.inertia))
        return ReducedRobot(regrouped, tuple(c.options for c in choices), 1.0, residual)

    def cost(self, choices: Sequence[LinkChoice]) -> tuple[int, int]:
        """Count operations and, to break ties, multiplications of the inverse dynamics."""
        key = tuple(choices)
        if key not in self._counts:
            self._counts[key] = cost(self.reduced(choices))
        return self._counts[key]

    def branch(self, k: int) -> tuple[Plan, list[int]]:
        """Return the plan of the path from the base through joint k to the tips, and its joints.

        A choice at joint k affects only this branch, which is faster to count. Parts of other
        branches that their joints cannot move are regrouped into it.
        """
        parents = self.tree.parents
        on_branch = [k]
        while (parent := parents[on_branch[0]]) > 0:
            on_branch.insert(0, parent - 1)
        for c in range(k + 1, len(parents)):
            if parents[c] - 1 in on_branch and parents[c] - 1 >= k:
                on_branch.append(c)
        if len(on_branch) == len(parents):
            return self, on_branch
        grouped = regroup(self.tree)
        tree = replace(
            grouped,
            links=tuple(grouped.links[i] for i in [0, *(c + 1 for c in on_branch)]),
            joints=tuple(grouped.joints[c] for c in on_branch),
            frames={},
            tips=(),
        )
        return Plan(
            tree,
            [self.offsets[c] for c in on_branch],
            [self.directions[c] for c in on_branch],
            [self.sizes[i] for i in [0, *(c + 1 for c in on_branch)]],
            self.tolerance,
        ), on_branch


def plan_of(tree: Robot, accelerations: bool = False) -> tuple[Plan, ReducedRobot, float]:
    """Return the plan of a tree with the loosest harmless tolerance.

    With it, the robot with default frames and rotated axes, and the change that the tolerance
    causes there.
    """
    frames = FrameCandidates(tree)
    sizes = outward_bodies(tree)
    default = [LinkChoice()] * len(tree.joints)
    for tolerance in TOLERANCES:
        plan = Plan(tree, frames.offsets, frames.directions, sizes, tolerance, frames.runs)
        reduced = plan.reduced(default)
        change = change_of(tree, reduced, accelerations)
        if change <= HARMLESS:
            break
    log.debug("robot '%s': constants snapped within %g change results by %.1e, relative",
              tree.name, tolerance, change)  # fmt: skip
    return plan, reduced, change


def change_of(tree: Robot, reduced: ReducedRobot, accelerations: bool) -> float:
    """Compute the largest change of torques, relative to the largest one, at random states.

    A small change of torque may be a large change of acceleration, for example at a light finger
    on a heavy arm. With `accelerations`, M^-1 times the change of torque counts too, relative to
    the accelerations of the motion.
    """
    rng = imported("numpy.random").default_rng(0)
    joints = tree.coupling
    worst = 0.0
    for _ in range(2):
        motion = rng.normal(size=(3, tree.dof))
        q, qd, qdd = joints.positions(motion[0]), joints.rates(motion[1]), joints.rates(motion[2])
        tau = joints.efforts(augmented_body.inverse_dynamics(tree, q, qd, qdd, {}))
        ours = joints.efforts(reduced.inverse_dynamics(reduced.robot, q, qd, qdd, {}))
        changes = [(ours - tau, tau)]
        if accelerations:
            M = joints.square(mass_matrix(tree, q))
            # Least squares, since a joint that moves no inertia leaves M singular
            changes.append((np.linalg.lstsq(M, ours - tau, rcond=None)[0], motion[2]))
        for change, quantity in changes:
            size = np.max(np.abs(quantity), initial=1e-300)
            worst = max(worst, float(np.max(np.abs(change), initial=0.0) / size))
    return worst
