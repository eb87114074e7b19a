"""The controls of a page that shows running nodes; requests are sent only when they change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import viser

from robot_dynamics.control import MODES
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot import Robot
from robot_dynamics.viewer.controls import JointSliders
from robot_dynamics.viewer.live_arm import BY_HAND, EXCITATION, POSES, STILL

UNCHANGED = "as it is"

MOTIONS = (UNCHANGED, EXCITATION, POSES, STILL, BY_HAND)
"""Requests to a robot that is controlled by other nodes."""


class StackControls:
    """Controls of a robot that other nodes move.

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
        self.message = gui.add_markdown("")
        with gui.add_folder("Task"):
            self.robot = gui.add_dropdown(
                "robot",
                tuple(robots),
                initial_value=name,
                visible=False,
                hint="shown until joint_states arrive",
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
        with gui.add_folder("Simulated robot"):
            self.mass_error = gui.add_slider("links heavier, %", -50.0, 100.0, 1.0, 0.0)
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
        self._last = self._values()

    def _values(self) -> dict[str, float | str | bool]:
        self._agree()
        return {
            "motion": self.motion.value,
            "mode": self.mode.value,
            "payload": self.payload.value,
            "mass_factor": 1.0 + self.mass_error.value / 100.0,
            "pause": self.pause.value,
        }

    def _agree(self) -> None:
        """Keep feedforward and mode consistent: the one changed last determines both."""
        if self.feedforward.value != self._fed:
            self.mode.value = "feedforward" if self.feedforward.value else "pd"
        self._fed = self.mode.value in (UNCHANGED, "feedforward")
        self.feedforward.value = self._fed

    def changes(self) -> Mapping[str, float | str | bool]:
        """Return the requests since the last call, by name; buttons are True."""
        values, pressed = self._values(), self._pressed
        changed = {key: value for key, value in values.items() if value != self._last[key]}
        self._last, self._pressed = values, []
        if changed.get("mode") == UNCHANGED:
            del changed["mode"]
        return {**changed, **dict.fromkeys(pressed, True)}

    def say(self, message: str) -> None:
        """Show a message; "" takes it away."""
        if self.message.content != message:
            self.message.content = message
