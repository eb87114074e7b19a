"""Results of a soak test, and its faults."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

import numpy as np

SETTLED = 30.0
"""Time after which memory counts, s; it is not judged in runs of less than twice that."""


@dataclass
class SoakReport:
    """Results of a soak test.

    Attributes:
        effort_rate: Largest change of effort that the controller was told to allow, N m/s.
        seconds: How long it ran.
        trajectories: Number sent.
        replaced: Number of those that were replaced on the way.
        accepted: Number that came back with efforts.
        payloads: Number of changes of the load.
        modes: Number of changes of the control mode.
        commands: Number of states that commands drove.
        fastest: Largest change of effort between two of them, N m/s.
        largest_step: Largest change of effort between two of them, N m.
        silence: Longest time between two of them, s.
        farthest: Largest tracking error, rad.
        memory: Resident memory of each node, MiB, as seconds and values.
        load: Load average at the end.
        faults: What did not hold.
    """

    effort_rate: float
    seconds: float = 0.0
    trajectories: int = 0
    replaced: int = 0
    accepted: int = 0
    payloads: int = 0
    modes: int = 0
    commands: int = 0
    fastest: float = 0.0
    largest_step: float = 0.0
    silence: float = 0.0
    farthest: float = 0.0
    memory: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    load: float = 0.0
    faults: list[str] = field(default_factory=list)

    def growth(self, node: str) -> float:
        """By how much the memory of a node grew after it had settled, MiB."""
        settled = min(SETTLED, 0.5 * self.seconds)
        values = [mib for t, mib in self.memory[node] if t >= settled]
        tenth = max(1, len(values) // 10)
        return float(np.median(values[-tenth:]) - np.median(values[:tenth]))

    def lines(self) -> list[str]:
        """The report in words."""
        told = [
            f"{self.seconds:.0f} s, load average {self.load:.2f} on {os.cpu_count()} processors",
            f"{self.trajectories} trajectories, {self.replaced} replaced on the way, "
            f"{self.accepted} came back with efforts",
            f"{self.payloads} payloads, {self.modes} changes of mode",
            f"{self.commands} commanded states: effort changed by at most "
            f"{self.largest_step:.2f} N m and {self.fastest:.0f} N m/s "
            f"(limit {self.effort_rate:.0f}); the longest silence was {1e3 * self.silence:.0f} ms",
            f"tracking error at most {self.farthest:.3f} rad, with loads that the robot does not "
            "carry and in modes without feedforward",
        ]
        for node, values in self.memory.items():
            told.append(
                f"{node}: {values[-1][1]:.1f} MiB at the end, grown by {self.growth(node):+.2f} MiB"
            )
        return told + [f"FAULT: {fault}" for fault in self.faults]
