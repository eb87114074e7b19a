"""The sequence of all reductions, with choices by rule or by search."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace

from robot_dynamics.reduction.augmented_body_columns import RecursionOptions
from robot_dynamics.reduction.reduction_plan import (
    HARMLESS,
    LinkChoice,
    Plan,
    ReducedRobot,
    change_of,
    cost,
    plan_of,
    units,
)
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.transforms import CLEARABLE, merge_fixed

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
    """
    plan, change = plan_of(merge_fixed(robot), accelerations)
    if search:
        found = found_by_search(plan, progress)
        change_of_search = change_of(plan.tree, found, accelerations)
        if change_of_search <= max(HARMLESS, change):
            return replace(found, torque_residual=change_of_search)
        log.debug("robot '%s': the search result loses digits and is rejected", robot.name)
    quick = plan.reduced(usual_choices(plan))
    quick = replace(quick, length_unit=units(quick)[0])
    return replace(quick, torque_residual=change_of(plan.tree, quick, accelerations))


# -- the rule for runs of parallel joints ----------------------------------------------------


def usual_choices(plan: Plan) -> list[LinkChoice]:
    """Choose usual frames, and unrotated axes on runs of parallel joints where they save work.

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

    The search starts once from usual frames with rotated axes, and once from `usual_choices`.

    Args:
        plan: The robot.
        progress: Called after every link.
        kinds: Kinds of choices to try.
    """
    n = len(plan.tree.joints)
    starts = [[LinkChoice()] * n]
    if "unrotated" in kinds and "shared" in kinds and plan.runs:
        starts.append(usual_choices(plan))
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
