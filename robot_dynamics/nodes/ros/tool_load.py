"""ToolLoad: payload and wrench at the tool, from the topics `payload` and `wrench`."""

from __future__ import annotations

from time import monotonic
from typing import Any

import numpy as np

from robot_dynamics.errors import ArgumentError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.nodes.ros.load_messages import (
    body_from_msg,
    inertia_matrix,
    wrench_from_msg,
)
from robot_dynamics.robot import Inertia, Robot, merge_fixed
from robot_dynamics.spatial import Pose
from robot_dynamics.statics.wrenches import moved_wrench

WRENCH_LASTS_S = 0.5
"""Time after which a wrench that is not repeated ends, s; feedforward ends it earlier."""


class ToolLoad:
    """Holds payload and wrench in the axes of the tool.

    Args:
        robot: The robot.
        frame: Frame of the tool; messages may name any frame fixed to the same link, or none.

    Attributes:
        payload: Payload in axes of the tool; None before the first message.
    """

    def __init__(self, robot: Robot, frame: str) -> None:
        self._tree = merge_fixed(robot)
        self._frame = frame
        self.payload: Inertia | None = None
        self._wrench: Array | None = None
        self._until = 0.0

    @property
    def wrench(self) -> Array | None:
        """Force over moment about the tool, in its axes, shape (6,); None without a wrench."""
        return self._wrench if monotonic() < self._until else None

    def take_payload(self, msg: Any) -> None:
        """Use the payload of an InertiaStamped.

        Raises:
            ArgumentError: If it is physically impossible, or its frame moves against the tool.
            UnknownNameError: If there is no such frame.
        """
        mass, com, moments = body_from_msg(msg)
        body = Inertia.from_com(mass, np.array(com), inertia_matrix(moments))
        self.payload = body.expressed_in(self._pose(msg.header.frame_id))

    def take_wrench(self, msg: Any) -> None:
        """Use the wrench of a WrenchStamped.

        Raises:
            ArgumentError: If it is not finite, or its frame moves against the tool.
            UnknownNameError: If there is no such frame.
        """
        wrench = wrench_from_msg(msg)
        self._wrench = moved_wrench(self._pose(msg.header.frame_id), wrench)
        self._until = monotonic() + WRENCH_LASTS_S

    def _pose(self, frame: str) -> Pose:
        """Return the pose of a frame in the tool frame."""
        own, given = self._tree.frame(self._frame), self._tree.frame(frame or self._frame)
        if own.link != given.link:
            raise ArgumentError(
                f"frame '{frame}' moves against '{self._frame}', where the load is shown"
            )
        return own.pose.inverse() @ given.pose
