"""The same robot with fewer operations: reductions of a robot before its equations are traced.

Each reduction stands alone where it belongs and changes no torque:

* link frames on the joints, modified Denavit-Hartenberg (`robot.joint_frames.joint_frames`);
* almost exact constants made exact, the residual reported (`robot.joint_frames.snapped`);
* inertial parameters regrouped, mass shared (`robot.transforms.regroup`);
* a length unit that turns constants into ones (`robot.joint_frames.in_length_unit`);
* the recursion on a column of b and unrotated axes (`augmented_body_columns`);
* graph passes, after tracing (`compiler.graph.optimize`).

`reduce` applies them all, quickly by rule or with a search over the choices that
are free: frames, shared masses, unrotated axes. The bodies of a reduced robot are not
physical; it serves to write equations and is not shown to anyone who did not ask.
"""

from robot_dynamics.reduction.pipeline import Progress, reduce
from robot_dynamics.reduction.reduction_plan import HARMLESS, ReducedRobot

__all__ = ["HARMLESS", "Progress", "ReducedRobot", "reduce"]
