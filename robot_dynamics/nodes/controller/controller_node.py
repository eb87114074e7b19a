"""controller_node: desired and measured motion in, effort commands out.

It answers every joint_states message at once, in the control mode of its
parameter `mode`, within the effort limits of the URDF and the limits that its
parameters set for each joint. Without a reference, and while nobody listens to
its commands, it holds the joints where they are.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from time import monotonic, sleep

import numpy as np
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

from robot_dynamics.control import (
    MODES,
    Actuators,
    Controller,
    Measured,
    Model,
    Reference,
    Status,
    gains_for,
    position_error,
)
from robot_dynamics.control.setpoint import ReferenceHistory
from robot_dynamics.control.settings import ZERO_EFFORT
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.nodes.controller.controller_parameters import (
    ControllerParameters,
    JointParameters,
)
from robot_dynamics.nodes.ros.diagnostics import Fault, Level
from robot_dynamics.nodes.ros.graph import other_publishers_of
from robot_dynamics.nodes.ros.messages import (
    COMMAND_TOPIC,
    NAMED_TOPIC,
    SECOND,
    JointReader,
    effort_msg,
    named_effort_msg,
    time_msg,
)
from robot_dynamics.nodes.ros.qos import COMMAND_QOS, OUTPUT_QOS, STATE_QOS
from robot_dynamics.nodes.runtime.actuators import actuators_of
from robot_dynamics.nodes.runtime.online_model import OnlineModel, check_gravity
from robot_dynamics.nodes.runtime.process import run
from robot_dynamics.nodes.runtime.robot_node import RobotNode
from robot_dynamics.robot import Robot
from robot_dynamics.trajectory.motions import middle_pose

JOINT_STATES_OVERDUE_S = 2.0
"""Time without the states of all joints after which the node says so."""

PUBLISHER_CHECK_PERIOD_S = 1.0
"""Time between two looks for other nodes that command the same joints."""

MAX_EXTRAPOLATION_S = 0.02
"""Time by which a reference is brought ahead to that of a newer state."""


class ControllerNode(RobotNode[ControllerParameters]):
    """Closes the loop around the robot."""

    NAME = "controller_node"
    PARAMETERS = ControllerParameters

    def configure(self) -> None:
        """Work out the gains and open the topics."""
        super().configure()
        parameters = self.parameters
        names = self.robot.joint_names
        dynamics = Dynamics(self.robot, parameters.formulation)
        default = gains_for(
            dynamics, bandwidth=parameters.bandwidth, damping_ratio=parameters.damping_ratio
        )
        inertia = np.diag(dynamics.mass_matrix(middle_pose(self.robot)))
        self._joints = JointParameters(self.group, names, default, inertia, self._on_joint_changed)
        model = Model(
            dynamics,
            self._joints.gains(),
            bandwidth=parameters.bandwidth,
            damping_ratio=parameters.damping_ratio,
        )
        self.arm = OnlineModel(self, model)
        self._use_settings()
        self._in_use = (self.arm.at, self._settings)
        self.controller = Controller(self.arm.at(monotonic()), self._settings)
        compile_kernels(self.controller.model, parameters.mode)
        self._doing: Status | None = None
        self._braked_by: str | None = None
        self._states = JointReader("joint_states", names, ("position", "velocity"))
        self._reference = JointReader("reference", names, ("position", "velocity", "effort"))
        self._history = ReferenceHistory(MAX_EXTRAPOLATION_S)
        self._reference_at = 0.0
        self._output = self._output_of(self.robot)
        self._command = self.create_publisher(Float64MultiArray, COMMAND_TOPIC, OUTPUT_QOS)
        self._named = self.create_publisher(JointState, NAMED_TOPIC, OUTPUT_QOS)
        self._states_in = self.create_loop_subscription(
            JointState, "joint_states", self._on_joint_states, STATE_QOS
        )
        self._reference_in = self.create_loop_subscription(
            JointState, "reference", self._on_reference, COMMAND_QOS
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
        self.get_logger().info(
            f"control of robot '{self.robot.name}': {', '.join(names)}; mode '{parameters.mode}', "
            f"gravity {self.arm.load.describe()['gravity']}"
            + ("" if parameters.compensate_gravity else " as compensate_gravity is false")
            + "; waiting for joint_states"
        )
        if parameters.actuator_space:
            self.get_logger().info(
                f"commands are efforts of actuators, in the order {', '.join(self._output[0])}"
            )
        self.create_service(Trigger, "~/resume", self._on_resume)
        self._others: frozenset[str] = frozenset()
        self.create_timer(PUBLISHER_CHECK_PERIOD_S, self._look_for_others)

    def activate(self) -> None:
        """See `ManagedNode.activate`: the first command holds the arm where it is."""
        self._states.forget()
        self._reference.forget()
        self._history.forget()
        self._doing = None
        self._fresh = True
        self._active_since = monotonic()
        self.start_task(self.tick, inputs=[self._reference_in], trigger=self._states_in)

    def deactivate(self) -> None:
        """See `ManagedNode.deactivate`: come to rest, then hold or let go by `on_deactivate`."""
        if self.context.ok():
            sleep(self.controller.halt())
            if self.parameters.on_deactivate == ZERO_EFFORT:
                sleep(self.controller.let_go())
        super().deactivate()

    def update_robot(self, robot: Robot) -> None:
        """See `RobotNode.update_robot`: efforts pass over to the new equations over `fade`."""
        dynamics, output = Dynamics(robot, self.parameters.formulation), self._output_of(robot)
        compile_kernels(replace(self.arm.base, dynamics=dynamics), self.parameters.mode)
        self.robot = robot  # whose ranges the settings depend on
        self._use_settings()
        self.arm.use(dynamics)
        self._output = output

    def _output_of(self, robot: Robot) -> tuple[tuple[str, ...], Actuators | None]:
        """Of what the efforts of commands are, in their order; and actuators, if it is these."""
        joints = tuple(robot.joint_names[i] for i in self._order)
        actuators = actuators_of(self.parameters, robot, joints, self._description.source)
        return joints if actuators is None else actuators.names, actuators

    # -- the fast work ----------------------------------------------------------------------

    def tick(self) -> None:
        """Publish the command for the last state and reference."""
        now = monotonic()
        self._take_up_changes(now)
        if self._fresh and self._states.complete:
            self._fresh = False
            effort = self._states.effort
            trusted = self.parameters.trust_measured_effort and np.isfinite(effort).all()
            self.controller.activate(effort.copy() if trusted else None)
        if not self._listened_to:  # and followed no longer, or feedback would push at nothing
            self.controller.postpone(now)
        elif self._reference.complete:
            self.controller.set_reference(self._reference_at_state(), self._reference_at)
        command = self.controller.update(now)
        if command is None:
            self._remind(now)
            return
        names, actuators = self._output
        efforts = command.tau[self._order]
        if actuators is not None:
            efforts = actuators.from_joints(efforts)
        self._command.publish(effort_msg(efforts))
        if self._named.get_subscription_count():
            blind = command.status is Status.BLIND  # it answers no state
            stamp = self.get_clock().now().to_msg() if blind else time_msg(self._states.stamp)
            self._named.publish(named_effort_msg(names, efforts, stamp))
        self.saturated += command.saturated
        if self.controller.braked_by != self._braked_by:
            self._braked_by = self.controller.braked_by
            self._log_brakes()
        if command.status is not self._doing:
            self._doing = command.status
            if self._braked_by is None:  # or it would say, again and again, that it tries
                self._log_status(command.status)

    @property
    def _listened_to(self) -> bool:
        """Whether anybody receives commands: the middleware may take seconds to introduce us."""
        publishers = (self._named, self._command)
        return any(publisher.get_subscription_count() for publisher in publishers)

    def _remind(self, now: float) -> None:
        """Say which joints no message has named, once they are overdue."""
        if now > self._active_since + JOINT_STATES_OVERDUE_S:
            self.warn_of_missing_joints(self._states)

    def _take_up_changes(self, now: float) -> None:
        """Use what parameters and topics have changed; only the load passes over by itself."""
        model, wanted = self.arm.at(now), (self.arm.at, self._settings)
        if wanted != self._in_use:
            self.controller.change(model, self._settings)
            self._in_use = wanted
        else:
            self.controller.model = model

    def _log_status(self, status: Status) -> None:
        log = self.get_logger()
        if status is Status.STOPPED:
            log.warning(
                f"{status.value}, of joint '{self.controller.stopped_by}'; call "
                f"{self.get_name()}/resume to go on"
            )
        elif status is Status.PAUSED:
            log.warning(f"{status.value}; call {self.get_name()}/resume to go on")
        elif status is Status.HOLDING and not self._listened_to:
            log.info(f"holding still: nobody listens to {self._command.topic_name} yet")
        else:
            log.info(status.value)

    def _log_brakes(self) -> None:
        if self._braked_by is None:
            self.get_logger().info("the joints move")
        else:
            self.get_logger().warning(f"{self._closed_brakes} It is tried again and again")

    @property
    def _closed_brakes(self) -> str:
        return (
            f"joint '{self._braked_by}' does not move although it is pushed with half of its "
            "effort limit; are its brakes closed?"
        )

    def _reference_at_state(self) -> Reference:
        """Feedforward of now, and the motion of the time at which the state was measured.

        Stamps differ by what messages take; at speed that would look like a tracking error.
        """
        reference = self._reference
        then = self._history.at(self._states.stamp / SECOND)
        q, qd = then or (reference.position, reference.velocity)
        return Reference(q, qd, reference.effort)

    def _on_joint_states(self, msg: JointState) -> None:
        states = self._states
        try:
            if states.read(msg) and states.complete:
                self.controller.set_state(Measured(states.position, states.velocity), monotonic())
        except RobotDynamicsError as error:
            self.throttled_log.warn("joint_states", error)

    def _on_reference(self, msg: JointState) -> None:
        try:
            reference = self._reference
            if reference.read(msg) and reference.complete:
                stamp = reference.stamp / SECOND
                self._history.add(stamp, reference.position, reference.velocity)
            self._reference_at = monotonic()
        except RobotDynamicsError as error:
            self.throttled_log.warn("reference", error)

    # -- parameters, in the executor's thread; the loop takes them up between two cycles ------

    def check(self, value: ControllerParameters) -> None:
        """See `RobotNode.check`."""
        check_gravity(value)

    def changed(self, value: ControllerParameters) -> None:
        """Use new settings from the next cycle on."""
        compile_kernels(self.controller.model, value.mode)
        self.arm.changed()
        self._use_settings()

    def _on_joint_changed(self) -> None:
        self.arm.base = replace(self.arm.base, gains=self._joints.gains())
        self._use_settings()

    def _use_settings(self) -> None:
        self._settings = self._joints.settings(self.parameters, self.robot)
        for line in self._joints.slow_efforts():
            self.get_logger().warning(line)

    # -- the rest of the system, in the executor's thread -------------------------------------

    def diagnostics(self) -> Mapping[str, object]:
        """What it does, how well, and with which terms and load."""
        names = self.robot.joint_names
        error: object = None
        if self._states.complete and self._reference.complete:
            q_d, q = self._reference.position, self._states.position
            errors = position_error(q_d, q, self.arm.base.continuous).tolist()
            error = dict(zip(names, errors, strict=True))
        load = self.arm.load.describe()
        cycles = zip(names, self.saturated.tolist(), strict=True)
        return {
            "mode": self.parameters.mode,
            "status": (self._doing or Status.WAITING).value,
            "tracking error (rad or m)": error,
            "cycles saturated": {name: count for name, count in cycles if count},
            "actuator_space": self.parameters.actuator_space,
            "order of effort_command": self._output[0],
            "compensate_gravity": self.parameters.compensate_gravity,
            **{name: load[name] for name in ("gravity", "payload")},
        }

    def faults(self) -> Sequence[Fault]:
        """See `RobotNode.faults`."""
        found = [*super().faults(), *self.arm.faults()]
        if self._doing is Status.STOPPED:
            found.append(Fault(Level.ERROR, f"stopped by joint '{self.controller.stopped_by}'"))
        if self._doing is Status.PAUSED:
            found.append(Fault(Level.WARN, Status.PAUSED.value))
        if self.active and not self._listened_to:
            topic = self._command.topic_name
            found.append(
                Fault(Level.WARN, f"nobody listens to {topic}; the arm is held where it is")
            )
        if self._braked_by is not None:
            found.append(Fault(Level.WARN, self._closed_brakes))
        if self._others:
            found.append(Fault(Level.WARN, f"{_list(self._others)} commands the same joints"))
        return found

    def _on_resume(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        response.success = self.controller.resume()
        response.message = "following the reference" if response.success else "not stopped"
        return response

    def _look_for_others(self) -> None:
        """Warn, once, of nodes that publish commands to the same topics."""
        found = set(other_publishers_of(self, [self._command.topic_name, self._named.topic_name]))
        new = found - self._others
        if new:
            self.get_logger().warning(
                f"{_list(new)} publishes {self._command.topic_name} too; stop one of us, or the "
                "joints get the commands of both by turns"
            )
        self._others = frozenset(found)


def compile_kernels(model: Model, mode: str) -> None:
    """Have the kernels of a mode compiled, and those of holding still, before the loop asks."""
    zero = np.zeros(model.dynamics.robot.dof)
    model.feedforward(zero, zero, zero)
    model.dynamics.gravity(zero)
    model.forward(zero, zero, zero)  # for stopping blindly
    MODES[mode].effort(model, Reference(zero, zero, zero), Measured(zero, zero))


def _list(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))


def main(args: list[str] | None = None) -> None:
    """Run the node."""
    sys.exit(run(ControllerNode, args=args))


if __name__ == "__main__":
    main()
