"""The controls of a page that shows running nodes; requests are sent only when they change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import viser

from robot_dynamics.control import MODES
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot import Robot
from robot_dynamics.viewer.controls import JointSliders, MessageLine
from robot_dynamics.viewer.live_arm import BY_HAND, POSES, STILL, SWING

UNCHANGED = "as it is"

MOTIONS = (UNCHANGED, SWING, POSES, STILL, BY_HAND)
"""Requests to a robot that is controlled by other nodes."""

MOVING = (SWING, POSES, BY_HAND)
"""Motions that the page itself sends."""

OFF = "motion is off: tick 'enable motion' before this page requests anything of other nodes"


class StackControls:
    """Controls of a robot that others move.

    Until `enable` is ticked, a control that would request something returns to its value.

    Args:
        server: Where they are shown.
        robot: The robot that is shown.
        pose: Positions of the sliders at first, shape (n,), rad or m.
        robots: Names of the robots to choose from while no joint_states arrive.
        name: The one that is shown.
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
                "motion", MOTIONS, hint="sent on joint_trajectory, again whenever it has ended"
            )
            send = gui.add_button("send the motion", hint="of trajectory_node")
        with gui.add_folder("Control"):
            self.mode = gui.add_dropdown("mode", (UNCHANGED, *MODES), hint="of controller_node")
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
            self.ellipsoid = gui.add_checkbox("ellipsoid of velocities", False)
        self.sliders = JointSliders(server, robot, pose)
        self._pressed: list[str] = []
        send.on_click(lambda _: self._pressed.append("send"))
        reset.on_click(lambda _: self._pressed.append("reset"))
        self._fed = True
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
                handle.value = self._last[name]
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
        slider = self.mass_error
        if factor is not None and slider.value == self._last["mass_factor"]:  # not just moved
            percent = round(100.0 * (factor - 1.0), 6)
            slider.min, slider.max = min(slider.min, percent), max(slider.max, percent)
            slider.value = self._last["mass_factor"] = percent
