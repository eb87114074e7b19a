"""The robot in three dimensions: links, ghost at the reference, path of the tool, arrows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import trimesh
import viser
from scipy.spatial.transform import Rotation

from robot_dynamics.arrays import Array
from robot_dynamics.kinematics.forward_kinematics import FramePose, link_poses
from robot_dynamics.robot import Robot, merge_fixed
from robot_dynamics.statics.ellipsoids import Ellipsoid
from robot_dynamics.trajectory.motions import some_poses
from robot_dynamics.viewer.link_shapes import Colour, LinkShapes, Shape
from robot_dynamics.viewer.snapshot import Snapshot, tool_frame

GHOST: Colour = (60, 130, 246)
HOT: Colour = (225, 30, 30)
WARM: Colour = (250, 170, 20)
PATH: Colour = (20, 160, 120)
GRAVITY: Colour = (120, 90, 200)
PUSH: Colour = (240, 110, 20)

GROWTH = 0.004
"""By how much the ghost is larger than the robot, m."""

SHADES = 12
"""Steps of the colour of load: only a new step is sent to the browser."""

PATH_POINTS = 250
"""Points of the tool's path that stay visible: ten seconds of 25 a second."""

PUSH_SCALE = 0.01
"""Length of the arrow of a force, m/N."""


class RobotScene:
    """A robot in a viser scene.

    Bodies are nodes with all the links that are fixed to them; a pose is sent per body.

    Args:
        server: Where it is shown.
        robot: The robot.
        shapes: What its links look like.
    """

    def __init__(self, server: viser.ViserServer, robot: Robot, shapes: LinkShapes) -> None:
        self._scene = server.scene
        self._robot = robot
        self._tree = merge_fixed(robot)
        self.tool = tool_frame(robot)
        self._bodies = [link.name for link in self._tree.links]
        self._frames: list[Any] = []
        self._ghosts: list[Any] = []
        self._parts: list[list[tuple[Any, Colour]]] = []
        self._shade = np.full(len(self._bodies), -1)
        looks, outlines = (self._on_bodies(kind) for kind in shapes)
        for name in self._bodies:
            self._frames.append(self._scene.add_frame(f"/robot/{name}", show_axes=False))
            self._ghosts.append(self._scene.add_frame(f"/ghost/{name}", show_axes=False))
            self._parts.append(
                [
                    (self._add(f"/robot/{name}/{k}", part), part.colour)
                    for k, part in enumerate(_by_colour(looks[name]))
                ]
            )
            outline = outlines[name] if name != self._bodies[0] else []  # the root never moves
            for part in _by_colour([shape._replace(colour=GHOST) for shape in outline]):
                self._add(f"/ghost/{name}/shape", _grown(part), opacity=0.22)
        self._points = np.zeros((0, 3))
        self._path: Any = None
        self._add_surroundings()

    def _add_surroundings(self) -> None:
        scene = self._scene
        places = np.array(
            [
                pose.translation
                for q in some_poses(self._robot, 20)
                for pose in link_poses(self._robot, q).values()
            ],
            dtype=np.float64,
        )
        low, high = places.min(axis=0), places.max(axis=0)
        self.size = max(float(np.linalg.norm(high - low)), 0.2)
        self.middle = (low + high) / 2.0
        scene.add_grid("/ground", width=4.0, height=4.0, position=(0.0, 0.0, 0.0))
        g = np.asarray(self._robot.gravity, dtype=float)
        if g.any():
            start = np.array([-0.2, 0.2, 0.3]) * self.size
            end = start + 0.12 * self.size * g / np.linalg.norm(g)
            scene.add_arrows("/gravity", np.array([[start, end]]), GRAVITY, **_arrow(self.size))
            scene.add_label("/gravity/label", "g", position=tuple(start))
        self._push = scene.add_arrows(
            "/push", np.zeros((1, 2, 3)), PUSH, **_arrow(self.size), visible=False
        )
        self._load = scene.add_icosphere("/load", radius=1.0, color=WARM, visible=False)
        self._ellipsoid = scene.add_icosphere("/ellipsoid", radius=1.0, color=PATH, opacity=0.35,
                                              visible=False)  # fmt: skip

    def update(self, now: Snapshot, share: Array) -> None:
        """Show a moment.

        Args:
            now: What is shown.
            share: Part of its limit that each joint uses, 0 to 1 and beyond, shape (n,): colour of
                the body that the joint carries.
        """
        poses = link_poses(self._robot, now.q)
        self._place(self._frames, poses)
        for ghost in self._ghosts:
            ghost.visible = now.q_d is not None
        if now.q_d is not None:
            self._place(self._ghosts, link_poses(self._robot, now.q_d))
        self._colour(share)
        tool = poses[self.tool]
        self._show_load(now, tool)
        self._extend_path(np.asarray(tool.translation, dtype=np.float64))

    def show_ellipsoid(self, ellipsoid: Ellipsoid | None, at: Array) -> None:
        """Show an ellipsoid about a point, scaled to the robot; None hides it."""
        self._ellipsoid.visible = ellipsoid is not None
        if ellipsoid is None:
            return
        axes = ellipsoid.axes * [1.0, 1.0, np.linalg.det(ellipsoid.axes)]
        radii = 0.1 * self.size * ellipsoid.radii / max(ellipsoid.radii.max(), 1e-9)
        self._ellipsoid.scale = tuple(np.maximum(radii, 2e-3).tolist())
        self._ellipsoid.wxyz = _wxyz(axes[None])[0]
        self._ellipsoid.position = at

    def forget_path(self) -> None:
        """Begin the tool's path anew."""
        self._points = np.zeros((0, 3))

    def _place(self, frames: list[Any], poses: Mapping[str, FramePose]) -> None:
        bodies = [poses[name] for name in self._bodies]
        turns = _wxyz(np.array([pose.rotation for pose in bodies], dtype=np.float64))
        for frame, pose, turn in zip(frames, bodies, turns, strict=True):
            frame.position = pose.translation
            frame.wxyz = turn

    def _colour(self, share: Array) -> None:
        loads = self._tree.coupling.leader
        for k, parts in enumerate(self._parts[1:], start=1):
            value = share[loads[k - 1]]
            shade = 0 if np.isnan(value) else int(np.clip(round(SHADES * value), 0, SHADES))
            if shade != self._shade[k]:
                self._shade[k] = shade
                for handle, own in parts:
                    handle.color = tinted(own, shade / SHADES)

    def _show_load(self, now: Snapshot, tool: FramePose) -> None:
        R, p = np.asarray(tool.rotation, dtype=float), np.asarray(tool.translation, dtype=float)
        loaded = now.payload is not None and now.payload.mass > 0.0
        self._load.visible = loaded
        if loaded and now.payload is not None:
            self._load.scale = float((3.0 * now.payload.mass / (4.0 * np.pi * 3000.0)) ** (1 / 3))
            self._load.position = R @ now.payload.com + p
        pushed = now.push is not None and bool(np.any(now.push))
        self._push.visible = pushed
        if pushed and now.push is not None:
            self._push.points = np.array([[p - PUSH_SCALE * now.push, p]], dtype=np.float32)

    def _extend_path(self, p: Array) -> None:
        if len(self._points) and np.linalg.norm(self._points[-1] - p) < 2e-3 * self.size:
            return
        self._points = np.vstack([self._points[-PATH_POINTS:], p])
        if len(self._points) < 2:
            return
        lines = np.stack([self._points[:-1], self._points[1:]], axis=1).astype(np.float32)
        if self._path is None:
            self._path = self._scene.add_line_segments(
                "/path", lines, PATH, thickness=3.0, thickness_units="screen"
            )
        else:
            colours = np.broadcast_to(np.array(PATH, dtype=np.uint8), lines.shape)
            self._path.colors = np.ascontiguousarray(colours)
            self._path.points = lines

    def _on_bodies(self, shapes: Mapping[str, list[Shape]]) -> dict[str, list[Shape]]:
        """The shapes of links in the frames of the bodies that they are fixed to."""
        gathered: dict[str, list[Shape]] = {name: [] for name in self._bodies}
        for name, parts in shapes.items():
            place = self._tree.frame(name)
            R, p = place.pose.rotation, place.pose.translation
            gathered[place.link] += [s._replace(vertices=s.vertices @ R.T + p) for s in parts]
        return gathered

    def _add(self, name: str, shape: Shape, opacity: float | None = None) -> Any:
        return self._scene.add_mesh_simple(
            name,
            shape.vertices.astype(np.float32),
            shape.faces.astype(np.uint32),
            color=shape.colour,
            opacity=opacity,
            side="double",
            cast_shadow=False,
            receive_shadow=False,
        )


def tinted(own: Colour, share: float) -> Colour:
    """A link's colour at a part of its joint's limit: its own, by way of orange, to red."""
    warm = np.interp(share, [0.0, 0.5, 1.0], [0.0, 0.8, 0.0])
    hot = np.interp(share, [0.0, 0.5, 1.0], [0.0, 0.0, 1.0])
    mixed = (1.0 - warm - hot) * np.array(own) + warm * np.array(WARM) + hot * np.array(HOT)
    red, green, blue = (int(x) for x in mixed.round())
    return (red, green, blue)


def _grown(shape: Shape) -> Shape:
    """A little larger all round, so that a ghost does not flicker through the link in it."""
    mesh = trimesh.Trimesh(shape.vertices, shape.faces, process=True, merge_norm=True)
    return Shape(mesh.vertices + GROWTH * mesh.vertex_normals, mesh.faces, shape.colour)


def _by_colour(shapes: list[Shape]) -> list[Shape]:
    """One shape for each colour."""
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


def _wxyz(rotations: Array) -> Array:
    """Unit quaternions, shape (k, 4), of rotation matrices, shape (k, 3, 3)."""
    return np.roll(Rotation.from_matrix(rotations).as_quat(), 1, axis=1)


def _arrow(size: float) -> dict[str, float]:
    return {
        "shaft_radius": 0.004 * size,
        "head_radius": 0.01 * size,
        "head_length": 0.03 * size,
    }
