"""viewer_node: show a robot and the predictions of its model in the browser."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from time import monotonic

import numpy as np
from geometry_msgs.msg import PoseStamped
from rclpy.subscription import Subscription
from sensor_msgs.msg import JointState

from robot_dynamics.control import effort_limits
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.nodes.observer_node import SILENCE_S, ObserverNode
from robot_dynamics.nodes.ros.messages import EXTERNAL_TOPIC, THRESHOLD_TOPIC, JointReader
from robot_dynamics.nodes.ros.node_parameters import parameter
from robot_dynamics.nodes.ros.topics import COMMAND_QOS
from robot_dynamics.nodes.runtime.robot_description import RobotParameters, moved
from robot_dynamics.nodes.viewer_requests import ViewerRequests
from robot_dynamics.nodes.viewer_task_space import MEASURED, TaskSpaceRequests
from robot_dynamics.robot import Inertia, Robot, known_robots, read_urdf
from robot_dynamics.robot.joint_units import unit_of
from robot_dynamics.trajectory.motions import middle_pose
from robot_dynamics.viewer.address import LOOPBACK, PORT
from robot_dynamics.viewer.controls import MOVING, UNCHANGED, StackControls
from robot_dynamics.viewer.live_arm import BY_HAND, STILL
from robot_dynamics.viewer.page import Page
from robot_dynamics.viewer.snapshot import Snapshot, tool_frame
from robot_dynamics.viewer.target_gizmo import TargetGizmo


@dataclass(frozen=True)
class ViewerParameters(RobotParameters):
    """Parameters of viewer_node."""

    host: str = parameter(
        LOOPBACK,
        "Address to serve the page on; 0.0.0.0 opens page and controls to the network",
        read_only=True,
    )
    port: int = parameter(PORT, "Port of the page", low=1, high=65535, read_only=True)
    rate: float = parameter(25.0, "Rate of the page, Hz", low=1.0, high=60.0, read_only=True)


class ViewerNode(ObserverNode[ViewerParameters]):
    """Shows the measured robot beside the reference and the model.

    Without joint_states, sliders on the page place the arm, and the page can show other robots.
    """

    NAME = "viewer_node"
    PARAMETERS = ViewerParameters

    def configure(self) -> None:
        """Open the page and create the topics."""
        super().configure()
        self._page = Page(self.parameters.host, self.parameters.port)
        self._began = monotonic()
        self._own, self._new = self.robot, False
        self._enabled, self._commanded, self._visits = False, False, self._page.visits
        self._open(self.robot, self._description.source, self.robot.name)
        self._requests = ViewerRequests(self, tool_frame(self.robot), self._say)
        self._external = {
            topic: JointReader(topic, self.robot.joint_names, required=())
            for topic in (EXTERNAL_TOPIC, THRESHOLD_TOPIC)
        }
        self._external_in: list[Subscription] = []
        self._external_at = -np.inf
        self._task_space = TaskSpaceRequests(self, self._say)
        self._inputs.append(
            self.create_loop_subscriber(PoseStamped, MEASURED, self._task_space.read, COMMAND_QOS)
        )
        self.get_logger().info(self._page.announcement())

    def _open(self, robot: Robot, source: str, name: str) -> None:
        limit, dynamics = effort_limits(robot), Dynamics(robot)
        self._page.open(robot, source, dynamics, limit)
        self._gizmo = TargetGizmo(self._page.server, self._page.size)
        self._shown, self._name, self._limit, self._dynamics = robot, name, limit, dynamics
        names = dict.fromkeys((self._own.name, *sorted(known_robots())))
        pose = middle_pose(robot)
        self._controls = StackControls(self._page.server, robot, pose, [*names], name)
        self._doing = self._controls.motion.value, False

    def activate(self) -> None:
        """See `ManagedNode.activate`."""
        self.start_task(self._tick, inputs=self._inputs)

    def update_robot(self, robot: Robot) -> None:
        """See `RobotNode.update_robot`: the loop, which owns the page, shows it."""
        super().update_robot(robot)
        self._own, self._new = robot, True

    def cleanup(self) -> None:
        """See `ManagedNode.cleanup`."""
        self._page.close()
        super().cleanup()

    def _tick(self) -> None:
        driven = self.driven
        self._choose_robot(driven)
        controls = self._controls
        self._watch_enabling(driven)
        self._requests.ask_mass_factor()
        controls.show_mass_factor(self._requests.mass_factor)
        changes = controls.changes(self._enabled)
        self._commanded |= "send" in changes or controls.chosen_motion in MOVING
        self._requests.apply(changes)
        self._move(driven)
        self._lead_end_effector()
        now = self._measured() if driven else self._placed()
        self._page.show(
            now,
            residual=controls.residual.value,
            ellipsoid=controls.ellipsoid.value,
            contact=self._contact(driven and controls.contact.value),
        )

    def _watch_enabling(self, driven: bool) -> None:
        """Take up that motion is enabled; disable it where another person may not expect it."""
        enable, visits = self._controls.enable, self._page.visits
        why = ""
        if not driven:
            why = "no joint_states arrive"
        elif visits != self._visits:
            why = "a browser connected or left"
        elif not enable.value:
            why = "it was switched off on the page"
        self._visits = visits
        if why and (enable.value or self._enabled):
            enable.value = False
            self._disable(why, driven)
        elif enable.value and not self._enabled:
            self._enabled = True
            self.get_logger().warning("the page may move the arm: motion was enabled on it")
            self._say("")

    def _disable(self, why: str, driven: bool) -> None:
        """Let the page request nothing more; the arm stops if the page has moved it."""
        self._enabled = False
        self.get_logger().info(f"the page may not move the arm: {why}")
        self._say(f"motion is off: {why}")
        if self._task_space.leads:
            self._task_space.stop()
        if driven and self._commanded:
            self._requests.stop(self._states.position, self._states.qd, self.robot)
            self._requests.choose(STILL, self.robot, self._controls.sliders.positions)
            self._controls.motion.value, self._doing = STILL, (STILL, driven)
        self._commanded = False

    def _choose_robot(self, driven: bool) -> None:
        """Show the robot of the other nodes or, without joint_states, the selected one."""
        choice = self._controls.robot
        choice.visible = not driven
        own, new = self._own, self._new
        self._new = False
        name = own.name if driven or new else choice.value
        if name == self._name and not new:
            return
        if self._enabled:
            self._disable("another description of the robot arrived", driven)
        try:
            if name == own.name:
                self._open(own, self._description.source, name)
            else:
                path = known_robots()[name]  # and no file that a browser names
                self._open(moved(read_urdf(path), ())[0], str(path), name)
        except RobotDynamicsError as error:
            self._controls.robot.value = self._name
            self._say(str(error))

    def _move(self, driven: bool) -> None:
        """Request the selected motion; the sliders start from the measured position."""
        sliders, motion = self._controls.sliders, self._controls.chosen_motion
        states = self._states
        if self._doing[1] and not driven:  # a motion does not restart by itself
            self._controls.motion.value = motion = UNCHANGED
        by_hand = motion == BY_HAND
        if (motion, driven) != self._doing:
            if self._enabled:
                self._say("")
            if driven and by_hand:
                sliders.move(states.position)
            if driven and motion in (STILL, BY_HAND):
                self._requests.stop(states.position, states.qd, self.robot)
                self._task_space.stop()
            self._requests.choose(motion, self.robot, sliders.positions)
            self._doing = motion, driven
        sliders.visible = by_hand or not driven
        if driven and by_hand:
            self._requests.go_to(sliders.positions, states.position, self.robot)
        if driven:
            self._requests.keep_moving(states.position, self.robot)

    def _lead_end_effector(self) -> None:
        """Lead the end effector to its dragged handle, while page and controller may."""
        dragged, pose = self._gizmo.take(), self._task_space.pose
        self._controls.leads_end_effector = pose is not None
        pose = pose if self._enabled else None
        if dragged is not None and pose is not None:
            self._task_space.lead(dragged)
            self._commanded, pose = True, dragged
        self._task_space.tick()
        self._gizmo.show(pose)

    def _contact(self, wanted: bool) -> tuple[Array, Array] | None:
        """Return external efforts and thresholds, shape (n,), and show the largest of their ratios.

        A controller publishes them only if they are read. None while they are not wanted, or none
        come.
        """
        if wanted and not self._external_in:
            self._external_in = [
                self.create_subscription(
                    JointState, topic, partial(self._on_external, topic), COMMAND_QOS
                )
                for topic in self._external
            ]
        while not wanted and self._external_in:
            self.destroy_subscription(self._external_in.pop())
            self._external_at = -np.inf
        silent = monotonic() - self._external_at > SILENCE_S
        if silent or not all(reader.complete for reader in self._external.values()):
            self._controls.contacts.say("")
            return None
        effort, threshold = (reader.effort.copy() for reader in self._external.values())
        i = int(np.argmax(np.abs(effort) / threshold))
        self._controls.contacts.say(
            f"{self.robot.joint_names[i]}: external {effort[i]:.2f}, threshold {threshold[i]:.2f} "
            f"{unit_of(self.robot, i, 'effort')}"
        )
        return effort, threshold

    def _on_external(self, topic: str, msg: JointState) -> None:
        if self._external[topic].read(msg):
            self._external_at = monotonic()

    def _say(self, line: str) -> None:
        self._controls.message.say(line)

    def _placed(self) -> Snapshot:
        """Return the robot at rest at the sliders, with the holding efforts."""
        q, none = self._controls.sliders.positions, np.zeros(self._shown.dof)
        payload, frame = self._load.payload or Inertia.zero(), tool_frame(self._shown)
        tau = self._dynamics.inverse(q, none, none, payload=payload, frame=frame)
        return Snapshot(monotonic() - self._began, q, none, none, tau, None, payload)
