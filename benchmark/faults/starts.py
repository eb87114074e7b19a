"""Orders of start, restarts, an arm that is moved meanwhile, and a leftover publisher of states.

No motion is requested, so that none may happen.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from benchmark.faults.poses import POSES
from benchmark.faults.runs import NODES, Nodes

ORDERS = (
    ("plant", "feedforward_node", "controller_node"),
    ("plant", "controller_node", "feedforward_node"),
    ("feedforward_node", "controller_node", "plant"),
    ("controller_node", "plant", "feedforward_node"),
)
"""Orders in which the three processes start."""

RESTARTS = ("none", "plant", *NODES)
"""Processes that are killed and started again."""

READY = ("ready for trajectories",)
HELD = ("tracking the reference", "holding still until")
"""Words of nodes that hold the arm, or follow a reference."""

BETWEEN_S, WATCHED_S = 0.7, 2.5
"""Time between two starts, and time for which the arm is watched, s."""

BY_HAND = 0.5
"""Way by which the arm is moved, rad."""

ALLOWED = 0.005
"""Motion that counts as none, rad."""


@dataclass(frozen=True)
class Start:
    """One run.

    Args:
        robot: Name of the robot.
        rate: Rate of states and nodes, Hz.
        order: Index in `ORDERS`.
        restart: One of `RESTARTS`. A node whose arm is moved restarts with the other one.
        moved: Whether the arm is moved before the controller starts, or before the restart.
        leftover: Whether another node publishes zeros from the beginning.
    """

    robot: str
    rate: float
    order: int
    restart: str
    moved: bool
    leftover: bool


def starts(robots: list[str], rate: float) -> Iterator[Start]:
    """Return all runs."""
    choices = (robots, range(len(ORDERS)), RESTARTS, (False, True), (False, True))
    for robot, order, restart, moved, leftover in itertools.product(*choices):
        yield Start(robot, rate, order, restart, moved, leftover)


def unrequested(start: Start, nodes: Nodes) -> float:
    """Start the processes, restart one of them, and return the largest motion, rad."""
    first = np.array(POSES[start.robot][0])
    order, again = ORDERS[start.order], start.restart
    if start.leftover:
        nodes.ear.publish_zeros(list(nodes.model.joint_names))
    for name in order:
        if name == "plant":
            nodes.start_plant(first)
            continue
        if again == "none" and start.moved and name == NODES[0] and nodes.pipe is not None:
            _lead(nodes)
        nodes.start(name)
        time.sleep(BETWEEN_S)
    if again == "none":
        return _watched(nodes)
    largest = _watched(nodes)
    # A controller that lives holds the arm: nothing moves it meanwhile
    ended = NODES[::-1] if start.moved and again in NODES else (again,)
    behind = {name: nodes.log_size(name) for name in ended}
    for name in ended:
        nodes.kill(name)
    if again == "plant":
        time.sleep(BETWEEN_S)
        nodes.start_plant(first + BY_HAND * start.moved)
    else:
        if start.moved:
            _lead(nodes)
        for name in (again, *(name for name in ended if name != again)):
            nodes.start(name)
            time.sleep(BETWEEN_S)
    return max(largest, _watched(nodes, behind))


def _lead(nodes: Nodes) -> None:
    """Move the arm by hand; brakes open with the next command."""
    nodes.order("lead", np.full(nodes.model.dof, BY_HAND))
    nodes.answer()


def _watched(nodes: Nodes, behind: Mapping[str, int] | None = None) -> float:
    """Return the motion until a while after both nodes, one of them anew, hold the arm."""
    for name, words in zip(NODES, (HELD, READY), strict=True):
        nodes.wait_for_log(name, *words, behind=(behind or {}).get(name, 0))
    time.sleep(WATCHED_S)
    q = nodes.trace()[1]
    return float(abs(q - q[0]).max())
