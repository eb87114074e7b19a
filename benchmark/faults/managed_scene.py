"""Controllers of one run under a real controller_manager, and what sends them motions."""

from __future__ import annotations

import json
import signal
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmark.faults.arm import Array
from benchmark.faults.managed_arm import ManagedArm
from benchmark.faults.plant import BEGUN, JUMP
from benchmark.faults.poses import AFTER_S, DURATION_S
from benchmark.faults.runs import WATCHED_S
from benchmark.ros2_control.system import HERE, Controllers, Program, System
from benchmark.ros2_control.tracking import (
    CONTROLLER,
    JTC,
    PAST_S,
    TYPE,
    model_of,
    trajectory_controller,
)
from robot_dynamics.trajectory import Waypoints, interpolate

HELD_S = 1.5
"""Time for which references hold the arm before they move it, s."""

REFERENCE_RATE, OTHER_RATE = 500.0, 470.0
"""References per second, of one source and of another one that comes by turns with it."""

JUMP_S = 0.3
"""Time for which a reference jumps, s."""


@dataclass(frozen=True)
class Scene:
    """One run.

    Args:
        run: Its processes.
        arm: Its arm.
    """

    run: System
    arm: ManagedArm

    def activate_alone(self) -> None:
        """Activate the model controller, which then takes `~/reference`."""
        self.run.spawn(Controllers({CONTROLLER: self._own}), [CONTROLLER])

    def activate_chain(self) -> None:
        """Activate the model controller behind joint_trajectory_controller."""
        joints = list(self.arm.interface_joints)
        front = trajectory_controller(
            self.arm,
            joints=joints,
            command_joints=[f"{CONTROLLER}/{joint}" for joint in joints],
            command_interfaces=["position", "velocity", "acceleration"],
        )
        controllers = Controllers({CONTROLLER: self._own, JTC: front})
        self.run.spawn(controllers, [CONTROLLER, JTC], "--activate-as-group")

    @property
    def _own(self) -> dict[str, Any]:
        model = str(model_of(self.run.workspace, self.arm))
        return {"type": TYPE, "model": model, **self.arm.parameters}

    def motion_to(self, q: Array) -> Waypoints:
        """Return a motion to a pose, a polynomial of degree five."""
        row = q[None]
        times = np.array([DURATION_S])
        return Waypoints(self.arm.robot.joint_names, times, row, 0.0 * row, 0.0 * row)

    def send(self, motion: Waypoints) -> None:
        """Publish a trajectory."""
        self.run.send(f"{JTC}/joint_trajectory", motion, PAST_S)

    def send_elsewhere(self) -> None:
        """Publish a trajectory that begins at its end."""
        q = np.tile(self.arm.far, (2, 1))
        times = np.array([0.0, DURATION_S])
        self.send(Waypoints(self.arm.robot.joint_names, times, q, 0.0 * q, 0.0 * q))

    def start_source(self, jump: bool) -> None:
        """Start a process that publishes references: they hold the arm, move it, and hold it.

        Args:
            jump: Whether that of one joint jumps when the fault is due.
        """
        arm = self.arm
        q = np.array([arm.start, arm.start, arm.far, arm.far])
        ends = np.cumsum([0.0, HELD_S, DURATION_S, 2.0 * WATCHED_S])
        motion = interpolate(Waypoints(arm.robot.joint_names, ends, q, 0.0 * q, 0.0 * q))
        times = np.arange(0.0, ends[-1], 1.0 / REFERENCE_RATE)
        state = motion.sample(times)
        positions = np.array(state.q)
        if jump:
            begun = times[np.argmax(abs(positions - arm.start).max(axis=1) > BEGUN)]
            since = times - begun - AFTER_S
            positions[(since >= 0.0) & (since < JUMP_S), -1] += JUMP
        references = Waypoints(motion.joint_names, times, positions, state.qd, state.qdd)
        self._start("source", "reference", CONTROLLER, references).wait_for_log("publishing")

    def prepare_another_source(self, seconds: float) -> None:
        """Start a process that, once SIGCONT comes, publishes references of the first pose."""
        times = np.arange(0.0, seconds, 1.0 / OTHER_RATE)
        q = np.tile(self.arm.start, (len(times), 1))
        references = Waypoints(self.arm.robot.joint_names, times, q, 0.0 * q, 0.0 * q)
        self._start("other", "reference", CONTROLLER, references, "stopped").wait_for_log("stopped")

    def start_goal(self) -> None:
        """Start a process that sends a goal to joint_trajectory_controller."""
        self._start("client", "goal", JTC, self.motion_to(self.arm.far))

    def signal(self, name: str, number: signal.Signals) -> None:
        """Send a signal to a process."""
        self.run.programs[name].process.send_signal(number)

    def _start(
        self, name: str, verb: str, controller: str, motion: Waypoints, *words: str
    ) -> Program:
        file = self.run.folder / f"{name}.json"
        fields = ("times", "positions", "velocities", "accelerations")
        content = {field: np.array(getattr(motion, field)).tolist() for field in fields}
        file.write_text(json.dumps({"joint_names": list(motion.joint_names), **content}))
        command = ["python3", str(HERE / "ros_client.py"), verb, controller, str(file), *words]
        return self.run.start(name, command)
