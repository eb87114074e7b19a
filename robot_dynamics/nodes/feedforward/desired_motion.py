"""Desired motion of an arm with its feedforward efforts, and the desired wrench."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from geometry_msgs.msg import WrenchStamped

from robot_dynamics.control.elastic_feedforward import drive_reference, link_positions
from robot_dynamics.control.transitions import Fade
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.nodes.feedforward.feedforward_parameters import FeedforwardParameters
from robot_dynamics.nodes.ros.load_messages import wrench_from_msg
from robot_dynamics.nodes.ros.topics import COMMAND_QOS
from robot_dynamics.nodes.runtime.online_model import OnlineModel
from robot_dynamics.nodes.runtime.robot_node import RobotNode
from robot_dynamics.trajectory import State, Trajectory


class DesiredMotion:
    """Efforts of a motion, which fade to other terms of the model without a step.

    Args:
        arm: Model and load of the arm.
        now: Present steady time, s.
        fade: Time to fade to other terms, s.

    Attributes:
        rows: Position, velocity and effort of the last state, shape (3, n).
    """

    def __init__(self, arm: OnlineModel, now: float, fade: float) -> None:
        self._arm, self._model = arm, arm.at(now)
        n = self._model.dynamics.robot.dof
        self._fade = Fade(n, fade)
        self.rows = np.zeros((3, n))
        self.forget()

    def forget(self) -> None:
        """Forget the last state, so that the next efforts do not fade."""
        self._state: State | None = None  # state of `rows`
        self._model.forget()
        self._terms = self._arm.base

    def use(self, fade: float) -> None:
        """Set the time to fade to other terms, s."""
        self._fade.duration = fade

    def efforts_of(self, state: State) -> Array:
        """Return efforts under the load at the end of its ramp, shape as the state's, N m or N."""
        return drive_reference(self._arm.load.target(self._arm.settled), state).tau

    def links_at(self, q: Array) -> Array:
        """Return the positions of the links at rest where measured ones are q, shape (n,)."""
        return link_positions(self._model, q)

    def rows_at(self, state: State, now: float) -> Array:
        """Return position, velocity and effort of a state, shape (3, n); do not modify them.

        The same object is returned while motion and model do not change.

        Args:
            state: Shape (n,) each.
            now: Present steady time, s.
        """
        before, self._model = self._model, self._arm.at(now)
        changed, fade = self._model is not before, self._fade
        if state is self._state and not changed and not fade.active:
            return self.rows
        self._model.follow(state.q)
        q, qd, tau = drive_reference(self._model, state)
        if changed and self._terms is not self._arm.base:
            self._terms = self._arm.base
            fade.begin(self.rows[2] - tau, now)
        if fade.active:
            tau = tau + fade.value(now)
        self._state, self.rows = state, np.array((q, qd, tau))
        return self.rows


class WrenchInput:
    """Applies the topic `wrench` to the load of an arm, and returns to zero when it stops.

    Args:
        node: Node that subscribes.
        arm: Model and load of the arm.
        q: Returns the desired positions, shape (n,); None while wrenches are ignored.

    Attributes:
        received: Whether a wrench has come and is not too old.
    """

    def __init__(
        self,
        node: RobotNode[FeedforwardParameters],
        arm: OnlineModel,
        q: Callable[[], Array | None],
    ) -> None:
        self._node, self._arm, self._q = node, arm, q
        self.received, self._received_at = False, -np.inf
        self.use(node.parameters)
        node.create_subscription(WrenchStamped, "wrench", self._on_wrench, COMMAND_QOS)

    def use(self, parameters: FeedforwardParameters) -> None:
        """Use the times of new parameters."""
        self._timeout = parameters.wrench_timeout
        self._arm.load.wrench.duration = parameters.wrench_ramp

    def _on_wrench(self, msg: WrenchStamped) -> None:
        q = self._q()
        if q is None:
            return
        load, arm = self._arm.load, self._arm
        try:
            wrench, pose = wrench_from_msg(msg), load.pose(msg.header.frame_id, q)
            here = Trajectory.hold(self._node.robot.joint_names, q)
            arm.check_load(load.exerting(arm.settled, wrench, pose), here)
            load.exert(wrench, pose)
        except RobotDynamicsError as error:
            self._node.throttled_log.warn("wrench", f"wrench refused: {error}")
            return
        self._received_at, self.received = self._node.now(), True

    def check(self, now: float) -> None:
        """Return the wrench to zero if the last one is too old at steady time `now`, s."""
        if now - self._received_at > self._timeout:
            self.received = False
            self._arm.load.wrench.aim(np.zeros(6))
            self._node.get_logger().warning(f"no wrench for {self._timeout:g} s; returning to zero")
