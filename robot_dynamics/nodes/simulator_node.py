"""simulator_node: effort commands in, joint_states out: a robot where there is none.

Until the first command arrives, and whenever commands stop coming, the joints
are held where they are, as the brakes of a real arm do.

It follows the clock, or keeps its own time: with `publish_clock` other nodes
live in simulated time, which may be faster or slower than real time, and with
`lockstep` it waits for the answer to every state, so that a run repeats exactly.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from time import monotonic

import numpy as np
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger

from robot_dynamics.errors import ArgumentError, RobotDynamicsError, SimulationError
from robot_dynamics.nodes.diagnostics import Fault, Level
from robot_dynamics.nodes.loop import Loop
from robot_dynamics.nodes.messages import SECOND, EffortReader, joint_state_msg, time_msg
from robot_dynamics.nodes.parameters import parameter
from robot_dynamics.nodes.process import run
from robot_dynamics.nodes.qos import EVERY, LATEST, PUBLISHED
from robot_dynamics.nodes.robot_node import LoopParameters, RobotNode, moved
from robot_dynamics.robot import Robot
from robot_dynamics.robot.robot import Array
from robot_dynamics.simulation import (
    Imperfections,
    Plant,
    Reading,
    Sensor,
    perturbed,
    with_mass_scaled,
)
from robot_dynamics.trajectory.motions import middle_pose

DRIFT = 0.75
"""Steps by which simulated time may differ from the clock before it is put right."""

MOST_STEPS = 100
"""Steps that a late cycle makes up for; what is more is left out, and simulated time falls back."""

QUIET = 0.5
"""Time after which a state that nobody has answered in lockstep is sent again, s."""

HOLD, ZERO_EFFORT = "hold", "zero_effort"


class Drive(Enum):
    """What moves the joints."""

    HELD = "held by the brakes"
    COMMANDED = "commanded"
    LIMP = "zero effort"


@dataclass(frozen=True)
class SimulatorParameters(LoopParameters):
    """Parameters of simulator_node."""

    step: float = parameter(
        0.001, "Longest time step of the integration, s", low=1e-5, high=0.01, read_only=True
    )
    initial_positions: tuple[float, ...] = parameter(
        (),
        "Where the joints start, in the order of joints, rad or m; empty for the middle of their "
        "ranges",
        read_only=True,
    )
    command_timeout: float = parameter(
        0.1,
        "Age of the last command at which on_command_timeout counts, s",
        low=0.0,
        high=3600.0,
    )
    on_command_timeout: str = parameter(
        HOLD,
        "What happens when commands stop: the joints are held, or their effort is zero",
        one_of=(HOLD, ZERO_EFFORT),
    )
    publish_clock: bool = parameter(
        False,
        "Keep simulated time, from zero, and publish it on /clock for nodes with use_sim_time",
        read_only=True,
    )
    real_time_factor: float = parameter(
        1.0,
        "Simulated time per real time, s/s; other than 1 only with publish_clock",
        low=0.001,
        high=100.0,
        read_only=True,
    )
    lockstep: bool = parameter(
        False,
        "Move by one cycle per command and stand still in between; simulated time from zero",
        read_only=True,
    )
    position_noise: float = parameter(
        0.0, "Standard deviation of positions in joint_states, rad or m", low=0.0, high=1.0
    )
    velocity_noise: float = parameter(
        0.0, "Standard deviation of velocities in joint_states, rad/s or m/s", low=0.0, high=100.0
    )
    effort_noise: float = parameter(
        0.0, "Standard deviation of efforts in joint_states, N m or N", low=0.0, high=1000.0
    )
    delay: float = parameter(
        0.0, "Age of joint_states when they are published, whole cycles, s", low=0.0, high=1.0
    )
    loss: float = parameter(
        0.0, "Part of the joint_states that are never published", low=0.0, high=0.99
    )
    noise_seed: int = parameter(
        0, "The same seed gives the same noise and the same losses", low=0, high=2**31 - 1
    )
    mass_factor: float = parameter(
        1.0,
        "Factor on mass and inertia of every link, against those of the URDF",
        low=0.01,
        high=100.0,
    )
    mass_spread: float = parameter(
        0.0, "Largest relative error of the mass of each link, at random", low=0.0, high=0.99
    )
    mass_seed: int = parameter(
        0, "The same seed gives the same errors of mass", low=0, high=2**31 - 1
    )
    joint_stops: bool = parameter(True, "Stop the joints at their position limits", read_only=True)

    @property
    def masses(self) -> tuple[float, float, int]:
        """What a change of needs another plant."""
        return self.mass_factor, self.mass_spread, self.mass_seed

    @property
    def imperfections(self) -> Imperfections:
        """How joint_states differ from the truth."""
        return Imperfections(
            position_noise=self.position_noise,
            velocity_noise=self.velocity_noise,
            effort_noise=self.effort_noise,
            delay=round(self.delay * self.rate),
            loss=self.loss,
            seed=self.noise_seed,
        )


class SimulatorNode(RobotNode[SimulatorParameters]):
    """A simulated robot."""

    NAME = "simulator_node"
    PARAMETERS = SimulatorParameters
    NEEDS_INERTIA = True

    def check(self, value: SimulatorParameters) -> None:
        """See `RobotNode.check`."""
        if value.real_time_factor != 1.0 and not value.publish_clock:
            raise ArgumentError(
                f"parameter 'real_time_factor' is {value.real_time_factor:g} but nobody would "
                "know the time; set publish_clock, and use_sim_time of the other nodes"
            )
        if value.lockstep and value.loss:
            raise ArgumentError(
                f"parameter 'loss' is {value.loss:g} in lockstep, where a lost state is never "
                "answered; set loss to 0"
            )

    def begin(self, robot: Robot) -> None:
        """Place the robot and open the topics."""
        parameters = self.parameters
        self.robot, self._order = moved(robot, parameters.joints)
        self._start = self._initial_positions()
        self._steps = max(1, int(np.ceil(1.0 / (parameters.rate * parameters.step) - 1e-9)))
        self._step = 1.0 / (parameters.rate * self._steps)
        self._masses = parameters.masses
        self.plant = self._new_plant(parameters)
        self._next_plant: Plant | None = None
        self._sensor = Sensor(parameters.imperfections)
        self._next_sensor: Sensor | None = None
        self._command = np.zeros(self.robot.dof)
        self._commanded_at: float | None = None
        self.drive = Drive.HELD
        self._paused = False
        self._reset = False
        self._own_time = parameters.publish_clock or parameters.lockstep
        self._cycles = 0
        self._time = 0 if self._own_time else self.get_clock().now().nanoseconds
        """Time of the state of the plant, ns."""
        self._told: JointState | None = None
        self._told_at = 0.0
        self._diverged = 0
        self._lost = 0

        self._names = [joint.name for joint in self.robot.moving_joints]
        leads = [joint.mimic is None for joint in self.robot.moving_joints]
        self._leads = np.flatnonzero(leads)
        self._efforts = EffortReader(
            "effort_command", [self.robot.joint_names[i] for i in self._order]
        )
        self._states = self.create_publisher(JointState, "joint_states", PUBLISHED)
        self._clock_out = (
            self.create_publisher(Clock, "/clock", PUBLISHED) if parameters.publish_clock else None
        )
        # In lockstep every command is a cycle, and a lost one would stop everything
        self._command_in = self.fast_subscription(
            Float64MultiArray,
            "effort_command",
            self._on_command,
            EVERY if parameters.lockstep else LATEST,
        )
        self.create_service(Trigger, "~/reset", self._on_reset)
        self.create_service(SetBool, "~/pause", self._on_pause)
        self.get_logger().info(
            f"simulating robot '{robot.name}' at {parameters.rate:g} Hz in steps of "
            f"{1e3 * self._step:g} ms; held until the first effort_command"
        )

    def attach(self, loop: Loop) -> None:
        """See `RobotNode.attach`."""
        rate = self.parameters.rate
        if self.parameters.lockstep:
            loop.add(self.NAME, rate, self.tick, trigger=self._command_in)
        else:
            real_rate = rate * self.parameters.real_time_factor
            loop.add(self.NAME, real_rate, self.tick, inputs=[self._command_in])

    @property
    def commanded(self) -> bool:
        """Whether commands arrive."""
        return self.drive is Drive.COMMANDED

    def changed(self, value: SimulatorParameters) -> None:
        """Swap in a plant of another mass, and sensors of other faults; the motion goes on."""
        if value.masses != self._masses:
            self._masses = value.masses
            self._next_plant = self._new_plant(value)
        if value.imperfections != self._sensor.imperfections:
            self._next_sensor = Sensor(value.imperfections)

    # -- in the loop's thread -----------------------------------------------------------------

    def tick(self) -> None:
        """Bring the robot up to now and publish its state.

        The effort of a command acts from the last state on: the robot answers
        the command that its last state led to.
        """
        self._swap()
        if not self.parameters.lockstep:
            self._watch()
            self._cycle()
        elif self._told is None:
            self._cycle()
        elif monotonic() - self._told_at > QUIET:
            self._publish(self._told)

    def _cycle(self) -> None:
        """Move by one cycle."""
        standing = self._paused or self.drive is Drive.HELD
        if self._own_time:
            steps = self._steps
            if not self._paused:
                self._cycles += 1
                self._time = round(self._cycles * SECOND / self.parameters.rate)
        else:
            now = self.get_clock().now().nanoseconds
            if standing:
                self._time = now
            steps = self._steps_until(now)
        if not standing:
            self._advance(steps)
        self._sense()

    def _steps_until(self, now: int) -> int:
        """Bring simulated time to that of the clock, to within a step; the steps that it takes."""
        step = self._step * SECOND
        behind = (now - self._time) / step
        # The usual number, unless time has drifted: jitter must not make it 0 and 2 by turns
        usual = abs(behind - self._steps) < DRIFT
        steps = self._steps if usual else max(0, min(round(behind), MOST_STEPS))
        self._time += round(steps * step)
        if abs(now - self._time) > 2.0 * step:  # far too late, or the clock was set: go on from now
            self._time = now
        return steps

    def _advance(self, steps: int) -> None:
        try:
            for _ in range(steps):
                self.plant.step(self._command)
        except SimulationError as error:
            self._diverged += 1
            self.get_logger().error(f"{error}; put back to the start")
            self._place_at_start()

    def _watch(self) -> None:
        """Choose what moves the joints: the command while it is fresh."""
        parameters = self.parameters
        if self._commanded_at is None:
            self.drive = Drive.HELD
            return
        if monotonic() - self._commanded_at <= parameters.command_timeout:
            self.drive = Drive.COMMANDED
            return
        drive = Drive.HELD if parameters.on_command_timeout == HOLD else Drive.LIMP
        if drive is self.drive:
            return
        self.drive = drive
        doing = "holding the joints" if drive is Drive.HELD else "zero effort"
        self.get_logger().warning(
            f"no effort_command for {parameters.command_timeout:g} s; {doing} until one arrives"
        )
        self._command[:] = 0.0
        if drive is Drive.HELD:
            self.plant.reset(self.plant.q)

    def _sense(self) -> None:
        """Publish what the sensors report, unless it is lost."""
        plant, coupling = self.plant, self.robot.coupling
        told = self._sensor.read(Reading(plant.q, plant.qd, plant.tau, self._time))
        if told is None:
            self._lost += 1
            self._publish_clock()
            return
        efforts = np.zeros(len(self._names))
        efforts[self._leads] = told.tau
        self._publish(
            joint_state_msg(
                self._names,
                coupling.positions(told.q),
                coupling.rates(told.qd),
                efforts,
                time_msg(int(told.time)),
            )
        )

    def _publish(self, state: JointState) -> None:
        self._publish_clock()  # first, so that nobody is told of a state from the future
        self._states.publish(state)
        self._told, self._told_at = state, monotonic()

    def _publish_clock(self) -> None:
        if self._clock_out is not None:
            self._clock_out.publish(Clock(clock=time_msg(self._time)))

    def _on_command(self, msg: Float64MultiArray) -> None:
        try:
            self._command[self._order] = self._efforts.read(msg)
        except RobotDynamicsError as error:
            self.complaints.say("effort_command", error)
            return
        self._commanded_at = monotonic()
        if self.parameters.lockstep and not self._paused:
            self._swap()
            self.drive = Drive.COMMANDED
            self._cycle()

    # -- in the executor's thread, carried out between two cycles ---------------------------

    def _on_reset(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._reset = True
        response.success = True
        response.message = "back at the start, held until the next effort_command"
        return response

    def _on_pause(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        self._paused = request.data
        response.success = True
        response.message = "paused" if request.data else "running"
        return response

    def diagnostics(self) -> Mapping[str, object]:
        """See `RobotNode.diagnostics`."""
        parameters = self.parameters
        age = None if self._commanded_at is None else monotonic() - self._commanded_at
        return {
            "joints": self.drive.value,
            "paused": self._paused,
            "age of the command (s)": age,
            "simulated time (s)": f"{self._time / SECOND:.3f}",
            "real_time_factor": parameters.real_time_factor,
            "lockstep": parameters.lockstep,
            "effort cut at the limit": [
                name
                for name, cut in zip(self.robot.joint_names, self.plant.saturated, strict=True)
                if cut
            ],
            "joint_states lost on purpose": self._lost,
            "times diverged": self._diverged,
        }

    def faults(self) -> Sequence[Fault]:
        """See `RobotNode.faults`."""
        faults = []
        if self.growth.of("diverged", self._diverged):
            faults.append(Fault(Level.ERROR, "the motion diverged; put back to the start"))
        commanded_at, doing = self._commanded_at, self.drive.value
        if commanded_at is None:
            faults.append(Fault(Level.WARN, f"no effort_command yet; {doing}"))
        elif not self.commanded:
            age = monotonic() - commanded_at
            faults.append(Fault(Level.STALE, f"no effort_command for {age:.1f} s; {doing}"))
        if self._paused:
            faults.append(Fault(Level.WARN, "paused"))
        publishers = self.count_publishers("effort_command")
        if publishers > 1:
            faults.append(
                Fault(Level.WARN, f"{publishers} publishers of effort_command; leave only one")
            )
        return faults

    def _swap(self) -> None:
        """Carry out what services and parameters have asked for."""
        if self._next_plant is not None:
            new, self._next_plant = self._next_plant, None
            new.reset(self.plant.q, self.plant.qd)
            self.plant = new
        if self._next_sensor is not None:
            self._sensor, self._next_sensor = self._next_sensor, None
        if self._reset:
            self._reset = False
            self._place_at_start()

    def _place_at_start(self) -> None:
        self.plant.reset(self._start)
        self._sensor = Sensor(self._sensor.imperfections)
        self._commanded_at = None
        self.drive = Drive.HELD
        self._told = None

    # -- building ---------------------------------------------------------------------------

    def _initial_positions(self) -> Array:
        q = middle_pose(self.robot)
        given = self.parameters.initial_positions
        if given:
            if len(given) != self.robot.dof:
                raise ArgumentError(
                    f"parameter 'initial_positions' has {len(given)} entries for "
                    f"{self.robot.dof} joints; give one per joint, in the order of joints"
                )
            q[self._order] = given
        return q

    def _new_plant(self, parameters: SimulatorParameters) -> Plant:
        factor, spread, seed = parameters.masses
        robot = self.robot
        if factor != 1.0:
            robot = with_mass_scaled(robot, factor)
        if spread:
            robot = perturbed(robot, spread, seed)
        plant = Plant(robot, self._start, stops=parameters.joint_stops, step=self._step)
        plant.step(np.zeros(robot.dof))  # compiles before the first cycle
        plant.reset(self._start)
        return plant


def main(args: list[str] | None = None) -> None:
    """Run the node."""
    sys.exit(run(SimulatorNode, args))


if __name__ == "__main__":
    main()
