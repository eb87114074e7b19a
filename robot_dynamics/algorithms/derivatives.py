"""First derivatives of the joint efforts, and of the accelerations, in closed form.

When joint j turns by dq, everything outward of it moves along its screw S_j, and
with X the 4x4 pose of a link in a fixed frame, W = X' X^-1 its velocity and
A = X'' X^-1 its acceleration, differentiating X dq = S_j X twice in time leaves

    dA/dq_j   = S_j'' + 2 S_j' W + S_j A - A S_j
    dA/dqd_j  = 2 (S_j' + S_j W)                        (' is the derivative in time)

for every link outward of j. The efforts are linear in A and in the inertia P of
the links, so that only three sums over a subtree matter: its inertia, its momentum
matrix (sum of W P) and its wrench (of the sum of A P). They are summed inward once,
as for composite-body mass matrices. Every entry of the derivatives is then a scalar
product with quantities of the deeper of its two joints.

The last two terms of dA/dq_j rotate the subtree as a rigid body: they affect only
the efforts of the ancestors of j. The first two, for a joint i outward of j, act on
the wrench of a unit acceleration of joint i, which M needs as well.

A subtree is a link with all links outward of it, in the axes of that link. Its
positions, velocities and accelerations are relative to the origin of the link, which
enters only when the subtree is added to its parent. The motion of that origin cancels
from all but a few terms, and no linear velocity is computed. Inertial parameters enter
linearly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.algorithms.articulated_body import factorise_mass_matrix
from robot_dynamics.algorithms.change_of_frame import ChangeOfFrame
from robot_dynamics.algorithms.composite_body import (
    elimination_parents,
    factorise,
    mass_matrix,
    solve,
)
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot.endpoint import Wrenches
from robot_dynamics.robot.kinematic_tree import Joint
from robot_dynamics.robot.robot import Robot
from robot_dynamics.spatial import Inertia, cross, second_mass_moment, skew, symmetric, trace_minus

# -- subtrees ---------------------------------------------------------------------------------


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


# -- the derivatives --------------------------------------------------------------------------

WELL_CONDITIONED = 1e4
"""Condition of a scaled mass matrix whose factors keep their digits."""

Wrench = tuple[Array, Array]
"""Force and moment, shape (3,) each."""


def inverse_derivatives(
    robot: Robot, q: Array, qd: Array, qdd: Array, wrenches: Wrenches
) -> tuple[Array, Array, Array]:
    """Differentiate the joint efforts of a motion.

    Args:
        robot: Tree without fixed joints; n joints, followers of mimic joints included.
        q: Joint positions, shape (n,), rad or m.
        qd: Joint velocities, shape (n,).
        qdd: Joint accelerations, shape (n,).
        wrenches: For a link (by index in `robot.links`), force (3,) N and moment (3,) N m about
            the link origin that the link exerts on its surroundings, in axes of the link. They
            turn with the link.

    Returns:
        dtau/dq, dtau/dqd and the mass matrix dtau/dqdd, shape (n, n) each, row by effort and
        column by joint. Entries of joints on different branches are exactly zero.
    """
    _, dtau_dq, dtau_dqd, M = efforts_and_derivatives(robot, q, qd, qdd, wrenches)
    return dtau_dq, dtau_dqd, M


def forward_derivatives(
    robot: Robot,
    q: Array,
    qd: Array,
    tau: Array,
    wrenches: Wrenches,
    *,
    assembled: bool = False,
    in_coordinates: Callable[..., tuple[Array, Array, Array]] | None = None,
) -> tuple[Array, Array, Array]:
    """Differentiate the joint accelerations that given efforts produce.

    The result is in independent coordinates: with mimic joints, the inverse of the mass matrix is
    that of the coupled robot and not a part of the uncoupled one.

    Args:
        robot: Tree without fixed joints; n independent joints.
        q: Positions of the independent joints, shape (n,), rad or m.
        qd: Their velocities, shape (n,).
        tau: Their efforts, shape (n,), N m or N.
        wrenches: As for `inverse_derivatives`.
        assembled: Factorise the assembled mass matrix: a tenth fewer operations, but digits are
            lost where tiny links sit between large ones; see `keeps_digits`. With mimic joints
            it is always assembled.
        in_coordinates: Turns dtau/dq, dtau/dqd and M, given behind the pair of qdd and tau, into
            those by other coordinates.

    Returns:
        dqdd/dq, dqdd/dqd and dqdd/dtau (the inverse of the mass matrix), shape (n, n) each.
    """
    E, e0 = robot.coupling.matrix, robot.coupling.offset
    at_rest = np.zeros(len(robot.joints))
    at_q = robot, E @ q + e0
    _, dtau_dqd, M = inverse_derivatives(*at_q, E @ qd, at_rest, wrenches)  # of any qdd
    dtau_dqd = E.T @ dtau_dqd @ E
    # Coriolis efforts are homogeneous of degree two in qd
    bias = E.T @ efforts_and_derivatives(*at_q, at_rest, at_rest, wrenches)[0]
    bias = bias + dtau_dqd @ (0.5 * qd)
    parents = elimination_parents(robot)
    if assembled or any(joint.mimic for joint in robot.joints):
        L, inverse_D = factorise(E.T @ M @ E, parents)
    else:
        L, inverse_D = factorise_mass_matrix(robot, q)
    qdd = solve(L, inverse_D, parents, tau - bias)
    # qdd(q, qd, tau) holds tau(q, qd, qdd) fixed: 0 = dtau + M dqdd
    dtau_dq, _, _ = inverse_derivatives(*at_q, E @ qd, E @ qdd, wrenches)
    dtau_dq = E.T @ dtau_dq @ E
    if in_coordinates is not None:
        dtau_dq, dtau_dqd, _ = in_coordinates((qdd, tau), dtau_dq, dtau_dqd, E.T @ M @ E)
    return accelerations_of(dtau_dq, dtau_dqd, L, inverse_D, parents)


def accelerations_of(
    dtau_dq: Array, dtau_dqd: Array, L: Array, inverse_D: Array, parents: tuple[int, ...]
) -> tuple[Array, Array, Array]:
    """Turn derivatives of efforts at fixed accelerations into those of accelerations.

    Args:
        dtau_dq: By positions, shape (n, n).
        dtau_dqd: By velocities, shape (n, n).
        L: As of `factorise`.
        inverse_D: As of `factorise`.
        parents: `elimination_parents` of the joints.

    Returns:
        As `forward_derivatives`.
    """
    columns = np.hstack([-dtau_dq, -dtau_dqd])
    n = len(parents)
    solved = np.array([solve(L, inverse_D, parents, column) for column in columns.T])
    solved = solved.reshape(2 * n, n).T
    return solved[:, :n], solved[:, n:], _inverse(L, inverse_D)


def keeps_digits(robot: Robot) -> bool:
    """Return whether the factors of the assembled mass matrix keep nearly all digits.

    The loss is judged by the condition of the matrix, with rows and columns scaled to ones on the
    diagonal, at two random positions, with the parts of free joints in position zero. False for
    inertias that are symbols.
    """
    bodies = [link.inertia for link in robot.links]
    parts = [x for body in bodies for x in (body.mass, body.first_moment, body.second_moment)]
    if not robot.joints or any(np.asarray(x).dtype == object for x in parts):
        return False
    moved = np.array([not joint.part_of for joint in robot.joints])
    for q in np.random.default_rng(0).uniform(-np.pi, np.pi, (2, len(robot.joints))):
        M = mass_matrix(robot, moved * q)
        if np.any(np.diag(M) <= 0.0):
            return False
        scale = 1.0 / np.sqrt(np.diag(M))
        if np.linalg.cond(scale[:, None] * M * scale) > WELL_CONDITIONED:
            return False
    return True


def efforts_and_derivatives(
    robot: Robot, q: Array, qd: Array, qdd: Array, wrenches: Wrenches
) -> tuple[Array, Array, Array, Array]:
    """Return the efforts tau, and dtau/dq, dtau/dqd and M; arguments of `inverse_derivatives`."""
    n = len(robot.joints)
    # X_PL[k]: frame of link L = k + 1 in that of its parent P
    X_PL = [ChangeOfFrame(joint, q[k]) for k, joint in enumerate(robot.joints)]
    motions = link_motions(robot, X_PL, qd, qdd)
    tau: list[Any] = [0.0] * n
    dtau_dq, dtau_dqd, M = _zeros(n, q, qd, qdd), _zeros(n, q, qd, qdd), _zeros(n, q)

    # Joint k as the deeper of a pair: with itself, then with each ancestor j, going inward
    for k, subtree in subtrees(robot, X_PL, motions, wrenches):
        joint, motion = robot.joints[k], motions[k + 1]
        of_qdd, of_q, of_qd, y2 = _effect_inward(joint, motion, subtree)  # axes of the link
        along = subtree.moment if joint.type.rotates else subtree.force
        tau[k] = joint.axis @ along + of_qdd[0] @ motion.a
        j = k
        while True:
            ancestor, motion = robot.joints[j], motions[j + 1]
            component = 1 if ancestor.type.rotates else 0  # the moment along b, or the force
            b = ancestor.axis
            M[j, k] = M[k, j] = b @ of_qdd[component]
            dtau_dq[j, k] = b @ of_q[component]
            dtau_dqd[j, k] = b @ of_qd[component]
            if j != k:
                dtau_dq[k, j] = motion.b_ddot @ of_qdd[component]
                dtau_dqd[k, j] = (2.0 * motion.b_dot) @ of_qdd[component]
                if ancestor.type.rotates:
                    lever = cross(motion.a, b) @ of_qdd[0]
                    dtau_dq[k, j] = dtau_dq[k, j] + lever + motion.b_dot @ y2
                    dtau_dqd[k, j] = dtau_dqd[k, j] + b @ y2
            if robot.parents[j] == 0:
                break
            of_qdd = X_PL[j].wrench_to_parent(*of_qdd)
            of_q = X_PL[j].wrench_to_parent(*of_q)
            of_qd = X_PL[j].wrench_to_parent(*of_qd)
            y2 = X_PL[j].vector_to_parent(y2) + cross(motion.step_v2, of_qdd[0])
            j = robot.parents[j] - 1
    return np.array(tau), dtau_dq, dtau_dqd, M


def _effect_inward(
    joint: Joint, motion: LinkMotion, subtree: Subtree
) -> tuple[Wrench, Wrench, Wrench, Array]:
    """Compute the effect of a joint on inward links, in axes and origin of the link it carries.

    Returns:
        Wrench (force and moment) of a unit acceleration of the joint; change of the wrench with
        its position; change with its velocity; and the vector y2, whose product with the rate at
        which the axis of an ancestor turns is the Coriolis effort at this joint.
    """
    b, b_dot, b_dot2, b_ddot = joint.axis, motion.b_dot, 2.0 * motion.b_dot, motion.b_ddot
    m, h, J = subtree.inertia.mass, subtree.inertia.first_moment, subtree.inertia.second_moment
    if not joint.type.rotates:
        # A prismatic joint translates the whole subtree, and its force with it
        of_q = m * b_ddot, cross(h, b_ddot) + cross(b, subtree.force + m * motion.a)
        return (m * b, cross(h, b)), of_q, (m * b_dot2, cross(h, b_dot2)), cross(subtree.l2, b)
    of_qdd = cross(b, h), J @ b
    of_q = (
        cross(b_ddot, h) + cross(b_dot, subtree.l2) + cross(b, subtree.force),
        J @ b_ddot + subtree.C2 @ b_dot + cross(b, subtree.moment) + cross(of_qdd[0], motion.a),
    )
    of_qd = cross(b_dot2, h) + cross(b, subtree.l2), J @ b_dot2 + subtree.C2 @ b
    return of_qdd, of_q, of_qd, subtree.C2.T @ b


def _inverse(L: Array, inverse_D: Array) -> Array:
    """Compute the inverse of L^T D L, shape (n, n), from the factors of `factorise`."""
    G: Any = np.zeros_like(L)  # inverse of L, with the same structural zeros
    for k in range(len(L)):
        G[k] = -(L[k, :k] @ G[:k])
        G[k, k] = 1.0
    return symmetric((G * inverse_D) @ G.T)


def _zeros(n: int, *inputs: Array) -> Any:
    return np.zeros((n, n), dtype=np.result_type(*inputs))
