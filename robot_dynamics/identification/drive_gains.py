"""Identify drive gains from currents of one motion without and one with a known load.

Currents alone determine parameters up to a factor of each drive. The links couple these factors,
so one load of known mass fixes them all ([Gautier2014]). Currents are
i = (Y base + friction + the load's efforts) / gain. The fit minimizes the error of the currents,
not that of the efforts, so that noise of the currents does not make gains too small.
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
from robot_dynamics.identification.signals import Signals, signals
from robot_dynamics.recordings.recording import Recording
from robot_dynamics.robot.robot import Robot
from robot_dynamics.spatial import Inertia, inertial_parameters

ROUNDS = 8
"""Gauss-Newton iterations; three settle the last digit."""

SEEN = 0.2
"""Relative standard deviation above which the load does not determine a gain."""


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
    recordings = [_several(empty), _several(loaded)]
    source = recordings[1][0].source
    rows = [
        _rows(dynamics, signals(recording, cutoff), drive, B * carried)
        for carried, several in enumerate(recordings)
        for recording in several
    ]
    inverse, deviation = _inverse_gains(*map(np.concatenate, zip(*rows, strict=True)))
    if not np.isfinite(deviation).all() or (deviation > SEEN * np.abs(inverse)).any():
        j = int(np.argmax(deviation / np.maximum(np.abs(inverse), 1e-300)))
        raise RecordingError(
            f"{source}: the load does not determine the gain of drive '{robot.joint_names[j]}'; "
            "take a heavier one, fastened off the last axis, and a motion of every joint with it"
        )
    return DriveGains(1.0 / inverse, deviation / inverse**2, drive)


def _several(recording: Recording | Sequence[Recording]) -> list[Recording]:
    return [recording] if isinstance(recording, Recording) else list(recording)


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


def _inverse_gains(X: Array, W: Array, current: Array, moving: Array) -> tuple[Array, Array]:
    """Solve i = h (X z + W) for z and h, the inverse gains; return h and its deviations, (n,)."""
    n, each = X.shape[1], np.eye(X.shape[1])
    # First gain i - X z = W, which is linear and nearly right
    size = np.sqrt(np.mean(current**2, axis=0))
    A = np.concatenate([-X, np.einsum("ij,nj->nij", each, current / size)], axis=2)
    A = A.reshape(-1, A.shape[2])
    length = np.maximum(np.linalg.norm(A, axis=0), 1e-12)
    found = np.linalg.lstsq(A / length, W.ravel(), rcond=1e-9)[0] / length
    z, h = found[:-n], size / found[-n:]
    for _ in range(ROUNDS):
        effort = X @ z + W
        A = np.concatenate([X * h[:, None], np.einsum("ij,nj->nij", each, effort)], axis=2)
        wanted = current - h * W + h * effort
        usable = np.ones(wanted.shape, dtype=bool)
        fit = estimate(Problem(A, wanted, np.concatenate([z, h]), usable, moving))
        z, h = fit.z[:-n], fit.z[-n:]
    return h, fit.deviation[-n:]
