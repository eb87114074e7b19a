"""StateReader: joint_states whose positions and velocities come apart, or without velocities.

Velocities that never come can be estimated by positions; see `VelocityEstimate`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robot_dynamics.control.model import continuous_joints
from robot_dynamics.control.velocity_estimate import VelocityEstimate
from robot_dynamics.errors import ArgumentError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.units import NS_PER_S
from robot_dynamics.nodes.ros.joint_values import FIELDS, Sender
from robot_dynamics.nodes.ros.messages import JointReader, not_finite
from robot_dynamics.robot import Robot

APART = ("position", "velocity")
"""Fields that may come in messages of their own."""

ALONE = 20
"""Messages in a row without a field after which it does not come in messages of its own."""


class StateReader(JointReader):
    """Reads joint_states, also of positions and velocities in messages of their own.

    A state is complete when both have come anew. Its stamp is the older of both, so that its age is
    that of its oldest part.

    Args:
        robot: The robot.
        required: See `JointReader`.
        cutoff: Cutoff frequency of the filter that estimates velocities where a message has none,
            Hz; zero for none.
    """

    def __init__(self, robot: Robot, required: Sequence[str], cutoff: float = 0.0) -> None:
        names = robot.joint_names
        turning = continuous_joints(robot)
        self._estimate = VelocityEstimate(len(names), cutoff, turning) if cutoff > 0.0 else None
        super().__init__("joint_states", names, required)

    @property
    def estimates(self) -> str:
        """Announcement of the estimate; empty without one."""
        if self._estimate is None:
            return ""
        return (
            "velocities are estimated by positions where joint_states have none, with a lag of "
            f"{1e3 * self._estimate.lag:.3g} ms"
        )

    @property
    def lag(self) -> float:
        """Lag of the present velocities, s; zero if they are measured."""
        return self._estimate.lag if self._estimate is not None and self._estimated else 0.0

    def forget(self) -> None:
        """See `JointReader.forget`."""
        super().forget()
        n = len(self.joint_names)
        self._latest = np.full((len(FIELDS), n), np.nan)
        self._stamps = np.zeros((len(APART), n), dtype=np.int64)
        self._renewed = np.zeros((len(APART), n), dtype=bool)
        self._lacked, self._estimated = np.zeros(len(APART), dtype=int), False
        if self._estimate is not None:
            self._estimate.forget()

    def _gather(
        self, sender: Sender, new: Array, absent: tuple[str, ...], stamp: int
    ) -> tuple[Array, int] | None:
        """See `JointReader._gather`: wait for the other part, or estimate the velocities."""
        target = sender.target
        lacks = np.array([field in absent for field in APART])
        if not lacks.any():
            return super()._gather(sender, new, absent, stamp)
        if lacks.all():
            raise self._wrong_length("position", 0, len(sender.names))
        self._check_finite(new, absent, target)
        if self._estimate is not None and not lacks[0]:
            return self._with_estimate(new, stamp, target)
        given = [i for i, field in enumerate(FIELDS) if field not in absent]
        part = int(lacks[0])
        for i in given:
            self._latest[i, target] = new[i]
        self._stamps[part, target], self._renewed[part, target] = stamp, True
        self._lacked = np.where(lacks, self._lacked + 1, 0)
        other = 1 - part
        if self._lacked[other] > ALONE:
            self._latest[other, target] = np.nan
            if APART[other] in self._required or other == 0:
                raise self._never_comes(APART[other])
        needed = [i for i, field in enumerate(APART) if i == 0 or field in self._required]
        if not self._renewed[needed][:, target].all():
            return None
        self._renewed[:, target] = False
        return self._latest[:, target], int(self._stamps[needed][:, target].min())

    def _check_finite(self, new: Array, absent: tuple[str, ...], target: Array | slice) -> None:
        for field, row in zip(APART, new, strict=False):
            if field not in absent and not np.isfinite(row).all():
                names = np.array(self.joint_names)[target].tolist()
                raise not_finite(f"{self.topic}: {field} of joint", names, row)

    def _with_estimate(
        self, new: Array, stamp: int, target: Array | slice
    ) -> tuple[Array, int] | None:
        assert self._estimate is not None
        if not stamp:
            raise ArgumentError(
                f"{self.topic}: velocities are estimated by positions with stamps, but a message "
                "has none; set its stamp"
            )
        self._estimated = True
        new = new.copy()
        new[1] = self._estimate.feed(stamp / NS_PER_S, new[0], target)
        waits = "velocity" in self._required and np.isnan(new[1]).any()
        return None if waits else (new, stamp)

    def _never_comes(self, field: str) -> ArgumentError:
        remedy = ", or set velocity_filter to estimate it" if field == "velocity" else ""
        return ArgumentError(
            f"{self.topic}: no message has the {field} of the joints; publish it in the same "
            f"messages or in others{remedy}"
        )
