"""simulator_node: effort commands in, joint_states out: a robot where there is none.

Until the first command arrives, and whenever commands stop coming, the joints
are held where they are, as the brakes of a real arm do.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from time import monotonic

import numpy as np
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger

from robot_dynamics.errors import ArgumentError, RobotDynamicsError, SimulationError
from robot_dynamics.nodes.loop import Loop
from robot_dynamics.nodes.messages import SECOND, EffortReader, joint_state_msg, time_msg
from robot_dynamics.nodes.parameters import parameter
from robot_dynamics.nodes.process import run
from robot_dynamics.nodes.qos import LATEST, PUBLISHED
from robot_dynamics.nodes.robot_node import LoopParameters, RobotNode, moved
from robot_dynamics.robot import Robot
from robot_dynamics.robot.robot import Array
from robot_dynamics.simulation import Plant, with_mass_scaled
from robot_dynamics.trajectory.motions import middle_pose

DRIFT = 0.75
"""Steps by which simulated time may differ from the clock before it is put right."""

MOST_STEPS = 100
"""Steps that a late cycle makes up for; what is more is left out, and simulated time falls back."""


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
        0.1, "Age of the last command at which the joints are held, s", low=0.0, high=3600.0
    )
    mass_factor: float = parameter(
        1.0,
        "Factor on mass and inertia of every link, against those of the URDF",
        low=0.01,
        high=100.0,
    )
    joint_stops: bool = parameter(True, "Stop the joints at their position limits", read_only=True)


class SimulatorNode(RobotNode[SimulatorParameters]):
    """A simulated robot."""

    NAME = "simulator_node"
    PARAMETERS = SimulatorParameters
    NEEDS_INERTIA = True

    def begin(self, robot: Robot) -> None:
        """Place the robot and open the topics."""
        parameters = self.parameters
        self.robot, self._order = moved(robot, parameters.joints)
        self._start = self._initial_positions()
        self._steps = max(1, int(np.ceil(1.0 / (parameters.rate * parameters.step) - 1e-9)))
        self._step = 1.0 / (parameters.rate * self._steps)
        self.plant = self._new_plant(parameters.mass_factor)
        self._next_plant: Plant | None = None
        self._command = np.zeros(self.robot.dof)
        self._commanded_at: float | None = None
        self._held = True
        self._paused = False
        self._reset = False
        self._time = self.get_clock().now().nanoseconds
        """Time of the state of the plant, ns."""

        self._names = [joint.name for joint in self.robot.moving_joints]
        leads = [joint.mimic is None for joint in self.robot.moving_joints]
        self._leads = np.flatnonzero(leads)
        self._efforts = EffortReader(
            "effort_command", [self.robot.joint_names[i] for i in self._order]
        )
        self._states = self.create_publisher(JointState, "joint_states", PUBLISHED)
        self._command_in = self.fast_subscription(
            Float64MultiArray, "effort_command", self._on_command, LATEST
        )
        self.create_service(Trigger, "~/reset", self._on_reset)
        self.create_service(SetBool, "~/pause", self._on_pause)
        self.get_logger().info(
            f"simulating robot '{robot.name}' at {parameters.rate:g} Hz in steps of "
            f"{1e3 * self._step:g} ms; held until the first effort_command"
        )

    def attach(self, loop: Loop) -> None:
        """See `RobotNode.attach`."""
        loop.add(self.NAME, self.parameters.rate, self.tick, inputs=[self._command_in])

    @property
    def commanded(self) -> bool:
        """Whether commands arrive, so that the joints are not held."""
        return not self._held

    def changed(self, value: SimulatorParameters) -> None:
        """Swap in a plant of another mass; the motion goes on."""
        if value.mass_factor != self._mass_factor:
            self._next_plant = self._new_plant(value.mass_factor)

    def tick(self) -> None:
        """Bring the robot up to now and publish its state.

        The effort of a command acts from the last state on: the robot answers
        the command that its last state led to.
        """
        now = self.get_clock().now().nanoseconds
        self._swap()
        if self._paused or self._must_hold():
            self._time = now
        else:
            self._advance(now)
        self._publish()

    def _advance(self, now: int) -> None:
        """Step the plant until its time is that of the clock, to within a step."""
        step = self._step * SECOND
        behind = (now - self._time) / step
        # The usual number, unless time has drifted: jitter must not make it 0 and 2 by turns
        usual = abs(behind - self._steps) < DRIFT
        steps = self._steps if usual else max(0, min(round(behind), MOST_STEPS))
        try:
            for _ in range(steps):
                self.plant.step(self._command)
        except SimulationError as error:
            self.get_logger().error(f"{error}; put back to the start")
            self._place_at_start()
        self._time += round(steps * step)
        if abs(now - self._time) > 2.0 * step:  # far too late, or the clock was set: go on from now
            self._time = now

    def _must_hold(self) -> bool:
        """Whether the brakes are closed: no command yet, or none for too long."""
        timeout = self.parameters.command_timeout
        stale = self._commanded_at is None or monotonic() - self._commanded_at > timeout
        if stale and not self._held:
            self.get_logger().warning(
                f"no effort_command for {timeout:g} s; holding the joints until one arrives"
            )
            self.plant.reset(self.plant.q)
        self._held = stale
        return stale

    def _publish(self) -> None:
        plant, coupling = self.plant, self.robot.coupling
        efforts = np.zeros(len(self._names))
        efforts[self._leads] = plant.tau
        self._states.publish(
            joint_state_msg(
                self._names,
                coupling.positions(plant.q),
                coupling.rates(plant.qd),
                efforts,
                time_msg(self._time),
            )
        )

    def _on_command(self, msg: Float64MultiArray) -> None:
        try:
            self._command[self._order] = self._efforts.read(msg)
        except RobotDynamicsError as error:
            self.complaints.say("effort_command", error)
            return
        self._commanded_at = monotonic()

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

    def _swap(self) -> None:
        """Carry out what services and parameters have asked for."""
        if self._next_plant is not None:
            new, self._next_plant = self._next_plant, None
            new.reset(self.plant.q, self.plant.qd)
            self.plant = new
        if self._reset:
            self._reset = False
            self._place_at_start()

    def _place_at_start(self) -> None:
        self.plant.reset(self._start)
        self._commanded_at = None
        self._held = True

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

    def _new_plant(self, mass_factor: float) -> Plant:
        self._mass_factor = mass_factor
        robot = self.robot
        if mass_factor != 1.0:
            robot = with_mass_scaled(robot, mass_factor)
        plant = Plant(robot, self._start, stops=self.parameters.joint_stops, step=self._step)
        plant.step(np.zeros(robot.dof))  # compiles before the first cycle
        plant.reset(self._start)
        return plant


def main(args: list[str] | None = None) -> None:
    """Run the node."""
    sys.exit(run(SimulatorNode, args))


if __name__ == "__main__":
    main()
