"""Faults under a real controller_manager, and what the arm did in each run."""

from __future__ import annotations

import shutil
import signal
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np

from benchmark.faults.managed_arm import ManagedArm
from benchmark.faults.managed_scene import Scene
from benchmark.faults.plant import VELOCITY_NOISE
from benchmark.faults.poses import AFTER_S, DURATION_S, STEEPEST
from benchmark.faults.runs import WATCHED_S, Case, Result, words
from benchmark.nodes.processes import SystemFailure, wait_until
from benchmark.ros2_control.plant_log import PlantLog, is_due
from benchmark.ros2_control.system import MANAGER, System, system
from benchmark.ros2_control.tracking import CONTROLLER, JTC
from benchmark.ros2_control.workspace import Workspace
from robot_dynamics.control.gains import DEFAULT_BANDWIDTH, DEFAULT_DAMPING_RATIO
from robot_dynamics.control.limits import default_effort_rates

SETTLE_S = 1.0
"""Time between the activation and a trajectory, s."""

SENDS = 5
"""Number of attempts to send a trajectory."""

TURN_S, TURNS = 0.1, 5
"""Time between two trajectories that come by turns, s, and their number."""

OTHER_S, STOPPED_S = 0.5, 1.0
"""Time for which another source sends references, and for which a source is stopped, s."""

OF_PLANT = {
    "none": 0.0,
    "gap": 0.09,
    "long gap": 0.5,
    "not a number": 0.5,
    "missing joint": 0.5,
    "late": 0.5,
    "bursts": 0.5,
    "position glitch": 0.0,
    "velocity glitch": 0.0,
    "frozen joint": 0.3,
    "another pose": 1.0,
    "brakes": 0.5,
    "commands lost": 0.09,
}
"""Faults of the hardware component, and for how long they last, s; 0 for one cycle."""


def _two_trajectories(scene: Scene) -> None:
    for k in range(TURNS):
        scene.send(scene.motion_to(scene.arm.far if k % 2 else scene.arm.start))
        time.sleep(TURN_S)


def _source_stops(scene: Scene) -> None:
    scene.signal("source", signal.SIGSTOP)
    time.sleep(STOPPED_S)
    scene.signal("source", signal.SIGCONT)


Event = Callable[[Scene], None]

OF_CHAIN: dict[str, Event] = {
    "two trajectories": _two_trajectories,
    "trajectory elsewhere": Scene.send_elsewhere,
    "joint_trajectory_controller deactivated": lambda scene: scene.run.switch([], [JTC]),
    "action client, kill -9": lambda scene: scene.signal("client", signal.SIGKILL),
}
"""Faults of what comes before joint_trajectory_controller."""

OF_REFERENCES: dict[str, Event] = {
    "reference jumps": lambda _: None,
    "two references": lambda scene: scene.signal("other", signal.SIGCONT),
    "reference source, kill -9": lambda scene: scene.signal("source", signal.SIGKILL),
    "reference source, SIGSTOP": _source_stops,
}
"""Faults of what publishes `~/reference`, without joint_trajectory_controller."""

FAULTS = (*OF_PLANT, *OF_CHAIN, *OF_REFERENCES)


def measured(case: Case, arm: ManagedArm, workspace: Workspace, keep: Path | None = None) -> Result:
    """Let the fault of a case happen in motion, and return what the arm did.

    Args:
        case: The run.
        arm: Its arm.
        workspace: Where the plant and the controllers are built.
        keep: Folder for the logs of the plant and of controller_manager.
    """
    with (
        tempfile.TemporaryDirectory(prefix="fault_", dir=workspace.folder) as folder,
        system(workspace, arm, case.rate, Path(folder)) as run,
    ):
        try:
            moment = _let_it_happen(case, Scene(run, arm))
            says, ends = words(run.programs[MANAGER].log, moment, CONTROLLER)
            return judged(arm, run.plant_log(), says, ends)
        except SystemFailure as failure:  # the others go on
            return Result(failure=str(failure).partition("\n")[0])
        finally:
            if keep is not None and MANAGER in run.programs:
                _keep(run, keep, f"{case.robot} {case.rate:g} {case.fault}")


def _let_it_happen(case: Case, scene: Scene) -> float:
    """Move the arm, and return the system time at which the fault began, s."""
    run, kind = scene.run, case.fault if case.fault in OF_PLANT else "none"
    fault = {"fault": kind, "fault_after": AFTER_S, "fault_for": OF_PLANT[kind]}
    run.start_manager({**fault, "velocity_noise": VELOCITY_NOISE})
    if case.fault in OF_REFERENCES:
        scene.activate_alone()
        if case.fault == "two references":
            scene.prepare_another_source(OTHER_S)
        scene.start_source(case.fault == "reference jumps")
    else:
        scene.activate_chain()
        run.watch(SETTLE_S)
        if case.fault.startswith("action client"):
            scene.start_goal()
        else:
            _send_until_due(scene)
    wait_until(lambda: is_due(run.log_file), "motion", 20.0)
    moment = time.time()
    event = {**OF_CHAIN, **OF_REFERENCES}.get(case.fault)
    if event is not None:
        event(scene)
    time.sleep(max(moment + WATCHED_S - time.time(), 0.0))
    return moment


def _send_until_due(scene: Scene) -> None:
    """Send the motion until the fault is due: a message may be lost on its way."""
    for _ in range(SENDS):
        scene.send(scene.motion_to(scene.arm.far))
        with suppress(SystemFailure):
            wait_until(lambda: is_due(scene.run.log_file), "motion", DURATION_S)
            return


def _keep(run: System, folder: Path, name: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if run.log_file.exists():
        shutil.copy(run.log_file, folder / f"{name}.plant")
    shutil.copy(run.programs[MANAGER].file, folder / f"{name}.log")


def judged(arm: ManagedArm, log: PlantLog, says: str, ends: str) -> Result:
    """Return the result of a run.

    Args:
        arm: The arm.
        log: What it did.
        says: Sentence of the controller.
        ends: Its last status.
    """
    begin = int(np.argmax(log.due))
    planned = STEEPEST * abs(arm.far - arm.start) / DURATION_S
    qd, q = log.qd[begin:], log.q[begin:]
    excess = (abs(qd).max(axis=0) - planned) / arm.robot.limits.velocity
    low, high = np.minimum(arm.start, arm.far), np.maximum(arm.start, arm.far)
    beyond = np.maximum(low - q, q - high).max()
    final = log.between(log.t[-1] - 0.2, np.inf).peak_speed
    step = relative_steps(arm, log, begin)
    return Result(float(excess.max()), max(float(beyond), 0.0), step, says, ends, final=final)


def relative_steps(arm: ManagedArm, log: PlantLog, begin: int) -> float:
    """Return the largest change of a command from a cycle on, relative to that of `effort_rate`."""
    rates = default_effort_rates(arm.robot, DEFAULT_BANDWIDTH, DEFAULT_DAMPING_RATIO)
    changes = abs(np.diff(log.command, axis=0)) / (rates * log.period[1:, None])
    largest = changes[max(begin - 1, 0) :].max()
    return float(largest) if np.isfinite(largest) else np.inf
