"""Subtrees: a link with all links outward of it; inertia, momentum and force, summed inward.

A subtree is in the axes of its first link; its positions, velocities and accelerations
are relative to the origin of that link. The position and motion of the origin enter only
when the subtree is added to the parent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.algorithms.change_of_frame import ChangeOfFrame
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot.endpoint import Wrenches
from robot_dynamics.robot.robot import Robot
from robot_dynamics.spatial.rigid_body import Inertia, second_mass_moment
from robot_dynamics.spatial.rotation import cross, skew, trace_minus


class LinkMotion(NamedTuple):
    """Motion of a link; all vectors in its own axes except those of the step.

    Attributes:
        w: Angular velocity, shape (3,), rad/s.
        wd: Angular acceleration, shape (3,), rad/s^2.
        U: Acceleration U x of a point x relative to the origin, shape (3, 3), 1/s^2.
        a: Acceleration of the origin, gravity included, shape (3,), m/s^2.
        b_dot: First derivative in time of the axis of the joint that carries the link, shape (3,).
        b_ddot: Its second derivative.
        step_v2: Twice the velocity of the origin relative to the parent's origin, parent axes.
        step_a: Acceleration of the origin relative to the parent's origin, parent axes.
    """

    w: Array
    wd: Array
    U: Array
    a: Array
    b_dot: Array
    b_ddot: Array
    step_v2: Array
    step_a: Array


def link_motions(
    robot: Robot, frames: Sequence[ChangeOfFrame], qd: Array, qdd: Array
) -> list[LinkMotion]:
    """Compute the motion of every link, root first; gravity is an upward base acceleration."""
    zero = np.zeros(3)
    at_rest = LinkMotion(zero, zero, np.zeros((3, 3)), -robot.gravity, zero, zero, zero, zero)
    motions = [at_rest]
    for k, joint in enumerate(robot.joints):
        frame, of_parent, b = frames[k], motions[robot.parents[k]], joint.axis
        step_v2, step_a = cross(of_parent.w, 2.0 * frame.p), of_parent.U @ frame.p
        w, wd = frame.vector_to_child(of_parent.w), frame.vector_to_child(of_parent.wd)
        if joint.type.rotates:
            w = w + b * qd[k]
            b_dot = cross(w, b)
            # The joint's own rotation changes neither its axis nor the derivatives of its axis:
            # b'' comes from the parent, and the part of wd normal to b from b'' = wd x b + w x b'
            b_ddot = frame.vector_to_child(of_parent.U @ frame.axis)
            along_b = frame.axis @ of_parent.wd + qdd[k]
            wd = cross(b, b_ddot - cross(w, b_dot)) + b * along_b
            U = _acceleration_matrix(w, wd)
        else:
            b_dot, U = cross(w, b), _acceleration_matrix(w, wd)
            b_ddot = U @ b
            slide2 = frame.axis * (2.0 * qd[k])
            step_v2 = step_v2 + slide2
            step_a = step_a + cross(of_parent.w, slide2) + frame.axis * qdd[k]
        a = frame.vector_to_child(of_parent.a + step_a)
        motions.append(LinkMotion(w, wd, U, a, b_dot, b_ddot, step_v2, step_a))
    return motions


class Subtree(NamedTuple):
    """Sums over the mass elements dm of a subtree, at x and moving with v, both relative.

    Attributes:
        inertia: Its mass, first and second moment.
        l2: Twice its momentum, the sum of 2 v dm, shape (3,), kg m/s.
        C2: Matrix of the sum of 2 x cross (u cross v) dm in u, shape (3, 3), kg m^2/s: the
            Coriolis moment when the whole subtree turns with u.
        force: Force that its motion needs, shape (3,), N.
        moment: Moment about the origin that its motion needs, shape (3,), N m.
    """

    inertia: Inertia
    l2: Array
    C2: Array
    force: Array
    moment: Array

    @staticmethod
    def of_link(body: Inertia, motion: LinkMotion) -> Subtree:
        """A single link."""
        h, S = body.first_moment, second_mass_moment(body)
        Y = motion.U @ S  # sum of (acceleration)(position)^T dm
        moment = np.array([Y[2, 1] - Y[1, 2], Y[0, 2] - Y[2, 0], Y[1, 0] - Y[0, 1]])
        # v = w x x is normal to x, so that x (u x v) leaves only minus v x^T
        C2 = -skew(motion.w) @ (2.0 * S)
        return Subtree(body, cross(motion.w, 2.0 * h), C2, motion.U @ h, moment)

    def __add__(self, other: Any) -> Subtree:
        return Subtree(*[mine + its for mine, its in zip(self, other, strict=True)])

    def with_wrench(self, force: Array, moment: Array) -> Subtree:
        """Add a wrench that the subtree exerts on its surroundings."""
        return self._replace(force=self.force + force, moment=self.moment + moment)

    def on_parent(self, frame: ChangeOfFrame, motion: LinkMotion) -> Subtree:
        """Transform the subtree to the axes and origin of the parent."""
        m, h_R = self.inertia.mass, frame.vector_to_parent(self.inertia.first_moment)
        p, v2, a = frame.p, motion.step_v2, motion.step_a
        inertia = frame.inertia_to_parent(self.inertia)
        l2_R, C2_R = frame.vector_to_parent(self.l2), frame.matrix_to_parent(self.C2)
        # Replacing x by x + p and v by v + v2 / 2 adds this to the sum of 2 v x^T dm
        gained = np.outer(l2_R, p) + np.outer(v2, inertia.first_moment)
        force = frame.vector_to_parent(self.force) + m * a
        moment = frame.vector_to_parent(self.moment) + cross(h_R, a) + cross(p, force)
        return Subtree(inertia, l2_R + m * v2, C2_R + trace_minus(gained), force, moment)


def subtrees(
    robot: Robot,
    frames: Sequence[ChangeOfFrame],
    motions: Sequence[LinkMotion],
    wrenches: Wrenches,
) -> Iterator[tuple[int, Subtree]]:
    """Yield the number of every joint and the subtree that it carries, tips first.

    A generator, so that compiled equations use a subtree while it is still in registers.
    """
    sums = [
        Subtree.of_link(link.inertia, motion)
        for link, motion in zip(robot.links, motions, strict=True)
    ]
    for i, (force, moment) in wrenches.items():
        sums[i] = sums[i].with_wrench(force, moment)
    for k in reversed(range(len(robot.joints))):
        yield k, sums[k + 1]
        parent = robot.parents[k]
        if parent > 0:
            sums[parent] = sums[parent] + sums[k + 1].on_parent(frames[k], motions[k + 1])


def _acceleration_matrix(w: Array, wd: Array) -> Array:
    """[wd]x + [w]x [w]x, from the products of the components of w."""
    return skew(wd) - trace_minus(np.outer(w, w))
