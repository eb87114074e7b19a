"""One simulated robot, identified through the nodes, and every number beside the true one."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from rclpy.duration import Duration
from trajectory_msgs.msg import JointTrajectory

from examples.identify_and_follow import (
    MASS_ERROR,
    SEED,
    SHARE,
    SIMULATED_TIME,
    SPEED,
    TRIALS,
    Reality,
)
from robot_dynamics import Dynamics
from robot_dynamics.cli.subprocesses import node_subprocess
from robot_dynamics.control import Friction
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.identification import (
    Identification,
    MotionBounds,
    Recording,
    excite,
    identify,
    write_urdf,
)
from robot_dynamics.identification.effort_model import EffortModel
from robot_dynamics.identification.link_inertias import LinkInertias
from robot_dynamics.identification.regimes import STANDING
from robot_dynamics.nodes.composition import Composed, composed
from robot_dynamics.nodes.ros.messages import trajectory_msg
from robot_dynamics.recordings.signals import signals
from robot_dynamics.robot import Robot, find_robot, read_urdf
from robot_dynamics.simulation import perturbed
from robot_dynamics.trajectory import Waypoints

APPROACH_S = 1.5
"""Time to the start of a motion, s."""

PRIORITY = 20
"""Real-time priority of the nodes, where the system allows it, as in the demonstration."""

OTHER_S = 8.0
"""Duration of the held-out motion, s."""

PATIENCE_S = 600.0
"""Time that a motion may take where the machine is busy, s."""

DEVIATIONS = 3.0
"""Standard deviations that an estimate may be off."""

STEP = 1e-4
"""Speed at which the friction of the true robot has its full size, rad/s or m/s: it has a step."""


@dataclass(frozen=True)
class RobotResult:
    """Result of one robot.

    Args:
        robot: Name.
        joints: How many.
        deviations: By how many standard deviations each base parameter is off that the motion
            shows.
        undetermined: Base parameters that the motion does not show.
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
    undetermined: int
    noise: list[float]
    again: float
    verdict: str
    rate: float

    @property
    def beyond(self) -> int:
        """Base parameters that are too far off."""
        return int(np.sum(np.array(self.deviations) > DEVIATIONS))


def measured(name: str, seconds: float, rate: float, domain: int, folder: Path) -> RobotResult:
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
    bounds = MotionBounds.of(robot, share=SHARE, speed=SPEED)
    motion = excite(robot, seconds, trials=TRIALS, bounds=bounds).motion
    reality = Reality.of(robot, motion, rate)
    path, ends = folder / "run.mcap", folder / "ends.txt"
    if not ends.is_file():
        other = excite(robot, OTHER_S, trials=1, seed=SEED, bounds=bounds).motion
        ends.write_text(str(followed(name, reality, [motion, other], rate, domain, path)))
    run = Recording.read(path, robot)
    end = float(ends.read_text()) - float(run.time[0])
    recording, held_out = run.between(0.0, end), run.between(end, np.inf)
    found = identify(robot, recording)
    urdf = folder / "identified.urdf"
    write_urdf(find_robot(name), found.robot, urdf)
    true, links = perturbed(robot, MASS_ERROR, SEED), LinkInertias.of(robot)
    # In the axes that the URDF's inertias have chosen: the true ones may choose others
    values = links.K @ replace(links, robot=true).parameters
    off = [
        abs(parameter.value - value) / parameter.deviation
        for parameter, value in zip(found.parameters, values, strict=True)
        if np.isfinite(parameter.deviation)
    ]
    return RobotResult(
        name,
        robot.dof,
        off,
        len(found.parameters) - len(off),
        _residual_over_noise(found, held_out, true, reality),
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
        node_subprocess(  # now that the brakes are open
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
    """See `RobotResult.noise`."""
    viscous, coulomb = np.transpose([reality.friction[name] for name in true.joint_names])
    friction = Friction(viscous, coulomb, width=np.full(true.dof, STEP))
    motion = signals(recording, found.cutoff)
    speed = np.abs(motion.qd)
    moves = speed > STANDING * speed.max(axis=0)

    def residual(model: EffortModel) -> Array:
        return np.asarray(np.sum((motion.tau - model.efforts(motion)) ** 2, axis=0, where=moves))

    noise = residual(EffortModel.of(true, friction))
    return list(np.sqrt(residual(found.model) / noise).tolist())


def _read_again(found: Identification, urdf: Path) -> float:
    """See `RobotResult.again`."""
    again, model = Dynamics(read_urdf(urdf)), found.model
    states = np.random.default_rng(0).uniform(-2.0, 2.0, (3, 200, again.robot.dof))
    efforts = model.dynamics.regressor(*states) @ model.base
    return float((np.abs(again.inverse(*states) - efforts) / np.abs(efforts).max(axis=0)).max())
