"""From recorded samples to the positions, velocities, accelerations and efforts of a fit.

A recording is cut where it has gaps; each part is laid on equal steps, low-passed forth
and back (which shifts nothing in time), differentiated, and thinned out. Efforts and what the
model makes of the motion pass the same filter: what it takes away is missing on both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.errors import ArgumentError, RecordingError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.lazy import imported
from robot_dynamics.recordings.recording import FEWEST, Recording
from robot_dynamics.robot.robot import Robot

GAP = 5.0
"""A distance of samples above this many of the usual ones is a gap ..."""

SHORTEST_GAP_S = 0.03
"""... if it is this long, s: less does not matter to a filter of some hertz."""

ORDER = 4
"""Of the Butterworth filter; forth and back it counts twice."""

ABOVE_MOTION = 5.0
"""Cutoff of the filter over the highest frequency of the motion, which passes unchanged."""

LOWEST_CUTOFF_HZ = 3.0
"""Below this cutoff the sign change of friction is no longer a step, Hz."""

HIGHEST_CUTOFF_HZ = 10.0
"""Above this frequency arms vibrate, which no rigid body does, Hz."""

CUTOFF_OVER_RATE = 0.2
"""Highest cutoff that is chosen, over the sampling rate."""

PER_PERIOD = 5
"""Samples that are kept per period of the cutoff: more would repeat each other."""

FINER = 5
"""Samples per kept one where friction is filtered: its steps are sharper than the motion."""

SLOPE_S = 0.01
"""Standard deviation of the Gaussian through which friction sees positions, s: the low-pass of the
motion would blur starts and stops over far longer."""

REST_S = 0.1
"""Time without an encoder step from which a joint rests, s ..."""

LONGER = 3
"""... if it is this many times longer than those between the next steps: it does not creep."""

FIRST_STEPS = 10
"""Encoder steps from which the time of a start follows; four are the fewest."""

MOST = 6000
"""Samples that a fit uses of one recording; of longer ones fewer per second."""

DISAGREEMENT = 0.25
"""Part by which measured velocities may differ from those of the positions, rms."""

COLUMNS = ("time", "q", "qd", "qdd", "tau", "half", "raw")
"""Of `Signals`, one row per sample."""

SPARSEST = 100.0
"""Largest time of a recording without states, relative to that with states."""


class Path(NamedTuple):
    """Motion of a part without gaps on fine steps, on which friction depends; shape (M, n) each.

    Args:
        q: Positions, whose turning points no filter has rounded off, rad or m.
        qd: Their slope; see `SLOPE_S` and `_with_rests`.
    """

    q: Array
    qd: Array


@dataclass(frozen=True, eq=False)
class Signals:
    """Filtered samples of a motion, N times of n joints.

    Args:
        time: Shape (N,), s.
        q: Shape (N, n), rad or m.
        qd: Shape (N, n).
        qdd: Shape (N, n).
        tau: Shape (N, n), filtered as the motion is.
        half: Change of tau in half a period of the recording, shape (N, n), because the time
            within the period at which an effort acted is unknown.
        raw: Efforts without filter at the same times, shape (N, n).
        cutoff: Of the low-pass, Hz.
        part: Number of the part without gaps that a sample belongs to, shape (N,).
        low_pass: The filter, for what the model makes of the motion: of a function of a path of
            M samples that gives columns (M, k), returns (N, k).
        paths: Of the parts without gaps.
    """

    time: Array
    q: Array
    qd: Array
    qdd: Array
    tau: Array
    half: Array
    raw: Array
    cutoff: float
    part: Array
    low_pass: Callable[[Callable[[Path], Array]], Array]
    paths: tuple[Path, ...]

    def unfiltered(self) -> Signals:
        """Return these samples, all of the recording, without filter on what the model makes."""
        return replace(
            self, low_pass=lambda columns: np.concatenate([columns(path) for path in self.paths])
        )


def at_random(robot: Robot, motion: Signals, count: int = 2000) -> Signals:
    """Return states all over the joint ranges: what they do not show, no motion shows.

    Velocities and accelerations are of the size of those of `motion`.
    """
    rng, n = np.random.default_rng(0), robot.dof
    lower, upper = np.clip([robot.limits.lower, robot.limits.upper], -np.pi, np.pi)
    q = rng.uniform(np.minimum(lower, upper), np.maximum(lower, upper), (count, n))
    qd, qdd = (
        np.maximum(np.abs(x).max(axis=0), 1e-3) * rng.normal(size=(count, n))
        for x in (motion.qd, motion.qdd)
    )
    none = np.zeros((count, n))
    return replace(
        motion,
        q=q,
        qd=qd,
        qdd=qdd,
        tau=none,
        half=none,
        low_pass=lambda columns: columns(Path(q, qd)),
        paths=(Path(q, qd),),
    )


def signals(recording: Recording, cutoff: float | None = None, *, thinned: bool = True) -> Signals:
    """Filter and differentiate a recording.

    Args:
        recording: The motion.
        cutoff: Of the low-pass, Hz; by default from the motion, see `cutoff_of`.
        thinned: Whether to keep only as many samples as the cutoff needs.

    Raises:
        ArgumentError: If the cutoff is not between zero and half the sampling rate.
        RecordingError: If no part without gaps is long enough.
    """
    rate = recording.rate
    if cutoff is None:
        cutoff = cutoff_of(recording)
    elif not 0.0 < cutoff < 0.5 * rate:
        raise ArgumentError(
            f"filter cutoff is {cutoff:g} Hz; give more than 0 and less than {0.5 * rate:g}, half "
            "the sampling rate"
        )
    fine = max(1, int(rate / (FINER * PER_PERIOD * cutoff))) if thinned else 1
    coarse = max(1, int(rate / fine / (PER_PERIOD * cutoff))) if thinned else 1
    if thinned:
        coarse *= max(1, round(recording.duration * rate / (fine * coarse * MOST)))
    margin = int(rate / cutoff) if thinned else 0  # where the filter feels the end of the part
    parts = [
        _filtered(rows, recording, cutoff, fine)
        for rows in np.split(np.arange(len(recording.time)), gaps(recording.time) + 1)
        if len(rows) > 2 * margin + FEWEST // 2
    ]
    if not parts:
        raise RecordingError(
            f"{recording.source}: no part without gaps is longer than {2 * margin / rate:.1f} s; "
            "record longer, or give a higher filter cutoff"
        )
    cut = margin // fine
    kept = slice(cut, -cut or None, coarse)
    sos = _filter(cutoff, rate / fine)

    paths = tuple(Path(part["path"], part["slope"]) for part in parts)

    def low_pass(columns: Callable[[Path], Array]) -> Array:
        return np.concatenate([_both_ways(sos, columns(path))[kept] for path in paths])

    fields = {name: np.concatenate([part[name][kept] for part in parts]) for name in COLUMNS}
    numbers = [np.full(len(part["time"][kept]), i) for i, part in enumerate(parts)]
    return Signals(
        **fields, cutoff=cutoff, part=np.concatenate(numbers), low_pass=low_pass, paths=paths
    )


def recordings_of(recording: Recording | Sequence[Recording]) -> list[Recording]:
    """Return one recording or several as a list."""
    return [recording] if isinstance(recording, Recording) else list(recording)


def joint_signals(recordings: Sequence[Recording], cutoff: float | None = None) -> Signals:
    """Filter one recording or several by one low-pass, and join their samples.

    Args:
        recordings: One motion or several.
        cutoff: Of the low-pass, Hz; by default the highest that a motion needs, as far as the
            sampling rates of the others allow.

    Raises:
        RecordingError: As of `signals`.
    """
    if cutoff is None:
        cutoff = max(map(cutoff_of, recordings))
        cutoff = min(cutoff, *(CUTOFF_OVER_RATE * one.rate for one in recordings))
    several = [signals(one, cutoff) for one in recordings]
    if len(several) == 1:
        return several[0]

    def low_pass(columns: Callable[[Path], Array]) -> Array:
        return np.concatenate([one.low_pass(columns) for one in several])

    fields = {name: np.concatenate([getattr(one, name) for one in several]) for name in COLUMNS}
    parts = np.cumsum([0, *(one.part[-1] + 1 for one in several[:-1])])
    fields["part"] = np.concatenate(
        [one.part + first for one, first in zip(several, parts, strict=True)]
    )
    return Signals(
        **fields,
        cutoff=cutoff,
        low_pass=low_pass,
        paths=tuple(path for one in several for path in one.paths),
    )


def cutoff_of(recording: Recording) -> float:
    """Return the cutoff frequency of a low-pass that leaves the motion unchanged, Hz.

    The motion ends where 99 % of the power of the velocities lie below, noise (the floor of
    the upper half of the spectrum) taken off.

    Raises:
        RecordingError: If gaps take up nearly all of the time.
    """
    rate = recording.rate
    span = recording.time[-1] - recording.time[0]
    if span * rate > SPARSEST * len(recording.time):
        raise RecordingError(
            f"time: {len(recording.time)} states, most of them {1e3 / rate:.3g} ms apart, lie "
            f"within {span:.4g} s; split the recording at its gaps"
        )
    time = np.arange(recording.time[0], recording.time[-1], 1.0 / rate)
    q = _spline(recording.time, recording.q)(time)
    window = np.hanning(len(time))[:, None]
    departure = q - np.linspace(0.0, 1.0, len(time))[:, None] * (q[-1] - q[0]) - q[0]
    frequency = np.fft.rfftfreq(len(time), 1.0 / rate)
    power = np.abs(np.fft.rfft(window * (departure - departure.mean(axis=0)), axis=0)) ** 2
    floor = np.median(power[len(power) // 2 :], axis=0)
    velocity = np.where(power > 10.0 * floor, power, 0.0) * frequency[:, None] ** 2
    share = np.cumsum(velocity, axis=0) / np.maximum(velocity.sum(axis=0), 1e-300)
    highest = max(
        (frequency[np.searchsorted(share[:, j], 0.99)] for j in np.flatnonzero(velocity.any(0))),
        default=LOWEST_CUTOFF_HZ,
    )
    above = max(ABOVE_MOTION * highest, LOWEST_CUTOFF_HZ)
    return float(min(above, HIGHEST_CUTOFF_HZ, CUTOFF_OVER_RATE * rate))


def gaps(time: Array) -> Array:
    """Return the indices of the samples before a gap."""
    step = np.diff(time)
    return np.flatnonzero(step > max(GAP * float(np.median(step)), SHORTEST_GAP_S))


def _filtered(index: Array, recording: Recording, cutoff: float, every: int) -> dict[str, Array]:
    """Return `COLUMNS` of samples without gaps on equal steps, of which one of `every` stays."""
    rate, recorded = recording.rate, recording.time[index]
    sos = _filter(cutoff, rate)
    time = recorded[0] + np.arange(int((recorded[-1] - recorded[0]) * rate) + 1) / rate
    position = _spline(recorded, recording.q[index])(time)
    q = _both_ways(sos, position)
    # Without overshoot: efforts have steps
    raw = np.column_stack([np.interp(time, recorded, tau) for tau in recording.tau[index].T])
    qd = np.gradient(q, 1.0 / rate, axis=0)
    nearest = np.rint(np.interp(time, recorded, np.arange(len(index)))).astype(int)
    slope = _with_rests(rate * _blurred(position, rate, order=1), recording.q[index][nearest], rate)
    if recording.qd is not None:
        velocity = _spline(recorded, recording.qd[index])(time)
        measured = _both_ways(sos, velocity)
        agree = disagreement(qd, measured) < DISAGREEMENT
        qd = np.where(agree, measured, qd)
        slope = np.where(agree, _blurred(velocity, rate, order=0), slope)
    qdd = np.gradient(qd, 1.0 / rate, axis=0)
    tau = _both_ways(sos, raw)
    # The mean of neighbouring samples: encoders have steps
    path = imported("scipy.ndimage").uniform_filter1d(position, every, axis=0)
    columns = (time, q, qd, qdd, tau, 0.5 * np.gradient(tau, axis=0), raw, path, slope)
    names = (*COLUMNS, "path", "slope")
    return {name: column[::every] for name, column in zip(names, columns, strict=True)}


def _blurred(values: Array, rate: float, order: int) -> Array:
    """Return values or differences per sample through a Gaussian; see `SLOPE_S`."""
    width = max(1.0, SLOPE_S * rate)
    gaussian = imported("scipy.ndimage").gaussian_filter1d
    return np.asarray(gaussian(values, width, axis=0, order=order, mode="nearest"))


def _with_rests(slope: Array, q: Array, rate: float) -> Array:
    """Return slopes that are 0 at rest, and right where encoder steps hide starts and stops.

    Args:
        slope: Of blurred positions, shape (N, n).
        q: Positions as recorded, shape (N, n).
        rate: Samples per second.
    """
    found = slope.copy()
    for x, v in zip(q.T, found.T, strict=True):
        steps = np.concatenate([[-1], np.flatnonzero(np.diff(x)), [len(x) - 1]])
        spans = np.diff(steps)
        beside = np.maximum(np.append(spans[1:], 0), np.append(0, spans[:-1]))
        for i in np.flatnonzero(spans >= np.maximum(REST_S * rate, LONGER * beside)):
            first, end = steps[i] + 1, steps[i + 1] + 1
            v[first:end] = 0.0
            until = steps[min(i + 1 + FIRST_STEPS, len(steps) - 1)] + 1
            since = steps[max(i - FIRST_STEPS, 0)] + 1
            start = _start(x[first:until], rate)
            v[end : first + len(start)] = 0.0
            v[first : first + len(start)] += start
            stop = -_start(x[since:end][::-1], rate)[::-1]
            v[end - len(stop) : first] = 0.0
            v[end - len(stop) : end] += stop
    return found


def _start(q: Array, rate: float) -> Array:
    """Return velocities of a joint that starts from rest, up to its first encoder steps.

    Bounded jerk moves it by c t^3. Where between two steps it rested is unknown: the part of a step
    to the first one is that of ten for which the times of the steps are on a line over the cube
    roots of the ways. Without enough steps in one direction the result is empty.
    """
    at = np.flatnonzero(np.diff(q))
    jumps = np.diff(q)[at]
    back = np.flatnonzero(jumps * jumps[:1] < 0.0)
    at = at[: back[0]] if len(back) else at
    if len(at) < 4:
        return np.empty(0)
    step, time = q[at[0] + 1] - q[0], (at + 0.5) / rate
    ways = (0.5 * (q[at] + q[at + 1]) - q[0]) / step - 0.5 + np.linspace(0.05, 0.95, 10)[:, None]
    roots = np.cbrt(ways)
    off = roots - roots.mean(axis=1, keepdims=True)
    pace = off @ time / np.sum(off**2, axis=1)
    left = time - time.mean() - pace[:, None] * off
    best = int(np.argmin(np.sum(left**2, axis=1)))
    begin = time.mean() - pace[best] * roots[best].mean()
    since = np.maximum(np.arange(at[-1] + 1) / rate - begin, 0.0)
    return np.asarray(3.0 * step * since**2 / pace[best] ** 3)


def disagreement(derived: Array, measured: Array) -> Array:
    """Return the relative difference of measured and derived velocities, rms, shape (n,)."""
    size = np.sqrt(np.mean(derived**2, axis=0))
    return np.sqrt(np.mean((derived - measured) ** 2, axis=0)) / np.maximum(size, 1e-12)


def _filter(cutoff: float, rate: float) -> Array:
    return np.asarray(imported("scipy.signal").butter(ORDER, cutoff, fs=rate, output="sos"))


def _both_ways(sos: Array, values: Array) -> Array:
    return np.asarray(imported("scipy.signal").sosfiltfilt(sos, values, axis=0))


def _spline(time: Array, values: Array) -> Any:
    return imported("scipy.interpolate").CubicSpline(time, values)
