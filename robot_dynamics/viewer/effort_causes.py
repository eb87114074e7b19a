"""Decomposition of joint efforts by cause, and by the link that causes them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.control import Friction
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.formulations.efforts_by_cause import effects
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot import Inertia, Robot, merge_fixed
from robot_dynamics.viewer.snapshot import Snapshot

CAUSES = ("inertia", "Coriolis, centrifugal", "gravity", "friction", "payload", "wrench")
"""Rows of `EffortCauses.by_cause`."""

CAUSE_TOPICS = tuple(cause.lower().replace(", ", "_") for cause in CAUSES)
"""Names of the same below efforts/ in recordings."""


class EffortCauses(NamedTuple):
    """Efforts of a motion taken apart; n joints, m bodies that joints move.

    Attributes:
        by_cause: A row for each of `CAUSES`, shape (6, n), N m or N. Motion of the base counts as
            gravity, as the arm feels both alike.
        by_link: Effort at every joint because of every body, shape (m, n), N m or N; without
            friction, payload and wrench.
    """

    by_cause: Array
    by_link: Array

    @property
    def total(self) -> Array:
        """Model efforts of the motion, shape (n,)."""
        return np.asarray(self.by_cause.sum(axis=0))


class EffortSplitter:
    """Splits efforts by the d'Alembert terms, [Lee1982] (30) to (33).

    Args:
        robot: The robot.
        dynamics: Its compiled equations.
        frame: Link or frame that carries the payload and exerts the wrench, or None without them.

    Attributes:
        links: Names of the bodies that cause efforts, rows of `EffortCauses.by_link`.
    """

    def __init__(self, robot: Robot, dynamics: Dynamics, frame: str | None) -> None:
        self._tree = merge_fixed(robot)
        self._dynamics = dynamics
        self._frame = frame
        self._friction = Friction.of(robot)
        self._coupling = self._tree.coupling
        self.links = tuple(link.name for link in self._tree.links[1:])

    def model_effort(self, now: Snapshot) -> Array:
        """Return the model efforts of one moment, the sum of all causes, shape (n,), N m or N."""
        dynamics, states = self._dynamics, (now.q, now.qd, now.qdd)
        tau = dynamics.inverse(*states, **self._load(now.payload, now.wrench))
        return np.asarray(tau + self._friction.smooth(now.qd) + self._of_base(now))

    def _of_base(self, now: Snapshot) -> Any:
        """Efforts more than on a base that stands, shape (n,), or zero."""
        if now.base is None:
            return 0.0
        states, load = (now.q, now.qd, now.qdd), self._load(now.payload, now.wrench)
        moved: Any = self._dynamics.on_moving_base.inverse(*states, base=now.base, **load)
        return moved.tau - self._dynamics.inverse(*states, **load)

    def split(self, now: Snapshot) -> EffortCauses:
        """Split the efforts of one moment."""
        q, qd, qdd = now.q, now.qd, now.qdd
        coupling = self._coupling
        e = effects(self._tree, coupling.positions(q), coupling.rates(qd), coupling.rates(qdd))
        tables = np.array(
            [
                e.inertia_translation + e.inertia_rotation,
                e.centrifugal_translation
                + e.coriolis_translation
                + e.centrifugal_rotation
                + e.coriolis_rotation,
                e.gravity,
            ]
        )
        # Columns are joints, including followers of mimic joints, which act on their leaders
        by_joint = tables @ coupling.matrix
        alone = self._dynamics.inverse(q, qd, qdd)
        carried, exerted = (
            self._dynamics.inverse(q, qd, qdd, **load) - alone if load else np.zeros_like(q)
            for load in (self._load(now.payload, None), self._load(None, now.wrench))
        )
        links = by_joint.sum(axis=1)
        links[CAUSES.index("gravity")] += self._of_base(now)
        by_cause = np.vstack([links, self._friction.smooth(qd), carried, exerted])
        return EffortCauses(by_cause, by_joint.sum(axis=0))

    def _load(self, payload: Inertia | None, wrench: Array | None) -> dict[str, Any]:
        """Return arguments of `Dynamics.inverse` for the load at the tool."""
        load: dict[str, Any] = {}
        if self._frame is not None and payload is not None and payload.mass:
            load["payload"] = payload
        if self._frame is not None and wrench is not None and wrench.any():
            load["wrench"] = wrench
        return {**load, "frame": self._frame} if load else {}
