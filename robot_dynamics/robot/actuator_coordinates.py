"""Positions of actuators as linear functions of joint positions: p = J q + offset.

[AsadaSlotine1986], eqs. (5-48), (5-49): by virtual work Q = J^T (actuator efforts).
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics.errors import RobotError, ShapeError, SingularCoordinatesError
from robot_dynamics.foundation.arrays import Array, frozen, vector
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.urdf.transmissions import Transmission

SINGULAR = 1e-12
"""J counts as singular below this ratio of its singular values, rows and columns scaled to length
1: its inverse would keep no more than a few of the 16 digits of a float."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class LinearCoordinates:
    """Coordinates p = matrix q + offset, with the same J everywhere.

    Args:
        name: What messages call the set.
        names: Name of every coordinate.
        matrix: J, shape (n, n).
        offset: Coordinates at q = 0, shape (n,).

    Raises:
        SingularCoordinatesError: If the matrix has no inverse.
        ShapeError: If a shape does not fit the number of names.
        ArgumentError: If an entry is not finite.
    """

    name: str
    names: tuple[str, ...]
    matrix: Array
    offset: Array

    holonomic = True

    def __post_init__(self) -> None:
        n = len(self.names)
        object.__setattr__(self, "matrix", frozen(self.matrix))
        object.__setattr__(self, "offset", frozen(vector("offset", self.offset, n)))
        if self.matrix.shape != (n, n):
            raise ShapeError(f"matrix must have shape ({n}, {n}), got {self.matrix.shape}")
        vector("matrix", self.matrix.ravel(), n * n)
        checked_inverse(self.matrix, self.name, self.names, "everywhere")

    def positions(self, q: Array) -> Array:
        """Return coordinates p at joint positions q, shape (n,)."""
        return self.matrix @ np.asarray(q) + self.offset

    def joint_positions(self, p: Array) -> Array:
        """Return joint positions q of coordinates p, shape (n,)."""
        return np.linalg.inv(self.matrix) @ (np.asarray(p) - self.offset)

    def jacobian(self, q: Array) -> Array:
        """Return J of dp = J dq, shape (n, n)."""
        return self.matrix

    def jacobian_derivatives(self, q: Array) -> Array:
        """Return dJ_ij/dq_k, shape (n, n, n): zero."""
        return np.zeros((len(self.names),) * 3)

    def inverse_jacobian(self, q: Array) -> Array:
        """Return J^-1, shape (n, n)."""
        return np.linalg.inv(self.matrix)


def checked_inverse(J: Array, name: str, names: Sequence[str], where: str) -> Array:
    """Return the inverse of a Jacobian of numbers.

    Raises:
        SingularCoordinatesError: If it has none; the message names the coordinates.
    """
    rows = np.linalg.norm(J, axis=1, keepdims=True)
    scaled = J / np.where(rows == 0.0, 1.0, rows)
    columns = np.linalg.norm(scaled, axis=0)
    U, s, _ = np.linalg.svd(scaled / np.where(columns == 0.0, 1.0, columns))
    if s[-1] > SINGULAR * s[0]:
        return np.linalg.inv(J)
    weights = U[:, -1] / np.where(rows[:, 0] == 0.0, 1.0, rows[:, 0])
    weights = weights / weights[np.argmax(np.abs(weights))]
    pairs = zip(weights, names, strict=True)
    stuck = " ".join(f"{x:+.3g} {entry}" for x, entry in pairs if abs(x) > 1e-6)
    raise SingularCoordinatesError(
        f"the coordinates '{name}' are singular {where}: no joint motion changes "
        f"{stuck}; take other coordinates or another position"
    )


def transmission_coordinates(
    robot: Robot, transmissions: Iterable[Transmission]
) -> LinearCoordinates:
    """Return actuator positions as coordinates, from the transmissions of a URDF.

    Args:
        robot: The robot of the same URDF.
        transmissions: From `read_transmissions`. One that drives a joint which is not independent
            (fixed, locked, a mimic) is skipped with a warning.

    Returns:
        Coordinates named by their actuators; a joint without transmission stays a coordinate.

    Raises:
        RobotError: If two transmissions drive the same joint.
    """
    joints = list(robot.joint_names)
    matrix, offset, names = np.eye(robot.dof), np.zeros(robot.dof), list(joints)
    driven: dict[str, str] = {}
    for transmission in transmissions:
        missing = [joint for joint in transmission.joints if joint not in joints]
        if missing:
            logger.warning(
                "transmission '%s' is left out: joint '%s' is not an independent joint of robot "
                "'%s'",
                *(transmission.name, missing[0], robot.name),
            )
            continue
        for joint, actuator in zip(transmission.joints, transmission.actuators, strict=True):
            if joint in driven:
                raise RobotError(
                    f"joint '{joint}' of robot '{robot.name}' is driven by transmissions "
                    f"'{driven[joint]}' and '{transmission.name}'; leave one out"
                )
            driven[joint] = transmission.name
            names[joints.index(joint)] = actuator
        rows = [joints.index(joint) for joint in transmission.joints]
        matrix[np.ix_(rows, rows)] = transmission.matrix
        offset[rows] = -transmission.matrix @ transmission.offset
    return LinearCoordinates("transmissions", tuple(names), matrix, offset)
