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
from robot_dynamics.robot.kinematic_tree import Joint, JointType, Link
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.transforms import merge_fixed, regroup
from robot_dynamics.spatial import Pose, cross, skew

TRUNK = 6
"""Index of the link behind the six parts of a floating joint, and number of its parts."""


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
    floating joint, for a planar one too, so that inertias may be regrouped.

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
        names = {tree.root, *(link.name for link in links)}
        base = Joint(free.name, JointType.FLOATING, tree.root, links[0].name, Pose.identity())
        carried = replace(
            tree,
            links=(Link(tree.root), *links),
            joints=(base, *joints),
            frames={name: frame for name, frame in tree.frames.items() if frame.link in names},
        )
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
        X_PL, I_L = composite_body.composite_bodies(robot, self._positions(q))
        m, h = I_L[TRUNK].mass, I_L[TRUNK].first_moment
        c = h * (1.0 / m)
        about_c = I_L[TRUNK].second_moment + skew(h) @ skew(c)
        columns = [*(m * turn).T, *(turn @ -skew(h)).T]
        moments = [*np.zeros((3, 3)), *(turn @ about_c).T]
        # Of every link from the trunk on, in axes of the root link, about the centre of mass
        R, p = {TRUNK: turn}, {TRUNK: -(turn @ c)}
        for k in range(TRUNK, len(X_PL)):
            L, P, joint = k + 1, robot.parents[k], robot.joints[k]
            R[L] = np.array([X_PL[k].vector_to_child(row) for row in R[P]])
            p[L] = R[P] @ X_PL[k].p + p[P]
            of_link = I_L[L], joint.axis, joint.type.rotates
            force, moment = composite_body.unit_acceleration_wrench(*of_link)
            columns.append(R[L] @ force)
            moments.append(R[L] @ moment + cross(p[L], columns[-1]))
        A = robot.coupling.columns(np.hstack([np.array(columns), np.array(moments)])).T
        return np.hstack([A[:, :TRUNK] @ self._twists, A[:, TRUNK:]]), turn @ c + place, m

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
