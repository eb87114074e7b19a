"""Instantaneous kinematics: rates of the joints for those of the end effector, and back.

Chapter 3 of [AsadaSlotine1986]. Functions of a Jacobian take any, shape (m, n): of the whole end
effector, of some of its directions (`selected_rows`), of several frames over one another.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from robot_dynamics.errors import ArgumentError
from robot_dynamics.foundation.arrays import Array, matrix, numbers, vector
from robot_dynamics.kinematics.forward_kinematics import frame_pose
from robot_dynamics.kinematics.jacobian import frame_drift, frame_jacobian
from robot_dynamics.kinematics.selection import DIRECTIONS, Directions, Selection
from robot_dynamics.robot.robot import Robot

SINGULAR = 1e-9
"""Singular value, as a part of the largest, below which a direction counts as lost."""


@dataclass(frozen=True, eq=False)
class Mobility:
    """Range, null space and singular values of a Jacobian J, shape (m, n).

    Section 3.2.2 of [AsadaSlotine1986], and section 4.1.3 of its transpose.

    Lengths and angles are compared as m and rad: scale rows to compare them otherwise.

    Attributes:
        singular_values: Largest first, shape (min(m, n),).
        rank: Number of independent directions.
        moved: Range space R(J): directions that the end effector can move in, columns, (m, rank).
        lost: Their complement, N(J^T): directions of motion that are lost, and of forces that no
            joint has to bear, (m, m - rank).
        efforts: R(J^T): joint efforts that a force at the end effector balances, (n, rank).
        idle: Null space N(J): joint motions that the end effector does not see, (n, n - rank).
        determinant: det J, which changes its sign at a singularity; None if J is not square.
    """

    singular_values: Array
    rank: int
    moved: Array
    lost: Array
    efforts: Array
    idle: Array
    determinant: float | None

    @property
    def manipulability(self) -> float:
        """Volume of the velocity ellipsoid, root of det(J J^T); 0 where a direction is lost."""
        return float(np.prod(self.singular_values)) if self.lost.shape[1] == 0 else 0.0

    @property
    def condition(self) -> float:
        """Largest by smallest singular value; infinite where a direction is lost."""
        whole = self.rank == len(self.singular_values)
        return float(self.singular_values[0] / self.singular_values[-1]) if whole else np.inf


def mobility(J: npt.ArrayLike) -> Mobility:
    """Find range and null spaces of a Jacobian: (3-41), dim R(J) + dim N(J) = n.

    Args:
        J: Jacobian, shape (m, n), rows of the frame's velocity by joint.

    Returns:
        Rank, singular values, and bases of the range and null spaces.

    Raises:
        ArgumentError: If J is no matrix of finite numbers.

    Examples:
        >>> from robot_dynamics import Dynamics, read_urdf
        >>> from robot_dynamics.kinematics import mobility
        >>> from robot_dynamics.robot import find_robot
        >>> arm = Dynamics(read_urdf(find_robot("planar_2r")))
        >>> J = arm.jacobian([0.0, 0.0], "endpoint")[[0, 2]]  # along x and z
        >>> mobility(J).rank  # stretched out, it cannot move along x
        1
    """
    J = matrix("J", J)
    U, values, V = np.linalg.svd(J)
    rank = int(np.sum(values > SINGULAR * max(values[0], SINGULAR)))
    determinant = float(np.linalg.det(J)) if J.shape[0] == J.shape[1] else None
    spaces = U[:, :rank], U[:, rank:], V[:rank].T, V[rank:].T
    return Mobility(values, rank, *spaces, determinant)


def weighted_inverse(
    J: npt.ArrayLike, weights: npt.ArrayLike | None = None, damping: float = 0.0
) -> Array:
    """Compute the inverse of a Jacobian that costs least, qd^T W qd: (3-49), W = 1 for (3-50).

    Where J loses a direction the velocity nearest to the wanted one is made, and with damping,
    next to such places too: the least |J qd - v|^2 + damping^2 qd^T W qd.

    Args:
        J: Jacobian, shape (m, n).
        weights: W, shape (n,) or (n, n), positive definite; by default all 1.
        damping: Unit of the singular values of J W^(-1/2).

    Returns:
        Shape (n, m).

    Raises:
        ArgumentError: If J is no matrix of finite numbers, W not positive definite, or the damping
            negative.
    """
    J = matrix("J", J)
    if not (np.isfinite(damping) and damping >= 0.0):
        raise ArgumentError(f"damping must be a number from 0 on, got {damping}")
    half = _root_of_inverse("weights", weights, J.shape[1])
    U, values, V = np.linalg.svd(J @ half, full_matrices=False)
    kept = values > SINGULAR * max(values[0], SINGULAR)
    divisors = np.where(kept, values**2 + damping**2, 1.0)
    return half @ (V.T * np.where(kept, values / divisors, 0.0)) @ U.T


def resolved_rates(
    J: npt.ArrayLike,
    velocity: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
    damping: float = 0.0,
    preferred: npt.ArrayLike | None = None,
) -> Array:
    """Compute the joint velocities of a velocity of the end effector: resolved motion rate, (3-33).

    Args:
        J: Jacobian, shape (m, n).
        velocity: Of the end effector, shape (m,).
        weights: As in `weighted_inverse`.
        damping: As in `weighted_inverse`.
        preferred: Joint velocities, shape (n,), of which a redundant arm makes what the end
            effector does not see: (3-42).

    Returns:
        Joint velocities, shape (n,).

    Raises:
        ShapeError: If a shape does not fit.
        ArgumentError: As in `weighted_inverse`.

    Examples:
        >>> import numpy as np
        >>> from robot_dynamics import Dynamics, read_urdf
        >>> from robot_dynamics.kinematics import resolved_rates
        >>> from robot_dynamics.robot import find_robot
        >>> arm = Dynamics(read_urdf(find_robot("planar_2r")))
        >>> J = arm.jacobian([0.0, np.pi / 2], "endpoint")[[0, 2]]  # along x and z
        >>> resolved_rates(J, [0.0, 0.1]).round(3) + 0.0
        array([ 0.1, -0.1])
    """
    J = matrix("J", J)
    v = vector("velocity", velocity, J.shape[0])
    qd = weighted_inverse(J, weights, damping) @ v
    if preferred is None:
        return qd
    wish = vector("preferred", preferred, J.shape[1])
    return qd + wish - weighted_inverse(J, weights) @ (J @ wish)


def joint_velocities(
    robot: Robot,
    q: npt.ArrayLike,
    velocity: npt.ArrayLike,
    frame: str,
    *,
    selection: Directions = DIRECTIONS,
    axes: str = "root",
    weights: npt.ArrayLike | None = None,
    damping: float = 0.0,
    preferred: npt.ArrayLike | None = None,
) -> Array:
    """Compute the joint velocities of a velocity of a frame: `resolved_rates` of some directions.

    Args:
        robot: Any robot of n independent joints.
        q: Joint positions, shape (n,), rad or m.
        velocity: In the selected directions, shape (m,), m/s and rad/s.
        frame: Link or named frame.
        selection: As in `joint_accelerations`.
        axes: As in `joint_accelerations`.
        weights: As in `weighted_inverse`.
        damping: As in `weighted_inverse`.
        preferred: Joint velocities, shape (n,), of which the arm makes what the task leaves free.

    Returns:
        Joint velocities, shape (n,), the least if the arm has more joints than the task directions.

    Raises:
        UnknownNameError: If there is no such frame, direction or name of axes.
        ArgumentError: If no direction is selected, or one twice.
        ShapeError: If a shape does not fit.
    """
    rows = _rows(robot, q, frame, selection, axes)
    wanted = vector("velocity", velocity, len(rows))
    J = rows @ frame_jacobian(robot, q, frame)
    return resolved_rates(J, wanted, weights=weights, damping=damping, preferred=preferred)


def joint_accelerations(
    robot: Robot,
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    acceleration: npt.ArrayLike,
    frame: str,
    *,
    selection: Directions = DIRECTIONS,
    axes: str = "root",
    weights: npt.ArrayLike | None = None,
    damping: float = 0.0,
    preferred: npt.ArrayLike | None = None,
) -> Array:
    """Compute the joint accelerations of an acceleration of a frame, from a = J qdd + Jd qd.

    A selection of fewer directions than six leaves the others free: "x y z" the orientation,
    "x y z rx ry" with `axes="frame"` the turn of a tool about its z axis.

    Args:
        robot: Any robot of n independent joints.
        q: Joint positions, shape (n,), rad or m.
        qd: Joint velocities, shape (n,).
        acceleration: In the selected directions, in their order, shape (m,), m/s^2 and rad/s^2.
        frame: Link or named frame.
        selection: Directions of the task, as in `selected_rows`.
        axes: Axes of the directions: those of the "root" link, or of the "frame" as it lies at q.
        weights: As in `weighted_inverse`.
        damping: As in `weighted_inverse`.
        preferred: Joint accelerations, shape (n,), of which the arm makes what the task leaves
            free, to damp or centre the joints; by default none.

    Returns:
        Joint accelerations, shape (n,), the least if the arm has more joints than the task
        directions.

    Raises:
        UnknownNameError: If there is no such frame, direction or name of axes.
        ArgumentError: If no direction is selected, or one twice.
        ShapeError: If a shape does not fit.
    """
    rows = _rows(robot, q, frame, selection, axes)
    wanted = vector("acceleration", acceleration, len(rows))
    wanted = wanted - rows @ frame_drift(robot, q, qd, frame)
    J = rows @ frame_jacobian(robot, q, frame)
    return resolved_rates(J, wanted, weights=weights, damping=damping, preferred=preferred)


def _rows(robot: Robot, q: npt.ArrayLike, frame: str, selection: Directions, axes: str) -> Array:
    """Return what takes a velocity of a frame to the selected directions, shape (m, 6)."""
    return Selection.of(selection, axes).matrix(frame_pose(robot, q, frame).rotation)


def _root_of_inverse(name: str, weights: npt.ArrayLike | None, n: int) -> Array:
    """W^(-1/2), shape (n, n)."""
    if weights is None:
        return np.eye(n)
    given = np.asarray(weights)
    W = numbers(name, given, (n, n) if given.ndim == 2 else (n,))
    values, axes = np.linalg.eigh(W if W.ndim == 2 else np.diag(W))
    if values[0] <= 0.0 or not np.allclose(W, W.T):
        raise ArgumentError(f"{name} must be positive, or a symmetric positive definite matrix")
    return (axes / np.sqrt(values)) @ axes.T
