"""A simulated arm without ROS, whose task, load and control can change while it moves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from robot_dynamics.control import (
    Controller,
    Friction,
    Measured,
    Model,
    Reference,
    Settings,
    effort_limits,
    gains_for,
)
from robot_dynamics.control.controller import prepare
from robot_dynamics.control.laws import TASK_MODES
from robot_dynamics.control.targets import POSE
from robot_dynamics.control.task import Task
from robot_dynamics.control.tracking import Tracking
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.errors import SimulationError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot import Inertia, Robot
from robot_dynamics.robot.base_motion import BaseMotion
from robot_dynamics.simulation import Plant, check_physical
from robot_dynamics.simulation.base_motions import Poses, Sine
from robot_dynamics.spatial import Pose
from robot_dynamics.trajectory import Follower, Waypoints, excitation, random_poses
from robot_dynamics.trajectory.motion_limits import shrunk_to_fit
from robot_dynamics.trajectory.motions import middle_pose
from robot_dynamics.viewer.snapshot import Snapshot, tool_frame

BY_HAND, EXCITATION, POSES = "by hand", "all joints together", "random poses"
FROM_FILE, STILL = "from a file", "hold still"

CYCLE_S = 1e-3
"""Time of a control cycle and of a step of the plant, s."""

LONGEST_STEP_S = 0.1
"""Longest stall that is caught up, s; after a longer one the page continues without."""

APPROACH_S = 1.5
"""Time to the start of a motion, s."""

OBSERVED_EVERY = 5
"""Cycles between two calls of the observer."""

LOAD_DENSITY = 3000.0
"""Density of the ball that represents a payload, kg/m^3."""


@dataclass(frozen=True, eq=False)
class ArmSettings:
    """Command and settings of the arm.

    Args:
        motion: One of `LiveArm.motions`; in task space only what `LiveArm.aim` asks for moves it.
        mode: One of `control.laws.ALL_MODES`.
        feedforward: Whether the mode feedforward adds its efforts to PD.
        payload: Mass at the tool, kg.
        payload_known: Whether the controller knows the payload.
        mass_error: Relative error in the mass of every link.
        push: Force on the tool, shape (3,), N, axes of the root link.
        positions: Positions by hand, shape (n,), rad or m.
        frame: End effector in task space, one of `LiveArm.end_effectors`; empty for the first.
    """

    motion: str = EXCITATION
    mode: str = "feedforward"
    feedforward: bool = True
    payload: float = 0.0
    payload_known: bool = True
    mass_error: float = 0.0
    push: tuple[float, float, float] = (0.0, 0.0, 0.0)
    positions: Array | None = None
    frame: str = ""


class LiveArm:
    """A simulated arm under control, advanced by `advance`.

    Args:
        robot: The robot.
        waypoints: Motion from a file, offered as `FROM_FILE`.
        base: Motion of the root link, which the laws know; by default it stands.

    Raises:
        RobotError: If it has bodies that cannot be simulated, or joints that move no inertia.

    Attributes:
        frame: Link or frame that carries the payload and is pushed.
        motions: Valid values of `ArmSettings.motion`.
        end_effectors: Frames that can be the end effector in task space.
        motion: The current motion; empty before the first.
        time: Time since creation, s.
        observe: Called in every `OBSERVED_EVERY`-th cycle with the snapshot, desired velocities and
            efforts of feedforward, shape (n,) each, or None by hand.
    """

    observe: Callable[[Snapshot, Array | None, Array | None], None] | None = None

    def __init__(
        self,
        robot: Robot,
        waypoints: Waypoints | None = None,
        base: Sine | Poses | None = None,
    ) -> None:
        check_physical(robot)
        self.robot, self._base = robot, base
        self.dynamics = Dynamics(robot)
        self.frame = tool_frame(robot)
        self.limit, self._none = effort_limits(robot), np.zeros(robot.dof)
        friction = Friction.of(robot)
        self._model = Model(self.dynamics, gains_for(self.dynamics), friction, frame=self.frame)
        self._loaded = _LoadedArm(self.dynamics, self.frame)
        middle = middle_pose(robot)
        stops: Any = self._loaded
        self._plant = Plant(robot, middle, dynamics=stops, stops=True, step=CYCLE_S, base=base)
        self._follower = Follower(robot.joint_names, middle, continuous=self._model.continuous)
        chosen = {EXCITATION: excitation(robot, 8.0, rate=25.0), POSES: random_poses(robot, seed=1)}
        self._motions = {
            name: shrunk_to_fit(motion, robot, lambda state: self._model.feedforward(*state))
            for name, motion in chosen.items()
        }
        if waypoints is not None:
            self._motions = {FROM_FILE: waypoints, **self._motions}
        self.motions = (*self._motions, STILL, BY_HAND)
        self.motion = ""
        self.end_effectors = tuple(dict.fromkeys((*robot.tips, self.frame)))
        self._task: Task | None = None
        self._controller: Controller | None = None  # of a mode in task space
        self._laws: dict[str, Tracking] = {}
        self._compiled: set[tuple[str, str]] = set()
        self._settings = ArmSettings()
        self.time = 0.0

    def advance(self, seconds: float, settings: ArmSettings) -> None:
        """Simulate for a time.

        Args:
            seconds: Time to simulate, s; at most `LONGEST_STEP_S`.
            settings: Settings from now on.

        Raises:
            SimulationError: If the motion diverged; the arm is then reset.
        """
        self._take_up(settings)
        cycles = round(min(seconds, LONGEST_STEP_S) / CYCLE_S)
        if self.motion == BY_HAND:
            self.time += cycles * CYCLE_S
            if self.observe is not None:
                self.observe(self.snapshot(), None, None)
            return
        try:
            for k in range(cycles):
                reference = self._cycle()
                if self.observe is not None and k % OBSERVED_EVERY == 0:
                    led = (None, None) if reference is None else (reference.qd, reference.tau)
                    self.observe(self.snapshot(), *led)
        except SimulationError:
            self.reset()
            raise

    def reset(self) -> None:
        """Put the arm at rest in the middle of its ranges, and begin its motion anew."""
        middle = middle_pose(self.robot)
        self._plant.reset(middle, time=self.time)
        self._follower.hold(middle)
        self.motion = ""
        if self._controller is not None:  # the arm is elsewhere at once, as no arm can be
            self._controller.forget()
        if self._task is not None:
            self._task.forget()

    def prepared(self, settings: ArmSettings) -> bool:
        """Return whether the law of some settings is compiled; in task space that takes seconds."""
        return settings.mode not in TASK_MODES or self._law_of(settings) in self._compiled

    def _law_of(self, settings: ArmSettings) -> tuple[str, str]:
        """Return mode and end effector."""
        return settings.mode, settings.frame or self.end_effectors[0]

    def aim(self, pose: Pose) -> None:
        """Lead the end effector to a pose in the root link; joint modes ignore it."""
        if self._led is not None:
            self._led.aim(pose, self.time)

    @property
    def target(self) -> Pose | None:
        """Target of the end effector in the root link, or the pose at which it is held, or None."""
        if self._led is None:
            return None
        arrived = self._led.arrived
        if self._led.field("given")[0] == POSE:
            return Pose(arrived["pose_rotation"].copy(), arrived["pose_position"].copy())
        return self._led.target.pose

    @property
    def _led(self) -> Task | None:
        """The task in a mode of task space."""
        return self._task if self._settings.mode in TASK_MODES else None

    @property
    def payload(self) -> Inertia:
        """Payload of the tool."""
        return ball(self._settings.payload)

    def snapshot(self) -> Snapshot:
        """Return the present state."""
        plant, by_hand = self._plant, self.motion == BY_HAND
        followed = not by_hand and self._led is None
        base = None if self._base is None else self._base(self.time)
        tau = plant.tau
        if by_hand:
            held = self._loaded.bias(plant.q, plant.qd, base)
            tau = held if base is None else held.tau
        return Snapshot(
            self.time,
            plant.q,
            plant.qd,
            plant.qdd,
            tau,
            self._follower.sample(self.time).q if followed else None,
            self.payload,
            np.array(self._settings.push),
            base=base,
            base_position=None if self._base is None else self._base.pose(self.time)[0],
        )

    def _take_up(self, settings: ArmSettings) -> None:
        in_task_space = settings.mode in TASK_MODES
        if in_task_space:
            settings = replace(settings, motion=STILL)
            self._prepare(settings)
        if in_task_space or self._led is not None:  # the motion later begins where the arm is
            self._follower.hold(self._plant.q)
            self.motion = ""
        self._settings = settings
        self._loaded.load(1.0 + settings.mass_error, self.payload)
        known = settings.payload > 0.0 and settings.payload_known
        self._known = replace(
            self._model,
            payload=self.payload if known else None,
            frame=self.frame,
        )
        law = "pd" if settings.mode == "feedforward" and not settings.feedforward else settings.mode
        if not in_task_space:
            if law not in self._laws:
                self._laws[law] = Tracking(self._model, Settings(law, fade=0.0))
            self._law = self._laws[law]
        if settings.motion != self.motion:
            self._begin(settings.motion)
        if settings.motion == BY_HAND and settings.positions is not None:
            self._plant.reset(settings.positions, time=self.time)

    def _prepare(self, settings: ArmSettings) -> None:
        """Prepare a controller of the chosen end effector, held if mode or frame has changed."""
        before, (mode, end_effector) = self._task, self._law_of(settings)
        if before is None or before.end_effector != end_effector:
            self._task = Task(self._model, end_effector)
        elif self._settings.mode == mode:
            return
        prepare(replace(self._model, frame=self.frame), mode, end_effector)
        self._compiled.add((mode, end_effector))
        self._controller = Controller(self._model, Settings(mode, settling_time=0.0), self._task)
        self._update(self._controller)  # begins at the present pose

    def _update(self, controller: Controller) -> Array:
        """Return the efforts of a cycle in task space; a stopped arm goes on at once."""
        if controller.stopped_by is not None:
            controller.resume()
        controller.set_state(Measured(self._plant.q, self._plant.qd), self.time)
        command = controller.update(self.time)
        return self._none if command is None else command.tau

    def _begin(self, motion: str) -> None:
        if BY_HAND in (motion, self.motion):
            self._follower.hold(self._plant.q)
        if motion == STILL:
            self._follower.stop(self.time)
        self.motion = motion
        self._send()

    def _send(self) -> None:
        if self.motion in self._motions:
            self._follower.accept(self._motions[self.motion].delayed(APPROACH_S), self.time)

    def _cycle(self) -> Reference | None:
        measured = Measured(self._plant.q, self._plant.qd)
        if self._base is not None:
            self._known = replace(self._known, base=self._base(self.time))
        if self._led is not None and self._controller is not None:
            self._controller.model = self._known
            self._drive(self._update(self._controller))
            return None
        if not self._follower.moving(self.time):
            self._send()
        desired = self._follower.sample(self.time)
        self._known.follow(desired.q)
        reference = Reference(desired.q, desired.qd, self._known.feedforward(*desired))
        self._law.model = self._known
        self._drive(self._law.effort(desired, measured, CYCLE_S, reference.tau))
        return reference

    def _drive(self, command: Array) -> None:
        self._loaded.push(np.array(self._settings.push), self._plant.q)
        self._plant.step(command)
        self.time += CYCLE_S


class _LoadedArm:
    """Equations of the true arm: heavier than its model, loaded and pushed.

    Scaling all masses by f scales M and b by f, so efforts are divided by f instead.
    """

    def __init__(self, dynamics: Dynamics, frame: str) -> None:
        self._dynamics = dynamics
        self._frame = frame
        self._wrench = np.zeros(6)
        self.load(1.0, Inertia.zero())

    def load(self, mass_factor: float, payload: Inertia) -> None:
        """Make every link heavier by a factor, and load the tool."""
        f = mass_factor
        self.mass_factor, self.payload = f, payload
        self._scaled = Inertia(
            payload.mass / f, payload.first_moment / f, payload.second_moment / f
        )

    def push(self, force: Array, q: Array) -> None:
        """Push the tool with a force, shape (3,), N, axes of the root link."""
        self._wrench = np.zeros(6)
        if force.any():  # reaction of the arm to the push, in the axes of the tool
            self._wrench[:3] = -(self._dynamics.pose(q, self._frame).rotation.T @ force)

    def forward(self, q: Array, qd: Array, tau: Array, base: BaseMotion | None = None) -> Any:
        """Accelerations, shape (n,); on a base that moves with its wrench over the mass factor."""
        tau, load = tau / self.mass_factor, self._load()
        if base is None:
            return self._dynamics.forward(q, qd, tau, **load)
        return self._dynamics.on_moving_base.forward(q, qd, tau, base=base, **load)

    def bias(self, q: Array, qd: Array, base: BaseMotion | None = None) -> Any:
        """Efforts without acceleration, shape (n,); on a base that moves with its wrench."""
        f, load, none = self.mass_factor, self._load(), np.zeros_like(q)
        if base is None:
            return f * self._dynamics.inverse(q, qd, none, **load)
        found: Any = self._dynamics.on_moving_base.inverse(q, qd, none, base=base, **load)
        return found._replace(tau=f * found.tau, base_wrench=f * found.base_wrench)

    def mass_matrix(self, q: Array) -> Array:
        """Inertia, shape (n, n), column by column."""
        n = len(q)
        if not self.payload.mass:
            return self.mass_factor * self._dynamics.mass_matrix(q)
        many, none = np.tile(q, (n, 1)), np.zeros((n, n))
        columns = self._dynamics.inverse(many, none, np.eye(n), **self._load())
        still = self._dynamics.inverse(q, none[0], none[0], **self._load())
        return self.mass_factor * (columns - still).T

    def _load(self) -> dict[str, Any]:
        if not (self.payload.mass or self._wrench.any()):
            return {}
        wrench = self._wrench / self.mass_factor
        return {"payload": self._scaled, "wrench": wrench, "frame": self._frame}


def ball(mass: float) -> Inertia:
    """Return a solid ball of a mass, kg, at the origin."""
    radius = (3.0 * mass / (4.0 * np.pi * LOAD_DENSITY)) ** (1.0 / 3.0)
    return Inertia.from_com(mass, np.zeros(3), 0.4 * mass * radius**2 * np.eye(3))
