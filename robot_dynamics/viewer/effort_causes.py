"""Which part of the joint efforts comes from what: by cause, and by the link that causes it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.control import Friction
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.papers.dalembert_effects import effects
from robot_dynamics.robot import Inertia, Robot, merge_fixed

CAUSES = ("inertia", "Coriolis, centrifugal", "gravity", "friction", "payload")
"""Rows of `EffortCauses.by_cause`."""


class EffortCauses(NamedTuple):
    """Efforts of a motion taken apart; n joints, m bodies that joints move.

    Attributes:
        by_cause: A row for each of `CAUSES`, shape (5, n), N m or N.
        by_link: Effort at every joint because of every body, shape (m, n), N m or N; without
            friction and payload.
    """

    by_cause: Array
    by_link: Array

    @property
    def total(self) -> Array:
        """What the model says that the motion takes, shape (n,)."""
        return np.asarray(self.by_cause.sum(axis=0))


class EffortSplitter:
    """Takes efforts apart by the d'Alembert terms, [Lee1982] (30) to (33).

    Args:
        robot: The robot.
        dynamics: Its compiled equations.
        frame: Link or frame that carries the payload; none for a robot that carries none.

    Attributes:
        links: Names of the bodies that cause efforts, rows of `EffortCauses.by_link`.
    """

    def __init__(self, robot: Robot, dynamics: Dynamics, frame: str | None) -> None:
        self._robot = robot
        self._dynamics = dynamics
        self._frame = frame
        self._friction = Friction.of(robot)
        self._coupling = merge_fixed(robot).coupling
        self.links = tuple(link.name for link in merge_fixed(robot).links[1:])

    def split(
        self, q: Array, qd: Array, qdd: Array, payload: Inertia | None = None
    ) -> EffortCauses:
        """Take the efforts of a motion state apart.

        Args:
            q: Joint positions, shape (n,), rad or m.
            qd: Joint velocities, shape (n,).
            qdd: Joint accelerations, shape (n,).
            payload: Load at `frame`, in its axes.
        """
        coupling = self._coupling
        e = effects(self._robot, coupling.positions(q), coupling.rates(qd), coupling.rates(qdd))
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
        # Columns are joints, followers of mimic joints among them, which their leaders feel
        felt = np.array([[coupling.efforts(row) for row in table] for table in tables])
        carried = np.zeros_like(q)
        if payload is not None and payload.mass and self._frame is not None:
            loaded = self._dynamics.inverse(q, qd, qdd, payload=payload, frame=self._frame)
            carried = loaded - self._dynamics.inverse(q, qd, qdd)
        by_cause = np.vstack([felt.sum(axis=1), self._friction.smooth(qd), carried])
        return EffortCauses(by_cause, felt.sum(axis=0))
