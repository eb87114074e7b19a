"""Activation, switches and faults of a controller, at several rates.

    python -m benchmark.ros2_control.scenarios [--robots ur5 panda] [--rates 100 250 500 1000]
    python -m benchmark.ros2_control.scenarios --subject jtc     the stock controller with PD

The subject is a controller behind joint_trajectory_controller (--type, --name; by default the
model controller), or joint_trajectory_controller itself. The plant keeps the last effort where no
controller commands, unless --on-stop says zero or brake. Each run gives, from the event on: the
largest change of an effort in one cycle, the peak speed, the speed at the end, and the RMS of the
speed in the last second, which shows an oscillation.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from rich.console import Console

from benchmark.nodes.processes import SystemFailure, leave_nothing_behind, wait_until
from benchmark.record import conditions
from benchmark.ros2_control.arms import LOCKED, Arm
from benchmark.ros2_control.plant_log import latest_speed
from benchmark.ros2_control.system import HERE, Controllers, Program, System, system, write_json
from benchmark.ros2_control.tracking import (
    CONTROLLER,
    JTC,
    PAST_S,
    TYPE,
    add_out,
    add_workspace,
    built_workspace,
    efforts,
    feedback,
    model_of,
    spawn_chain,
    trajectory_controller,
    write_model,
)
from benchmark.ros2_control.workspace import Workspace
from benchmark.table import Table
from robot_dynamics.trajectory import Waypoints, interpolate
from robot_dynamics.trajectory.waypoints import FIELDS

SETTLE_S, WATCHED_S = 2.0, 4.0
"""Time before the event, and after it, s."""

GOES_ON_S = 10.0
"""Time after the event where the motion goes on, s."""

MOVING = 0.3
"""Speed in motion, rad/s or m/s."""

MOTION_S = 10.0
"""Duration of the motion, s."""

REFERENCE_RATE = 500.0
"""References per second."""

HOLDER = "holder"
"""A second joint_trajectory_controller on effort interfaces, to switch to."""


@dataclass(frozen=True)
class Subject:
    """The controller under examination.

    Attributes:
        name: Of the controller on the effort interfaces.
        parameters: Its type and others; empty for joint_trajectory_controller alone.
        on_stop: Of the plant.
    """

    name: str
    parameters: dict[str, str]
    on_stop: str

    @property
    def names(self) -> list[str]:
        """Names of all controllers, in the order of the chain."""
        return [self.name, JTC] if self.parameters else [JTC]

    def spawn(self, run: System, *words: str) -> None:
        """Load the controllers, and activate them unless words has --inactive."""
        if self.parameters:
            spawn_chain(run, self.name, self.parameters, *words)
        else:
            self._spawn_alone(run, JTC, *words)

    def spawn_holder(self, run: System) -> None:
        """Load the controller to switch to."""
        self._spawn_alone(run, HOLDER, "--inactive")

    def spawn_unchained(self, run: System) -> None:
        """Activate the subject without joint_trajectory_controller."""
        run.spawn(Controllers({self.name: self.parameters}), [self.name])

    def _spawn_alone(self, run: System, name: str, *words: str) -> None:
        parameters = trajectory_controller(run.arm, gains=feedback(run.arm, run.rate))
        run.spawn(Controllers({name: parameters}), [name], *words)


@dataclass(frozen=True)
class Outcome:
    """Result of one run.

    Attributes:
        step_before: Largest change of an effort in one cycle before the event, in motion, N m or N.
        step: The same from the event on.
        joint: The joint of that step, counted from one.
        peak: Peak speed from the event on, rad/s or m/s.
        final: Largest speed in the last 0.2 s, rad/s or m/s.
        ripple: RMS of the speed in the last second, rad/s or m/s.
        finite: Whether all commands from the event on were finite.
    """

    step_before: float
    step: float
    joint: int
    peak: float
    final: float
    ripple: float
    finite: bool


def moving(run: System) -> None:
    """Wait until a motion is under way."""
    wait_until(lambda: latest_speed(run.log_file) > MOVING, "motion", 20.0)


def start(run: System, subject: Subject) -> None:
    """Activate the subject, let it settle, and begin a motion."""
    subject.spawn(run)
    run.watch(SETTLE_S)
    run.send(f"{JTC}/joint_trajectory", run.arm.motion(MOTION_S), PAST_S)
    moving(run)


def activation(run: System, subject: Subject) -> None:
    """Activate the subject at rest, before the brakes open."""
    subject.spawn(run, "--inactive")
    run.event()
    run.switch(subject.names, [])


def deactivation(run: System, subject: Subject) -> None:
    """Deactivate the subject at rest."""
    subject.spawn(run)
    run.watch(SETTLE_S)
    run.event()
    run.switch([], subject.names)


def reactivation(run: System, subject: Subject) -> None:
    """Activate the subject a second time, at rest."""
    subject.spawn(run)
    run.watch(SETTLE_S)
    run.switch([], subject.names)
    run.event()
    run.switch(subject.names, [])


def switch_away(run: System, subject: Subject) -> None:
    """Switch to another controller in motion."""
    subject.spawn_holder(run)
    start(run, subject)
    run.event()
    run.switch([HOLDER], subject.names)


def switch_back(run: System, subject: Subject) -> None:
    """Switch from another controller to the subject in motion."""
    subject.spawn(run, "--inactive")
    subject.spawn_holder(run)
    run.switch([HOLDER], [])
    run.watch(SETTLE_S)
    run.send(f"{HOLDER}/joint_trajectory", run.arm.motion(MOTION_S), PAST_S)
    moving(run)
    run.event()
    run.switch(subject.names, [HOLDER])


def front_stops(run: System, subject: Subject) -> None:
    """Deactivate joint_trajectory_controller alone in motion; the subject stays active."""
    start(run, subject)
    run.event()
    run.switch([], [JTC])


def client_killed(run: System, subject: Subject) -> None:
    """End the client of follow_joint_trajectory by SIGKILL in motion."""
    subject.spawn(run)
    run.watch(SETTLE_S)
    client = client_of(run, "goal", JTC, run.arm.motion(MOTION_S), "accepted")
    moving(run)
    run.event()
    client.end(signal.SIGKILL)


def source_killed(run: System, subject: Subject) -> None:
    """End what publishes ~/reference by SIGKILL in motion."""
    source = publish_reference(run, subject)
    run.event()
    source.end(signal.SIGKILL)


def source_stopped(run: System, subject: Subject) -> None:
    """Stop what publishes ~/reference for a second in motion: its references time out."""
    source = publish_reference(run, subject)
    run.event()
    source.process.send_signal(signal.SIGSTOP)
    run.watch(1.0)
    source.process.send_signal(signal.SIGCONT)


def blind(seconds: float) -> Callable[[System, Subject], None]:
    """Return a scenario with states that are NaN for a time, in motion."""

    def scenario(run: System, subject: Subject) -> None:
        start(run, subject)
        run.event()
        run.nan_file.touch()
        run.watch(seconds)
        run.nan_file.unlink()

    return scenario


SCENARIOS: dict[str, Callable[[System, Subject], None]] = {
    "activation": activation,
    "deactivation": deactivation,
    "reactivation": reactivation,
    "switch away in motion": switch_away,
    "switch back in motion": switch_back,
    "front deactivated in motion": front_stops,
    "action client, kill -9": client_killed,
    "reference source, kill -9": source_killed,
    "reference source, stopped 1 s": source_stopped,
    "states NaN, 20 ms": blind(0.02),
    "states NaN, 1 s": blind(1.0),
    "states NaN, forever": blind(WATCHED_S),
}

GOES_ON = ("action client, kill -9", "states NaN, 20 ms", "states NaN, 1 s")
"""Scenarios after which the motion ends as planned."""

OF_CHAINS = ("front deactivated in motion", *(x for x in SCENARIOS if x.startswith("reference")))
"""Scenarios of controllers that are behind another one."""


def publish_reference(run: System, subject: Subject) -> Program:
    """Activate the subject alone, and publish ~/reference until it moves."""
    subject.spawn_unchained(run)
    run.watch(SETTLE_S)
    motion = interpolate(run.arm.motion(MOTION_S))
    times = np.arange(0.0, MOTION_S, 1.0 / REFERENCE_RATE)
    state = motion.sample(times)
    dense = Waypoints(motion.joint_names, times, *state, effort=efforts(run.arm)(state))
    source = client_of(run, "reference", subject.name, dense, "publishing")
    moving(run)
    return source


def client_of(run: System, verb: str, controller: str, motion: Waypoints, said: str) -> Program:
    """Start a client with a motion, and wait for what it prints."""
    file = run.folder / "motion.json"
    fields = {name: getattr(motion, name) for name in ("joint_names", "times", *FIELDS)}
    given = {name: np.array(x).tolist() for name, x in fields.items() if x is not None}
    file.write_text(json.dumps(given))
    client = run.start(verb, ["python3", str(HERE / "ros_client.py"), verb, controller, str(file)])
    client.wait_for_log(said)
    return client


def outcome(run: System) -> Outcome:
    """Evaluate the log of the plant from the event on."""
    log = run.plant_log()
    end = log.t[-1]
    before = log.between(run.event_at - 1.0, run.event_at)
    # The cycle before the event is part of the first change
    after = log.between(run.event_at - 1.5 / run.rate, end)
    last = after.between(end - 1.0, end)
    return Outcome(
        before.peak_step,
        after.peak_step,
        int(after.steps.argmax()) + 1,
        after.peak_speed,
        after.between(end - 0.2, end).peak_speed,
        float(np.sqrt(np.mean(last.qd**2, axis=0)).max()),
        bool(np.isfinite(after.command[~after.braked]).all()),
    )


def measure(
    workspace: Workspace, arm: Arm, rate: float, subject: Subject, scenario: str
) -> Outcome:
    """Run one scenario."""
    folder = Path(tempfile.mkdtemp(prefix="scenario_", dir=workspace.folder))
    with system(workspace, arm, rate, folder) as run:
        run.start_manager({"on_stop": subject.on_stop})
        SCENARIOS[scenario](run, subject)
        run.watch(GOES_ON_S if scenario in GOES_ON else WATCHED_S)
        return outcome(run)


def tables(results: list[dict[str, object]]) -> list[Table]:
    """Return a table for each robot, a row for each scenario and rate."""
    header = [
        "scenario",
        "Hz",
        "step before, N m",
        "step, N m",
        "joint",
        "peak, rad/s",
        "final, rad/s",
    ]
    header += ["RMS last second, rad/s", "finite"]
    found: dict[str, list[list[str]]] = {}
    for x in results:
        row = [str(x["scenario"]), f"{x['rate']:g}"]
        if "fault" in x:
            row += [str(x["fault"]), *[""] * (len(header) - 3)]
        else:
            row += [f"{x['step_before']:.2f}", f"{x['step']:.2f}", f"{x['joint']}"]
            row += [f"{x['peak']:.2f}", f"{x['final']:.4f}", f"{x['ripple']:.4f}"]
            row.append("yes" if x["finite"] else "NO")
        found.setdefault(str(x["robot"]), []).append(row)
    about = "From the event on; step: largest change of an effort in one cycle."
    return [Table(robot, about, header, rows) for robot, rows in found.items()]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the scenarios and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmark.ros2_control.scenarios")
    parser.description, parser.formatter_class = __doc__, argparse.RawDescriptionHelpFormatter
    parser.add_argument("--robots", nargs="+", default=["ur5", *LOCKED])
    parser.add_argument("--rates", type=float, nargs="+", default=[100.0, 250.0, 500.0, 1000.0])
    parser.add_argument("--scenarios", nargs="+", choices=SCENARIOS, default=list(SCENARIOS))
    parser.add_argument("--subject", choices=("chain", "jtc"), default="chain")
    parser.add_argument("--name", default=CONTROLLER, help="of the chained controller")
    parser.add_argument("--type", help="of the chained controller; by default the model controller")
    parser.add_argument("--on-stop", choices=("keep", "zero", "brake"), default="keep")
    add_workspace(parser)
    add_out(parser)
    options = parser.parse_args(arguments)
    leave_nothing_behind()
    console = Console(width=160)
    arms = {name: Arm(name) for name in options.robots}
    results: list[dict[str, object]] = []
    chained = options.subject == "chain"
    scenarios = [x for x in options.scenarios if chained or x not in OF_CHAINS]
    with ExitStack() as stack:
        ours = chained and options.type is None
        workspace = built_workspace(options, stack, controllers=ours)
        for arm in arms.values() if ours else ():
            write_model(workspace, arm)
        for name, rate, scenario in itertools.product(arms, options.rates, scenarios):
            arm = arms[name]
            parameters: dict[str, str] = {"type": options.type} if options.type else {}
            if chained and not parameters:
                parameters = {"type": TYPE, "model": str(model_of(workspace, arm))}
            subject = Subject(options.name, parameters if chained else {}, options.on_stop)
            row: dict[str, object] = {"robot": name, "rate": rate, "scenario": scenario}
            try:
                row.update(asdict(measure(workspace, arm, rate, subject, scenario)))
            except SystemFailure as failure:
                row["fault"] = str(failure)
            results.append(row)
            console.print(", ".join(f"{key} {value}" for key, value in row.items()), markup=False)
            if options.out:
                machine = f"{conditions()}, load average {os.getloadavg()[0]:.1f}"
                write_json(options.out, {"machine": machine, "results": results})
    for table in tables(results):
        console.print(table.rich())
    return int(any("fault" in x for x in results))


if __name__ == "__main__":
    sys.exit(main())
