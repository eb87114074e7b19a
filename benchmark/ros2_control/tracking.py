"""Tracking errors of one motion under several wirings, with a plant of other masses.

a   joint_trajectory_controller with the default gains of the package, PD
ai  the same with an integral part
b   as a, the effort of the model in the points of the trajectory
c   feedforward_node and controller_node over topics, behind forward_command_controller
d   the model controller of this package, chained behind joint_trajectory_controller
di  the same, with masses and friction identified from a recording of another motion under d
dk  the same as d, with the friction of the plant in its URDF

The plant has other masses than the model, and friction that a to d do not know.

    python -m benchmark.ros2_control [--robots ur5 panda] [--rate 1000] [--seconds 20] [--only a b]
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from benchmark.nodes.processes import SystemFailure, leave_nothing_behind
from benchmark.record import conditions
from benchmark.ros2_control.arms import FRICTION_SHARE, LOCKED, Arm
from benchmark.ros2_control.system import Controllers, System, system, write_json
from benchmark.ros2_control.workspace import Workspace
from benchmark.table import Table
from robot_dynamics.control import Friction
from robot_dynamics.control.sampling.tuning import gains_for
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.trajectory import State, Waypoints, interpolate
from robot_dynamics.trajectory.motions import sample_poses
from robot_dynamics.trajectory.waypoint_effort import with_effort

JTC, FORWARD = "joint_trajectory_controller", "forward_effort_controller"
STATES, CONTROLLER = "joint_state_broadcaster", "arm_controller"

TYPE = "robot_dynamics_controllers/ModelController"

SETTLE_S = 3.0
"""Time from the activation to the motion, s."""

PAST_S = -0.02
"""Stamp of a trajectory after its publication, s. Before a stamp in the future the controller
interpolates without effort; the excitation has hardly begun after so little time."""

INTEGRAL_SHARE = 0.25
"""Integral gain, as a share of the one above which the slowest mode is unstable."""


def feedback(arm: Arm, rate: float, integral: bool = False) -> dict[str, dict[str, float]]:
    """Return gains of joint_trajectory_controller by joint: the defaults of the package."""
    period = 1.0 / rate  # states and commands are of one cycle; a drive may answer a cycle later
    gains = gains_for(arm.dynamics, period=period, delay=period)
    # An eigenvalue mu of M^-1 Kd gives a mode s^3 + mu (s^2 + r s + r ki/kp), stable for ki/kp < mu
    inverses = np.linalg.inv(arm.dynamics.mass_matrix(sample_poses(arm.robot)))
    slowest = float(np.linalg.eigvals(inverses * gains.kd).real.min())
    ki = INTEGRAL_SHARE * slowest * gains.kp
    values = zip(arm.robot.joint_names, gains.kp, ki * integral, gains.kd, strict=True)
    return {name: {"p": float(p), "i": float(i), "d": float(d)} for name, p, i, d in values}


def trajectory_controller(arm: Arm, **more: Any) -> dict[str, Any]:
    """Return parameters of joint_trajectory_controller on effort interfaces."""
    return {
        "type": "joint_trajectory_controller/JointTrajectoryController",
        "joints": list(arm.robot.joint_names),
        "command_interfaces": ["effort"],
        "state_interfaces": ["position", "velocity"],
        **more,
    }


def efforts(arm: Arm) -> Callable[[State], Array]:
    """Return the efforts of the model, with friction."""
    friction = Friction.of(arm.robot)
    return lambda state: arm.dynamics.inverse(*state) + friction.smooth(state.qd)


def at_rest(motion: Waypoints) -> Waypoints:
    """Return the first point of a motion, to hold."""
    q = motion.positions[:1]
    return Waypoints(motion.joint_names, [0.1], q, 0.0 * q, 0.0 * q)


def run_feedback(run: System, motion: Waypoints, *, integral: bool = False) -> dict[str, float]:
    """Run wiring a."""
    gains = feedback(run.arm, run.rate, integral)
    run.spawn(Controllers({JTC: trajectory_controller(run.arm, gains=gains)}), [JTC])
    return follow(run, f"{JTC}/joint_trajectory", motion)


def run_effort(run: System, motion: Waypoints) -> dict[str, float]:
    """Run wiring b."""
    gains = feedback(run.arm, run.rate)
    run.spawn(Controllers({JTC: trajectory_controller(run.arm, gains=gains)}), [JTC])
    held, moved = (
        with_effort(interpolate(x), efforts(run.arm), tolerance=0.1)
        for x in (at_rest(motion), motion)
    )
    run.send(f"{JTC}/joint_trajectory", held, PAST_S)
    return follow(run, f"{JTC}/joint_trajectory", moved, motion)


def run_nodes(run: System, motion: Waypoints) -> dict[str, float]:
    """Run wiring c."""
    controllers = Controllers(
        {
            STATES: {"type": "joint_state_broadcaster/JointStateBroadcaster"},
            FORWARD: {
                "type": "forward_command_controller/ForwardCommandController",
                "joints": list(run.arm.robot.joint_names),
                "interface_name": "effort",
            },
        }
    )
    run.spawn(controllers, [STATES, FORWARD])
    urdf = run.folder / "nominal.urdf"
    urdf.write_text(run.arm.urdf)
    common = {"urdf_path": urdf, "rate": run.rate}
    remap = ["-r", f"effort_command:=/{FORWARD}/commands"]
    controller = run.start_node("controller_node", common, *remap)
    feedforward = run.start_node("feedforward_node", common)
    controller.wait_for_log("tracking the reference")
    feedforward.wait_for_log("ready for trajectories")
    return follow(run, "joint_trajectory", motion, begin=0.5)


def run_model(run: System, motion: Waypoints) -> dict[str, float]:
    """Run wiring d."""
    spawn_chain(run, CONTROLLER, {"type": TYPE, "model": str(model_of(run.workspace, run.arm))})
    return follow(run, f"{JTC}/joint_trajectory", motion)


def model_of(workspace: Workspace, arm: Arm) -> Path:
    """Return the path of the model library of an arm."""
    return workspace.folder / f"{arm.name}.so"


def spawn_chain(run: System, name: str, parameters: dict[str, Any], *words: str) -> None:
    """Activate a controller with joint_trajectory_controller in front of it."""
    front = trajectory_controller(
        run.arm,
        command_joints=[f"{name}/{joint}" for joint in run.arm.robot.joint_names],
        command_interfaces=["position", "velocity", "acceleration"],
    )
    controllers = Controllers({name: parameters, JTC: front})
    run.spawn(controllers, [name, JTC], "--activate-as-group", *words)


WIRINGS: dict[str, Callable[[System, Waypoints], dict[str, float]]] = {
    "a": run_feedback,
    "ai": lambda run, motion: run_feedback(run, motion, integral=True),
    "b": run_effort,
    "c": run_nodes,
    "d": run_model,
    "di": run_model,
    "dk": run_model,
}

MODEL_WIRINGS = ("d", "di", "dk")

ABOUT = {
    "a": "JTC, PD",
    "ai": "JTC, PID",
    "b": "JTC, PD and effort",
    "c": "nodes over topics",
    "d": "JTC, model controller",
    "di": "the same, identified",
    "dk": "the same, known friction",
}


def follow(
    run: System,
    topic: str,
    motion: Waypoints,
    planned: Waypoints | None = None,
    begin: float = PAST_S,
) -> dict[str, float]:
    """Let the arm settle, send the motion, wait for its end, and return the shares of processors.

    Args:
        run: The processes.
        topic: Where the motion goes.
        motion: As it is sent.
        planned: As it is compared, if different.
        begin: System time of its start, s after that of the publication.
    """
    run.watch(SETTLE_S)
    run.send(topic, motion, begin)
    duration = (planned or motion).duration
    return run.watch(duration + begin + 0.2)


@dataclass(frozen=True)
class Tracking:
    """Result of one run.

    Attributes:
        rms: RMS of the position errors of each joint, rad or m.
        worst: Largest position error, rad or m.
        step: Largest change of a command from one cycle to the next in motion, N m or N.
        speed: Largest speed, rad/s or m/s.
        update: Median and 99.9th percentile of the time of all controllers in a cycle, s.
        period: Median and 99.9th percentile of the periods, s.
        shares: Shares of a processor, by process.
    """

    rms: list[float]
    worst: float
    step: float
    speed: float
    update: tuple[float, float]
    period: tuple[float, float]
    shares: dict[str, float]

    @property
    def overall(self) -> float:
        """RMS of the position errors of all joints, rad or m."""
        return float(np.sqrt(np.mean(np.square(self.rms))))


def evaluated(run: System, motion: Waypoints, shares: dict[str, float]) -> Tracking:
    """Compare the log of the plant with the planned motion."""
    log = run.plant_log().between(run.began, run.began + motion.duration)
    error = log.q - interpolate(motion).sample(log.t - run.began).q

    def distribution(values: Array) -> tuple[float, float]:
        return float(np.median(values)), float(np.quantile(values, 0.999))

    return Tracking(
        np.sqrt(np.mean(error**2, axis=0)).tolist(),
        float(np.abs(error).max()),
        log.peak_step,
        log.peak_speed,
        distribution(log.update),
        distribution(log.period),
        {name: share for name, share in shares.items() if share > 0.0005},
    )


def table(arm: Arm, rate: float, results: dict[str, Tracking]) -> Table:
    """Return the results of one robot."""
    error = f"{100 * arm.mass_error:g} % more mass and {100 * arm.friction:g} % friction"
    header = ["wiring", "RMS, mrad", *(f"{k + 1}" for k in range(arm.robot.dof))]
    header += ["peak, mrad", "step, N m", "update, us", "99.9 %", "period 99.9 %, us", "CPU"]
    rows = []
    for wiring, result in results.items():
        shares = ", ".join(f"{name} {100 * x:.0f} %" for name, x in result.shares.items())
        rows.append(
            [
                f"{wiring} {ABOUT[wiring]}",
                f"{1e3 * result.overall:.3f}",
                *(f"{1e3 * x:.3f}" for x in result.rms),
                f"{1e3 * result.worst:.2f}",
                f"{result.step:.2f}",
                *(f"{1e6 * x:.1f}" for x in result.update),
                f"{1e6 * result.period[1]:.0f}",
                shares,
            ]
        )
    about = f"Position errors of a plant with {error}, by joint; step: of an effort in one cycle."
    return Table(f"{arm.name}, {rate:g} Hz", about, header, rows)


def measure(workspace: Workspace, arm: Arm, rate: float, seconds: float, wiring: str) -> Tracking:
    """Run one wiring."""
    folder = Path(tempfile.mkdtemp(prefix=f"{arm.name}_{wiring}_", dir=workspace.folder))
    motion = arm.motion(seconds)
    with system(workspace, arm, rate, folder) as run:
        run.start_manager()
        return evaluated(run, motion, WIRINGS[wiring](run, motion))


def knowing(workspace: Workspace, arm: Arm, rate: float, wiring: str) -> Arm:
    """Return the arm with the model of a wiring, whose library is written.

    Args:
        workspace: Where it is written.
        arm: The arm without its friction.
        rate: Of controller_manager, Hz.
        wiring: One of `WIRINGS`.
    """
    if wiring == "dk":
        arm = arm.knowing_friction()
    if wiring == "di":
        write_model(workspace, arm)
        arm = replace(arm, model=identified(workspace, arm, rate))
    if wiring in MODEL_WIRINGS:
        write_model(workspace, arm)
    return arm


def write_model(workspace: Workspace, arm: Arm) -> None:
    """Write the model library of an arm."""
    file = model_of(workspace, arm).with_suffix(".urdf")
    file.write_text(arm.urdf)
    workspace.write_model(file)


def identified(workspace: Workspace, arm: Arm, rate: float) -> str:
    """Return the URDF that is identified from the training motion under wiring d."""
    folder = Path(tempfile.mkdtemp(prefix=f"{arm.name}_training_", dir=workspace.folder))
    with system(workspace, arm, rate, folder) as run:
        run.start_manager()
        run_model(run, arm.training)
        log = run.plant_log().between(run.began, run.began + arm.training.duration)
        recording = folder / "training.csv"
        log.write_csv(recording, arm.robot.joint_names)
    return workspace.identify(model_of(workspace, arm).with_suffix(".urdf"), recording)


def add_workspace(parser: argparse.ArgumentParser) -> None:
    """Add the options about the workspace."""
    parser.add_argument("--setup", type=Path, help="shell file of a ROS installation to source")
    parser.add_argument("--workspace", type=Path, help="folder to build in, and keep")


def add_out(parser: argparse.ArgumentParser) -> None:
    """Add the option about the results."""
    parser.add_argument("--out", type=Path, help="JSON file of the results")


def workspace_of(options: argparse.Namespace, stack: ExitStack) -> Workspace:
    """Return the workspace of the options; without one it is temporary."""
    folder = options.workspace
    if folder is None:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ros2_control_")))
    return Workspace(folder.resolve(), options.setup)


def built_workspace(
    options: argparse.Namespace, stack: ExitStack, *, controllers: bool = True
) -> Workspace:
    """Return the workspace of the options with plant and perhaps our controllers, built."""
    workspace = workspace_of(options, stack)
    workspace.add_plant()
    if controllers:
        workspace.add_controllers()
    workspace.build()
    return workspace


def export(workspace: Workspace, arms: Sequence[Arm]) -> None:
    """Copy the controllers into the workspace, and write the models of arms."""
    workspace.add_controllers()
    for arm in arms:
        write_model(workspace, arm)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the wirings and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmark.ros2_control", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--robots", nargs="+", default=["ur5", *LOCKED])
    parser.add_argument("--rate", type=float, default=1000.0, help="of controller_manager, Hz")
    parser.add_argument("--seconds", type=float, default=20.0, help="duration of the motion")
    parser.add_argument("--only", nargs="+", choices=WIRINGS, default=list(WIRINGS))
    parser.add_argument("--mass-error", type=float, default=0.1, help="relative, of the plant")
    parser.add_argument("--friction", type=float, default=FRICTION_SHARE, help="of effort limits")
    add_workspace(parser)
    add_out(parser)
    options = parser.parse_args(arguments)
    leave_nothing_behind()
    console, failed = Console(width=200), False
    arms = [Arm(name, options.mass_error, options.friction) for name in options.robots]
    content: dict[str, Any] = {"machine": conditions(), "rate": options.rate, "robots": {}}
    with ExitStack() as stack:
        ours = bool(set(MODEL_WIRINGS) & set(options.only))
        workspace = built_workspace(options, stack, controllers=ours)
        for arm in arms:
            results: dict[str, Tracking] = {}
            for wiring in options.only:
                try:
                    known = knowing(workspace, arm, options.rate, wiring)
                    found = measure(workspace, known, options.rate, options.seconds, wiring)
                except SystemFailure as failure:
                    console.print(f"{arm.name}, {wiring}: not measured: {failure}", markup=False)
                    failed = True
                    continue
                results[wiring] = found
                console.print(f"{arm.name}, {wiring}: {1e3 * found.overall:.3f} mrad")
            console.print(table(arm, options.rate, results).rich())
            content["robots"][arm.name] = {
                wiring: {**vars(result), "overall": result.overall}
                for wiring, result in results.items()
            }
            content["load average"] = os.getloadavg()[0]
            if options.out:
                write_json(options.out, content)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
