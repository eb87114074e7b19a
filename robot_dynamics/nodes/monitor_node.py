"""monitor_node: compare the model with a running robot, and estimate its payload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any

import numpy as np
from geometry_msgs.msg import InertiaStamped
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState

from robot_dynamics.control import Gains, Measured, Model, continuous_joints, effort_limits
from robot_dynamics.control.collision import Collision
from robot_dynamics.control.collision_monitor import CollisionMonitor
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.foundation.units import NS_PER_S
from robot_dynamics.identification.online.friction_scale import FrictionScale
from robot_dynamics.identification.online.payload_estimate import PayloadEstimate, load_columns
from robot_dynamics.identification.online.residuals import FilteredMotion, Residuals, unexplained
from robot_dynamics.nodes.ros.diagnostics import Fault, Level
from robot_dynamics.nodes.ros.joint_values import FIELDS, JointValues
from robot_dynamics.nodes.ros.load_messages import payload_msg
from robot_dynamics.nodes.ros.messages import JointReader, StampCheck
from robot_dynamics.nodes.ros.node_parameters import parameter
from robot_dynamics.nodes.ros.topics import OUTPUT_QOS, TRAJECTORY_QOS
from robot_dynamics.nodes.runtime.drive_parameters import BandParameters
from robot_dynamics.nodes.runtime.friction_input import SCALE_TOPIC, scale_msg
from robot_dynamics.nodes.runtime.online_model import (
    ModelParameters,
    ObserverParameters,
    OnlineModel,
)
from robot_dynamics.nodes.runtime.robot_node import RobotNode
from robot_dynamics.robot import Robot
from robot_dynamics.robot.joint_units import unit_of

STATES_QOS = QoSProfile(depth=500, reliability=ReliabilityPolicy.BEST_EFFORT)
"""Depth for all states between two cycles at 1 kHz and more: the filter needs every state."""

SCALE_PERIOD_S = 1.0
"""Period of publishing the friction that is tracked, s."""

MAX_GAP_S = 1.0
"""Longest time between two states over which residuals are evaluated, s."""


@dataclass(frozen=True)
class MonitorParameters(ModelParameters):
    """Parameters of monitor_node."""

    rate: float = parameter(
        50.0,
        "Rate of the comparison of model and efforts, Hz",
        low=1.0,
        high=1000.0,
        read_only=True,
    )
    filter_cutoff: float = parameter(
        4.0,
        "Cutoff frequency of the two low-pass filters on joint_states, Hz",
        low=0.1,
        high=100.0,
        read_only=True,
    )
    residual_window: float = parameter(
        5.0, "Time constant of the window of the RMS residual, s", low=0.1, high=3600.0
    )
    residual_share: float = parameter(
        0.05,
        "RMS residual above which the model does not fit, N m per N m of a joint's effort limit",
        low=0.001,
        high=10.0,
    )
    patience: float = parameter(
        2.0, "Time above residual_share after which diagnostics warn, s", low=0.0, high=3600.0
    )
    payload_memory: float = parameter(
        10.0, "Time constant of the forgetting of the load estimate, s", low=0.5, high=3600.0
    )
    track_friction: bool = parameter(
        False,
        "Follow changes of dry and viscous friction, as of a gear that warms up; residuals and the "
        "load estimate then count from the present friction",
    )


class MonitorNode(RobotNode[MonitorParameters]):
    """Compares the efforts of joint_states with the model; commands nothing."""

    NAME = "monitor_node"
    PARAMETERS = MonitorParameters
    NEEDS_INERTIA = True

    def configure(self) -> None:
        """Compile the equations and create the topics."""
        super().configure()
        self._bands = [
            self.group(BandParameters, f"bands.{name}") for name in self.robot.joint_names
        ]
        none = np.zeros(self.robot.dof)
        dynamics = Dynamics(self.robot, self.parameters.formulation)
        self.arm = OnlineModel(self, Model(dynamics, Gains(none, none)))
        self._states = JointReader("joint_states", self.robot.joint_names, FIELDS)
        self._observer = self.group(ObserverParameters, "collision", changed=self._on_gain)
        self._restart(self.robot)
        self._residual = self.create_loop_publisher(JointState, "effort_residual", OUTPUT_QOS)
        self._external = self.create_loop_publisher(JointState, "~/external_effort", OUTPUT_QOS)
        self._loads = self.create_publisher(InertiaStamped, "payload", TRAJECTORY_QOS)
        self._states_in = self.create_loop_subscriber(
            JointState, "joint_states", self._on_states, STATES_QOS
        )
        self._scales = self.create_publisher(JointState, SCALE_TOPIC, TRAJECTORY_QOS)
        self.call_every(SCALE_PERIOD_S, self._publish_scale)
        self.offer("~/estimate_payload", self._publish_load)
        self.begin_anew_on_reset()

    def _restart(self, robot: Robot) -> None:
        """Restart filter, residuals and estimate for a robot."""
        parameters = self.parameters
        self._motion = FilteredMotion(parameters.filter_cutoff, continuous_joints(robot))
        self._limit = effort_limits(robot)
        self._residuals = Residuals(
            self._limit, parameters.residual_window, parameters.residual_share, parameters.patience
        )
        self._contacts = CollisionMonitor(robot.dof)
        self._collision = Collision(gain=self._observer.value.gain)
        self._contacts.prepare(self.arm.at(monotonic()), self._collision)
        self._evaluated_at = 0.0
        bands = [declared.value for declared in self._bands]
        moving, slow = (
            np.array([getattr(band, name) for band in bands]) for name in ("moving", "slow_speed")
        )
        self._friction = FrictionScale(moving, self._limit, slow)
        self._estimate = self._new_estimate()

    def _new_estimate(self) -> PayloadEstimate | None:
        frame = self.arm.load.endpoint
        if frame is None:
            return None
        estimate = PayloadEstimate(frame, self._limit, self.parameters.payload_memory)
        model = self.arm.at(monotonic())
        load_columns(estimate.bare(model), self._motion)  # compiles before the loop needs it
        return estimate

    def activate(self) -> None:
        """See `ManagedNode.activate`."""
        self._states.forget()
        self._stamps = StampCheck("joint_states", self.get_logger().warning)
        self._restart(self.robot)
        self.start_task(self._evaluate, inputs=[*self.arm.inputs, self._states_in])

    def changed(self, value: MonitorParameters) -> None:
        """See `RobotNode.changed`."""
        self.arm.changed()
        residuals = self._residuals
        residuals.window, residuals.share = value.residual_window, value.residual_share
        residuals.patience = value.patience
        if self._estimate is not None:
            self._estimate.memory = value.payload_memory

    def _on_gain(self, value: Any) -> None:
        self._collision = Collision(gain=value.gain)

    def update_robot(self, robot: Robot) -> None:
        """See `RobotNode.update_robot`."""
        self.arm.use(Dynamics(robot, self.parameters.formulation))
        self._restart(robot)

    # -- in the loop ----------------------------------------------------------------------------

    def _on_states(self, data: bytes) -> None:
        states = self._states
        # All efforts are zero while brakes hold the arm, and carry no information on the model
        if states.read(data) and states.complete and states.effort.any():
            stamp = self._stamps.usable(states.stamp) or self.get_clock().now().nanoseconds
            at, measured = stamp / NS_PER_S, Measured(states.position, states.velocity)
            # The effort of a state acted from the state before to this one
            self._contacts.feed(
                self.arm.at(monotonic()), self._collision, measured, states.effort, at
            )
            self._motion.feed(at, *measured, states.effort, self._contacts.direction)

    def _evaluate(self) -> None:
        motion, model = self._motion, self.arm.at(monotonic())
        dt, self._evaluated_at = motion.time - self._evaluated_at, motion.time
        if not motion.settled or not 0.0 < dt < MAX_GAP_S:
            return
        if self.parameters.track_friction and model.friction is not None:
            self._friction.update(model, motion, dt)
            model = replace(model, friction=self._friction.on(model.friction))
        residual = unexplained(model, motion).residual
        self._residuals.update(residual, dt)
        names = self.robot.joint_names
        stamp = self._states.stamp
        self._residual.publish(JointValues.of_efforts(names, stamp, residual))
        self._external.publish(JointValues.of_efforts(names, stamp, self._contacts.effort))
        if self._estimate is None or self._estimate.frame != self.arm.load.endpoint:
            self._estimate = self._new_estimate()
        if self._estimate is not None:
            self._estimate.update(model, motion, dt)

    # -- in the executor's thread ---------------------------------------------------------------

    def _publish_scale(self) -> None:
        """Publish the friction that is tracked, for the nodes that follow it."""
        if self.active and self.parameters.track_friction and self._motion.settled:
            stamp = self.get_clock().now().to_msg()
            self._scales.publish(scale_msg(self.robot.joint_names, self._friction.value, stamp))

    def _publish_load(self) -> tuple[bool, str]:
        """Publish the estimated load, if it is known well enough."""
        if not self.active:
            return False, f"{self.get_name()} is not active"
        if self._estimate is None:
            return False, "name the frame that carries the load in the parameter payload.frame"
        load = self._estimate.value
        if not load.known:
            return False, f"not known well enough: {load}; move the arm, and call again"
        self._loads.publish(payload_msg(load.frame, load.mass, load.com))
        message = f"published on {self._loads.topic_name}: {load}"
        self.get_logger().info(message)
        return True, message

    def diagnostics(self) -> Mapping[str, object]:
        """See `RobotNode.diagnostics`."""
        estimate = self._estimate
        return {
            "joints": self.robot.joint_names,
            "residual, N m or N": self._residuals.last,
            "RMS residual, N m or N": self._residuals.rms,
            "RMS residual of the effort limit": self._residuals.shares,
            "external effort, N m or N": self._contacts.effort,
            "friction over that of the model, dry": self._friction.value[:, 0],
            "friction over that of the model, viscous": self._friction.value[:, 1],
            "load by these efforts": "no frame" if estimate is None else str(estimate.value),
            **self.arm.load.describe(),
        }

    def faults(self) -> Sequence[Fault]:
        """See `RobotNode.faults`."""
        judged = self._residuals
        misfits = [
            f"{name} ({rms:.3g} N m or N rms, {100.0 * share:.0f} % of its limit)"
            for name, rms, share, misfit in zip(
                self.robot.joint_names, judged.rms, judged.shares, judged.misfits, strict=True
            )
            if misfit
        ]
        found = [*super().faults(), *self.arm.faults()]
        if self._states.complete and not self._motion.settled:
            text = (
                "no comparison yet: joint_states must arrive at "
                f"{1.0 / self._motion.longest_gap:.0f} Hz or more (or lower filter_cutoff), with "
                "efforts that are not all zero"
            )
            found.append(Fault(Level.OK, text))
        if (i := self._contacts.joint) is not None:
            name, unit = self.robot.joint_names[i], unit_of(self.robot, i, "effort")
            text = (
                f"joint '{name}' feels an external {self._contacts.effort[i]:.3g} {unit}, its "
                f"threshold is {self._contacts.threshold[i]:.3g} {unit}"
            )
            found.append(Fault(Level.WARN, text))
        changed = np.any(self._friction.changed, axis=1)
        if self.parameters.track_friction and changed.any():
            values = zip(
                self.robot.joint_names, self._friction.value, changed.tolist(), strict=True
            )
            now = ", ".join(
                f"{name} dry {100.0 * dry:.0f} %, viscous {100.0 * viscous:.0f} %"
                for name, (dry, viscous), clear in values
                if clear
            )
            found.append(Fault(Level.OK, f"friction has changed since its identification: {now}"))
        if misfits:
            text = (
                f"the model does not fit {', '.join(misfits)}; is there an unknown load "
                "(~/estimate_payload), contact, or wear?"
            )
            found.append(Fault(Level.WARN, text))
        return found
