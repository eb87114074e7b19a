"""Where the links are, as tf2 tells it: what moves a robot in Foxglove and in rviz."""

from __future__ import annotations

import numpy as np
from rosbags.typesys import Stores, get_typestore
from scipy.spatial.transform import Rotation

from robot_dynamics.arrays import Array
from robot_dynamics.robot import Robot

TF_TOPIC, TF_TYPE = "/tf", "tf2_msgs/msg/TFMessage"


class LinkTransforms:
    """Poses of all links in their parents.

    Args:
        robot: The robot; frames have the names of its links.
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
        self._store = get_typestore(Stores.ROS2_JAZZY)

    def message(self, stamp: int, q: Array) -> bytes:
        """A TFMessage, serialized.

        Args:
            stamp: Time of q, ns.
            q: Joint positions, shape (n,), rad or m.
        """
        types = self._store.types
        when = types["builtin_interfaces/msg/Time"](*divmod(stamp, 1_000_000_000))
        moved = np.append(self._coupling.positions(q), 0.0)[self._at, None]
        quaternions = (self._R * Rotation.from_rotvec(moved * self._turn)).as_quat().tolist()
        positions = (self._p + self._R.apply(moved * self._shift)).tolist()
        transforms = [
            types["geometry_msgs/msg/TransformStamped"](
                types["std_msgs/msg/Header"](when, joint.parent),
                joint.child,
                types["geometry_msgs/msg/Transform"](
                    types["geometry_msgs/msg/Vector3"](*position),
                    types["geometry_msgs/msg/Quaternion"](*quaternion),
                ),
            )
            for joint, position, quaternion in zip(
                self._joints, positions, quaternions, strict=True
            )
        ]
        return bytes(self._store.serialize_cdr(types[TF_TYPE](transforms), TF_TYPE))
