"""Two masses per elastic joint: the coordinates of a plant are those of links, then of motors.

A rigid joint has one coordinate, in which its motor moves with its link. An elastic joint has two:
that of its link, at which stops act, and that of its motor, at which command and friction act.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from robot_dynamics.errors import ArgumentError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.lazy import cached_property
from robot_dynamics.robot.robot import Robot
from robot_dynamics.trajectory.motions import sample_poses

if TYPE_CHECKING:
    from robot_dynamics.dynamics.dynamics import Dynamics

LINK, MOTOR, BOTH = ENCODERS = ("link", "motor", "both")
"""Sides of elastic joints that encoders measure; with both, positions are those of the links and
velocities those of the motors."""

IMPLICIT = 0.5
"""Share of h^2 K that counts as inertia in a step of h. The step then is that of the implicit
leapfrog scheme with Newmark's beta of 1/2: stable for any stiffness, and without damping. A quarter
is the limit of stability, where modes much faster than the step ring at large amplitudes."""

FASTEST_STEP = 1.0
"""Largest product of step and fastest mode of the springs for Runge-Kutta steps, rad; beyond 2.8
they are unstable."""

MOST_PARTS = 200
"""Largest number of parts of a step."""


@dataclass(frozen=True)
class TwoMasses:
    """The coordinates of a robot with elastic joints.

    Args:
        n: Number of joints.
        joints: Indices of the elastic joints, in order.
    """

    n: int
    joints: tuple[int, ...] = ()

    @classmethod
    def of(cls, robot: Robot) -> TwoMasses:
        """Return the coordinates of a robot."""
        return cls(robot.dof, robot.elastic_joints)

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return self.n + len(self.joints)

    @cached_property
    def drives(self) -> list[int]:
        """Coordinate that the command of each joint moves."""
        motors = {joint: self.n + k for k, joint in enumerate(self.joints)}
        return [motors.get(j, j) for j in range(self.n)]

    def at_drives(self, values: Array) -> Array:
        """Return values of the joints at the coordinates of their drives, shape (size,)."""
        if not self.joints:
            return values
        found = np.full(self.size, 0.0, dtype=values.dtype)
        found[self.drives] = values
        return found

    def at_links(self, values: Array, elsewhere: Any = 0.0) -> Array:
        """Return values of the links, with others at the motors, shape (size,)."""
        if not self.joints:
            return values
        return np.concatenate([values, np.broadcast_to(elsewhere, len(self.joints))])

    def measured(self, q: Array, qd: Array, encoders: str) -> tuple[Array, Array]:
        """Return the positions and velocities that encoders measure, shape (n,) each.

        Args:
            q: Positions of all coordinates.
            qd: Their velocities.
            encoders: One of `ENCODERS`.
        """
        links = list(range(self.n))
        of_q = self.drives if encoders == MOTOR else links
        return q[of_q], qd[links if encoders == LINK else self.drives]

    def extensions(self, x: Array) -> Array:
        """Return the motor minus link positions (or velocities) of the elastic joints."""
        return np.asarray(x[self.n :] - x[list(self.joints)])

    def pull(self, efforts: Array) -> Array:
        """Return the efforts of springs at all coordinates: on the link, and back on the motor."""
        found = self.at_links(np.zeros(self.n, dtype=efforts.dtype), -efforts)
        for joint, effort in zip(self.joints, efforts, strict=True):
            found[joint] = found[joint] + effort
        return found

    def coupling(self, per_spring: Array) -> Array:
        """Return the matrix that takes coordinates to minus `pull`, shape (size, size)."""
        found = np.zeros((self.size, self.size), dtype=per_spring.dtype)
        for k, (joint, value) in enumerate(zip(self.joints, per_spring, strict=True), self.n):
            found[joint, joint] = found[k, k] = value
            found[joint, k] = found[k, joint] = -value
        return found


def check_motors(robot: Robot, rotor_inertia: Array) -> None:
    """Refuse an elastic joint whose motor has no inertia.

    Raises:
        ArgumentError: Names the joint.
    """
    for joint in robot.elastic_joints:
        if not rotor_inertia[joint] > 0.0:
            raise ArgumentError(
                f"joint '{robot.joint_names[joint]}' is elastic, but its rotor has no inertia; "
                "give rotor_inertia at the joint, kg m^2 or kg"
            )


def fastest_mode(robot: Robot, dynamics: Dynamics, rotor_inertia: Array) -> tuple[float, str]:
    """Return the largest magnitude of the modes of all springs, 1/s, and the joint that has it.

    The arm is in 50 poses within its ranges; a mode belongs to the joint that moves most in it.
    """
    masses, springs = TwoMasses.of(robot), robot.joint_elasticity
    at = list(masses.joints)
    K, D = (masses.coupling(row[at]) for row in springs)
    rigid = np.where(np.isfinite(springs.stiffness), 0.0, rotor_inertia)
    N, n = masses.size, masses.n
    inverse = np.zeros((50, N, N))
    M = dynamics.mass_matrix(sample_poses(robot, 50)) + np.diag(rigid)
    inverse[:, :n, :n] = np.linalg.inv(M)
    inverse[:, range(n, N), range(n, N)] = 1.0 / rotor_inertia[at]
    A = np.zeros((50, 2 * N, 2 * N))
    A[:, :N, N:] = np.eye(N)
    A[:, N:, :N], A[:, N:, N:] = -inverse @ K, -inverse @ D
    values, vectors = np.linalg.eig(A)
    pose, mode = np.unravel_index(np.argmax(np.abs(values)), values.shape)
    moved = np.abs(masses.extensions(vectors[pose, :N, mode]))
    return float(np.abs(values[pose, mode])), robot.joint_names[at[int(np.argmax(moved))]]


def parts_of_step(robot: Robot, dynamics: Dynamics, rotor_inertia: Array, step: float) -> int:
    """Return into how many parts a Runge-Kutta step is divided.

    Raises:
        ArgumentError: If there are too many.
    """
    fastest, joint = fastest_mode(robot, dynamics, rotor_inertia)
    parts = int(np.ceil(fastest * step / FASTEST_STEP))
    if parts > MOST_PARTS:
        raise ArgumentError(
            f"joint '{joint}' oscillates at up to {fastest / (2.0 * np.pi):.3g} Hz on its spring, "
            f"which a step of {step:g} s would follow in {parts} parts; take the integrator "
            "semi_implicit_euler, which is stable for any stiffness, or a shorter step"
        )
    return max(parts, 1)
