"""Handle in the scene at the target of the end effector, which a person drags."""

from __future__ import annotations

from time import monotonic

import numpy as np
import viser
from scipy.spatial.transform import Rotation

from robot_dynamics.spatial import Pose
from robot_dynamics.viewer.snapshot import wxyz

NAME = "/target"

SHARE_OF_SIZE = 0.12
"""Length of its axes over the size of the workspace."""

QUIET_S = 0.5
"""Time after the last drag from which the page moves the handle again, s."""


class TargetGizmo:
    """A handle with axes, planes and circles, hidden until it is shown at a pose.

    Args:
        server: Server of the page.
        size: Diameter of the workspace, m.
    """

    def __init__(self, server: viser.ViserServer, size: float) -> None:
        self._handle = server.scene.add_transform_controls(
            NAME, SHARE_OF_SIZE * size, depth_test=False, visible=False
        )
        self._handle.on_update(self._on_drag)
        self._dragged: Pose | None = None
        self._dragged_at = -np.inf

    async def _on_drag(self, event: viser.TransformControlsEvent) -> None:
        """Keep the pose, which `show` may change at any time; in the thread of the server."""
        rotation = Rotation.from_quat(np.roll(event.target.wxyz, -1)).as_matrix()
        place = np.array(event.target.position, dtype=np.float64)
        self._dragged, self._dragged_at = Pose(rotation, place), monotonic()

    def take(self) -> Pose | None:
        """Return the pose to which it was dragged since the last call; None if it was not."""
        dragged, self._dragged = self._dragged, None
        return dragged

    def show(self, pose: Pose | None) -> None:
        """Show it at a pose in the world, except while it is dragged; None hides it."""
        handle = self._handle
        if pose is None:
            handle.visible, self._dragged = False, None
            return
        if monotonic() - self._dragged_at > QUIET_S:
            handle.wxyz = wxyz(pose.rotation)
            handle.position = pose.translation
        handle.visible = True
