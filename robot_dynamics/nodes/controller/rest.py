"""Rest: a controller that ends commands on until the arm is measured to stand."""

from __future__ import annotations

from time import monotonic, sleep

import numpy as np

from robot_dynamics.nodes.controller.controller_base import ControllerBase

STANDS_STILL = 0.01
"""Speed below which a joint stands, rad/s or m/s."""

LONGEST_STOP_S = 3.0
"""Time for which an arm that does not come to rest is commanded on when the node ends."""

REST_CHECK_PERIOD_S = 0.01
"""Time between two looks."""


def wait_for_rest(node: ControllerBase) -> None:
    """Wait until the arm is measured to stand, but not for ever, and not where others command."""
    end = monotonic() + LONGEST_STOP_S
    while node.active and node.states.complete and node.listened_to and not node.inhibited:
        speed = np.abs(node.states.velocity)
        i = int(np.argmax(speed))
        if not speed[i] > STANDS_STILL:
            return
        if monotonic() > end:
            node.get_logger().error(
                f"commands end although joint '{node.robot.joint_names[i]}' still moves at "
                f"{speed[i]:.2g} rad/s or m/s"
            )
            return
        sleep(REST_CHECK_PERIOD_S)
