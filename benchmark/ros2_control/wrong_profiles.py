"""Profiles that do not fit the robot: what the controller says, and how fast the arm moves.

    source /opt/ros/jazzy/setup.bash
    python -m benchmark.ros2_control.wrong_profiles [--descriptions FOLDER] [--only CASE]

The plants are those of `benchmark.ros2_control.drivers`. The table replaces the one in
benchmark/records/drivers.md, or goes to --out.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from rcl_interfaces.srv import SetParameters
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from rich.console import Console

from benchmark.faults.poses import STEEPEST
from benchmark.faults.runs import words
from benchmark.nodes.processes import SystemFailure, leave_nothing_behind, wait_until
from benchmark.ros2_control.driver_arms import DRIVERS_PAGE, DriverArm
from benchmark.ros2_control.drivers import APPROACH_S, approach, plants
from benchmark.ros2_control.system import MANAGER, System, system
from benchmark.ros2_control.tracking import (
    CONTROLLER,
    JTC,
    PAST_S,
    TYPE,
    add_workspace,
    built_workspace,
    evaluated,
    model_of,
    spawn_chain,
    write_model,
)
from benchmark.ros2_control.workspace import Workspace
from benchmark.table import replace_part
from robot_dynamics import Dynamics
from robot_dynamics.cli.verbs.rehearse import flat
from robot_dynamics.control import Friction
from robot_dynamics.control.configuration import Defaults
from robot_dynamics.control.configured_step import ConfiguredStep, parameter_vector
from robot_dynamics.control.gains import DEFAULT_BANDWIDTH
from robot_dynamics.errors import ArgumentError
from robot_dynamics.trajectory import Waypoints

MARK = "benchmark.ros2_control.wrong_profiles"

MOTION_S, LET_GO_S = 10.0, 2.0
"""Duration of the motion, and time after its begin at which the arm is let go, s."""


@dataclass(frozen=True)
class Wrong:
    """A wrong profile.

    Attributes:
        driver: Of the plant.
        parameters: Of the model controller, in place of those of the profile.
        knows_friction: Whether the model has the friction of the plant.
        lets_go: Whether the mode becomes gravity_compensation in motion.
    """

    driver: str
    parameters: dict[str, Any]
    knows_friction: bool = False
    lets_go: bool = False


CASES = {
    "gravity twice": Wrong("ur", {"compensate_gravity": True}),
    "gravity twice, the arm floats": Wrong(
        "ur", {"compensate_gravity": True, "mode": "gravity_compensation"}
    ),
    "friction twice": Wrong("ur", {"compensate_friction": True}, knows_friction=True),
    "friction twice, the arm is let go in motion": Wrong(
        "ur", {"compensate_friction": True}, knows_friction=True, lets_go=True
    ),
    "effort alone": Wrong("openarm", {"command_interfaces": ["effort"], "feedback": "controller"}),
}


@dataclass(frozen=True)
class Outcome:
    """What a wrong profile did.

    Attributes:
        verdict: What a model that was exported for the driver says when it is configured.
        says: Sentence of the controller.
        ends: Its last status.
        speed: Largest speed, rad/s.
        planned: Largest speed of the motion, rad/s.
        final: Largest speed at the end, rad/s.
        error: Largest position error in motion, rad.
    """

    verdict: str = ""
    says: str = ""
    ends: str = ""
    speed: float = 0.0
    planned: float = 0.0
    final: float = 0.0
    error: float = 0.0


def verdict(arm: DriverArm, parameters: Mapping[str, Any]) -> str:
    """Return what a model that was exported for the driver says of parameters, or nothing."""
    known = Friction.of(arm.robot), np.zeros(arm.robot.dof), DEFAULT_BANDWIDTH, arm.driver.added
    configured = ConfiguredStep(Defaults(Dynamics(arm.robot), None, None, None, *known))
    layout = configured.configuration.parameters
    own = flat({name: x for name, x in parameters.items() if name != "limits"})
    vector, _ = parameter_vector(layout, arm.robot.joint_names, own)
    for name in ("viscous", "coulomb"):  # as identified
        layout.views(vector)[f"friction.{name}"][:] = 1.0
    try:
        configured.check(vector)
    except ArgumentError as error:
        return f"refuses: {error}"
    return configured.noticed(vector)


def let_go(run: System) -> None:
    """Switch the controller to gravity compensation.

    Raises:
        SystemFailure: If it refuses.
    """
    service = f"/{CONTROLLER}/set_parameters"
    client = run.node.create_client(SetParameters, service)
    wait_until(client.service_is_ready, service, 20.0)
    mode = Parameter("mode", value="gravity_compensation").to_parameter_msg()
    future = client.call_async(SetParameters.Request(parameters=[mode]))
    executor = SingleThreadedExecutor(context=run.context)
    executor.add_node(run.node)
    executor.spin_until_future_complete(future, 20.0)
    executor.remove_node(run.node)
    if not (future.done() and future.result().results[0].successful):
        raise SystemFailure(f"{service} did not set the mode")


def outcome(workspace: Workspace, wrong: Wrong, descriptions: Path | None) -> Outcome:
    """Run one case."""
    arm = plants(wrong.driver, descriptions)["exact"]
    if wrong.knows_friction:
        arm = replace(arm, model=arm.nominal(arm.friction))
    write_model(workspace, arm)
    motion = arm.motion(MOTION_S)
    parameters = {**arm.parameters, **wrong.parameters}
    said = verdict(arm, parameters)
    folder = Path(tempfile.mkdtemp(prefix=f"wrong_{arm.name}_", dir=workspace.folder))
    with system(workspace, arm, arm.driver.rate.value, folder) as run:
        run.start_manager()
        model = str(model_of(workspace, arm))
        try:
            spawn_chain(run, CONTROLLER, {"type": TYPE, "model": model, **parameters})
        except SystemFailure as failure:
            return Outcome(said, str(failure).partition("\n")[0])
        moment = time.time()
        run.watch(1.0)
        approach(run, motion)
        run.send(f"{JTC}/joint_trajectory", motion, PAST_S)
        if wrong.lets_go:
            run.watch(LET_GO_S)
            let_go(run)
        run.watch(motion.duration)
        log, error = run.plant_log(), evaluated(run, motion, {}).worst
        says, ends = words(run.programs[MANAGER].log, moment, CONTROLLER)
    planned = largest_speed(arm, motion)
    final = log.between(log.t[-1] - 0.2, np.inf).peak_speed
    return Outcome(said, says, ends, log.peak_speed, planned, final, error)


def largest_speed(arm: DriverArm, motion: Waypoints) -> float:
    """Return the largest speed of a motion and of the approach to it, rad/s."""
    approached = STEEPEST * np.abs(motion.positions[0] - arm.start).max() / APPROACH_S
    return float(max(np.abs(motion.velocities).max(), approached))


def row(case: str, found: Outcome) -> str:
    """Return the row of a case."""
    said = (found.verdict or "accepts", found.says, found.ends)
    speeds = (found.speed, found.planned, found.final, found.error)
    cells = [case, *(x.replace("|", "/") for x in said), *(f"{x:.2f}" for x in speeds)]
    return f"| {' | '.join(cells)} |"


ABOUT = (
    "Behind a real controller_manager and MuJoCo. A model of `export model` for the driver knows "
    "what counts twice; the runs are with a model that does not. Speeds in rad/s: the largest "
    "one, that of the motion, and the last one; largest position error, rad. `python -m "
    "benchmark.ros2_control.wrong_profiles --descriptions FOLDER` repeats it."
)
HEADER = [
    "| profile | driver's model | controller says | status | fastest | planned | last | error |",
    "| --- | --- | --- | --- | ---: | ---: | ---: | ---: |",
]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the cases and write the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmark.ros2_control.wrong_profiles", description=__doc__
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--only", nargs="+", choices=CASES, default=list(CASES), metavar="CASE")
    parser.add_argument("--descriptions", type=Path, help="folder with NAME.urdf of each driver")
    parser.add_argument(
        "--out", type=Path, default=DRIVERS_PAGE, help="page with the mark of the table"
    )
    add_workspace(parser)
    options = parser.parse_args(arguments)
    leave_nothing_behind()
    console, rows = Console(), []
    with ExitStack() as stack:
        workspace = built_workspace(options, stack)
        for case in options.only:
            rows.append(row(case, outcome(workspace, CASES[case], options.descriptions)))
            console.print(rows[-1], markup=False, highlight=False, soft_wrap=True)
    replace_part(options.out, MARK, [ABOUT, "", *HEADER, *rows])
    return 0


if __name__ == "__main__":
    sys.exit(main())
