"""Collision constraints of an arm: a box, the floor, and clearance between links.

Links are the convex hulls of their meshes where these are given. Where not, they are taken as the
straight lines between the joints that they carry, which is coarse and needs nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from robot_dynamics.errors import ArgumentError
from robot_dynamics.foundation.arrays import Array, numbers
from robot_dynamics.foundation.lazy import imported, needed
from robot_dynamics.identification.excitation.motion_families import MotionBounds
from robot_dynamics.robot.kinematic_tree import KinematicTree
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.transforms import merge_fixed
from robot_dynamics.spatial import rotation_about

ALWAYS = 0.95
"""Part of random poses from which on two hulls count as always too near each other."""

POSES = 200
"""Random poses by which `ALWAYS` is judged."""

FEWEST = 4
"""Least number of points of a hull."""


class _Hull(NamedTuple):
    """One link of the URDF: the link of the tree that carries it, its corners there, its shape."""

    link: int
    corners: Array
    shape: Any


@dataclass(frozen=True, eq=False)
class Hulls:
    """Convex hulls of the links.

    Args:
        hulls: Of every link that has a shape.
        pairs: Which of them may come too near each other, as indices.
    """

    hulls: tuple[_Hull, ...]
    pairs: tuple[tuple[int, int], ...]

    @staticmethod
    def of(tree: Robot, shapes: Mapping[str, Array]) -> Hulls:
        """Build the hulls, with all pairs but those of one link or of neighbours.

        Args:
            tree: The robot with fixed links merged.
            shapes: Points of every link of the URDF in its frame, shape (v, 3), m.

        Raises:
            MissingPackageError: If coal is not installed.
        """
        coal = needed("coal", "clearance of meshes", "identification")
        hulls = []
        for name, points in shapes.items():
            if len(points) < FEWEST:
                continue
            frame = tree.frame(name)
            corners = points[
                imported("scipy.spatial").ConvexHull(points, qhull_options="QJ").vertices
            ]
            corners = corners @ frame.pose.rotation.T + frame.pose.translation
            listed = coal.StdVec_Vec3s()
            listed.extend(list(corners))
            shape = coal.Convex.convexHull(listed, False, "")
            hulls.append(_Hull(tree.link_index(frame.link), corners, shape))
        parents = dict(enumerate(tree.parents, start=1))
        pairs = tuple(
            (i, j)
            for (i, a), (j, b) in combinations(enumerate(hulls), 2)
            if a.link != b.link and parents.get(a.link) != b.link and parents.get(b.link) != a.link
        )
        return Hulls(tuple(hulls), pairs)

    def without(self, R: Array, p: Array, clearance: float) -> Hulls:
        """Drop the pairs that are nearer than the clearance in nearly all poses.

        Args:
            R: Rotations of the links of the tree in random poses, shape (N, links, 3, 3).
            p: Their origins, shape (N, links, 3).
            clearance: m.
        """
        near = [np.mean(self._distances(pair, R, p) < clearance) for pair in self.pairs]
        kept = [pair for pair, part in zip(self.pairs, near, strict=True) if part < ALWAYS]
        return Hulls(self.hulls, tuple(kept))

    def nearest(self, R: Array, p: Array) -> float:
        """Return the least distance of all pairs in all poses, m; negative where hulls overlap."""
        distances = (self._distances(pair, R, p).min() for pair in self.pairs)
        return float(min(distances, default=np.inf))

    def corners(self, R: Array, p: Array) -> Array:
        """Return the corners of all moving links in axes of the root, shape (N, v, 3)."""
        moved = [hull for hull in self.hulls if hull.link > 0]
        parts = [
            np.einsum("nij,vj->nvi", R[:, h.link], h.corners) + p[:, None, h.link] for h in moved
        ]
        return np.concatenate(parts, axis=1) if parts else p[:, 1:]

    def _distances(self, pair: tuple[int, int], R: Array, p: Array) -> Array:
        coal = needed("coal", "clearance of meshes", "identification")
        request, result = coal.DistanceRequest(), coal.DistanceResult()
        a, b = (self.hulls[i] for i in pair)
        # The second in axes of the first: one pose to end effector over instead of two
        R_ab = np.einsum("nji,njk->nik", R[:, a.link], R[:, b.link])
        p_ab = np.einsum("nji,nj->ni", R[:, a.link], p[:, b.link] - p[:, a.link])
        here, there = coal.Transform3s(), coal.Transform3s()
        found = np.empty(len(R))
        for k in range(len(R)):
            there.setRotation(R_ab[k])
            there.setTranslation(p_ab[k])
            result.clear()
            found[k] = coal.distance(a.shape, here, b.shape, there, request, result)
        return found


# -- constraints ---------------------------------------------------------------------------------

BETWEEN = 2
"""Lines with fewer lines between them are not compared: a wrist is always near its forearm."""


@dataclass(frozen=True, eq=False)
class Surroundings:
    """Box and clearance that the links must respect.

    Args:
        robot: The robot.
        box: Lowest and highest corner, shape (2, 3), m, in axes of the root link; None for any.
        clearance: Least distance between links, m; 0 for any.
        hulls: Of their meshes; None for lines.
    """

    robot: Robot
    box: Array | None = None
    clearance: float = 0.0
    hulls: Hulls | None = None

    @staticmethod
    def of(
        robot: Robot,
        box: npt.ArrayLike | None = None,
        clearance: float = 0.0,
        shapes: Mapping[str, Array] | None = None,
    ) -> Surroundings:
        """Check the arguments and build the constraints.

        Args:
            robot: The robot.
            box: As of the class.
            clearance: As of the class.
            shapes: Points of every link that has a mesh, shape (v, 3), m, in its frame.

        Raises:
            ArgumentError: If the box is empty or the clearance negative.
            MissingPackageError: If there are shapes, and coal is not installed.
        """
        corners = None if box is None else numbers("box", box, (2, 3))
        if corners is not None and (corners[0] >= corners[1]).any():
            raise ArgumentError(
                "box: give the lowest corner first, x, y, z below those of the other"
            )
        if not clearance >= 0.0:
            raise ArgumentError(f"clearance is {clearance:g} m; give zero or more")
        tree = merge_fixed(robot)
        if not shapes or (corners is None and not clearance):
            return Surroundings(tree, corners, clearance)
        hulls = Hulls.of(tree, shapes)
        bounds = MotionBounds.of(robot, share=1.0)
        random = imported("numpy.random").default_rng(0)
        poses = random.uniform(bounds.lower, bounds.upper, (POSES, robot.dof))
        return Surroundings(
            tree, corners, clearance, hulls.without(*poses_of_links(tree, poses), clearance)
        )

    def violation(self, q: Array) -> float:
        """Return the largest violation over positions q, shape (N, n), m; zero or less if none."""
        if self.box is None and not self.clearance:
            return 0.0
        if self.hulls is not None:
            return self._of_hulls(self.hulls, *poses_of_links(self.robot, q))
        points = points_of_links(self.robot, q)
        worst = -np.inf
        if self.box is not None:
            worst = self._outside(points[:, 1:])
        if self.clearance:
            for (a, b), (c, d) in self._pairs(points):
                near = segment_distance(points[:, a], points[:, b], points[:, c], points[:, d])
                worst = max(worst, self.clearance - float(near.min()))
        return worst

    def _of_hulls(self, hulls: Hulls, R: Array, p: Array) -> float:
        worst = -np.inf if self.box is None else self._outside(hulls.corners(R, p))
        if self.clearance and worst <= 0.0:
            worst = max(worst, self.clearance - hulls.nearest(R, p))
        return worst

    def _outside(self, points: Array) -> float:
        """Return how far points, shape (N, v, 3), are outside of the box at most, m."""
        assert self.box is not None
        return float(np.maximum(self.box[0] - points, points - self.box[1]).max())

    def _pairs(self, points: Array) -> list[tuple[tuple[int, int], tuple[int, int]]]:
        """Lines of links that are not neighbours, as indices of their ends."""
        tree = self.robot
        lines = [(tree.parents[k], k + 1) for k in range(len(tree.joints))]
        lines += [
            (tree.link_index(tree.frame(name).link), len(tree.links) + i)
            for i, name in enumerate(tree.tips)
        ]
        long = [float(np.linalg.norm(points[0, a] - points[0, b])) > 1e-6 for a, b in lines]

        def inward(i: int) -> set[int]:
            path = {i}
            while lines[i][0] > 0:
                i = lines[i][0] - 1
                path.add(i)
            return path

        pairs = []
        for i in (i for i in range(len(lines)) if long[i]):
            for j in (j for j in range(i) if long[j]):
                between = (inward(i) ^ inward(j)) - {i, j}
                if sum(long[k] for k in between) >= BETWEEN:
                    pairs.append((lines[i], lines[j]))
        return pairs


def points_of_links(tree: KinematicTree, q: Array) -> Array:
    """Origins of all links and tips in axes of the root, shape (N, links + tips, 3)."""
    R, p = poses_of_links(tree, q)
    tips = []
    for name in tree.tips:
        frame = tree.frame(name)
        i = tree.link_index(frame.link)
        tips.append(p[:, i] + R[:, i] @ frame.pose.translation)
    return np.concatenate([p, np.stack(tips, axis=1)], axis=1)


def poses_of_links(tree: KinematicTree, q: Array) -> tuple[Array, Array]:
    """Rotations (N, links, 3, 3) and origins (N, links, 3) of all links in axes of the root."""
    N = len(q)
    positions = q @ tree.coupling.matrix.T + tree.coupling.offset
    R = [np.tile(np.eye(3), (N, 1, 1))]
    p = [np.zeros((N, 3))]
    for k, joint in enumerate(tree.joints):
        P = tree.parents[k]
        R0, p0, x = joint.origin.rotation, joint.origin.translation, positions[:, k]
        p_here = p[P] + R[P] @ p0
        R_here = R[P] @ R0
        if joint.type.rotates:
            R.append(R_here @ np.moveaxis(rotation_about(joint.axis, x), -1, 0))
            p.append(p_here)
        else:
            R.append(R_here)
            p.append(p_here + x[:, None] * (R_here @ joint.axis))
    return np.stack(R, axis=1), np.stack(p, axis=1)


def segment_distance(a: Array, b: Array, c: Array, d: Array) -> Array:
    """Distance of the segments from a to b and from c to d, shape (N, 3) each, m; shape (N,)."""
    u, v, w = b - a, d - c, a - c
    uu, uv, vv = (u * u).sum(1), (u * v).sum(1), (v * v).sum(1)
    uw, vw = (u * w).sum(1), (v * w).sum(1)
    det = uu * vv - uv**2
    s = np.clip((uv * vw - vv * uw) / np.maximum(det, 1e-12), 0.0, 1.0)
    t = np.clip((uv * s + vw) / np.maximum(vv, 1e-12), 0.0, 1.0)
    s = np.clip((uv * t - uw) / np.maximum(uu, 1e-12), 0.0, 1.0)
    return np.asarray(np.linalg.norm(w + s[:, None] * u - t[:, None] * v, axis=1))
