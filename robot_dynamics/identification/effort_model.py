"""Efforts of a motion by an identified model of links, rotors and friction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.control.actuators import Actuators
from robot_dynamics.control.friction import DEFAULT_WIDTH, Friction
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.identification.friction_terms import FrictionColumns, FrictionTerms
from robot_dynamics.recordings.signals import Signals
from robot_dynamics.robot.robot import Robot


@dataclass(frozen=True, eq=False)
class EffortModel:
    """tau = C^T (C^-T Y base + rotor C qdd + friction(C qd)), C being the drives.

    Args:
        dynamics: Of the robot of the URDF: what the regressor is compiled from.
        drive: C: movement of every drive per movement of every joint, shape (n, n); 1 where each
            joint has a drive of its own.
        base: Base parameters, shape (p,).
        rotor: Rotor inertia of every drive, shape (n,), kg m^2 or kg.
        shapes: Terms of the friction of every drive.
        coefficients: Of these terms, shape (k,) each.
    """

    dynamics: Dynamics
    drive: Array
    base: Array
    rotor: Array
    shapes: tuple[FrictionTerms, ...]
    coefficients: tuple[Array, ...]

    @staticmethod
    def of(robot: Robot, friction: Friction, rotor_inertia: Array | None = None) -> EffortModel:
        """Return the effort model of any robot, with one drive per joint."""
        dynamics, n = Dynamics(robot), robot.dof
        base = np.array([parameter.value for parameter in dynamics.base_parameters])
        shapes, coefficients = [], []
        for j in range(n):
            shape = FrictionTerms(
                float(friction.width[j]) or DEFAULT_WIDTH,
                float(friction.stribeck[j]) if friction.stiction[j] else 0.0,
                viscous=True,
                loaded=bool(friction.load[j]),
                memory=float(friction.memory[j]),
                slip=float(friction.slip[j]),
                slip_ratio=float(friction.slip_ratio[j]),
                elastic=float(friction.elastic[j]),
            )
            shapes.append(shape)
            coefficients.append(np.array([getattr(friction, name)[j] for name in shape.names]))
        rotor = np.zeros(n) if rotor_inertia is None else rotor_inertia
        return EffortModel(dynamics, np.eye(n), base, rotor, tuple(shapes), tuple(coefficients))

    def drive_efforts(self, motion: Signals) -> Array:
        """Return efforts of the drives, shape (N, n), filtered like those of the motion."""
        columns = FrictionColumns(motion, self.drive)
        rigid = self.rigid(motion)
        efforts = rigid.copy()
        for j, (shape, values) in enumerate(zip(self.shapes, self.coefficients, strict=True)):
            efforts[:, j] += columns.of(j, shape, np.abs(rigid[:, j])) @ values
        return efforts

    def efforts(self, motion: Signals) -> Array:
        """Return efforts of the joints, shape (N, n)."""
        return self.drive_efforts(motion) @ self.drive

    def rigid(self, motion: Signals) -> Array:
        """Return the drive efforts that links and rotors need, shape (N, n)."""
        Y = regressor_at_drives(self.dynamics, motion, self.drive)
        return Y @ self.base + self.rotor * (motion.qdd @ self.drive.T)

    @property
    def friction(self) -> Friction:
        """Return the friction of all drives for controllers, dissipative at every speed.

        Least squares and the tolerance of a solver may leave slightly negative coefficients.
        """
        values = [
            dict(zip(shape.names, numbers, strict=True))
            for shape, numbers in zip(self.shapes, self.coefficients, strict=True)
        ]
        names = ("viscous", "coulomb", "stiction", "load", "offset")
        named = {name: np.array([float(v.get(name, 0.0)) for v in values]) for name in names}
        for name in ("viscous", "coulomb", "load"):
            named[name] = np.maximum(named[name], 0.0)
        named["stiction"] = np.maximum(named["stiction"], -named["coulomb"])
        return Friction(
            **named,
            stribeck=np.array([shape.stribeck or 1.0 for shape in self.shapes]),
            width=np.array([shape.width or 1.0 for shape in self.shapes]),
            **{
                name: np.array([getattr(shape, name) for shape in self.shapes])
                for name in ("memory", "slip", "slip_ratio", "elastic")
            },
        )


def drive_matrix(robot: Robot, actuators: Actuators | None) -> Array:
    """Return C: movement of every drive per movement of every joint, scaled to that of its joint.

    Args:
        robot: Whose n joints they drive.
        actuators: None where each joint has a drive of its own.
    """
    if actuators is None:
        return np.eye(robot.dof)
    J = actuators.in_order(robot.joint_names).matrix
    largest = np.take_along_axis(J, np.abs(J).argmax(axis=1)[:, None], axis=1)
    own = np.diag(J)[:, None]
    return np.asarray(J / np.where(own != 0.0, own, largest))


def regressor_at_drives(dynamics: Dynamics, motion: Signals, drive: Array) -> Array:
    """Return the regressor at the drives, C^-T Y, shape (N, n, p)."""
    Y = dynamics.regressor(motion.q, motion.qd, motion.qdd)
    if np.array_equal(drive, np.eye(len(drive))):
        return Y
    return np.asarray(np.einsum("ij,njp->nip", np.linalg.inv(drive).T, Y))
