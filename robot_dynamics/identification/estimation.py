"""Identification: from a robot and its recorded motion to a robot that fits.

Base parameters and friction come from weighted least squares ([Gautier1997]), terms of
friction from blocks of samples that they were not fitted on, bodies of the links from the nearest
ones that matter can have ([Wensing2018]).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.control.actuators import Actuators
from robot_dynamics.control.friction import Friction
from robot_dynamics.errors import RecordingError
from robot_dynamics.identification.effort_model import EffortModel, drive_matrix
from robot_dynamics.identification.friction_and_bodies import Fit
from robot_dynamics.identification.link_inertias import LinkInertias
from robot_dynamics.identification.recordings.doubts import Doubt, doubts, refuse_hopeless
from robot_dynamics.identification.recordings.recording import Recording
from robot_dynamics.identification.signals import joined, signals
from robot_dynamics.identification.validation import Report, reported
from robot_dynamics.robot.robot import Robot


@dataclass(frozen=True)
class IdentifiedParameter:
    """One base parameter.

    Args:
        name: As in `base_parameters`.
        value: Of least squares; kg, kg m or kg m^2.
        deviation: Its standard deviation; infinite where the motion does not show it.
        before: What the URDF said.
        consistent: What the physically consistent robot has.
    """

    name: str
    value: float
    deviation: float
    before: float
    consistent: float


@dataclass(frozen=True, eq=False)
class Identification:
    """What a recording says of a robot.

    Args:
        robot: The robot with identified bodies, and viscous and Coulomb friction of its joints.
        friction: All that was found of friction, by drive: by joint unless `actuators` are given.
        rotor_inertia: Shape (n,), kg m^2 or kg, as the joints feel it; zero where not found.
        parameters: Base parameters with their standard deviations.
        report: How well it fits, on samples that the fit did not see.
        model: The efforts of the physically consistent robot.
        free: Those of plain least squares, whose bodies need not exist.
        edge: Of the filter that the fit used, Hz.
    """

    robot: Robot
    friction: Friction
    rotor_inertia: Array
    parameters: tuple[IdentifiedParameter, ...]
    report: Report
    model: EffortModel
    free: EffortModel
    edge: float

    def predict(self, recording: Recording) -> Array:
        """Efforts of a recorded motion, shape (N, n), at its times, N m or N."""
        return predicted(self.model, recording, self.edge)


def predicted(model: EffortModel, recording: Recording, edge: float | None) -> Array:
    """Efforts of a recorded motion by a model, at the times of the recording, shape (N, n).

    The motion is filtered, friction is not: its steps are part of the effort.
    """
    motion = signals(recording, edge, thinned=False)
    motion = replace(motion, low_pass=lambda columns: columns(motion.qd))
    efforts = model.efforts(motion)
    columns = [np.interp(recording.time, motion.time, column) for column in efforts.T]
    return np.column_stack(columns)


def identify(
    robot: Robot,
    recording: Recording | Sequence[Recording],
    *,
    edge: float | None = None,
    rotor_inertia: bool | None = None,
    physical: bool = True,
    actuators: Actuators | None = None,
) -> Identification:
    """Identify bodies and friction of a robot.

    Args:
        robot: As the URDF has it: its kinematics are taken, its bodies are where the search starts.
        recording: One motion or several, at the joints.
        edge: Of the low-pass, Hz; by default from the motion.
        rotor_inertia: Whether drives have inertia of their own; by default if unseen samples say.
        physical: Whether bodies must be such as matter can have; this needs cvxpy.
        actuators: Where friction and rotors sit when drives do not move one joint each.

    Raises:
        RecordingError: If nothing can be identified from it; the line says why.
        MissingPackageError: If cvxpy is needed and not installed.
    """
    recordings = [recording] if isinstance(recording, Recording) else list(recording)
    if not recordings:
        raise RecordingError("no recording is given; give one or more")
    found: list[Doubt] = []
    for one in recordings:
        found += doubts(robot, one)
    refuse_hopeless(found)
    motion = joined([signals(one, edge) for one in recordings])
    fit = Fit.of(robot, motion, drive_matrix(robot, actuators), rotor_inertia)
    free = fit.free
    links = LinkInertias.of(robot)
    model, identified = (free, robot) if not physical else fit.consistent(links)
    friction = model.friction
    identified = _with_friction(identified, friction, model.drive)
    report = reported(robot, motion, fit.unseen, model.efforts(motion), fit.seen, found)
    rotor = np.diag(model.drive.T @ np.diag(model.rotor) @ model.drive)
    return Identification(
        identified,
        friction,
        rotor,
        _parameters(fit, links, model),
        report,
        model,
        free,
        motion.edge,
    )


def _with_friction(robot: Robot, friction: Friction, drive: Array) -> Robot:
    """Viscous and Coulomb friction of drives on the joints, as far as a URDF can say it."""
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
    """Base parameters with deviations, before and after."""
    z, deviation = fit.estimate.z, fit.estimate.deviation
    return tuple(
        IdentifiedParameter(b.name, float(z[i]), float(deviation[i]), b.value, float(model.base[i]))
        for i, b in enumerate(links.base)
    )
