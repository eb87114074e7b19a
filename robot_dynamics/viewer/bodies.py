"""The bodies of a robot in a scene, nested like its tree, so that a joint is one transform.

The browser composes the transforms. Only those of joints that have moved are sent.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import trimesh
import viser

from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot import Robot
from robot_dynamics.robot.kinematic_tree import joint_pose
from robot_dynamics.viewer.link_shapes import Shape
from robot_dynamics.viewer.snapshot import wxyz

STILL = 1e-4
"""Motion of a joint below which it is not sent, rad or m: a tenth of a pixel."""

GROWTH_M = 0.004
"""Offset of the ghost's surface from that of the robot, m."""


class Bodies:
    """The bodies of a robot below one node.

    Args:
        scene: Scene of the page.
        root: Name of the node of the root link, such as "/robot".
        tree: The robot without fixed joints.
    """

    def __init__(self, scene: viser.SceneApi, root: str, tree: Robot) -> None:
        self._scene = scene
        self._coupling = tree.coupling
        self._joints = tree.joints
        self._root = scene.add_frame(root, show_axes=False)
        self._names = [root]
        self._nodes: list[Any] = []
        for parent in tree.parents:
            name = f"{self._names[parent]}/{len(self._names)}"  # links may have any name
            self._names.append(name)
            self._nodes.append(scene.add_frame(name, show_axes=False))
        self._shown = np.full(len(self._nodes), np.nan)
        self.place(np.zeros(tree.dof))

    def add(self, body: int, shapes: Iterable[Shape], opacity: float | None = None) -> list[Any]:
        """Add shapes to a body; body 0 is the root link.

        Returns:
            A handle for each shape.
        """
        return [
            self._scene.add_mesh_simple(
                f"{self._names[body]}/:{k}",
                shape.vertices.astype(np.float32),
                shape.faces.astype(np.uint32),
                color=shape.colour,
                opacity=opacity,
                side="double",
                cast_shadow=False,
                receive_shadow=False,
            )
            for k, shape in enumerate(shapes)
        ]

    def place(self, q: Array) -> None:
        """Show joint positions, shape (n,), rad or m."""
        values = self._coupling.positions(q)
        moved = np.flatnonzero(~(np.abs(values - self._shown) < STILL))
        for k in moved:
            pose, node = joint_pose(self._joints[k], values[k]), self._nodes[k]
            node.wxyz, node.position = wxyz(pose.rotation), pose.translation
        self._shown[moved] = values[moved]

    def show(self, visible: bool) -> None:
        """Show or hide all bodies."""
        self._root.visible = visible


def grown(shape: Shape) -> Shape:
    """Return a slightly larger shape, so that a ghost does not flicker through its link."""
    mesh = trimesh.Trimesh(shape.vertices, shape.faces, process=True, merge_norm=True)
    return Shape(mesh.vertices + GROWTH_M * mesh.vertex_normals, mesh.faces, shape.colour)


def by_colour(shapes: list[Shape]) -> list[Shape]:
    """Merge shapes of the same colour."""
    merged = []
    for colour in dict.fromkeys(shape.colour for shape in shapes):
        same = [shape for shape in shapes if shape.colour == colour]
        starts = np.cumsum([0, *(len(shape.vertices) for shape in same[:-1])])
        merged.append(
            Shape(
                np.vstack([shape.vertices for shape in same]),
                np.vstack([s.faces + k for s, k in zip(same, starts, strict=True)]),
                colour,
            )
        )
    return merged
