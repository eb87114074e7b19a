"""The same robot with fewer operations: reductions of a robot before its equations are traced.

Each reduction stands alone where it belongs and changes no torque:

* link frames on the joints, modified Denavit-Hartenberg (`robot.frames.joint_frames`);
* almost exact constants made exact, the residual reported (`robot.frames.snapped`);
* inertial parameters regrouped, mass shared (`robot.parameters.regroup`);
* a length unit that turns constants into ones (`robot.frames.in_length_unit`);
* the recursion on a column of b and held axes (`formulations.augmented_body_columns`);
* graph passes, after tracing (`compiler.optimize`).

`reduce` applies them all, quickly by rule or with a search over the choices that
are free: frames, shared masses, held axes. The bodies of a reduced robot are not
physical; it serves to write equations and is not shown to anyone who did not ask.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from robot_dynamics.compiler.count import operation_count
from robot_dynamics.compiler.expression import CONSTANT, MULTIPLY
from robot_dynamics.compiler.trace import Program, trace
from robot_dynamics.errors import ArgumentError
from robot_dynamics.formulations import augmented_body, augmented_body_columns
from robot_dynamics.formulations.augmented_body_columns import Writing
from robot_dynamics.formulations.composite_body import mass_matrix
from robot_dynamics.formulations.vectors import Wrenches
from robot_dynamics.robot.frames import (
    Placement,
    Residual,
    in_length_unit,
    joint_frames,
    snapped,
)
from robot_dynamics.robot.joint_lines import FrameOptions
from robot_dynamics.robot.parameters import CLEARABLE, outward_bodies, regroup
from robot_dynamics.robot.robot import Array, Inertia, Robot
from robot_dynamics.robot.transforms import merge_fixed

log = logging.getLogger(__name__)

EFFORTS = ("quick", "search")
TOLERANCES = (1e-9, 1e-11, 1e-13)  # for almost exact constants; the first that is harmless is taken
HARMLESS = 1e-10  # largest relative change that snapped constants may cause

Progress = Callable[[int, int], None]
"""Called with the number of steps done and the number of steps in all."""


@dataclass(frozen=True, eq=False)
class ReducedRobot:
    """A robot whose inverse dynamics takes few operations, and how to write it.

    Args:
        robot: Tree in joint frames with regrouped bodies, which are not physical. Frames of the
            original links are among its named frames. SI units.
        writing: How the equations of each link are written.
        length_unit: Unit in which the lengths of the equations are expressed, m.
        residual: Largest change of a constant, by snapping.
        torque_residual: Largest change of a torque or an acceleration, relative to the largest,
            at random states: what snapping and round-off amount to.
    """

    robot: Robot
    writing: tuple[Writing, ...]
    length_unit: float
    residual: Residual
    torque_residual: float = 0.0

    def inverse_dynamics(
        self, robot: Robot, q: Array, qd: Array, qdd: Array, wrenches: Wrenches
    ) -> Array:
        """Joint efforts: a formulation to use in place of `augmented_body`.

        Args:
            robot: `self.robot`, perhaps with other gravity or with a load added to its bodies,
                as numbers or symbols.
            q: Joint positions, shape (n,), rad or m.
            qd: Joint velocities, shape (n,).
            qdd: Joint accelerations, shape (n,).
            wrenches: Force and moment that links of `robot` exert on their surroundings.

        Returns:
            Joint efforts, shape (n,), N m or N.
        """
        unit = self.length_unit
        per_unit = np.array([1.0 if j.type.rotates else 1.0 / unit for j in robot.joints])
        tau = augmented_body_columns.inverse_dynamics(
            in_length_unit(robot, unit),
            q * per_unit,
            qd * per_unit,
            qdd * per_unit,
            {i: (force * unit, moment) for i, (force, moment) in wrenches.items()},
            self.writing,
        )
        return tau * per_unit


def reduce(
    robot: Robot,
    effort: str = "quick",
    progress: Progress | None = None,
    *,
    accelerations: bool = False,
) -> ReducedRobot:
    """Rewrite a robot so that its inverse dynamics takes few operations.

    The result depends on the robot and the effort only.

    Args:
        robot: Any robot, as numbers.
        effort: "quick" decides by rule, in milliseconds; "search" tries frames, shared masses and
            held axes and counts, in about a second for an arm and half a minute for a humanoid.
        progress: Called now and then during a search.
        accelerations: Whether equations are to be solved for accelerations, which are more
            sensitive to snapped constants than torques are.

    Raises:
        ArgumentError: If there is no such effort.
    """
    if effort not in EFFORTS:
        raise ArgumentError(f"effort '{effort}' is not known; choose one of {', '.join(EFFORTS)}")
    plan, change = plan_of(merge_fixed(robot), accelerations)
    if effort == "search":
        reduced = search(plan, progress)
        change_of_search = _change(plan.tree, reduced, accelerations)
        if change_of_search <= max(HARMLESS, change):
            return replace(reduced, torque_residual=change_of_search)
        log.debug("robot '%s': what the search found loses digits, not taken", robot.name)
    reduced = plan.reduced([LinkChoice()] * len(plan.tree.joints))
    return replace(reduced, length_unit=_units(reduced)[0], torque_residual=change)


# -- choices ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class LinkChoice:
    """What is free in how one link is described and written.

    Args:
        offset: Which of `FrameOptions.offsets` the origin has.
        direction: Which of `FrameOptions.directions` the x axis has.
        shared: What mass left in this link clears in its parent, a name of `CLEARABLE`, or "".
        writing: How its equations are written.
    """

    offset: int = 0
    direction: int = 0
    shared: str = ""
    writing: Writing = field(default_factory=Writing)


class Plan:
    """A tree and the choices that it leaves.

    Args:
        tree: Tree without fixed joints.
        offsets: Origins to choose from, per joint.
        directions: Directions of x to choose from, per joint.
        sizes: For every link what its joint carries; see `snapped`.
        tolerance: For almost exact constants; see `snapped`.
    """

    def __init__(
        self,
        tree: Robot,
        offsets: Sequence[Sequence[float]],
        directions: Sequence[Sequence[Array]],
        sizes: Sequence[Inertia],
        tolerance: float,
    ) -> None:
        self.tree = tree
        self.offsets = offsets
        self.directions = directions
        self.sizes = sizes
        self.tolerance = tolerance
        self._counts: dict[tuple[LinkChoice, ...], tuple[int, int]] = {}

    def reduced(self, choices: Sequence[LinkChoice]) -> ReducedRobot:
        """The robot with these choices made, in SI units."""
        places = [
            Placement(self.offsets[k][c.offset], self.directions[k][c.direction])
            for k, c in enumerate(choices)
        ]
        framed, first = snapped(joint_frames(self.tree, places), self.tolerance, self.sizes)
        shared = {k: choice.shared for k, choice in enumerate(choices) if choice.shared}
        regrouped, second = snapped(regroup(framed, shared), self.tolerance, self.sizes)
        residual = Residual(first.angle, first.length, max(first.inertia, second.inertia))
        return ReducedRobot(regrouped, tuple(c.writing for c in choices), 1.0, residual)

    def cost(self, choices: Sequence[LinkChoice]) -> tuple[int, int]:
        """Operations and, to break ties, multiplications of the inverse dynamics."""
        key = tuple(choices)
        if key not in self._counts:
            self._counts[key] = _cost(self.reduced(choices))
        return self._counts[key]

    def branch(self, k: int) -> tuple[Plan, list[int]]:
        """The path from the base to joint k and all that lies beyond, with the joints it has.

        What a choice at one link saves is decided there, and there is less to count. The bodies
        of the branches left out ride on.
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
        )
        return Plan(
            tree,
            [self.offsets[c] for c in on_branch],
            [self.directions[c] for c in on_branch],
            [self.sizes[i] for i in [0, *(c + 1 for c in on_branch)]],
            self.tolerance,
        ), on_branch


def plan_of(tree: Robot, accelerations: bool = False) -> tuple[Plan, float]:
    """The plan of a tree, with the loosest tolerance that is harmless, and the harm done."""
    options = FrameOptions(tree)
    sizes = outward_bodies(tree)
    usual = [LinkChoice()] * len(tree.joints)
    for tolerance in TOLERANCES:
        plan = Plan(tree, options.offsets, options.directions, sizes, tolerance)
        change = _change(tree, plan.reduced(usual), accelerations)
        if change <= HARMLESS:
            break
    log.debug("robot '%s': constants snapped within %g change results by %.1e, relative",
              tree.name, tolerance, change)  # fmt: skip
    return plan, change


def _change(tree: Robot, reduced: ReducedRobot, accelerations: bool) -> float:
    """Largest change of torques, relative to the largest one, at random states.

    A change of torque that looks harmless may be large in acceleration: a light finger at the
    end of a heavy arm. With `accelerations` M^-1 times the change of torque counts too, relative
    to the accelerations of the motion.
    """
    rng = np.random.default_rng(0)
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


# -- the search ------------------------------------------------------------------------------

SWEEPS = 4  # over all joints; the search is over when one changes nothing


KINDS = ("offset", "direction", "shared", "diagonal", "held")
"""Kinds of choices at a link, in the order in which the search tries them."""


def search(
    plan: Plan, progress: Progress | None = None, kinds: Sequence[str] = KINDS
) -> ReducedRobot:
    """Improve one choice at one link at a time, tips to base, until nothing improves.

    Args:
        plan: The robot.
        progress: Called after every link.
        kinds: Kinds of choices to try.
    """
    n = len(plan.tree.joints)
    choices = [LinkChoice()] * n
    branches = [plan.branch(k) for k in range(n)]
    for sweep in range(SWEEPS):
        before = list(choices)
        for step, k in enumerate(reversed(range(n))):
            if plan.tree.joints[k].type.rotates:
                _improve(*branches[k], k, choices, kinds)
            if progress is not None:
                progress(sweep * n + step + 1, SWEEPS * n)
        if choices == before:
            break
    if progress is not None:
        progress(SWEEPS * n, SWEEPS * n)
    usual = [LinkChoice()] * n
    if plan.cost(usual) < plan.cost(choices):
        choices = usual
    reduced = plan.reduced(choices)
    candidates = [replace(reduced, length_unit=unit) for unit in _units(reduced)[:UNITS_TO_COUNT]]
    return min(candidates, key=_cost)


def _improve(
    plan: Plan,
    joints: Sequence[int],
    k: int,
    choices: list[LinkChoice],
    kinds: Sequence[str],
) -> None:
    """Try every alternative at joint k, one kind of choice after the other."""
    place = joints.index(k)
    on_branch = [choices[c] for c in joints]
    best = plan.cost(on_branch)
    for kind in kinds:
        for alternative in _alternatives(plan, place, choices[k], kind):
            on_branch[place] = alternative
            cost = plan.cost(on_branch)
            if cost < best:
                best, choices[k] = cost, alternative
        on_branch[place] = choices[k]


def _alternatives(plan: Plan, k: int, choice: LinkChoice, kind: str) -> list[LinkChoice]:
    """The choice with every other value of one kind."""
    writing = choice.writing
    if kind == "offset":
        return [replace(choice, offset=o) for o in range(len(plan.offsets[k]))]
    if kind == "direction":
        return [replace(choice, direction=d) for d in range(len(plan.directions[k]))]
    if kind == "shared":
        names = ("", *CLEARABLE) if plan.tree.parents[k] > 0 else ("",)
        return [replace(choice, shared=name) for name in names]
    if kind == "diagonal":
        return [replace(choice, writing=replace(writing, diagonal=d)) for d in ("", "xx", "yy")]
    return [replace(choice, writing=replace(writing, held=held)) for held in (False, True)]


def _cost(reduced: ReducedRobot) -> tuple[int, int]:
    count = operation_count(_program(reduced))
    return count.arithmetic, count.multiplications


def _program(reduced: ReducedRobot) -> Program:
    n = len(reduced.robot.joints)

    def equations(q: Array, qd: Array, qdd: Array) -> Array:
        return reduced.inverse_dynamics(reduced.robot, q, qd, qdd, {})

    return trace("inverse", equations, {"q": (n,), "qd": (n,), "qdd": (n,)})


# -- the length unit -------------------------------------------------------------------------

UNITS_TO_COUNT = 8
SMALLEST_UNIT = 1e-3  # m; beyond, constants would only look strange


def _units(reduced: ReducedRobot) -> list[float]:
    """Units that turn a length or first moment into one, the most often used constant first."""
    robot = reduced.robot
    products = Counter(
        float(node.args[0].value)
        for node in _program(reduced).nodes
        if node.op == MULTIPLY and node.args[0].op == CONSTANT
    )
    lengths = {abs(float(x)) for joint in robot.joints for x in joint.origin.translation}
    moments = {abs(float(x)) for link in robot.links for x in link.inertia.first_moment}
    saved: Counter[float] = Counter({1.0: 0})
    for value in lengths | moments:
        unit = value if value in lengths else 1.0 / value if value else 0.0
        if SMALLEST_UNIT <= unit <= 1.0 / SMALLEST_UNIT:
            saved[unit] += products[value]
    return sorted(saved, key=lambda unit: (-saved[unit], unit))
