"""Identify a simulated robot whose URDF is wrong, and follow a motion before and after.

    python examples/identify_and_follow.py                        a Panda, excited for 20 s
    python examples/identify_and_follow.py ur5 --excitation 15 --rate 500

The simulated robot has masses that differ by up to 40 % from its URDF, friction that the URDF does
not know, noise, encoders with steps, and late stamps. The nodes follow a motion with the URDF,
excite the robot, record it, identify it, and follow the motion again, over topics and files.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from robot_dynamics.cli.arguments import duration, load_robot, output_folder, positive
from robot_dynamics.cli.following import follow
from robot_dynamics.cli.output import Printer, add_json, print_json
from robot_dynamics.cli.subprocesses import node_subprocess
from robot_dynamics.control.friction import Friction
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.lazy import needed
from robot_dynamics.foundation.text_tables import TextTable
from robot_dynamics.foundation.user_files import write_whole
from robot_dynamics.identification import (
    Drives,
    Identification,
    MotionBounds,
    Recording,
    excite,
    identify,
    validate,
    write_parameters,
    write_urdf,
)
from robot_dynamics.identification.export.html_report import html_report
from robot_dynamics.nodes.composition import composed, own_domain
from robot_dynamics.robot import Robot, find_robot
from robot_dynamics.simulation import Log
from robot_dynamics.trajectory import Waypoints
from robot_dynamics.trajectory.trajectory_files import write_trajectory

MASS_ERROR = 0.4
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
    """The true robot, by parameters of simulator_node."""

    friction: Mapping[str, tuple[float, float]]
    effort_noise: float
    stamp_jitter: float

    @staticmethod
    def of(robot: Robot, motion: Waypoints, rate: float) -> Reality:
        """Return friction and noise that suit a robot and a motion of it, at a rate in Hz."""
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
        """Return parameters of a simulator_node whose robot stands at `start`, shape (n,)."""
        rubs = {
            f"friction.{joint}.{term}": value
            for joint, pair in self.friction.items()
            for term, value in zip(("viscous", "coulomb"), pair, strict=True)
        }
        return {
            "urdf_path": source,
            "initial_positions": start.tolist(),
            **SIMULATED_TIME["simulator_node"],
            "mass_error": MASS_ERROR,
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


def main(given: Sequence[str] | None = None) -> int:
    """Run the example.

    Returns:
        Exit status: 1 after an error, which one line on stderr reports.
    """
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("robot", nargs="?", default="panda", help="name or URDF path (default: panda)")
    add("--excitation", type=positive, default=20.0, help="duration of it, s (default: 20)")
    add("--duration", type=duration, default=6.0, help="of the motion to follow, s (default: 6)")
    add("--share", type=positive, default=0.5, help="of ranges and speeds it uses (default: 0.5)")
    add("--rate", type=positive, default=1000.0, help="rate of control, Hz (default: 1000)")
    add("--output", type=output_folder, default="out", help="folder for files (default: out)")
    add("--domain", type=int, default=None, help="ROS_DOMAIN_ID (default: one of its own)")
    add("--priority", type=int, default=20, help="real-time priority, 0 for none (default: 20)")
    add_json(parser)
    arguments = parser.parse_args(given)
    try:
        identify_and_follow(arguments)
    except RobotDynamicsError as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 1
    return 0


def identify_and_follow(arguments: argparse.Namespace) -> None:
    """Print how much better the robot is followed after its identification.

    Raises:
        MissingPackageError: If identification needs a package that is not installed.
    """
    name, robot = arguments.robot, load_robot(arguments.robot)
    domain = own_domain() if arguments.domain is None else arguments.domain
    show = Printer(stderr=arguments.json)
    for package in ("cvxpy", "rosbags"):  # before a minute of work, not after it
        needed(package, "identification", "identification")
    motion = {"duration": arguments.duration, "share": arguments.share, "approach": 2.0}
    arguments.output.mkdir(parents=True, exist_ok=True)
    excitation = arguments.output / f"{robot.name}_excitation.csv"
    show(f"searching a motion of {arguments.excitation:g} s that shows everything ...")
    shows = excite(
        robot,
        arguments.excitation,
        trials=TRIALS,
        bounds=MotionBounds.of(robot, share=SHARE, speed=SPEED),
    ).motion
    write_trajectory(excitation, shows)
    reality = Reality.of(robot, shows, arguments.rate)
    run = _Runs(name, robot, reality, arguments, domain, show)
    start = shows.positions[0]
    before, _ = run.follow("URDF as it is", name, motion, start)
    to_file = {"motion": "file", "file": str(excitation), "approach": 1.0}
    _, recorded = run.follow("excitation", name, to_file, start)
    recording = Recording.read(recorded, robot)
    found = identify(robot, recording)
    identified = _exported(found, robot, name, run.folder)
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
        answer = {"robot": robot.name, "joint_names": robot.joint_names, "rms_error": errors}
        print_json({**answer, **report.verdicts, "files": [str(path) for path in files]})
    show(_table(before, after, robot))
    ratio = before.rms_error / np.maximum(after.rms_error, np.finfo(float).tiny)
    whole = np.linalg.norm(before.rms_error) / np.linalg.norm(after.rms_error)
    show(
        f"tracking error {ratio.min():.1f} to {ratio.max():.1f} times smaller after "
        f"identification, {whole:.1f} times in all; verdict on the motion followed: "
        f"{report.verdict}, {100 * np.median(report.relative):.1f} % of the efforts unexplained"
    )
    for path in files:
        show(f"  {path}")


class _Runs:
    """Run the nodes, and record each run."""

    def __init__(
        self,
        name: str,
        robot: Robot,
        reality: Reality,
        arguments: argparse.Namespace,
        domain: int,
        show: Printer,
    ) -> None:
        self.name, self.robot, self.domain, self.show = name, robot, domain, show
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
        """Follow a motion with a model; return the log and the path of the recording.

        Args:
            title: What the display calls it.
            model: Path or name of the URDF that feedforward and controller know.
            motion: Parameters of trajectory_node.
            start: Where the robot stands, shape (n,), rad or m.
            parameters: Of feedforward and controller, such as friction.
        """
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
            node_subprocess(
                "recorder_node", self.domain, urdf_path=self.name, file=path.absolute()
            ),
        ):
            end = time.monotonic() + START_S
            while not (path.is_file() and path.stat().st_size):
                if time.monotonic() > end:
                    raise RobotDynamicsError(f"recorder_node writes nothing to {path}")
                nodes.sleep(0.1)
            return follow(nodes, title, self.show)[0], path


def _exported(found: Identification, robot: Robot, name: str, folder: Path) -> Path:
    """Write the identified URDF, with its parameters and the report beside it."""
    path = folder / f"{robot.name}_identified.urdf"
    write_urdf(find_robot(name), found.robot, path)
    drives = Drives(found.friction, found.rotor_inertia)
    write_parameters(path.with_suffix(".yaml"), robot, drives)
    write_whole(path.with_suffix(".html"), html_report(found.report, found).encode())
    return path


def _flat(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a file by the names of nodes, such as friction.elbow.viscous."""

    def flat(tree: Mapping[str, Any], prefix: str) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for key, value in tree.items():
            inside = isinstance(value, Mapping)
            values |= flat(value, f"{prefix}{key}.") if inside else {prefix + key: value}
        return values

    return flat(content["/**"]["ros__parameters"], "")


def _table(before: Log, after: Log, robot: Robot) -> TextTable:
    table = TextTable(
        f"masses off by up to {100 * MASS_ERROR:.0f} %, friction unknown",
        ["joint", "RMS error"],
        ["URDF", "identified", "better"],
    )
    for i, joint in enumerate(before.joint_names):
        errors = before.rms_error[i], after.rms_error[i]
        unit = "mrad" if robot.joint(joint).type.rotates else "mm"
        ratio = errors[0] / max(errors[1], float(np.finfo(float).tiny))
        table.add_row(joint, unit, *(f"{1e3 * error:.3f}" for error in errors), f"{ratio:.1f} x")
    return table


if __name__ == "__main__":
    sys.exit(main())
