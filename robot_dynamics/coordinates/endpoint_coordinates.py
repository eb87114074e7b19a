"""Position and angular velocity of a frame as generalized coordinates.

[AsadaSlotine1986], example 5-5, with the Jacobian of (5-24) to (5-26) and its derivatives. The
frame may be on any link; a redundant robot fills up the set with joints of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from robot_dynamics.algorithms.base_axes import base_axes
from robot_dynamics.arrays import Array
from robot_dynamics.coordinates.generalized_coordinates import Coordinates, contracted
from robot_dynamics.errors import ArgumentError, unknown_name
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.transforms import merge_fixed
from robot_dynamics.spatial.rotation import cross

ENDPOINT = ("x", "y", "z", "wx", "wy", "wz")
"""What a frame offers: its origin in base axes (m), and its angular velocity in base axes (rad/s),
which is the rate of no coordinate."""


@dataclass(frozen=True, eq=False)
class EndpointCoordinates(Coordinates):
    """Coordinates of a frame; build them with `endpoint_coordinates`.

    Args:
        name: What messages call the set.
        names: n names out of `ENDPOINT` and `robot.joint_names`.
        holonomic: Whether no angular velocity is among them.
        robot: The robot, n independent joints.
        frame: Link or named frame.
    """

    name: str
    names: tuple[str, ...]
    holonomic: bool
    robot: Robot
    frame: str

    def positions(self, q: Array) -> Array:
        """See `Coordinates.positions`.

        Raises:
            ArgumentError: If an angular velocity is among the rates.
        """
        if not self.holonomic:
            raise ArgumentError(
                f"the coordinates '{self.name}' have no positions: wx, wy and wz are angular "
                "velocities, the rates of no coordinates; leave them out"
            )
        tree, q = merge_fixed(self.robot), np.asarray(q)
        axes = base_axes(tree, tree.coupling.positions(q))
        place = tree.frame(self.frame)
        k = tree.link_index(place.link) - 1
        t = place.pose.translation
        r = t if k < 0 else axes.p[k] + axes.R[k] @ t
        known = {**dict(zip(ENDPOINT, r, strict=False)), **dict(zip(self._joints, q, strict=True))}
        return np.array([known[name] for name in self.names])

    def jacobian(self, q: Array) -> Array:
        """See `Coordinates.jacobian`."""
        return self._rows(q)[0]

    def jacobian_derivatives(self, q: Array) -> Array:
        """See `Coordinates.jacobian_derivatives`."""
        return self._rows(q)[1]

    @property
    def _joints(self) -> tuple[str, ...]:
        return self.robot.joint_names

    def _rows(self, q: Array) -> tuple[Array, Array]:
        """J and its derivatives, the rows that were asked for."""
        tree, n = merge_fixed(self.robot), self.robot.dof
        axes = base_axes(tree, tree.coupling.positions(np.asarray(q)))
        m = len(tree.joints)
        place = tree.frame(self.frame)
        k = tree.link_index(place.link) - 1
        J: Any = np.full((6, m), 0.0, dtype=object)
        dJ: Any = np.full((6, m, m), 0.0, dtype=object)
        if k >= 0:
            path = axes.paths[k]
            J_L, J_A = axes.jacobian(k, axes.p[k] + axes.R[k] @ place.pose.translation)
            for a, i in enumerate(path):
                J[:3, i], J[3:, i] = J_L[:, a], J_A[:, a]
                for b, j in enumerate(path):
                    inner, outer = min(a, b), max(a, b)  # the inner joint moves the outer one
                    dJ[:3, i, j] = cross(J_A[:, inner], J_L[:, outer])
                    if b < a:
                        dJ[3:, i, j] = cross(J_A[:, b], J_A[:, a])
        E = tree.coupling.matrix
        J, dJ = J @ E, contracted(contracted(dJ, 1, E), 2, E)
        J = np.vstack([J, np.eye(n)])
        dJ = np.concatenate([dJ, np.zeros((n, n, n))])
        known = (*ENDPOINT, *self._joints)
        rows = [known.index(name) for name in self.names]
        return np.array(J[rows].tolist()), np.array(dJ[rows].tolist())


def endpoint_coordinates(robot: Robot, frame: str, names: Sequence[str]) -> EndpointCoordinates:
    """Take the motion of a frame as generalized coordinates.

    Args:
        robot: Any robot; n independent joints.
        frame: Link or named frame.
        names: n different names: "x", "y", "z" of the frame's origin in base axes, the angular
            velocities "wx", "wy", "wz" in base axes, or joints of the robot.

    Raises:
        UnknownNameError: If there is no such frame or coordinate.
        ArgumentError: If there are not n different names.
    """
    robot.frame(frame)
    names = tuple(names)
    known = (*ENDPOINT, *robot.joint_names)
    for name in names:
        if name not in known:
            raise unknown_name("coordinate", name, f"frame '{frame}' of '{robot.name}'", known)
    if len(names) != robot.dof or len(set(names)) != len(names):
        raise ArgumentError(
            f"the endpoint of robot '{robot.name}' has {robot.dof} joints behind it and got the "
            f"coordinates {', '.join(names)}; give {robot.dof} different ones of {', '.join(known)}"
        )
    holonomic = not set(names) & set(ENDPOINT[3:])
    return EndpointCoordinates(f"endpoint {frame}", names, holonomic, robot, frame)
