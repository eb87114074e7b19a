"""The free choices of a reduction: frames, shared masses and options of the recursion."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from robot_dynamics.algorithms.composite_body import mass_matrix
from robot_dynamics.compiler.graph.count import operation_count
from robot_dynamics.compiler.graph.operations import CONSTANT, MULTIPLY
from robot_dynamics.compiler.graph.trace import Program, trace
from robot_dynamics.formulations import augmented_body
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.lazy import imported
from robot_dynamics.reduction import augmented_body_columns
from robot_dynamics.reduction.augmented_body_columns import RecursionOptions
from robot_dynamics.robot.endpoint import Wrenches
from robot_dynamics.robot.joint_axes import FrameCandidates
from robot_dynamics.robot.joint_frames import (
    Placement,
    Residual,
    in_length_unit,
    joint_frames,
    snapped,
)
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.transforms import outward_bodies, regroup
from robot_dynamics.spatial.rigid_body import Inertia

# -- a reduced robot and the cost of its equations ----------------------------------------------


SMALLEST_UNIT_M = 1e-3
"""Smallest length unit, m; the largest is its inverse."""


@dataclass(frozen=True, eq=False)
class ReducedRobot:
    """A robot whose inverse dynamics takes few operations, with the options of its recursion.

    Args:
        robot: Tree in joint frames with regrouped bodies, which are not physical. Frames of the
            original links are among its named frames. SI units.
        options: Options of the recursion at each link.
        length_unit: Length unit of the equations, m.
        residual: Largest change of a constant, by snapping.
        torque_residual: Largest change of a torque or an acceleration by snapping and round-off,
            relative to the largest, at random states.
    """

    robot: Robot
    options: tuple[RecursionOptions, ...]
    length_unit: float
    residual: Residual
    torque_residual: float = 0.0

    def inverse_dynamics(
        self, robot: Robot, q: Array, qd: Array, qdd: Array, wrenches: Wrenches
    ) -> Array:
        """Compute joint efforts: a formulation to use in place of `augmented_body`.

        Args:
            robot: `self.robot`, possibly with another gravity or with a payload added to its
                bodies, as numbers or symbols.
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
            self.options,
        )
        return tau * per_unit


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


log = logging.getLogger(__name__)

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

    def __init__(
        self,
        tree: Robot,
        offsets: Sequence[Sequence[float]],
        directions: Sequence[Sequence[Array]],
        sizes: Sequence[Inertia],
        tolerance: float,
        runs: Sequence[Sequence[int]] = (),
    ) -> None:
        self.tree = tree
        self.runs = runs
        self.offsets = offsets
        self.directions = directions
        self.sizes = sizes
        self.tolerance = tolerance
        self._counts: dict[tuple[LinkChoice, ...], tuple[int, int]] = {}

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


def plan_of(tree: Robot, accelerations: bool = False) -> tuple[Plan, float]:
    """Return the plan of a tree with the loosest harmless tolerance, and the change it causes."""
    frames = FrameCandidates(tree)
    sizes = outward_bodies(tree)
    usual = [LinkChoice()] * len(tree.joints)
    for tolerance in TOLERANCES:
        plan = Plan(tree, frames.offsets, frames.directions, sizes, tolerance, frames.runs)
        change = change_of(tree, plan.reduced(usual), accelerations)
        if change <= HARMLESS:
            break
    log.debug("robot '%s': constants snapped within %g change results by %.1e, relative",
              tree.name, tolerance, change)  # fmt: skip
    return plan, change


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
