"""Rehearse the first day on a real arm in simulation: hold, a motion, a stop, a killed node.

    robot-dynamics rehearse arm.urdf --config first_day.yaml --motion mine.csv

    robot-dynamics rehearse arm.urdf --faults 100000 --config first_day.yaml
    robot-dynamics rehearse arm.urdf --scenario 3:500:17 --record run.mcap

With `--faults` the compiled controller meets random faults of states and references on simulated
arms, one in each scenario, without ROS; see `simulation.fault_sweep`. `--scenario` repeats one of
them, and `--record` keeps it for `robot-dynamics replay`.

The nodes run in processes of their own, as on a robot. The simulated robot is 10 % heavier than its
model. In the last step feedforward_node is killed in motion, and the controller brings the arm to
rest. A step fails if the arm races, drifts, does not rest or arrive, is off its reference by a
quarter of the tracking error that would stop it, or gets no command for 0.1 s; the verdict says if
the machine was too slow. The status is 1 if a step fails.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from subprocess import Popen
from typing import TYPE_CHECKING, Any

from robot_dynamics.cli.arguments import (
    add_robot,
    load_robot,
    percentage,
    positive,
    ros_needed,
    text_of_robot,
)
from robot_dynamics.cli.chosen_joints import add_lock, robot_of, still_joints
from robot_dynamics.cli.output import Printer, add_json, print_json
from robot_dynamics.cli.progress_line import stages
from robot_dynamics.cli.subprocesses import node_subprocess
from robot_dynamics.control import Model
from robot_dynamics.control.gains import DEFAULT_BANDWIDTH, ideal_gains
from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.export.controllers_config import CONTROLLER
from robot_dynamics.export.drivers import recognized
from robot_dynamics.foundation.nested_parameters import ANY_NODE, by_node
from robot_dynamics.foundation.numbers import counted
from robot_dynamics.foundation.text_tables import TextTable
from robot_dynamics.foundation.user_files import number, read_yaml
from robot_dynamics.robot.catalogue import located
from robot_dynamics.robot.urdf.ros2_control import read_hardware
from robot_dynamics.trajectory.trajectory_files import read_trajectory

if TYPE_CHECKING:
    from robot_dynamics.simulation.fault_sweep import FaultRow, FaultSweep

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
    parser.add_argument(
        "--scenario",
        type=scenario,
        metavar="SEED:RATE:NUMBER",
        help="one scenario of --faults, as its table names it",
    )
    parser.add_argument(
        "--noise",
        type=positive,
        default=0.0,
        help="standard deviation of the measured velocities of --faults, rad/s or m/s (default: 0)",
    )
    add_lock(parser, "joints that stand still, of --faults")
    parser.add_argument("--record", type=Path, metavar="FILE", help="write --scenario to a .mcap")
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
    tasks = (arguments.motion, arguments.faults, arguments.scenario)
    if sum(task is not None for task in tasks) != 1:
        raise ArgumentError("give --motion FILE, --faults N, or --scenario SEED:RATE:NUMBER")
    if arguments.record is not None and arguments.scenario is None:
        raise ArgumentError("--record writes one scenario; choose it with --scenario")
    if arguments.seed < 0 or (arguments.faults is not None and arguments.faults < 1):
        raise ArgumentError("--faults takes 1 or more, --seed 0 or more")
    if arguments.motion is None:
        return sweep_faults(arguments)
    with ros_needed():
        from robot_dynamics.nodes.rehearsal import observer  # noqa: PLC0415
        from robot_dynamics.nodes.ros.parameter_files import check_config  # noqa: PLC0415
    show = Printer(stderr=arguments.json)
    robot = robot_of(arguments)
    waypoints = read_trajectory(
        arguments.motion, robot.joint_names, followers=robot.followers, speeds=robot.limits.velocity
    )
    given = []
    if arguments.config:
        if not Path(arguments.config).is_file():
            raise ArgumentError(f"--config {arguments.config}: no such file; give a parameter file")
        check_config("--config ", arguments.config)
        given = ["--params-file", arguments.config]
    common = {"urdf_path": arguments.robot, "joints": list(robot.joint_names)}
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
        started: dict[str, Popen[bytes]] = {}

        def pids() -> list[int]:
            return [os.getpid(), *(process.pid for process in started.values())]

        arm = stack.enter_context(observer(robot, pids))
        log = stack.enter_context(tempfile.NamedTemporaryFile(suffix=".log"))
        info = ["--log-level", "info"]

        def start(node: str, arguments: list[str], **parameters: object) -> Popen[bytes]:
            values = {**common, **({} if node == "trajectory_node" else paced), **parameters}
            return stack.enter_context(
                node_subprocess(node, arm.domain, arguments=arguments, log=log.file, **values)
            )

        show(f"{robot.name}, {counted(robot.dof, 'joint')}, {factor:g} of its masses: hold")
        started |= {node: start(node, [*info, *given], **own[node]) for node in own}

        def text() -> str:
            return Path(log.name).read_text(encoding="utf-8", errors="replace")

        try:
            arm.wait(lambda: arm.commanded, "command of controller_node")
            steps = [arm.step("hold", lambda: None, seconds=1.0)]
            moving, half = APPROACH_S + waypoints.duration, APPROACH_S + 0.3 * waypoints.duration
            show(f"the motion, {moving:.1f} s, three times: whole, stopped, killed")

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
    headings = ["speed rad/s, m/s", "error rad, m", "drift rad, m", "silence ms", "waited ms"]
    table = TextTable("rehearsal, largest values of any joint", ["step", "verdict"], headings)
    for step in steps:
        numbers = f"{step.speed:.3f}", f"{step.error:.4f}", f"{step.drift:.4f}"
        times = f"{1e3 * step.silence:.0f}", f"{1e3 * step.waited:.0f}"
        table.add_row(step.name, "failed" if step.fault else "ok", *numbers, *times)
    show(table)
    failed = [f"{step.name}: {step.fault}" for step in steps if step.fault]
    show(*failed or [f"all {len(steps)} steps passed: the arm held, arrived and came to rest"])
    return int(bool(failed))


def scenario(text: str) -> tuple[int, float, int]:
    """Parse seed, rate and number of a scenario, for argparse."""
    try:
        seed, rate, number = text.split(":")
        found = int(seed), float(rate), int(number)
    except ValueError:
        found = (-1, 0.0, 0)
    if found[0] < 0 or not 1.0 <= found[1] <= 1e5:
        raise argparse.ArgumentTypeError(f"'{text}' is not SEED:RATE:NUMBER, such as 3:500:17")
    return found


def sweep_faults(arguments: argparse.Namespace) -> int:
    """Print what the controller does under random faults; the status is 1 if a number overflows."""
    from robot_dynamics.simulation.fault_sweep import RATES, FaultSweep, rows  # noqa: PLC0415

    show = Printer(stderr=arguments.json)
    whole = load_robot(arguments.robot)
    still = still_joints(arguments, whole)
    robot = whole.with_locked(still)
    values = {} if arguments.config is None else controller_values(arguments.config)
    own_rate = values.pop("rate", None)
    driver = recognized(read_hardware(located(arguments.robot)))
    added = () if driver is None else driver.added
    try:
        with stages() as progress:
            progress("compiling", 0.0)
            sweep = FaultSweep(robot, values, noise=arguments.noise, added=added)
            if sweep.unused:
                show(f"not swept: {', '.join(sweep.unused)}")
            if arguments.scenario is not None:
                return replay_fault(sweep, arguments, show, still)
            rates: Sequence[float] = RATES
            if given := arguments.rate or own_rate:
                rates = (number("rate", given, ArgumentError),)
            outcomes, done, threads = [], 0, os.cpu_count() or 1
            for outcome in sweep.batches(arguments.faults, arguments.seed, rates, threads=threads):
                outcomes.append(outcome)
                done += len(outcome.kind)
                progress("sweeping", min(done / arguments.faults, 1.0))
    except ArgumentError as error:
        where = f"--config {arguments.config}: " if arguments.config else ""
        raise ArgumentError(f"{where}{error}") from None
    found = rows(outcomes)
    if arguments.json:
        print_json({"robot": robot.name, "faults": [asdict(row) for row in found]})
    show(fault_table(robot.name, found), fault_remark(found))
    return int(not all(row.finite for row in found))


def fault_remark(found: Sequence[FaultRow]) -> str:
    """Return the result in a sentence: the fastest scenario, and how to look at it."""
    worst = max(found, key=lambda row: (not row.finite, row.worst))
    seed, rate, number = worst.scenario
    most = f"exceed the planned speed by {worst.worst:.0%} of the limit"
    scenarios = counted(sum(row.count for row in found), "scenario")
    return (
        f"{scenarios}: joints {most if worst.finite else 'diverge'}"
        f", at worst by '{worst.kind}'; --scenario {seed}:{rate:g}:{number} repeats it"
    )


def fault_table(name: str, found: Sequence[FaultRow]) -> TextTable:
    """Return the table of a sweep."""
    from robot_dynamics.simulation.fault_sweep import ALLOWED  # noqa: PLC0415  # compiles

    headings = [
        "scenarios",
        "worst speed beyond planned",
        f"above {ALLOWED:g}",
        "outside the motion rad, m",
        "effort rate",
    ]
    table = TextTable(
        f"{name}: speeds beyond the planned ones over the speed limits, effort rates over "
        "their limits",
        ["fault", "at the end", "worst scenario"],
        headings,
    )
    for row in found:
        ends = ", ".join(f"{share:.0%} {status}" for status, share in row.ends.items())
        speed = f"{round(row.worst, 2) + 0.0:.2f}", f"{row.beyond:.1%}"
        numbers = *speed, f"{row.outside:.2f}", f"{row.step:.2f}"
        seed, rate, number = row.scenario
        table.add_row(row.kind, ends, f"{seed}:{rate:g}:{number}", str(row.count), *numbers)
    return table


def replay_fault(
    sweep: FaultSweep, arguments: argparse.Namespace, show: Printer, still: Mapping[str, float]
) -> int:
    """Print what happens in one scenario, and record it with the joints that stand still."""
    again = sweep.replay(*arguments.scenario)
    fastest = abs(again.log.qd).max(axis=0)
    show(f"{again.kind}, from {again.begins:.3f} s to {again.ends:.3f} s")
    for at, words in again.events:
        show(f"{at:8.3f} s  {words}")
    planned = abs(again.log.qd_d).max(axis=0)
    for name, speed, wanted in zip(again.log.joint_names, fastest, planned, strict=True):
        show(f"{name}: {speed:.3f} at most, {wanted:.3f} planned")
    if arguments.json:
        speeds = dict(zip(again.log.joint_names, fastest.tolist(), strict=True))
        print_json({"kind": again.kind, "events": again.events, "speeds": speeds})
    if arguments.record is not None:
        from robot_dynamics.viewer.simulated_runs import write_runs  # noqa: PLC0415  # mcap

        gains = ideal_gains(sweep.dynamics, DEFAULT_BANDWIDTH)
        model = Model(sweep.dynamics, gains, sweep.friction)
        text = text_of_robot(arguments.robot)
        write_runs(arguments.record, text, model, again.motion, {again.kind: again.log}, still)
        show(f"recording: {arguments.record}")
    return 0


def controller_values(path: str) -> dict[str, Any]:
    """Return the parameters of the controller in a parameter file, by their flat names.

    They are those of `controller_node`, of the controller of `export config` with the rate of its
    controller_manager, or of the only node of the file, and those of all nodes.
    """
    wanted = "controller_node: {ros__parameters: {...}}"
    found: dict[str, dict[str, Any]] = {}
    for node, values in by_node(read_yaml(path, ArgumentError, wanted)):
        found.setdefault(ANY_NODE[0] if node in ANY_NODE else node, {}).update(values)
    common, manager = found.pop(ANY_NODE[0], {}), found.get("controller_manager", {})
    only = next(iter(found.values()), None) if len(found) == 1 else None
    own = found.get("controller_node", found.get(CONTROLLER, only))
    if own is None:
        raise ArgumentError(f"--config {path}: no parameters of a controller; write {wanted}")
    rate = {"rate": manager["update_rate"]} if "update_rate" in manager else {}
    of_file = ("type", "model", "joints")
    return {**common, **rate, **{name: own[name] for name in own if name not in of_file}}
