"""Rehearse the first day on a real arm in simulation: hold, a motion, a stop, a killed node.

    robot-dynamics rehearse arm.urdf --config first_day.yaml --motion mine.csv

    robot-dynamics rehearse arm.urdf --faults 2000

With `--faults` the compiled controller meets random faults of states and references on simulated
arms, one in each scenario, without ROS; see `simulation.fault_sweep`.

The nodes run in processes of their own, as on a robot. The simulated robot is 10 % heavier than its
model. In the last step feedforward_node is killed in motion, and the controller brings the arm to
rest. The status is 1 if a step fails.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from subprocess import Popen

from robot_dynamics.cli.arguments import add_robot, load_robot, percentage, positive, ros_needed
from robot_dynamics.cli.output import add_json, plain_table, print_json, wide_console
from robot_dynamics.cli.progress import stages
from robot_dynamics.cli.subprocesses import node_subprocess
from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.trajectory.trajectory_files import read_trajectory

APPROACH_S = 5.0
"""Time to the first point of the motion, s."""

PRIORITY = 20
"""Real-time priority of the nodes, where the system allows it."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command line of the verb."""
    add_robot(parser)
    parser.add_argument("--motion", metavar="FILE", help="trajectory, .csv or .yaml")
    parser.add_argument(
        "--faults", type=int, metavar="N", help="scenarios with random faults, without ROS"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of --faults (default: 0)")
    parser.add_argument("--config", metavar="FILE", help="parameter file of the nodes")
    parser.add_argument("--rate", type=positive, help="rate of all nodes, Hz (default: the file's)")
    parser.add_argument(
        "--mass-error",
        type=percentage,
        default=10.0,
        metavar="PERCENT",
        help="mass of the simulated links beyond that of the model (default: 10)",
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the rehearsal.

    Raises:
        RobotDynamicsError: If there is no rclpy, or a node does not start.
    """
    if (arguments.motion is None) == (arguments.faults is None):
        raise ArgumentError("give --motion FILE, or --faults N")
    if arguments.seed < 0 or (arguments.faults is not None and arguments.faults < 1):
        raise ArgumentError("--faults takes 1 or more, --seed 0 or more")
    if arguments.faults is not None:
        return sweep_faults(arguments)
    with ros_needed():
        from robot_dynamics.nodes.rehearsal import observer  # noqa: PLC0415
        from robot_dynamics.nodes.ros.parameter_files import check_config  # noqa: PLC0415
    console = wide_console(stderr=arguments.json)
    robot = load_robot(arguments.robot)
    waypoints = read_trajectory(arguments.motion, robot.joint_names)
    given = []
    if arguments.config:
        if not Path(arguments.config).is_file():
            raise ArgumentError(f"--config {arguments.config}: no such file; give a parameter file")
        check_config("--config ", arguments.config)
        given = ["--params-file", arguments.config]
    common = {"urdf_path": arguments.robot}
    paced = {"realtime_priority": PRIORITY} | ({"rate": arguments.rate} if arguments.rate else {})
    factor = 1.0 + arguments.mass_error / 100.0
    own = {
        "simulator_node": {"mass_factor": factor},
        "feedforward_node": {},
        "controller_node": {},
        "trajectory_node": {
            "motion": "file", "file": arguments.motion, "wait": True, "approach": APPROACH_S,
        },
    }  # fmt: skip
    with ExitStack() as stack:
        arm = stack.enter_context(observer(robot))
        log = stack.enter_context(tempfile.NamedTemporaryFile(suffix=".log"))
        info = ["--log-level", "info"]

        def start(node: str, arguments: list[str], **parameters: object) -> Popen[bytes]:
            values = {**common, **({} if node == "trajectory_node" else paced), **parameters}
            return stack.enter_context(
                node_subprocess(node, arm.domain, arguments=arguments, log=log.file, **values)
            )

        console.print(f"{robot.name}, {robot.dof} joints, {factor:g} of its masses: hold")
        started = {node: start(node, [*info, *given], **own[node]) for node in own}

        def text() -> str:
            return Path(log.name).read_text(encoding="utf-8", errors="replace")

        try:
            arm.wait(lambda: arm.commanded, "command of controller_node")
            steps = [arm.step("hold", lambda: None, seconds=1.0)]
            moving, half = APPROACH_S + waypoints.duration, APPROACH_S + 0.3 * waypoints.duration
            console.print(f"the motion, {moving:.1f} s, three times: whole, stopped, killed")

            def send() -> None:
                arm.call("trajectory_node/send", None)

            goal = waypoints.positions[-1]
            columns = [waypoints.joint_names.index(name) for name in robot.joint_names]
            steps.append(arm.step("motion", send, ends_at=goal[columns], seconds=moving + 1.0))

            def stop() -> None:
                send()
                arm.pause(half)
                arm.stop()

            steps.append(arm.step("stop in motion", stop, seconds=3.0))

            def kill() -> None:
                send()
                arm.pause(half)
                started["feedforward_node"].kill()

            steps.append(arm.step("kill -9 of feedforward_node in motion", kill, seconds=2.0))
        except RobotDynamicsError as error:
            raise RobotDynamicsError(f"{error}\n{text()[-3000:]}") from None
    if arguments.json:
        print_json({"robot": robot.name, "steps": [asdict(step) for step in steps]})
    headings = ["speed\nrad/s, m/s", "error\nrad, m", "drift\nrad, m", "silence\nms"]
    table = plain_table("rehearsal, largest values of any joint", ["step", "verdict"], headings)
    for step in steps:
        numbers = f"{step.speed:.3f}", f"{step.error:.4f}", f"{step.drift:.4f}"
        table.add_row(step.name, step.fault or "ok", *numbers, f"{1e3 * step.silence:.0f}")
    console.print(table)
    return int(any(step.fault for step in steps))


def sweep_faults(arguments: argparse.Namespace) -> int:
    """Print what the controller does under random faults; the status is 1 if a number overflows."""
    from robot_dynamics.simulation.fault_sweep import (  # noqa: PLC0415  # compiles
        ALLOWED,
        RATES,
        FaultSweep,
        rows,
    )

    console = wide_console(stderr=arguments.json)
    robot = load_robot(arguments.robot)
    rates: Sequence[float] = RATES
    if arguments.rate:
        rates = (arguments.rate,)
    sweep, outcomes, done = FaultSweep(robot), [], 0
    with stages() as progress:
        progress("compiling", 0.0)
        threads = os.cpu_count() or 1
        for outcome in sweep.batches(arguments.faults, arguments.seed, rates, threads=threads):
            outcomes.append(outcome)
            done += len(outcome.kind)
            progress("sweeping", min(done / arguments.faults, 1.0))
    found = rows(outcomes)
    if arguments.json:
        print_json({"robot": robot.name, "faults": [asdict(row) for row in found]})
    headings = ["scenarios", "worst speed\nbeyond planned", f"above {ALLOWED:g}", "effort rate"]
    table = plain_table(
        f"{robot.name}: speeds beyond the planned ones over the speed limits, effort rates over "
        "their limits",
        ["fault", "at the end", "worst batch"],
        headings,
    )
    for row in found:
        ends = ", ".join(f"{share:.0%} {status}" for status, share in row.ends.items())
        numbers = f"{row.worst:.2f}", f"{row.beyond:.1%}", f"{row.step:.2f}"
        seed, rate = row.seed
        table.add_row(row.kind, ends, f"seed {seed}, {rate:g} Hz", str(row.count), *numbers)
    console.print(table)
    return int(not all(row.finite for row in found))
