"""The controls beside the scene: motion, control mode, load and model error."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import viser

from robot_dynamics.control import MODES
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot import Robot
from robot_dynamics.viewer.live_arm import BY_HAND, ArmSettings

STEPS = 500
"""Steps of a slider between the ends of its joint's range."""

PUSH_N = 1000.0
"""Strongest push along an axis, N."""


class MessageLine:
    """A line of text beside the scene.

    Args:
        server: Where it is shown.
    """

    def __init__(self, server: viser.ViserServer) -> None:
        self._line = server.gui.add_markdown("")
        self.text = ""

    def say(self, text: str) -> None:
        """Show a text as it is: no HTML, link or image in it takes effect; "" shows none."""
        if text != self.text:
            self.text, self._line.content = text, _bold(text)


def _bold(text: str) -> str:
    """Return markdown of a text; browsers render HTML in it, and the server reads its images."""
    line = " ".join(text.split())
    escaped = (c if c.isalnum() or c == " " else f"&#{ord(c)};" for c in line)
    return f"**{''.join(escaped)}**" if line else ""


class JointSliders:
    """Sliders of the independent joints.

    Args:
        server: Where they are shown.
        robot: The robot.
        pose: Positions at first, shape (n,), rad or m.
    """

    def __init__(self, server: viser.ViserServer, robot: Robot, pose: Array) -> None:
        self._folder = server.gui.add_folder("Joints", visible=False)
        self._sliders = []
        with self._folder:
            for joint, q in zip(robot.independent_joints, pose, strict=True):
                reach = np.pi if joint.type.rotates else 1.0
                low, high = joint.limits.lower, joint.limits.upper
                low = float(low if np.isfinite(low) else -reach)
                high = float(high if np.isfinite(high) else reach)
                step = (high - low) / STEPS or 1e-3
                at = float(np.clip(q, low, high))
                self._sliders.append(server.gui.add_slider(joint.name, low, high, step, at))

    @property
    def positions(self) -> Array:
        """Where they are, shape (n,), rad or m."""
        return np.array([slider.value for slider in self._sliders])

    def move(self, q: Array) -> None:
        """Move them to where the arm is, shape (n,), rad or m."""
        for slider, value in zip(self._sliders, q, strict=True):
            slider.value = float(np.clip(value, slider.min, slider.max))

    @property
    def visible(self) -> bool:
        """Whether they are shown."""
        return bool(self._folder.visible)

    @visible.setter
    def visible(self, visible: bool) -> None:
        self._folder.visible = visible


class LiveControls:
    """Controls of an arm that is simulated here, read by polling.

    Args:
        server: Where they are shown.
        robots: Names of the robots to choose from.
        name: The one that is shown.
        robot: The same.
        motions: Names of the motions to choose from.
        pose: Positions of the sliders at first, shape (n,), rad or m.
    """

    def __init__(
        self,
        server: viser.ViserServer,
        robots: Sequence[str],
        name: str,
        robot: Robot,
        motions: Sequence[str],
        pose: Array,
    ) -> None:
        gui = server.gui
        names = tuple(dict.fromkeys((name, *robots)))
        self.message = MessageLine(server)
        with gui.add_folder("Task"):
            self.robot = gui.add_dropdown("robot", names, initial_value=name)
            self.motion = gui.add_dropdown("motion", tuple(motions))
            self.pause = gui.add_checkbox("pause", False)
            self.reset = gui.add_button("reset", hint="rest in the middle of the ranges")
        with gui.add_folder("Control"):
            self.mode = gui.add_dropdown("mode", tuple(MODES), initial_value="feedforward")
            self.feedforward = gui.add_checkbox(
                "feedforward", True, hint="of the mode feedforward; without it is PD alone"
            )
        with gui.add_folder("The arm as it is"):
            self.payload = gui.add_slider("payload, kg", 0.0, 10.0, 0.1, 0.0)
            self.payload_known = gui.add_checkbox("the controller knows it", True)
            self.mass_error = gui.add_slider(
                "links heavier, %", -50.0, 100.0, 1.0, 0.0, hint="than the model says"
            )
            self.push = gui.add_vector3(
                "push, N", (0.0, 0.0, 0.0), min=(-PUSH_N,) * 3, max=(PUSH_N,) * 3, step=1.0
            )
        with gui.add_folder("Show"):
            self.residual = gui.add_checkbox(
                "colour by residual", False, hint="effort less that of the model; else by limit"
            )
            self.ellipsoid = gui.add_checkbox("ellipsoid of velocities", False)
        self.sliders = JointSliders(server, robot, pose)
        self._pressed = False
        self.reset.on_click(lambda _: setattr(self, "_pressed", True))

    @property
    def settings(self) -> ArmSettings:
        """Return the present values of the controls."""
        self.sliders.visible = self.motion.value == BY_HAND
        return ArmSettings(
            self.motion.value,
            self.mode.value,
            self.feedforward.value,
            self.payload.value,
            self.payload_known.value,
            self.mass_error.value / 100.0,
            self.push.value,
            self.sliders.positions,
        )

    def take_reset(self) -> bool:
        """Return whether reset was pressed since the last call."""
        pressed, self._pressed = self._pressed, False
        return pressed
