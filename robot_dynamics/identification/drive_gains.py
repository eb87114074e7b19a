"""Identify drive gains from currents of one motion without and one with a known load.

Currents alone determine parameters up to a factor of each drive. The links couple these factors,
so one load of known mass fixes them all ([Gautier2014]). Currents are
i = (Y base + friction + the load's efforts) / gain. The fit minimizes the error of the currents,
not that of the efforts, so that noise of the currents does not make gains too small. Without a
load, `identify_gain_ratios` gives the gains up to one common factor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from robot_dynamics.control.actuators import Actuators
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.errors import RecordingError, check_known
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.identification.effort_model import drive_matrix, regressor_at_drives
from robot_dynamics.identification.friction_terms import FrictionColumns, FrictionTerms
from robot_dynamics.identification.least_squares import Problem, estimate
from robot_dynamics.identification.link_inertias import carried_at
from robot_dynamics.identification.regimes import moves
from robot_dynamics.recordings.recording import Recording
from robot_dynamics.recordings.signals import Signals, recordings_of, signals
from robot_dynamics.robot.robot import Robot
from robot_dynamics.spatial import PARAMETERS, Inertia, inertial_parameters

ROUNDS = 8
"""Gauss-Newton iterations; three settle the last digit."""

LOAD_KNOWN: Mapping[str, int] = {"all": 10, "mass and centre": 4, "mass": 1}
"""Known parts of a load, each with the number of `PARAMETERS` that are not solved for."""

FIRST = dict(zip("xyz", PARAMETERS[1:4], strict=True))
"""First moments of a load, by axis."""

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
        joint_names: Of the drives.
        values: Signs included, shape (n,): of motors if `actuators` were given, else of joints;
            NaN where the load does not determine them.
        deviation: Standard deviations, shape (n,); infinite there, and zero for known gains.
        drive: Movement of every drive per movement of every joint, as of `EffortModel`.
        load: What was solved for of the load, by name of `PARAMETERS`: value and standard
            deviation, infinite where the motion does not show it.
        mass: Mass of the load, kg.
    """

    joint_names: tuple[str, ...]
    values: Array
    deviation: Array
    drive: Array
    load: Mapping[str, tuple[float, float]]
    mass: float

    @property
    def missing(self) -> tuple[str, ...]:
        """Drives whose gains are not determined."""
        return tuple(
            name for name, x in zip(self.joint_names, self.values, strict=True) if np.isnan(x)
        )

    def __str__(self) -> str:
        """Say in sentences what is determined of the gains and of the load, and what is not."""
        rows = zip(self.joint_names, self.values, self.deviation, strict=True)
        known = [
            f"{name} {x:.5g}" + (f" +- {s:.1g}" if s else " (given)")
            for name, x, s in rows
            if not np.isnan(x)
        ]
        lines = [f"drive gains (N m or N per unit): {', '.join(known)}"]
        if self.missing:
            lines.append(f"not determined: the gains of {', '.join(self.missing)}")
        centre = {axis: self.load[name] for axis, name in FIRST.items() if name in self.load}
        for axis, (moment, deviation) in centre.items():
            value = f"{moment / self.mass:.3g} +- {deviation / self.mass:.1g} m"
            text = value if np.isfinite(deviation) else "not determined by the motion"
            lines.append(f"mass centre of the load, {axis}: {text}")
        return "\n".join(lines)

    def on(self, recording: Recording) -> Recording:
        """Convert a recording of currents to one of efforts.

        Args:
            recording: Recording of currents, at the joints.

        Returns:
            The recording with efforts, N m or N.

        Raises:
            RecordingError: If a gain is not determined.
        """
        if self.missing:
            raise RecordingError(
                f"{recording.source}: the gain of drive '{self.missing[0]}' is not determined; "
                "give it, or take a heavier load, fastened off the last axis"
            )
        tau = (recording.tau @ np.linalg.inv(self.drive) * self.values) @ self.drive
        return replace(recording, tau=tau, unit_known=True)


def identify_drive_gains(
    robot: Robot,
    empty: Recording | Sequence[Recording],
    loaded: Recording | Sequence[Recording],
    load: Inertia,
    frame: str,
    *,
    load_known: str = "all",
    known: Array | None = None,
    actuators: Actuators | None = None,
    cutoff: float | None = None,
) -> DriveGains:
    """Identify the effort per unit of current of every drive.

    A load that is known in part is solved for with the gains.

    Args:
        robot: Robot of the URDF: its kinematics are kept, its inertias are the initial guess.
        empty: Motions without the load, currents in the place of efforts.
        loaded: Motions with it.
        load: Its mass, mass centre and inertia in axes of the frame.
        frame: Link or frame that carries it.
        load_known: What of it is known, one of `LOAD_KNOWN`.
        known: Gains that are known, shape (n,), NaN where they are not; by default none is.
        actuators: Where drives do not move one joint each.
        cutoff: Of the low-pass, Hz; by default from the motions.

    Returns:
        Gains with standard deviations.

    Raises:
        UnknownNameError: If there is no such frame, or no such `load_known`.
        RobotError: If no joint moves the frame.
        RecordingError: If the motions do not show the load on any drive.
    """
    check_known("load_known", load_known, "identify_drive_gains", LOAD_KNOWN)
    drive, dynamics = drive_matrix(robot, actuators), Dynamics(robot)
    carried_by, first = carried_at(robot, frame), LOAD_KNOWN[load_known]
    parameters = inertial_parameters(load)
    if load_known == "mass":
        parameters[1:] = 0.0
    B, solved = carried_by @ parameters, carried_by[:, first:]
    recordings = [recordings_of(empty), recordings_of(loaded)]
    source = recordings[1][0].source
    rows = [
        _rows(dynamics, signals(recording, cutoff), drive, B * carried, solved * carried)
        for carried, several in enumerate(recordings)
        for recording in several
    ]
    X, W, current, moving = map(np.concatenate, zip(*rows, strict=True))
    given = np.full(robot.dof, np.nan) if known is None else np.asarray(known, dtype=np.float64)
    unknown = np.isnan(given)
    current = current * np.where(unknown, 1.0, given)
    h, deviation, used = np.ones(robot.dof), np.full(robot.dof, np.inf), np.arange(robot.dof)
    while True:  # without the drive that is determined least, which could mislead the others
        h[used], deviation[used], z, z_deviation = _inverse_gains(
            X[:, used], W[:, used], current[:, used], moving[:, used], unknown[used]
        )
        worst = used[np.argmax(deviation[used] / np.maximum(np.abs(h[used]), 1e-300))]
        if deviation[worst] <= SEEN * np.abs(h[worst]):
            break
        deviation[worst], used = np.inf, used[used != worst]
        if not unknown[used].any():
            raise RecordingError(
                f"{source}: the load does not determine the gain of any drive; take a heavier one, "
                "fastened off the last axis, and a motion of every joint with it"
            )
    sure = np.isin(np.arange(robot.dof), used)
    names = PARAMETERS[first:]
    rest = zip(z[len(z) - len(names) :], z_deviation[len(z) - len(names) :], strict=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        return DriveGains(
            robot.joint_names,
            np.where(unknown, np.where(sure, 1.0 / h, np.nan), given),
            np.where(unknown, np.where(sure, deviation / h**2, np.inf), 0.0),
            drive,
            dict(zip(names, ((float(x), float(s)) for x, s in rest), strict=True)),
            float(load.mass),
        )


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

    Returns:
        Ratios with standard deviations.
    """
    drive, dynamics = drive_matrix(robot, actuators), Dynamics(robot)
    none = np.zeros(len(dynamics.base_parameters))
    rows = [
        _rows(dynamics, signals(one, cutoff), drive, none, none[:, None][:, :0])
        for one in recordings_of(recording)
    ]
    X, W, current, moving = map(np.concatenate, zip(*rows, strict=True))
    size = np.sqrt(np.mean(current**2, axis=0))
    rubs = np.array([np.ptp(X[:, j, : len(none)] @ _prior(dynamics)) for j in range(robot.dof)])
    reference = int(np.argmax(np.where(size > 0.0, rubs, -1.0)))  # the links act most on it
    others = np.arange(robot.dof) != reference
    h, deviation, *_ = _inverse_gains(X, W, current, moving, others)
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
    dynamics: Dynamics, motion: Signals, drive: Array, B: Array, solved: Array
) -> tuple[Array, Array, Array, Array]:
    """Return columns of the unknowns (N, n, c); load efforts, currents, moving drives, (N, n).

    The unknowns are base parameters, friction, and those of the load that is solved for, of which
    `solved`, shape (p, k), makes base parameters.
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
    X = np.concatenate([X, Y @ solved], axis=2)
    return X, Y @ B, motion.tau @ np.linalg.inv(drive), moves(motion, drive)


def _inverse_gains(
    X: Array, W: Array, current: Array, moving: Array, unknown: Array
) -> tuple[Array, Array, Array, Array]:
    """Solve i = h (X z + W) for z and h, the inverse gains.

    Those gains that are not `unknown`, shape (n,), are 1.

    Returns:
        h and its standard deviations, shape (n,), and z with its own, shape (c,).
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
    return h, deviation, z, fit.deviation[:p]
