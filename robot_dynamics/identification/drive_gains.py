"""Identify drive gains from currents of one motion without and one with a known load.

Currents alone determine parameters up to a factor of each drive. The links couple these factors,
so one load of known mass fixes them all ([Gautier2014]). Currents are
i = (Y base + friction + the load's efforts) / gain. The fit minimizes the error of the currents,
not that of the efforts, so that noise of the currents does not make gains too small. Without a
load, `identify_gain_ratios` gives the gains up to one common factor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from robot_dynamics.control.actuators import Actuators
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.errors import RecordingError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.identification.effort_model import drive_matrix, regressor_at_drives
from robot_dynamics.identification.friction_terms import FrictionColumns, FrictionTerms
from robot_dynamics.identification.least_squares import Problem, estimate
from robot_dynamics.identification.link_inertias import carried_at
from robot_dynamics.identification.regimes import moves
from robot_dynamics.recordings.recording import Recording
from robot_dynamics.recordings.signals import Signals, recordings_of, signals
from robot_dynamics.robot.robot import Robot
from robot_dynamics.spatial import Inertia, inertial_parameters

ROUNDS = 8
"""Gauss-Newton iterations; three settle the last digit."""

SEEN = 0.2
"""Relative standard deviation above which the load does not determine a gain."""


@dataclass(frozen=True, eq=False)
class GainRatios:
    """Drive gains relative to that of one drive: all that currents without a known load show.

    Args:
        joint_names: Of the drives.
        reference: Index of the drive whose gain counts as 1.
        values: Gains over its gain, signs included, shape (n,).
        deviation: Standard deviations, shape (n,); infinite where no motion couples the drives.
    """

    joint_names: tuple[str, ...]
    reference: int
    values: Array
    deviation: Array

    def __str__(self) -> str:
        rows = zip(self.joint_names, self.values, self.deviation, strict=True)
        known = [f"{name} {x:.4g} +- {s:.1g}" for name, x, s in rows if np.isfinite(s)]
        lost = [
            name
            for name, s in zip(self.joint_names, self.deviation, strict=True)
            if not np.isfinite(s)
        ]
        text = (
            f"ratios of drive gains to that of '{self.joint_names[self.reference]}': "
            + ", ".join(known)
        )
        return text + (f"; not determined: {', '.join(lost)}" if lost else "")


@dataclass(frozen=True, eq=False)
class DriveGains:
    """Effort per unit of current of every drive, N m or N.

    Args:
        values: Signs included, shape (n,): of motors if `actuators` were given, else of joints.
        deviation: Standard deviations, shape (n,).
        drive: Movement of every drive per movement of every joint, as of `EffortModel`.
    """

    values: Array
    deviation: Array
    drive: Array

    def on(self, recording: Recording) -> Recording:
        """Convert a recording of currents to one of efforts."""
        tau = (recording.tau @ np.linalg.inv(self.drive) * self.values) @ self.drive
        return replace(recording, tau=tau, unit_known=True)


def identify_drive_gains(
    robot: Robot,
    empty: Recording | Sequence[Recording],
    loaded: Recording | Sequence[Recording],
    load: Inertia,
    frame: str,
    *,
    actuators: Actuators | None = None,
    cutoff: float | None = None,
) -> DriveGains:
    """Identify the effort per unit of current of every drive.

    Args:
        robot: Robot of the URDF: its kinematics are kept, its inertias are the initial guess.
        empty: Motions without the load, currents in the place of efforts.
        loaded: Motions with it.
        load: Its mass, mass centre and inertia in axes of the frame.
        frame: Link or frame that carries it.
        actuators: Where drives do not move one joint each.
        cutoff: Of the low-pass, Hz; by default from the motions.

    Raises:
        UnknownNameError: If there is no such frame.
        RobotError: If no joint moves the frame.
        RecordingError: If the motions do not show the load on every drive.
    """
    drive, dynamics = drive_matrix(robot, actuators), Dynamics(robot)
    B = carried_at(robot, frame) @ inertial_parameters(load)
    recordings = [recordings_of(empty), recordings_of(loaded)]
    source = recordings[1][0].source
    rows = [
        _rows(dynamics, signals(recording, cutoff), drive, B * carried)
        for carried, several in enumerate(recordings)
        for recording in several
    ]
    X, W, current, moving = map(np.concatenate, zip(*rows, strict=True))
    every = np.ones(robot.dof, dtype=bool)
    inverse, deviation = _inverse_gains(X, W, current, moving, every)
    if not np.isfinite(deviation).all() or (deviation > SEEN * np.abs(inverse)).any():
        j = int(np.argmax(deviation / np.maximum(np.abs(inverse), 1e-300)))
        raise RecordingError(
            f"{source}: the load does not determine the gain of drive '{robot.joint_names[j]}'; "
            "take a heavier one, fastened off the last axis, and a motion of every joint with it"
        )
    return DriveGains(1.0 / inverse, deviation / inverse**2, drive)


def identify_gain_ratios(
    robot: Robot,
    recording: Recording | Sequence[Recording],
    *,
    actuators: Actuators | None = None,
    cutoff: float | None = None,
) -> GainRatios:
    """Identify the ratios of drive gains from currents alone.

    Links act on several drives, which relates their gains. Efforts, masses and friction stay known
    up to one common factor in every motion.

    Args:
        robot: Robot of the URDF, of which the kinematics count.
        recording: Motions, currents in the place of efforts.
        actuators: Where drives do not move one joint each.
        cutoff: Of the low-pass, Hz; by default from the motions.
    """
    drive, dynamics = drive_matrix(robot, actuators), Dynamics(robot)
    none = np.zeros(len(dynamics.base_parameters))
    rows = [_rows(dynamics, signals(one, cutoff), drive, none) for one in recordings_of(recording)]
    X, W, current, moving = map(np.concatenate, zip(*rows, strict=True))
    size = np.sqrt(np.mean(current**2, axis=0))
    rubs = np.array([np.ptp(X[:, j, : len(none)] @ _prior(dynamics)) for j in range(robot.dof)])
    reference = int(np.argmax(np.where(size > 0.0, rubs, -1.0)))  # the links act most on it
    h, deviation = _inverse_gains(X, W, current, moving, np.arange(robot.dof) != reference)
    sure = (deviation < SEEN * np.abs(h)) & (size > 0.0)
    sure[reference] = True
    with np.errstate(divide="ignore", invalid="ignore"):
        return GainRatios(
            robot.joint_names,
            reference,
            np.where(sure, 1.0 / h, np.nan),
            np.where(sure, deviation / h**2, np.inf),
        )


def _prior(dynamics: Dynamics) -> Array:
    return np.array([parameter.value for parameter in dynamics.base_parameters])


def _rows(
    dynamics: Dynamics, motion: Signals, drive: Array, B: Array
) -> tuple[Array, Array, Array, Array]:
    """Return columns of the unknowns (N, n, c); load efforts, currents, moving drives, (N, n)."""
    Y = regressor_at_drives(dynamics, motion, drive)
    columns = FrictionColumns(motion, drive)
    n = len(drive)
    X = np.zeros((*Y.shape[:2], Y.shape[2] + 3 * n))
    X[:, :, : Y.shape[2]] = Y
    for j in range(n):
        shape = FrictionTerms(0.02 * columns.speed[j], viscous=True)
        own = columns.of(j, shape, np.zeros(len(Y)))
        first = Y.shape[2] + 3 * j
        X[:, j, first : first + own.shape[1]] = own
    return X, Y @ B, motion.tau @ np.linalg.inv(drive), moves(motion, drive)


def _inverse_gains(
    X: Array, W: Array, current: Array, moving: Array, unknown: Array
) -> tuple[Array, Array]:
    """Solve i = h (X z + W) for z and h, the inverse gains; return h and its deviations, (n,).

    Those gains that are not `unknown`, shape (n,), are 1.
    """
    p, own = X.shape[2], np.eye(X.shape[1])[:, unknown]
    # First gain i - X z = W, which is linear and nearly right
    A = np.concatenate([-X, current[:, :, None] * own], axis=2)
    A = A.reshape(-1, A.shape[2])
    length = np.maximum(np.linalg.norm(A, axis=0), 1e-12)
    known = W - np.where(unknown, 0.0, current)
    found = np.linalg.lstsq(A / length, known.ravel(), rcond=1e-9)[0] / length
    z, gain, h = found[:p], found[p:], np.ones(len(unknown))
    h[unknown] = 1.0 / np.where(gain == 0.0, np.inf, gain)
    usable = np.ones(current.shape, dtype=bool)
    for _ in range(ROUNDS):  # the error of the currents counts
        effort = X @ z + W
        A = np.concatenate([X * h[:, None], effort[:, :, None] * own], axis=2)
        wanted = current - h * W + np.where(unknown, h * effort, 0.0)
        fit = estimate(Problem(A, wanted, np.concatenate([z, h[unknown]]), usable, moving))
        z, h[unknown] = fit.z[:p], fit.z[p:]
    deviation = np.zeros(len(unknown))
    deviation[unknown] = fit.deviation[p:]
    return h, deviation
