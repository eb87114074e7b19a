"""CollisionMonitor: the stages of the step that find contacts, for an arm that others command."""

from __future__ import annotations

from robot_dynamics.control.collision import Collision
from robot_dynamics.control.contacts import OBSERVED, SENSED
from robot_dynamics.control.controller import Controller
from robot_dynamics.control.fields import Layout
from robot_dynamics.control.laws import Measured
from robot_dynamics.control.model import Model
from robot_dynamics.control.settings import Settings
from robot_dynamics.foundation.arrays import Array

STAGES = ("sense", "add", "observe")


class CollisionMonitor:
    """External efforts of an arm and its contacts, state by state. Reads no clock.

    Args:
        n: Number of joints.
    """

    def __init__(self, n: int) -> None:
        layout = Layout({**OBSERVED, **SENSED}, n)
        self._first = layout.views(layout.initial())
        self._controller: Controller | None = None

    def _field(self, name: str) -> Array:
        of = self._controller
        return self._first[name] if of is None else of.field(name).copy()

    @property
    def joint(self) -> int | None:
        """Return the index of the joint with a contact, or None."""
        found = int(self._field("contact")[0])
        return None if found < 0 else found

    @property
    def direction(self) -> Array:
        """Return the presliding direction of friction on the measured motion, shape (n,)."""
        return self._field("observed_direction")

    @property
    def effort(self) -> Array:
        """Return the external efforts, shape (n,), N m or N, in the direction of their push."""
        return self._field("external")

    @property
    def threshold(self) -> Array:
        """Return the present thresholds, shape (n,), N m or N."""
        return self._field("threshold")

    def prepare(self, model: Model, collision: Collision) -> Controller:
        """Use a model and settings, and compile the equations before a loop needs them.

        Args:
            model: The arm with its load.
            collision: Settings.

        Returns:
            The controller of that arm, whose stages find contacts.
        """
        found = self._controller
        if found is not None and collision is found.settings.collision:
            if model is found.model:
                return found
            found.model = model
        elif found is None:
            settings = Settings(collision=collision)
            found = self._controller = Controller(model, settings, stages=STAGES)
        else:
            found.change(model, Settings(collision=collision))
        return found

    def feed(
        self, model: Model, collision: Collision, measured: Measured, tau: Array, at: float
    ) -> int | None:
        """Take a state; return the joint with a contact, if any.

        Args:
            model: The arm with its load; a load that it does not know is a contact.
            collision: Settings.
            measured: The state, every number finite.
            tau: Efforts since the state before, shape (n,), N m or N.
            at: Time of the state, s; another state of the time of the last one is ignored.

        Returns:
            Index of the joint, or None.
        """
        controller = self.prepare(model, collision)
        if at == controller.field("observed_at")[0]:
            return self.joint
        controller.field("total")[:] = tau  # the stages read it of the cycle before
        x = controller.fields_to_write()
        x["q"][:], x["qd"][:] = measured
        x["stamp"][0], x["load"][:] = at, controller.load
        x["observes"][0], x["senses"][0] = 1.0, controller.settings_vector("has_memory")[0]
        controller.evaluate(STAGES)
        return self.joint
