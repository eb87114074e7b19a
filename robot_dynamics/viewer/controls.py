"""Controls beside the scene: of an arm simulated here, and of an arm moved by running nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import viser

from robot_dynamics.control.laws import ALL_MODES, TASK_MODES
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot import Robot
from robot_dynamics.viewer.live_arm import BY_HAND, EXCITATION, POSES, STILL, ArmSettings

STEPS = 500
"""Steps of a slider between the ends of its joint's range."""

PUSH_N = 1000.0
"""Strongest push along an axis, N."""


class MessageLine:
    """A line of text beside the scene.

    Args:
        server: Server of the page.
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
        server: Server of the page.
        robot: The robot.
        pose: Initial positions, shape (n,), rad or m.
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
        """Positions of the sliders, shape (n,), rad or m."""
        return np.array([slider.value for slider in self._sliders])

    def move(self, q: Array) -> None:
        """Move the sliders to positions of the arm, shape (n,), rad or m."""
        for slider, value in zip(self._sliders, q, strict=True):
            slider.value = float(np.clip(value, slider.min, slider.max))

    @property
    def visible(self) -> bool:
        """True while the sliders are shown."""
        return bool(self._folder.visible)

    @visible.setter
    def visible(self, visible: bool) -> None:
        self._folder.visible = visible


class LiveControls:
    """Controls of an arm simulated in this process, read by polling.

    Args:
        server: Server of the page.
        robots: Names of the selectable robots.
        name: Name of the robot on the page.
        robot: That robot.
        motions: Names of the selectable motions.
        end_effectors: Names of the selectable end effectors in task space.
        pose: Initial positions of the sliders, shape (n,), rad or m.
    """

    def __init__(
        self,
        server: viser.ViserServer,
        robots: Sequence[str],
        name: str,
        robot: Robot,
        motions: Sequence[str],
        end_effectors: Sequence[str],
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
            self.mode = gui.add_dropdown("mode", tuple(ALL_MODES), initial_value="feedforward")
            self.end_effector = gui.add_dropdown(
                "end effector",
                tuple(end_effectors),
                visible=False,
                hint="drag its handle in the scene",
            )
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
        in_task_space = self.mode.value in TASK_MODES
        self.motion.visible = self.feedforward.visible = not in_task_space
        self.end_effector.visible = in_task_space
        self.sliders.visible = self.motion.value == BY_HAND and not in_task_space
        return ArmSettings(
            self.motion.value,
            self.mode.value,
            self.feedforward.value,
            self.payload.value,
            self.payload_known.value,
            self.mass_error.value / 100.0,
            self.push.value,
            self.sliders.positions,
            self.end_effector.value,
        )

    def take_reset(self) -> bool:
        """Return whether reset was pressed since the last call."""
        pressed, self._pressed = self._pressed, False
        return pressed


UNCHANGED = "as it is"

MOTIONS = (UNCHANGED, EXCITATION, POSES, STILL, BY_HAND)
"""Requests to a robot that is controlled by other nodes."""

MOVING = (EXCITATION, POSES, BY_HAND)
"""Motions that the page itself sends."""

OFF = "motion is off: tick 'enable motion' before this page requests anything of other nodes"


class StackControls:
    """Controls of a robot that other nodes move.

    Until `enable` is ticked, a control that would request something returns to its value.

    Args:
        server: Server of the page.
        robot: The robot that is shown.
        pose: Initial positions of the sliders, shape (n,), rad or m.
        robots: Names of the selectable robots while no joint_states arrive.
        name: Name of the robot on the page.

    Attributes:
        leads_end_effector: Whether the controller is known to be in a mode of the end effector.
    """

    def __init__(
        self,
        server: viser.ViserServer,
        robot: Robot,
        pose: Array,
        robots: Sequence[str],
        name: str,
    ) -> None:
        gui = server.gui
        self.message = MessageLine(server)
        with gui.add_folder("Task"):
            self.robot = gui.add_dropdown(
                "robot",
                tuple(robots),
                initial_value=name,
                visible=False,
                hint="shown until joint_states arrive",
            )
            self.enable = gui.add_checkbox(
                "enable motion", False, hint="until a browser connects or leaves"
            )
            self.motion = gui.add_dropdown(
                "motion", MOTIONS, hint="sent on joint_trajectory, repeated after its end"
            )
            send = gui.add_button("send the motion", hint="of trajectory_node")
        with gui.add_folder("Control"):
            self.mode = gui.add_dropdown("mode", (UNCHANGED, *ALL_MODES), hint="of controller_node")
            self.feedforward = gui.add_checkbox("feedforward", True, hint="without it is PD alone")
            self.payload = gui.add_slider(
                "payload, kg", 0.0, 10.0, 0.1, 0.0, hint="sent to feedforward and controller"
            )
        self._simulated = gui.add_folder("Simulated robot", visible=False)
        with self._simulated:
            self.mass_error = gui.add_slider("links heavier, %", -50.0, 100.0, 0.1, 0.0)
            self.pause = gui.add_checkbox("pause", False)
            reset = gui.add_button("reset")
        with gui.add_folder("Show"):
            self.residual = gui.add_checkbox(
                "colour by residual", False, hint="measured effort less that of the model"
            )
            self.contact = gui.add_checkbox(
                "colour by external effort",
                False,
                hint="that controller_node observes, relative to its threshold",
            )
            self.contacts = MessageLine(server)
            self.ellipsoid = gui.add_checkbox("ellipsoid of velocities", False)
        self.sliders = JointSliders(server, robot, pose)
        self._pressed: list[str] = []
        send.on_click(lambda _: self._pressed.append("send"))
        reset.on_click(lambda _: self._pressed.append("reset"))
        self._fed, self.leads_end_effector = True, False
        self._requests: dict[str, Any] = {
            "motion": self.motion,
            "mode": self.mode,
            "payload": self.payload,
            "mass_factor": self.mass_error,
            "pause": self.pause,
        }
        self._last = self._values()
        self.message.say(OFF)

    def _values(self) -> dict[str, float | str | bool]:
        self._agree()
        return {name: handle.value for name, handle in self._requests.items()}

    def _agree(self) -> None:
        """Keep feedforward and mode consistent: the one changed last determines both."""
        if self.feedforward.value != self._fed:
            self.mode.value = "feedforward" if self.feedforward.value else "pd"
        self._fed = self.mode.value in (UNCHANGED, "feedforward")
        self.feedforward.value = self._fed
        self.feedforward.visible = not (self.leads_end_effector or self.mode.value in TASK_MODES)

    @property
    def chosen_motion(self) -> str:
        """The motion at the last call of `changes`: of the page's own ones, an enabled one."""
        return str(self._last["motion"])

    def changes(self, enabled: bool) -> Mapping[str, float | str | bool]:
        """Return the requests since the last call, by name; buttons are True.

        Args:
            enabled: Whether the page may request anything; holding still is always possible.
        """
        values, pressed = self._values(), self._pressed
        changed = {key: value for key, value in values.items() if value != self._last[key]}
        self._pressed = []
        moving = values["motion"] in MOVING
        if not enabled and (pressed or moving or changed.keys() - {"motion"}):
            for name, handle in self._requests.items():
                if name != "motion" or moving:
                    handle.value = self._last[name]
            self._last["motion"] = self.motion.value
            self._agree()
            self.message.say(OFF)
            return {}
        self._last = values
        if changed.get("mode") == UNCHANGED:
            del changed["mode"]
        if "mass_factor" in changed:
            changed["mass_factor"] = 1.0 + self.mass_error.value / 100.0
        return {**changed, **dict.fromkeys(pressed, True)}

    def show_mass_factor(self, factor: float | None) -> None:
        """Show the factor on the masses of the simulated robot; None hides its controls."""
        self._simulated.visible = factor is not None
        slider, last = self.mass_error, self._last["mass_factor"]
        percent = last if factor is None else round(100.0 * (factor - 1.0), 6)
        # Set only where it changes: a browser may move the slider at any time
        if percent != last and slider.value == last:
            slider.min, slider.max = min(slider.min, percent), max(slider.max, percent)
            slider.value = self._last["mass_factor"] = percent
