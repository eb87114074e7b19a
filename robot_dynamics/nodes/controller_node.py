"""controller_node: desired and measured motion in, effort commands out.

It answers every joint_states message at once, in the control mode of its
parameter `mode`, within the effort limits of the URDF. Without a reference it
holds the joints where they are.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from time import monotonic

import numpy as np
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robot_dynamics.control import (
    MODES,
    Controller,
    Friction,
    Gains,
    Measured,
    Model,
    Reference,
    Settings,
    Status,
    gains_for,
)
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.formulations import DEFAULT_FORMULATION, FORMULATIONS
from robot_dynamics.nodes.loop import Loop
from robot_dynamics.nodes.messages import SECOND, JointReader, effort_msg
from robot_dynamics.nodes.parameters import Declared, parameter
from robot_dynamics.nodes.process import run
from robot_dynamics.nodes.qos import LATEST, PUBLISHED, STATES
from robot_dynamics.nodes.robot_node import LoopParameters, RobotNode, moved
from robot_dynamics.robot import Robot

FARTHEST_SHIFT = 0.02
"""Largest difference of stamps over which a reference is brought to the time of a state, s."""


@dataclass(frozen=True)
class ControllerParameters(LoopParameters):
    """Parameters of controller_node."""

    mode: str = parameter("feedforward", "Control law", one_of=MODES)
    formulation: str = parameter(
        DEFAULT_FORMULATION,
        "Equations that the kernels are compiled from",
        one_of=FORMULATIONS,
        read_only=True,
    )
    bandwidth: float = parameter(
        20.0,
        "Natural frequency of each joint under the default gains, rad/s",
        low=0.1,
        high=1000.0,
        read_only=True,
    )
    damping_ratio: float = parameter(
        1.0,
        "Damping ratio of each joint under the default gains",
        low=0.01,
        high=10.0,
        read_only=True,
    )
    fade: float = parameter(
        0.2, "Time to pass from one mode or set of gains to another, s", low=0.0, high=10.0
    )
    state_timeout: float = parameter(
        0.1, "Age of the last joint_states at which feedback stops, s", low=1e-3, high=3600.0
    )
    reference_timeout: float = parameter(
        0.2,
        "Age of the last reference at which the joints are brought to rest, s",
        low=1e-3,
        high=3600.0,
    )


@dataclass(frozen=True)
class GainParameters:
    """Gains of one joint."""

    p: float = parameter(0.0, "Gain on the position error, N m/rad or N/m", low=0.0)
    i: float = parameter(0.0, "Gain on its integral, N m/(rad s) or N/(m s)", low=0.0)
    d: float = parameter(0.0, "Gain on the velocity error, N m s/rad or N s/m", low=0.0)


class ControllerNode(RobotNode[ControllerParameters]):
    """Closes the loop around the robot."""

    NAME = "controller_node"
    PARAMETERS = ControllerParameters

    def begin(self, robot: Robot) -> None:
        """Work out the gains and open the topics."""
        parameters = self.parameters
        self.robot, self._order = moved(robot, parameters.joints)
        names = self.robot.joint_names
        dynamics = Dynamics(self.robot, parameters.formulation)
        default = gains_for(
            dynamics, bandwidth=parameters.bandwidth, damping_ratio=parameters.damping_ratio
        )
        self._gains = [
            Declared(
                self,
                GainParameters,
                f"gains.{name}",
                defaults=GainParameters(p=float(default.kp[i]), d=float(default.kd[i])),
                changed=lambda _: self._use_gains(),
            )
            for i, name in enumerate(names)
        ]
        self.controller = Controller(
            Model(
                dynamics,
                self._gains_now(),
                Friction.of(self.robot),
                parameters.bandwidth,
                parameters.damping_ratio,
            ),
            _settings(parameters),
        )
        self._prepare(parameters.mode)
        self._new_model: Model | None = None
        self._new_settings: Settings | None = None
        self._status: Status | None = None
        self._states = JointReader("joint_states", names, ("position", "velocity"))
        self._reference = JointReader("reference", names, ("position", "velocity", "effort"))
        self._reference_at = 0.0
        self._command = self.create_publisher(Float64MultiArray, "effort_command", PUBLISHED)
        self._states_in = self.fast_subscription(
            JointState, "joint_states", self._on_joint_states, STATES
        )
        self._reference_in = self.fast_subscription(
            JointState, "reference", self._on_reference, LATEST
        )
        self.saturated = np.zeros(len(names), dtype=np.int64)
        """Cycles in which the effort of each joint was cut at its limit."""
        unlimited = [
            name for name, x in zip(names, self.controller.limit, strict=True) if np.isinf(x)
        ]
        if unlimited:
            self.get_logger().warning(
                f"no effort limit in the URDF for {', '.join(unlimited)}; not saturated"
            )

    def attach(self, loop: Loop) -> None:
        """See `RobotNode.attach`."""
        loop.add(
            self.NAME,
            self.parameters.rate,
            self.tick,
            inputs=[self._reference_in],
            trigger=self._states_in,
        )

    # -- the fast work ----------------------------------------------------------------------

    def tick(self) -> None:
        """Publish the command for the last state and reference."""
        if self._new_model is not None or self._new_settings is not None:
            self.controller.change(self._new_model, self._new_settings)
            self._new_model = self._new_settings = None
        if self._reference.complete:
            self.controller.refer(self._reference_at_state(), self._reference_at)
        command = self.controller.update(monotonic())
        if command is None:
            return
        self._command.publish(effort_msg(command.tau[self._order]))
        self.saturated += command.saturated
        if command.status is not self._status:
            self._status = command.status
            self.get_logger().info(command.status.value)

    def _reference_at_state(self) -> Reference:
        """The reference, brought to the time at which the state was measured.

        Stamps differ by what messages take; at speed that would look like a tracking error.
        """
        reference = self._reference
        ahead = (self._states.stamp - reference.stamp) / SECOND
        ahead = min(max(ahead, -FARTHEST_SHIFT), FARTHEST_SHIFT)
        q = reference.position + ahead * reference.velocity
        return Reference(q, reference.velocity, reference.effort)

    def _on_joint_states(self, msg: JointState) -> None:
        states = self._states
        try:
            if states.read(msg) and states.complete:
                self.controller.measure(Measured(states.position, states.velocity), monotonic())
        except RobotDynamicsError as error:
            self.complaints.say("joint_states", error)

    def _on_reference(self, msg: JointState) -> None:
        try:
            self._reference.read(msg)
            self._reference_at = monotonic()
        except RobotDynamicsError as error:
            self.complaints.say("reference", error)

    # -- parameters, in the executor's thread; the loop takes them up between two cycles ------

    def changed(self, value: ControllerParameters) -> None:
        """Use new settings from the next cycle on."""
        self._prepare(value.mode)
        self._new_settings = _settings(value)

    def _prepare(self, mode: str) -> None:
        """Have the kernels of a mode compiled, and those of holding still, before the loop asks."""
        model = self.controller.model
        zero = np.zeros(self.robot.dof)
        model.feedforward(zero, zero, zero)
        model.dynamics.gravity(zero)
        MODES[mode](model, Reference(zero, zero, zero), Measured(zero, zero))

    def _use_gains(self) -> None:
        self._new_model = replace(self.controller.model, gains=self._gains_now())

    def _gains_now(self) -> Gains:
        values = [declared.value for declared in self._gains]
        return Gains(*(np.array([getattr(v, term) for v in values]) for term in ("p", "d", "i")))


def _settings(parameters: ControllerParameters) -> Settings:
    return Settings(
        mode=parameters.mode,
        fade=parameters.fade,
        state_timeout=parameters.state_timeout,
        reference_timeout=parameters.reference_timeout,
    )


def main(args: list[str] | None = None) -> None:
    """Run the node."""
    sys.exit(run(ControllerNode, args))


if __name__ == "__main__":
    main()
