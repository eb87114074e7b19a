"""controller_node: desired and measured motion in, effort commands out.

It answers every joint_states message at once, in the control mode of its parameter `mode`, within
the effort limits of the URDF and the limits of its parameters. Without a reference, and while no
node receives its commands, it holds the joints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from time import monotonic, sleep, time_ns

import numpy as np
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robot_dynamics.control import (
    Actuators,
    Command,
    Controller,
    Measured,
    Model,
    Status,
    effort_limits,
    gains_for,
)
from robot_dynamics.control.controller import prepare
from robot_dynamics.control.laws import ALL_MODES
from robot_dynamics.control.motion import FARTHEST_S
from robot_dynamics.control.parameters import REFUSE
from robot_dynamics.control.reference_history import ReferenceHistory, ReferenceSegment
from robot_dynamics.control.refusals import REFUSALS
from robot_dynamics.control.sampling.loop_tuning import LoopTuning
from robot_dynamics.control.settings import ZERO_EFFORT, Settings
from robot_dynamics.control.task_space import CONSISTENT
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.units import NS_PER_S
from robot_dynamics.nodes.controller.controller_base import ControllerBase
from robot_dynamics.nodes.controller.controller_parameters import (
    CollisionParameters,
    ControllerParameters,
    JointParameters,
)
from robot_dynamics.nodes.controller.controller_report import ControllerReport
from robot_dynamics.nodes.controller.task_space_control import TaskSpaceControl
from robot_dynamics.nodes.ros.diagnostics import Fault, one_line
from robot_dynamics.nodes.ros.joint_values import (
    ACTUATORS,
    ALL,
    Efforts,
    JointValues,
    order_label,
    run_of,
)
from robot_dynamics.nodes.ros.messages import (
    COMMAND_TOPIC,
    DRIVE_TOPIC,
    EXTERNAL_TOPIC,
    THRESHOLD_TOPIC,
    JointReader,
    StampCheck,
)
from robot_dynamics.nodes.ros.state_reader import StateReader
from robot_dynamics.nodes.ros.topics import COMMAND_QOS, OUTPUT_QOS, STATE_QOS
from robot_dynamics.nodes.runtime.drive_parameters import DeclaredDriveGains, actuators_of
from robot_dynamics.nodes.runtime.friction_input import FrictionInput
from robot_dynamics.nodes.runtime.online_model import OnlineModel
from robot_dynamics.robot import Robot
from robot_dynamics.robot.joint_units import unit_of
from robot_dynamics.trajectory import Trajectory
from robot_dynamics.trajectory.motions import middle_pose

LONGEST_STOP_S = 3.0
"""Longest time to command an arm that does not come to rest when the node ends, s."""

REST_CHECK_PERIOD_S = 0.01
"""Period of checking for rest, s."""

LAST_CYCLES_S = 1.0
"""Tolerated delay of the last cycles, s."""

LAST_CYCLES = 3
"""Cycles that publish the last command, of which receivers may miss one."""

PUBLISHER_CHECK_PERIOD_S = 0.25
"""Period of checking for other nodes that command the same joints, s."""

READER_CHECK_PERIOD_S = 0.1
"""Period of checking whether external efforts are read, s."""

MEASURING_PERIOD_S = 4e-3
"""Period of measuring the sampling of states, s."""

RETUNE_PERIOD_S = 0.1
"""Period of checking whether other feedback is due, s."""


class ControllerNode(ControllerBase):
    """Closes the loop around the robot.

    Attributes:
        task_space: Control of the end effector.
        report: Its log lines and diagnostics.
    """

    NAME = "controller_node"

    def configure(self) -> None:
        """Compute the gains and open the topics."""
        super().configure()
        parameters = self.parameters
        names = self.robot.joint_names
        self._check_effort_limits(self.robot)
        dynamics = Dynamics(self.robot, parameters.formulation)
        default = gains_for(
            dynamics, bandwidth=parameters.bandwidth, damping_ratio=parameters.damping_ratio
        )
        inertia = np.diag(dynamics.mass_matrix(middle_pose(self.robot)))
        self._joints = JointParameters(
            self.group, parameters, self.robot, default, inertia, self._on_joint_changed
        )
        model = Model(
            dynamics,
            self._joints.gains(),
            bandwidth=parameters.bandwidth,
            damping_ratio=parameters.damping_ratio,
            resonance_share=parameters.resonance_share,
        )
        self._drives = (
            DeclaredDriveGains(self, self._on_drives_changed) if parameters.by_drives else None
        )
        self.tuning = LoopTuning(dynamics, model.gains, parameters.bandwidth, 1.0 / parameters.rate)
        self.states = StateReader(self.robot, ("position", "velocity"), parameters.velocity_filter)
        self.arm = OnlineModel(self, self._tuned(model), self._pose, FrictionInput(self))
        self._collision = self.group(
            CollisionParameters, "collision", changed=lambda _: self._use_settings()
        )
        self.arm.base = self._tuned(self.arm.base)  # with the elasticity of the parameters
        self.arm.drives_changed = self._on_drives_changed
        self._joints.bound(lambda: self.arm.rotor_inertia)
        self.task_space = TaskSpaceControl(self)
        self.arm.prepare = self._prepare_load
        self._use_settings()
        self.prepare_mode(parameters.mode, self.arm.base)
        self._in_use = self.arm.at, self._settings, self.task_space.wanted
        self.controller = Controller(self.arm.at(self.now()), self._settings, self.task_space.task)
        self.reference = JointReader("reference", names, ("position", "velocity", "effort"))
        self._history = ReferenceHistory(FARTHEST_S)
        self._reference_at = self._reference_age = 0.0
        self.output = self._output_of(self.robot)
        self._places = run_of(self._order.tolist(), len(names))
        kind, topic = (
            (JointState, DRIVE_TOPIC) if self._drives else (Float64MultiArray, COMMAND_TOPIC)
        )
        self.command = self.create_loop_publisher(kind, topic, OUTPUT_QOS)
        self.external, self.thresholds = (
            self.create_loop_publisher(JointState, topic, OUTPUT_QOS)
            for topic in (EXTERNAL_TOPIC, THRESHOLD_TOPIC)
        )
        self._states_in = self.create_loop_subscriber(
            JointState, "joint_states", self._on_joint_states, STATE_QOS, one_source=True
        )
        self._reference_in = self.create_loop_subscriber(
            JointState, "reference", self._on_reference, COMMAND_QOS
        )
        self.cycles = 0
        self.refusal = self.state_refusal = ""
        self.get_logger().info(
            f"control of robot '{self.robot.name}': {', '.join(names)}; mode '{parameters.mode}', "
            f"gravity {self.arm.load.describe()['gravity']}"
            + ("" if parameters.compensate_gravity else " as compensate_gravity is false")
            + "; waiting for joint_states"
        )
        if self._drives:
            self.get_logger().info(
                f"the drives close the loop by {DRIVE_TOPIC}: positions, velocities and efforts"
            )
            self._tell_damping(parameters.mode)
        if self.states.estimates:
            self.get_logger().info(self.states.estimates)
        if parameters.actuator_space:
            self.get_logger().info(
                f"commands are efforts of actuators, in the order {', '.join(self.output[0])}"
            )
        self.offer("~/resume", self._resume)
        self.begin_anew_on_reset()
        self.report = ControllerReport(self, self.task_space)
        self.call_every(PUBLISHER_CHECK_PERIOD_S, self.report.look_for_others)
        self._look_for_readers()
        self.call_every(READER_CHECK_PERIOD_S, self._look_for_readers)
        self.call_every(RETUNE_PERIOD_S, self._retune)
        self.call_every(RETUNE_PERIOD_S, self.report.announce)
        self.call_every(RETUNE_PERIOD_S, self.task_space.report)

    def activate(self) -> None:
        """See `ManagedNode.activate`: the first command holds the arm where it is."""
        self.states.forget()
        self._stamps = StampCheck("joint_states", self.get_logger().warning)
        self._measured = Measured(self.states.position, self.states.velocity)  # written in place
        self.controller.forget()
        self.reference.forget()
        self._desired = self.reference.values[:2]  # written in place too
        self._history.forget()
        self.tuning.forget()
        self.arm.forget()
        self.arm.base = self._tuned(self.arm.base)
        self._fresh = True
        self._unmeasured, self._measure_at, self._measured_at = 0, 0.0, 0.0
        self.report.begin()
        inputs = [*self.arm.inputs, self._reference_in, *self.task_space.inputs]
        self.start_task(self.tick, inputs=inputs, trigger=self._states_in)

    def deactivate(self) -> None:
        """See `ManagedNode.deactivate`: come to rest, then hold or let go by `on_deactivate`."""
        if self.context.ok():
            sleep(self.controller.halt())
            effort = self._effort_at_rest()
            if self.parameters.on_deactivate == ZERO_EFFORT:
                self._end(self.controller.let_go())
            elif effort is not None:
                self.controller.hold_by(effort)
                self._end(0.0)
        self.report.at_work = False
        super().deactivate()

    def _effort_at_rest(self) -> Array | None:
        """Wait for rest and return the effort that holds the arm without feedback, shape (n,).

        None where no node receives the commands, or no states come.
        """
        states, controller = self.states, self.controller
        end = monotonic() + LONGEST_STOP_S
        while self.active and states.complete and self.listened_to:
            sees = controller.sees(self.now())  # else the model brings it to rest, for a while
            late = monotonic() > end
            if controller.status is Status.SILENT or (late and not sees):
                self.get_logger().error("commands end without joint_states: rest is not measured")
                return None
            rests = controller.rests
            if (sees and rests) or late:
                gravity = self.arm.standing(controller.model).gravity(states.position.copy())
                effort = controller.holding_effort(gravity)
                self._log_end(effort, rests)
                return effort
            sleep(REST_CHECK_PERIOD_S)
        return None

    def _log_end(self, effort: Array, rests: bool) -> None:
        """Log what holds the arm from now on."""
        log, i = self.get_logger(), self.controller.index("moving_joint")
        if not rests:
            log.error(f"commands end although {self._restless(i)} after {LONGEST_STOP_S:g} s")
        elif self.parameters.on_deactivate != ZERO_EFFORT:
            efforts = ", ".join(f"{value:.3g}" for value in effort)
            log.info(f"at rest; feedback ends, and the last command is [{efforts}] N m or N")

    def _restless(self, i: int | None) -> str:
        if i is None:
            return "efforts still change"
        speed, unit = (
            self.controller.field("moving_speed").item(),
            unit_of(self.robot, i, "velocity"),
        )
        return f"joint '{self.robot.joint_names[i]}' moves at {speed:.2g} {unit}"

    def _end(self, seconds: float) -> None:
        """Wait until the last effort, to which commands pass in a time, s, has been published."""
        end = monotonic() + seconds + LAST_CYCLES_S
        cycles = None
        while monotonic() < end:
            if cycles is None and self.controller.ended:
                cycles = self.cycles
            elif cycles is not None and self.cycles >= cycles + LAST_CYCLES:
                return
            sleep(0.001)

    def _pose(self) -> Trajectory | None:
        """Return a motion that rests where the arm is; None before its states come."""
        if not self.states.complete:  # first: until then positions are NaN
            return None
        return Trajectory.hold(self.robot.joint_names, self.states.position.copy())

    def _check_effort_limits(self, robot: Robot) -> None:
        limits = zip(robot.joint_names, effort_limits(robot), strict=True)
        unlimited = [name for name, limit in limits if np.isinf(limit)]
        if unlimited and self.parameters.require_effort_limits:
            raise ArgumentError(
                f"robot '{robot.name}' has no effort limit for {', '.join(unlimited)}; set "
                f"limits.{unlimited[0]}.effort and so on, or <limit effort> in the URDF, or "
                "require_effort_limits: false for a simulation"
            )

    def update_robot(self, robot: Robot) -> None:
        """See `RobotNode.update_robot`: efforts fade to the new equations."""
        self._check_effort_limits(robot)
        dynamics, output = Dynamics(robot, self.parameters.formulation), self._output_of(robot)
        self.prepare_mode(self.parameters.mode, replace(self.arm.base, dynamics=dynamics))
        self.robot = robot  # whose ranges the settings depend on
        self._use_settings()
        self.tuning.use(dynamics)
        self.arm.use(dynamics)
        self.arm.base = self._tuned(self.arm.base)
        self.output = output

    def _output_of(self, robot: Robot) -> tuple[tuple[str, ...], Actuators | None, str]:
        """Return the `output` of a robot."""
        joints = tuple(robot.joint_names[i] for i in self._order)
        actuators = actuators_of(self.parameters, robot, joints, self._description.source)
        if actuators is None:
            return joints, None, order_label(joints)
        return actuators.names, actuators, order_label(actuators.names, ACTUATORS)

    # -- the fast work ----------------------------------------------------------------------

    def tick(self) -> None:
        """Publish the command for the last state and reference, then measure."""
        now = self.now()
        answered = self._answer(now)
        if self._unmeasured and now >= self._measure_at:
            self._measure_states(now)
        if answered:
            self.task_space.publish(now)

    def _answer(self, now: float) -> bool:
        """Publish the command of this cycle, if any; return whether there was one."""
        self._take_up_changes(now)
        if self._fresh and self.states.complete:
            self._fresh = False
            effort = self.states.effort
            trusted = self.parameters.trust_measured_effort and np.isfinite(effort).all()
            self.controller.activate(effort.copy() if trusted else None)
        command = self._command(now)
        if command is None:
            status = self.controller.status
            if status is not self.report.status:
                self.report.log(status)
            self.report.remind(now)
            return False
        self.command.publish(self._message(command))
        self.cycles += 1
        report, controller, status = self.report, self.controller, command.status
        if (
            status is not report.status
            or controller.braked_by != report.braked_by
            or (status is Status.STOPPED and controller.cause != report.cause)
        ):
            report.log(status)
        for output, of in self._read_outputs:
            stamp, efforts = self.states.stamp, controller.field(of)
            output.publish(JointValues.of_efforts(controller.joint_names, stamp, efforts))
        if controller.warning is not report.warning:
            report.log_warning()
        return True

    def _message(self, command: Command) -> Efforts | JointValues:
        if self._drives:
            field, controller = self.controller.field, self.controller
            rows = np.array([field("commanded_position"), field("commanded_velocity"), command.tau])
            return JointValues(controller.joint_names, self.nanoseconds, rows)
        _, actuators, label = self.output
        efforts = command.tau if self._places is ALL else command.tau[self._places]
        if actuators is not None:
            efforts = actuators.from_joints(efforts)
        return Efforts(label, efforts)

    def _command(self, now: float) -> Command | None:
        """Return the command of this cycle, if any."""
        if not self.listened_to:  # feedback without effect would wind up
            self.controller.postpone()
        elif self.reference.complete:
            reference = self._reference_at_state()
            self.controller.set_reference(
                reference,
                self._reference_at,
                finite=True,
                present=self._desired,
                age=self._reference_age,
            )
        return self.controller.update(now)

    def _take_up_changes(self, now: float) -> None:
        """Apply changed parameters and loads; loads are ramped, other changes fade."""
        arm = self.arm
        model, wanted = arm.at(now), (arm.at, self._settings, self.task_space.wanted)
        if wanted == self._in_use:
            self.controller.model = model
            return
        task, settings = wanted[2] or (None, None)
        self.controller.change(model, wanted[1], task)
        if task is not None and settings is not None:
            task.use(settings)
        self._in_use = wanted

    def _reference_at_state(self) -> ReferenceSegment:
        """Return the reference at the time of the state, with the latest feedforward.

        At speed, the difference of the stamps would look like a tracking error.
        """
        tau = self.reference.effort
        motion = self._history.around(self.states.stamp / NS_PER_S, tau)
        return motion or ReferenceSegment.at(self.reference.position, self.reference.velocity, tau)

    def _on_joint_states(self, data: bytes) -> bool:
        states = self.states
        try:
            if states.read(data) and states.complete:
                if self.simulated is not None:
                    self.simulated.reaches(states.stamp)
                came = self.now()
                stamp = self._stamped = self._stamps.usable(states.stamp) / NS_PER_S
                # Simulated time passes in steps: it does not tell how late a state is
                known = stamp and not self.simulated
                delay = time_ns() / NS_PER_S - stamp if known else 0.0
                self.controller.set_state(
                    self._measured, came, finite=True, at=stamp or came, delay=delay
                )
                self._unmeasured += 1
                self.state_refusal = ""
                return states.whole
        except RobotDynamicsError as error:
            self.state_refusal = one_line(error)
            self.throttled_log.warn("joint_states", error)
        return False

    def _age_on_arrival(self, stamp: float, came: float) -> float:
        """Return the age of the last state when it came, s."""
        return self.nanoseconds / NS_PER_S - stamp - (self.now() - came)

    def _measure_states(self, now: float) -> None:
        """Measure the age of the last believed state on arrival; others do not tell the rate."""
        self._measure_at = now + MEASURING_PERIOD_S
        came = float(self.controller.field("state_at")[0])
        if came == self._measured_at:
            return
        stamp = float(self.controller.field("stamp")[0]) if self._stamped else 0.0
        age = self._age_on_arrival(stamp, came)
        age += self.states.lag  # velocities that are late destabilize the loop as states do
        self.tuning.feed(stamp or came, age, self._unmeasured)
        self._unmeasured, self._measured_at = 0, came

    def _on_reference(self, data: bytes) -> None:
        try:
            reference = self.reference
            if reference.read(data) and reference.complete:
                stamp = reference.stamp / NS_PER_S
                self._history.add(stamp, self._desired)
                self._reference_age = max(self.nanoseconds, self.states.stamp) / NS_PER_S - stamp
            self._reference_at = self.now()
        except RobotDynamicsError as error:
            self.throttled_log.warn("reference", error)

    # -- parameters, in the executor's thread; the loop takes them up between two cycles ------

    def check(self, value: ControllerParameters) -> None:
        """See `RobotNode.check`."""
        Settings(mode=value.mode, feedback=value.feedback)  # refuses modes that drives would resist
        if self.configured and ALL_MODES[value.mode].in_task_space:
            self.task_space.frame(value.mode)

    def changed(self, value: ControllerParameters) -> None:
        """Use new settings from the next cycle on."""
        if value.mode != self._settings.mode:
            self.get_logger().info(f"mode '{value.mode}', before '{self._settings.mode}'")
            self._tell_damping(value.mode)
        self.prepare_mode(value.mode, self.controller.model)
        self.arm.changed()
        self._use_settings()

    def prepare_mode(self, mode: str, model: Model) -> None:
        """See `ControllerBase.prepare_mode`."""
        self.task_space.prepare(mode, model)
        self._prepare_load(model, model.frame)

    def _prepare_load(self, model: Model, endpoint: str | None) -> None:
        """Compile the present mode for a load at an endpoint before the loop uses it."""
        mode = self.parameters.mode
        wanted = self.task_space.wanted if ALL_MODES[mode].in_task_space else None
        frame, projector = None, CONSISTENT
        if wanted is not None:
            frame, projector = wanted[0].end_effector, wanted[1].projector
        prepare(replace(model, frame=endpoint), mode, frame, projector)

    def _on_joint_changed(self, values: str) -> None:
        self.get_logger().info(values)
        self.tuning.wanted = self._joints.gains()
        self.arm.base = self._tuned(self.arm.base)
        self._use_settings()

    def _on_drives_changed(self) -> None:
        self.arm.base = self._tuned(self.arm.base)
        self._use_settings()

    def _tuned(self, model: Model) -> Model:
        """Return the model with feedback that fits the loop, or with that of the drives."""
        if self._drives is None:
            return self.tuning.model(model)
        return replace(model, gains=self._drives.gains, inertia_weighted=False)

    def _tell_damping(self, mode: str) -> None:
        """Log that drives damp an arm that is to be led by hand."""
        if self._drives and not ALL_MODES[mode].feedback:
            self.get_logger().info(REFUSALS["drives_damp"].text)

    def _use_settings(self) -> None:
        velocity = self.given_limits("velocity")
        self._settings = self._joints.settings(
            self.parameters, self.robot, velocity, self._collision.value
        )
        for line in self._joints.slow_efforts():
            self.get_logger().warning(line)

    def _retune(self) -> None:
        """Use feedback that fits the sampling of the states, and log it if it is reduced."""
        tunes = self.active and self._drives is None
        new = self.tuning.retune(self.arm.base) if tunes else None
        if new is None:
            return
        self.arm.base, line = new
        if not line:
            return
        refuses = self.tuning.lowered and self.parameters.on_slow_states == REFUSE
        self.refusal = line if refuses else ""
        self.controller.refuse(self.refusal)
        log = self.get_logger()  # requires one severity per line of code
        if refuses:
            log.error(f"references are not followed: {line}")
        elif self.arm.base.inertia_weighted:
            log.warning(line)
        else:
            log.info(line)

    def diagnostics(self) -> Mapping[str, object]:
        """Return mode, status, errors, terms and load."""
        return self.report.values()

    def faults(self) -> Sequence[Fault]:
        """See `RobotNode.faults`."""
        return [*super().faults(), *self.arm.faults(), *self.report.faults()]

    # -- the rest of the system, in the executor's thread -------------------------------------

    def _look_for_readers(self) -> None:
        """Find which of the outputs beside the command have subscribers."""
        outputs = (self.external, "external"), (self.thresholds, "threshold")
        self._read_outputs = [(output, of) for output, of in outputs if output.subscriber_count]

    def _resume(self) -> tuple[bool, str]:
        if self.controller.resume():
            return True, "holding the position; a new trajectory moves the arm"
        return False, "not stopped"
