"""Push arms that hold their end effector under default gains, at several rates and delays.

The states are late by the delay, and a command acts one period after the state that it answers.
The end effector is pushed for a tenth of a second, and is given a target 5 cm and 0.2 rad away. An
arm oscillates if a joint turns back and forth four times in the last two seconds, beyond 5 mrad/s
each time, and no slower at their end. An arm that only leaves a singularity slowly does not turn.
"""

from __future__ import annotations

import itertools
from collections import deque
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from typing import NamedTuple

import numpy as np
from rich.console import Console

from benchmark.progress_bar import progress_bar, step
from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.control import Controller, Measured, Model, Settings, gains_for
from robot_dynamics.control.sampled_loop import Sampling
from robot_dynamics.control.sampling.tuning import Tuner
from robot_dynamics.control.task import Task
from robot_dynamics.control.task_space import IMPEDANCE, OPERATIONAL_SPACE
from robot_dynamics.robot import find_robot
from robot_dynamics.spatial import Pose, rotation_about
from robot_dynamics.trajectory.motions import sample_poses

END_EFFECTORS = {"panda": "panda_hand", "ur5": "tool0"}
RATES, DELAYS = (100.0, 250.0, 500.0, 1000.0), (0.0, 0.002, 0.005, 0.01)
STEP = 1e-3
PUSH, PUSHED, WATCHED = 20.0, 0.1, 4.0
STILL, TURNS, JUDGED = 5e-3, 4, 2.0
"""Speed of a joint at rest, rad/s or m/s; turns of an oscillation; time that is judged, s."""


class Case(NamedTuple):
    """One run: an arm, a mode, a rate in Hz, a delay in s, and a pose by number."""

    robot: str
    mode: str
    rate: float
    delay: float
    pose: int


@cache
def _arm(robot: str) -> tuple[Dynamics, Tuner, np.ndarray]:
    description = read_urdf(find_robot(robot))
    locked = {name: 0.0 for name in description.joint_names if "finger" in name}
    arm = Dynamics(description.with_locked(locked) if locked else description)
    return arm, Tuner(arm), sample_poses(arm.robot)


def oscillates(case: Case) -> bool:
    """Return whether an arm oscillates after a push and a short way."""
    arm, tuner, poses = _arm(case.robot)
    period, n = 1.0 / case.rate, arm.robot.dof
    gains = gains_for(arm)
    model = tuner.model(Model(arm, gains), gains, 20.0, Sampling.of(period, case.delay))
    task = Task(model, END_EFFECTORS[case.robot])
    controller = Controller(model, Settings(mode=case.mode, settling_time=0.0), task)
    q, qd = poses[case.pose].copy(), np.zeros(n)
    states = deque([(q, qd)] * (round(case.delay / STEP) + 1))
    tau = following = arm.gravity(q)
    steps, speeds = round(period / STEP), []
    push = np.random.default_rng(case.pose).normal(size=6) * np.repeat([1.0, 0.1], 3) * PUSH
    for k in range(round(WATCHED / STEP)):
        now = k * STEP
        if k % steps == 0:
            seen = states[0]
            controller.set_state(Measured(*seen), now)
            if k == 0:
                controller.update(now)
                start = task.target.pose
                turn = rotation_about(np.array([0.0, 0.0, 1.0]), np.asarray(0.2))
                task.aim(Pose(turn @ start.rotation, start.translation + 0.03), now)
            tau, following = following, controller.update(now).tau
        external = arm.jacobian(q, task.end_effector).T @ push if now < PUSHED else 0.0
        qd = qd + STEP * arm.forward(q, qd, tau + external)
        q = q + STEP * qd
        states.append((q, qd))
        states.popleft()
        speeds.append(qd)
    return any(_turns(joint) for joint in np.array(speeds[-round(JUDGED / STEP) :]).T)


def _turns(speed: np.ndarray) -> bool:
    """Return whether a joint keeps turning back and forth."""
    signs = np.sign(speed[np.abs(speed) > STILL])
    half = len(speed) // 2
    lasts = np.abs(speed[half:]).max() > 0.5 * np.abs(speed[:half]).max()
    return bool(np.count_nonzero(np.diff(signs)) >= TURNS and lasts)


def lines(poses: int, console: Console) -> list[str]:
    """Run every case and return the results in words."""
    modes = (IMPEDANCE, OPERATIONAL_SPACE)
    cases = [
        Case(*values)
        for values in itertools.product(END_EFFECTORS, modes, RATES, DELAYS, range(poses))
    ]
    for robot in END_EFFECTORS:
        _arm(robot)
    found = []
    with (
        ProcessPoolExecutor() as pool,
        progress_bar(console) as bar,
        step(bar, "rates and delays", len(cases)) as advance,
    ):
        for case, bad in zip(cases, pool.map(oscillates, cases), strict=True):
            advance()
            if bad:
                found.append(case)
                bar.console.print(f"oscillates: {case}")
    rates = ", ".join(f"{rate:g}" for rate in RATES)
    delays = ", ".join(f"{1e3 * delay:g}" for delay in DELAYS)
    return [
        f"Default gains at {rates} Hz and delays of {delays} ms, both modes, "
        f"{', '.join(END_EFFECTORS)}, {poses} poses each: {len(found)} of {len(cases)} runs "
        "oscillate."
    ]
