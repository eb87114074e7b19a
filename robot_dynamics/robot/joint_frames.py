"""Link frames that save operations: z along the joint, x on a common normal.

A URDF has link frames where its author found them convenient. The equations of
motion are shortest if the z axis of a link lies on the joint that carries it and
the x axis on the common normal to the next joint, as in Craig and Renaud (modified
Denavit-Hartenberg frames). No torque depends on the choice of frames, so all these
functions are Robot -> Robot.

`joint_frames` places the frames, `in_frames` and `reframe` move any link frame, `snapped` rounds
angles like 1.5707963 to the exact ones, and `in_length_unit` changes the length unit.
`FrameCandidates` lists the frames that save operations, by the joint axes as lines in space.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.lazy import cached_property
from robot_dynamics.robot.kinematic_tree import Frame, Link
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.transforms import outward_bodies, regroup
from robot_dynamics.spatial import Inertia, Pose, first_moment_size, second_mass_moment

PARALLEL = 1e-9
"""Sine of an angle, or distance in m, below which lines count as parallel or coincident.

URDFs round right angles: with 10 digits, axes meant to be parallel differ by some 1e-10 rad.
"""

NEARLY_PARALLEL = 1e-3
"""Sine of an angle below which the foot of a common normal is too far away for an origin.

Moments about a distant origin are differences of large numbers.
"""

SUFFIX = " (joint frame)"
"""Suffix of a link whose frame has moved; the old name remains as a named frame."""


# -- joint axes as lines: in the frame of the link that the joint carries, at position zero ----


@dataclass(frozen=True, eq=False)
class Line:
    """A line through `point`, shape (3,), along the unit vector `direction`, shape (3,)."""

    point: Array
    direction: Array

    def nearest(self, p: Array) -> Array:
        """Return the point of the line nearest to p, shape (3,)."""
        return self.point + self.direction * (self.direction @ (p - self.point))

    def is_parallel_to(self, other: Line) -> bool:
        """Return whether the directions are parallel or opposite."""
        return float(np.linalg.norm(np.cross(self.direction, other.direction))) < PARALLEL

    def coincides_with(self, other: Line) -> bool:
        """Return whether both lines coincide."""
        away = other.point - self.nearest(other.point)
        return self.is_parallel_to(other) and float(np.linalg.norm(away)) < PARALLEL


@dataclass(frozen=True, eq=False)
class CommonNormal:
    """Common normal of the z axis of a link and another line.

    Args:
        foot: Position of its foot along the axis of the link, m; None for (nearly) parallel lines.
        direction: Unit vector towards the other line, shape (3,); None for coincident lines.
    """

    foot: float | None
    direction: Array | None


def common_normal(z: Array, line: Line) -> CommonNormal:
    """Compute the common normal from the line through the origin along z to another line."""
    n = np.cross(z, line.direction)
    sine = np.linalg.norm(n)
    if sine < PARALLEL:
        across = perpendicular(line.point, z)
        distance = np.linalg.norm(across)
        return CommonNormal(None, across / distance if distance > PARALLEL else None)
    n = n / sine
    if sine < NEARLY_PARALLEL:
        return CommonNormal(None, n)
    # foot z + distance n = point + t direction
    foot, _, distance = np.linalg.solve(np.column_stack([z, -line.direction, n]), line.point)
    return CommonNormal(float(foot), -n if distance < -PARALLEL else n)


def perpendicular(v: Array, z: Array) -> Array:
    """Return the part of a vector perpendicular to the unit vector z, shape (3,)."""
    return v - z * (z @ v)


class FrameCandidates:
    """Candidates for the position and x direction of every link frame on its joint axis.

    Args:
        robot: Tree without fixed joints, as numbers.
    """

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self.children: list[list[int]] = [[] for _ in robot.links]
        for k, parent in enumerate(robot.parents):
            self.children[parent].append(k)

    # -- the default frames: modified Denavit-Hartenberg ---------------------------------------

    @cached_property
    def default(self) -> list[tuple[float, Array]]:
        """Offset of the origin along the joint axis, m, and x direction, shape (3,), per joint.

        x lies on the common normal to the next joint, the child joint with the most outward links.
        The origin is the foot of that normal; of parallel lines the one next to the following
        origin; of limbs with as many links the mean of their feet, so that mirror images have the
        same equations. At a tip, x points to the mass centre and the origin is the foot of the
        normal to the previous joint.
        """
        default: dict[int, tuple[float, Array]] = {}
        for k in reversed(range(len(self.robot.joints))):
            z = self.robot.joints[k].axis
            if self.robot.joints[k].part_of:  # all of its parts have one origin
                default[k] = 0.0, perpendicular(np.eye(3)[int(np.argmin(np.abs(z)))], z)
                continue
            after = self._next(k)
            if after is None:
                default[k] = self._at_tip(k)
                continue
            line, following = after
            normal = common_normal(z, line)
            offset, x = normal.foot, normal.direction
            if offset is None:
                along = default[following][0] if following is not None else 0.0
                offset = float(z @ (line.point + along * line.direction))
            elif following in (limbs := self._limbs(k)):
                feet = [common_normal(z, self._axis(child)).foot for child in limbs]
                offset = float(np.mean([foot for foot in feet if foot is not None]))
            default[k] = (offset, self._directions(k)[0] if x is None else x)
        return [default[k] for k in range(len(self.robot.joints))]

    def _next(self, k: int) -> tuple[Line, int | None] | None:
        """Return the line that determines the x axis of the link of joint k, and its joint."""
        children = self.children[k + 1]
        if not children:
            return None
        child = max(children, key=lambda c: self._size[c + 1])
        joint, line = self.robot.joints[child], self._axis(child)
        if joint.type.rotates:
            return line, child
        # A prismatic axis has a direction but no position. One along z moves links along z only
        across = np.linalg.norm(np.cross(self.robot.joints[k].axis, line.direction))
        beyond = self._next(child) if across < PARALLEL else None
        if beyond is None:
            return Line(np.zeros(3), line.direction), None
        X = joint.origin
        seen, following = beyond
        return Line(X.rotation @ seen.point + X.translation, X.rotation @ seen.direction), following

    def _limbs(self, k: int) -> list[int]:
        """Return the revolute joints on the link of joint k that carry the most links."""
        children = [c for c in self.children[k + 1] if self.robot.joints[c].type.rotates]
        most = max((self._size[c + 1] for c in children), default=0)
        return [c for c in children if self._size[c + 1] == most]

    def _axis(self, k: int) -> Line:
        """Return the axis of joint k in the link that carries it."""
        joint = self.robot.joints[k]
        return Line(joint.origin.translation, joint.origin.rotation @ joint.axis)

    @cached_property
    def _size(self) -> list[int]:
        """Number of links in the subtree of every link."""
        size = [1] * len(self.robot.links)
        for k in reversed(range(len(self.robot.joints))):
            size[self.robot.parents[k]] += size[k + 1]
        return size

    def _at_tip(self, k: int) -> tuple[float, Array]:
        before = self._axis_before(k)
        foot = None if before is None else common_normal(self.robot.joints[k].axis, before).foot
        return 0.0 if foot is None else foot, self._mass_directions(k)[0]

    def _axis_before(self, k: int) -> Line | None:
        """Return the axis of the revolute joint before joint k, if any, in the link of joint k."""
        parent = self.robot.parents[k]
        if parent == 0 or not self.robot.joints[parent - 1].type.rotates:
            return None
        X = self.robot.joints[k].origin.inverse()
        return Line(X.translation, X.rotation @ self.robot.joints[parent - 1].axis)

    # -- candidates --------------------------------------------------------------------------

    @cached_property
    def directions(self) -> list[list[Array]]:
        """Candidates for the x direction per joint, the default one first.

        They are the common normals with all neighbouring joints, the first moment of the regrouped
        body and its principal axes.
        """
        return [
            _distinct_directions([self.default[k][1], *self._directions(k)])
            for k in range(len(self.robot.joints))
        ]

    def _directions(self, k: int) -> list[Array]:
        z = self.robot.joints[k].axis
        normals = [common_normal(z, line).direction for line in self._neighbours(k)]
        return [n for n in normals if n is not None] + self._mass_directions(k)

    def _mass_directions(self, k: int) -> list[Array]:
        z, body = self.robot.joints[k].axis, self._regrouped.links[k + 1].inertia
        h, S = body.first_moment, second_mass_moment(body)
        directions = [] if self._balanced[k] else [h / np.linalg.norm(h)]
        e = perpendicular(np.eye(3)[int(np.argmin(np.abs(z)))], z)
        e = e / np.linalg.norm(e)
        across = np.column_stack([e, np.cross(z, e)])
        (xx, xy), (_, yy) = across.T @ S @ across
        angle = 0.5 * np.arctan2(2.0 * xy, xx - yy)  # of the principal axes
        return [*directions, across @ np.array([np.cos(angle), np.sin(angle)])]

    def _neighbours(self, k: int) -> list[Line]:
        before = self._axis_before(k)
        lines = [] if before is None else [before]
        children = (c for c in self.children[k + 1] if self.robot.joints[c].type.rotates)
        return [*lines, *map(self._axis, children)]

    @cached_property
    def offsets(self) -> list[list[float]]:
        """Candidates for the offset of the origin per joint, m, the default one first.

        They are the feet of all common normals with neighbouring joints, on a run of parallel
        joints the feet on all of them, and the point where the mixed second moment of the
        regrouped body vanishes.
        """
        joints, parents = self.robot.joints, self.robot.parents
        offsets = [[offset] for offset, _ in self.default]
        for k, joint in enumerate(joints):
            feet = [common_normal(joint.axis, line).foot for line in self._neighbours(k)]
            offsets[k] += [foot for foot in feet if foot is not None] + [0.0]
        for forth in (True, False):  # along each run, away from the base and back
            for k in range(len(joints)) if forth else reversed(range(len(joints))):
                if self.parallel_to_parent(k):
                    z, X, z_P = joints[k].axis, joints[k].origin, joints[parents[k] - 1].axis
                    direction = X.rotation @ z
                    if forth:
                        feet_P = offsets[parents[k] - 1]
                        offsets[k] += [float(direction @ (z_P * s - X.translation)) for s in feet_P]
                    else:
                        offsets[parents[k] - 1] += [
                            float(z_P @ (X.translation + direction * s)) for s in offsets[k]
                        ]
            offsets = [_distinct(values) for values in offsets]
        for k, joint in enumerate(joints):
            body = self._regrouped.links[k + 1].inertia
            if not self._balanced[k]:
                h = body.first_moment
                S_hz = h @ second_mass_moment(body) @ joint.axis
                offsets[k] = _distinct([*offsets[k], float(S_hz / (h @ h))])
        return [
            values[:1]
            if joint.part_of
            else [values[0], *(s for s in values[1:] if abs(s) <= self._reach)]
            for joint, values in zip(joints, offsets, strict=True)
        ]

    def parallel_to_parent(self, k: int) -> bool:
        """Return whether joint k and the previous joint are revolute about parallel axes."""
        parent = self.robot.parents[k]
        if parent == 0:
            return False
        before, joint = self.robot.joints[parent - 1], self.robot.joints[k]
        if before.part_of or joint.part_of:
            return False
        if not (before.type.rotates and joint.type.rotates):
            return False
        sine = np.linalg.norm(np.cross(before.axis, joint.origin.rotation @ joint.axis))
        return bool(sine < PARALLEL)

    @cached_property
    def runs(self) -> list[list[int]]:
        """Runs of two or more parallel revolute joints, each from the base outwards."""
        runs: list[list[int]] = []
        for k in range(len(self.robot.joints)):
            if self.parallel_to_parent(k):
                before = self.robot.parents[k] - 1
                run = next((run for run in runs if run[-1] == before), None)
                if run is None:
                    runs.append([before, k])
                else:
                    run.append(k)
        return runs

    @cached_property
    def _reach(self) -> float:
        """Total length of all links, m: moments about more distant origins lose digits."""
        return float(sum(np.linalg.norm(j.origin.translation) for j in self.robot.joints)) + 1.0

    # -- bodies ------------------------------------------------------------------------------

    @cached_property
    def _regrouped(self) -> Robot:
        return regroup(self.robot)

    @cached_property
    def _balanced(self) -> list[bool]:
        """True for each joint whose axis contains the mass centre of the links that it carries."""
        links = zip(self._regrouped.links[1:], outward_bodies(self.robot)[1:], strict=True)
        return [
            bool(np.linalg.norm(link.inertia.first_moment) <= PARALLEL * first_moment_size(body))
            for link, body in links
        ]


def _distinct(values: list[float]) -> list[float]:
    """Remove near repetitions of values."""
    kept: list[float] = []
    for value in values:
        if all(abs(value - other) > PARALLEL for other in kept):
            kept.append(value)
    return kept


def _distinct_directions(directions: list[Array]) -> list[Array]:
    """Remove near repetitions and opposites of unit vectors."""
    kept: list[Array] = []
    for x in directions:
        if all(abs(x @ other) < 1.0 - PARALLEL for other in kept):
            kept.append(x)
    return kept


# -- moving frames ---------------------------------------------------------------------------


def in_frames(robot: Robot, poses: Sequence[Pose]) -> Robot:
    """Give every link except the root another frame; names and motion of the robot do not change.

    Args:
        robot: Tree without fixed joints.
        poses: Pose X_LN of the new frame N in the present frame L, for links[1:]. The origin of
            the frame of a revolute joint must stay on its axis.
    """
    X_LN = dict(zip((link.name for link in robot.links[1:]), poses, strict=True))
    X_LN[robot.links[0].name] = Pose.identity()
    X_NL = {name: X.inverse() for name, X in X_LN.items()}
    joints = [
        replace(
            joint,
            origin=X_NL[joint.parent] @ joint.origin @ X_LN[joint.child],
            axis=X_NL[joint.child].rotation @ joint.axis,
        )
        for joint in robot.joints
    ]
    links = [
        replace(link, inertia=link.inertia.expressed_in(X_NL[link.name])) for link in robot.links
    ]
    frames = {
        name: Frame(frame.link, X_NL[frame.link] @ frame.pose)
        for name, frame in robot.frames.items()
    }
    return replace(robot, links=tuple(links), joints=tuple(joints), frames=frames)


def reframe(robot: Robot, poses: Sequence[Pose]) -> Robot:
    """Give every link except the root another frame; the motion of the robot does not change.

    Args:
        robot: Tree without fixed joints.
        poses: Pose X_LN of the new frame N in the present frame L, for links[1:]. The origin of
            the frame of a revolute joint must stay on its axis.

    Returns:
        The same robot in new frames. The links get the suffix " (joint frame)", and their old
        names remain as named frames, so that wrenches and tools keep their place.
    """
    moved = in_frames(robot, poses)
    new_name = {link.name: joint_frame_name(link.name) for link in robot.links[1:]}
    links = [replace(link, name=new_name.get(link.name, link.name)) for link in moved.links]
    joints = [
        replace(joint, parent=new_name.get(joint.parent, joint.parent), child=new_name[joint.child])
        for joint in moved.joints
    ]
    frames = {
        link.name: Frame(new_name[link.name], X_LN.inverse())
        for link, X_LN in zip(robot.links[1:], poses, strict=True)
        if new_name[link.name] != link.name
    }
    for name, frame in moved.frames.items():
        frames[name] = replace(frame, link=new_name.get(frame.link, frame.link))
    return replace(moved, links=tuple(links), joints=tuple(joints), frames=frames)


def joint_frame_name(link: str) -> str:
    """Return the name of a link after its frame has moved."""
    return link if link.endswith(SUFFIX) else link + SUFFIX


# -- joint frames ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Placement:
    """Placement of a link frame on its joint axis, which becomes its z axis.

    Args:
        offset: Position of the new origin along the joint axis, from the present origin, m.
        x: Direction of the x axis in present axes, perpendicular to the joint axis, shape (3,).
    """

    offset: float
    x: Array


def joint_frames(robot: Robot, places: Sequence[Placement] | None = None) -> Robot:
    """Re-express the link frames with z along the joints.

    A revolute joint rotates about the z axis of its link. A link on a prismatic joint has the axes
    of its parent and, at joint position zero, its origin, because it does not rotate in the parent.
    Only a prismatic joint on the base, where any axes are possible, moves along its own z axis.

    Args:
        robot: Tree without fixed joints.
        places: One per joint, unused for prismatic joints except on the base; by default modified
            Denavit-Hartenberg frames (`FrameCandidates.default`).

    Returns:
        The same robot in new frames (see `reframe`).
    """
    if places is None:
        places = [Placement(offset, x) for offset, x in FrameCandidates(robot).default]
    poses = [Pose.identity()]
    for joint, place, parent in zip(robot.joints, places, robot.parents, strict=True):
        if joint.type.rotates or parent == 0:
            z = joint.axis
            x = perpendicular(place.x, z)
            x = x / np.linalg.norm(x)
            poses.append(Pose(np.column_stack([x, np.cross(z, x), z]), place.offset * z))
        else:
            poses.append(joint.origin.inverse() @ poses[parent])
    moved = reframe(robot, poses[1:])
    # Set exactly: z axes by construction, and frames kept from the parent
    joints = []
    for joint, parent in zip(moved.joints, moved.parents, strict=True):
        if joint.type.rotates or parent == 0:
            joints.append(replace(joint, axis=np.array([0.0, 0.0, 1.0])))
        else:
            joints.append(replace(joint, origin=Pose.identity()))
    return replace(moved, joints=tuple(joints))


# -- constants -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Residual:
    """The largest changes by snapping.

    Args:
        angle: Of an angle between the axes of neighbouring links, rad.
        length: Of a coordinate of an origin, m.
        inertia: Of a mass, first or second moment, relative to the bodies that the joint carries.
    """

    angle: float
    length: float
    inertia: float


def snapped(robot: Robot, tolerance: float, sizes: Sequence[Inertia]) -> tuple[Robot, Residual]:
    """Replace nearly exact constants by exact ones.

    They are angles of a joint origin Rz(gamma) Rx(alpha) Rz(theta) within `tolerance` (rad) of a
    right angle, lengths within `tolerance` (m) of zero, inertial parameters smaller than
    `tolerance` times those of `sizes`, and nearly equal second moments about x and y.

    Args:
        robot: Tree without fixed joints in joint frames, as numbers.
        tolerance: Largest change, rad, m, or relative; 0 changes only signs of zero.
        sizes: For every link the bodies that its joint carries (`transforms.outward_bodies`).

    Returns:
        The robot with exact constants, and the largest changes made.
    """
    largest = {"angle": 0.0, "length": 0.0, "inertia": 0.0}

    def snap(kind: str, values: Array, exact: Array, size: float = 1.0) -> Array:
        """Return `exact` where it is within the tolerance of `values`, otherwise `values`."""
        change = np.abs(values - exact)
        near = change <= tolerance * size
        largest[kind] = max(largest[kind], float(np.max(change[near], initial=0.0) / size))
        return np.where(near, exact, values)

    def snap_origin(X: Pose) -> Pose:
        angles = zxz_angles(X.rotation, tolerance)
        right = 0.5 * np.pi * np.round(angles / (0.5 * np.pi))
        return Pose(
            rotation_zxz(snap("angle", angles, right)),
            snap("length", X.translation, np.zeros(3)),
        )

    def snap_body(body: Inertia, carried: Inertia) -> Inertia:
        mass, moment = abs(carried.mass), abs(np.trace(second_mass_moment(carried)))
        if mass == 0.0 or moment == 0.0:
            return body
        S = snap("inertia", second_mass_moment(body), np.zeros((3, 3)), moment)
        S[1, 1] = snap("inertia", S[1:2, 1], S[0:1, 0], moment)[0]
        return Inertia(
            float(snap("inertia", np.array([body.mass]), np.zeros(1), mass)[0]),
            snap("inertia", body.first_moment, np.zeros(3), first_moment_size(carried)),
            np.trace(S) * np.eye(3) - S,
        )

    joints = []
    for joint in robot.joints:
        axis = snap("angle", joint.axis, np.zeros(3))
        axis = axis / np.linalg.norm(axis)
        joints.append(replace(joint, origin=snap_origin(joint.origin), axis=axis))
    links = [
        Link(link.name, snap_body(link.inertia, size))
        for link, size in zip(robot.links, sizes, strict=True)
    ]
    g = robot.gravity
    gravity = snap("angle", g, np.zeros(3), float(np.linalg.norm(g)) or 1.0)
    exact = replace(robot, joints=tuple(joints), links=tuple(links), gravity=gravity)
    return exact, Residual(**largest)


def zxz_angles(R: Array, tolerance: float = 0.0) -> Array:
    """Return the angles (gamma, alpha, theta) of R = Rz(gamma) Rx(alpha) Rz(theta), (3,), rad.

    alpha is in [0, pi]. If the z axes are parallel within `tolerance` (rad), gamma is 0.
    """
    sine = float(np.hypot(R[0, 2], R[1, 2]))
    alpha = np.arctan2(sine, R[2, 2])
    if sine <= max(tolerance, 1e-15):
        return np.array([0.0, alpha, np.arctan2(np.sign(R[2, 2]) * R[1, 0], R[0, 0])])
    return np.array([np.arctan2(R[0, 2], -R[1, 2]), alpha, np.arctan2(R[2, 0], R[2, 1])])


def rotation_zxz(angles: Array) -> Array:
    """Return Rz(gamma) Rx(alpha) Rz(theta), shape (3, 3); exact for right angles."""
    R = np.eye(3)
    for angle, (i, j) in zip(angles, ((0, 1), (1, 2), (0, 1)), strict=True):
        quarters = angle / (0.5 * np.pi)
        c, s = np.cos(angle), np.sin(angle)
        if quarters == np.round(quarters):
            c, s = np.round(c), np.round(s)
        turn = np.eye(3)
        turn[i, i], turn[i, j], turn[j, i], turn[j, j] = c, -s, s, c
        R = R @ turn
    return R


def in_length_unit(robot: Robot, unit: float) -> Robot:
    """Express the lengths of a robot in another unit.

    Masses are scaled by unit^2, so that torques (mass times length squared over time squared) keep
    their values. Computed forces are multiplied by `unit`, and positions of prismatic joints must
    be divided by it.

    Args:
        robot: Any robot.
        unit: The new unit, m.
    """
    if unit == 1.0:
        return robot

    def rescaled(X: Pose) -> Pose:
        return Pose(X.rotation, X.translation / unit)

    joints = [replace(joint, origin=rescaled(joint.origin)) for joint in robot.joints]
    links = [
        Link(
            link.name,
            Inertia(
                link.inertia.mass * unit**2,
                link.inertia.first_moment * unit,
                link.inertia.second_moment,
            ),
        )
        for link in robot.links
    ]
    frames = {name: Frame(frame.link, rescaled(frame.pose)) for name, frame in robot.frames.items()}
    return replace(
        robot,
        joints=tuple(joints),
        links=tuple(links),
        gravity=robot.gravity / unit,
        frames=frames,
    )
