"""Friction that follows monitor_node, by the topic friction_scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any

import numpy as np
from sensor_msgs.msg import JointState

from robot_dynamics.control.followed_friction import FollowedFriction
from robot_dynamics.errors import ArgumentError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.identification.online.friction_scale import LEAST, MOST
from robot_dynamics.nodes.ros.diagnostics import Fault, Level
from robot_dynamics.nodes.ros.messages import JointReader
from robot_dynamics.nodes.ros.node_parameters import Declared, parameter
from robot_dynamics.nodes.ros.topics import TRAJECTORY_QOS, publishers_of
from robot_dynamics.nodes.runtime.robot_node import RobotNode

SCALE_TOPIC = "friction_scale"
"""Friction over that of the model, joint by joint: position is dry, velocity viscous friction."""


@dataclass(frozen=True)
class FrictionScaleParameters:
    """Parameters of friction that is tracked; see `control.followed_friction`."""

    follow: bool = parameter(
        False,
        "Multiply dry and viscous friction by the topic friction_scale, as monitor_node publishes "
        "it with track_friction",
    )
    least: float = parameter(0.5, "Smallest scale that is followed", low=LEAST, high=1.0)
    most: float = parameter(1.5, "Largest scale that is followed", low=1.0, high=MOST)
    ramp: float = parameter(5.0, "Duration of the ramp to another scale, s", low=0.1, high=3600.0)
    timeout: float = parameter(
        10.0,
        "Time without friction_scale after which diagnostics are stale; the last scale stays, s",
        low=0.1,
        high=3600.0,
    )


class ScaleReader:
    """Reads scales of the joints of one robot, in their order."""

    def __init__(self, joints: Sequence[str]) -> None:
        self._reader = JointReader(SCALE_TOPIC, joints, ("position", "velocity"))

    def scale(self, msg: JointState, publishers: Sequence[str]) -> Array:
        """Return the scale of a message, shape (n, 2).

        Raises:
            ArgumentError: If it does not give one plausible scale for every joint, or several nodes
                publish it.
        """
        if len(publishers) > 1:
            raise ArgumentError(
                f"{SCALE_TOPIC}: {' and '.join(publishers)} publish it; stop all but one"
            )
        reader = self._reader
        unknown = [name for name in msg.name if name not in reader.joint_names]
        if unknown:
            raise ArgumentError(f"{SCALE_TOPIC}: this robot has no joint '{unknown[0]}'")
        reader.forget()
        reader.read(msg)
        if reader.missing:
            raise ArgumentError(f"{SCALE_TOPIC}: joint '{reader.missing[0]}' is missing")
        scale = np.stack([reader.position, reader.velocity], axis=1)
        wrong = (scale < LEAST) | (scale > MOST)
        if wrong.any():
            j, part = np.argwhere(wrong)[0]
            raise ArgumentError(
                f"{SCALE_TOPIC}: {('dry', 'viscous')[part]} friction of joint "
                f"'{reader.joint_names[j]}' is {scale[j, part]:.3g} times that of the model, "
                f"not {LEAST:g} to {MOST:g}"
            )
        return scale


class FrictionInput:
    """The scale of friction by messages, while the parameter friction_scale.follow is true.

    Args:
        node: Node that subscribes.

    Attributes:
        friction: The friction that follows.
    """

    def __init__(self, node: RobotNode[Any]) -> None:
        self._node, joints = node, node.robot.joint_names
        self._parameters: Declared[FrictionScaleParameters] = node.group(
            FrictionScaleParameters, SCALE_TOPIC, changed=self._use
        )
        value = self._parameters.value
        self.friction = FollowedFriction(len(joints), value.least, value.most, value.ramp)
        self._reader = ScaleReader(joints)
        self._topic: str = node.resolve_topic_name(SCALE_TOPIC)
        self.forget()
        node.create_subscription(JointState, SCALE_TOPIC, self._on_scale, TRAJECTORY_QOS)

    def forget(self) -> None:
        """Return to the friction of the model, before the loop begins."""
        self.friction.forget()
        self._came, self._at = False, monotonic()

    def _use(self, value: FrictionScaleParameters) -> None:
        self.friction.use(value.least, value.most, value.ramp)
        if not value.follow:
            self.friction.release()
            self._came = False
        if not self._came:
            self._at = monotonic()

    def _on_scale(self, msg: JointState) -> None:
        node = self._node
        if not (node.active and self._parameters.value.follow):
            return
        publishers = publishers_of(node, [self._topic])
        self.friction.follow(self._reader.scale(msg, publishers))
        self._came, self._at = True, monotonic()

    def faults(self) -> list[Fault]:
        """Return a fault if no scale comes."""
        value, age = self._parameters.value, monotonic() - self._at
        if not value.follow or age < value.timeout:
            return []
        kept = "keeps the last scale" if self._came else "is that of the model"
        return [Fault(Level.STALE, f"no {SCALE_TOPIC} for {age:.1f} s; friction {kept}")]

    def values(self) -> Mapping[str, object]:
        """Return what is followed, for diagnostics."""
        if not self._parameters.value.follow:
            return {}
        dry, viscous = self.friction.scale.T
        return {f"{SCALE_TOPIC}, dry": dry, f"{SCALE_TOPIC}, viscous": viscous}


def scale_msg(names: Sequence[str], scale: Array, stamp: Any) -> JointState:
    """Return the message of a scale, shape (n, 2)."""
    dry, viscous = scale.T.tolist()
    msg = JointState(name=list(names), position=dry, velocity=viscous)
    msg.header.stamp = stamp
    return msg
