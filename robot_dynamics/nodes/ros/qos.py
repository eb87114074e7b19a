"""Quality of service of the topics: offer much, ask little, so that every peer matches."""

from __future__ import annotations

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

DESCRIPTION_QOS = QoSProfile(
    depth=1,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)
"""robot_description, as robot_state_publisher offers it: who comes late gets the last message."""

ANNOUNCEMENT_QOS = QoSProfile(
    depth=10,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)
"""The same, of several nodes each of which is to be heard."""

OUTPUT_QOS = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)
"""What we publish at a high rate: old values are worth nothing."""

STATE_QOS = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
"""joint_states that we read: hardware may offer best effort only, and send them in parts."""

COMMAND_QOS = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
"""References and commands that we read: only the last one counts."""

LOCKSTEP_QOS = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)
"""Commands of which each one counts."""

TRAJECTORY_QOS = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)
"""Trajectories: none may be lost."""
