"""The controls of a page that looks at nodes: what is asked of them, told only when it changes."""

from __future__ import annotations

from collections.abc import Mapping

import viser

from robot_dynamics.control import MODES

UNCHANGED = "as it is"


class StackControls:
    """Controls of a robot that others move.

    Args:
        server: Where they are shown.
    """

    def __init__(self, server: viser.ViserServer) -> None:
        gui = server.gui
        self.message = gui.add_markdown("waiting for joint_states ...")
        with gui.add_folder("Control"):
            self._mode = gui.add_dropdown(
                "mode", (UNCHANGED, *MODES), hint="of controller_node; feedforward off is pd"
            )
            self._payload = gui.add_slider(
                "payload, kg", 0.0, 10.0, 0.1, 0.0, hint="told to feedforward and controller"
            )
            send = gui.add_button("send the motion", hint="of trajectory_node")
        with gui.add_folder("Simulated robot"):
            self._mass_error = gui.add_slider("links heavier, %", -50.0, 100.0, 1.0, 0.0)
            self._pause = gui.add_checkbox("pause", False)
            reset = gui.add_button("reset")
        with gui.add_folder("Show"):
            self.residual = gui.add_checkbox(
                "colour by residual", False, hint="measured effort less that of the model"
            )
            self.ellipsoid = gui.add_checkbox("ellipsoid of velocities", False)
        self._pressed: list[str] = []
        send.on_click(lambda _: self._pressed.append("send"))
        reset.on_click(lambda _: self._pressed.append("reset"))
        self._last = self._values()

    def _values(self) -> dict[str, float | str | bool]:
        return {
            "mode": self._mode.value,
            "payload": self._payload.value,
            "mass_factor": 1.0 + self._mass_error.value / 100.0,
            "pause": self._pause.value,
        }

    def changes(self) -> Mapping[str, float | str | bool]:
        """What has been asked since the last look, by name; buttons are True."""
        values, pressed = self._values(), self._pressed
        changed = {key: value for key, value in values.items() if value != self._last[key]}
        self._last, self._pressed = values, []
        if changed.get("mode") == UNCHANGED:
            del changed["mode"]
        return {**changed, **dict.fromkeys(pressed, True)}
