"""The robot in three dimensions: links, ghost at the reference, path of the tool, arrows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import viser

from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot import Robot, merge_fixed
from robot_dynamics.statics.end_effector_statics import velocity_ellipsoid
from robot_dynamics.viewer.bodies import Bodies, by_colour, grown
from robot_dynamics.viewer.link_shapes import LinkShapes, Shape
from robot_dynamics.viewer.live_arm import LOAD_DENSITY
from robot_dynamics.viewer.marks import (
    FORCE_SCALE,
    GHOST,
    GRAVITY,
    MOMENT_SCALE,
    PATH,
    PUSH,
    WARM,
    WRENCH,
    Colour,
    reach,
    tinted,
)
from robot_dynamics.viewer.snapshot import Snapshot, tool_frame, wxyz

SHADES = 12
"""Steps of the colour of a link; only a new step is sent to the browser."""

PATH_POINTS = 250
"""Points of the tool's path that stay visible: ten seconds at 25 Hz."""

BASE = "/base"
"""Node of the root link; what belongs to the robot stands below it, and moves with it."""


class RobotScene:
    """A robot in a viser scene, with ground, arrows, load and path.

    Args:
        server: Server of the page.
        robot: The robot.
        dynamics: Its compiled equations.
        shapes: Shapes of its links.

    Attributes:
        tool: The frame that carries loads and whose path is shown.
        middle: Middle of the workspace, shape (3,), m.
        size: Diameter of the workspace, m.
    """

    def __init__(
        self, server: viser.ViserServer, robot: Robot, dynamics: Dynamics, shapes: LinkShapes
    ) -> None:
        self._scene = server.scene
        self._robot, self._dynamics = robot, dynamics
        self._tree = merge_fixed(robot)
        self.tool = tool_frame(robot)
        self._base = self._scene.add_frame(BASE, show_axes=False)
        self._bodies = Bodies(self._scene, f"{BASE}/robot", self._tree)
        self._ghost = Bodies(self._scene, f"{BASE}/ghost", self._tree)
        self._parts: list[list[tuple[Any, Colour]]] = []
        looks, outlines = (self._on_bodies(kind) for kind in shapes)
        for k, (look, outline) in enumerate(zip(looks, outlines, strict=True)):
            parts = by_colour(look)
            colours = [part.colour for part in parts]
            self._parts.append(list(zip(self._bodies.add(k, parts), colours, strict=True)))
            if k:  # the root does not move in its own axes
                ghost = by_colour([shape._replace(colour=GHOST) for shape in outline])
                self._ghost.add(k, [grown(part) for part in ghost], opacity=0.22)
        self._shade = np.full(len(looks), -1)
        self._points = np.zeros((0, 3))
        self._path: Any = None
        self._add_surroundings()

    def _add_surroundings(self) -> None:
        scene = self._scene
        self.middle, self.size, _ = reach(self._robot)
        scene.add_grid("/ground", width=4.0, height=4.0, position=(0.0, 0.0, 0.0))
        g = np.asarray(self._robot.gravity, dtype=float)
        if g.any():
            start = np.array([-0.2, 0.2, 0.3]) * self.size
            arrow = self._arrow("/gravity", GRAVITY)
            arrow.points = np.array([[start, start + 0.12 * self.size * g / np.linalg.norm(g)]])
            arrow.visible = True
            scene.add_label("/gravity/label", "g", position=tuple(start))
        self._push = self._arrow(f"{BASE}/push", PUSH)
        self._force = self._arrow(f"{BASE}/wrench/force", WRENCH)
        self._moment = self._arrow(f"{BASE}/wrench/moment", GRAVITY)
        self._load = scene.add_icosphere(f"{BASE}/load", radius=1.0, color=WARM, visible=False)
        self._ellipsoid = scene.add_icosphere(
            f"{BASE}/ellipsoid", radius=1.0, color=PATH, opacity=0.35, visible=False
        )

    def _arrow(self, name: str, colour: Colour) -> Any:
        return self._scene.add_arrows(
            name,
            np.zeros((1, 2, 3)),
            colour,
            shaft_radius=0.004 * self.size,
            head_radius=0.01 * self.size,
            head_length=0.03 * self.size,
            visible=False,
        )

    def update(self, now: Snapshot, share: Array) -> None:
        """Show the state of one moment.

        Args:
            now: The state.
            share: Share of its limit that each joint uses, shape (n,), for the colour of its body.
        """
        if now.base is not None:
            self._base.position = now.base_pose.translation
            self._base.wxyz = wxyz(now.base_pose.rotation)
        self._bodies.place(now.q)
        self._ghost.show(now.q_d is not None)
        if now.q_d is not None:
            self._ghost.place(now.q_d)
        self._colour(share)
        R, p = self._dynamics.pose(now.q, self.tool)
        self._show_load(now, R, p)
        self._show_forces(now, R, p)
        self._extend_path(p)

    def show_ellipsoid(self, q: Array | None) -> None:
        """Show the ellipsoid of the tool's velocities, scaled to the robot; None hides it."""
        self._ellipsoid.visible = q is not None
        if q is None:
            return
        ellipsoid = velocity_ellipsoid(self._dynamics.jacobian(q, self.tool)[:3])
        axes = ellipsoid.axes * [1.0, 1.0, np.linalg.det(ellipsoid.axes)]
        radii = 0.1 * self.size * ellipsoid.radii / max(ellipsoid.radii.max(), 1e-9)
        self._ellipsoid.scale = tuple(np.maximum(radii, 2e-3).tolist())
        self._ellipsoid.wxyz = wxyz(axes)
        self._ellipsoid.position = self._dynamics.pose(q, self.tool).position

    def forget_path(self) -> None:
        """Remove the path of the tool."""
        self._points = np.zeros((0, 3))

    def _colour(self, share: Array) -> None:
        shares = np.nan_to_num(share[self._tree.coupling.leader], nan=0.0, posinf=1.0)
        shades = np.clip(np.round(SHADES * shares), 0, SHADES).astype(int)
        for k in np.flatnonzero(shades != self._shade[1:]) + 1:
            self._shade[k] = shades[k - 1]
            for handle, own in self._parts[k]:
                handle.color = tinted(own, shades[k - 1] / SHADES)

    def _show_load(self, now: Snapshot, R: Array, p: Array) -> None:
        loaded = now.payload is not None and now.payload.mass > 0.0
        self._load.visible = loaded
        if loaded and now.payload is not None:
            volume = now.payload.mass / LOAD_DENSITY
            self._load.scale = float((3.0 * volume / (4.0 * np.pi)) ** (1 / 3))
            self._load.position = R @ now.payload.com + p

    def _show_forces(self, now: Snapshot, R: Array, p: Array) -> None:
        """Draw the arrow of a push towards the tool, and that of an exerted wrench from it."""
        push = np.zeros(3) if now.push is None else now.push
        wrench = np.zeros(6) if now.wrench is None else now.wrench
        for handle, start, end in (
            (self._push, p - FORCE_SCALE * push, p),
            (self._force, p, p + FORCE_SCALE * R @ wrench[:3]),
            (self._moment, p, p + MOMENT_SCALE * R @ wrench[3:]),
        ):
            handle.visible = bool(np.any(start != end))
            if handle.visible:
                handle.points = np.array([[start, end]], dtype=np.float32)

    def _extend_path(self, p: Array) -> None:
        if len(self._points) and np.linalg.norm(self._points[-1] - p) < 2e-3 * self.size:
            return
        self._points = np.vstack([self._points[-PATH_POINTS:], p])
        if len(self._points) < 2:
            return
        lines = np.stack([self._points[:-1], self._points[1:]], axis=1).astype(np.float32)
        if self._path is None:
            self._path = self._scene.add_line_segments(
                f"{BASE}/path", lines, PATH, thickness=3.0, thickness_units="screen"
            )
        else:
            colours = np.broadcast_to(np.array(PATH, dtype=np.uint8), lines.shape)
            self._path.colors = np.ascontiguousarray(colours)
            self._path.points = lines

    def _on_bodies(self, shapes: Mapping[str, list[Shape]]) -> list[list[Shape]]:
        """Return the shapes of links in the frames of the bodies that they are fixed to."""
        gathered: list[list[Shape]] = [[] for _ in self._tree.links]
        for name, parts in shapes.items():
            place = self._tree.frame(name)
            R, p = place.pose.rotation, place.pose.translation
            body = gathered[self._tree.link_index(place.link)]
            body += [s._replace(vertices=s.vertices @ R.T + p) for s in parts]
        return gathered
