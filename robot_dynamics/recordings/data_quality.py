"""Data-quality warnings about a recording, before any model is fitted to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.errors import RecordingError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.lazy import imported
from robot_dynamics.foundation.numbers import counted
from robot_dynamics.recordings.recording import Recording
from robot_dynamics.recordings.signals import (
    DISAGREEMENT,
    Signals,
    disagreement,
    gaps,
    joint_signals,
    recordings_of,
    signals,
)
from robot_dynamics.robot.robot import Robot

SLOW_HZ = 50.0
"""Sampling rate below which reversals blur friction, Hz."""

STILL = 0.05
"""Range below which a joint shows no inertia and no friction, rad; in m, a tenth of it."""

STOP = 1e-3
"""Distance from a position limit within which a joint may lean on a stop, rad or m."""

LEANS = 0.01
"""Fraction of samples at a position limit above which a warning is given."""

CONSTANT = 1e-6
"""Standard deviation of an effort, relative to its maximum, below which nothing was measured."""

RELATED = 0.7
"""Correlation with the efforts of the URDF above which sign and unit can be judged."""

SATURATED = 0.98
"""Fraction of the effort limit above which a motor is saturated."""

BEYOND = 1.05
"""Fraction of an effort limit above which the limit in the URDF must be wrong."""


ROUND_OFF_S = 1e-6
"""Round-off of a stamp in s since 1970, s."""


@dataclass(frozen=True)
class QualityWarning:
    """A data-quality warning.

    Args:
        text: Fault, place and remedy.
        unusable: Whether nothing can be identified from the recording.
        joint: Its joint, or "".
        serious: Whether the identified model must not be used, however well it fits.
    """

    text: str
    unusable: bool = False
    joint: str = ""
    serious: bool = False


def quality_warnings(robot: Robot, recording: Recording) -> list[QualityWarning]:
    """Return all data-quality warnings about a recording of a robot.

    Raises:
        RecordingError: If recording and robot differ in their number of joints.
    """
    if recording.q.shape[1] != robot.dof:
        raise RecordingError(
            f"{recording.source}: {counted(recording.q.shape[1], 'joint')}, but robot "
            f"'{robot.name}' has {robot.dof} ({', '.join(robot.joint_names)}); lock those that "
            "were not recorded"
        )
    found = [*_of_times(recording), *_of_positions(robot, recording)]
    if any(warning.unusable for warning in found):
        return found
    motion = signals(recording)
    found += _of_velocities(robot, recording, motion)
    found += _of_spectra(robot, recording, motion)
    found += _of_efforts(robot, recording, motion)
    return found


def checked_motion(
    robot: Robot, recording: Recording | Sequence[Recording], cutoff: float | None
) -> tuple[Signals, list[QualityWarning]]:
    """Filter one recording or several, and return the warnings about them.

    Raises:
        RecordingError: If none is given, or with the first warning that leaves nothing to identify.
    """
    recordings = recordings_of(recording)
    if not recordings:
        raise RecordingError("no recording is given; give one or more")
    found = [warning for one in recordings for warning in quality_warnings(robot, one)]
    for warning in found:
        if warning.unusable:
            raise RecordingError(warning.text)
    return joint_signals(recordings, cutoff), found


def _of_times(recording: Recording) -> Iterator[QualityWarning]:
    source, step = recording.source, np.diff(recording.time)
    if recording.rate < SLOW_HZ:
        yield QualityWarning(
            f"{source}: {recording.rate:.0f} samples per second are few; 100 show friction"
        )
    found = gaps(recording.time)
    pauses = np.searchsorted(recording.time, np.array(recording.runs) - ROUND_OFF_S) - 1
    found = found[~np.isin(found, pauses)]
    if len(found):
        yield QualityWarning(
            f"{source}: {counted(len(found), 'gap')}, the longest of {step[found].max():.3g} s at "
            f"{recording.time[found[np.argmax(step[found])]] - recording.time[0]:.6g} s; each part "
            "is filtered alone"
        )


def _of_positions(robot: Robot, recording: Recording) -> Iterator[QualityWarning]:
    source, limits = recording.source, robot.limits
    lowest, highest = recording.q.min(axis=0), recording.q.max(axis=0)
    least = still(robot)
    for j, joint in enumerate(robot.independent_joints):
        name, moved = joint.name, highest[j] - lowest[j]
        leans = _at_a_stop(recording.q[:, j], limits.lower[j], limits.upper[j])
        over = max(highest[j] - limits.upper[j], limits.lower[j] - lowest[j])
        if joint.type.rotates and _in_degrees(limits.lower[j], limits.upper[j], recording, j):
            yield QualityWarning(
                f"{source}: joint '{name}' goes from {lowest[j]:.4g} to {highest[j]:.4g} rad, far "
                "beyond what it can; are positions in degrees? Read them with degrees",
                unusable=True,
                joint=name,
            )
        elif over > 0.05:
            yield QualityWarning(
                f"{source}: joint '{name}' is {over:.3g} beyond its limits", joint=name
            )
        elif leans > LEANS and moved >= least[j]:
            yield QualityWarning(
                f"{source}: joint '{name}' is at its position limit in {100 * leans:.0f} % of the "
                "samples, where a stop may bear part of its effort; record a motion within",
                joint=name,
            )
        if moved < least[j]:
            yield QualityWarning(
                f"{source}: joint '{name}' hardly moves ({moved:.2g}); its inertia and friction "
                "stay as the URDF has them: record a motion of it",
                joint=name,
            )


def still(robot: Robot) -> Array:
    """Return the range below which each joint counts as still, shape (n,), rad or m."""
    return np.array([STILL * (1.0 if j.type.rotates else 0.1) for j in robot.independent_joints])


def _at_a_stop(q: Array, lower: float, upper: float) -> float:
    """Return the fraction of samples in which a joint is at a position limit."""
    return float(np.mean((q > upper - STOP) | (q < lower + STOP)))


def _in_degrees(lower: float, upper: float, recording: Recording, j: int) -> bool:
    """Return whether positions exceed limits or velocities as rad, but fit them as degrees.

    Positions that are only shifted do not count: the zero of the URDF may be elsewhere.
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


def _of_velocities(robot: Robot, recording: Recording, motion: Signals) -> Iterator[QualityWarning]:
    if recording.qd is None:
        return
    splines = imported("scipy.interpolate")
    q = splines.CubicSpline(recording.time, recording.q)
    measured = splines.CubicSpline(recording.time, recording.qd)(motion.time)
    apart = disagreement(q(motion.time, 1), measured)
    moving = np.ptp(motion.q, axis=0) > still(robot)
    worst = int(np.argmax(np.where(moving, apart, 0.0)))
    if moving[worst] and apart[worst] > DISAGREEMENT:
        yield QualityWarning(
            f"{recording.source}: measured velocities of joint '{robot.joint_names[worst]}' differ "
            f"by {100 * apart[worst]:.0f} % from those of its positions; the latter are taken",
            joint=robot.joint_names[worst],
        )


def _of_spectra(robot: Robot, recording: Recording, motion: Signals) -> Iterator[QualityWarning]:
    left = motion.raw - motion.tau
    size = motion.tau.std(axis=0)
    for j in np.flatnonzero(left.std(axis=0) > 0.3 * np.maximum(size, 1e-12)):
        if size[j] > 0.0:
            yield QualityWarning(
                f"{recording.source}: {100 * left[:, j].std() / size[j]:.0f} % of the effort of "
                f"joint '{robot.joint_names[j]}' is faster than the filter's cutoff of "
                f"{motion.cutoff:.3g} Hz: vibration, noise, or a cutoff that is too low",
                joint=robot.joint_names[j],
            )


def _of_efforts(robot: Robot, recording: Recording, motion: Signals) -> Iterator[QualityWarning]:
    source, names, tau = recording.source, robot.joint_names, recording.tau
    limit = robot.limits.effort
    deviation = tau.std(axis=0)
    constant = deviation <= CONSTANT * np.maximum(np.abs(tau).max(axis=0), 1e-9)
    if constant.all():
        yield QualityWarning(
            f"{source}: efforts of all joints are constant; nothing was measured", unusable=True
        )
        return
    for j in np.flatnonzero(constant):
        yield QualityWarning(
            f"{source}: the effort of joint '{names[j]}' is constant ({tau[0, j]:.4g}); was it "
            "measured?",
            joint=names[j],
        )
    for j in np.flatnonzero(np.abs(tau).max(axis=0) > BEYOND * limit):
        yield QualityWarning(
            f"{source}: the effort of joint '{names[j]}' reaches {np.abs(tau[:, j]).max():.4g}, "
            f"beyond its limit of {limit[j]:.4g} in the URDF; the limit is not believed",
            joint=names[j],
        )
    at_limit = saturated(tau, limit).mean(axis=0)
    for j in np.flatnonzero(at_limit > 0.01):
        yield QualityWarning(
            f"{source}: joint '{names[j]}' is at its effort limit of {limit[j]:.4g} in "
            f"{100 * at_limit[j]:.0f} % of the samples; these do not count",
            joint=names[j],
        )
    yield from _of_sign_and_unit(robot, recording, motion)


def saturated(tau: Array, limit: Array) -> Array:
    """Return which efforts are at their limit, shape (N, n): the motor cannot follow the command.

    A limit that the efforts exceed is not that of the motor, and does not count.
    """
    believed = np.abs(tau).max(axis=0) <= BEYOND * limit
    return np.asarray((np.abs(tau) > SATURATED * limit) & believed)


def _of_sign_and_unit(
    robot: Robot, recording: Recording, motion: Signals
) -> Iterator[QualityWarning]:
    source = recording.source
    expected = Dynamics(robot).inverse(motion.q, motion.qd, motion.qdd)
    correlation, slope = _relation(expected, motion.tau)
    names = robot.joint_names
    clear = np.abs(correlation) > RELATED
    opposite = clear & (correlation < 0.0)
    if opposite.any():
        joints = ", ".join(f"'{names[j]}'" for j in np.flatnonzero(opposite))
        yield QualityWarning(
            f"{source}: efforts of joint {joints} have the wrong sign against gravity and inertia "
            "of the URDF; turn them round (drive gains of -1)",
            # The URDF may have one wrong mass centre, but not most of them
            unusable=bool(opposite.sum() >= max(2.0, 0.8 * clear.sum())),
            joint=names[int(np.argmax(opposite))],
        )
    slopes = np.abs(slope[clear])
    off = (slopes < 0.25) | (slopes > 4.0)
    if off.any() and not opposite.any() and not recording.unit_known:
        shown = ", ".join(f"{names[j]} {slope[j]:.3g}" for j in np.flatnonzero(clear))
        yield QualityWarning(
            f"{source}: efforts are not those of the URDF in N m by factors ({shown}); are they "
            "motor currents or motor torques? Give drive gains, or gains of 1 if they are N m and "
            "the URDF is that wrong",
            serious=True,
        )


def _relation(expected: Array, tau: Array) -> tuple[Array, Array]:
    """Return correlation with the expected efforts and slope over them, shape (n,) each."""
    x, y = expected - expected.mean(axis=0), tau - tau.mean(axis=0)
    both, xx, yy = (x * y).sum(axis=0), (x * x).sum(axis=0), (y * y).sum(axis=0)
    return both / np.maximum(np.sqrt(xx * yy), 1e-12), both / np.maximum(xx, 1e-12)
