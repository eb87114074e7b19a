"""Actuators: efforts of joints to efforts of the motors that drive them, and back.

[AsadaSlotine1986], example 5-3: motors that stand on other links than the one before
their joint, or drive two joints by a differential, move by p = J q with a constant J. By
virtual work f . dp = tau . dq for every motion, so joints feel tau = J^T f, (5-48), and
motors must give f = J^-T tau.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from robot_dynamics.errors import ArgumentError, RobotError, ShapeError
from robot_dynamics.foundation.arrays import Array, frozen
from robot_dynamics.foundation.numbers import counted
from robot_dynamics.robot.actuator_coordinates import LinearCoordinates, transmission_coordinates
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.urdf.transmissions import Transmission


@dataclass(frozen=True, eq=False)
class Actuators:
    """The actuators of n joints. Built by `of_transmissions` or `of_coupling`.

    Actuator k has the index of the joint in its transmission.

    Args:
        names: Names of the actuators, shape (n,).
        joint_names: Names of the joints, in the order of the columns of `matrix`.
        matrix: J of p = J q: movement of every actuator (row) per movement of every joint
            (column), shape (n, n), gear ratios included.

    Raises:
        ShapeError: If the matrix does not fit the names.
        ArgumentError: If an entry is not finite, or a name stands twice.
        SingularCoordinatesError: If the matrix has no inverse: some joint motion would move no
            actuator.
    """

    names: tuple[str, ...]
    joint_names: tuple[str, ...]
    matrix: Array
    _to_joints: Array = field(init=False, repr=False)
    _to_actuators: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        n = len(self.joint_names)
        if len(self.names) != n:
            given = counted(len(self.names), "actuator")
            raise ShapeError(f"{given} for {counted(n, 'joint')}; name one per joint")
        for i, name in enumerate(self.names):
            if name in self.names[:i]:
                raise ArgumentError(f"actuator '{name}' stands twice; name each actuator once")
        J = np.asarray(self.matrix, dtype=np.float64)
        coordinates = LinearCoordinates("actuators", self.names, J, np.zeros(n))
        object.__setattr__(self, "matrix", coordinates.matrix)
        object.__setattr__(self, "_to_joints", frozen(J.T))
        object.__setattr__(self, "_to_actuators", frozen(np.linalg.inv(J).T))

    @classmethod
    def of_transmissions(cls, robot: Robot, transmissions: Iterable[Transmission]) -> Actuators:
        """Return the actuators of the transmissions of a URDF, in the order of the joints.

        Args:
            robot: The robot of the same URDF; locked joints need no actuator.
            transmissions: From `read_transmissions`.

        Returns:
            The actuators.

        Raises:
            RobotError: If a joint is driven by none or by two.
            SingularCoordinatesError: As of the class.
        """
        transmissions = tuple(transmissions)
        coordinates = transmission_coordinates(robot, transmissions)
        moving = set(robot.joint_names)
        driven = {joint for t in transmissions if moving.issuperset(t.joints) for joint in t.joints}
        missing = [name for name in robot.joint_names if name not in driven]
        if missing:
            raise RobotError(
                f"no <transmission> of robot '{robot.name}' drives {_list(missing)}; add one to "
                "the URDF, or give the coupling matrix"
            )
        return cls(coordinates.names, robot.joint_names, coordinates.matrix)

    @classmethod
    def of_coupling(
        cls, joint_names: Sequence[str], coupling: npt.ArrayLike, names: Sequence[str] = ()
    ) -> Actuators:
        """Return actuators that move by a given matrix.

        Args:
            joint_names: The n joints, in the order of the columns.
            coupling: n*n numbers row by row, or shape (n, n): row k is the movement of actuator k
                per rad or m of every joint.
            names: Names of the actuators; by default <joint>_actuator.

        Returns:
            The actuators.

        Raises:
            ShapeError: If there are not n*n numbers.
            ArgumentError: If a number is not finite.
            SingularCoordinatesError: As of the class.
        """
        n = len(joint_names)
        J = np.asarray(coupling, dtype=np.float64)
        if J.size != n * n or J.ndim > 2:
            raise ShapeError(
                f"the coupling of {counted(n, 'joint')} and their actuators has {J.size} entries; "
                f"give {n} x {n} of them, row by row: one row per actuator"
            )
        names = tuple(names) or tuple(f"{joint}_actuator" for joint in joint_names)
        return cls(names, tuple(joint_names), J.reshape(n, n))

    def in_order(self, joint_names: Sequence[str]) -> Actuators:
        """Return the same actuators in another order of their joints.

        Args:
            joint_names: Names of the same joints.

        Returns:
            Actuators whose matrix has its rows and columns in that order.

        Raises:
            ArgumentError: If these are not the same joints.
        """
        if sorted(joint_names) != sorted(self.joint_names):
            raise ArgumentError(
                f"actuators drive {_list(self.joint_names)}, not {_list(joint_names)}; give the "
                "same joints"
            )
        order = [self.joint_names.index(name) for name in joint_names]
        return Actuators(
            tuple(self.names[i] for i in order),
            tuple(joint_names),
            self.matrix[np.ix_(order, order)],
        )

    def from_joints(self, tau: Array) -> Array:
        """Return the efforts of the actuators f = J^-T tau, shape (..., n).

        Args:
            tau: Efforts of the joints, shape (..., n), N m or N.

        Returns:
            Efforts of the actuators, same shape, N m or N.
        """
        return tau @ self._to_actuators.T

    def to_joints(self, f: Array) -> Array:
        """Return the efforts of the joints tau = J^T f, shape (..., n).

        Args:
            f: Efforts of the actuators, shape (..., n), N m or N.

        Returns:
            Efforts of the joints, same shape, N m or N.
        """
        return f @ self._to_joints.T


def _list(names: Iterable[str]) -> str:
    shown = [f"'{name}'" for name in names]
    return ("joint " if len(shown) == 1 else "joints ") + ", ".join(shown)
