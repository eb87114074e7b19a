"""Identify a simulated robot whose URDF is wrong, and follow a motion before and after.

    python examples/identify_and_follow.py                        a Panda, excited for 20 s
    python examples/identify_and_follow.py ur5 --excitation 15 --rate 500

The simulated robot has masses that differ by up to 40 % from its URDF, friction that the URDF does
not know, noise, encoders with steps, and late stamps. The nodes follow a motion with the URDF,
excite the robot, record it, identify it, and follow the motion again, over topics and files.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from os import environ
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from robot_dynamics import Dynamics, Robot, read_urdf
from robot_dynamics.control import Friction
from robot_dynamics.errors import RobotDynamicsError
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
from robot_dynamics.nodes.composition import composed, own_domain
from robot_dynamics.robot import find_robot
from robot_dynamics.simulation import Log
from robot_dynamics.trajectory import Waypoints, write_trajectory

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

    def parameters(self, source: str, start: np.ndarray) -> dict[str, Any]:
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


def main() -> None:
    """Run the example; an error is one line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("robot", nargs="?", default="panda", help="name or URDF path (default: panda)")
    add("--excitation", type=float, default=20.0, help="duration of it, s (default: 20)")
    add("--duration", type=float, default=6.0, help="of the motion to follow, s (default: 6)")
    add("--share", type=float, default=0.5, help="of ranges and speeds it uses (default: 0.5)")
    add("--rate", type=float, default=1000.0, help="rate of control, Hz (default: 1000)")
    add("--output", type=Path, default=Path("out"), help="folder for files (default: out)")
    add("--domain", type=int, default=None, help="ROS_DOMAIN_ID (default: one of its own)")
    add("--priority", type=int, default=20, help="real-time priority, 0 for none (default: 20)")
    arguments = parser.parse_args()
    if find_spec("cvxpy") is None or find_spec("rosbags") is None:
        sys.exit("pip install 'robot_dynamics[identification]'")
    try:
        identify_and_follow(arguments)
    except RobotDynamicsError as error:
        sys.exit(f"{parser.prog}: {error}")


def identify_and_follow(arguments: argparse.Namespace) -> None:
    """Print how much better the robot is followed after its identification."""
    name, robot = arguments.robot, read_urdf(find_robot(arguments.robot))
    motion = {"duration": arguments.duration, "share": arguments.share, "approach": 2.0}
    arguments.output.mkdir(parents=True, exist_ok=True)
    excitation = arguments.output / f"{robot.name}_excitation.csv"
    print(f"searching a motion of {arguments.excitation:g} s that shows everything ...")
    bounds = MotionBounds.of(robot, share=SHARE, speed=SPEED)
    shows = excite(robot, arguments.excitation, trials=TRIALS, bounds=bounds).motion
    write_trajectory(excitation, shows)
    run = Runs(name, robot, Reality.of(robot, shows, arguments.rate), arguments)
    start = shows.positions[0]
    before, _ = run.follow("URDF as it is", name, motion, start)
    to_file = {"motion": "file", "file": str(excitation), "approach": 1.0}
    _, recorded = run.follow("excitation", name, to_file, start)
    found = identify(robot, Recording.read(recorded, robot))
    identified = exported(found, robot, name, arguments.output)
    parameters = flat(yaml.safe_load(identified.with_suffix(".yaml").read_text()))
    after, other = run.follow("identified URDF", str(identified), motion, start, parameters)
    report = validate(
        found.robot,
        Recording.read(other, robot),
        friction=found.friction,
        rotor_inertia=found.rotor_inertia,
    )
    print_errors(before, after, robot)
    whole = np.linalg.norm(before.rms_error) / np.linalg.norm(after.rms_error)
    print(
        f"tracking error {whole:.1f} times in all smaller after identification; verdict on the "
        f"motion followed: {report.verdict}, {100 * np.median(report.relative):.1f} % of the "
        "efforts unexplained"
    )
    for path in (excitation, recorded, identified, other):
        print(f"  {path}")


class Runs:
    """Run the nodes, and record each run."""

    def __init__(
        self, name: str, robot: Robot, reality: Reality, arguments: argparse.Namespace
    ) -> None:
        self.name, self.robot, self.reality = name, robot, reality
        self.rate, self.priority = arguments.rate, arguments.priority
        self.domain = own_domain() if arguments.domain is None else arguments.domain
        self.folder: Path = arguments.output

    def follow(
        self,
        title: str,
        model: str,
        motion: Mapping[str, Any],
        start: np.ndarray,
        parameters: Mapping[str, Any] | None = None,
    ) -> tuple[Log, Path]:
        """Follow a motion with a model; return the log and the path of the recording.

        Args:
            title: Name of the run.
            model: Path or name of the URDF that feedforward and controller know.
            motion: Parameters of trajectory_node.
            start: Position in which the robot stands, shape (n,), rad or m.
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
            recorder(self.name, path, self.domain),  # behind closed brakes efforts say nothing
        ):
            end = time.monotonic() + START_S
            while not (path.is_file() and path.stat().st_size):
                if time.monotonic() > end:
                    raise RobotDynamicsError(f"recorder_node writes nothing to {path}")
                nodes.sleep(0.1)
            log = nodes.follow()
        print(f"{title}: worst RMS {1e3 * max(log.rms_error):.3f} mrad or mm")
        return log, path


@contextmanager
def recorder(robot: str, path: Path, domain: int) -> Iterator[None]:
    """Run recorder_node in a process of its own."""
    words = [sys.executable, "-m", "robot_dynamics", "node", "recorder_node", "--ros-args"]
    for name, value in {"urdf_path": robot, "file": path.absolute()}.items():
        words += ["-p", f"{name}:={value}"]
    local = {"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST", "ROS_DOMAIN_ID": str(domain)}
    process = subprocess.Popen([*words, "--log-level", "warn"], env={**environ, **local})
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def exported(found: Identification, robot: Robot, name: str, folder: Path) -> Path:
    """Write the identified URDF, with its parameters beside it; return its path."""
    path = folder / f"{robot.name}_identified.urdf"
    write_urdf(find_robot(name), found.robot, path)
    drives = Drives(found.friction, found.rotor_inertia)
    write_parameters(path.with_suffix(".yaml"), robot, drives)
    return path


def flat(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a file by the names of nodes, such as friction.elbow.viscous."""

    def of(tree: Mapping[str, Any], prefix: str) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for key, value in tree.items():
            inside = isinstance(value, Mapping)
            values |= of(value, f"{prefix}{key}.") if inside else {prefix + key: value}
        return values

    return of(content["/**"]["ros__parameters"], "")


def print_errors(before: Log, after: Log, robot: Robot) -> None:
    """Print the RMS error of each joint before and after."""
    print(f"masses off by up to {100 * MASS_ERROR:.0f} %, friction unknown")
    print(f"{'joint':24} {'RMS error':>9} {'URDF':>9} {'identified':>10}")
    for row in zip(robot.joint_names, 1e3 * before.rms_error, 1e3 * after.rms_error, strict=True):
        unit = "mrad" if robot.joint(row[0]).type.rotates else "mm"
        print(f"{row[0]:24} {unit:>9} {row[1]:9.3f} {row[2]:10.3f}")


if __name__ == "__main__":
    main()
