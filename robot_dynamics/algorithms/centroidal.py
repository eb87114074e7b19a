"""Momentum of all links together about their common centre of mass: [OrinGoswami2008].

A robot whose root link is free has the momentum of all links as the momenta of its first six
coordinates. Mass matrix and momentum of that robot therefore hold all of it, and no equation
is written here again. The root link itself, which does not move, counts for nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from robot_dynamics.algorithms import composite_body
from robot_dynamics.algorithms.momentum import momentum as generalized_momentum
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot.free_joints import FreeJoint, free_joints
from robot_dynamics.robot.joint_frames import joint_frames
from robot_dynamics.robot.kinematic_tree import Link
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.transforms import merge_fixed, regroup
from robot_dynamics.spatial import cross


def momentum_matrix(robot: Robot, q: Array) -> tuple[Array, Array, Any]:
    """Compute the centroidal momentum matrix, the centre of mass and the mass.

    Args:
        robot: Tree without fixed joints; m joints, followers of mimic joints included.
        q: Joint positions, shape (m,), rad or m.

    Returns:
        A, shape (6, m): momentum (N s) over angular momentum about the centre of mass (N m s), in
        axes of the root link, for unit joint velocities; the centre of mass in the root link,
        shape (3,), m; and the mass of all links but the root, kg.
    """
    M = composite_body.mass_matrix(*_on_free_root(robot, q))
    c, mass = _centre(M)
    linear, angular = M[:3, 6:], M[3:6, 6:]
    return np.vstack([linear, angular - cross(c, linear)]), c, mass


def momentum(robot: Robot, q: Array, qd: Array) -> Array:
    """Compute the momentum over the angular momentum about the centre of mass, shape (6,).

    Args:
        robot: Tree without fixed joints; m joints, followers of mimic joints included.
        q: Joint positions, shape (m,), rad or m.
        qd: Joint velocities, shape (m,).
    """
    tree, x = _on_free_root(robot, q)
    p, _ = generalized_momentum(tree, x, np.concatenate([np.zeros(6), qd]), {})
    _, c, _ = momentum_matrix(robot, q)
    return np.concatenate([p[:3], p[3:6] - cross(c, p[:3])])


@dataclass(frozen=True, eq=False)
class Trunk:
    """A robot with a free base, seen from the link that this base moves.

    Both sums are computed in axes of that link and turned once. Its whole momentum is that of a
    floating joint, whatever the joint is that moves it, so that inertias may be regrouped.

    Args:
        free: The joint.
        robot: Its child link with all that it carries, on a floating joint.
    """

    free: FreeJoint
    robot: Robot

    @classmethod
    def of(cls, tree: Robot) -> Trunk:
        """That of a tree without fixed joints and with a free base."""
        (free,) = free_joints(tree)
        links, joints = tree.links[free.parts.stop :], tree.joints[free.parts.stop :]
        names = {link.name for link in links}
        frames = {name: frame for name, frame in tree.frames.items() if frame.link in names}
        carried = replace(tree, links=links, joints=joints, frames=frames).with_floating_base()
        return cls(free, regroup(joint_frames(merge_fixed(carried))))

    def momentum(self, robot: Robot, q: Array, qd: Array) -> Array:
        """As the function `momentum`, for `self.robot`, possibly with a payload, and q and qd."""
        own, turn = self._positions(q), self._pose(q)[0]
        rates = robot.coupling.rates(
            np.concatenate([self._twists @ qd[self.free.v], self._rest(qd)])
        )
        p, _ = generalized_momentum(robot, own, rates, {})
        M = composite_body.mass_matrix(robot, own)
        c, _ = _centre(M)
        return np.concatenate([turn @ p[:3], turn @ (p[3:6] - cross(c, p[:3]))])

    def momentum_matrix(self, robot: Robot, q: Array) -> tuple[Array, Array, Any]:
        """As the function `momentum_matrix`, by columns of qd."""
        turn, place = self._pose(q)
        M = composite_body.mass_matrix(robot, self._positions(q))
        c, mass = _centre(M)
        linear, angular = (robot.coupling.columns(M[rows].T).T for rows in (slice(3), slice(3, 6)))
        A = np.vstack([turn @ linear, turn @ (angular - cross(c, linear))])
        return np.hstack([A[:, :6] @ self._twists, A[:, 6:]]), turn @ c + place, mass

    @property
    def _twists(self) -> Array:
        """Twists of the link for unit rates of the joint, shape (6, k)."""
        if self.free.floating:
            return np.eye(6)
        linear, angular = self.free.axes[:, :2], self.free.axes[:, 2:]
        return np.block([[linear, np.zeros((3, 1))], [np.zeros((3, 2)), angular]])

    def _pose(self, q: Array) -> tuple[Array, Array]:
        """Rotation (3, 3) and position (3,) of the link in the root link."""
        R, p = self.free.pose(q)
        return self.free.rotation @ R, self.free.centre + self.free.rotation @ p

    def _positions(self, q: Array) -> Array:
        own = np.concatenate([np.zeros(6), q[self.free.q.stop :]])
        return self.robot.coupling.positions(own)

    def _rest(self, qd: Array) -> Array:
        return qd[self.free.v.stop :]


def _centre(M: Array) -> tuple[Array, Any]:
    """Centre of mass and mass of a robot on a floating joint, from its mass matrix."""
    mass = M[0, 0]
    return np.array([M[1, 5], M[2, 3], M[0, 4]]) * (1.0 / mass), mass


def _on_free_root(robot: Robot, q: Array) -> tuple[Robot, Array]:
    """The robot with a massless root link on a floating joint at zero, and its positions."""
    bare = replace(robot, links=(Link(robot.root), *robot.links[1:]))
    return merge_fixed(bare.with_floating_base()), np.concatenate([np.zeros(6), q])
