"""Joint axes as lines in space, and candidates for link frames that save operations.

Lines are expressed in the frame of the link that the joint carries, at joint
position zero. Feet and directions of common normals do not depend on that choice.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.lazy import cached_property
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.transforms import outward_bodies, regroup
from robot_dynamics.spatial import first_moment_size, second_mass_moment

PARALLEL = 1e-9
"""Sine of an angle, or distance in m, below which lines count as parallel or coincident.

URDFs round right angles: with 10 digits, axes meant to be parallel differ by some 1e-10 rad.
"""

NEARLY_PARALLEL = 1e-3
"""Sine of an angle below which the foot of a common normal is too far away for an origin.

Moments about a distant origin are differences of large numbers.
"""


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

    # -- the usual frames: modified Denavit-Hartenberg ---------------------------------------

    @cached_property
    def usual(self) -> list[tuple[float, Array]]:
        """Offset of the origin along the joint axis, m, and x direction, shape (3,), per joint.

        x lies on the common normal to the next joint, the child joint with the most outward links.
        The origin is the foot of that normal; of parallel lines the one next to the following
        origin. At a tip, x points to the mass centre and the origin is the foot of the normal to
        the previous joint.
        """
        usual: dict[int, tuple[float, Array]] = {}
        for k in reversed(range(len(self.robot.joints))):
            z = self.robot.joints[k].axis
            after = self._next(k)
            if after is None:
                usual[k] = self._at_tip(k)
                continue
            line, following = after
            normal = common_normal(z, line)
            offset, x = normal.foot, normal.direction
            if offset is None:
                along = usual[following][0] if following is not None else 0.0
                offset = float(z @ (line.point + along * line.direction))
            usual[k] = (offset, self._directions(k)[0] if x is None else x)
        return [usual[k] for k in range(len(self.robot.joints))]

    def _next(self, k: int) -> tuple[Line, int | None] | None:
        """Return the line that determines the x axis of the link of joint k, and its joint."""
        children = self.children[k + 1]
        if not children:
            return None
        child = max(children, key=lambda c: self._size[c + 1])
        joint = self.robot.joints[child]
        line = Line(joint.origin.translation, joint.origin.rotation @ joint.axis)
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
        """Candidates for the x direction per joint, the usual one first.

        They are the common normals with all neighbouring joints, the first moment of the regrouped
        body and its principal axes.
        """
        return [
            _distinct_directions([self.usual[k][1], *self._directions(k)])
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
        for child in self.children[k + 1]:
            joint = self.robot.joints[child]
            if joint.type.rotates:
                lines.append(Line(joint.origin.translation, joint.origin.rotation @ joint.axis))
        return lines

    @cached_property
    def offsets(self) -> list[list[float]]:
        """Candidates for the offset of the origin per joint, m, the usual one first.

        They are the feet of all common normals with neighbouring joints, on a run of parallel
        joints the feet on all of them, and the point where the mixed second moment of the
        regrouped body vanishes.
        """
        joints, parents = self.robot.joints, self.robot.parents
        offsets = [[offset] for offset, _ in self.usual]
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
            [values[0], *(s for s in values[1:] if abs(s) <= self._reach)] for values in offsets
        ]

    def parallel_to_parent(self, k: int) -> bool:
        """Return whether joint k and the previous joint are revolute about parallel axes."""
        parent = self.robot.parents[k]
        if parent == 0:
            return False
        before, joint = self.robot.joints[parent - 1], self.robot.joints[k]
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
