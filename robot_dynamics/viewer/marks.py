"""Marks of one state of a robot: load of joints as colour, reference, gravity and wrench.

marker_node publishes them as markers and recordings contain them; the page uses their colours and
scales.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from robot_dynamics.control import effort_limits
from robot_dynamics.control.target_motion import pose_error
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.numbers import short_number
from robot_dynamics.kinematics.forward_kinematics import FramePose, link_poses
from robot_dynamics.robot import JointType, Robot, merge_fixed
from robot_dynamics.spatial import Pose
from robot_dynamics.trajectory.motions import sample_poses
from robot_dynamics.viewer.snapshot import Snapshot, tool_frame

Colour = tuple[int, int, int]

NEUTRAL: Colour = (205, 210, 216)
GHOST: Colour = (60, 130, 246)
HOT: Colour = (225, 30, 30)
WARM: Colour = (250, 170, 20)
PATH: Colour = (20, 160, 120)
GRAVITY: Colour = (120, 90, 200)
PUSH: Colour = (240, 110, 20)
WRENCH: Colour = (200, 40, 120)
MOMENT: Colour = (150, 95, 40)
TEXT: Colour = (40, 40, 40)

FORCE_SCALE = 0.01
"""Length of the arrow of a force, m/N."""

MOMENT_SCALE = 0.1
"""Length of the arrow of a moment, m/(N m)."""

POSES = 50
"""Number of poses in which the links of a robot show its workspace."""

SMALLEST_M = 0.2
"""Least size of a workspace, m."""

BALL = 0.045
"""Diameter of the ball at a joint per reach, m/m: as thick as common links, and hides no hand."""

RING_SIDES, RING_TURN = 24, np.radians(300.0)
"""Sides of the ring of an effort, and its angle, rad: the gap and the head show the sense."""

SPACE = 0.4
"""Width of a space in a label over the height of the label, m/m."""

SMALLEST_SHARE = 1e-3
"""Share of the limit from which an effort is drawn."""

Point = tuple[float, float, float]


class Reach(NamedTuple):
    """Space of the links of a robot in any pose.

    Args:
        middle: Middle of the box that holds them, shape (3,), m.
        size: Diagonal of that box, m.
        radius: Radius of the ball about the middle that holds them, m.
    """

    middle: Array
    size: float
    radius: float


def reach(robot: Robot) -> Reach:
    """Return the space of the links of a robot in sampled poses, in the root link."""
    places = np.array(
        [
            pose.translation
            for q in sample_poses(robot, POSES)
            for pose in link_poses(robot, q).values()
        ],
        dtype=np.float64,
    )
    low, high = places.min(axis=0), places.max(axis=0)
    middle, size = (low + high) / 2.0, max(float(np.linalg.norm(high - low)), SMALLEST_M)
    radius = float(np.linalg.norm(places - middle, axis=1).max())
    return Reach(middle, size, max(radius, SMALLEST_M / 2.0))


def tinted(own: Colour, share: float) -> Colour:
    """Return a link's colour at a share of its joint's limit: its own to orange to red."""
    warm = np.interp(share, [0.0, 0.5, 1.0], [0.0, 0.8, 0.0])
    hot = np.interp(share, [0.0, 0.5, 1.0], [0.0, 0.0, 1.0])
    mixed = (1.0 - warm - hot) * np.array(own) + warm * np.array(WARM) + hot * np.array(HOT)
    red, green, blue = (int(x) for x in mixed.round())
    return (red, green, blue)


class Kind(IntEnum):
    """Shapes, as visualization_msgs/Marker numbers them."""

    ARROW = 0
    SPHERE = 2
    LINE_LIST = 5
    TEXT_VIEW_FACING = 9


class Mark(NamedTuple):
    """A shape in the frame of the root link.

    Args:
        name: Name of the group.
        number: Number in the group.
        kind: Shape.
        scale: As in visualization_msgs/Marker, m.
        colour: Red, green, blue, 0 to 255.
        alpha: Opacity, 0 to 1.
        position: Position, m.
        points: Ends of an arrow or of lines, m.
        shown: False to remove it.
        text: Text of a label.
    """

    name: str
    number: int
    kind: Kind
    scale: Point
    colour: Colour
    alpha: float
    position: Point = (0.0, 0.0, 0.0)
    points: tuple[Point, ...] = ()
    shown: bool = True
    text: str = ""


class Marks:
    """Computes the marks of the states of one robot.

    Args:
        dynamics: Compiled equations of the robot.
    """

    def __init__(self, dynamics: Dynamics) -> None:
        self._dynamics, robot = dynamics, dynamics.robot
        self._tree, self._tool = merge_fixed(robot), tool_frame(robot)
        self._limit, self._size = effort_limits(robot), reach(robot).size
        self._gravity = np.array(robot.gravity, dtype=float)
        self.frame = robot.links[0].name

    def of(self, now: Snapshot) -> list[Mark]:
        """Return the marks of one state."""
        poses = link_poses(self._tree, now.q)
        shares = np.clip(np.nan_to_num(now.tau / self._limit), -1.0, 1.0)
        load = [*self._loads(poses, np.abs(shares)), *self._efforts(poses, shares)]
        return [*load, *self._reference(now), *self._arrows(now), *self._target(now)]

    def _loads(self, poses: Mapping[str, FramePose], shares: Array) -> Iterator[Mark]:
        size = BALL * self._size
        for k, leader in enumerate(self._tree.coupling.leader):
            at, colour = poses[self._tree.links[k + 1].name], tinted(NEUTRAL, shares[leader])
            # Opaque: where two surfaces are half transparent, their order changes with the pose
            yield Mark("load", k, Kind.SPHERE, (size,) * 3, colour, 1.0, _point(at.translation))

    def _efforts(self, poses: Mapping[str, FramePose], shares: Array) -> Iterator[Mark]:
        """Yield a ring about the axis of a turning joint, an arrow along that of a sliding one.

        The larger they are, the nearer the effort is to its limit.
        """
        for k, joint in enumerate(self._tree.independent_joints):  # leaders carry the others
            X, share = poses[joint.child], float(shares[k])
            shown = abs(share) > SMALLEST_SHARE
            colour, large = tinted(NEUTRAL, abs(share)), (0.04 + 0.11 * abs(share)) * self._size
            along = np.sign(share) * (X.rotation @ joint.axis)
            if joint.type is JointType.PRISMATIC:
                end = X.translation + 1.5 * large * shown * along
                yield self._arrow("effort", k, X.translation, end, colour)
                continue
            width = (0.008 * self._size, 0.0, 0.0)
            points = _ring(X.translation, along, large) if shown else ()
            yield Mark("effort", k, Kind.LINE_LIST, width, colour, 1.0, points=points, shown=shown)

    def _reference(self, now: Snapshot) -> Iterator[Mark]:
        """Yield lines from link to link at the reference, which a law in task space ignores."""
        if now.q_d is None:
            return
        poses = link_poses(self._tree, now.q_d)
        ends = [name for joint in self._tree.joints for name in (joint.parent, joint.child)]
        points = tuple(_point(poses[name].translation) for name in ends)
        width = (0.01 * self._size, 0.0, 0.0)
        yield Mark(
            "reference",
            0,
            Kind.LINE_LIST,
            width,
            GHOST,
            0.4,
            points=points,
            shown=now.end_effector is None,
        )

    def _arrows(self, now: Snapshot) -> Iterator[Mark]:
        g, size = self._gravity, self._size
        if g.any():
            start = np.array([-0.2, 0.2, 0.3]) * size
            end = start + 0.12 * size * g / np.linalg.norm(g)
            yield self._arrow("gravity", 0, start, end, GRAVITY)
            yield self._label("gravity", 1, start, "gravity")
        R, p = self._dynamics.pose(now.q, self._tool)
        wrench = np.zeros(6) if now.wrench is None else now.wrench
        named = (("force", "N", WRENCH, FORCE_SCALE), ("moment", "N m", MOMENT, MOMENT_SCALE))
        for k, (name, unit, colour, scale) in enumerate(named):
            part = wrench[3 * k : 3 * k + 3]
            end, size = p + scale * R @ part, float(np.linalg.norm(part))
            yield self._arrow("wrench", k, p, end, colour)
            text = f"{name} {short_number(size)} {unit}" if size else ""
            yield self._label("wrench", 2 + k, end, text, lines=1.0 + k)

    def _target(self, now: Snapshot) -> Iterator[Mark]:
        """Yield the axes of the target of the end effector, and the way to it with its length."""
        end_effector, target = now.end_effector or Pose.identity(), now.target or Pose.identity()
        shown, p = now.end_effector is not None and now.target is not None, target.translation
        ends = p + 0.08 * self._size * target.rotation.T
        axes = tuple(_point(at) for end in ends for at in (p, end))
        line = _point(end_effector.translation), _point(p)
        for k, (points, colour) in enumerate(((axes, GHOST), (line, HOT))):
            width = (0.005 * self._size, 0.0, 0.0)
            yield Mark("target", k, Kind.LINE_LIST, width, colour, 1.0, points=points, shown=shown)
        off = pose_error(end_effector, target)
        length, angle = (float(np.linalg.norm(part)) for part in (off[:3], off[3:]))
        distance, turn = (short_number(round(x, 2)) for x in (1e3 * length, math.degrees(angle)))
        text = f"target: {distance} mm, {turn} deg" if shown else ""
        yield self._label("target", 2, p, text, lines=-2.0)

    def _label(self, name: str, number: int, at: Array, text: str, lines: float = 1.0) -> Mark:
        """Return a label some lines above a point; an empty one is removed."""
        height = 0.03 * self._size
        # rviz2 draws spaces as wide as scale.x, and a metre wide where that is zero
        place, scale = _point(at + (0.0, 0.0, lines * height)), (SPACE * height, 0.0, height)
        kind, shown = Kind.TEXT_VIEW_FACING, bool(text)
        return Mark(name, number, kind, scale, TEXT, 1.0, place, shown=shown, text=text)

    def _arrow(self, name: str, number: int, start: Array, end: Array, colour: Colour) -> Mark:
        x, y, z = (share * self._size for share in (0.008, 0.02, 0.03))
        points, shown = (_point(start), _point(end)), bool(np.any(start != end))
        return Mark(name, number, Kind.ARROW, (x, y, z), colour, 1.0, points=points, shown=shown)


def _point(p: Array) -> Point:
    x, y, z = (float(value) for value in p)
    return (x, y, z)


def _ring(middle: Array, axis: Array, radius: float) -> tuple[Point, ...]:
    """Return the lines of a ring with a head, turned about a unit vector in the positive sense."""
    across = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
    first = across / np.linalg.norm(across)
    angles = np.linspace(0.0, RING_TURN, RING_SIDES + 1)[:, None]
    second = np.cross(axis, first)
    places = middle + radius * (np.cos(angles) * first + np.sin(angles) * second)
    lines = [(places[i], places[i + 1]) for i in range(RING_SIDES)]
    outward = (places[-1] - middle) / radius
    ahead = np.cross(axis, outward)
    for side in (-1.0, 1.0):
        lines.append((places[-1], places[-1] + 0.25 * radius * (side * outward - ahead)))
    return tuple(_point(end) for line in lines for end in line)
