"""Identify every robot at hand through the nodes, and write docs/identification-in-simulation.md.

    python -m benchmark.identification_through_nodes                all robots of up to 12 joints
    python -m benchmark.identification_through_nodes ur5 panda      some of them, and the page again

Each robot has masses that differ by up to 40 % from its URDF, friction that the URDF does not know,
noise, encoders with steps and stamps that are late. Its nodes follow an excitation and then another
motion while recorder_node writes; the first is identified, the second judges. As all is known of a
simulated robot, every number can be compared with the true one.
What was recorded and measured is kept in out/identification: a run that was stopped goes on, and
`--judge` identifies what was recorded anew.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from rclpy.duration import Duration
from rich.console import Console
from trajectory_msgs.msg import JointTrajectory

from benchmark.progress import progress_bar
from robot_dynamics import Dynamics
from robot_dynamics.arrays import Array
from robot_dynamics.cli.companions import companion
from robot_dynamics.cli.identified_demo import (
    RUBBING,
    SEED,
    SHARE,
    SIMULATED_TIME,
    SPEED,
    SPREAD,
    TRIALS,
    Reality,
)
from robot_dynamics.control import Friction
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.identification import (
    Identification,
    Recording,
    Room,
    excite,
    identify,
    write_urdf,
)
from robot_dynamics.identification.effort_model import EffortModel
from robot_dynamics.identification.link_inertias import LinkInertias
from robot_dynamics.identification.signals import signals
from robot_dynamics.identification.standstill import STANDING
from robot_dynamics.nodes.ros.messages import trajectory_msg
from robot_dynamics.nodes.runtime.composition import Composed, composed
from robot_dynamics.robot import Robot, find_robot, known_robots, read_urdf
from robot_dynamics.simulation import check_physical, perturbed
from robot_dynamics.trajectory import Waypoints

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "identification-in-simulation.md"
FOLDER = ROOT / "out" / "identification"

MOST_JOINTS = 12

APPROACH_S = 1.5
"""Time to the start of a motion, s."""

PRIORITY = 20
"""Real-time priority of the nodes, where the system allows it, as in the demonstration."""

OTHER_S = 8.0
"""Duration of the motion that the fit has not seen, s."""

PATIENCE_S = 600.0
"""Time that a motion may take where the machine is busy, s."""

DEVIATIONS = 3.0
"""Standard deviations that an estimate may be off ..."""

STEP = 1e-4
"""Speed at which the friction of the true robot has its full size, rad/s or m/s: it has a step."""

EXPECTED = 0.0027
"""... and the part of estimates with normal errors that are further off."""


@dataclass(frozen=True)
class Measured:
    """What became of one robot.

    Args:
        robot: Name.
        joints: How many.
        deviations: By how many standard deviations each base parameter is off that the motion
            shows.
        unseen: Base parameters that the motion does not show.
        noise: Rms of recorded less predicted efforts on another motion, by joint, while it moves,
            over what the true robot leaves.
        again: Largest difference between efforts of the written URDF, read again, and those of
            the regressor, over the largest of its joint.
        verdict: Of the report.
        rate: Samples per second that were recorded.
    """

    robot: str
    joints: int
    deviations: list[float]
    unseen: int
    noise: list[float]
    again: float
    verdict: str
    rate: float

    @property
    def beyond(self) -> int:
        """Base parameters that are too far off."""
        return int(np.sum(np.array(self.deviations) > DEVIATIONS))


def robots() -> dict[str, Robot]:
    """Robots of different mechanics by name, those of few joints first."""
    found: dict[tuple[float, ...], tuple[str, Robot]] = {}
    for name, path in sorted(known_robots().items(), key=lambda item: (len(item[0]), item[0])):
        try:
            robot = read_urdf(path)
            if not 0 < robot.dof <= MOST_JOINTS:
                continue
            check_physical(robot)  # refuses what cannot be simulated
            values = [round(value, 9) for value in base_values(robot)]
            found.setdefault((robot.dof, *values), (name, robot))
        except RobotDynamicsError:  # no dynamics, which other programs say
            continue
    return dict(sorted(found.values(), key=lambda item: (item[1].dof, item[0])))


def base_values(robot: Robot) -> list[float]:
    """Base parameters of a robot."""
    return [parameter.value for parameter in Dynamics(robot).base_parameters]


def measured(name: str, seconds: float, rate: float, domain: int, folder: Path) -> Measured:
    """Excite, record, identify and follow one robot.

    Args:
        name: Of the robot.
        seconds: Duration of the excitation.
        rate: Of the nodes, Hz.
        domain: ROS domain.
        folder: Of what is written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    robot = read_urdf(find_robot(name))
    room = Room.of(robot, share=SHARE, speed=SPEED)
    motion = excite(robot, seconds, trials=TRIALS, room=room).motion
    reality = Reality.of(robot, motion, rate)
    path, ends = folder / "run.mcap", folder / "ends.txt"
    if not ends.is_file():
        other = excite(robot, OTHER_S, trials=1, seed=SEED, room=room).motion
        ends.write_text(str(followed(name, reality, [motion, other], rate, domain, path)))
    run = Recording.read(path, robot)
    end = float(ends.read_text()) - float(run.time[0])
    recording, unseen = run.between(0.0, end), run.between(end, np.inf)
    found = identify(robot, recording)
    urdf = folder / "identified.urdf"
    write_urdf(find_robot(name), found.robot, urdf)
    true, links = perturbed(robot, SPREAD, SEED), LinkInertias.of(robot)
    # In the axes that the URDF's inertias have chosen: the true ones may choose others
    values = links.K @ replace(links, robot=true).parameters
    off = [
        abs(parameter.value - value) / parameter.deviation
        for parameter, value in zip(found.parameters, values, strict=True)
        if np.isfinite(parameter.deviation)
    ]
    return Measured(
        name,
        robot.dof,
        off,
        len(found.parameters) - len(off),
        _residual_over_noise(found, unseen, true, reality),
        _read_again(found, urdf),
        found.report.verdict,
        recording.rate,
    )


def followed(
    name: str, reality: Reality, motions: list[Waypoints], rate: float, domain: int, path: Path
) -> float:
    """Follow motions and record them, in simulated time, which a busy machine makes slower alone.

    Args:
        name: Of the robot.
        reality: The robot as it is.
        motions: One after the other.
        rate: Of the nodes, Hz.
        domain: ROS domain.
        path: File to write.

    Returns:
        When the first motion has ended, s.
    """
    path.unlink(missing_ok=True)
    unstopped = {f"limits.{joint}.tracking_error": 0.0 for joint in motions[0].joint_names}
    simulated = reality.parameters(name, motions[0].positions[0])
    patient = {**SIMULATED_TIME["controller_node"], **unstopped}
    with (
        composed(
            name, rate=rate, domain=domain, priority=PRIORITY, simulator_node=simulated,
            controller_node=patient, trajectory_node={"wait": True},
        ) as nodes,
        companion(  # now that the brakes are open
            "recorder_node", domain, urdf_path=name, file=path, efforts_by_cause=False,
            transforms=False,
        ),
    ):  # fmt: skip
        _wait(nodes, lambda: path.is_file() and path.stat().st_size > 0)
        now = nodes.trajectory.get_clock().now
        sender = nodes.trajectory.create_publisher(JointTrajectory, "joint_trajectory", 10)
        _wait(nodes, lambda: sender.get_subscription_count() > 0)
        ends = []
        for motion in motions:
            sender.publish(trajectory_msg(motion.delayed(APPROACH_S)))
            ends.append(now() + Duration(seconds=APPROACH_S + motion.duration + 1.0))
            _wait(nodes, lambda: now() > ends[-1])
    return float(ends[0].nanoseconds * 1e-9)


def _wait(nodes: Composed, there: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE_S
    while not there():
        if time.monotonic() > until:
            raise RobotDynamicsError(f"it takes longer than {PATIENCE_S:g} s; is the machine busy?")
        nodes.sleep(0.1)


def _residual_over_noise(
    found: Identification, recording: Recording, true: Robot, reality: Reality
) -> list[float]:
    """See `Measured.noise`."""
    viscous, coulomb = np.transpose([reality.friction[name] for name in true.joint_names])
    friction = Friction(viscous, coulomb, width=np.full(true.dof, STEP))
    motion = signals(recording, found.edge)
    speed = np.abs(motion.qd)
    moves = speed > STANDING * speed.max(axis=0)

    def residual(model: EffortModel) -> Array:
        return np.asarray(np.sum((motion.tau - model.efforts(motion)) ** 2, axis=0, where=moves))

    noise = residual(EffortModel.of(true, friction))
    return list(np.sqrt(residual(found.model) / noise).tolist())


def _read_again(found: Identification, urdf: Path) -> float:
    """See `Measured.again`."""
    again, model = Dynamics(read_urdf(urdf)), found.model
    states = np.random.default_rng(0).uniform(-2.0, 2.0, (3, 200, again.robot.dof))
    efforts = model.dynamics.regressor(*states) @ model.base
    return float((np.abs(again.inverse(*states) - efforts) / np.abs(efforts).max(axis=0)).max())


def of_each(names: Sequence[str], arguments: argparse.Namespace, console: Console) -> None:
    """Measure robots, each in a process of its own, and say what becomes of them."""
    with ThreadPoolExecutor(arguments.at_once) as pool, progress_bar(console) as bar:
        tasks = {
            pool.submit(_in_a_process, name, k, arguments): name for k, name in enumerate(names)
        }
        line = bar.add_task("robots", total=len(tasks))
        for task in as_completed(tasks):
            bar.advance(line)
            bar.refresh()
            console.print(f"{tasks[task]}: {task.result()}")


def _in_a_process(name: str, place: int, arguments: argparse.Namespace) -> str:
    """Measure one robot; one line on what became of it."""
    options = ["--one", name, "--domain", str(1 + (os.getpid() + place) % 100)]
    options += ["--duration", str(arguments.duration), "--rate", str(arguments.rate)]
    module = [sys.executable, "-m", "benchmark.identification_through_nodes"]
    try:
        done = subprocess.run(
            [*module, *options], cwd=ROOT, capture_output=True, text=True, timeout=3.0 * PATIENCE_S,
            check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return "takes too long"
    said = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines()
    line = said[-1] if said else f"ended with {done.returncode}"
    _result(name).with_name("why.txt").write_text(line if done.returncode else "")
    return line


def _result(name: str) -> Path:
    return FOLDER / name / "measured.json"


def _one(arguments: argparse.Namespace) -> int:
    """Measure one robot in this process."""
    logging.disable(logging.WARNING)  # of URDFs
    path = _result(arguments.one)
    found = measured(
        arguments.one, arguments.duration, arguments.rate, arguments.domain, path.parent
    )
    path.write_text(json.dumps(asdict(found)), encoding="utf-8")
    print(
        f"{found.beyond} of {len(found.deviations)} beyond {DEVIATIONS:g} deviations, residual "
        f"{max(found.noise):.2f} of the noise, {found.verdict}"
    )
    return 0


def _why(name: str) -> str:
    """A robot that was not measured, and why if it was tried."""
    path = _result(name).with_name("why.txt")
    why = path.read_text().partition(": ")[2] if path.is_file() else ""
    return f"{name} ({why})" if why else name


def page(found: list[Measured], left: list[str], duration: float, rate: float) -> str:
    """The page: a table, what it comes to, and the robots that were not measured."""
    all_of_them = sum(len(one.deviations) for one in found)
    beyond = sum(one.beyond for one in found)
    spread = float(np.sqrt(np.mean(np.concatenate([one.deviations for one in found]) ** 2)))
    unfit = [one for one in found if one.verdict == "do not use"]
    noisy = [one.robot for one in found if max(one.noise) > np.sqrt(2.0)]
    lines = [
        "# Identification of simulated robots",
        "",
        "Written by `python -m benchmark.identification_through_nodes`. Masses differ by up to "
        f"{100 * SPREAD:.0f} % from the URDF; joints rub by {100 * RUBBING:.0f} % of their largest "
        "effort, once by Coulomb and once by viscous friction, beyond what the URDF knows; "
        "`joint_states` have noise, steps of encoders and stamps that are late. The nodes follow "
        f"an excitation of {duration:g} s at {rate:g} Hz and then another motion, recorder_node "
        "writes, `identify` reads the first.",
        "",
        f"Of {all_of_them} base parameters of {len(found)} robots {beyond} are off by more than "
        f"{DEVIATIONS:g} of their standard deviations ({100 * beyond / all_of_them:.2f} %; normal "
        f"errors would leave {100 * EXPECTED:.2f} %, {EXPECTED * all_of_them:.1f} of them). "
        + (
            f"{sum(one.beyond for one in unfit)} of these are of "
            f"{', '.join(one.robot for one in unfit)}, of whose recording the report says: do not "
            "use. "
            if unfit
            else ""
        )
        + f"All errors together are {spread:.2f} deviations rms: 1 if these are exact, less if "
        "they are too large. "
        + (
            "On the other motion the model is off by less than the noise in every joint"
            + (f", but for {', '.join(noisy)}." if noisy else ".")
        ),
        "",
        "| robot | joints | samples a second | base parameters | not shown | largest error, "
        f"deviations | beyond {DEVIATIONS:g} | residual over noise, worst joint | URDF read again "
        "| verdict |",
        "| --- |" + " --- |" * 9,
    ]
    for one in found:
        largest = max(one.deviations, default=0.0)
        lines.append(
            f"| {one.robot} | {one.joints} | {one.rate:.0f} | {len(one.deviations)} | {one.unseen} "
            f"| {largest:.1f} | {one.beyond} | {max(one.noise):.2f} | {one.again:.0e} "
            f"| {one.verdict} |"
        )
    lines += [
        "",
        "Errors are those against the numbers that have the efforts of the true robot. Residual "
        "over noise: rms of recorded less predicted efforts on the other motion, below the edge of "
        "the filter and while the joint moves, over what the true robot leaves of them; up to 1.41 "
        "the model is off by less than the noise. URDF read again: largest difference between "
        "efforts of the written file and those of the regressor, over the largest of the joint.",
    ]
    if left:
        lines += ["", f"Not measured, {len(left)} of {len(left) + len(found)}: {', '.join(left)}."]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Measure what has not been measured yet, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmark.identification_through_nodes")
    parser.add_argument("robots", nargs="*", help="(default: all)")
    parser.add_argument("--duration", type=float, default=20.0, help="of the excitation, s (20)")
    parser.add_argument("--rate", type=float, default=500.0, help="of the nodes, Hz (500)")
    parser.add_argument("--at-once", type=int, default=1, help="robots side by side (1)")
    parser.add_argument("--anew", action="store_true", help="forget what was measured")
    parser.add_argument("--judge", action="store_true", help="identify what was recorded anew")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--domain", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        return _one(arguments)
    logging.disable(logging.WARNING)
    known = list(robots())
    unknown = set(arguments.robots) - set(known)
    if unknown:
        parser.error(f"not among {', '.join(known)}: {', '.join(sorted(unknown))}")
    wanted = [name for name in known if not arguments.robots or name in arguments.robots]
    for name in wanted if arguments.anew or arguments.judge else ():
        _result(name).unlink(missing_ok=True)
        if arguments.anew:
            _result(name).with_name("ends.txt").unlink(missing_ok=True)
    console = Console()
    left = [name for name in wanted if not _result(name).is_file()]
    of_each(left, arguments, console)
    found = [
        Measured(**json.loads(_result(name).read_text(encoding="utf-8")))
        for name in known
        if _result(name).is_file()
    ]
    left = [_why(name) for name in known if not _result(name).is_file()]
    if found:
        text = page(found, left, arguments.duration, arguments.rate)
        PAGE.write_text(text, encoding="utf-8")
        console.print(f"wrote {PAGE}")
    return 0 if found and not left else 1


if __name__ == "__main__":
    sys.exit(main())
