"""Joint motion along a path of end effector poses, on one branch of inverse kinematics.

[AsadaSlotine1986], section 2.3.3: points of an end effector's trajectory are converted to joint
positions one by one. The branch starts with the nearest solution and continues with the solution
nearest to the previous one. Where a joint is free, at a singular pose, it continues with the least
motion. Singular poses and exceeded limits on the path are reported with their time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from robot_dynamics.errors import ArgumentError, TrajectoryError, shown
from robot_dynamics.foundation.arrays import Array, vector
from robot_dynamics.kinematics import (
    InverseKinematics,
    InverseSolutions,
    frame_jacobian,
    frame_pose,
    mobility,
)
from robot_dynamics.kinematics.selection import DIRECTIONS, Directions
from robot_dynamics.robot.robot import Robot
from robot_dynamics.trajectory.interpolation import runs
from robot_dynamics.trajectory.pose_paths import PosePath
from robot_dynamics.trajectory.waypoints import Waypoints

NEARLY_SINGULAR = 200.0
"""Condition number of the Jacobian (m, rad) above which a pose is reported."""

JUMP = 0.5
"""Motion of a joint between neighbouring poses above which the branch has changed, rad or m."""

REACHED = 1e-9
"""Error below which a pose is reached: m, and entries of the rotation matrix."""

STEPS = 20
"""Steps of Newton's method from one pose to the next."""


class Remark(NamedTuple):
    """A singular pose or exceeded limit on the path.

    Args:
        time: Time, s.
        text: Description.
    """

    time: float
    text: str

    def __str__(self) -> str:
        return f"t = {self.time:.3g} s: {self.text}"


class FollowedPath(NamedTuple):
    """Joint motion along a path of poses.

    Attributes:
        waypoints: Waypoints of the joints between the root link and the frame, one per pose.
        remarks: Singular poses and exceeded limits, in the order of time.
    """

    waypoints: Waypoints
    remarks: tuple[Remark, ...] = ()


def follow_poses(
    robot: Robot,
    path: PosePath,
    frame: str | None = None,
    *,
    near: npt.ArrayLike | None = None,
    given: str | None = None,
    redundant: npt.ArrayLike | None = None,
    selection: Directions = DIRECTIONS,
    axes: str = "root",
) -> FollowedPath:
    """Find the joint motion that moves a frame along a path.

    Args:
        robot: Any robot; inertias are not needed.
        path: Poses of the frame in the root link, close to one another.
        frame: Link or named frame; by default the only tip.
        near: Joint positions near the start of the motion, shape (n,) in the order of
            `robot.joint_names`; by default zero, or the middle of limits that exclude it.
        given: Redundant parameter of an arm of seven joints: a joint, or "arm angle", as
            `redundant` of `InverseKinematics`.
        redundant: Its value, rad, one for all poses or one per pose; by default that of `near`.
        selection: Directions in which the frame follows; the others are free, and take what is
            near to the previous pose. As in `InverseKinematics`.
        axes: Axes of the directions, "root" or "frame", as in `InverseKinematics`.

    Returns:
        Joint motion and remarks.

    Raises:
        TrajectoryError: If a pose is out of reach, or the branch ends between two poses; the
            message names the time. Also if there are fewer than two poses.
        UnknownNameError: If there is no such frame, joint, direction or name of axes.
        ArgumentError: If no direction is selected, `redundant` is given for an arm that is not
            redundant, or has neither one value nor one per pose.

    Examples:
        >>> from robot_dynamics import Dynamics, read_urdf
        >>> from robot_dynamics.robot import Pose, find_robot
        >>> from robot_dynamics.trajectory import follow_poses, straight_line
        >>> robot, q = read_urdf(find_robot("ur5")), [0.3, -1.2, 1.5, -0.4, 0.8, 0.2]
        >>> start = Pose(*Dynamics(robot).pose(q, "tool0"))
        >>> end = Pose(start.rotation, start.translation + [0.0, 0.1, 0.0])
        >>> path = straight_line(start, end, duration=1.0)
        >>> waypoints, remarks = follow_poses(robot, path, "tool0", near=q)
        >>> waypoints.positions.shape, remarks
        ((51, 6), ())
    """
    if len(path.times) < 2:
        raise TrajectoryError(f"a path needs two poses or more, got {len(path.times)}")
    ik = InverseKinematics(robot, frame, redundant=given, selection=selection, axes=axes)
    tracker = _Tracker(robot, ik, _start(robot, near))
    angles = _redundant_positions(ik, tracker.q, redundant, len(path.times))
    poses = zip(*path, angles, strict=True)
    q = np.array([tracker.follow(*pose) for pose in poses])
    joints = [robot.joint_names.index(name) for name in ik.joint_names]
    remarks = sorted([*tracker.singular(path.times), *_limits(robot, ik, path.times, q, joints)])
    return FollowedPath(Waypoints(ik.joint_names, path.times, q), tuple(remarks))


class _Tracker:
    """The present solution on the branch."""

    def __init__(self, robot: Robot, ik: InverseKinematics, start: Array) -> None:
        self.robot, self.ik = robot, ik
        self.whole = start  # positions of all joints of the robot
        self.mine = [robot.joint_names.index(name) for name in ik.joint_names]
        self.turns = np.array(
            [robot.joint(name).type.rotates for name in ik.joint_names], dtype=bool
        )
        # columns of the redundant joint
        self.held = [k for k, name in enumerate(ik.joint_names) if name == ik.redundant]
        self.started = False
        self.conditions: list[float] = []

    @property
    def q(self) -> Array:
        return self.whole[self.mine]

    def follow(
        self, time: float, rotation: Array, position: Array, redundant: float | None
    ) -> Array:
        """Return the joint positions of the next pose."""
        found = self._solutions(rotation, position, redundant)
        q = self._nearest(found)
        if (
            self.started
            and self.ik.selection.all
            and (q is None or np.abs(q - self.q).max() > JUMP or any(found.self_motion))
        ):
            q = self._continued(rotation, position, redundant, q)
        if q is None:
            reason = found.reason or "no solution"
            raise TrajectoryError(f"pose at t = {time:.3g} s: {reason}")
        apart = np.abs(q - self.q)
        if self.started and apart.max() > JUMP:
            k = int(apart.argmax())
            raise TrajectoryError(
                f"pose at t = {time:.3g} s: the branch ends, joint '{self.ik.joint_names[k]}' "
                f"would jump by {apart[k]:.3g}; start on another branch, or lead the path past the "
                "singularity"
            )
        self.whole[self.mine] = q
        self.started = True
        J = frame_jacobian(self.robot, self.whole, self.ik.frame)[:, self.mine]
        J = self.ik.selection.matrix(rotation) @ J
        self.conditions.append(mobility(J).condition)
        return q

    def singular(self, times: Array) -> Iterator[Remark]:
        """Yield the worst condition of the Jacobian in every nearly singular interval."""
        for first, last in runs(np.array(self.conditions) > NEARLY_SINGULAR):
            k = first + int(np.argmax(self.conditions[first:last]))
            condition = self.conditions[k]
            how = (
                "singular" if np.isinf(condition) else f"nearly singular, condition {condition:.3g}"
            )
            yield Remark(float(times[k]), how)

    def _solutions(
        self, rotation: Array, position: Array, redundant: float | None
    ) -> InverseSolutions:
        if redundant is not None:
            return self.ik(rotation, position, redundant=redundant)
        start = self.q if self.ik.structure == "numeric" else None
        return self.ik(rotation, position, start=start)

    def _nearest(self, found: InverseSolutions) -> Array | None:
        """Return the solution nearest to the last one, modulo 2 pi; the first one within limits."""
        if len(found.q) == 0:
            return None
        inside = [] if self.started else [turned for q in found.q for turned in self.ik.turns(q)]
        if inside:
            ways = np.array(inside)
        else:
            turns = np.round((self.q - found.q) / (2.0 * np.pi)) * 2.0 * np.pi
            ways = found.q + np.where(self.turns, turns, 0.0)
        return np.array(ways[np.abs(ways - self.q).max(axis=1).argmin()])

    def _continued(
        self, rotation: Array, position: Array, redundant: float | None, otherwise: Array | None
    ) -> Array | None:
        """Return the pose reached by least motion from the last positions, else `otherwise`."""
        whole = self.whole.copy()
        for k in self.held:
            whole[self.mine[k]] = redundant
        for _ in range(STEPS):
            R, p = frame_pose(self.robot, whole, self.ik.frame)
            if max(np.abs(position - p).max(), np.abs(rotation - R).max()) < REACHED:
                near = [q for q in (otherwise, whole[self.mine]) if q is not None]
                return min(near, key=lambda q: float(np.abs(q - self.q).max()))
            off = rotation @ R.T
            turn = [off[2, 1] - off[1, 2], off[0, 2] - off[2, 0], off[1, 0] - off[0, 1]]
            missed = np.concatenate((position - p, 0.5 * np.array(turn)))
            J = frame_jacobian(self.robot, whole, self.ik.frame)[:, self.mine]
            J[:, self.held] = 0.0
            whole[self.mine] += np.linalg.pinv(J, rcond=1e-6) @ missed
        return otherwise


def _redundant_positions(
    ik: InverseKinematics, start: Array, redundant: npt.ArrayLike | None, N: int
) -> list[float | None]:
    """Return the redundant parameter of each of N poses."""
    if ik.redundant is None:
        if redundant is not None:
            raise ArgumentError("redundant is given, but this arm has no redundant joint; omit it")
        return [None] * N
    values = np.asarray(ik.redundant_of(start) if redundant is None else redundant, float)
    if values.shape not in ((), (N,)) or not np.isfinite(values).all():
        raise ArgumentError(
            f"redundant must be a finite number, or {N}, one for each pose; got {shown(redundant)}"
        )
    return [float(x) for x in np.broadcast_to(values, (N,))]


def _start(robot: Robot, near: npt.ArrayLike | None) -> Array:
    if near is not None:
        return np.array(vector("near", near, robot.dof))
    lower, upper = robot.limits.lower, robot.limits.upper
    known = np.isfinite(lower) & np.isfinite(upper)
    middle = 0.5 * (np.where(known, lower, 0.0) + np.where(known, upper, 0.0))
    return np.where((lower <= 0.0) & (upper >= 0.0), 0.0, middle)


def _limits(
    robot: Robot, ik: InverseKinematics, times: Array, q: Array, joints: list[int]
) -> Iterator[Remark]:
    """Yield the first time that each joint exceeds its position or velocity limit."""
    speed = np.abs(np.gradient(q, times, axis=0))
    for column, (k, name) in enumerate(zip(joints, ik.joint_names, strict=True)):
        lower, upper = robot.limits.lower[k], robot.limits.upper[k]
        outside = np.flatnonzero(
            (q[:, column] < lower - REACHED) | (q[:, column] > upper + REACHED)
        )
        if outside.size:
            limit = lower if q[outside[0], column] < lower else upper
            yield Remark(float(times[outside[0]]), f"joint '{name}' passes its limit {limit:.4g}")
        fast = np.flatnonzero(speed[:, column] > robot.limits.velocity[k])
        if fast.size:
            yield Remark(
                float(times[fast[0]]),
                f"joint '{name}' is faster than its limit {robot.limits.velocity[k]:.4g}",
            )
