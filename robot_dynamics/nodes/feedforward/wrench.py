"""WrenchInput: the desired wrench of an arm, from a topic that may stop."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

import numpy as np
from geometry_msgs.msg import WrenchStamped

from robot_dynamics.control import Load, Watchdog
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.nodes.feedforward.feedforward_parameters import FeedforwardParameters
from robot_dynamics.nodes.ros.load_messages import wrench_from_msg
from robot_dynamics.nodes.ros.qos import COMMAND_QOS
from robot_dynamics.nodes.runtime.robot_node import RobotNode


class WrenchInput:
    """Applies the topic `wrench` to the load of an arm, and returns to zero when it stops.

    Args:
        node: Node that subscribes.
        load: Returns the present load.
        q: Returns the desired positions, shape (n,); None while wrenches are ignored.

    Attributes:
        received: Whether a wrench has come.
    """

    def __init__(
        self,
        node: RobotNode[FeedforwardParameters],
        load: Callable[[], Load],
        q: Callable[[], Array | None],
    ) -> None:
        self._node, self._load, self._q = node, load, q
        self._watchdog = Watchdog(np.inf)
        self.received = False
        self.use(node.parameters)
        node.create_subscription(WrenchStamped, "wrench", self._on_wrench, COMMAND_QOS)

    def use(self, parameters: FeedforwardParameters) -> None:
        """Use the times of new parameters."""
        self._watchdog.timeout = parameters.wrench_timeout
        self._load().wrench.duration = parameters.wrench_ramp

    def _on_wrench(self, msg: WrenchStamped) -> None:
        q = self._q()
        if q is None:
            return
        load = self._load()
        try:
            load.exert(wrench_from_msg(msg), load.pose(msg.header.frame_id, q))
        except RobotDynamicsError as error:
            self._node.throttled_log.warn("wrench", f"wrench refused: {error}")
            return
        self._watchdog.feed(monotonic())
        self.received = True

    def check(self, now: float) -> None:
        """Return the wrench to zero if the last one is too old at steady time `now`, s."""
        if self._watchdog.change(now) == "stale":
            self._load().wrench.aim(np.zeros(6))
            self._node.get_logger().warning(
                f"no wrench for {self._watchdog.timeout:g} s; returning to zero"
            )
