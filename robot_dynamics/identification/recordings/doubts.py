"""What is doubtful about a recording, before any model is fitted to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import CubicSpline

from robot_dynamics.arrays import Array
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import RecordingError
from robot_dynamics.identification.recordings.recording import Recording
from robot_dynamics.identification.signals import (
    DISAGREEMENT,
    Signals,
    disagreement,
    gaps,
    signals,
)
from robot_dynamics.robot.robot import Robot

SLOW_HZ = 50.0
"""Hz: sampling below it blurs what friction does where a joint turns back."""

STILL = 0.05
"""rad: a joint that turns less shows no inertia and no friction; one that slides, by a tenth, m."""

STOP = 1e-3
"""rad or m: a joint that is nearer to its position limit may lean on a stop."""

LEANS = 0.01
"""Part of the samples at a position limit that is worth a line."""

CONSTANT = 1e-6
"""Spread of an effort, relative to its size, below which nothing was measured."""

RELATED = 0.7
"""Correlation with the efforts of the URDF that tells something of sign and unit."""


SATURATED = 0.98
"""Part of the effort limit above which a motor no longer says what the motion asks for."""

BEYOND = 1.05
"""Part of an effort limit that no motor reaches whose limit it is."""


@dataclass(frozen=True)
class Doubt:
    """One thing that is wrong or odd.

    Args:
        text: What, where, and what to do.
        hopeless: Whether nothing can be identified because of it.
        joint: The joint that it is about, if it is about one.
        serious: Whether what is identified cannot be used, however well it fits.
    """

    text: str
    hopeless: bool = False
    joint: str = ""
    serious: bool = False


def doubts(robot: Robot, recording: Recording) -> list[Doubt]:
    """Everything that is odd about a recording of a robot.

    Raises:
        RecordingError: If it has another number of joints than the robot.
    """
    if recording.q.shape[1] != robot.dof:
        raise RecordingError(
            f"{recording.source}: {recording.q.shape[1]} joints, but robot '{robot.name}' has "
            f"{robot.dof} ({', '.join(robot.joint_names)}); lock those that were not recorded"
        )
    found = [*_of_times(recording), *_of_positions(robot, recording)]
    if any(doubt.hopeless for doubt in found):
        return found
    motion = signals(recording)
    found += _of_velocities(robot, recording, motion)
    found += _of_spectra(robot, recording, motion)
    found += _of_efforts(robot, recording, motion)
    return found


def refuse_hopeless(found: Sequence[Doubt]) -> None:
    """Raise the first doubt that leaves nothing to identify.

    Raises:
        RecordingError: With its text.
    """
    for doubt in found:
        if doubt.hopeless:
            raise RecordingError(doubt.text)


def _of_times(recording: Recording) -> Iterator[Doubt]:
    source, step = recording.source, np.diff(recording.time)
    if recording.rate < SLOW_HZ:
        yield Doubt(f"{source}: {recording.rate:.0f} samples per second are few; 100 show friction")
    found = gaps(recording.time)
    if len(found):
        yield Doubt(
            f"{source}: {len(found)} gaps, the longest of {step[found].max():.3g} s at "
            f"{recording.time[found[np.argmax(step[found])]]:.6g} s; each part is filtered alone"
        )


def _of_positions(robot: Robot, recording: Recording) -> Iterator[Doubt]:
    source, limits = recording.source, robot.limits
    lowest, highest = recording.q.min(axis=0), recording.q.max(axis=0)
    least = still(robot)
    for j, joint in enumerate(robot.independent_joints):
        name, moved = joint.name, highest[j] - lowest[j]
        leans = _at_a_stop(recording.q[:, j], limits.lower[j], limits.upper[j])
        over = max(highest[j] - limits.upper[j], limits.lower[j] - lowest[j])
        if joint.type.rotates and _in_degrees(limits.lower[j], limits.upper[j], recording, j):
            yield Doubt(
                f"{source}: joint '{name}' goes from {lowest[j]:.4g} to {highest[j]:.4g} rad, far "
                "beyond what it can; are positions in degrees? Read them with degrees",
                hopeless=True,
                joint=name,
            )
        elif over > 0.05:
            yield Doubt(f"{source}: joint '{name}' is {over:.3g} beyond its limits", joint=name)
        elif leans > LEANS and moved >= least[j]:
            yield Doubt(
                f"{source}: joint '{name}' is at its position limit in {100 * leans:.0f} % of the "
                "samples, where a stop may bear part of its effort; record a motion within",
                joint=name,
            )
        if moved < least[j]:
            yield Doubt(
                f"{source}: joint '{name}' hardly moves ({moved:.2g}); its inertia and friction "
                "stay as the URDF has them: record a motion of it",
                joint=name,
            )


def still(robot: Robot) -> Array:
    """Range below which each joint is as good as still, shape (n,), rad or m."""
    return np.array([STILL * (1.0 if j.type.rotates else 0.1) for j in robot.independent_joints])


def _at_a_stop(q: Array, lower: float, upper: float) -> float:
    """Part of the samples in which a joint is at a position limit."""
    return float(np.mean((q > upper - STOP) | (q < lower + STOP)))


def _in_degrees(lower: float, upper: float, recording: Recording, j: int) -> bool:
    """Whether a range is too wide in rad for its limits, or for its velocities, and not in degrees.

    One that is only shifted is of a URDF whose joint has its zero elsewhere.
    """
    q = recording.q[:, j]
    moved = float(np.ptp(q))
    if np.isfinite(upper - lower):
        within = lower - 0.1 <= np.radians(q.min()) and np.radians(q.max()) <= upper + 0.1
        return bool(moved > max(1.5 * (upper - lower), 2.0 * np.pi) and within)
    if recording.qd is None or moved < 10.0:
        return False
    derived = np.gradient(q, recording.time)
    ratio = np.sqrt(np.mean(derived**2) / max(np.mean(recording.qd[:, j] ** 2), 1e-300))
    return bool(40.0 < ratio < 80.0)  # 57.3, and velocities in rad/s


def _of_velocities(robot: Robot, recording: Recording, motion: Signals) -> Iterator[Doubt]:
    if recording.qd is None:
        return
    q = CubicSpline(recording.time, recording.q)
    measured = CubicSpline(recording.time, recording.qd)(motion.time)
    apart = disagreement(q(motion.time, 1), measured)
    moving = np.ptp(motion.q, axis=0) > still(robot)
    worst = int(np.argmax(np.where(moving, apart, 0.0)))
    if moving[worst] and apart[worst] > DISAGREEMENT:
        yield Doubt(
            f"{recording.source}: measured velocities of joint '{robot.joint_names[worst]}' differ "
            f"by {100 * apart[worst]:.0f} % from those of its positions; the latter are taken",
            joint=robot.joint_names[worst],
        )


def _of_spectra(robot: Robot, recording: Recording, motion: Signals) -> Iterator[Doubt]:
    left = motion.raw - motion.tau
    size = motion.tau.std(axis=0)
    for j in np.flatnonzero(left.std(axis=0) > 0.3 * np.maximum(size, 1e-12)):
        if size[j] > 0.0:
            yield Doubt(
                f"{recording.source}: {100 * left[:, j].std() / size[j]:.0f} % of the effort of "
                f"joint '{robot.joint_names[j]}' is faster than the filter's edge of "
                f"{motion.edge:.3g} Hz: vibration, noise, or an edge that is too low",
                joint=robot.joint_names[j],
            )


def _of_efforts(robot: Robot, recording: Recording, motion: Signals) -> Iterator[Doubt]:
    source, names, tau = recording.source, robot.joint_names, recording.tau
    limit = robot.limits.effort
    spread = tau.std(axis=0)
    constant = spread <= CONSTANT * np.maximum(np.abs(tau).max(axis=0), 1e-9)
    if constant.all():
        yield Doubt(
            f"{source}: efforts of all joints are constant; nothing was measured", hopeless=True
        )
        return
    for j in np.flatnonzero(constant):
        yield Doubt(
            f"{source}: the effort of joint '{names[j]}' is constant ({tau[0, j]:.4g}); was it "
            "measured?",
            joint=names[j],
        )
    for j in np.flatnonzero(np.abs(tau).max(axis=0) > BEYOND * limit):
        yield Doubt(
            f"{source}: the effort of joint '{names[j]}' reaches {np.abs(tau[:, j]).max():.4g}, "
            f"beyond its limit of {limit[j]:.4g} in the URDF; the limit is not believed",
            joint=names[j],
        )
    at_limit = saturated(tau, limit).mean(axis=0)
    for j in np.flatnonzero(at_limit > 0.01):
        yield Doubt(
            f"{source}: joint '{names[j]}' is at its effort limit of {limit[j]:.4g} in "
            f"{100 * at_limit[j]:.0f} % of the samples; these do not count",
            joint=names[j],
        )
    yield from _of_sign_and_unit(robot, recording, motion)


def saturated(tau: Array, limit: Array) -> Array:
    """Where efforts stand at their limit, shape (N, n): a motor there gives less than is asked.

    A limit that efforts go beyond is none of the motor's.
    """
    believed = np.abs(tau).max(axis=0) <= BEYOND * limit
    return np.asarray((np.abs(tau) > SATURATED * limit) & believed)


def _of_sign_and_unit(robot: Robot, recording: Recording, motion: Signals) -> Iterator[Doubt]:
    source = recording.source
    expected = Dynamics(robot).inverse(motion.q, motion.qd, motion.qdd)
    related, slope = _relation(expected, motion.tau)
    names = robot.joint_names
    told = np.abs(related) > RELATED
    opposite = told & (related < 0.0)
    if opposite.any():
        joints = ", ".join(f"'{names[j]}'" for j in np.flatnonzero(opposite))
        yield Doubt(
            f"{source}: efforts of joint {joints} have the wrong sign against gravity and inertia "
            "of the URDF; turn them round (drive gains of -1)",
            # One joint may have a wrong mass centre in the URDF; not most of them
            hopeless=bool(opposite.sum() >= max(2.0, 0.8 * told.sum())),
            joint=names[int(np.argmax(opposite))],
        )
    slopes = np.abs(slope[told])
    off = (slopes < 0.25) | (slopes > 4.0)
    if off.any() and not opposite.any() and not recording.unit_known:
        shown = ", ".join(f"{names[j]} {slope[j]:.3g}" for j in np.flatnonzero(told))
        yield Doubt(
            f"{source}: efforts are not those of the URDF in N m by factors ({shown}); are they "
            "motor currents or motor torques? Give drive gains, or gains of 1 if they are N m and "
            "the URDF is that wrong",
            serious=True,
        )


def _relation(expected: Array, tau: Array) -> tuple[Array, Array]:
    """Correlation of efforts with the expected ones, and their slope, shape (n,) each."""
    x, y = expected - expected.mean(axis=0), tau - tau.mean(axis=0)
    both, xx, yy = (x * y).sum(axis=0), (x * x).sum(axis=0), (y * y).sum(axis=0)
    return both / np.maximum(np.sqrt(xx * yy), 1e-12), both / np.maximum(xx, 1e-12)
