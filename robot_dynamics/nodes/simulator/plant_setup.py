"""The simulated robot: plant and initial positions by parameters, and the time of the plant."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from robot_dynamics.control import Friction
from robot_dynamics.errors import ArgumentError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.numbers import counted
from robot_dynamics.foundation.units import NS_PER_S
from robot_dynamics.nodes.simulator.simulator_parameters import SimulatorParameters
from robot_dynamics.robot import Robot
from robot_dynamics.robot.joint_units import unit_of
from robot_dynamics.simulation import Plant, perturbed, with_mass_scaled
from robot_dynamics.simulation.base_motions import read_base_motion
from robot_dynamics.simulation.compiled_plant import fastest_plant
from robot_dynamics.simulation.start_pose import start_pose


def initial_positions(parameters: SimulatorParameters, robot: Robot, order: Array) -> Array:
    """Return the initial positions of the joints, shape (n,), rad or m.

    Args:
        parameters: Parameters of the node; `initial_positions` is in the order of `joints`.
        robot: The robot.
        order: Index into its joints of every entry of `joints`, shape (n,).

    Raises:
        ArgumentError: If there is not one position per joint, or one is beyond a stop.
    """
    given = parameters.initial_positions
    if not given:
        return start_pose(robot)
    if len(given) != robot.dof:
        raise ArgumentError(
            f"parameter 'initial_positions' has {len(given)} entries for "
            f"{counted(robot.dof, 'joint')}; give one per joint, in the order of joints"
        )
    q = np.zeros(robot.dof)
    q[order] = given
    if parameters.joint_stops:
        check_in_range(robot, q)
    return q


def build_plant(
    parameters: SimulatorParameters,
    robot: Robot,
    q: Array,
    step: float,
    *,
    friction: Friction | None = None,
    rotor_inertia: Array | None = None,
) -> Plant:
    """Return the plant with the gravity and mass errors of the parameters, at rest at q.

    Args:
        parameters: Parameters of the node.
        robot: The robot of the URDF, with the elasticity of its joints.
        q: Positions of its joints, shape (n,), rad or m.
        step: Time step of the integration, s.
        friction: Friction; by default that of the robot.
        rotor_inertia: See `Plant`; by default none.
    """
    if parameters.gravity:
        robot = robot.with_gravity(parameters.gravity)
    if parameters.mass_factor != 1.0:
        robot = with_mass_scaled(robot, parameters.mass_factor)
    if parameters.mass_error:
        robot = perturbed(robot, parameters.mass_error, parameters.mass_seed)
    moving = parameters.base_motion
    make = partial(Plant, base=read_base_motion(moving)) if moving else fastest_plant
    plant = make(
        robot,
        q,
        stops=parameters.joint_stops,
        step=step,
        friction=friction,
        rotor_inertia=rotor_inertia if np.any(rotor_inertia) else None,
    )
    plant.step(np.zeros(robot.dof))  # compiles before the first cycle
    plant.reset(q)
    return plant


def mimic_map(robot: Robot) -> tuple[Array, Array, Array] | None:
    """Return the map from values of independent joints to those of all m moving joints.

    Returns:
        Index of the independent joint, shape (m,), then factor and offset of position, velocity
        and effort, shape (3, m): mimic joints bear no effort. None without mimic joints.
    """
    coupling, follows = robot.coupling, [joint.mimic is not None for joint in robot.moving_joints]
    if not any(follows):
        return None
    factor = np.tile(coupling.multiplier, (3, 1))
    factor[2] = np.where(follows, 0.0, 1.0)
    offset = np.zeros_like(factor)
    offset[0] = coupling.offset
    return coupling.leader, factor, offset


def check_in_range(robot: Robot, q: Array) -> None:
    """Refuse initial positions beyond the stops.

    Args:
        robot: The robot.
        q: Initial positions, shape (n,), rad or m.

    Raises:
        ArgumentError: If a joint is out of its range; names the first one.
    """
    limits, rotates = robot.limits, [joint.type.rotates for joint in robot.independent_joints]
    outside = np.flatnonzero((q < limits.lower) | (q > limits.upper))
    if not len(outside):
        return
    i = outside[0]
    unit = unit_of(robot, int(i), "position")
    in_degrees = (np.abs(q[rotates]) > 2.0 * np.pi).any()  # more than a turn
    raise ArgumentError(
        f"parameter 'initial_positions': joint '{robot.joint_names[i]}' at {q[i]:.7g} {unit} is "
        f"outside its range, {limits.lower[i]:.7g} to {limits.upper[i]:.7g} {unit}; "
        + ("give rad, not degrees" if in_degrees else "start within, or set joint_stops to false")
    )


def gravity_text(plant: Plant) -> str:
    """Return the gravitational acceleration in axes of the root link, in words."""
    return ", ".join(f"{x:.4g}" for x in plant.robot.gravity) + " m/s^2"


MAX_DRIFT_STEPS = 0.75
"""Drift from the clock at which simulated time is corrected, steps."""

MAX_STEPS_PER_CYCLE = 100
"""Most steps of a late cycle; simulated time skips the rest."""


class PlantTime:
    """Counts cycles, or follows a clock.

    Args:
        rate: Cycles per simulated second, Hz.
        longest: Longest step, s.
        ns: Initial time, ns.

    Attributes:
        ns: Time of the state of the plant, ns.
        steps: Steps of a nominal cycle.
        step: Time step, s.
    """

    def __init__(self, rate: float, longest: float, ns: int) -> None:
        self.ns = ns
        self.steps = max(1, math.ceil(1.0 / (rate * longest) - 1e-9))
        self.step = 1.0 / (rate * self.steps)
        self._rate, self._cycles = rate, 0
        self._step = self.step * NS_PER_S
        self._cycle = round(self.steps * self._step)

    def count(self) -> None:
        """Advance by a cycle, without accumulating rounding errors."""
        self._cycles += 1
        self.ns = round(self._cycles * NS_PER_S / self._rate)

    def follow(self, now: int) -> int:
        """Advance to the clock time `now`, ns, to within a step; return the number of steps."""
        behind = (now - self.ns) / self._step
        # The nominal number unless time has drifted: jitter must not alternate between 0 and 2
        if -MAX_DRIFT_STEPS < behind - self.steps < MAX_DRIFT_STEPS:
            self.ns += self._cycle
            return self.steps
        steps = max(0, min(round(behind), MAX_STEPS_PER_CYCLE))
        self.ns += round(steps * self._step)
        if abs(now - self.ns) > 2.0 * self._step:  # far too late, or the clock was set
            self.ns = now
        return steps
