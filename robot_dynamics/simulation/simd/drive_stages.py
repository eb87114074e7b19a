"""Drives that close their own loop, in SIMD lanes: they hold a command, and act in every step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.compiler.graph.piecewise import clip
from robot_dynamics.control.laws import Measured
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.simulation.drive_loop import LoopGains, drive_effort
from robot_dynamics.simulation.simd.stage import LoopStage

COMMANDED = ("commanded_q", "commanded_qd", "commanded_tau")
"""Commands to drives that close the loop."""


class DriveSettings(NamedTuple):
    """Settings of drives.

    Args:
        gains: Their gains.
        takes_velocity: Whether they take velocities, 0 or 1.
        limit: Their largest efforts, shape (n,), N m or N.
    """

    gains: LoopGains
    takes_velocity: Any
    limit: Array


def drive_stage(
    settings: Callable[[Mapping[str, Array]], DriveSettings], reads: Sequence[str]
) -> LoopStage:
    """Return the feedback of drives in a step of the plant, from their commands to its efforts.

    Args:
        settings: Settings of the drives, of arrays by name.
        reads: Names of these arrays.
    """

    def function(**x: Array) -> dict[str, Any]:
        drives, command = settings(x), np.array([x[name] for name in COMMANDED])
        measured = Measured(x["q"], x["qd"])
        tau = drive_effort(command, measured, drives.gains, drives.takes_velocity)
        return {"tau": clip(tau, -drives.limit, drives.limit)}

    return LoopStage("drive", function, (*COMMANDED, "q", "qd", *reads), ("tau",))
