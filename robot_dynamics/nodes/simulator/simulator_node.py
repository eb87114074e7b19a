"""simulator_node: simulate a robot: effort commands in, joint_states out.

Until the first command, and whenever commands stop, brakes hold the joints.

Commands are efforts in the order of `joints`; one that names another order moves nothing. Drives
that close the loop, by the parameter `feedback`, take positions and velocities too, by name.

A wrench on the topic `wrench`, which the tool exerts on its surroundings, acts back on the joints.

The simulation follows the clock or keeps its own time. With `publish_clock` other nodes use
simulated time, which may be faster or slower than real time. With `lockstep` every command moves
the robot by one cycle, so that runs under equal commands repeat exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from itertools import compress
from time import monotonic, sleep
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.clock import ClockType, ROSClock
from rclpy.time import Time
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import Empty, Float64MultiArray
from std_srvs.srv import SetBool

from robot_dynamics.control import Actuators
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.errors import SimulationError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.units import NS_PER_S
from robot_dynamics.nodes.ros.diagnostics import Fault, Level
from robot_dynamics.nodes.ros.joint_values import JointValues
from robot_dynamics.nodes.ros.load_messages import ToolLoad, imu_msg
from robot_dynamics.nodes.ros.messages import COMMAND_TOPIC, DRIVE_TOPIC, RESET_TOPIC, time_msg
from robot_dynamics.nodes.ros.topics import (
    COMMAND_QOS,
    LOCKSTEP_QOS,
    OUTPUT_QOS,
    publishers_of,
)
from robot_dynamics.nodes.runtime.conflicting_publishers import ConflictingPublishers
from robot_dynamics.nodes.runtime.drive_parameters import (
    DeclaredDriveGains,
    DriveParameters,
    actuators_of,
)
from robot_dynamics.nodes.runtime.robot_node import RobotNode
from robot_dynamics.nodes.simulator.drive_commands import DriveCommands
from robot_dynamics.nodes.simulator.effort_commands import Commands
from robot_dynamics.nodes.simulator.plant_setup import (
    PlantTime,
    build_plant,
    gravity_text,
    initial_positions,
    mimic_map,
)
from robot_dynamics.nodes.simulator.simulator_parameters import (
    HOLD,
    SimulatorParameters,
)
from robot_dynamics.robot import Robot
from robot_dynamics.simulation import Plant, Reading, Sensor
from robot_dynamics.simulation.drive_loop import drive_step
from robot_dynamics.viewer.snapshot import tool_frame

RESEND_AFTER_S = 0.5
"""Time after which an unanswered state is sent again in lockstep, s."""

LONGEST_END_S, STANDS_S, STANDS_STILL = 4.0, 0.8, 0.01
"""Longest time to simulate while the process ends, time for which the arm must stand before, s, and
the speed below which it stands, rad/s or m/s: a controller that ends measures that it stands."""


class Actuation(Enum):
    """Source of the joint efforts."""

    HELD = "held by the brakes"
    COMMANDED = "commanded"
    LIMP = "zero effort"


class SimulatorNode(RobotNode[SimulatorParameters]):
    """A simulated robot.

    Attributes:
        clocks: Clocks of nodes of this process, which `publish_clock` sets directly.
    """

    clocks: Sequence[ROSClock] = ()
    NAME = "simulator_node"
    PARAMETERS = SimulatorParameters
    NEEDS_INERTIA = True

    def configure(self) -> None:
        """Build the plant and create topics and services."""
        super().configure()
        parameters, robot = self.parameters, self.robot
        self._start = initial_positions(parameters, robot, self._order)
        self._own_time = parameters.publish_clock or parameters.lockstep
        now = 0 if self._own_time else self.nanoseconds
        self._loops = DeclaredDriveGains(self, self._use_drives) if parameters.by_drives else None
        self._world = parameters.world
        self._drives = DriveParameters(self, self._rebuild, self._rebuild)
        self._time = PlantTime(parameters.rate, self._longest_step(robot), now)
        self.plant = self._build_plant(parameters, robot)
        self._next_plant: Plant | None = None
        self._sensor = Sensor(parameters.imperfections)
        self._next_sensor: Sensor | None = None
        self.actuation = Actuation.HELD
        self._opening_since: float | None = None  # steady time of the first command
        self._paused = False
        self._reset = False
        self._last_state: JointValues | None = None
        self._published_at = 0.0
        self._diverged = 0
        self._dropped = 0

        self._names = tuple(joint.name for joint in self.robot.moving_joints)
        self._mimic = mimic_map(robot)
        self._frame_id = parameters.frame_id or tool_frame(robot)
        self._tool = ToolLoad(robot, tool_frame(robot))
        self._pushed = np.zeros(robot.dof)
        elastic = bool(self.plant.masses.joints)
        self._motor_states = (
            self.create_loop_publisher(JointState, "motor_states", OUTPUT_QOS) if elastic else None
        )
        self.create_subscription(WrenchStamped, "wrench", self._on_wrench, COMMAND_QOS)
        # In lockstep every command is a cycle, and a lost one would stop everything
        qos = LOCKSTEP_QOS if parameters.lockstep else COMMAND_QOS
        self._commands: Commands | DriveCommands
        if self._loops:
            self._commands = DriveCommands(robot, self._loops.gains, parameters.drive_velocity)
            self._input = self.create_loop_subscriber(
                JointState, DRIVE_TOPIC, self._on_command, qos
            )
        else:
            self._commands = Commands(robot, self._order, self._actuators(robot))
            self._input = self.create_loop_subscriber(
                Float64MultiArray, COMMAND_TOPIC, self._on_command, qos
            )
        self._states = self.create_loop_publisher(JointState, "joint_states", OUTPUT_QOS)
        self._resets = self.create_publisher(Empty, RESET_TOPIC, OUTPUT_QOS)
        moving = self.plant.base is not None
        self._imu = self.create_publisher(Imu, "imu", OUTPUT_QOS) if moving else None
        self._conflicts = ConflictingPublishers(self, self._states.topic, self._names)
        self._clock_out = (
            self.create_publisher(Clock, "/clock", OUTPUT_QOS) if parameters.publish_clock else None
        )
        self.offer("~/reset", self._request_reset)
        self.create_service(SetBool, "~/pause", self._on_pause)
        if parameters.actuator_space:
            self.get_logger().info(
                f"commands are efforts of actuators, in the order {', '.join(self._commands.names)}"
            )
        self.get_logger().info(
            f"simulating robot '{robot.name}' at {parameters.rate:g} Hz in steps of "
            f"{1e3 * self._time.step:g} ms, gravity {gravity_text(self.plant)}; held until the "
            f"first {self._commands.topic}"
        )

    def activate(self) -> None:
        """See `ManagedNode.activate`: brakes hold the joints until the first command."""
        self._commands.forget()
        self._input.discard()
        self._last_state = None
        self.actuation, self._opening_since = Actuation.HELD, None
        self.plant.reset(self.plant.q, time=self.plant.time)
        if self.parameters.lockstep:
            self.start_task(self.tick, trigger=self._input)
        else:
            rate = self.parameters.rate * self.parameters.real_time_factor
            self.start_task(self.tick, rate, inputs=[self._input])

    def shut_down(self) -> None:
        """See `ManagedNode.shut_down`: Ctrl-C ends all nodes, and a controller stops the arm."""
        moved_at = begin = monotonic()
        while self.active and self.commanded and not (self._paused or self.parameters.lockstep):
            now = monotonic()
            if np.abs(self.plant.qd).max() > STANDS_STILL:
                moved_at = now
            if now > min(moved_at + STANDS_S, begin + LONGEST_END_S):
                break
            sleep(0.01)
        super().shut_down()

    def update_robot(self, robot: Robot) -> None:
        """See `RobotNode.update_robot`: the motion goes on with the new links."""
        plant, actuators = self._build_plant(self.parameters, robot), self._actuators(robot)
        self._next_plant, self._mimic = plant, mimic_map(robot)
        self._tool = ToolLoad(robot, tool_frame(robot))
        if isinstance(self._commands, Commands):
            self._commands.use(actuators)

    @property
    def commanded(self) -> bool:
        """Return whether commands arrive."""
        return self.actuation is Actuation.COMMANDED

    def changed(self, value: SimulatorParameters) -> None:
        """Replace plant and sensors if their parameters changed; the motion goes on."""
        if value.world != self._world:
            self._world = value.world
            plant = self._rebuild(value)
            if not np.array_equal(plant.robot.gravity, self.plant.robot.gravity):
                self.get_logger().info(f"gravity: {gravity_text(plant)}")
        if value.imperfections != self._sensor.imperfections:
            self._next_sensor = Sensor(value.imperfections)

    # -- in the loop's thread -----------------------------------------------------------------

    def tick(self) -> None:
        """Simulate up to now and publish the state; a command acts from the last state on."""
        if self._next_plant or self._next_sensor or self._reset:
            self._swap()
        parameters, now = self.parameters, monotonic()
        if not parameters.lockstep:
            self._update_actuation(now, parameters)
            self._cycle()
        elif self._last_state is None:
            self._cycle()
        elif now - self._published_at > RESEND_AFTER_S:
            self._publish(self._last_state)

    def _cycle(self) -> None:
        """Simulate one cycle and publish its state."""
        standing, time = self._paused or self.actuation is Actuation.HELD, self._time
        steps = time.steps
        if self._own_time:
            if not self._paused:
                time.count()
        elif standing:
            time.ns = self.nanoseconds
        else:
            steps = time.follow(self.nanoseconds)
        if not standing:
            self._advance(steps)
        elif not self._paused:
            self.plant.time += steps * time.step  # the base moves on
        self._sense()

    def _advance(self, steps: int) -> None:
        self._pushed = self._push()
        try:
            for _ in range(steps):
                plant = self.plant
                measured = plant.measured(self.parameters.encoders)
                plant.step(self._commands.effort(*measured), self._pushed)
        except SimulationError as error:
            self._diverged += 1
            self.get_logger().error(f"{error}; back at the start")
            self._place_at_start()

    def _push(self) -> Array:
        """Return the joint efforts by which the surroundings push, shape (n,): -J^T F.

        The plant limits the sum of command and push, so only a command within the limit less the
        push acts in full.
        """
        wrench = self._tool.wrench
        if wrench is None:
            return np.zeros_like(self._pushed)
        q, frame, arm = self.plant.q, tool_frame(self.plant.robot), self.plant.dynamics
        R = arm.pose(q, frame).rotation
        return -arm.jacobian(q, frame).T @ np.concatenate([R @ wrench[:3], R @ wrench[3:]])

    def _update_actuation(self, now: float, parameters: SimulatorParameters) -> None:
        """Apply the command while it is fresh at steady time `now`, s, or else hold or release."""
        commanded_at = self._commands.at
        if commanded_at is None:
            self.actuation = Actuation.HELD
            return
        if now - commanded_at <= parameters.command_timeout:
            self._opening_since = self._opening_since or now
            if now - self._opening_since >= parameters.brake_time:
                self.actuation = Actuation.COMMANDED
            return
        actuation = Actuation.HELD if parameters.on_command_timeout == HOLD else Actuation.LIMP
        if actuation is self.actuation:
            return
        self.actuation = actuation
        doing = "holding the joints" if actuation is Actuation.HELD else "zero effort"
        if not self.ends:  # else a controller that ends with it ends its commands
            self.get_logger().warning(
                f"no {self._commands.topic} for {parameters.command_timeout:g} s; {doing} until "
                "one arrives"
            )
        self._commands.let_go()
        if actuation is Actuation.HELD:
            self.plant.reset(self.plant.q, time=self.plant.time)

    def _sense(self) -> None:
        """Publish the sensor readings, unless they are to be lost."""
        if self._imu is not None and self.plant.base is not None:
            base = self.plant.base(self.plant.time).numbers(self.plant.robot)
            self._imu.publish(imu_msg(base, self.robot.root, time_msg(self._time.ns)))
        rows, stamp = self.plant.rows, self._time.ns
        if self._pushed.any() and not self.plant.masses.joints:
            rows = rows - np.outer((0.0, 0.0, 1.0), self._pushed)  # they measure what drives give
        if self._motor_states is not None:
            motors = np.array((*self.plant.measured("motor"), self.plant.tau))
            names = self.robot.joint_names
            self._last_motors = JointValues(names, stamp, motors, (), self._frame_id)
            rows = np.array((*self.plant.measured(self.parameters.encoders), self.plant.tau))
        if not self._sensor.exact:
            q, qd, tau = rows
            reading = self._sensor.read(Reading(q, qd, tau, stamp))
            if reading is None:
                self._dropped += 1
                self._publish_clock()
                return
            rows, stamp = np.array(reading[:3]), int(reading.time)
        if self._mimic is not None:
            leader, factor, offset = self._mimic
            rows = rows[:, leader] * factor + offset
        self._publish(JointValues(self._names, stamp, rows, (), self._frame_id))

    def _publish(self, state: JointValues) -> None:
        if self._own_time:
            self._publish_clock()  # first: no state may be from the future
            self._published_at = monotonic()
        self._states.publish(state)
        if self._motor_states is not None:
            self._motor_states.publish(self._last_motors)
        self._last_state = state

    def _publish_clock(self) -> None:
        if self._clock_out is not None:
            self._clock_out.publish(Clock(clock=time_msg(self._time.ns)))
            now = Time(nanoseconds=self._time.ns, clock_type=ClockType.ROS_TIME)
            for clock in self.clocks:
                clock.set_ros_time_override(now)

    # -- commands, in the loop's thread -------------------------------------------------------

    def _on_command(self, command: Any) -> None:
        """Store a command; in lockstep it moves the robot by one cycle."""
        commands = self._commands
        first = commands.at is None
        commands.read(command, monotonic())
        if first and not commands.named:
            self.get_logger().info(
                f"{COMMAND_TOPIC} names no joints; its efforts are taken in the order of this "
                f"node: {', '.join(commands.names)}"
            )
        if self.parameters.lockstep and not self._paused:
            self._swap()
            self.actuation = Actuation.COMMANDED
            self._cycle()

    def _on_wrench(self, msg: WrenchStamped) -> None:
        self._tool.take_wrench(msg)

    # -- in the executor's thread; the loop applies it between two cycles ---------------------

    def _request_reset(self) -> tuple[bool, str]:
        self._reset = True
        return True, "back at the start, held until the next effort_command"

    def _on_pause(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        self._paused = request.data
        response.success = True
        response.message = "paused" if request.data else "running"
        return response

    def diagnostics(self) -> Mapping[str, object]:
        """See `RobotNode.diagnostics`."""
        parameters = self.parameters
        commands = self._commands
        age = None if commands.at is None else monotonic() - commands.at
        return {
            "joints": self.actuation.value,
            "actuator_space": parameters.actuator_space,
            f"order of {commands.topic}": commands.names,
            "paused": self._paused,
            "age of the command (s)": age,
            "simulated time (s)": f"{self._time.ns / NS_PER_S:.3f}",
            "real_time_factor": parameters.real_time_factor,
            "lockstep": parameters.lockstep,
            "gravity": gravity_text(self.plant),
            "effort cut at the limit": [*compress(self.robot.joint_names, self.plant.saturated)],
            "joint_states lost on purpose": self._dropped,
            "times diverged": self._diverged,
        }

    def faults(self) -> Sequence[Fault]:
        """See `RobotNode.faults`."""
        faults = []
        if self.counter_deltas.of("diverged", self._diverged):
            faults.append(Fault(Level.ERROR, "the motion diverged; back at the start"))
        commanded_at, doing = self._commands.at, self.actuation.value
        if commanded_at is None:
            faults.append(Fault(Level.WARN, f"no {self._commands.topic} yet; {doing}"))
        elif not self.commanded:
            age = monotonic() - commanded_at
            text = f"no {self._commands.topic} for {age:.1f} s; {doing}"
            faults.append(Fault(Level.STALE, text))
        if self._paused:
            faults.append(Fault(Level.WARN, "paused"))
        publishers = publishers_of(self, [self._input.topic])
        if len(publishers) > 1:
            text = f"{len(publishers)} publishers of {self._commands.topic}; leave only one"
            faults.append(Fault(Level.WARN, f"{text} of {', '.join(publishers)}"))
        self._conflicts.update()
        if self._conflicts.found:
            faults.append(Fault(Level.WARN, self._conflicts.line))
        if self._clock_out is not None and self.count_publishers("/clock") > 1:
            text = f"{self.count_publishers('/clock')} publishers of /clock; leave only one"
            faults.append(Fault(Level.WARN, text))
        return faults

    def _swap(self) -> None:
        """Apply changes of services and parameters."""
        if self._next_plant is not None:
            new, self._next_plant = self._next_plant, None
            new.take_over(self.plant)
            self.plant = new
        if self._next_sensor is not None:
            self._sensor, self._next_sensor = self._next_sensor, None
        if self._reset:
            self._reset = False
            self._place_at_start()

    def _place_at_start(self) -> None:
        self._resets.publish(Empty())  # before the first state from there
        self.plant.reset(self._start)
        self._sensor = Sensor(self._sensor.imperfections)
        self._commands.forget()
        self.actuation, self._opening_since = Actuation.HELD, None
        self._last_state = None

    # -- building ---------------------------------------------------------------------------

    def _actuators(self, robot: Robot) -> Actuators | None:
        joints = [robot.joint_names[i] for i in self._order]
        return actuators_of(self.parameters, robot, joints, self._description.source)

    def _build_plant(self, parameters: SimulatorParameters, robot: Robot) -> Plant:
        drives = self._drives
        friction, rotors = drives.friction(robot), drives.rotor_inertia
        springs = drives.elasticity
        if np.isfinite(springs.stiffness).any():
            robot = robot.with_joint_elasticity(*springs)
        return build_plant(
            parameters, robot, self._start, self._time.step, friction=friction, rotor_inertia=rotors
        )

    def _longest_step(self, robot: Robot) -> float:
        longest, rate = self.parameters.step, self.parameters.rate
        if self._loops is None:
            return longest
        kd, rotors = self._loops.gains.kd, self._drives.rotor_inertia
        return min(longest, drive_step(Dynamics(robot), kd, rate, rotors))

    def _use_drives(self) -> None:
        if self._loops and isinstance(self._commands, DriveCommands):
            self._commands.gains = self._loops.gains

    def _rebuild(self, parameters: SimulatorParameters | None = None) -> Plant:
        """Build a plant of the present parameters for the loop to use."""
        self._next_plant = self._build_plant(parameters or self.parameters, self.robot)
        return self._next_plant
