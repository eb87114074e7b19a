"""Streams of target poses: the error of the target for every rate, jitter and loss.

The target alone is simulated, with an end effector that is where it is led to. A sine of 80 mm at
0.3 Hz is sampled and sent. `python -m benchmark.task_space.streams` writes a table to
benchmark/records/task-space.md within a minute.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmark.table import Table, replace_part
from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.control import Controller, Model, Settings, Status, gains_for
from robot_dynamics.control.task import Task
from robot_dynamics.control.task_settings import TaskSettings
from robot_dynamics.control.task_space import IMPEDANCE
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot import find_robot
from robot_dynamics.spatial import Pose, rotation_about
from robot_dynamics.trajectory.streams import MARGIN

PAGE = Path(__file__).parents[1] / "records" / "task-space.md"
AMPLITUDE_M, AMPLITUDE_RAD, FREQUENCY = 0.08, 0.1, 0.3
PERIOD_S = 2e-3
SECONDS, SETTLED_S = 24.0, 4.0
RATES = (10.0, 20.0, 50.0, 100.0)
ANOTHER_EPOCH_S = 100.0


@dataclass(frozen=True)
class Stream:
    """Disturbances of a stream of poses on its way.

    Args:
        rate: Mean rate, Hz.
        uneven: Largest change of an interval between two poses, relative to their mean.
        late: Largest delay of a message, relative to the mean interval.
        lost: Share of messages that are lost.
        stamped: Whether messages have stamps.
        offset: Difference of the clocks of sender and receiver, s.
        noise: Standard deviation of the positions, m.
    """

    rate: float
    uneven: float = 0.0
    late: float = 0.0
    lost: float = 0.0
    stamped: bool = True
    offset: float = 0.0
    noise: float = 0.0

    def messages(self, seconds: float, seed: int = 0) -> Iterator[tuple[float, float]]:
        """Return the times of sending and arrival of the messages that arrive, in order, s."""
        rng, sent, last = np.random.default_rng(seed), 0.5, 0.0
        while sent < seconds:
            came = max(sent + self.late * rng.random() / self.rate, last)
            if rng.random() >= self.lost:
                yield sent, came
                last = came
            sent += (1.0 + self.uneven * rng.uniform(-1.0, 1.0)) / self.rate


def path(time: float | Array) -> Array:
    """Return the sine along an axis and about it, m and rad."""
    s = np.sin(2.0 * np.pi * FREQUENCY * np.asarray(time))
    return np.array([AMPLITUDE_M * s, AMPLITUDE_RAD * s])


@dataclass(frozen=True)
class Motion:
    """A target that moved.

    Args:
        time: Times of the cycles, shape (N,), s.
        displacement: Way and angle of the target at them, shape (2, N), m and rad.
        acceleration: Its linear acceleration, shape (N,), m/s^2.
        delay: Time by which it is meant to be behind the poses that were sent, s.
    """

    time: Array
    displacement: Array
    acceleration: Array
    delay: float

    def error(self, behind: float = 0.0) -> Array:
        """Return the RMS errors from the path a time ago, m and rad."""
        error = self.displacement - path(self.time - behind)
        return np.asarray(np.sqrt(np.mean(error**2, axis=1)))

    @property
    def ideal(self) -> Array:
        """RMS errors of the path itself where it is delayed as much."""
        error = path(self.time - self.delay) - path(self.time)
        return np.asarray(np.sqrt(np.mean(error**2, axis=1)))

    @property
    def at_limit(self) -> float:
        """Share of the time at the largest acceleration."""
        limit = TaskSettings(np.ones(6), np.ones(6)).acceleration[0]
        return float(np.mean(np.abs(self.acceleration) > 0.999 * limit))

    @property
    def jerk(self) -> float:
        """Largest linear jerk, m/s^3."""
        return float(np.abs(np.diff(self.acceleration)).max() / PERIOD_S)


class Target:
    """The target of a robot whose end effector is always where it is led to."""

    def __init__(self, robot: str = "ur5") -> None:
        arm = Dynamics(read_urdf(find_robot(robot)))
        model = Model(arm, gains_for(arm))
        self.task = Task(model, "tool0")
        self.controller = Controller(model, Settings(mode=IMPEDANCE), self.task)
        self.now = 0.0
        self._q = np.full(arm.robot.dof, 0.5)
        self.start = self.task.pose(model, self._q)

    @property
    def delay(self) -> float:
        """Time by which the target is meant to be behind the stamps, s."""
        names = ("stream_offset", "stream_interval", "stream_late")
        offset, interval, late = (float(self.controller.field(name)[0]) for name in names)
        return offset + interval + max(MARGIN * interval, late)

    def cycle(self) -> None:
        """Move the target on."""
        x, self.now = self.controller.fields_to_write(), self.now + PERIOD_S
        known = {"seen": 1.0, "leads": 1.0, "status": Status.TRACKING, "dt": PERIOD_S}
        for name, value in known.items():
            x[name][0] = value
        x["q"][:] = self._q
        self.controller.arrived["now"][0] = self.now
        self.controller.evaluate(("target",))


def moved(stream: Stream, seed: int = 0, seconds: float = SECONDS) -> Motion:
    """Return the motion of a target that follows a stream."""
    target = Target()
    start, axis = target.start, np.array([0.0, 0.0, 1.0])
    messages = iter([*stream.messages(seconds, seed), (np.inf, np.inf)])
    sent, came = next(messages)
    rows, stamp, noise = [], 0.0, np.random.default_rng(seed + 1)
    for _ in range(round(seconds / PERIOD_S)):
        while came <= target.now:
            displacement, angle = path(sent)
            displacement = displacement + stream.noise * noise.normal()
            pose = Pose(
                rotation_about(axis, np.asarray(angle)) @ start.rotation,
                start.translation + [displacement, 0.0, 0.0],
            )
            stamp = ANOTHER_EPOCH_S + stream.offset + sent if stream.stamped else 0.0
            target.task.aim(pose, target.now, stamp)
            sent, came = next(messages)
        target.cycle()
        now = target.task.target
        turn = now.rotation @ start.rotation.T
        rows.append(
            (
                target.now,
                (now.position - start.translation)[0],
                np.arctan2(turn[1, 0], turn[0, 0]),
                now.acceleration[0],
                target.delay + (0.0 if stamp == 0.0 else ANOTHER_EPOCH_S + stream.offset),
            )
        )
    table = np.array([row for row in rows if row[0] > SETTLED_S]).T
    return Motion(table[0], table[1:3], table[3], float(table[4].mean()))


CASES = {
    "as sent": {},
    "intervals ±50 %, 10 % lost": {"uneven": 0.5, "lost": 0.1},
    "up to half an interval late, 10 % lost": {"late": 0.5, "lost": 0.1},
    "all of that": {"uneven": 0.5, "late": 0.5, "lost": 0.1},
    "late and lost, without stamps": {"late": 0.5, "lost": 0.1, "stamped": False},
    "noise of 1 mm": {"noise": 1e-3},
}
"""Disturbances by name."""


def rows() -> list[str]:
    """Return the table."""
    found = []
    for rate in RATES:
        for about, given in CASES.items():
            motion = moved(Stream(rate, **given))
            (error, _), (ideal, _) = 1e3 * motion.error(), 1e3 * motion.ideal
            near, _ = 1e3 * motion.error(motion.delay)
            cells = f"{1e3 * motion.delay:.0f}", f"{error:.1f}", f"{ideal:.1f}", f"{near:.1f}"
            found.append([f"{rate:g} Hz, {about}", *cells, f"{100.0 * motion.at_limit:.0f} %"])
    header = ["stream", "delay, ms", "error, mm", "of the delay alone", "beside it", "at the limit"]
    return Table("", "", header, found).markdown().splitlines()[4:]


def main() -> None:
    """Replace the table in the page."""
    lines = rows()
    replace_part(PAGE, "benchmark.task_space.streams", lines)
    print("\n".join(lines))


if __name__ == "__main__":
    main()
