"""Task: the end effector of an arm in task space, its settings, and the targets that it is given.

The step moves the target and evaluates the law; see `targets` and `task_space`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from robot_dynamics.control.fields import Layout
from robot_dynamics.control.limits import effort_limits, velocity_limits
from robot_dynamics.control.obstacles import OBSTACLES, Obstacle
from robot_dynamics.control.target_motion import pose_error
from robot_dynamics.control.targets import (
    TARGET_ARRIVED,
    TARGET_EVENTS,
    TARGET_SETTINGS,
)
from robot_dynamics.control.task_settings import FRAME, EndEffectorMobility, TaskSettings
from robot_dynamics.foundation.arrays import Array, frozen
from robot_dynamics.robot.joint_units import unit_of
from robot_dynamics.spatial import Pose

if TYPE_CHECKING:
    from robot_dynamics.control.model import Model
    from robot_dynamics.robot.robot import Robot

JOINT_SHARE = 0.5
"""Largest joint speed that a target asks for, relative to the speed limit of the joint."""

SAME = np.array([1e-3, 1e-3, 1e-3, 1e-2, 1e-2, 1e-2])
"""Distance of an end effector in two descriptions of an arm that counts as none, m and rad."""

DEFAULT_FRICTION = 0.01
"""Dry friction that a model does not know, relative to the effort limit."""

ROOT_AXES = frozen(np.eye(3))
"""Axes of the root link."""

FIELDS = {**TARGET_ARRIVED, **TARGET_EVENTS}
"""Inputs of a task."""


def largest_joint_speeds(robot: Robot) -> Array:
    """Return the joint speeds that a target asks for at most, shape (n,), rad/s or m/s."""
    return JOINT_SHARE * velocity_limits(robot)


class MovesTarget(Protocol):
    """A controller: it moves the target of its task."""

    def use_task(self) -> None:
        """Use other settings of the task."""

    def field(self, name: str) -> Array:
        """Return a field of the present state."""


class TargetState(NamedTuple):
    """Motion of the target.

    Attributes:
        pose: Pose in the root link.
        twist: Shape (6,), m/s and rad/s.
        acceleration: Its derivative in time, shape (6,).
    """

    pose: Pose
    twist: Array
    acceleration: Array

    @property
    def rotation(self) -> Array:
        """Axes, shape (3, 3)."""
        return self.pose.rotation

    @property
    def position(self) -> Array:
        """Origin, shape (3,), m."""
        return self.pose.translation


class Task:
    """The end effector of an arm in task space. A controller that takes it moves the target.

    Args:
        model: The arm.
        end_effector: Link or frame.
        settings: By default those of `EndEffectorMobility.defaults`.

    Attributes:
        end_effector: Name of the end effector.
        dynamics: Equations of the arm.
        defaults: Settings that fit the arm.
        settings: See `use`.
        arrived: Targets and measured wrenches, by the names of `FIELDS`.
    """

    def __init__(
        self, model: Model, end_effector: str, settings: TaskSettings | None = None
    ) -> None:
        self.end_effector, self.dynamics = end_effector, model.dynamics
        self.mobility = EndEffectorMobility(model.dynamics, end_effector)
        self.defaults = self.mobility.defaults(model.bandwidth)
        self.settings = settings or self.defaults
        layout = Layout(FIELDS, model.dynamics.robot.dof)
        self.arrived = layout.views(layout.initial())
        self._controller: MovesTarget | None = None
        self._fastest: dict[TaskSettings, float] = {}
        self._numbers: tuple[tuple[object, ...], dict[str, Array]] = ((), {})

    def bind(self, controller: MovesTarget, arrived: dict[str, Array]) -> None:
        """Let a controller read what arrives, from now on in its own arrays.

        Args:
            controller: The controller.
            arrived: Its inputs, by name.
        """
        for name in FIELDS:
            arrived[name][:] = self.arrived[name]
        self._controller, self.arrived = controller, {name: arrived[name] for name in FIELDS}

    def go_on_from(self, before: Task, q: Array) -> bool:
        """Return whether the targets of a task of the same arm may be followed on.

        Args:
            before: Task of another description of the arm.
            q: Measured positions, shape (n,).

        Returns:
            True if the end effector and its pose are the same.
        """
        poses = [task.dynamics.pose(q, task.end_effector) for task in (before, self)]
        was, now = (Pose(found.rotation, found.position) for found in poses)
        for name, value in before.arrived.items():
            self.arrived[name][:] = value
        return (
            self.end_effector == before.end_effector
            and not (np.abs(pose_error(was, now)) > SAME).any()
        )

    # -- the end effector
    # ---------------------------------------------------------------------------

    def pose(self, model: Model, q: Array) -> Pose:
        """Compute the pose of the end effector.

        Args:
            model: Model of the arm.
            q: Joint positions, shape (n,), rad or m.

        Returns:
            Pose in the root link.
        """
        found = model.dynamics.pose(q, self.end_effector)
        return Pose(found.rotation, found.position)

    def error(self, pose: Pose) -> Array:
        """Compute target minus pose, in axes of the root link.

        Args:
            pose: Pose of the end effector in the root link.

        Returns:
            Shape (6,), m and rad.
        """
        return pose_error(pose, self.target.pose)

    def wrench_effort(self, model: Model, q: Array, wrench: Array) -> Array:
        """Compute the joint efforts of a wrench of the end effector.

        Args:
            model: Model of the arm.
            q: Joint positions, shape (n,), rad or m.
            wrench: Force (N) and moment (N m), in axes of the root link, shape (6,).

        Returns:
            Efforts, shape (n,), N m or N.
        """
        S = self.axes
        held = self.settings.held.reshape(2, 3) * (np.reshape(wrench, (2, 3)) @ S)
        return np.asarray(model.dynamics.jacobian(q, self.end_effector).T @ (held @ S.T).ravel())

    @property
    def axes(self) -> Array:
        """Axes of the task in the root link, as columns."""
        return self.target.rotation if self.settings.axes == FRAME else ROOT_AXES

    # -- settings ---------------------------------------------------------------------------

    def use(self, settings: TaskSettings) -> None:
        """Use other settings from the next cycle on; the controller then fades to their efforts.

        An end effector that would spring back, as it was led away while soft or free, is held where
        it is.

        Args:
            settings: The new settings.
        """
        if settings is self.settings:
            return
        self.settings = settings
        if self._controller is not None:
            self._controller.use_task()

    def numbers(self, model: Model) -> dict[str, Array]:
        """Return the settings of the step.

        Args:
            model: Model of the arm.

        Returns:
            Arrays by the names of `TARGET_SETTINGS`.
        """
        settings = self.settings
        known = settings, model.fastest, model.bandwidth
        if self._numbers[0] != known:
            found = {
                **self.mobility.settings(
                    settings.parameters, model.bandwidth, model.fastest, settings.damping
                ),
                **self.mobility.of_stiffness(settings, model.fastest),
                "task_fast": largest_joint_speeds(self.dynamics.robot),
            }
            self._numbers = known, {name: np.asarray(found[name]) for name in TARGET_SETTINGS}
        return self._numbers[1]

    def share(self, settings: TaskSettings, fastest: float) -> float:
        """Return the share of a stiffness that a loop bears in the lightest direction of any pose.

        See `task_space.StableSpring`.

        Args:
            settings: The settings.
            fastest: Largest natural frequency with which the loop is stable, rad/s.

        Returns:
            Share of the stiffness, 0 to 1.
        """
        if settings not in self._fastest:
            last = list(self._fastest.items())[-1:]  # which a loop may still use
            found = self.mobility.fastest_mode(settings.stiffness)
            self._fastest = {**dict(last), settings: found}
        square = (self._fastest[settings] / fastest) ** 2
        return 1.0 / (square + 1.0 / (1.0 + square))

    def weakness(
        self, settings: TaskSettings, fastest: float, friction: float = DEFAULT_FRICTION
    ) -> str:
        """Return a sentence about the joint that dry friction may hold; empty if there is none.

        Args:
            settings: The settings.
            fastest: Largest natural frequency with which the loop is stable, rad/s.
            friction: Dry friction that the model does not know, relative to the effort limit.

        Returns:
            One sentence, or "".
        """
        limit = effort_limits(self.dynamics.robot)
        efforts = self.mobility.joint_efforts(settings, fastest)
        needed = np.where(np.isfinite(limit) & (efforts > 0.0), friction * limit, 0.0)
        i = int(np.argmax(needed / np.maximum(efforts, 1e-12)))
        if efforts[i] >= needed[i]:
            return ""
        unit = unit_of(self.dynamics.robot, i, "effort")
        return (
            f"the end effector moves joint '{self.dynamics.robot.joint_names[i]}' with "
            f"{efforts[i]:.2g} {unit} at most, the stiffest that the rate and the delay of the "
            f"states bear: dry friction of {100.0 * friction:g} % of its effort limit is "
            f"{needed[i]:.2g} {unit}, and holds it"
        )

    # -- targets ----------------------------------------------------------------------------

    def aim(self, pose: Pose, now: float, stamp: float = 0.0) -> None:
        """Give a target pose in the root link, to which the end effector moves while the arm may.

        Args:
            pose: The pose.
            now: Time of its arrival, s.
            stamp: Time of its header, s, of any clock, for a stream of poses; 0 without one.
        """
        self.arrived["pose_stamp"][0] = stamp
        self.arrived["pose_rotation"][:] = pose.rotation
        self.arrived["pose_position"][:] = pose.translation
        self._came("pose_came", now)

    def drive(self, twist: Array, now: float, lasts: float) -> None:
        """Give a twist that lasts for a time.

        Args:
            twist: Linear, then angular velocity in axes of the root link, shape (6,), m/s and
                rad/s.
            now: Time of its arrival, s.
            lasts: Duration, s.
        """
        self.arrived["twist_given"][:], self.arrived["twist_lasts"][0] = twist, lasts
        self._came("twist_came", now)

    def exert(self, wrench: Array, now: float, lasts: float) -> None:
        """Give a wrench on the surroundings that lasts for a time.

        Args:
            wrench: Force (N) and moment (N m) in axes of the root link, shape (6,).
            now: Time of its arrival, s.
            lasts: Duration, s.
        """
        self.arrived["push_given"][:], self.arrived["push_lasts"][0] = wrench, lasts
        self._came("push_came", now)

    def set_posture(self, q: Array, now: float) -> None:
        """Give a posture, to which the joints that the task leaves free move.

        Args:
            q: Joint positions, shape (n,), rad or m; of a joint that turns without end, the nearest
                turn.
            now: Time of its arrival, s.
        """
        self.arrived["posture_given"][:] = q
        self._came("posture_came", now)

    def _came(self, name: str, now: float) -> None:
        """Note the time of a target; two of the same time are two targets."""
        last = float(self.arrived[name][0])
        self.arrived[name][0] = now if now > last else np.nextafter(last, np.inf)

    def set_measured_wrench(self, wrench: Array, now: float) -> None:
        """Take the measured wrench of the end effector.

        Args:
            wrench: Force (N) and moment (N m) about the end effector, in its axes, shape (6,).
            now: Time of its arrival, s.
        """
        self.arrived["measured_wrench"][:], self.arrived["measured_wrench_came"][0] = wrench, now

    def forget(self) -> None:
        """Forget target and wrench: in the next cycle the end effector is held where it is."""
        self.arrived["drops_pose"][0] = 1.0

    def stop(self) -> None:
        """Give up target and wrench: the end effector comes to rest, and exerts no more."""
        self.arrived["drops_target"][0] = 1.0

    # -- what the step made of them ---------------------------------------------------------

    @property
    def moved(self) -> bool:
        """Return whether a controller moves the target."""
        return self._controller is not None

    def field(self, name: str) -> Array:
        """Return a field of the state of the controller that moves the target.

        Args:
            name: Name of the field.

        Returns:
            Array; scalars have the shape (1,).
        """
        assert self._controller is not None, "no controller moves the target"
        return self._controller.field(name)

    @property
    def target(self) -> TargetState:
        """Motion of the target."""
        pose = Pose(self.field("target_rotation").copy(), self.field("target_position").copy())
        twist, acceleration = self.field("target_twist"), self.field("target_acceleration")
        return TargetState(pose, twist.copy(), acceleration.copy())

    @property
    def obstacle(self) -> str:
        """Reason for which the end effector stays away from its target; empty for none."""
        number = self.field("obstacle")[0]
        if not number:
            return ""
        robot, distances = self.dynamics.robot, self.field("behind").tolist()
        i, value, limit = (self.field(f"obstacle_{x}").item() for x in ("joint", "value", "limit"))
        sentence = OBSTACLES[Obstacle(int(number))]
        begin = OBSTACLES[Obstacle.NONE].words(robot, -1, *distances)
        return f"{begin}: {sentence.line(robot, int(i), value, limit)}"
