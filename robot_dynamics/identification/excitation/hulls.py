"""Convex hulls of the links' meshes, and the distances between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial import ConvexHull

from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.lazy import needed
from robot_dynamics.robot.robot import Robot

ALWAYS = 0.95
"""Part of random poses in which two hulls are too near each other because of how they are built."""

POSES = 200
"""Random poses that tell which hulls always are."""

FEWEST = 4
"""Points of a body in space."""


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
        """All pairs but those of one link or of neighbours.

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
            corners = points[ConvexHull(points, qhull_options="QJ").vertices]
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
        """Without the pairs that are nearer than the clearance in nearly all poses.

        Args:
            R: Rotations of the links of the tree in random poses, shape (N, links, 3, 3).
            p: Their origins, shape (N, links, 3).
            clearance: m.
        """
        near = [np.mean(self._distances(pair, R, p) < clearance) for pair in self.pairs]
        kept = [pair for pair, part in zip(self.pairs, near, strict=True) if part < ALWAYS]
        return Hulls(self.hulls, tuple(kept))

    def nearest(self, R: Array, p: Array) -> float:
        """Least distance of all pairs in all poses, m; below zero where hulls overlap."""
        distances = (self._distances(pair, R, p).min() for pair in self.pairs)
        return float(min(distances, default=np.inf))

    def corners(self, R: Array, p: Array) -> Array:
        """All corners of links that move, in axes of the root, shape (N, v, 3)."""
        moved = [hull for hull in self.hulls if hull.link > 0]
        parts = [
            np.einsum("nij,vj->nvi", R[:, h.link], h.corners) + p[:, None, h.link] for h in moved
        ]
        return np.concatenate(parts, axis=1) if parts else p[:, 1:]

    def _distances(self, pair: tuple[int, int], R: Array, p: Array) -> Array:
        coal = needed("coal", "clearance of meshes", "identification")
        request, result = coal.DistanceRequest(), coal.DistanceResult()
        a, b = (self.hulls[i] for i in pair)
        # The second in axes of the first: one pose to hand over instead of two
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
