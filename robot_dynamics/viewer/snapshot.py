"""One moment of a robot as the page shows it."""

from __future__ import annotations

from dataclasses import dataclass

from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot import Inertia, Robot, merge_fixed


@dataclass(frozen=True, eq=False)
class Snapshot:
    """One moment of a robot with n joints.

    Args:
        time: s, on any clock.
        q: Measured positions, shape (n,), rad or m.
        qd: Measured velocities, shape (n,).
        qdd: Accelerations, as well as they are known, shape (n,).
        tau: Efforts that act, or are measured, shape (n,), N m or N; NaN if unknown.
        q_d: Desired positions, shape (n,), or None while nothing is desired.
        payload: Load that the tool carries, or None.
        push: Force on the tool from outside, shape (3,), N, axes of the root link, or None.
        wrench: Force (N) over moment (N m) that the tool is to exert, about its origin and in its
            axes, shape (6,), or None.
    """

    time: float
    q: Array
    qd: Array
    qdd: Array
    tau: Array
    q_d: Array | None = None
    payload: Inertia | None = None
    push: Array | None = None
    wrench: Array | None = None


def tool_frame(robot: Robot) -> str:
    """The frame that carries a load: the tip, or the last link before the tips part.

    A robot whose tips part at its root has the first of them.
    """
    tree = merge_fixed(robot)
    if len(tree.tips) == 1:
        return tree.tips[0]
    paths = [tree.path_to(tree.frame(tip).link) for tip in tree.tips]
    shared = [joint for joint in paths[0] if all(joint in path for path in paths)]
    return tree.links[max(shared) + 1].name if shared else tree.tips[0]
