"""A recorded motion of a robot: time, joint positions, velocities and efforts."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from robot_dynamics.control.actuators import Actuators
from robot_dynamics.errors import RecordingError
from robot_dynamics.foundation.arrays import Array, real_numbers
from robot_dynamics.foundation.numbers import counted
from robot_dynamics.recordings.motion_files import MotionTable, matched_columns, read_motion_table
from robot_dynamics.robot.robot import Robot
from robot_dynamics.trajectory.waypoints import LARGEST_RECEIVED

FEWEST = 50
"""Number of samples below which nothing is identified."""

MOST_MISSING = 0.05
"""Fraction of unusable samples above which a recording is refused."""

LONGEST_STEP = 0.9
"""Distance of samples above which stamps cannot be in s."""

LAST_NS = 1e19
"""Largest stamp, in any unit: the year 2286 in ns."""

UNITS = {"ms": 1e-3, "us": 1e-6, "ns": 1e-9}
"""Units of stamps, in s."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Recording:
    """Motion and efforts of n joints at N times.

    Args:
        time: Shape (N,), s, increasing.
        q: Positions, shape (N, n), rad or m, in the order of `robot.joint_names`.
        qd: Velocities, shape (N, n); None if they were not measured.
        tau: Efforts, shape (N, n), N m or N, positive along the joint axes.
        source: Its name in messages.
        unit_known: Whether drive gains define the unit of the efforts.
        runs: Beginning of each run after the first one, s; a pause before it is no gap.

    Raises:
        RecordingError: If shapes do not fit, times do not increase, or entries are not finite.
    """

    time: Array
    q: Array
    qd: Array | None
    tau: Array
    source: str = "recording"
    unit_known: bool = False
    runs: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        time = real_numbers("time", self.time).astype(float)
        if time.ndim != 1 or len(time) < FEWEST:
            raise RecordingError(
                f"{self.source}: time has shape {time.shape}; give at least {FEWEST} samples"
            )
        if not np.all(np.diff(time) > 0.0):
            at = int(np.argmin(np.diff(time) > 0.0))
            raise RecordingError(f"{self.source}: time does not increase at {time[at]:.6g} s")
        object.__setattr__(self, "time", time)
        for name in ("q", "qd", "tau"):
            if name == "qd" and self.qd is None:
                continue
            values = real_numbers(name, getattr(self, name)).astype(float)
            if values.shape != np.shape(self.q) or values.ndim != 2 or len(values) != len(time):
                raise RecordingError(
                    f"{self.source}: {name} has shape {values.shape}; q, qd and tau need one row "
                    f"for each of {len(time)} times and one column per joint"
                )
            fit = np.abs(values) <= LARGEST_RECEIVED  # NaN is not
            if not fit.all():
                row, column = (int(i) for i in np.argwhere(~fit)[0])
                raise RecordingError(
                    f"{self.source}: {name}[{row}, {column}] is {values[row, column]} at "
                    f"{time[row]:.6g} s; leave such samples out"
                )
            object.__setattr__(self, name, values)

    # -- reading ----------------------------------------------------------------------------

    @staticmethod
    def read(
        path: str | os.PathLike[str],
        robot: Robot,
        *,
        joint_names: Mapping[str, str] | None = None,
        topic: str | None = None,
        effort_topic: str | None = None,
        columns: str | None = None,
        degrees: bool = False,
        drive_gains: npt.ArrayLike | None = None,
        actuators: Actuators | None = None,
        effort_lag: float = 0.0,
    ) -> Recording:
        """Read a .mcap or .db3 bag (file or folder), a .csv (or .csv.gz), or an .npz.

        Args:
            path: The recording.
            robot: The robot that moved.
            joint_names: Name in the recording by joint of the robot, if they differ by more
                than a prefix.
            topic: Topic of the joint states, if a bag has several.
            effort_topic: Topic of joint states whose efforts count, if it is another one.
            columns: Columns of a table of text whose header is missing or has other names; see
                `named_columns`.
            degrees: Whether rotating joints were recorded in degrees.
            drive_gains: N m or N per unit of current if efforts are currents, shape (n,),
                with signs; at the motors if `actuators` are given.
            actuators: Transmissions, if positions and efforts are those of motors.
            effort_lag: Time by which efforts come after the motion, s.

        Returns:
            The recording, in the order of `robot.joint_names`.

        Raises:
            RecordingError: One line that names the fault in the file and the remedy.
        """
        path = Path(path)
        if not path.exists():
            raise RecordingError(f"{path}: no such file; give a bag, a CSV or an NPZ")
        table = read_motion_table(path, robot.joint_names, topic, effort_topic, columns)
        source = table.source
        order = matched_columns(table.names, robot.joint_names, joint_names, source)
        time, q, qd, tau = _cleaned(table, order, robot.joint_names)
        rotating = [joint.type.rotates for joint in robot.independent_joints]
        if degrees:
            factor = np.where(rotating, np.pi / 180.0, 1.0)
            q, qd = q * factor, None if qd is None else qd * factor
        if drive_gains is not None:
            gains = np.asarray(drive_gains, dtype=float)
            if gains.shape != (robot.dof,):
                raise RecordingError(
                    f"drive gains have shape {gains.shape}; give one for each of "
                    f"{counted(robot.dof, 'joint')}"
                )
            tau = tau * gains
        unit_known = drive_gains is not None
        recording = Recording(time, q, qd, tau, source, unit_known, table.runs)
        if actuators is not None:
            recording = recording.at_joints(actuators.in_order(robot.joint_names))
        recording = replace(recording, q=_unwrapped(recording.q, rotating, robot, source))
        return recording.with_earlier_efforts(effort_lag) if effort_lag else recording

    # -- parts and conversions ----------------------------------------------------------------

    def between(self, start: float, end: float) -> Recording:
        """Return a part of the recording.

        Args:
            start: Beginning, s after the first sample.
            end: End, s after the first sample; not included.

        Returns:
            The samples between.

        Raises:
            RecordingError: If too few samples are left.
        """
        t = self.time - self.time[0]
        kept = (t >= start) & (t < end)
        qd = None if self.qd is None else self.qd[kept]
        return replace(self, time=self.time[kept], q=self.q[kept], qd=qd, tau=self.tau[kept])

    def with_earlier_efforts(self, lag: float) -> Recording:
        """Shift the efforts to earlier times.

        Args:
            lag: Time by which efforts were recorded too late, s.

        Returns:
            The samples for which both have been recorded.

        Raises:
            RecordingError: If too few samples are left.
        """
        at = self.time + lag
        kept = (at >= self.time[0]) & (at <= self.time[-1])
        tau = np.column_stack([np.interp(at[kept], self.time, column) for column in self.tau.T])
        qd = None if self.qd is None else self.qd[kept]
        return replace(self, time=self.time[kept], q=self.q[kept], qd=qd, tau=tau)

    def at_joints(self, actuators: Actuators) -> Recording:
        """Convert motor positions, velocities and efforts to those of the driven joints.

        Args:
            actuators: Coupling of motors and joints.

        Returns:
            The recording of the joints.
        """
        to_joints = np.linalg.inv(actuators.matrix).T
        qd = None if self.qd is None else self.qd @ to_joints
        tau = actuators.to_joints(self.tau)
        return replace(self, q=self.q @ to_joints, qd=qd, tau=tau)

    @property
    def duration(self) -> float:
        """Time from the first sample to the last, s."""
        return float(self.time[-1] - self.time[0])

    @property
    def rate(self) -> float:
        """Samples per second, by the median of their distance, Hz."""
        return float(1.0 / np.median(np.diff(self.time)))


def _cleaned(
    table: MotionTable, columns: list[int], joints: Sequence[str]
) -> tuple[Array, Array, Array | None, Array]:
    """Return time, q, qd, tau of the complete samples, in the order of time."""
    source = table.source
    time = np.where(np.abs(table.time) <= LAST_NS, table.time, np.nan)
    q, qd, tau = (
        np.where(np.abs(a[:, columns]) <= LARGEST_RECEIVED, a[:, columns], np.nan)
        for a in (table.position, table.velocity, table.effort)
    )
    for what, values in (("position", q), ("effort", tau)):
        missing = np.flatnonzero(~np.isfinite(values).any(axis=0))
        if len(missing):
            raise RecordingError(
                f"{source}: joint '{joints[missing[0]]}' has no {what}; record joint states with "
                "positions and efforts of every joint"
            )
    measured = np.isfinite(qd).mean() > 1.0 - MOST_MISSING and bool(np.any(qd))
    whole = np.isfinite(time) & np.isfinite(q).all(axis=1) & np.isfinite(tau).all(axis=1)
    if measured:
        whole &= np.isfinite(qd).all(axis=1)
    part = 1.0 - whole.mean()
    if part > MOST_MISSING:
        raise RecordingError(
            f"{source}: {100 * part:.0f} % of the samples hold NaN or numbers above "
            f"{LARGEST_RECEIVED:g}; record again"
        )
    time = _in_seconds(time, source)
    order = np.flatnonzero(whole)[np.argsort(time[whole], kind="stable")]
    order = order[np.diff(time[order], prepend=-np.inf) > 0.0]
    left_out = len(time) - len(order)
    if left_out:
        logger.warning("%s: %d samples with NaN or a time twice are left out", source, left_out)
    return time[order], q[order], qd[order] if measured else None, tau[order]


def _in_seconds(time: Array, source: str) -> Array:
    """Convert stamps in ms, us or ns to s."""
    step = float(np.median(np.abs(np.diff(time)))) if len(time) > 1 else 0.0
    if not step > LONGEST_STEP:
        return time
    unit, factor = next(
        (u for u in UNITS.items() if step * u[1] < LONGEST_STEP), ("ns", UNITS["ns"])
    )
    logger.warning("%s: stamps are %.4g apart; taken for %s", source, step, unit)
    return np.asarray((time - np.nanmin(time)) * factor)


def _unwrapped(q: Array, rotating: Sequence[bool], robot: Robot, source: str) -> Array:
    """Remove jumps by a turn from positions."""
    smooth = q.copy()
    for j, turns in enumerate(rotating):
        if turns and np.abs(np.diff(q[:, j])).max() > np.pi:
            smooth[:, j] = np.unwrap(q[:, j])
            logger.warning(
                "%s: joint '%s' jumps by more than half a turn; taken for a position that wraps",
                *(source, robot.joint_names[j]),
            )
    return smooth
