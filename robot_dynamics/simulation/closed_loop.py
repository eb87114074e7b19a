"""Simulate a controller and a plant in a closed loop, without ROS, faster than real time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from robot_dynamics.control.elastic_feedforward import DriveReference, drive_reference
from robot_dynamics.control.laws import MODES, TASK_MODES, Measured, position_error
from robot_dynamics.control.model import Model, continuous_joints
from robot_dynamics.control.settings import Settings
from robot_dynamics.control.task import Task
from robot_dynamics.control.tracking import Tracking
from robot_dynamics.control.two_masses import LINK
from robot_dynamics.errors import ArgumentError, check_known
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.simulation.plant import Plant
from robot_dynamics.simulation.sensors import Sensor
from robot_dynamics.trajectory.trajectory import State, Trajectory

ControlFunction = Callable[[float, State, Measured], Array]
"""Efforts, shape (n,), of time (s), desired state and measured state."""


@dataclass(frozen=True, eq=False)
class Log:
    """Record of a closed loop: N control cycles of n joints.

    Args:
        joint_names: Order of the columns.
        t: Shape (N,), s.
        q: Measured positions, shape (N, n).
        qd: Measured velocities, shape (N, n).
        q_d: Desired positions, shape (N, n).
        qd_d: Desired velocities, shape (N, n).
        tau: Efforts that acted, after limiting, shape (N, n).
        saturated: Whether a joint's effort was at its limit, by the controller or by the plant,
            shape (N, n).
        continuous: Whether a joint is continuous, shape (n,).
    """

    joint_names: tuple[str, ...]
    t: Array
    q: Array
    qd: Array
    q_d: Array
    qd_d: Array
    tau: Array
    saturated: Array
    continuous: Array

    @property
    def error(self) -> Array:
        """Desired minus measured positions, shape (N, n)."""
        return position_error(self.q_d, self.q, self.continuous)

    @property
    def rms_error(self) -> Array:
        """Root mean square of the position error of each joint, shape (n,)."""
        return np.sqrt(np.mean(self.error**2, axis=0))

    @property
    def peak_error(self) -> Array:
        """Largest position error of each joint, shape (n,)."""
        return np.abs(self.error).max(axis=0)

    @property
    def peak_effort(self) -> Array:
        """Largest effort of each joint, shape (n,)."""
        return np.abs(self.tau).max(axis=0)


def simulate(
    plant: Plant,
    controller: ControlFunction,
    trajectory: Trajectory,
    *,
    rate: float = 1000.0,
    duration: float | None = None,
    sensor: Sensor | None = None,
    command_delay: float = 0.0,
    encoders: str = LINK,
) -> Log:
    """Let a controller drive a plant along a trajectory.

    The plant is placed at rest at the start of the trajectory. Between two
    control cycles the effort stays constant.

    Args:
        plant: Plant with the joints of the trajectory, in the same order.
        controller: Called at every control cycle.
        trajectory: Desired motion, from time zero.
        rate: Control cycles per second; the plant's step must divide the cycle.
        duration: Time to simulate, s; by default that of the trajectory.
        sensor: Reports the state to the controller once a cycle; a lost report is replaced by the
            last one. By default the controller receives the true state.
        command_delay: Time until a command acts, s, a whole number of plant steps. The first
            command acts from the start.
        encoders: Side of elastic joints that is measured, one of `two_masses.ENCODERS`;
            the log has the links.

    Returns:
        Record of all control cycles.

    Raises:
        ArgumentError: If the joints differ, or the plant's step does not divide the cycle or the
            delay.
        SimulationError: If the motion diverges.

    Examples:
        >>> from robot_dynamics import Dynamics, read_urdf
        >>> from robot_dynamics.control import Model, gains_for
        >>> from robot_dynamics.robot import find_robot
        >>> from robot_dynamics.simulation import LawController, Plant, perturbed, simulate
        >>> from robot_dynamics.trajectory import interpolate, polynomial_345
        >>> robot = read_urdf(find_robot("planar_2r"))
        >>> arm = Dynamics(robot)
        >>> controller = LawController(Model(arm, gains_for(arm)), "computed_torque", period=1e-3)
        >>> motion = interpolate(polynomial_345(robot.joint_names, [0.0, 0.0], [1.0, -0.5], 2.0))
        >>> log = simulate(Plant(perturbed(robot, 0.1, seed=1)), controller, motion)
        >>> log.rms_error.round(4)  # rad, with masses up to 10 % off
        array([0.0012, 0.0053])
    """
    if trajectory.joint_names != plant.robot.joint_names:
        raise ArgumentError(
            f"trajectory has joints {', '.join(trajectory.joint_names)} but the plant "
            f"{', '.join(plant.robot.joint_names)}; give both the same, in the same order"
        )
    steps = round(1.0 / (rate * plant.step_time))
    if steps < 1 or abs(steps * plant.step_time * rate - 1.0) > 1e-9:
        raise ArgumentError(
            f"rate {rate:g} Hz: a cycle is not a whole number of plant steps of "
            f"{plant.step_time:g} s; choose another rate or step"
        )
    late = round(command_delay / plant.step_time)
    if late < 0 or abs(late * plant.step_time - command_delay) > 1e-9:
        raise ArgumentError(
            f"command_delay {command_delay:g} s is not a whole number of plant steps of "
            f"{plant.step_time:g} s; choose another delay or step"
        )
    cycles = int(np.floor((trajectory.duration if duration is None else duration) * rate)) + 1
    t = np.arange(cycles) / rate
    desired = trajectory.sample(t)
    n = plant.robot.dof
    q, qd, tau = (np.empty((cycles, n)) for _ in range(3))
    saturated = np.zeros((cycles, n), dtype=bool)
    plant.reset(desired.q[0])
    measured = Measured(*plant.measured(encoders))
    commands: deque[Array] = deque(maxlen=late + 1)
    for k in range(cycles):
        q[k], qd[k] = plant.q, plant.qd
        state = State(desired.q[k], desired.qd[k], desired.qdd[k])
        if sensor is not None:
            measured = sensor.report(*plant.measured(encoders)) or measured
        else:
            measured = Measured(*plant.measured(encoders))
        command = controller(float(t[k]), state, measured)
        for _ in range(steps):
            commands.append(command)
            plant.step(commands[0])
        tau[k] = plant.tau
        saturated[k] = np.logical_or(plant.saturated, np.abs(plant.tau) >= plant.limit)
    return Log(
        trajectory.joint_names,
        t,
        q,
        qd,
        desired.q,
        desired.qd,
        tau,
        saturated,
        continuous_joints(plant.robot),
    )


class LawController:
    """The law of a mode along the desired motion, as `control.tracking` evaluates it.

    A compiled loop traces the same stages of the step.

    Args:
        model: The arm and its gains.
        mode: One of `control.MODES`, or of `control.laws.TASK_MODES` with a task.
        period: Time from one call to the next, s.
        effort_rate: Largest change of effort, N m/s or N/s, shape (n,) or one number.
        limit: Largest effort, shape (n,), N m or N; by default that of the URDF.
        task: Of the modes in task space: its end effector follows that of the desired motion.

    Attributes:
        tracking: The law.

    Raises:
        UnknownNameError: If there is no such mode.
    """

    def __init__(
        self,
        model: Model,
        mode: str,
        *,
        period: float,
        effort_rate: npt.ArrayLike = np.inf,
        limit: Array | None = None,
        task: Task | None = None,
    ) -> None:
        laws = MODES if task is None else TASK_MODES
        check_known("mode", mode, "robot_dynamics.control", laws)
        rate = np.asarray(effort_rate, dtype=np.float64)
        settings = Settings(mode, effort_rate=rate, longest_cycle=period, fade=0.0)
        self.tracking, self.period = Tracking(model, settings, limit, task), period

    def __call__(self, _t: float, desired: State, measured: Measured) -> Array:
        """Return the efforts of this cycle, shape (n,)."""
        return self.tracking.effort(desired, measured, self.period)


class ElasticController:
    """Feedforward and PD of the motors of elastic joints along a motion of the links.

    Args:
        model: The arm, its elasticity, its encoders and its gains.
        motion: Desired motion; the feedforward is exact with a `smoothness` of 4.
        period: Time from one call to the next, s.
    """

    def __init__(self, model: Model, motion: Trajectory, *, period: float) -> None:
        settings = Settings("feedforward", longest_cycle=period, fade=0.0)
        self.tracking, self.period = Tracking(model, settings), period
        self._motion = motion

    def __call__(self, t: float, desired: State, measured: Measured) -> Array:
        """Return the efforts of this cycle, shape (n,)."""
        q, qd, _ = self._reference(t, desired)
        middle = t + self.period / 2.0  # of the cycle for which the effort is held
        tau = self._reference(middle, self._motion.sample(middle)).tau
        return self.tracking.effort(State(q, qd, desired.qdd), measured, self.period, tau)

    def _reference(self, t: float, desired: State) -> DriveReference:
        higher = self._motion.higher(t) if self._motion.smoothness == 4 else None
        return drive_reference(self.tracking.model, desired, higher)
