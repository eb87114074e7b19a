"""The page: one robot in 3D with plots, shown in any number of browsers."""

from __future__ import annotations

import io
import logging
import os
import signal
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.flag import Flag
from robot_dynamics.robot import Robot
from robot_dynamics.viewer.address import (
    LOOPBACK,
    PORT,
    address,
    announcement,
    check_free,
    page_token,
)
from robot_dynamics.viewer.effort_causes import EffortSplitter
from robot_dynamics.viewer.gate import Gate
from robot_dynamics.viewer.link_shapes import link_shapes
from robot_dynamics.viewer.plots import Plots
from robot_dynamics.viewer.scene import RobotScene
from robot_dynamics.viewer.snapshot import Snapshot

RATE_HZ = 25.0
"""Updates of the page per second."""

DRAW_EVERY = 3
"""Updates per drawing of the plots, because a curve of ten seconds hardly changes in one update."""

RESIDUAL_SHARE = 0.1
"""Residual or external effort over the effort limit at which a link is fully red."""


class _Shown(NamedTuple):
    """Content of the page."""

    scene: RobotScene
    plots: Plots
    splitter: EffortSplitter
    limit: Array


class Page:
    """A page that shows one robot at a time.

    Args:
        host: Address to serve; by default this machine alone can see the page.
        port: Port.

    Raises:
        PortError: If the port is taken or may not be used.
    """

    def __init__(self, host: str = LOOPBACK, port: int = PORT) -> None:
        check_free(host, port)
        self._token = page_token()
        self._gate = Gate(host, self._token)
        logging.getLogger("websockets.server").setLevel(logging.CRITICAL)  # of browsers that leave
        with redirect_stdout(io.StringIO()):  # `announcement` says it in one line
            self.server = self._gate.server(host, port)
        self.host = host
        self._shown: _Shown | None = None
        self._moments = 0

    @property
    def address(self) -> str:
        """URL of the page."""
        return address(self.host, self.server.get_port(), self._token)

    @property
    def watched(self) -> bool:
        """True while a browser is connected."""
        return bool(self.server.get_clients())

    @property
    def visits(self) -> int:
        """Number of times that a browser has connected or left."""
        return self._gate.visits

    def announcement(self) -> str:
        """Log line with the address of the page and who can open it."""
        return announcement(self.host, self.server.get_port(), self._token)

    @property
    def size(self) -> float:
        """Diameter of the workspace of the robot, m."""
        assert self._shown is not None
        return self._shown.scene.size

    def open(self, robot: Robot, source: str | os.PathLike[str], dynamics: Dynamics,
             limit: Array) -> None:  # fmt: skip
        """Show another robot; `source` is its URDF.

        Args:
            robot: The robot.
            source: Path or text of its URDF, for its shapes.
            dynamics: Its compiled equations.
            limit: Effort limits, shape (n,), N m or N; infinite for none.
        """
        shapes = link_shapes(robot, source)
        self._clear()
        scene = RobotScene(self.server, robot, dynamics, shapes)
        splitter = EffortSplitter(robot, dynamics, scene.tool)
        plots = Plots(self.server, robot, splitter.links, limit)
        self._shown = _Shown(scene, plots, splitter, limit)
        self._aim_camera(scene)

    def _clear(self) -> None:
        """Lay out an empty page."""
        server = self.server
        server.gui.reset()
        server.scene.reset()
        server.gui.configure_theme(show_share_button=False, show_logo=False)
        server.gui.set_panel_label("robot_dynamics")
        server.gui.main_panel.dock_left()
        server.gui.main_panel.set_width(290)
        server.scene.configure_environment_map("studio", environment_intensity=0.5)
        server.scene.set_background_image(_sky())

    def _aim_camera(self, scene: RobotScene) -> None:
        """Look at the whole robot from the front and the left."""
        camera = self.server.initial_camera
        camera.fov = 0.8
        camera.look_at = tuple(scene.middle)
        camera.position = tuple(scene.middle + scene.size * np.array([0.78, 0.62, 0.32]))
        self.server.scene.set_up_direction("+z")

    def show(
        self,
        now: Snapshot,
        *,
        residual: bool = False,
        ellipsoid: bool = False,
        contact: tuple[Array, Array] | None = None,
    ) -> None:
        """Show a moment.

        Args:
            now: The moment.
            residual: Whether colours show the difference from the efforts of the model, instead of
                the share of the limits.
            ellipsoid: Whether to show the ellipsoid of the tool's velocities.
            contact: Efforts that push the joints from outside and the thresholds of a contact,
                shape (n,) each, to be shown by colours in place of the others; by default none.
        """
        assert self._shown is not None
        scene, plots, splitter, limit = self._shown
        plots.add(now)
        drawn = self._moments % DRAW_EVERY == 0
        self._moments += 1
        if drawn:
            plots.take_apart(now, splitter.split(now))
        if not self.watched:
            return
        if contact is not None:
            share = np.abs(contact[0]) / contact[1]
        elif residual:
            share = np.abs(now.tau - splitter.model_effort(now)) / (RESIDUAL_SHARE * limit)
        else:
            share = np.abs(now.tau) / limit
        with self.server.atomic():
            scene.update(now, share)
            scene.show_ellipsoid(now.q if ellipsoid else None)
        if drawn:
            plots.draw()

    def restart(self) -> None:
        """Clear path and curves."""
        if self._shown is not None:
            self._shown.scene.forget_path()
            self._shown.plots.clear()

    def serve(self, tick: Callable[[float], None]) -> None:
        """Print the address, and call `tick` as `tick_until` does, until SIGTERM or Ctrl-C."""
        ended = Flag()
        signal.signal(signal.SIGTERM, lambda *_: ended.set())
        print(self.announcement(), flush=True)
        tick_until(ended, tick)

    def close(self) -> None:
        """Stop serving the page."""
        with redirect_stdout(io.StringIO()):
            self.server.stop()


def tick_until(ended: Flag, tick: Callable[[float], None]) -> None:
    """Call `tick` at `RATE_HZ` with the seconds since its last call, at most one."""
    last = time.monotonic()
    while not ended.is_set():
        time.sleep(max(0.0, last + 1.0 / RATE_HZ - time.monotonic()))
        now = time.monotonic()
        tick(min(now - last, 1.0))
        last = now


def _sky() -> npt.NDArray[np.uint8]:
    """Return a background that contrasts with white links, darker towards the ground."""
    rows = np.linspace([226, 232, 240], [176, 186, 200], 64).astype(np.uint8)
    return np.repeat(rows[:, None], 2, axis=1)
