"""Joints, links and Jacobians of a tree in the axes of its base.

The closed forms of Lee, Lee and Nigam and of Asada and Slotine have vectors in base
axes and share this module. Joint k carries link k + 1; both have the number k here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from robot_dynamics.foundation.arrays import Array, vector
from robot_dynamics.robot.endpoint import Wrenches
from robot_dynamics.robot.kinematic_tree import joint_motion
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.transforms import merge_fixed
from robot_dynamics.spatial import cross


@dataclass(frozen=True, eq=False)
class BaseAxes:
    """Poses of the links and axes of the joints; all vectors in base axes.

    Args:
        paths: For link k, the joints from the base to it, its own last.
        R_P: For link k, its rotation in its parent link, shape (3, 3).
        R: For link k, its rotation in the base, shape (3, 3).
        p: For link k, its origin, which lies on joint k, shape (3,), m.
        b: For joint k, its unit vector, shape (3,).
        rotates: For joint k, whether it is revolute.
    """

    paths: Sequence[tuple[int, ...]]
    R_P: Sequence[Array]
    R: Sequence[Array]
    p: Sequence[Array]
    b: Sequence[Array]
    rotates: Sequence[bool]

    def jacobian(self, k: int, r: Array) -> tuple[Array, Array]:
        """Jacobians of point r of link k with the columns of `paths[k]` alone.

        [AsadaSlotine1986], eq. (5-26), with the lever arm from the joint to the point; all other
        columns of (5-25) are zero.

        Returns:
            J_L, shape (3, d), of the linear velocity of the point, and J_A, shape (3, d), of the
            angular velocity of the link.
        """
        linear, angular = [], []
        for j in self.paths[k]:
            linear.append(cross(self.b[j], r - self.p[j]) if self.rotates[j] else self.b[j])
            angular.append(self.b[j] if self.rotates[j] else np.zeros(3))
        return np.column_stack(linear), np.column_stack(angular)


def base_axes(robot: Robot, q: Array) -> BaseAxes:
    """Compute the base axes of a tree without fixed joints at joint positions q, shape (n,)."""
    paths: list[tuple[int, ...]] = []
    R_P, R, p, b = [], [], [], []
    for k, joint in enumerate(robot.joints):
        P = robot.parents[k] - 1
        R_PC, p_PC = joint_motion(joint, q[k])
        R_P.append(R_PC)
        if P < 0:
            paths.append((k,))
            R.append(R_PC)
            p.append(p_PC)
        else:
            paths.append((*paths[P], k))
            R.append(R[P] @ R_PC)
            p.append(p[P] + R[P] @ p_PC)
        b.append(R[k] @ joint.axis)
    return BaseAxes(paths, R_P, R, p, b, [joint.type.rotates for joint in robot.joints])


def endpoint_efforts(axes: BaseAxes, wrenches: Wrenches) -> dict[int, Array]:
    """Compute the efforts that balance wrenches of links, tau = J^T F (eq. (4-7) of the book).

    Args:
        axes: The tree.
        wrenches: By index in `robot.links`: force (3,) and moment (3,) about the link origin that
            the link exerts on its surroundings, in link axes.

    Returns:
        For every loaded link k (index in `robot.joints`), efforts of all joints, shape (n,). A
        wrench on the base loads no joint.
    """
    efforts = {}
    for link, (force, moment) in wrenches.items():
        k = link - 1
        if k < 0:
            continue
        J_L, J_A = axes.jacobian(k, axes.p[k])
        tau: list[Any] = [0.0] * len(axes.paths)
        on_path = J_L.T @ (axes.R[k] @ force) + J_A.T @ (axes.R[k] @ moment)
        for column, j in enumerate(axes.paths[k]):
            tau[j] = on_path[column]
        efforts[k] = np.array(tau)
    return efforts


def on_tree(robot: Robot, **arguments: npt.ArrayLike) -> tuple[Robot, list[Array]]:
    """Merge fixed links and check that every argument has one entry per moving joint.

    Returns:
        The tree, and every argument as an array of shape (n,).

    Raises:
        ShapeError: If an argument has another shape.
        ArgumentError: If an entry is not a finite number.
    """
    tree = merge_fixed(robot)
    n = len(tree.joints)
    return tree, [vector(name, values, n) for name, values in arguments.items()]
