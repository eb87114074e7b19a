"""Drive gains, where efforts are currents, from a motion without and one with a known load.

Currents alone determine parameters up to a factor of each drive. The links couple these factors,
so one load of known mass fixes them all ([Gautier2014]). Currents are
i = (Y base + friction + the load's efforts) / gain; what is least is their error, not that of the
efforts, so that noise of the currents does not make gains too small.
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
from robot_dynamics.identification.signals import Signals, signals
from robot_dynamics.identification.standstill import moves
from robot_dynamics.recordings.recording import Recording
from robot_dynamics.robot.robot import Robot
from robot_dynamics.spatial import Inertia, inertial_parameters

ROUNDS = 8
"""Of Gauss and Newton; three settle the last digit."""

SEEN = 0.2
"""Relative standard deviation above which the load does not determine a gain."""


@dataclass(frozen=True, eq=False)
class DriveGains:
    """N m or N per unit of current of every drive.

    Args:
        values: Signs included, shape (n,): of motors if `actuators` were given, else of joints.
        deviation: Standard deviations, shape (n,).
        drive: Movement of every drive per movement of every joint, as of `EffortModel`.
    """

    values: Array
    deviation: Array
    drive: Array

    def on(self, recording: Recording) -> Recording:
        """A recording of currents as one of efforts."""
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
    """Find how much effort a unit of current is.

    Args:
        robot: As the URDF has it; its kinematics are taken, and its bodies to begin with.
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
    fit = _Currents(*(np.concatenate(parts) for parts in zip(*rows, strict=True)))
    inverse, deviation = fit.solved()[1:]
    if not np.isfinite(deviation).all() or (deviation > SEEN * np.abs(inverse)).any():
        j = int(np.argmax(deviation / np.maximum(np.abs(inverse), 1e-300)))
        raise RecordingError(
            f"{source}: the load does not tell the gain of drive '{robot.joint_names[j]}'; take a "
            "heavier one, fastened off the last axis, and a motion of every joint with it"
        )
    return DriveGains(1.0 / inverse, deviation / inverse**2, drive)


def _several(recording: Recording | Sequence[Recording]) -> list[Recording]:
    return [recording] if isinstance(recording, Recording) else list(recording)


def _rows(
    dynamics: Dynamics, motion: Signals, drive: Array, B: Array
) -> tuple[Array, Array, Array, Array]:
    """Columns (N, n, c) of what is not known, efforts of the load, currents, which drives move.

    The last three have shape (N, n).
    """
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


class _Currents:
    """i = h (X z + W) with unknown z and h, the inverse gains."""

    def __init__(self, X: Array, W: Array, current: Array, moving: Array) -> None:
        self.X, self.W, self.current, self.moving = X, W, current, moving
        self.n = X.shape[1]

    def solved(self) -> tuple[Array, Array, Array]:
        """z, h, and the standard deviations of h."""
        z, h = self._first()
        for _ in range(ROUNDS):
            effort = self.X @ z + self.W
            own = np.einsum("ij,nj->nij", np.eye(self.n), effort)
            A = np.concatenate([self.X * h[:, None], own], axis=2)
            wanted = self.current - h * self.W + h * effort
            prior = np.concatenate([z, h])
            usable = np.ones(wanted.shape, dtype=bool)
            fit = estimate(Problem(A, wanted, prior, usable, self.moving))
            z, h = fit.z[: -self.n], fit.z[-self.n :]
        return z, h, fit.deviation[-self.n :]

    def _first(self) -> tuple[Array, Array]:
        """From gain i - X z = W, which is linear and nearly right."""
        size = np.sqrt(np.mean(self.current**2, axis=0))
        own = np.einsum("ij,nj->nij", np.eye(self.n), self.current / size)
        A = np.concatenate([-self.X, own], axis=2)
        A = A.reshape(-1, A.shape[2])
        length = np.maximum(np.linalg.norm(A, axis=0), 1e-12)
        found = np.linalg.lstsq(A / length, self.W.ravel(), rcond=1e-9)[0] / length
        return found[: -self.n], size / found[-self.n :]
