"""Ablation of the reductions: operations of inverse dynamics with one of them taken away.

    python -m benchmark.operation_counts.ablation [--robots ur5,panda]

The first row has all of them, every other row all but one, and the last rows have none:
a formulation on the robot as its URDF has it. Multiplications / additions, those of joint
angles included; sines and cosines stay as they are.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from rich.console import Console

from benchmark.cases import SOURCES, Source, quiet, stripped_urdf
from benchmark.progress_bar import spinner
from benchmark.table import Table
from robot_dynamics import Robot, read_urdf
from robot_dynamics.compiler.graph.optimize import PASSES, Pass, gather_multiples, optimize
from robot_dynamics.compiler.graph.trace import operation_count, trace
from robot_dynamics.compiler.operation_count import OperationCount
from robot_dynamics.formulations import InverseDynamics, augmented_body, newton_euler
from robot_dynamics.papers.counts.augmented_body_count import renaud_arm
from robot_dynamics.reduction import ReducedRobot, reduce
from robot_dynamics.reduction.reduced_robot import KINDS, Plan, found_by_search, plan_of
from robot_dynamics.robot.joint_frames import reframe, snapped
from robot_dynamics.robot.kinematic_tree import Link
from robot_dynamics.robot.transforms import merge_fixed, regroup
from robot_dynamics.spatial import Inertia

ROBOTS: Mapping[str, Source | None] = {
    "renaud": None,
    "ur5": SOURCES["ur5"],
    "kinova": Source("Kinova", "kinova"),
    "panda": SOURCES["panda"],
    "talos": SOURCES["talos"],
}
"""By the name that `--robots` takes; Renaud's arm comes from his paper."""


# -- counting --------------------------------------------------------------------------------


def count(reduced: ReducedRobot, passes: Sequence[Pass] = PASSES) -> OperationCount:
    """Count the inverse dynamics of a reduced robot."""
    return count_formulation(reduced.inverse_dynamics, reduced.robot, passes)


def count_formulation(
    formulation: InverseDynamics, tree: Robot, passes: Sequence[Pass] = PASSES
) -> OperationCount:
    """Count the inverse dynamics of a tree without fixed joints."""
    n = len(tree.joints)
    inputs = dict.fromkeys(("q", "qd", "qdd"), (n,))
    program = trace("inverse", lambda q, qd, qdd: formulation(tree, q, qd, qdd, {}), inputs)
    return operation_count(optimize(program, passes))


# -- one row each ----------------------------------------------------------------------------


class Subject:
    """A robot, and its reduction with everything.

    Args:
        robot: Any robot.
    """

    def __init__(self, robot: Robot) -> None:
        self.tree = merge_fixed(robot)
        self.plan, *_ = plan_of(self.tree)
        self.reduced = reduce(robot, search=True)

    def search_without(self, *kinds: str) -> OperationCount:
        """Search all kinds of choices but these."""
        return count(
            found_by_search(self.plan, kinds=[kind for kind in KINDS if kind not in kinds])
        )

    def without_regrouping(self) -> OperationCount:
        """Frames and writing stay, the bodies are the robot's own."""
        frames = [self.reduced.robot.frame(link.name).pose for link in self.tree.links[1:]]
        bare = reframe(self.tree, [pose.inverse() for pose in frames])
        exact, _ = snapped(bare, self.plan.tolerance, self.plan.sizes)
        return count(replace(self.reduced, robot=exact))

    def without_column(self) -> OperationCount:
        """Angular accelerations are rotated, as printed."""
        options = tuple(replace(w, column=False) for w in self.reduced.options)
        return count(replace(self.reduced, options=options))

    def without_snapping(self) -> OperationCount:
        """Constants as they come from the URDF."""
        plan = self.plan
        return count(
            found_by_search(Plan(self.tree, plan.offsets, plan.directions, plan.sizes, 0.0))
        )

    def without_gravity(self) -> OperationCount:
        """Not a reduction: what gravity costs."""
        weightless = self.reduced.robot.with_gravity((0.0, 0.0, 0.0))
        return count(replace(self.reduced, robot=weightless))


ROWS: Mapping[str, Callable[[Subject], OperationCount]] = {
    "all reductions, searched": lambda s: count(s.reduced),
    "no search": lambda s: count(reduce(s.tree)),
    "no regrouping": Subject.without_regrouping,
    "no shared mass": lambda s: s.search_without("shared"),
    "no unrotated axes": lambda s: s.search_without("unrotated"),
    "usual frames only": lambda s: s.search_without("offset", "direction"),
    "no column of b": Subject.without_column,
    "three squares for b": lambda s: s.search_without("diagonal"),
    "length unit 1 m": lambda s: count(replace(s.reduced, length_unit=1.0)),
    "constants not snapped": Subject.without_snapping,
    "no graph passes": lambda s: count(s.reduced, []),
    "no pass for multiples": lambda s: count(
        s.reduced, [one for one in PASSES if one is not gather_multiples]
    ),
    "all, gravity absent": Subject.without_gravity,
    "only regrouping": lambda s: count_formulation(
        augmented_body.inverse_dynamics, regroup(s.tree)
    ),
    "none: augmented_body": lambda s: count_formulation(augmented_body.inverse_dynamics, s.tree),
    "none: newton_euler": lambda s: count_formulation(newton_euler.inverse_dynamics, s.tree),
}
"""Title of every row of the table, and how it is counted. The last three are simplified too."""


# -- the table -------------------------------------------------------------------------------


def ablation_table(keys: Sequence[str], tell: Callable[[str], None] = lambda _: None) -> Table:
    """Count every row for the chosen robots of `ROBOTS`; `tell` hears what is counted."""
    rows = [[title] for title in ROWS]
    for key in keys:
        subject = Subject(robot_named(key))
        for (title, counted), row in zip(ROWS.items(), rows, strict=True):
            tell(f"{key}: {title}")
            found = counted(subject)
            row.append(f"{found.multiplications} / {found.additions}")
    header = ["", *(f"{key} ({robot_named(key).dof})" for key in keys)]
    return Table("What each reduction is worth", ABOUT, header, rows)


ABOUT = (
    "Multiplications / additions of inverse dynamics, fixed base, gravity along z of the base, "
    "numbers of the URDF folded in; sums of joint angles count, sines and cosines do not."
)


def robot_named(key: str) -> Robot:
    """A robot of `ROBOTS`."""
    source = ROBOTS[key]
    if source is None:
        return renaud_with_numbers()
    with quiet():
        return read_urdf(stripped_urdf(source).decode())


def renaud_with_numbers() -> Robot:
    """Return Renaud's arm, its symbolic parameters as numbers of an industrial arm."""
    arm = renaud_arm(np.array([0.43, 0.40, 9.81]), np.zeros(6), np.zeros((6, 3)))
    bodies = (  # kg, kg m along one axis, kg m^2 about the joint frame
        (12.0, (0.0, 0.0, -0.6), (0.23, 0.21, 0.15)),
        (10.0, (2.0, 0.0, 0.0), (0.05, 0.80, 0.82)),
        (6.0, (0.0, -0.6, 0.0), (0.18, 0.03, 0.19)),
        (2.0, (0.0, 0.0, -0.12), (0.0172, 0.0172, 0.004)),
        (1.0, (0.0, 0.03, 0.0), (0.0049, 0.002, 0.0039)),
        (0.5, (0.0, 0.0, 0.04), (0.0047, 0.0046, 0.0006)),
    )
    links = [
        Link(link.name, Inertia(mass, np.array(first), np.diag(second)))
        for link, (mass, first, second) in zip(arm.links[1:], bodies, strict=True)
    ]
    return replace(arm, links=(arm.links[0], *links))


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmark.operation_counts.ablation", description=__doc__
    )
    parser.add_argument("--robots", default=",".join(ROBOTS), help="names, separated by commas")
    keys = parser.parse_args(arguments).robots.split(",")
    for key in keys:
        if key not in ROBOTS:
            parser.error(f"no robot '{key}' (robots: {', '.join(ROBOTS)})")
    console = Console()
    with spinner(console) as tell:
        table = ablation_table(keys, tell)
    console.print(table.rich())
    console.print(table.about)


if __name__ == "__main__":
    main()
