"""Reductions: rewrites of a robot that save operations and change no torque.

Each reduction is a function of its own, applied before the equations are traced:

* link frames on the joints, modified Denavit-Hartenberg (`robot.joint_frames.joint_frames`);
* almost exact constants made exact, the residual reported (`robot.joint_frames.snapped`);
* inertial parameters regrouped, mass shared (`robot.transforms.regroup`);
* a length unit that turns constants into ones (`robot.joint_frames.in_length_unit`);
* the recursion on a column of b and unrotated axes (`augmented_body_columns`);
* graph passes, after tracing (`compiler.graph.optimize`).

`reduce` applies all of them, by rule or with a search over the free choices: frames,
shared masses and unrotated axes. The bodies of a reduced robot are not physical; it
serves only to write equations.
"""

from robot_dynamics.reduction.augmented_body_columns import ReducedRobot
from robot_dynamics.reduction.reduced_robot import (
    HARMLESS,
    Progress,
    reduce,
    reduce_to_solve,
)

__all__ = ["HARMLESS", "Progress", "ReducedRobot", "reduce", "reduce_to_solve"]
