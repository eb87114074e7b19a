"""Generalized coordinates other than joint displacements: of motors, of links, of a frame.

[AsadaSlotine1986], section 5.2.4. Motors (gears, remote drives) and absolute angles, examples 5-3
and 5-4: a motor that stands on another link than the one before its joint turns by the sum of the
joint angles in between, so the coordinates of all motors are p = J q with a constant J, and by
virtual work Q = J^T (motor efforts), (5-48). Position and angular velocity of a frame, example 5-5,
with the Jacobian of (5-24) to (5-26) and its derivatives: the frame may be on any link, and a
redundant robot fills up the set with joints of its own. `transformed_equations` carries the
equations of motion over to them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from robot_dynamics.algorithms.base_axes import base_axes
from robot_dynamics.errors import ArgumentError, RobotError, SingularCoordinatesError, unknown_name
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.numbers import counted
from robot_dynamics.kinematics import frame_jacobian, frame_jacobian_derivative, frame_pose
from robot_dynamics.robot.actuator_coordinates import LinearCoordinates, checked_inverse
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.transforms import merge_fixed

PARALLEL = 1e-9
"""Largest sine between axes that count as parallel: URDFs round their angles to some digits."""


def remote_drives(robot: Robot, mounted_on: Mapping[str, str]) -> LinearCoordinates:
    """Motor angles where motors stand on other links than the one before their joint.

    Example 5-3: motor 2 on the base drives joint 2 through a chain that passes joint 1, so it
    turns by theta_1 + theta_2. The joints that the chain passes must be parallel to the driven
    one (or slide); give the matrix of other drives to `LinearCoordinates`.

    Args:
        robot: Any robot.
        mounted_on: Link that carries the motor, by joint; all other motors sit at their joints.

    Raises:
        UnknownNameError: If there is no such joint or link.
        RobotError: If the joint slides, a joint on the way is not parallel, or the link is not on
            the way inward.
    """
    tree = merge_fixed(robot)
    rows = np.eye(len(tree.joints))
    moving = [joint.name for joint in tree.joints]
    signs = _parallel_signs(tree)
    for joint, link in mounted_on.items():
        if joint not in robot.joint_names:
            raise unknown_name("joint", joint, f"robot '{robot.name}'", robot.joint_names)
        if not robot.joint(joint).type.rotates:
            raise RobotError(
                f"joint '{joint}' slides: a chain that passes other joints turns; give the matrix "
                "of this drive to LinearCoordinates"
            )
        mount = tree.link_index(tree.frame(link).link)
        j = k = moving.index(joint)
        while tree.parents[k] != mount:
            k = tree.parents[k] - 1
            if k < 0:
                raise RobotError(
                    f"the motor of joint '{joint}' cannot stand on link '{link}', which does not "
                    "lie between the joint and the base; name a link that carries the joint"
                )
            if tree.joints[k].type.rotates:
                if signs[j, k] == 0.0:
                    raise RobotError(
                        f"the drive of joint '{joint}' from link '{link}' passes joint "
                        f"'{moving[k]}', which is not parallel to it; give the matrix of this "
                        "drive to LinearCoordinates"
                    )
                rows[j, k] = signs[j, k]
    return _of_moving_joints("remote drives", robot, rows)


def absolute_angles(robot: Robot) -> LinearCoordinates:
    """Angles of links from where their axis stops being parallel: from the base if planar.

    Example 5-4: p_1 = theta_1, p_2 = theta_1 + theta_2. The sum runs inward over parallel joints,
    past sliding ones, and ends at the first joint of another direction. Antiparallel joints
    count with a minus sign.

    Args:
        robot: Any robot.
    """
    tree = merge_fixed(robot)
    rows = np.eye(len(tree.joints))
    signs = _parallel_signs(tree)
    for j, joint in enumerate(tree.joints):
        k = tree.parents[j] - 1
        while joint.type.rotates and k >= 0:
            if tree.joints[k].type.rotates:
                if signs[j, k] == 0.0:
                    break
                rows[j, k] = signs[j, k]
            k = tree.parents[k] - 1
    return _of_moving_joints("absolute angles", robot, rows)


def _parallel_signs(tree: Robot) -> Array:
    """1 or -1 for joints with parallel or antiparallel axes at q = 0, else 0, shape (m, m)."""
    b = np.array(base_axes(tree, np.zeros(len(tree.joints))).b).reshape(-1, 3)
    sine = np.linalg.norm(np.cross(b[:, None, :], b[None, :, :]), axis=2)
    return np.where(sine < PARALLEL, np.sign(b @ b.T), 0.0)


def _of_moving_joints(name: str, robot: Robot, rows: Array) -> LinearCoordinates:
    """Coordinates of independent joints from a matrix over all moving joints."""
    independent = [k for k, joint in enumerate(robot.moving_joints) if joint.mimic is None]
    joints = robot.coupling
    matrix = rows[independent] @ joints.matrix
    return LinearCoordinates(name, robot.joint_names, matrix, rows[independent] @ joints.offset)


ENDPOINT = ("x", "y", "z", "wx", "wy", "wz")
"""Rates of a frame: its origin in base axes (m), and its angular velocity in base axes (rad/s),
which is the rate of no coordinate."""


class Coordinates(Protocol):
    """A set of generalized coordinates p of a robot with n independent joints, dp = J(q) dq.

    Attributes:
        name: What messages call the set.
        names: Name of every coordinate, n of them.
        holonomic: Whether p is a function of q. Angular velocities are rates of no coordinates;
            their equations of motion hold all the same, but (5-52) does not.
    """

    @property
    def name(self) -> str: ...  # noqa: D102

    @property
    def names(self) -> tuple[str, ...]: ...  # noqa: D102

    @property
    def holonomic(self) -> bool: ...  # noqa: D102

    def positions(self, q: Array) -> Array:
        """Return coordinates p at joint positions q, shape (n,)."""

    def jacobian(self, q: Array) -> Array:
        """Return J of eq. (5-49) at joint positions q, shape (n, n)."""

    def jacobian_derivatives(self, q: Array) -> Array:
        """Return dJ_ij/dq_k at joint positions q, shape (n, n, n) with k last."""

    def inverse_jacobian(self, q: Array) -> Array:
        """Return J^-1 at joint positions q, shape (n, n)."""


@dataclass(frozen=True, eq=False)
class EndpointCoordinates:
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
        place = frame_pose(self.robot, q, self.frame).translation
        return np.concatenate([place, np.zeros(3), q])[self._rows]

    def jacobian(self, q: Array) -> Array:
        """See `Coordinates.jacobian`."""
        J = frame_jacobian(self.robot, q, self.frame)
        return np.vstack([J, np.eye(self.robot.dof)])[self._rows]

    def jacobian_derivatives(self, q: Array) -> Array:
        """See `Coordinates.jacobian_derivatives`."""
        n = self.robot.dof
        units = np.eye(n)
        of_frame = [frame_jacobian_derivative(self.robot, q, qd, self.frame) for qd in units]
        dJ = np.stack(of_frame, axis=2) if n else np.zeros((6, 0, 0))
        return np.concatenate([dJ, np.zeros((n, n, n))])[self._rows]

    def inverse_jacobian(self, q: Array) -> Array:
        """See `Coordinates.inverse_jacobian`.

        Symbols are inverted by cofactors, so that det J = 0 alone spoils the result. Whether it
        is zero cannot be seen then: compiled equations give infinities there.

        Raises:
            SingularCoordinatesError: If J has no inverse at q.
        """
        J = self.jacobian(q)
        if J.dtype == object:
            return inverse_by_cofactors(J, self)
        where = f"at q = ({', '.join(f'{x:.6g}' for x in q)})"
        return checked_inverse(J, self.name, self.names, where)

    @property
    def _rows(self) -> list[int]:
        """Numbers of the names among the rates of the frame and of the joints."""
        known = (*ENDPOINT, *self.robot.joint_names)
        return [known.index(name) for name in self.names]


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
            f"the endpoint of robot '{robot.name}' has {counted(robot.dof, 'joint')} behind it and "
            f"got the coordinates {', '.join(names)}; give {robot.dof} different ones of "
            f"{', '.join(known)}"
        )
    holonomic = not set(names) & set(ENDPOINT[3:])
    return EndpointCoordinates(f"endpoint {frame}", names, holonomic, robot, frame)


def contracted(tensor: Array, axis: int, matrix: Array) -> Array:
    """Replace one axis of a tensor: sum over a of tensor[.. a ..] matrix[a, b]."""
    return np.moveaxis(np.tensordot(tensor, matrix, axes=(axis, 0)), -1, axis)


def inverse_by_cofactors(J: Array, coordinates: Coordinates) -> Array:
    """Invert a Jacobian of symbols: adjugate over determinant, without a choice of pivots."""
    n = len(J)
    known: dict[tuple[tuple[int, ...], tuple[int, ...]], Any] = {}

    def minor(rows: tuple[int, ...], columns: tuple[int, ...]) -> Any:
        if not rows:
            return 1.0
        if (rows, columns) not in known:
            total: Any = 0.0
            for at, column in enumerate(columns):
                rest = minor(rows[1:], columns[:at] + columns[at + 1 :])
                term = J[rows[0], column] * rest
                total = total + term if at % 2 == 0 else total - term
            known[rows, columns] = total
        return known[rows, columns]

    everything = tuple(range(n))
    try:
        scale = 1.0 / minor(everything, everything)
    except (ArgumentError, ZeroDivisionError):  # a determinant that folds to zero
        raise SingularCoordinatesError(
            f"the coordinates '{coordinates.name}' are singular everywhere: det J = 0; take other "
            "coordinates"
        ) from None
    inverse = np.empty((n, n), dtype=object)
    for i in everything:
        for j in everything:
            others = everything[:i] + everything[i + 1 :], everything[:j] + everything[j + 1 :]
            cofactor = minor(*others) * scale
            inverse[j, i] = cofactor if (i + j) % 2 == 0 else -cofactor
    return inverse
