"""Stand-by: a controller that is silent while another one commands, and takes over when it stops.

What receives efforts may keep the last one for ever, as forward_command_controller does. A node
whose process was killed cannot help that; another process can.
"""

from __future__ import annotations

from collections import deque
from time import monotonic
from uuid import uuid4

import numpy as np
from std_msgs.msg import Float64MultiArray, String

from robot_dynamics.arrays import Array
from robot_dynamics.nodes.controller.controller_parameters import ControllerParameters
from robot_dynamics.nodes.controller.duty import Change, Duty
from robot_dynamics.nodes.ros.messages import COMMAND_TOPIC
from robot_dynamics.nodes.ros.qos import COMMAND_QOS, DESCRIPTION_QOS, OUTPUT_QOS
from robot_dynamics.nodes.runtime.robot_node import RobotNode

FEWEST_PERIODS = 3.0
"""Periods of the states without a command before the other controller is taken for dead."""

OWN_KEPT = 32
"""Commands of one's own that are told from others when they come back."""

RELIEF_LOOK_S = 5e-3
"""Time from one look whether a watch has ended to the next, s; after a stall it is due at once."""

ON_DUTY, RELIEVED = "on_duty", "relieved"
"""Below the topic of commands: the watch that begins, and the one that ends."""

SUBSTITUTE = "in place of another one:"
"""What the watch of one that stood by begins with."""


class Watch:
    """The right of a controller to command, which one that stands by may end.

    Args:
        node: The node that commands.
        topic: Of the commands.
        substitute: Whether it commands only in place of another one.

    Attributes:
        name: By which others know it; empty before the first one begins.
        ended: Whether another one commands in its place.
        reliefs: The subscription to watches that end.
    """

    def __init__(
        self, node: RobotNode[ControllerParameters], topic: str, *, substitute: bool = False
    ) -> None:
        self._node, self._substitute = node, substitute
        self._announce = node.create_publisher(String, f"{topic}/{ON_DUTY}", DESCRIPTION_QOS)
        self.reliefs = node.create_inlet(
            String, f"{topic}/{RELIEVED}", self._on_relief, OUTPUT_QOS, period=RELIEF_LOOK_S
        )
        self.name, self.ended = "", False

    def begin(self) -> None:
        """Begin another watch, and tell of it."""
        who = SUBSTITUTE if self._substitute else self._node.get_name()
        self.name, self.ended = f"{who} {uuid4()}", False
        self._announce.publish(String(data=self.name))

    def end(self) -> None:
        """End it, so that nobody who comes later hears of it."""
        if self.name and not self.ended:
            self.ended = True
            self._announce.publish(String())

    def _on_relief(self, msg: String) -> None:
        if msg.data != self.name or self.ended:
            return
        self.end()
        node = self._node
        if not self._substitute:
            node.get_logger().error(
                "relieved by a controller that stands by, as no command came from here for too "
                f"long; call {node.get_name()}/resume to command again"
            )


class Standby:
    """Watches the commands of another controller.

    Several may stand by. Of those that take over in the same moment, the one whose watch has the
    first name in the order of letters commands on. All in the loop of the node.

    Args:
        node: The node that stands by.
        topic: Of the commands.

    Attributes:
        on_duty: Whether the node commands, as the other controller does not.
        inputs: The subscriptions to what is commanded, and by whom.
    """

    def __init__(self, node: RobotNode[ControllerParameters], topic: str) -> None:
        self._node, self._topic = node, topic
        self._watch = Watch(node, topic, substitute=True)
        self._relieve = node.create_publisher(String, f"{topic}/{RELIEVED}", OUTPUT_QOS)
        self.inputs = [
            node.create_inlet(String, f"{topic}/{ON_DUTY}", self._on_announcement, DESCRIPTION_QOS),
            node.create_inlet(Float64MultiArray, COMMAND_TOPIC, self._on_command, COMMAND_QOS),
            self._watch.reliefs,
        ]
        self._announced = ""
        self.forget()

    def forget(self) -> None:
        """Wait for the first command of another controller."""
        self._watch.end()
        self._duty = Duty(self._node.parameters.standby_timeout)
        self._duty.announced(self._announced)
        self._efforts: Array | None = None
        self._own: deque[tuple[float, ...]] = deque(maxlen=OWN_KEPT)

    @property
    def on_duty(self) -> bool:
        """Whether the node commands, as the other controller does not."""
        return self._duty.on_duty

    def note(self, efforts: Array) -> None:
        """Note a command of one's own, shape (n,), which comes back as any other does."""
        self._own.append(tuple(efforts.tolist()))

    def _on_announcement(self, msg: String) -> None:
        own = self._watch.name
        gives_way = msg.data.startswith(SUBSTITUTE) and self.on_duty and msg.data > own
        if msg.data in ("", own) or gives_way:
            return
        self._announced = msg.data
        self._duty.announced(msg.data)

    def _on_command(self, efforts: Array) -> None:
        if tuple(efforts.tolist()) in self._own or len(efforts) != self._node.robot.dof:
            return
        if not np.isfinite(efforts).all():
            return
        self._duty.commanded(monotonic())
        self._efforts = efforts

    def relieve(self, now: float, sees: bool) -> Array | None:
        """Look who is to command.

        Args:
            now: Steady time, s.
            sees: Whether states come.

        Returns:
            The last efforts of the other controller, in the order of its commands, in the cycle
            in which they are taken over; else None.
        """
        timeout = max(self._node.parameters.standby_timeout, FEWEST_PERIODS * self._duty.period)
        age = self._duty.age(now)
        if self.on_duty and self._watch.ended:
            self._duty.relieve(now)
        change = self._duty.change(now, timeout, sees=sees)
        if change is None:
            return None
        if change in (Change.TAKES_OVER, Change.INSISTS) and self._duty.relieved:
            self._relieve.publish(String(data=self._duty.relieved))
        if change is Change.TAKES_OVER:
            self._watch.begin()
        elif not self.on_duty:
            self._watch.end()
        self._log(change, age)
        return self._efforts if change is Change.TAKES_OVER else None

    def _log(self, change: Change, age: float) -> None:
        topic, log = self._topic, self._node.get_logger()
        if change is Change.TAKES_OVER:
            log.error(
                f"no {topic} for {1e3 * age:.0f} ms; taken over: the arm comes to rest and is held"
            )
        elif change is Change.STANDS_BY:
            log.info(f"standing by: {topic} is commanded by another node")
        elif change is Change.YIELDS:
            log.warning(f"{topic} is commanded again; standing by")
        elif change is Change.GIVES_WAY:
            log.warning(f"{topic} is commanded on by a node that does not listen; standing by")
