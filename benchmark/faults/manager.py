"""Let a real controller_manager meet the faults of `python -m benchmark.faults`.

    source /opt/ros/jazzy/setup.bash
    python -m benchmark.faults.manager                      three arms, three rates: twenty minutes
    python -m benchmark.faults.manager --rates 250 --robots ur5 --only late brakes
    python -m benchmark.faults.manager --setup FILE --workspace FOLDER
    python -m benchmark.faults.manager --drivers openarm    behind a driver (ros2_control.drivers)

ros2_control_node runs the model controller, behind the stock joint_trajectory_controller or alone.
Its hardware component is MuJoCo with joints in reversed order, noisy velocities, and friction that
no URDF names; the drives keep the last command. The table replaces that of
benchmark/records/faults.md, with --drivers that of benchmark/records/drivers.md, or goes to --out.
Exit status 1 if a bound was exceeded.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console

from benchmark.faults.managed_arm import ManagedArm
from benchmark.faults.managed_page import MANAGER, exceeded, manager_table
from benchmark.faults.managed_runs import FAULTS, measured
from benchmark.faults.page import PAGE
from benchmark.faults.poses import POSES
from benchmark.faults.runs import Case, Result
from benchmark.nodes.processes import LOCAL, leave_nothing_behind
from benchmark.progress_bar import progress_bar, step
from benchmark.ros2_control.driver_arms import DRIVERS_PAGE, add_drivers, driver_arm
from benchmark.ros2_control.tracking import add_workspace, built_workspace, write_model
from benchmark.ros2_control.workspace import Workspace
from benchmark.table import replace_part
from robot_dynamics.export.drivers import driver_named

RATES = (100.0, 250.0, 1000.0)


def in_own_process(case: Case, arm: ManagedArm, workspace: Workspace, keep: Path | None) -> Result:
    """Return the result of a run in a process that ends with it, as do its ROS domain and nodes."""
    context = multiprocessing.get_context("forkserver")
    with ProcessPoolExecutor(1, mp_context=context) as process:
        try:
            return process.submit(measured, case, arm, workspace, keep).result()
        except BrokenProcessPool:
            return Result(failure="the sender crashed")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the cases and write the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmark.faults.manager", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--rates", type=float, nargs="+", default=RATES, help="Hz")
    parser.add_argument("--robots", nargs="+", choices=POSES, default=list(POSES))
    add_drivers(parser, "--drivers", ())
    parser.add_argument("--only", nargs="+", choices=FAULTS, default=FAULTS, metavar="FAULT")
    parser.add_argument("--out", type=Path, help="page with the mark of the table")
    parser.add_argument("--keep", type=Path, help="folder for the logs of all runs")
    add_workspace(parser)
    options = parser.parse_args(arguments)
    leave_nothing_behind()
    os.environ.setdefault(LOCAL, "LOCALHOST")
    if options.drivers:
        arms: list[ManagedArm] = [driver_arm(x, options.descriptions) for x in options.drivers]
        rates = {name: [driver_named(name).rate.value] for name in options.drivers}
    else:
        arms = [ManagedArm(robot) for robot in options.robots]
        rates = dict.fromkeys(options.robots, options.rates)
    page = options.out or (DRIVERS_PAGE if options.drivers else PAGE)
    cases = {
        Case(arm.name, rate, fault): arm
        for arm in arms
        for rate in rates[arm.name]
        for fault in options.only
    }
    found: dict[Case, Result] = {}
    loads, console = [os.getloadavg()[0]], Console()
    with ExitStack() as stack:
        workspace = built_workspace(options, stack)
        for arm in arms:
            write_model(workspace, arm)
        with progress_bar(console) as bar, step(bar, "faults", len(cases)) as advance:
            for case, arm in cases.items():
                found[case] = in_own_process(case, arm, workspace, options.keep)
                loads.append(os.getloadavg()[0])
                load = f"{min(loads):.0f} to {max(loads):.0f}"
                replace_part(page, MANAGER, manager_table(found, load))
                bar.console.print(f"{case}: {found[case]}", markup=False, highlight=False)
                advance()
    wrong = [f"{case}: {result}" for case, result in found.items() if exceeded(result)]
    for line in wrong:
        console.print(f"beyond its bound: {line}", markup=False, highlight=False)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
