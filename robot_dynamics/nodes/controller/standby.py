"""Stand-by: a controller that is silent while another one commands, and takes over when it stops.

What receives efforts may keep the last one for ever, as forward_command_controller does. A node
whose process was killed cannot help that; another process can.
"""

from __future__ import annotations

from collections import deque
from time import monotonic

import numpy as np
from std_msgs.msg import Float64MultiArray

from robot_dynamics.arrays import Array
from robot_dynamics.control.safety import Watchdog
from robot_dynamics.nodes.controller.controller_base import ControllerBase
from robot_dynamics.nodes.ros.messages import COMMAND_TOPIC
from robot_dynamics.nodes.ros.qos import COMMAND_QOS

FEWEST_PERIODS = 3.0
"""Periods of the states without a command before the other controller is taken for dead."""

OWN_KEPT = 32
"""Commands of one's own that are told from others when they come back."""


class Standby:
    """Watches the commands of another controller.

    All in the loop of the node.

    Args:
        node: The node that stands by.

    Attributes:
        on_duty: Whether the node commands, as the other controller does not.
        commands: The subscription to what is commanded.
    """

    def __init__(self, node: ControllerBase) -> None:
        self._node = node
        self.commands = node.create_inlet(
            Float64MultiArray, COMMAND_TOPIC, self._on_command, COMMAND_QOS
        )
        self.forget()

    def forget(self) -> None:
        """Wait for the first command of another controller."""
        self.on_duty = False
        self._watch = Watchdog(self._node.parameters.standby_timeout)
        self._efforts: Array | None = None
        self._own: deque[tuple[float, ...]] = deque(maxlen=OWN_KEPT)

    def note(self, efforts: Array) -> None:
        """Note a command of one's own, shape (n,), which comes back as any other does."""
        self._own.append(tuple(efforts.tolist()))

    def _on_command(self, efforts: Array) -> None:
        if tuple(efforts.tolist()) in self._own or len(efforts) != self._node.robot.dof:
            return
        if not np.isfinite(efforts).all():
            return
        self._watch.feed(monotonic())
        self._efforts = efforts

    def relieve(self, now: float, period: float) -> Array | None:
        """Look who is to command.

        Args:
            now: Steady time, s.
            period: Time from a state to the next, s.

        Returns:
            The last efforts of the other controller, in the order of its commands, in the cycle
            in which they are taken over; else None.
        """
        self._watch.timeout = max(self._node.parameters.standby_timeout, FEWEST_PERIODS * period)
        change = self._watch.change(now)
        log = self._node.get_logger()
        if change == "fresh" and self.on_duty:
            self.on_duty = False
            log.warning(f"{self._node.command.topic} is commanded again; standing by")
        elif change == "fresh":
            log.info(f"standing by: {self._node.command.topic} is commanded by another node")
        elif change == "stale" and self._efforts is not None:
            self.on_duty = True
            log.error(
                f"no {self._node.command.topic} for {1e3 * self._watch.age(now):.0f} ms; "
                "taken over: the arm comes to rest and is held"
            )
            return self._efforts
        return None
