"""Tracking behind the drivers of arms: what a user has today, and the model controller.

    source /opt/ros/jazzy/setup.bash
    python -m benchmark.ros2_control.drivers                        robots of example-robot-data
    python -m benchmark.ros2_control.drivers --descriptions FOLDER  NAME.urdf of each driver
    python -m benchmark.ros2_control.drivers --only openarm --setup FILE --workspace FOLDER

The plants are MuJoCo with the traits of the robots (driver_arms.py). Today: the stock
joint_trajectory_controller, with a PID on efforts, or on positions where the drives close the loop.
The model controller has the parameters of the driver's profile. The table replaces the one in
benchmark/records/drivers.md, or goes to --out.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from rich.console import Console

from benchmark.nodes.processes import SystemFailure, leave_nothing_behind
from benchmark.record import conditions
from benchmark.ros2_control.driver_arms import (
    COULOMB_SHARE,
    DRIVERS_PAGE,
    ROTOR_SHARE,
    VISCOUS_SHARE,
    DriverArm,
    add_drivers,
    driver_arm,
)
from benchmark.ros2_control.system import Controllers, System, system
from benchmark.ros2_control.tracking import (
    CONTROLLER,
    JTC,
    PAST_S,
    TYPE,
    Tracking,
    add_workspace,
    built_workspace,
    evaluated,
    feedback,
    follow,
    model_of,
    spawn_chain,
    trajectory_controller,
    write_model,
)
from benchmark.ros2_control.workspace import Workspace
from benchmark.table import replace_part
from robot_dynamics.export.drivers import driver_named
from robot_dynamics.trajectory import Waypoints

MARK = "benchmark.ros2_control.drivers"

HOLDER = "position_holder"
"""A joint_trajectory_controller that holds positions, for drives that need one."""

FRICTION = 0.01
"""Viscous friction at 1 rad/s and Coulomb friction of robots that add friction, as a share of the
effort limit."""

HEAVIER = 0.1
"""Relative error of the masses of the second plant."""

VARIANTS: Mapping[str, Mapping[str, float]] = {
    "exact": {},
    "10 % light": {"mass_error": HEAVIER},
    "exact, no friction": {"friction": 0.0, "viscous": 0.0},
}
"""Plants by what the model is for them, with what differs."""

APPROACH_S = 4.0
"""Time from the first positions to those at which the motion begins, s."""


def today(run: System, arm: DriverArm) -> None:
    """Activate the stock controller, and one that holds positions where the drives need them."""
    on_positions = trajectory_controller(arm, command_interfaces=["position"])
    if arm.driver.closes_loop:
        controllers = {JTC: on_positions}
    else:
        gains = feedback(arm, run.rate, integral=True)
        controllers = {JTC: trajectory_controller(arm, gains=gains)}
        if "position" in arm.command_interfaces:
            controllers[HOLDER] = on_positions
    run.spawn(Controllers(controllers), list(controllers))


def profiled(run: System, arm: DriverArm) -> None:
    """Activate the model controller with the parameters of the profile."""
    model = str(model_of(run.workspace, arm))
    spawn_chain(run, CONTROLLER, {"type": TYPE, "model": model, **arm.parameters})


CONTROLLED: Mapping[str, Callable[[System, DriverArm], None]] = {
    "stock": today,
    "model": profiled,
}


def approach(run: System, motion: Waypoints) -> None:
    """Move from the first positions of the arm to those of a motion."""
    q = motion.positions[:1]
    run.send(
        f"{JTC}/joint_trajectory",
        Waypoints(motion.joint_names, [APPROACH_S], q, 0.0 * q, 0.0 * q),
        PAST_S,
    )
    run.watch(APPROACH_S)


def measure(workspace: Workspace, arm: DriverArm, seconds: float, controlled: str) -> Tracking:
    """Run one controller.

    Raises:
        SystemFailure: If the robot has stopped by itself.
    """
    folder = Path(tempfile.mkdtemp(prefix=f"{arm.name}_{controlled}_", dir=workspace.folder))
    motion = arm.motion(seconds)
    with system(workspace, arm, arm.driver.rate.value, folder) as run:
        run.start_manager()
        CONTROLLED[controlled](run, arm)
        run.watch(1.0)
        approach(run, motion)
        shares = follow(run, f"{JTC}/joint_trajectory", motion)
        if run.plant_log().between(run.began, np.inf).braked.any():
            raise SystemFailure("the robot has stopped by itself: commands came late")
        return evaluated(run, motion, shares)


def plants(name: str, descriptions: Path | None) -> dict[str, DriverArm]:
    """Return the arms of a driver by variant.

    Drives that close the loop have neither friction nor rotors: the errors are those of the loop.
    """
    if driver_named(name).closes_loop:
        default, variants = {"friction": 0.0}, ["exact", "10 % light"]
    else:
        default = {"friction": FRICTION, "viscous": FRICTION, "rotor": ROTOR_SHARE}
        variants = list(VARIANTS)
    return {
        variant: driver_arm(name, descriptions, **{**default, **VARIANTS[variant]})
        for variant in variants
    }


def row(arm: DriverArm, variant: str, found: Mapping[str, Tracking]) -> str:
    """Return the row of a plant."""
    cells = [f"{1e3 * x.overall:.2f}, {1e3 * x.worst:.1f}" for x in found.values()]
    times = found["stock"].overall / found["model"].overall
    robot = f"{arm.robot.name}, {arm.driver.rate.value:g} Hz"
    return f"| {arm.name} | {robot} | {variant} | {' | '.join(cells)} | {times:.1f} |"


def about(seconds: float, load: str) -> str:
    """Return the conditions of the table."""
    return (
        f"RMS and peak of the position errors of all joints, mrad, in an excitation of {seconds:g} "
        "s, behind a real controller_manager and MuJoCo with the traits of the robots. Friction is "
        f"viscous and Coulomb, each {100 * FRICTION:g} % of the effort limit (at 1 rad/s), of "
        f"which the robot adds {VISCOUS_SHARE:g} and {COULOMB_SHARE:g} while a joint moves; "
        f"rotors have {ROTOR_SHARE:g} kg m^2 per N m of the effort limit, which model and gains of "
        "both controllers know; openarm has neither. No controller knows friction. 10 % light: "
        "all masses of the plant are 10 % larger. Stock: joint_trajectory_controller with a PID on "
        "efforts, gains by the same bandwidth; on positions for openarm. Model controller: the "
        f"parameters of the profile. Measured on {conditions()}, load average {load}; `python -m "
        "benchmark.ros2_control.drivers --descriptions FOLDER` repeats it."
    )


HEADER = [
    "| driver | robot | model | stock | model controller | times less |",
    "| --- | --- | --- | ---: | ---: | ---: |",
]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the drivers and write the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmark.ros2_control.drivers", description=__doc__
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--seconds", type=float, default=10.0, help="duration of the motion")
    parser.add_argument(
        "--out", type=Path, default=DRIVERS_PAGE, help="page with the mark of the table"
    )
    add_drivers(parser)
    add_workspace(parser)
    options = parser.parse_args(arguments)
    leave_nothing_behind()
    console, failed = Console(), False
    rows, loads = [], [os.getloadavg()[0]]
    with ExitStack() as stack:
        workspace = built_workspace(options, stack)
        for name in options.only:
            arms = plants(name, options.descriptions)
            write_model(workspace, arms["exact"])
            for variant, arm in arms.items():
                try:
                    found = {x: measure(workspace, arm, options.seconds, x) for x in CONTROLLED}
                except SystemFailure as failure:
                    console.print(f"{name}, {variant}: not measured: {failure}", markup=False)
                    failed = True
                    continue
                rows.append(row(arm, variant, found))
                console.print(rows[-1], markup=False, highlight=False, soft_wrap=True)
                loads.append(os.getloadavg()[0])
        load = f"{min(loads):.0f} to {max(loads):.0f}"
        replace_part(options.out, MARK, [about(options.seconds, load), "", *HEADER, *rows])
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
