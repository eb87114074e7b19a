"""Press on a table, wipe it, stretch the arm and lead it to its joint limits, in MuJoCo."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from benchmark.table_scene import END_EFFECTORS, STEP, TIP, TableScene
from robot_dynamics import Dynamics
from robot_dynamics.control import Controller, Measured, Model, Settings, SoftLimits, gains_for
from robot_dynamics.control.limits import default_effort_rates
from robot_dynamics.control.sampled_loop import Sampling
from robot_dynamics.control.sampling.tuning import Tuner
from robot_dynamics.control.task import Task
from robot_dynamics.control.task_settings import FORCE, MOTION, ForceFeedback
from robot_dynamics.control.task_space import IMPEDANCE, OPERATIONAL_SPACE
from robot_dynamics.simulation import with_mass_scaled
from robot_dynamics.spatial import Pose

FORCE_N, SPEED = 10.0, 0.1
"""Force on the table, N, and speed along it, m/s."""

WRONG = (0.9, 1.1)
"""Masses of the model relative to those of the arm."""

NOISE, SENSOR_DELAY_S = 0.1, 0.004
"""Standard deviation of the measured force, N, and its delay, s."""

ABOUT_FEEDBACK = (
    "Pressing with masses of the model that are 10 % wrong, with feedback of a force with a noise "
    f"of {NOISE:g} N and a delay of {1e3 * SENSOR_DELAY_S:g} ms:"
)
"""Line above the table of `wrong_rows`."""

PRESSED = (MOTION, MOTION, FORCE, MOTION, MOTION, MOTION)
"""Directions in which the end effector presses on the table."""

STREAM_S = 0.01
"""Period of the targets of a stream, s."""


class Record(NamedTuple):
    """Course of a run.

    Attributes:
        force: Of the end effector on the table, shape (N,), N.
        error: Of the end effector in the task, shape (N, 6), m and rad.
        tau: Joint efforts, shape (N, n), N m.
        q: Joint positions, shape (N, n), rad.
        singularity: Shape (N,).
    """

    force: np.ndarray
    error: np.ndarray
    tau: np.ndarray
    q: np.ndarray
    singularity: np.ndarray


class Run:
    """An arm above the table under a controller at 1 kHz.

    Args:
        robot: One of `END_EFFECTORS`.
        mode: A mode in task space.
        controlled: As of `TaskSettings`.
        margin: Width of the springs at the joint limits, rad.
        masses: Of the model of the controller, relative to those of the arm.
        feedback: Of the force, by a sensor with noise and delay.
    """

    def __init__(
        self,
        robot: str,
        mode: str,
        controlled: tuple[str, ...],
        margin: float = 0.0,
        masses: float = 1.0,
        feedback: ForceFeedback | None = None,
    ) -> None:
        self.scene = TableScene(robot)
        arm = self.arm = Dynamics(with_mass_scaled(self.scene.robot, masses))
        gains = gains_for(arm)
        tuned = Tuner(arm).model(Model(arm, gains), gains, 20.0, Sampling.of(STEP))
        self.task = Task(tuned, TIP)
        self.task.use(replace(self.task.settings, controlled=controlled, feedback=feedback))
        self._noise = np.random.default_rng(0)
        self._late: deque[np.ndarray] = deque(maxlen=1 + round(SENSOR_DELAY_S / STEP))
        self.rate = default_effort_rates(arm.robot, 20.0, 1.0)
        soft = SoftLimits.of(arm.robot, gains.kd, margin=margin) if margin else None
        settings = Settings(mode=mode, settling_time=0.0, effort_rate=self.rate, soft_limits=soft)
        self.controller = Controller(tuned, settings, self.task)
        self.state = self.scene.reset()
        self._cycle()
        self.start = self.task.target.pose

    def _cycle(self) -> np.ndarray:
        now = self.scene.time
        if self.task.settings.feedback is not None:
            self._measure(now)
        self.controller.set_state(Measured(self.state.q.copy(), self.state.qd.copy()), now)
        command = self.controller.update(now)
        assert command is not None
        return command.tau

    def _measure(self, now: float) -> None:
        """Measure the wrench on the table, in axes of the end effector."""
        R = self.arm.pose(self.state.q, TIP).rotation
        measured_wrench = (self.state.wrench.reshape(2, 3) @ R).ravel()
        self._late.append(
            measured_wrench + self._noise.normal(size=6) * np.repeat([NOISE, 0.1 * NOISE], 3)
        )
        self.task.set_measured_wrench(self._late[0], now)

    def press(self) -> None:
        """Press downwards from now on."""
        self.task.exert(np.array([0.0, 0.0, -FORCE_N, 0.0, 0.0, 0.0]), self.scene.time, np.inf)

    def run(self, seconds: float, target: Callable[[float], np.ndarray] | None = None) -> Record:
        """Go on for a time, with targets that are displaced from the start by a function of it."""
        rows, begin = [], self.scene.time
        for k in range(round(seconds / STEP)):
            if target is not None and k % round(STREAM_S / STEP) == 0:
                place = self.start.translation + target(self.scene.time - begin)
                self.task.aim(Pose(self.start.rotation, place), self.scene.time)
            tau = self._cycle()
            self.state = self.scene.step(tau)
            error = self.task.field("task_error").copy()
            singularity = self.task.field("singularity").item()
            rows.append((-self.state.wrench[2], error, tau, self.state.q, singularity))
        return Record(*map(np.array, zip(*rows, strict=True)))


def _rate(run: Run, *records: Record) -> float:
    """Return the largest change of effort as a share of its limit."""
    changes = [np.abs(np.diff(record.tau, axis=0)).max(axis=0) / STEP for record in records]
    return float((np.max(changes, axis=0) / run.rate).max())


def _shakes(tau: np.ndarray) -> float:
    """Return how much efforts vary at rest, N m."""
    return float(np.ptp(tau, axis=0).max())


def rows() -> list[str]:
    """Return a table of all runs."""
    table = [
        "| arm, mode | pressing: force, N | wiping at 0.1 m/s: force, N | wiping: error across, mm "
        "| effort rate, share of limit | stretched: efforts at rest vary by, N m "
        "| at a joint limit: they vary by, N m |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for robot in END_EFFECTORS:
        for mode in (IMPEDANCE, OPERATIONAL_SPACE):
            run = Run(robot, mode, PRESSED)
            run.run(0.2)
            run.press()
            touch = run.run(1.5)
            press = run.run(1.0)
            wipe = run.run(2.0, lambda t: np.array([0.0, SPEED * t, 0.0]))
            steady = wipe.force[500:]
            share = _rate(run, press, wipe)
            stretch = Run(robot, mode, (MOTION,) * 6)
            stretch.run(0.2)
            away = stretch.run(8.0, lambda _: np.array([1.0, 0.0, 0.3]))
            limit = Run(robot, mode, (MOTION,) * 6, margin=0.1)
            limit.run(0.2)
            # To a side, until the first joint turns no farther
            ended = limit.run(8.0, lambda _: np.array([-0.3, 0.9, 0.1]))
            share = max(share, _rate(stretch, away), _rate(limit, ended))
            del touch
            table.append(
                f"| {robot}, {mode} | {press.force.min():.2f} to {press.force.max():.2f} "
                f"| {steady.min():.2f} to {steady.max():.2f} "
                f"| {1e3 * np.abs(wipe.error[500:, 0]).max():.1f} | {share:.2f} "
                f"| {_shakes(away.tau[-500:]):.3f} | {_shakes(ended.tau[-500:]):.3f} |"
            )
    return table


def _settles(force: np.ndarray) -> float:
    """Return the time from the contact until the force stays within 0.5 N, s."""
    off = np.flatnonzero(np.abs(force - FORCE_N) > 0.5)
    return float(STEP * (off.max() - np.argmax(force > 0.0))) if off.size else 0.0


def wrong_rows() -> list[str]:
    """Return a table of pressing with a wrong model, with feedback of the force and without."""
    table = [
        "| arm, mode, masses of the model | pressing without feedback: force, N | with feedback, N "
        "| within 0.5 N after, s | wiping at 0.1 m/s, N |",
        "| --- | --- | --- | --- | --- |",
    ]
    for robot, mode, masses in itertools.product(
        END_EFFECTORS, (IMPEDANCE, OPERATIONAL_SPACE), WRONG
    ):
        found = []
        for feedback in (None, ForceFeedback()):
            run = Run(robot, mode, PRESSED, masses=masses, feedback=feedback)
            run.run(0.2)
            run.press()
            touch = run.run(2.0)
            found.append((touch, run.run(1.0).force))
        wipe = run.run(2.0, lambda t: np.array([0.0, SPEED * t, 0.0])).force[500:]
        (_, bare), (touch, held) = found
        table.append(
            f"| {robot}, {mode}, {masses:.0%} | {bare.min():.1f} to {bare.max():.1f} "
            f"| {held.min():.2f} to {held.max():.2f} | {_settles(touch.force):.2f} "
            f"| {wipe.min():.2f} to {wipe.max():.2f} |"
        )
    return table
