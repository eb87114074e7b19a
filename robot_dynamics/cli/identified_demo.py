"""The demonstration of identification: a wrong URDF, a motion, a recording, a URDF that fits.

The simulated robot has other masses than its URDF, friction that the URDF does not know, noise,
encoders with steps and stamps that are never on time. It is followed with the URDF, excited,
recorded, identified, and followed again: all of it by the nodes, over topics and files.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from rich.console import Console
from rich.table import Table

from robot_dynamics.arrays import Array
from robot_dynamics.cli.companions import companion
from robot_dynamics.cli.following import follow, progress_bar
from robot_dynamics.cli.json_output import print_json
from robot_dynamics.cli.tables import plain_table
from robot_dynamics.control.friction import Friction
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.identification import (
    Drives,
    Identification,
    Recording,
    Room,
    excite,
    identify,
    validate,
    write_parameters,
    write_urdf,
)
from robot_dynamics.identification.written.html_report import html_report
from robot_dynamics.identification.written.write_back import write_whole
from robot_dynamics.lazy import needed
from robot_dynamics.robot import Robot, find_robot
from robot_dynamics.simulation import Log
from robot_dynamics.trajectory import Waypoints
from robot_dynamics.trajectory.trajectory_files import write_trajectory

SPREAD = 0.4
"""Largest relative error of the masses of the URDF."""

SEED = 1
"""Of these errors, and of the noise."""

RUBBING = 0.05
"""Coulomb friction that the URDF does not know, and viscous friction at full speed, over the
largest effort of a motion."""

EFFORT_NOISE = 0.005
"""Standard deviation of a measured effort, over that effort of the median joint."""

TRIALS = 400
"""Motions that the search tries: it takes seconds."""

SHARE, SPEED = 0.6, 0.4
"""Of ranges and speeds that the excitation uses: links that are heavier than known ask for more."""

START_S = 60.0
"""Time within which the recorder must write, s."""

SIMULATED_TIME: Mapping[str, Mapping[str, Any]] = {
    "simulator_node": {"publish_clock": True, "command_timeout": START_S},
    "controller_node": {"state_timeout": START_S, "reference_timeout": START_S},
}
"""Parameters by which a busy machine makes the nodes slower, and their motion no worse."""


@dataclass(frozen=True, eq=False)
class Reality:
    """The simulated robot as it is, by parameters of simulator_node."""

    friction: Mapping[str, tuple[float, float]]
    effort_noise: float
    stamp_jitter: float

    @staticmethod
    def of(robot: Robot, motion: Waypoints, rate: float) -> Reality:
        """Friction and noise that suit a robot and a motion of it, at a rate in Hz."""
        q, qd, qdd = (
            np.asarray(x) for x in (motion.positions, motion.velocities, motion.accelerations)
        )
        effort = np.abs(Dynamics(robot).inverse(q, qd, qdd)).max(axis=0)
        rubbing, speed, known = RUBBING * effort, np.abs(qd).max(axis=0), Friction.of(robot)
        viscous, coulomb = known.viscous + rubbing / speed, known.coulomb + rubbing
        values = zip(viscous.tolist(), coulomb.tolist(), strict=True)
        friction = dict(zip(robot.joint_names, values, strict=True))
        return Reality(friction, EFFORT_NOISE * float(np.median(effort)), 0.3 / rate)

    def parameters(self, source: str, start: Array) -> dict[str, Any]:
        """Of a simulator_node that has the robot stand at `start`, shape (n,)."""
        rubs = {
            f"friction.{joint}.{term}": value
            for joint, pair in self.friction.items()
            for term, value in zip(("viscous", "coulomb"), pair, strict=True)
        }
        return {
            "urdf_path": source,
            "initial_positions": start.tolist(),
            **SIMULATED_TIME["simulator_node"],
            "mass_spread": SPREAD,
            "mass_seed": SEED,
            "noise_seed": SEED,
            "position_noise": 1e-5,
            "velocity_noise": 1e-3,
            "effort_noise": self.effort_noise,
            "position_resolution": 2e-5,
            "effort_resolution": 0.5 * self.effort_noise,
            "stamp_jitter": self.stamp_jitter,
            **rubs,
        }


def demonstrate(
    name: str, robot: Robot, arguments: argparse.Namespace, domain: int, console: Console
) -> int:
    """Run it, and print how much better the robot is followed afterwards.

    Args:
        name: Of the robot, as a user typed it.
        robot: As its URDF has it.
        arguments: Of the verb `demo`.
        domain: ROS domain.
        console: Where to print.

    Raises:
        ArgumentError: If the page or a recording of one's own is asked for, too.
        MissingPackageError: If what identification needs is not installed.
    """
    if arguments.view or arguments.record is not None:
        raise ArgumentError("--identify records its runs itself; leave out --view and --record")
    for package in ("cvxpy", "rosbags"):  # before a minute of work, not after it
        needed(package, "identification", "identification")
    motion = {"duration": arguments.duration, "share": arguments.share, "approach": 2.0}
    arguments.output.mkdir(parents=True, exist_ok=True)
    excitation = arguments.output / f"{robot.name}_excitation.csv"
    console.print(f"searching a motion of {arguments.identify:g} s that shows everything ...")
    shows = excite(
        robot, arguments.identify, trials=TRIALS, room=Room.of(robot, share=SHARE, speed=SPEED)
    ).motion
    write_trajectory(excitation, shows)
    reality = Reality.of(robot, shows, arguments.rate)
    run = _Runs(name, robot, reality, arguments, domain, console)
    start = shows.positions[0]
    before, _ = run.follow("URDF as it is", name, motion, start)
    to_file = {"motion": "file", "file": str(excitation), "approach": 1.0}
    _, recorded = run.follow("excitation", name, to_file, start)
    recording = Recording.read(recorded, robot)
    found = identify(robot, recording)
    identified = _written(found, robot, name, run.folder)
    parameters = _flat(yaml.safe_load(identified.with_suffix(".yaml").read_text()))
    after, other = run.follow("identified URDF", str(identified), motion, start, parameters)
    report = validate(
        found.robot,
        Recording.read(other, robot),
        friction=found.friction,
        rotor_inertia=found.rotor_inertia,
    )
    files = excitation, recorded, identified, other
    if arguments.json:
        errors = {"before": before.rms_error, "after": after.rms_error}
        told = {"robot": robot.name, "joint_names": robot.joint_names, "rms_error": errors}
        print_json({**told, **report.verdicts, "files": [str(path) for path in files]})
    console.print(_table(before, after, robot))
    ratio = before.rms_error / np.maximum(after.rms_error, np.finfo(float).tiny)
    whole = np.linalg.norm(before.rms_error) / np.linalg.norm(after.rms_error)
    console.print(
        f"tracking error {ratio.min():.1f} to {ratio.max():.1f} times smaller after "
        f"identification, {whole:.1f} times in all; verdict on the motion followed: "
        f"{report.verdict}, {100 * np.median(report.relative):.1f} % of the efforts unexplained"
    )
    for path in files:
        console.print(f"  {path}", soft_wrap=True)
    return 0


class _Runs:
    """Runs of the nodes, each with its recording."""

    def __init__(
        self,
        name: str,
        robot: Robot,
        reality: Reality,
        arguments: argparse.Namespace,
        domain: int,
        console: Console,
    ) -> None:
        self.name, self.robot, self.domain, self.console = name, robot, domain, console
        self.rate, self.priority = arguments.rate, arguments.priority
        self.folder: Path = arguments.output
        self.reality = reality

    def follow(
        self,
        title: str,
        model: str,
        motion: Mapping[str, Any],
        start: Array,
        parameters: Mapping[str, Any] | None = None,
    ) -> tuple[Log, Path]:
        """Follow a motion with a model; what happened, and the recording of it.

        Args:
            title: What the display calls it.
            model: Path or name of the URDF that feedforward and controller know.
            motion: Parameters of trajectory_node.
            start: Where the robot stands, shape (n,), rad or m.
            parameters: Of feedforward and controller, such as friction.
        """
        # Only now, as the verb has found that there is an rclpy
        from robot_dynamics.nodes.runtime.composition import composed  # noqa: PLC0415

        known = dict(parameters or {})
        path = self.folder / f"{self.robot.name}_{title.split(maxsplit=1)[0].lower()}.mcap"
        path.unlink(missing_ok=True)
        unstopped = {f"limits.{joint}.tracking_error": 0.0 for joint in self.robot.joint_names}
        with (
            composed(
                model,
                rate=self.rate,
                domain=self.domain,
                priority=self.priority,
                trajectory_node={"wait": True, **motion},
                simulator_node=self.reality.parameters(self.name, start),
                feedforward_node=known,
                controller_node={**known, **unstopped, **SIMULATED_TIME["controller_node"]},
            ) as nodes,
            # Now that the brakes are open: behind them efforts say nothing
            companion("recorder_node", self.domain, urdf_path=self.name, file=path.absolute()),
            progress_bar(self.console) as progress,
        ):
            end = time.monotonic() + START_S
            while not (path.is_file() and path.stat().st_size):
                if time.monotonic() > end:
                    raise RobotDynamicsError(f"recorder_node writes nothing to {path}")
                nodes.sleep(0.1)
            return follow(nodes, title, progress)[0], path


def _written(found: Identification, robot: Robot, name: str, folder: Path) -> Path:
    """The identified URDF, with its parameters and the report beside it."""
    path = folder / f"{robot.name}_identified.urdf"
    write_urdf(find_robot(name), found.robot, path)
    drives = Drives(found.friction, found.rotor_inertia)
    write_parameters(path.with_suffix(".yaml"), robot, drives)
    write_whole(path.with_suffix(".html"), html_report(found.report, found).encode())
    return path


def _flat(content: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of a file as nodes name them, such as friction.elbow.viscous."""

    def flat(tree: Mapping[str, Any], prefix: str) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for key, value in tree.items():
            inside = isinstance(value, Mapping)
            values |= flat(value, f"{prefix}{key}.") if inside else {prefix + key: value}
        return values

    return flat(content["/**"]["ros__parameters"], "")


def _table(before: Log, after: Log, robot: Robot) -> Table:
    table = plain_table(
        f"masses off by up to {100 * SPREAD:.0f} %, friction unknown",
        ["joint", "RMS\nerror"],
        ["URDF", "identified", "better"],
    )
    for i, joint in enumerate(before.joint_names):
        errors = before.rms_error[i], after.rms_error[i]
        unit = "mrad" if robot.joint(joint).type.rotates else "mm"
        ratio = errors[0] / max(errors[1], float(np.finfo(float).tiny))
        table.add_row(joint, unit, *(f"{1e3 * error:.3f}" for error in errors), f"{ratio:.1f} x")
    return table
