"""Time inverse kinematics beside the peers that are installed, and write a page.

python -m benchmark.kinematics
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from benchmark.kernels.timing import Call, best_times
from benchmark.kinematics.ik_contenders import (
    ALL_SOLUTIONS,
    SEARCHES,
    IkProblem,
    skew_shoulder_arm,
)
from benchmark.kinematics.running_times import running_times
from benchmark.machine import installed
from benchmark.progress_bar import spinner
from benchmark.record import RECORDS, conditions
from benchmark.table import Table
from robot_dynamics.kinematics import InverseKinematics
from robot_dynamics.papers.paper_arms import lee_puma
from robot_dynamics.robot.denavit_hartenberg import TOOL

PAGE = RECORDS / "kinematics.md"
BATCH = 8192
POSES = 1000
PACKAGES = ("numpy", "llvmlite", "EAIK", "ssik", "pytracik", "roboticstoolbox-python", "pin")


def all_solutions(turns: int) -> Table:
    """Every solution of a pose that has eight, and of many."""
    problems = [
        with_all_branches_first(problem)
        for problem in (
            IkProblem.named("UR5", "ur5", "tool0", BATCH),
            IkProblem.of("six-joint PUMA", lee_puma(), TOOL, "", BATCH),
            IkProblem.of("skew shoulder", skew_shoulder_arm(), TOOL, "", BATCH),
        )
    ]
    columns: list[dict[str, str]] = []
    for problem in problems:
        pose = problem.R[0].copy(), problem.p[0].copy()
        poses = {
            "one pose": pose,
            "one pose of fewest branches": (problem.R[-1].copy(), problem.p[-1].copy()),
            "one pose with axes in line": problem.with_zero(5),
            "one pose with joints 3 and 5 at zero": problem.with_zero(3, 5),
            "one pose out of reach": (pose[0], 5.0 + pose[1]),
            "one pose of six digits": (np.round(pose[0], 6), pose[1]),
        }
        calls: dict[str, Call] = {}
        for name, make in ALL_SOLUTIONS.items():
            try:
                solve = make(problem)
                solve["one"](*pose)()
            except (ImportError, ValueError):  # not installed, or does not take the arm
                continue
            for kind in list(poses)[: 1 if name == "ssik" else None]:
                calls[f"{name}, {kind}"] = Call(solve["one"](*poses[kind]), ())
            if "many" in solve:
                arguments = problem.R, problem.p
                many = Call(solve["many"], arguments, evaluations=BATCH)
                calls[f"{name}, a pose of {BATCH}"] = many
        times = best_times(calls, turns=turns, duration=0.05, clock=time.process_time)
        columns.append(
            {
                name: _written(time, times.get(f"EAIK,{name.partition(',')[2]}"))
                for name, time in times.items()
            }
        )
    rows = [
        [name, *(column.get(name, "-") for column in columns)]
        for name in dict.fromkeys(name for column in columns for name in column)
    ]
    return Table(
        "All solutions in closed form",
        "One thread; in brackets as a part of EAIK's time. The pose has eight solutions; that of "
        "the fewest branches 2 for the UR5, 8 for the PUMA and 4 for the third arm, which has a "
        "spherical wrist behind three axes that neither meet nor are parallel: a quartic. A joint "
        "is free where axes of the wrist are in line, as with joint 5 at zero; with joint 3 there "
        "too, the UR5 is stretched as well. The text about it, or about why a pose is out of "
        "reach, is found when it is read, and not timed.",
        ["µs per pose", *(problem.title for problem in problems)],
        rows,
    )


def with_all_branches_first(problem: IkProblem) -> IkProblem:
    """The problem with the poses of most branches in front, and those of fewest at the end."""
    valid = InverseKinematics(problem.robot, problem.frame)(problem.R, problem.p).valid
    order = np.argsort(-valid.sum(axis=1), kind="stable")
    arrays = (np.ascontiguousarray(x[order]) for x in (problem.q, problem.R, problem.p))
    return IkProblem(problem.title, problem.robot, problem.frame, problem.urdf, *arrays)


def searches(turns: int, poses: int = POSES) -> Table:
    """One solution within the limits, searched."""
    timed = poses // 10
    problems = [
        IkProblem.named("Panda", "panda", "panda_hand", poses),
        IkProblem.named("Kinova j2s6s200", "kinova", "j2s6s200_end_effector", poses),
        IkProblem.named("TIAGo's torso and arm", "tiago_no_hand", "arm_tool_link", poses),
    ]
    columns: list[dict[str, str]] = []
    for problem in problems:
        calls: dict[str, Call] = {}
        found: dict[str, float] = {}
        for name, make in SEARCHES.items():
            if name.startswith("roboticstoolbox") and not all(problem.chain.rotates):
                continue  # its elementary transforms are written for revolute joints here
            try:
                solve = make(problem)
            except ImportError:
                continue
            slow = name == "pin, loop in Python"
            count, few = (timed, max(1, timed // 10)) if slow else (poses, timed)
            results = [solve(problem.R[k], problem.p[k]) for k in range(count)]
            found[name] = sum(problem.reached(k, q) for k, q in enumerate(results)) / count
            calls[name] = Call(_each(solve, few), (problem,), evaluations=few)
        ik = InverseKinematics(problem.robot, problem.frame, solver="numeric")
        together = f"robot_dynamics, a pose of {poses}"
        found[together] = float(ik(problem.R, problem.p).valid.mean())
        calls[together] = Call(ik, (problem.R, problem.p), evaluations=poses)
        times = best_times(calls, turns=turns, duration=0.05, clock=time.process_time)
        columns.append({name: f"{1e6 * times[name]:.0f}, {found[name]:.1%}" for name in calls})
    names = dict.fromkeys(name for column in columns for name in column)
    return Table(
        "One solution, searched",
        f"µs per pose on average, and how many of {poses} random reachable poses are found within "
        f"the limits (of {timed} by the loop). pytracik gives up after 5 ms of the clock, and so "
        "finds less where other programs run beside it.",
        ["µs per pose, found", *(problem.title for problem in problems)],
        [[name, *(column.get(name, "-") for column in columns)] for name in names],
    )


def _each(solve: Any, count: int) -> Any:
    def every(problem: IkProblem) -> None:
        for k in range(count):
            solve(problem.R[k], problem.p[k])

    return every


def _written(time: float, peer: float | None) -> str:
    part = f" ({time / peer:.3g})" if peer else ""
    return f"{1e6 * time:.3g}{part}"


def page(turns: int, poses: int = POSES) -> str:
    """The page benchmark/records/kinematics.md."""
    about = f"- {conditions()}\n- {', '.join(installed(PACKAGES))}\n"
    introduction = (
        "# Inverse kinematics beside its peers\n\n"
        "Generated by `python -m benchmark.kinematics`; do not edit. Times of different runs or\n"
        "machines cannot be compared; ratios within a run can. Peers that are not installed\n"
        "(the extra `bench` has all but roboticstoolbox-python) are left out. All times are those\n"
        "of the processor, all threads together: other programs cost caches alone.\n\n"
    )
    parts = (all_solutions(turns), searches(turns, poses), running_times(turns))
    tables = [table.markdown() for table in parts]
    return introduction + about + "\n" + "\n\n".join(tables) + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmark.kinematics")
    parser.add_argument("--output", type=Path, default=PAGE, help="file to write")
    parser.add_argument("--turns", type=int, default=7, help="turns of every contender")
    parser.add_argument("--poses", type=int, default=POSES, help="poses that are searched for")
    chosen = parser.parse_args(arguments)
    console = Console()
    with spinner(console) as tell:
        tell("inverse kinematics")
        text = page(chosen.turns, chosen.poses)
    chosen.output.write_text(text, encoding="utf-8")
    console.print(f"wrote {chosen.output}")


if __name__ == "__main__":
    main()
