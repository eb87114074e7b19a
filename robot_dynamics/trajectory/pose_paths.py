"""Paths of poses over time: lines, circles, splines through poses, and files of poses."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from robot_dynamics.errors import ArgumentError, TrajectoryError, check_known
from robot_dynamics.foundation.arrays import Array, numbers
from robot_dynamics.foundation.lazy import imported
from robot_dynamics.foundation.numbers import number_from
from robot_dynamics.foundation.user_files import CsvRow, read_csv
from robot_dynamics.spatial import Pose
from robot_dynamics.trajectory.motions import circle_law, normal_spline, rest_to_rest

POSITION = ("x", "y", "z")
ANGLES = ("roll", "pitch", "yaw")
QUATERNION = ("qx", "qy", "qz", "qw")

FARTHEST_M = 1e6
"""Largest distance of a position from the root, m: no arm reaches it, and no number overflows."""

RATE_HZ = 50.0
"""Default number of poses per second."""


class PosePath(NamedTuple):
    """N poses of a frame in the root link.

    Attributes:
        times: Shape (N,), s, increasing from 0.
        rotations: Shape (N, 3, 3).
        positions: Of the origin, shape (N, 3), m.
    """

    times: Array
    rotations: Array
    positions: Array


LINE_LAWS = ("polynomial", "normal_spline")
"""Growth along a line: by 10 u^3 - 15 u^4 + 6 u^5, or by `normal_spline`."""


def straight_line(
    start: Pose,
    end: Pose,
    duration: float,
    *,
    law: str = "polynomial",
    rate: float = RATE_HZ,
) -> PosePath:
    """Move along a line and rotate about one axis, at rest and without acceleration at both ends.

    Args:
        start: Pose at time zero.
        end: Pose at the end.
        duration: Duration, s.
        law: One of `LINE_LAWS`; the spline, of [Angeles1989], needs 1.2 times the speed and 1.6
            times the acceleration of the polynomial.
        rate: Poses per second.

    Returns:
        Poses at regular times.

    Raises:
        ArgumentError: If duration or rate is not a positive number.
        UnknownNameError: If there is no such law.
    """
    check_known("law", law, "straight_line", LINE_LAWS)
    times = _times(duration, rate)
    u = times / times[-1]
    s = normal_spline(u)[0] if law == "normal_spline" else rest_to_rest(u)[0]
    Rotation = _rotation()
    first = Rotation.from_matrix(start.rotation)
    turn = (Rotation.from_matrix(end.rotation) * first.inv()).as_rotvec()
    rotations = Rotation.from_rotvec(s[:, None] * turn) * first
    displacement = s[:, None] * (end.translation - start.translation)
    return PosePath(times, rotations.as_matrix(), start.translation + displacement)


def circle(
    start: Pose,
    centre: npt.ArrayLike,
    axis: npt.ArrayLike,
    duration: float,
    *,
    turning: bool = True,
    rate: float = RATE_HZ,
) -> PosePath:
    """Move once around an axis by the law of [Gupta1986], eqs. (32) to (34).

    Args:
        start: Pose at both ends.
        centre: A point of the axis, shape (3,), m.
        axis: Direction of the axis, shape (3,), of any length; the rotation is right-handed.
        duration: Duration, s; a third of it each for start, constant speed and stop.
        turning: Rotate the end effector with the circle, as in the paper; else keep its
            orientation.
        rate: Poses per second.

    Returns:
        Poses at regular times.

    Raises:
        ArgumentError: If duration or rate is not a positive number, or the axis has no length.
    """
    times = _times(duration, rate)
    direction, point = numbers("axis", axis, (3,)), numbers("centre", centre, (3,))
    length = float(np.linalg.norm(direction))
    if length == 0.0:
        raise ArgumentError("axis has no length; give the direction of the axis of the circle")
    psi = circle_law(times, (float(times[-1]) / 3.0,) * 3).angle
    turns = _rotation().from_rotvec(psi[:, None] * direction / length)
    positions = point + turns.apply(start.translation - point)
    rotations = turns.as_matrix() @ start.rotation
    if not turning:
        rotations = np.broadcast_to(start.rotation, rotations.shape)
    return PosePath(times, rotations, positions)


def pose_spline(
    times: npt.ArrayLike,
    rotations: npt.ArrayLike,
    positions: npt.ArrayLike,
    *,
    rate: float = RATE_HZ,
) -> PosePath:
    """Pass smoothly through poses at given times, at rest at both ends.

    Args:
        times: Shape (m,), s, increasing from 0.
        rotations: Shape (m, 3, 3).
        positions: Shape (m, 3), m.
        rate: Poses per second of the path.

    Returns:
        Poses at regular times.

    Raises:
        ArgumentError: If there are fewer than two poses, times do not increase, or a position is
            out of any reach.
    """
    at = np.asarray(times, dtype=np.float64)
    if at.ndim != 1 or len(at) < 2 or np.any(np.diff(at) <= 0.0) or at[0] != 0.0:
        raise ArgumentError("times must increase from 0, one for each of two poses or more")
    m = len(at)
    R, p = numbers("rotations", rotations, (m, 3, 3)), numbers("positions", positions, (m, 3))
    # Both splines are smooth in the index of the pose; its growth in time is at rest at the ends
    index = np.arange(m, dtype=np.float64)
    splines = imported("scipy.interpolate")
    growth = splines.CubicSpline(at, index, bc_type="clamped")
    fine = _times(float(at[-1]), rate)
    s = growth(fine)
    if np.any(np.diff(s) < 0.0):  # for very unequal intervals, a monotone spline
        slopes = splines.PchipInterpolator(at, index)(at, 1)
        slopes[[0, -1]] = 0.0
        s = splines.CubicHermiteSpline(at, index, slopes)(fine)
    s = np.clip(s, 0.0, m - 1.0)
    turning = imported("scipy.spatial.transform").RotationSpline(index, _rotation().from_matrix(R))
    if np.abs(p).max() > FARTHEST_M:
        raise ArgumentError(f"positions: {np.abs(p).max():.3g} m is out of reach; give them in m")
    return PosePath(fine, turning(s).as_matrix(), splines.CubicSpline(index, p)(s))


def read_poses(path: str | Path) -> PosePath:
    """Read the poses of a .csv file, for `pose_spline`.

    Columns: time; x, y, z; and either roll, pitch, yaw (of URDF, rad) or qx, qy, qz, qw.

    Args:
        path: The file.

    Returns:
        The poses of the file; the first time is zero.

    Raises:
        TrajectoryError: One line with file, fault and remedy.
    """
    heads, rows, _ = read_csv(path, TrajectoryError, row_name="pose")
    turn = QUATERNION if set(QUATERNION) <= set(heads) else ANGLES
    wanted = ("time", *POSITION, *turn)
    if sorted(heads) != sorted(wanted):
        raise TrajectoryError(
            f"{path}: the columns of a file of poses are time, x, y, z and either roll, pitch, yaw "
            f"or qx, qy, qz, qw; got {', '.join(heads) or 'none'}"
        )
    values = np.array([_row(path, row, len(heads)) for row in rows])
    if len(values) < 2:
        raise TrajectoryError(f"{path}: a path needs two poses or more, got {len(values)}")
    column = {name: values[:, heads.index(name)] for name in wanted}
    if column["time"][0] != 0.0 or np.any(np.diff(column["time"]) <= 0.0):
        raise TrajectoryError(f"{path}: times must increase from 0")
    turned = np.column_stack([column[name] for name in turn])
    if turn == QUATERNION and np.any(np.linalg.norm(turned, axis=1) == 0.0):
        raise TrajectoryError(f"{path}: a quaternion is zero; give one of length 1")
    rotations = _rotation().from_quat(turned) if turn == QUATERNION else _from_rpy(turned)
    positions = np.column_stack([column[name] for name in POSITION])
    return PosePath(column["time"], rotations.as_matrix(), positions)


def pose_of(numbers_of_pose: npt.ArrayLike) -> Pose:
    """Return the pose of x, y, z (m) and roll, pitch, yaw of URDF (rad), shape (6,)."""
    six = numbers("pose", numbers_of_pose, (6,))
    return Pose(_from_rpy(six[3:]).as_matrix(), six[:3])


def _rotation() -> Any:
    return imported("scipy.spatial.transform").Rotation


def _from_rpy(angles: Array) -> Any:
    return _rotation().from_euler("xyz", angles)


def _row(path: str | Path, row: CsvRow, length: int) -> list[float]:
    try:
        values = [number_from(cell) for cell in row.cells]
        if np.all(np.isfinite(values)):
            return values
    except ValueError:
        pass
    raise TrajectoryError(
        f"{path}: {row.name} is not {length} finite numbers: {', '.join(row.cells)}"
    )


def _times(duration: float, rate: float) -> Array:
    for name, value in (("duration", duration), ("rate", rate)):
        if not (np.isfinite(value) and value > 0.0):
            raise ArgumentError(f"{name} must be a positive number, got {value}")
    return np.linspace(0.0, duration, max(int(np.ceil(duration * rate)), 2) + 1)
