"""Forces and moments between the links of a robot at rest, link by link from the tips inward.

Section 4.1.1 of [AsadaSlotine1986], eqs. (4-1) to (4-6). What a joint's actuator bears is the
component along its axis; the structure of the joint bears all others, the reactions.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from robot_dynamics.algorithms.base_axes import base_axes
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.scalars import lowered
from robot_dynamics.kinematics.forward_kinematics import tree_positions
from robot_dynamics.robot.endpoint import wrench_argument
from robot_dynamics.robot.robot import Robot
from robot_dynamics.spatial import cross


class CouplingForces(NamedTuple):
    """Actions of the link before each joint on the link it carries, in axes of the root link.

    Attributes:
        joints: Names of the m moving joints, followers of mimic joints included, in tree order.
        force: The book's f_(i-1,i), shape (m, 3), N.
        moment: N_(i-1,i) about the joint's origin O_(i-1), shape (m, 3), N m.
        reaction_force: Without the component that a prismatic joint's actuator bears, (m, 3).
        reaction_moment: Without the component that a revolute joint's actuator bears, (m, 3).
        efforts: Of the n independent joints, shape (n,), N m or N: (4-4) to (4-6), those of
            followers of mimic joints brought to their leaders.
    """

    joints: tuple[str, ...]
    force: Array
    moment: Array
    reaction_force: Array
    reaction_moment: Array
    efforts: Array


def coupling_forces(
    robot: Robot,
    q: npt.ArrayLike,
    *,
    wrench: npt.ArrayLike | None = None,
    frame: str | None = None,
) -> CouplingForces:
    """Balance the forces and moments of every link of a robot that holds still, on any scalar.

    A link without mass needs none to hold it. Moments are taken about joints and not about mass
    centres as (4-2) is, so that no force of a joint has a lever arm in its own balance.

    Args:
        robot: Any robot; n independent joints in the order of `robot.joint_names`.
        q: Joint positions, shape (n,), rad or m.
        wrench: Endpoint force F (4-3): force (N) and moment (N m) about the origin of `frame` that
            the robot exerts on its surroundings there, shape (6,), in the axes of `frame`.
        frame: Link or named frame of the wrench; by default the only tip of the robot.

    Returns:
        Forces and moments of every joint, and the efforts that they leave to actuators.

    Raises:
        ShapeError: If an argument does not have the shape above.
        ArgumentError: If an entry is not a finite number.
        UnknownNameError: If there is no such frame.
    """
    tree, positions = tree_positions(robot, q)
    axes, m = base_axes(tree, positions), len(tree.joints)
    f: list[Any] = [np.zeros(3)] * m
    N: list[Any] = [np.zeros(3)] * m
    for link, (force, moment) in wrench_argument(tree, wrench, frame).items():
        if link > 0:  # f_(n,n+1) and N_(n,n+1)
            f[link - 1], N[link - 1] = axes.R[link - 1] @ force, axes.R[link - 1] @ moment
    for k in reversed(range(m)):
        body, before = tree.links[k + 1].inertia, tree.parents[k] - 1
        f[k] = f[k] - body.mass * tree.gravity  # (4-1)
        N[k] = N[k] - cross(axes.R[k] @ body.first_moment, tree.gravity)  # (4-2)
        if before >= 0:
            f[before] = f[before] + f[k]
            N[before] = N[before] + N[k] + cross(axes.p[k] - axes.p[before], f[k])
    along = [(N if axes.rotates[k] else f)[k] @ axes.b[k] for k in range(m)]  # (4-4), (4-5)
    held = [axes.b[k] * along[k] for k in range(m)]
    zero = np.zeros(3)
    return CouplingForces(
        tuple(joint.name for joint in tree.joints),
        *(
            lowered(np.array(rows))
            for rows in (
                f,
                N,
                [f[k] - (zero if axes.rotates[k] else held[k]) for k in range(m)],
                [N[k] - (held[k] if axes.rotates[k] else zero) for k in range(m)],
                tree.coupling.efforts(np.array(along)),  # (4-6)
            )
        ),
    )
