"""A robot in the browser without ROS: simulated here, moved by a control loop or by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.robot import Robot, find_robot, known_robots, read_urdf
from robot_dynamics.simulation.base_motions import Poses, Sine
from robot_dynamics.trajectory import Waypoints
from robot_dynamics.viewer.controls import LiveControls
from robot_dynamics.viewer.live_arm import BY_HAND, LiveArm
from robot_dynamics.viewer.page import Page
from robot_dynamics.viewer.target_gizmo import TargetGizmo

if TYPE_CHECKING:  # needs rosbags
    from robot_dynamics.viewer.simulated_runs import SimulatedRecording


COMPILING = "the equations of the end effector are being compiled"


class LiveView:
    """The page of a simulated robot.

    Args:
        page: The page.
        name: Name of a known robot, or path of a URDF.
        load: Reads a robot by its name.
        waypoints: Motion from a file, for this robot.
        base: Motion of the root link, which the laws know; by default it stands.
        recording: Makes a new recording of a robot, from its name and equations.
    """

    def __init__(
        self,
        page: Page,
        name: str,
        load: Callable[[str], Robot] | None = None,
        waypoints: Waypoints | None = None,
        recording: Callable[[str, Dynamics], SimulatedRecording] | None = None,
        base: Sine | Poses | None = None,
    ) -> None:
        self.page, self._base = page, base
        self._load = load or (lambda name: read_urdf(find_robot(name)))
        self._robots = sorted(known_robots())
        self._new_recording = recording
        self._recording: SimulatedRecording | None = None
        self._open(name, waypoints)

    def _open(self, name: str, waypoints: Waypoints | None = None) -> None:
        robot = self._load(name)
        arm = LiveArm(robot, waypoints, self._base)
        self.page.open(robot, find_robot(name), arm.dynamics, arm.limit)
        self.name, self.arm = name, arm
        pose = arm.snapshot().q
        server = self.page.server
        self.controls = LiveControls(
            server, self._robots, name, robot, arm.motions, arm.end_effectors, pose
        )
        self.gizmo = TargetGizmo(server, self.page.size)
        self._record()

    def _record(self) -> None:
        self.close()
        if self._new_recording is not None:
            self._recording = self._new_recording(self.name, self.arm.dynamics)
            self.arm.observe = self._recording.add

    def tick(self, seconds: float) -> None:
        """Advance by a time, s, and show the arm."""
        controls = self.controls
        if controls.robot.value != self.name:
            self._change(controls.robot.value)
            controls = self.controls
        if controls.take_reset():
            self.arm.reset()
            self.page.restart()
        if (dragged := self.gizmo.take()) is not None:
            self.arm.aim(self.arm.snapshot().base_pose.inverse() @ dragged)
        settings = controls.settings
        if settings.motion == BY_HAND and self.arm.motion != BY_HAND:
            controls.sliders.move(self.arm.snapshot().q)
            settings = controls.settings
        if compiles := not self.arm.prepared(settings):
            controls.message.say(COMPILING)
        try:
            self.arm.advance(0.0 if controls.pause.value else seconds, settings)
            if compiles:
                controls.message.say("")
        except RobotDynamicsError as error:
            controls.message.say(str(error))
        if self._recording is not None:
            self._recording.flush()
        now, target = self.arm.snapshot(), self.arm.target
        self.gizmo.show(None if target is None else now.base_pose @ target)
        self.page.show(
            now,
            residual=controls.residual.value,
            ellipsoid=controls.ellipsoid.value,
        )

    def _change(self, name: str) -> None:
        """Show another robot, or an error if it cannot be simulated."""
        try:
            self._open(name)
        except RobotDynamicsError as error:
            self.controls.robot.value = self.name
            self.controls.message.say(str(error))

    def close(self) -> None:
        """End the recording."""
        if self._recording is not None:
            self._recording.close()
        self._recording = None
