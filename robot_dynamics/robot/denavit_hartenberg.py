"""Denavit-Hartenberg tables: conversion of a table to a robot, and of any chain to a table.

Four numbers place a joint axis against the one before it: along and about the common
normal of the two lines (a, alpha), along and about the axis (d, theta). The joint
variable adds to theta (revolute) or d (prismatic). Two conventions are in use:

    classic    A_i = Rz(theta_i) Tz(d_i) Tx(a_i) Rx(alpha_i)    frame i at the far end of link i
    modified   A_i = Rx(alpha_i) Tx(a_i) Rz(theta_i) Tz(d_i)    frame i on joint i

Asada and Slotine, and Lee, use the first; Renaud the second, and so do Angeles, Ma and
Rojas with b_i = -d_i. In the modified table a_i and alpha_i lead from axis i - 1 to
axis i, where some authors write a_(i-1) and alpha_(i-1).

Every serial chain has such tables, computed here from the joint axes at the zero
reference position. They are not unique: where neighbouring axes are parallel or
meet, and at both ends, the choice gives as many zeros as possible.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from robot_dynamics.errors import ArgumentError, RobotError
from robot_dynamics.foundation.arrays import Array, Value, frozen, numbers
from robot_dynamics.foundation.scalars import lifted, lowered
from robot_dynamics.foundation.text_tables import html_table, joint_table
from robot_dynamics.robot.joint_frames import PARALLEL, Line, perpendicular
from robot_dynamics.robot.kinematic_tree import Frame, Joint, JointLimits, JointType, Link
from robot_dynamics.robot.robot import STANDARD_GRAVITY, Robot
from robot_dynamics.robot.transforms import merge_fixed
from robot_dynamics.robot.zero_position import ZeroReference
from robot_dynamics.spatial import Inertia, Pose, cosine_and_sine

CONVENTIONS = ("classic", "modified")

ROUND_OFF = 1e-12
"""Distance below which angles and lengths are rounded to a multiple of 90 degrees, or to zero."""

TOOL = "tool"
"""Name of the frame at the end of a robot built from a table."""


@dataclass(frozen=True, eq=False)
class DHRow(Value):
    """One joint of a table and the link that it carries.

    Args:
        type: Revolute, continuous or prismatic, as a `JointType` or by its name.
        a: Length of the common normal, m.
        alpha: Angle about it, rad.
        d: Distance along the joint axis, at position zero of a prismatic joint, m.
        theta: Angle about the joint axis, at position zero of a revolute joint, rad.
        inertia: Of the link, in frame i of the table.
        name: Name of the joint; by default "joint_" and its number.
        link: Name of the link; by default "link_" and its number.
        limits: Of the joint.
        damping: Viscous friction of the joint, N m s/rad or N s/m.
        friction: Coulomb friction of the joint, N m or N.
    """

    type: Any
    a: Any
    alpha: Any
    d: Any
    theta: Any
    inertia: Inertia = field(default_factory=Inertia.zero)
    name: str | None = None
    link: str | None = None
    limits: JointLimits = field(default_factory=JointLimits)
    damping: float = 0.0
    friction: float = 0.0

    def __post_init__(self) -> None:
        if isinstance(self.type, str) and self.type in [kind.value for kind in JointType]:
            object.__setattr__(self, "type", JointType(self.type))


@dataclass(frozen=True, eq=False)
class Table(Value):
    """A Denavit-Hartenberg table with the base, tool, gravity and name of a robot.

    Args:
        rows: One per joint, from the base.
        convention: "classic" or "modified".
        base: Pose of frame 0 in the root link.
        tool: Pose of the tool in frame n.
        gravity: Gravitational acceleration in the axes of the root link, shape (3,), m/s^2.
        name: Name of the robot.

    Raises:
        ArgumentError: If there is no such convention, or no row.
        RobotError: If a joint is neither revolute, continuous nor prismatic.

    Examples:
        >>> import numpy as np
        >>> from robot_dynamics.robot.denavit_hartenberg import DHRow, Table
        >>> rows = DHRow("revolute", 0.5, 0, 0, 0), DHRow("revolute", 0.4, 0, 0, 0)
        >>> Table(rows).tool_pose([0.0, np.pi / 2]).translation.round(3) + 0.0
        array([0.5, 0.4, 0. ])
    """

    rows: tuple[DHRow, ...]
    convention: str = "classic"
    base: Pose = field(default_factory=Pose.identity)
    tool: Pose = field(default_factory=Pose.identity)
    gravity: Array = field(default_factory=lambda: frozen(STANDARD_GRAVITY))
    name: str = "arm"

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", tuple(self.rows))
        object.__setattr__(self, "gravity", frozen(self.gravity))
        _check_convention(self.convention)
        if not self.rows:
            raise ArgumentError("a Denavit-Hartenberg table without rows; give one row per joint")
        for i, row in enumerate(self.rows, start=1):
            known = isinstance(row.type, JointType) and not row.type.free
            if not known or row.type is JointType.FIXED:
                raise RobotError(
                    f"row {i} of the Denavit-Hartenberg table has a joint of type {row.type}; "
                    "make it revolute, continuous or prismatic"
                )

    def _repr_html_(self) -> str:
        headings = ("joint", "type", "a (m)", "alpha (rad)", "d (m)", "theta (rad)")
        rows = [
            (row.name or f"joint_{i}", row.type.value, row.a, row.alpha, row.d, row.theta)
            for i, row in enumerate(self.rows, start=1)
        ]
        return html_table(f"{self.name}: {self.convention} convention", headings, rows)

    def __str__(self) -> str:
        return str(joint_table(f"{self.name}: {self.convention} convention", self.rows))

    def transform(self, i: int, q: Any = 0.0) -> Pose:
        """Return A_i, the pose of frame i in frame i - 1.

        Args:
            i: Number of the joint, from 1.
            q: Its position, rad or m; a number or a symbol.

        Returns:
            The pose, of numbers or symbols.
        """
        return _lowered(self._transform(i, q))

    def _transform(self, i: int, q: Any) -> Pose:
        row = self.rows[i - 1]
        theta, d = (row.theta + q, row.d) if row.type.rotates else (row.theta, row.d + q)
        joint, normal = _screw_z(theta, d), _screw_x(row.alpha, row.a)
        return joint @ normal if self.convention == "classic" else normal @ joint

    def tool_pose(self, q: Sequence[Any] | Array) -> Pose:
        """Return the pose of the tool in the root link.

        Args:
            q: Joint positions, shape (n,), rad or m; numbers or symbols.

        Returns:
            The pose, of numbers or symbols.
        """
        X = self.base
        for i in range(1, len(self.rows) + 1):
            X = X @ self._transform(i, q[i - 1])
        return _lowered(X @ self.tool)

    def to_robot(self) -> Robot:
        """Build the robot of the table.

        A link frame of the robot lies on the joint that carries the link, with z along it. In the
        modified convention it is frame i of the table; in the classic one frame i is at the far
        end of the link. In both, frame i of the table is the named frame "dh_i".

        Returns:
            The robot, of numbers or symbols; its only tip is "tool".

        Raises:
            RobotError: If gravity is anything but three numbers or symbols.
        """
        links, joints, frames = [Link("base")], [], {}
        X = self.base  # of frame i - 1 of the table, in the link that it is fixed to
        for i, row in enumerate(self.rows, start=1):
            joint, normal = _screw_z(row.theta, row.d), _screw_x(row.alpha, row.a)
            if self.convention == "classic":
                origin, X_LF = X @ joint, normal
            else:
                origin, X_LF = X @ normal @ joint, Pose.identity()
            name = row.link or f"link_{i}"
            joints.append(
                Joint(
                    name=row.name or f"joint_{i}",
                    type=row.type,
                    parent=links[-1].name,
                    child=name,
                    origin=origin,
                    axis=np.array([0.0, 0.0, 1.0]),
                    limits=row.limits,
                    damping=row.damping,
                    friction=row.friction,
                )
            )
            links.append(Link(name, row.inertia.expressed_in(X_LF)))
            frames[f"dh_{i}"] = Frame(name, X_LF)
            X = X_LF
        frames[TOOL] = Frame(links[-1].name, X @ self.tool)
        gravity = numbers("gravity", self.gravity, (3,), traced=True)
        return Robot(self.name, tuple(links), tuple(joints), gravity, frames, (TOOL,))


def denavit_hartenberg(robot: Robot, tip: str | None = None, convention: str = "classic") -> Table:
    """Find a Denavit-Hartenberg table of the chain from the root to a tip.

    Args:
        robot: Any robot without mimic joints on the path to the tip. Other branches are left out;
            lock their joints first to keep their mass.
        tip: Link or named frame where the chain ends; by default the only tip of the robot.
        convention: "classic" or "modified".

    Returns:
        The table, with the inertias of the links in its frames. A robot built from it has the
        same joint positions, efforts and tool pose. Lengths a are never negative.

    Raises:
        UnknownNameError: If there is no such frame.
        ArgumentError: If there is no such convention, or no tip is given and there are several.
        RobotError: If no joint moves the tip, or a joint on the path follows another joint.
    """
    _check_convention(convention)
    tree, tip, path = chain_to(robot, tip)
    zero = ZeroReference.from_robot(tree)
    X_0L = [Pose(zero.axes[k + 1], zero.centres[k]) for k in path]  # link frames at zero
    X_0T = X_0L[-1] @ tree.frame(tip).pose

    # The z axis of the tool is the last line
    lines = [Line(zero.centres[k], zero.u[k]) for k in path]
    normals = _common_normals([*lines, Line(X_0T.translation, X_0T.rotation[:, 2])], X_0T)
    frames = [_frame_0(lines[0], normals[0])]
    for normal in normals:
        frames.append(normal.far_frame if convention == "classic" else normal.near_frame)

    rows = []
    for i, k in enumerate(path):
        joint, link = tree.joints[k], tree.links[k + 1]
        a, alpha, d, theta = _parameters(frames[i].inverse() @ frames[i + 1], convention)
        rows.append(
            DHRow(
                joint.type,
                a,
                alpha,
                d,
                theta,
                link.inertia.expressed_in(frames[i + 1].inverse() @ X_0L[i]),
                joint.name,
                link.name,
                joint.limits,
                joint.damping,
                joint.friction,
            )
        )
    tool = frames[-1].inverse() @ X_0T
    return Table(tuple(rows), convention, frames[0], tool, tree.gravity, robot.name)


def with_slides_reversed(robot: Robot) -> Robot:
    """Return a robot whose prismatic joints run against their axes.

    In the notation of Hartenberg and Denavit, b = -d of the modified table, and the position of a
    prismatic joint adds to b.

    Args:
        robot: The robot.

    Returns:
        The robot with the axes of its prismatic joints reversed.
    """
    joints = [
        replace(joint, axis=-joint.axis) if joint.type == JointType.PRISMATIC else joint
        for joint in robot.joints
    ]
    return replace(robot, joints=tuple(joints))


def chain_to(robot: Robot, tip: str | None) -> tuple[Robot, str, list[int]]:
    """Return a robot without fixed joints, a tip, and the indices of the joints on the way to it.

    Args:
        robot: Any robot.
        tip: Link or named frame; None for the only tip of the robot.

    Returns:
        Robot, name of the tip and indices into the joints of that robot.

    Raises:
        ArgumentError: If no tip is given and there are several.
        UnknownNameError: If there is no such frame.
        RobotError: If no joint moves the tip, or a joint on the path follows another joint.
    """
    tree = merge_fixed(robot)
    if tip is None:
        if len(robot.tips) != 1:
            raise ArgumentError(
                f"tip: robot '{robot.name}' has {len(robot.tips)} tips ({', '.join(robot.tips)}); "
                "say which chain the table is for"
            )
        tip = robot.tips[0]
    return tree, tip, _path(tree, tip)


def _check_convention(convention: str) -> None:
    if convention not in CONVENTIONS:
        raise ArgumentError(
            f"no convention '{convention}' of Denavit-Hartenberg tables; "
            f"choose one of: {', '.join(CONVENTIONS)}"
        )


def _path(tree: Robot, tip: str) -> list[int]:
    """Indices of the joints from the root to a frame."""
    path = tree.path_to(tree.frame(tip).link)
    if not path:
        raise RobotError(f"no joint moves '{tip}' of robot '{tree.name}'; choose a tip further out")
    for k in path:
        leader = tree.joints[k].mimic
        if leader is not None:
            raise RobotError(
                f"joint '{tree.joints[k].name}' on the way to '{tip}' follows '{leader.joint}', "
                "which a Denavit-Hartenberg table cannot express; lock it or choose another tip"
            )
    return path


# -- common normals of the axes ---------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Normal:
    """Common normal of two lines, with unit vector x from the near to the far line."""

    x: Array
    near: Array
    far: Array
    z_near: Array
    z_far: Array

    @property
    def near_frame(self) -> Pose:
        """Frame on the near line, of the modified convention."""
        return _frame(self.x, self.z_near, self.near)

    @property
    def far_frame(self) -> Pose:
        """Frame on the far line, of the classic convention."""
        return _frame(self.x, self.z_far, self.far)


def _common_normals(lines: list[Line], X_0T: Pose) -> list[_Normal]:
    """Compute the normals from every line to the next; the last line is the z axis of the tool.

    Between parallel lines a normal starts at the end of the previous one, so that d = 0, except
    the last one, which ends at the tool. Between coincident lines it has the direction of the
    previous one, so that theta = 0, except the last one, which has the direction of the tool.
    """
    normals: list[_Normal] = []
    for i in range(len(lines) - 1):
        line, following = lines[i], lines[i + 1]
        last = i == len(lines) - 2
        x_before = (
            normals[-1].x if normals else _unit_across(line.direction, np.array([1.0, 0.0, 0.0]))
        )
        if line.is_parallel_to(following):
            start = normals[-1].far if normals else line.nearest(np.zeros(3))
            near = line.nearest(following.point) if last else line.nearest(start)
            far = following.nearest(near)
            if line.coincides_with(following):
                x = X_0T.rotation[:, 0] if last else x_before
                x = _unit_across(line.direction, x)
            else:
                x = _unit_across(line.direction, far - near)
        else:
            near, far = _feet(line, following)
            x = np.cross(line.direction, following.direction)
            x = x / np.linalg.norm(x)
            along = x @ (far - near)
            if along < -PARALLEL or (abs(along) <= PARALLEL and x @ x_before < 0.0):
                x = -x
        normals.append(_Normal(x, near, far, line.direction, following.direction))
    return normals


def _frame_0(first: Line, normal: _Normal) -> Pose:
    """Return frame 0 on the first axis; the root frame if its z axis is this axis."""
    if (
        Line(np.zeros(3), np.array([0.0, 0.0, 1.0])).coincides_with(first)
        and first.direction[2] > 0.0
    ):
        return Pose.identity()
    return normal.near_frame


def _feet(line: Line, other: Line) -> tuple[Array, Array]:
    """Compute the feet of the common normal of two lines that are not parallel."""
    between = other.point - line.point
    n = np.cross(line.direction, other.direction)
    s = np.cross(between, other.direction) @ n / (n @ n)
    t = np.cross(between, line.direction) @ n / (n @ n)
    return line.point + s * line.direction, other.point + t * other.direction


def _unit_across(z: Array, wish: Array) -> Array:
    """Return the unit vector perpendicular to z that is nearest to `wish`."""
    x = perpendicular(wish, z)
    if float(np.linalg.norm(x)) < 1e-6 * float(np.linalg.norm(wish)):
        return _unit_across(z, np.eye(3)[int(np.argmin(np.abs(z)))])
    return x / np.linalg.norm(x)


def _frame(x: Array, z: Array, origin: Array) -> Pose:
    x = _unit_across(z, x)  # exactly perpendicular even for lines that only count as parallel
    return Pose(np.column_stack((x, np.cross(z, x), z)), origin)


# -- the four numbers -----------------------------------------------------------------------------


def _parameters(X: Pose, convention: str) -> tuple[float, float, float, float]:
    """Return a, alpha, d, theta of a Denavit-Hartenberg transform."""
    R, p = X.rotation, X.translation
    if convention == "classic":
        theta, alpha = np.arctan2(R[1, 0], R[0, 0]), np.arctan2(R[2, 1], R[2, 2])
        a, d = p[0] * np.cos(theta) + p[1] * np.sin(theta), p[2]
    else:
        theta, alpha = np.arctan2(-R[0, 1], R[0, 0]), np.arctan2(-R[1, 2], R[2, 2])
        a, d = p[0], p[2] * np.cos(alpha) - p[1] * np.sin(alpha)
    return _snapped(a), _angle(alpha), _snapped(d), _angle(theta)


def _angle(value: float) -> float:
    """Round an angle near a multiple of 90 degrees; the result is in (-180, 180] degrees."""
    snapped = _snapped(value, np.pi / 2)
    return -snapped if snapped == -np.pi else snapped


def _snapped(value: float, unit: float = np.inf) -> float:
    """Round a value within `ROUND_OFF` of a multiple of `unit` (by default of zero) to it."""
    multiple = 0.0 if np.isinf(unit) else unit * round(value / unit)
    return float(multiple if abs(value - multiple) < ROUND_OFF else value) + 0.0  # no -0


def _screw_x(angle: Any, length: Any) -> Pose:
    """Rx(angle) Tx(length)."""
    c, s = _cos_sin(angle)
    R = np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])
    return Pose(R, lifted(np.array([length, 0.0, 0.0])))


def _screw_z(angle: Any, length: Any) -> Pose:
    """Rz(angle) Tz(length)."""
    c, s = _cos_sin(angle)
    R = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    return Pose(R, lifted(np.array([0.0, 0.0, length])))


def _cos_sin(angle: Any) -> tuple[Any, Any]:
    """Return cosine and sine of a number or symbol; exact at multiples of 90 degrees."""
    if isinstance(angle, (int, float)):
        return cosine_and_sine(angle)
    (symbol,) = lifted(np.array([angle], dtype=object))
    return np.cos(symbol), np.sin(symbol)


def _lowered(X: Pose) -> Pose:
    return Pose(lowered(X.rotation), lowered(X.translation))
