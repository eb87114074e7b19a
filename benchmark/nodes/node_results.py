"""What one run of the nodes has measured, and for how long."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

NODES = ("simulator_node", "feedforward_node", "controller_node")


@dataclass(frozen=True)
class Durations:
    """How long to measure, s.

    Attributes:
        separate: Three processes at 1 kHz.
        watched: The same, without and with a viewer.
        control: Timers as busy as they.
        latency: States and their answers.
        composed: One process, with each scheduling.
    """

    separate: float
    watched: float
    control: float
    latency: float
    composed: float


FULL = Durations(60.0, watched=20.0, control=20.0, latency=30.0, composed=20.0)
QUICK = Durations(5.0, watched=3.0, control=3.0, latency=5.0, composed=4.0)


@dataclass
class NodeResults:
    """What a run has measured; times in s, rates in Hz, memory in MiB.

    Attributes:
        robot: Name of the robot.
        seconds: Length of each part.
        loads: Load average before each part.
        stolen: Before all, what a thread that only computes lost: to other processes, and to the
            host of a virtual machine, as part of the time; the longest gap, s.
        nodes: Of three processes: rate held, cycles, missed, jitter, processor time, memory.
        timer: A timer beside them.
        watched: Of three processes without and with a viewer: rate held and cycles missed.
        busy_timers: Timers as busy as the nodes, without messages.
        published: States of the latency part.
        delays: From joint_states to the answer, by who answers, s.
        answering_cpu: Processor time per s that answering takes, by who answers.
        composed: One process, by rate and scheduling.
        composed_timers: The timers beside.
        composed_busy_timers: Timers as busy as the process, by themselves.
    """

    robot: str
    seconds: Durations
    loads: dict[str, float] = field(default_factory=dict)
    stolen: tuple[float, float, float] = (0.0, 0.0, 0.0)
    nodes: dict[str, dict[str, float]] = field(default_factory=dict)
    timer: dict[str, Any] = field(default_factory=dict)
    watched: dict[str, dict[str, dict[str, float]]] = field(default_factory=dict)
    busy_timers: list[dict[str, Any]] = field(default_factory=list)
    published: int = 0
    delays: dict[str, np.ndarray] = field(default_factory=dict)
    answering_cpu: dict[str, float] = field(default_factory=dict)
    composed: dict[str, dict[str, Any]] = field(default_factory=dict)
    composed_timers: dict[str, dict[str, Any]] = field(default_factory=dict)
    composed_busy_timers: dict[str, dict[str, Any]] = field(default_factory=dict)
