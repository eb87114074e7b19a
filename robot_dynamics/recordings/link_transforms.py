"""Poses of links as messages of tf2, from which Foxglove and rviz draw a robot."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from robot_dynamics.foundation.arrays import Array
from robot_dynamics.recordings.ros_messages import header, new_message, serialized
from robot_dynamics.robot import Robot

TF_TOPIC, TF_TYPE = "/tf", "tf2_msgs/msg/TFMessage"


class LinkTransforms:
    """Computes the poses of all links in their parents.

    Args:
        robot: The robot; its link names are the names of frames.
    """

    def __init__(self, robot: Robot) -> None:
        self._joints, self._coupling = robot.joints, robot.coupling
        at = {joint.name: k for k, joint in enumerate(robot.moving_joints)}
        self._at = np.array([at.get(joint.name, len(at)) for joint in robot.joints])
        axes = np.array([joint.axis for joint in robot.joints], dtype=float).reshape(-1, 3)
        rotates = np.array([[joint.type.rotates] for joint in robot.joints]).reshape(-1, 1)
        self._turn, self._shift = np.where(rotates, axes, 0.0), np.where(rotates, 0.0, axes)
        origins = [joint.origin for joint in robot.joints]
        self._R = Rotation.from_matrix(np.reshape([X.rotation for X in origins], (-1, 3, 3)))
        self._p = np.reshape([X.translation for X in origins], (-1, 3)).astype(float)

    def message(self, stamp: int, q: Array) -> bytes:
        """Return a serialized TFMessage.

        Args:
            stamp: Time of q, ns.
            q: Joint positions, shape (n,), rad or m.
        """
        moved = np.append(self._coupling.positions(q), 0.0)[self._at, None]
        quaternions = (self._R * Rotation.from_rotvec(moved * self._turn)).as_quat().tolist()
        positions = (self._p + self._R.apply(moved * self._shift)).tolist()
        transforms = [
            new_message(
                "geometry_msgs/msg/TransformStamped",
                header(stamp, joint.parent),
                joint.child,
                new_message(
                    "geometry_msgs/msg/Transform",
                    new_message("geometry_msgs/msg/Vector3", *position),
                    new_message("geometry_msgs/msg/Quaternion", *quaternion),
                ),
            )
            for joint, position, quaternion in zip(
                self._joints, positions, quaternions, strict=True
            )
        ]
        return serialized(new_message(TF_TYPE, transforms))
