"""Quality of service of the topics: offer much, ask little, so that every peer matches."""

from __future__ import annotations

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

DESCRIPTION_QOS = QoSProfile(
    depth=1,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)
"""robot_description, latched as by robot_state_publisher."""

ANNOUNCEMENT_QOS = QoSProfile(
    depth=10,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)
"""Latched messages of several nodes."""

OUTPUT_QOS = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)
"""Outputs at a high rate: only the last one counts."""

STATE_QOS = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
"""Input joint_states: hardware may offer best effort only, and send them in parts."""

COMMAND_QOS = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
"""Input references and commands: only the last one counts."""

LOCKSTEP_QOS = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)
"""Input commands in lockstep: each one counts."""

TRAJECTORY_QOS = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)
"""Trajectories and loads: none may be lost."""
