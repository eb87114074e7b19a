"""An echo and nothing else: joint states in, their positions out, by a plain executor of rclpy.

    python -m benchmark.nodes.bare_echo

It has the topics, types and quality of service of controller_node and computes
nothing: what it takes is what the exchange takes.
"""

from __future__ import annotations

import sys
from contextlib import suppress

from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robot_dynamics.nodes.ros.topics import OUTPUT_QOS, STATE_QOS
from robot_dynamics.nodes.ros.transport import init_rclpy
from robot_dynamics.nodes.runtime.scheduling import sharpen_timers


class Echo(Node):  # type: ignore[misc]  # rclpy is untyped where it is absent
    """Answers every joint_states_echo with effort_echo."""

    def __init__(self) -> None:
        super().__init__("echo")
        self._out = self.create_publisher(Float64MultiArray, "effort_echo", OUTPUT_QOS)
        self.create_subscription(JointState, "joint_states_echo", self._answer, STATE_QOS)

    def _answer(self, msg: JointState) -> None:
        self._out.publish(Float64MultiArray(data=msg.position))


def main() -> int:
    """Answer until SIGINT."""
    init_rclpy()
    sharpen_timers()
    node = Echo()
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    print("echo is ready", flush=True)
    with suppress(KeyboardInterrupt, ExternalShutdownException):
        executor.spin()
    return 0


if __name__ == "__main__":
    sys.exit(main())
