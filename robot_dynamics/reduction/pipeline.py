"""All reductions, one after the other."""

from __future__ import annotations

import logging
from dataclasses import replace

from robot_dynamics.reduction.reduced_robot import ReducedRobot, units
from robot_dynamics.reduction.reduction_plan import HARMLESS, change_of, plan_of
from robot_dynamics.reduction.search import Progress, usual_choices
from robot_dynamics.reduction.search import search as best_found
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.transforms import merge_fixed

log = logging.getLogger(__name__)


def reduce(
    robot: Robot,
    search: bool = False,
    progress: Progress | None = None,
    *,
    accelerations: bool = False,
) -> ReducedRobot:
    """Rewrite a robot so that its inverse dynamics takes few operations.

    The result depends on these arguments only.

    Args:
        robot: Any robot, as numbers.
        search: Try frames, shared masses and unrotated axes at every link, in a second or two
            for an arm and half a minute for a humanoid. Without it they are chosen by rule, and
            by some counts for every run of parallel joints, in less than 0.1 s for an arm.
        progress: Called now and then during a search.
        accelerations: Whether equations are to be solved for accelerations, which are more
            sensitive to snapped constants than torques are.
    """
    plan, change = plan_of(merge_fixed(robot), accelerations)
    if search:
        found = best_found(plan, progress)
        change_of_search = change_of(plan.tree, found, accelerations)
        if change_of_search <= max(HARMLESS, change):
            return replace(found, torque_residual=change_of_search)
        log.debug("robot '%s': what the search found loses digits, not taken", robot.name)
    quick = plan.reduced(usual_choices(plan))
    quick = replace(quick, length_unit=units(quick)[0])
    return replace(quick, torque_residual=change_of(plan.tree, quick, accelerations))
