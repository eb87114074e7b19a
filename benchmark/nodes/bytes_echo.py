"""An echo of bytes: joint states in, their positions out, without messages or an executor.

    python -m benchmark.nodes.bytes_echo

It waits as the loop of the nodes does, in one wait set that is built once, takes bytes and
publishes bytes: what it takes is what the middleware takes.
"""

from __future__ import annotations

import struct
import sys
from contextlib import suppress

import numpy as np
import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robot_dynamics.nodes.ros.topics import OUTPUT_QOS, STATE_QOS
from robot_dynamics.nodes.ros.transport import init_rclpy
from robot_dynamics.nodes.runtime.loop_topics import LoopCallbackGroup
from robot_dynamics.nodes.runtime.scheduling import sharpen_timers

WAIT_NS = 50_000_000
"""Longest wait, ns."""


def main() -> int:
    """Answer until SIGINT."""
    init_rclpy()
    sharpen_timers()
    node = rclpy.create_node("bytes_echo")
    out = node.create_publisher(Float64MultiArray, "effort_bytes", OUTPUT_QOS).handle
    subscription = node.create_subscription(
        JointState, "joint_states_bytes", print, STATE_QOS, callback_group=LoopCallbackGroup()
    ).handle
    context = node.context
    print("echo of bytes is ready", flush=True)
    place = slice(0, 0)
    with suppress(KeyboardInterrupt, ExternalShutdownException), context.handle, subscription:
        wait_set = rclpy_implementation.WaitSet(1, 0, 0, 0, 0, 0, context.handle)
        while context.ok():
            wait_set.clear_entities()
            wait_set.add_subscription(subscription)
            wait_set.wait(WAIT_NS)
            while (taken := subscription.take_message(JointState, True)) is not None:
                data = taken[0]
                if not place.stop:
                    position = np.array(deserialize_message(data, JointState).position)
                    begin = data.index(position.tobytes())
                    place = slice(begin, begin + position.nbytes)
                    head = struct.pack("<4B4I", 0, 1, 0, 0, 0, 0, len(position), 0)
                out.publish_raw(head + data[place])
    return 0


if __name__ == "__main__":
    sys.exit(main())
