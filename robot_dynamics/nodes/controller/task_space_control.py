"""Modes of controller_node in task space: parameters, targets and reports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped, TwistStamped, WrenchStamped
from sensor_msgs.msg import JointState

from robot_dynamics.control import Model
from robot_dynamics.control.laws import ALL_MODES, TASK_MODES
from robot_dynamics.control.load_checks import heavy_wrench
from robot_dynamics.control.refusals import refusal_words
from robot_dynamics.control.status import WITHOUT_STATES
from robot_dynamics.control.targets import MEASURED, UNMEASURED
from robot_dynamics.control.task import Task
from robot_dynamics.control.task_settings import ForceFeedback, TaskSettings
from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.units import NS_PER_S
from robot_dynamics.kinematics import frame_pose
from robot_dynamics.nodes.controller.controller_base import ControllerBase
from robot_dynamics.nodes.ros.load_messages import wrench_from_msg
from robot_dynamics.nodes.ros.messages import JointReader, nanoseconds
from robot_dynamics.nodes.ros.node_parameters import listed_group
from robot_dynamics.nodes.ros.task_space_messages import (
    pose_from_msg,
    pose_msg,
    twist_from_msg,
    twist_msg,
)
from robot_dynamics.nodes.ros.topics import COMMAND_QOS, OUTPUT_QOS, publishers_of
from robot_dynamics.robot.endpoint import end_effector_by_rule
from robot_dynamics.robot.transforms import merge_fixed
from robot_dynamics.spatial import Pose
from robot_dynamics.statics.end_effector_statics import moved_wrench

POSE, TWIST, WRENCH, POSTURE = "target_pose", "target_twist", "target_wrench", "target_posture"
"""Topics of the targets."""

MEASURED_WRENCH = "force_torque"
"""Topic of the measured wrench."""

TAKE_PERIOD_S = 2e-3
"""Period of taking targets, after a cycle, s."""

OUTPUT_PERIOD_S = 0.02
"""Period of the outputs, s."""


LOWER = 0.9
"""Factor on the share of the stiffness in use from which a lower one is logged."""


TaskParameters = listed_group("task")
"""Control of the end effector, in the modes in task space."""

SHARED = {f.name for f in fields(TaskSettings)} - {"feedback"}
"""Parameters that are settings of the same name."""


def settings_of(parameters: Any, defaults: TaskSettings) -> TaskSettings:
    """Return the settings, with those of the arm where a parameter is empty.

    Raises:
        ArgumentError: One line that names the parameter and the remedy.
    """
    given: dict[str, Any] = {name: getattr(parameters, name) for name in SHARED}
    given |= {name: getattr(defaults, name) for name in SHARED if given[name] == ()}
    force = {f.name: getattr(parameters, f"force_{f.name}") for f in fields(ForceFeedback)}
    at = "task.force_"
    try:
        feedback = ForceFeedback(**force)
        at = "task."
        return TaskSettings(**given, feedback=feedback if parameters.force_feedback else None)
    except RobotDynamicsError as error:
        raise ArgumentError(f"{at}{error}") from None


class TaskSpaceControl:
    """Targets, settings and reports of the end effector of a controller.

    The loop calls the callbacks of topics and `publish`; all else runs in other threads.

    Args:
        node: The controller, with its model.

    Attributes:
        wanted: The task of the end effector and its settings from the next cycle on; None before
            the first mode in task space.
        inputs: Subscribers of the targets.
    """

    def __init__(self, node: ControllerBase) -> None:
        self._node = node
        self.wanted: tuple[Task, TaskSettings] | None = None
        self._tree = merge_fixed(node.robot)
        self._defaults = TaskSettings(np.ones(6), np.ones(6))
        fitting = node.tuning.at_rate(node.arm.base)
        self._at_rate = {name: getattr(fitting, name) for name in ("bandwidth", "fastest")}
        self.declared = node.group(TaskParameters, "task", check=self._check, changed=self._changed)
        self._due = 0.0
        self.inputs = [
            node.create_loop_subscriber(kind, topic, callback, COMMAND_QOS, period=TAKE_PERIOD_S)
            for kind, topic, callback in (
                (PoseStamped, POSE, self._on_pose),
                (TwistStamped, TWIST, self._on_twist),
                (WrenchStamped, WRENCH, self._on_wrench),
                (JointState, POSTURE, self._on_posture),
                (WrenchStamped, MEASURED_WRENCH, self._on_measured_wrench),
            )
        ]
        self._pose_out = node.create_publisher(PoseStamped, "cartesian_pose", OUTPUT_QOS)
        self._error_out = node.create_publisher(TwistStamped, "cartesian_error", OUTPUT_QOS)
        self._contested: dict[str, str] = {}  # topics, and the line about their publishers
        self._reported = dict.fromkeys(("dropped", "obstacle_reports", "pressing"), 0.0)
        self._share, self._weakness = 1.0, ""

    @property
    def task(self) -> Task | None:
        """The task of the end effector."""
        return None if self.wanted is None else self.wanted[0]

    # -- settings, in the executor's thread -----------------------------------------------------

    def prepare(self, mode: str, model: Model) -> None:
        """Compile a mode for a model before the loop uses them; a mode of joints needs nothing.

        Raises:
            RobotDynamicsError: If the robot has several tips and no parameter names the end
                effector.
        """
        tree = merge_fixed(model.dynamics.robot)
        if not ALL_MODES[mode].in_task_space:
            self._tree = tree
            return
        parameters, task = self.declared.value, self.task
        end_effector = self.frame(mode, parameters)
        if task is None or (task.end_effector, task.dynamics) != (end_effector, model.dynamics):
            # Defaults for states at the rate of the node, not for those of a busy moment
            if task is None or task.end_effector != end_effector:
                self._node.get_logger().info(
                    f"the end effector is '{end_effector}'; task.frame names another"
                )
            task = Task(replace(model, **self._at_rate), end_effector)
        settings = settings_of(parameters, task.defaults)
        weakness = task.weakness(settings, self._at_rate["fastest"])
        if weakness != self._weakness:
            self._weakness = weakness
            if weakness:
                self._node.get_logger().warning(weakness)
        self.wanted, self._tree = (task, settings), tree

    def frame(self, mode: str, parameters: Any = None) -> str:
        """Return the end effector.

        Raises:
            ArgumentError: If the robot has several tips and no parameter names the end effector.
        """
        parameters = parameters or self.declared.value
        end_effector = parameters.frame or end_effector_by_rule(self._tree)
        if end_effector is None:
            tips = self._tree.tips
            raise ArgumentError(
                f"mode '{mode}' needs an end effector, but robot '{self._tree.name}' has "
                f"{len(tips)} tips ({', '.join(tips)}); name one in the parameter task.frame"
            )
        return end_effector

    @property
    def _mode(self) -> str:
        """The present mode in task space, or the one that it last had."""
        mode = self._node.parameters.mode
        return mode if mode in TASK_MODES else next(iter(TASK_MODES))

    @property
    def _in_use(self) -> bool:
        return self._node.parameters.mode in TASK_MODES

    def _check(self, value: Any) -> None:
        """Refuse unknown frames and impossible settings."""
        if value.frame:
            self._tree.frame(value.frame)
        settings_of(value, self._defaults)
        if self.wanted is not None and self._in_use:
            self.frame(self._mode, value)

    def _changed(self, value: Any) -> None:
        if self._in_use:
            self._node.prepare_mode(self._mode, self._node.controller.model)

    # -- targets, in the loop -------------------------------------------------------------------

    def _task_for(self, topic: str, frame: str) -> tuple[Task, Pose, float]:
        """Return the task, the pose of a frame in the root link, and the time of the message.

        Raises:
            RobotDynamicsError: One line on why a target is ignored.
        """
        node, now = self._node, self._node.now()
        mode = node.controller.settings.mode
        task = node.controller.task
        if task is None or not node.controller.in_task_space:
            raise ArgumentError(
                f"{topic} is ignored: mode '{mode}' controls the joints; set the parameter mode "
                f"to {' or '.join(TASK_MODES)}"
            )
        if not self._has_one_publisher(task, topic):
            raise ArgumentError(self._contested.get(topic, f"{topic} has several publishers"))
        if node.controller.status in WITHOUT_STATES:
            raise ArgumentError(f"{topic} is ignored: no joint_states come")
        try:
            return task, self._pose_of(task, frame), now
        except RobotDynamicsError as error:
            raise ArgumentError(f"{topic} is ignored: {error}") from None

    def _pose_of(self, task: Task, frame: str) -> Pose:
        """Return the present pose of a frame in the root link."""
        q = self._node.states.position
        if frame in ("", self._tree.links[0].name):
            return Pose.identity()
        if frame == task.end_effector:
            return task.pose(self._node.controller.model, q)
        return Pose(*frame_pose(self._tree, q, frame))

    def _on_pose(self, msg: PoseStamped) -> None:
        task, X, now = self._task_for(POSE, msg.header.frame_id)
        stamp = nanoseconds(msg.header.stamp) / NS_PER_S
        task.aim(X @ _read(POSE, pose_from_msg, msg), now, stamp)

    def _on_twist(self, msg: TwistStamped) -> None:
        task, X, now = self._task_for(TWIST, msg.header.frame_id)
        twist = _turned(X, _read(TWIST, twist_from_msg, msg))
        task.drive(twist, now, self.declared.value.twist_timeout)

    def _on_wrench(self, msg: WrenchStamped) -> None:
        task, X, now = self._task_for(WRENCH, msg.header.frame_id)
        wrench = _turned(X, _read(WRENCH, wrench_from_msg, msg))
        self._check_wrench(task, wrench)
        task.exert(wrench, now, self.declared.value.wrench_timeout)

    def _on_posture(self, msg: JointState) -> None:
        task, _, now = self._task_for(POSTURE, "")
        given = JointReader(POSTURE, self._node.controller.joint_names)
        given.read(msg)
        if not given.complete:
            missing = ", ".join(given.missing)
            raise ArgumentError(f"{POSTURE} is ignored: it does not name {missing}")
        task.set_posture(given.position, now)

    def _check_wrench(self, task: Task, wrench: Array) -> None:
        """Refuse a wrench that the joints cannot exert beside gravity in the present pose."""
        controller, q = self._node.controller, self._node.states.position
        effort = task.wrench_effort(controller.model, q, wrench)
        found = heavy_wrench(controller.model.gravity(q), controller.limit, effort)
        if why := refusal_words(found, self._node.robot):
            raise ArgumentError(f"{WRENCH} is ignored: {why}")

    def _on_measured_wrench(self, msg: WrenchStamped) -> None:
        """Take the wrench of the surroundings on the end effector, which exerts the opposite."""
        task = self._node.controller.task
        if task is None or task.settings.feedback is None:
            return
        wrench = _read(MEASURED_WRENCH, wrench_from_msg, msg)
        try:
            own = self._tree.frame(task.end_effector)
            sensor = self._tree.frame(msg.header.frame_id or task.end_effector)
        except RobotDynamicsError as error:
            raise ArgumentError(f"{MEASURED_WRENCH} is ignored: {error}") from None
        if own.link != sensor.link:
            raise ArgumentError(
                f"{MEASURED_WRENCH} is ignored: frame '{msg.header.frame_id}' moves against "
                f"'{task.end_effector}'"
            )
        task.set_measured_wrench(
            -moved_wrench(own.pose.inverse() @ sensor.pose, wrench), self._node.now()
        )

    def publish(self, now: float) -> None:
        """Publish pose and error of the end effector if they are due."""
        node = self._node
        if now < self._due:
            return
        self._due = now + OUTPUT_PERIOD_S
        task = node.controller.task
        if task is None or not node.controller.in_task_space:
            return
        poses, errors = (p.get_subscription_count() for p in (self._pose_out, self._error_out))
        if not (poses or errors):
            return
        root, stamp = self._tree.links[0].name, node.get_clock().now().to_msg()
        pose = task.pose(node.controller.model, node.states.position)
        if poses:
            self._pose_out.publish(pose_msg(root, stamp, pose))
        if errors:
            self._error_out.publish(twist_msg(root, stamp, task.error(pose)))

    # -- reports, in another thread -------------------------------------------------------------

    def report(self) -> None:
        """Log what ends or refuses a target, each fact once."""
        node, task = self._node, self.task
        if task is None or not task.moved or not self._in_use:
            return
        for topic in (POSE, TWIST, WRENCH, POSTURE):
            self._has_one_publisher(task, topic)
        before, now = self._reported, {name: float(task.field(name)[0]) for name in self._reported}
        self._reported = now
        if now["dropped"] > before["dropped"]:
            node.get_logger().warning(f"{TWIST} has ended: the end effector comes to rest")
        if now["obstacle_reports"] > before["obstacle_reports"] and task.obstacle:
            node.get_logger().warning(task.obstacle)
        self._look_for_forces(task, before["pressing"], now["pressing"])
        share = self._stiffness_in_use(task)
        if share < LOWER * self._share:
            node.get_logger().warning(
                "the stiffness of the end effector is too high for the rate of the joint_states: "
                f"in its lightest direction {100.0 * share:.2g} % of it is used"
            )
        elif share == 1.0 > self._share:
            node.get_logger().info("the whole stiffness of the end effector is used again")
        if share < LOWER * self._share or share == 1.0:
            self._share = share

    def _stiffness_in_use(self, task: Task) -> float:
        """Return the share in the lightest direction, of what the rate of the node would bear."""
        fastest = self._node.arm.base.fastest, self._at_rate["fastest"]
        now, defaults = (task.share(task.settings, w) for w in fastest)
        return min(now / defaults, 1.0)

    def _has_one_publisher(self, task: Task, topic: str) -> bool:
        """Return whether to follow a topic: while one node publishes it; log changes."""
        node = self._node
        if node.count_publishers(topic) < 2:
            if self._contested.pop(topic, None):
                node.get_logger().info(f"{topic} has one publisher and is followed again")
            return True
        task.stop()
        if topic not in self._contested:
            names = publishers_of(node, [node.resolve_topic_name(topic)])
            if len(names) < 2:  # one is not discovered yet
                return False
            self._contested[topic] = (
                f"{topic} is published by {' and '.join(names)}: the end effector follows none of "
                "them until one is left"
            )
            node.throttled_log.warn(topic, self._contested[topic])
        return False

    def _look_for_forces(self, task: Task, before: float, now: float) -> None:
        """Log when the end effector presses without its feedback, and when with it again."""
        given, log = task.settings.feedback, self._node.get_logger()
        if given is not None and now == UNMEASURED != before:
            log.warning(
                f"no {MEASURED_WRENCH} for {given.timeout:g} s: the end effector presses without "
                "feedback"
            )
        elif before == UNMEASURED and now == MEASURED:
            log.info(f"{MEASURED_WRENCH} comes: the force is controlled by it")

    def values(self) -> dict[str, object]:
        """Return end effector, target, error and singularity."""
        task = self.task
        if task is None or not task.moved or not self._in_use:
            return {}
        given, held = int(task.field("given")[0]), task.field("target_held")[0]
        taken = given and task.field(("", "pose_taken", "twist_taken")[given])[0]
        return {
            "end effector": task.end_effector,
            "target": ("none: held", POSE, TWIST)[given],
            "target: age (s)": self._node.now() - taken if given else None,
            "target: error (m or rad)": task.field("task_error").tolist() if held else None,
            "singularity": task.field("singularity").item() if held else None,
            "stiffness (N/m and N m/rad)": task.settings.stiffness.diagonal().tolist(),
            "stiffness in use": self._stiffness_in_use(task),
            **(
                {"correction of the force (N or N m)": task.field("correction")[1].tolist()}
                if task.settings.feedback is not None
                else {}
            ),
        }


def _turned(X: Pose, vector: Array) -> Array:
    """Return a twist or wrench about the end effector, in axes of a frame, in those of the root."""
    return np.asarray((X.rotation @ vector.reshape(2, 3).T).T.ravel())


def _read(topic: str, read: Callable[[Any], Any], msg: Any) -> Any:
    try:
        return read(msg)
    except RobotDynamicsError as error:
        raise ArgumentError(f"{topic} is ignored: {error}") from None
