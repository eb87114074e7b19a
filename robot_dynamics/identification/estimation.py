"""Identify a robot from its recorded motion.

Base parameters and friction come from weighted least squares ([Gautier1997]), friction
terms are chosen on held-out blocks of samples, and link inertias are the nearest physically
consistent ones ([Wensing2018]).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from robot_dynamics.control.actuators import Actuators
from robot_dynamics.control.friction import Friction
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.progress import Progress, quiet
from robot_dynamics.identification.effort_bands import EffortBands, calibrated, names_of
from robot_dynamics.identification.effort_lag import lag_warnings
from robot_dynamics.identification.effort_model import EffortModel, drive_matrix
from robot_dynamics.identification.friction_and_bodies import Fit
from robot_dynamics.identification.link_inertias import LinkInertias
from robot_dynamics.identification.regimes import slow_speeds
from robot_dynamics.identification.validation import (
    Report,
    own_regimes,
    predicted_efforts,
    reported,
    residual_as_recorded,
)
from robot_dynamics.recordings.data_quality import checked_motion
from robot_dynamics.recordings.recording import Recording
from robot_dynamics.recordings.signals import Signals, recordings_of, signals
from robot_dynamics.robot.robot import Robot


@dataclass(frozen=True)
class IdentifiedParameter:
    """One base parameter.

    Args:
        name: As in `base_parameters`.
        value: Of least squares; kg, kg m or kg m^2.
        deviation: Its standard deviation; infinite where the motion does not show it.
        before: Value in the URDF.
        consistent: Value of the physically consistent robot.
    """

    name: str
    value: float
    deviation: float
    before: float
    consistent: float


@dataclass(frozen=True, eq=False)
class Identification:
    """Result of `identify`.

    Args:
        robot: The robot with identified bodies, and viscous and Coulomb friction of its joints.
        friction: All that was found of friction, by drive: by joint unless `actuators` are given.
        rotor_inertia: Shape (n,), kg m^2 or kg, as the joints feel it; zero where not found.
        parameters: Base parameters with their standard deviations.
        report: Quality of the fit, on held-out samples.
        model: The efforts of the physically consistent robot.
        free: Efforts of plain least squares, possibly physically inconsistent.
        cutoff: Of the filter that the fit used, Hz.
        bands: 95 % bands of the efforts of `model`.
    """

    robot: Robot
    friction: Friction
    rotor_inertia: Array
    parameters: tuple[IdentifiedParameter, ...]
    report: Report
    model: EffortModel
    free: EffortModel
    cutoff: float
    bands: EffortBands

    def predict(self, recording: Recording) -> Array:
        """Predict the efforts of a recorded motion.

        Args:
            recording: The motion, at the joints.

        Returns:
            Efforts at the times of the recording, shape (N, n), N m or N.
        """
        return predicted_efforts(self.model, recording, self.cutoff)

    def band_widths(self, recording: Recording) -> tuple[Array, Array, Array]:
        """Compute the half-widths of the 95 % bands of `predict` along a recorded motion.

        Args:
            recording: The motion, at the joints.

        Returns:
            Times of filtered samples, shape (M,), s; half-widths of the efforts below the cutoff
            and as recorded, shape (M, n) each, N m or N.

        Raises:
            RecordingError: If the recording cannot be used.
        """
        motion = signals(recording, self.cutoff)
        deviation = self.bands.parameter_deviation(self.model, motion)
        regime = own_regimes(self.robot, motion)
        return motion.time, *self.bands.widths(deviation, regime, motion.qd)


def identify(
    robot: Robot,
    recording: Recording | Sequence[Recording],
    *,
    cutoff: float | None = None,
    rotor_inertia: bool | None = None,
    physical: bool = True,
    actuators: Actuators | None = None,
    progress: Progress = quiet,
    memory: bool = True,
) -> Identification:
    """Identify link inertias and friction of a robot.

    Args:
        robot: Robot of the URDF: its kinematics are kept, its inertias are the initial guess.
        recording: One motion or several, at the joints.
        cutoff: Of the low-pass, Hz; by default from the motion.
        rotor_inertia: Whether drives have inertia of their own; by default if that reduces the
            held-out error.
        physical: Whether inertias must be physically consistent; this needs cvxpy.
        actuators: Where friction and rotors sit when drives do not move one joint each.
        progress: Called with the stage and the share of the work done.
        memory: Whether friction with presliding is tried.

    Returns:
        Identified robot, friction and rotors, with their uncertainty and a verdict.

    Raises:
        RecordingError: If the recording cannot be used; the message says why.
        MissingPackageError: If cvxpy is needed and not installed.
    """
    progress("filtering", 0.0)
    motion, found = checked_motion(robot, recording, cutoff)
    progress("choosing friction", 0.1)
    fit = Fit.of(robot, motion, drive_matrix(robot, actuators), rotor_inertia, memory=memory)
    found += lag_warnings(fit, recordings_of(recording))
    free = fit.free
    progress("consistent inertias", 0.6)
    links = LinkInertias.of(robot)
    model, identified = (free, robot) if not physical else fit.consistent(links)
    friction = model.friction
    identified = with_friction(identified, friction, model.drive)
    progress("judging", 0.8)
    efforts = model.efforts(motion)
    held_out = fit.held_out_residual
    # On held-out blocks, efforts as recorded differ from filtered ones as on all of them
    recorded = held_out + residual_as_recorded(model, recording, motion)
    recorded = recorded - (motion.tau - efforts)
    bands, widths = _bands(robot, motion, fit, model, held_out, recorded)
    report = reported(robot, motion, held_out, efforts, fit, found, recorded, widths)
    rotor = np.diag(model.drive.T @ np.diag(model.rotor) @ model.drive)
    return Identification(
        identified,
        friction,
        rotor,
        _parameters(fit, links, model),
        report,
        model,
        free,
        motion.cutoff,
        bands,
    )


def _bands(
    robot: Robot, motion: Signals, fit: Fit, model: EffortModel, held_out: Array, recorded: Array
) -> tuple[EffortBands, tuple[Array, Array]]:
    """Return the bands of a model by residuals of held-out blocks, which least squares left.

    Their half-widths along the motion come second, as of `EffortBands.widths`.
    """
    shift = fit.free.efforts(motion) - model.efforts(motion)
    names = names_of(model, fit.rotors)
    bands = EffortBands.of_parameters(
        names, fit.estimate.covariance, slow_speeds(motion), motion.cutoff
    )
    parameter, regime = bands.parameter_deviation(model, motion), own_regimes(robot, motion)
    low, high = (
        calibrated(residual + shift, parameter, regime, motion.qd, model.friction)
        for residual in (held_out, recorded)
    )
    bands = replace(bands, filtered=low, recorded=high)
    return bands, bands.widths(parameter, regime, motion.qd)


def with_friction(robot: Robot, friction: Friction, drive: Array) -> Robot:
    """Put viscous and Coulomb friction of drives on the joints, as far as a URDF can."""
    viscous = np.diag(drive.T @ np.diag(friction.viscous) @ drive)
    coulomb = np.abs(drive).T @ friction.coulomb
    values = dict(zip(robot.joint_names, zip(viscous, coulomb, strict=True), strict=True))
    joints = []
    for joint in robot.joints:
        damping, dry = values.get(joint.name, (joint.damping, joint.friction))
        if joint.mimic is not None and joint.moves:
            damping = dry = 0.0  # counted with the joint that it follows
        joints.append(replace(joint, damping=float(damping), friction=float(dry)))
    return replace(robot, joints=tuple(joints))


def _parameters(
    fit: Fit, links: LinkInertias, model: EffortModel
) -> tuple[IdentifiedParameter, ...]:
    """Return base parameters with deviations, before and after."""
    z, deviation = fit.estimate.z, fit.estimate.deviation
    return tuple(
        IdentifiedParameter(b.name, float(z[i]), float(deviation[i]), b.value, float(model.base[i]))
        for i, b in enumerate(links.base)
    )
