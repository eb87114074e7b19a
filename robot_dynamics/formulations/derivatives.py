"""First derivatives of the joint efforts, and of the accelerations, in closed form.

When joint j turns by dq, everything outward of it moves along its screw S_j, and
with X the 4x4 pose of a link in a fixed frame, W = X' X^-1 its velocity and
A = X'' X^-1 its acceleration, differentiating X dq = S_j X twice in time leaves

    dA/dq_j   = S_j'' + 2 S_j' W + S_j A - A S_j
    dA/dqd_j  = 2 (S_j' + S_j W)                        (' is the derivative in time)

for every link outward of j. The efforts are linear in A and in the inertia P of
the links, so that of a whole subtree only three sums matter: its inertia, its
momentum matrix (sum of W P) and its wrench (of the sum of A P). They are carried
inward once, as in composite-body mass matrices; every entry of the derivatives is
then a scalar product with what the deeper of its two joints sees.

The last two terms of dA/dq_j turn the subtree without deforming it: they matter
only for the efforts of the ancestors of j. The first two, for a joint i outward of
j, act on the wrench of a unit acceleration of joint i, which M needs as well.

Each subtree is measured relative to the origin of its own joint, in position,
velocity and acceleration: the motion of that origin then cancels from all but a
few terms, and no linear velocity is ever computed. Inertial parameters enter
linearly.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.formulations.change_of_frame import ChangeOfFrame, symmetric
from robot_dynamics.formulations.composite_body import elimination_parents, factorise, solve
from robot_dynamics.formulations.vectors import Array, cross, skew
from robot_dynamics.robot.robot import Inertia, Robot

Wrench = tuple[Array, Array]
Wrenches = Mapping[int, Wrench]


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
    _, dtau_dq, dtau_dqd, M = _efforts_and_derivatives(robot, q, qd, qdd, wrenches)
    return dtau_dq, dtau_dqd, M


def forward_derivatives(
    robot: Robot, q: Array, qd: Array, tau: Array, wrenches: Wrenches
) -> tuple[Array, Array, Array]:
    """Differentiate the joint accelerations that given efforts produce.

    In independent coordinates: where joints mimic others, the inverse of the mass matrix is that
    of the coupled robot and not a part of the uncoupled one.

    Args:
        robot: Tree without fixed joints; n independent joints.
        q: Positions of the independent joints, shape (n,), rad or m.
        qd: Their velocities, shape (n,).
        tau: Their efforts, shape (n,), N m or N.
        wrenches: As for `inverse_derivatives`.

    Returns:
        dqdd/dq, dqdd/dqd and dqdd/dtau (the inverse of the mass matrix), shape (n, n) each.
    """
    E, e0 = robot.coupling.matrix, robot.coupling.offset
    rest = np.zeros(len(robot.joints))
    bias, _, _, M = _efforts_and_derivatives(robot, E @ q + e0, E @ qd, rest, wrenches)
    parents = elimination_parents(robot)
    L, inverse_D = factorise(E.T @ M @ E, parents)
    qdd = solve(L, inverse_D, parents, tau - E.T @ bias)
    # qdd(q, qd, tau) holds tau(q, qd, qdd) fixed: 0 = dtau + M dqdd
    dtau_dq, dtau_dqd, _ = inverse_derivatives(robot, E @ q + e0, E @ qd, E @ qdd, wrenches)
    columns = np.hstack([-(E.T @ dtau_dq @ E), -(E.T @ dtau_dqd @ E)])
    solved = np.array([solve(L, inverse_D, parents, column) for column in columns.T]).T
    n = robot.dof
    return solved[:, :n], solved[:, n:], _inverse(L, inverse_D)


class _Subtree(NamedTuple):
    """A link and all that hangs on it, relative to the origin of the link, in its axes.

    With x the position and v the velocity of a mass element dm, both relative:

    Attributes:
        inertia: Its mass, first and second moment.
        l2: Twice its momentum, sum of 2 v dm, shape (3,).
        C2: Twice the matrix by which an angular velocity u of the whole acts on the momentum:
            C2 u = sum of 2 x cross (u cross v) dm, shape (3, 3). The Coriolis moment.
        force: Force that its motion needs, shape (3,).
        moment: Moment about the origin that its motion needs, shape (3,).
    """

    inertia: Inertia
    l2: Array
    C2: Array
    force: Array
    moment: Array

    def __add__(self, other: Any) -> _Subtree:
        return _Subtree(*[mine + its for mine, its in zip(self, other, strict=True)])


class _Axis(NamedTuple):
    """What the derivatives need of one joint, axes of the link that it carries.

    Attributes:
        b: Unit vector of the axis.
        b_dot: Its derivative in time.
        b_dot2: Twice that.
        b_ddot: Its second derivative.
        a: Acceleration of the joint's origin, weights included.
        a_b: a cross b.
    """

    b: Array
    b_dot: Array
    b_dot2: Array
    b_ddot: Array
    a: Array
    a_b: Array


def _efforts_and_derivatives(
    robot: Robot, q: Array, qd: Array, qdd: Array, wrenches: Wrenches
) -> tuple[Array, Array, Array, Array]:
    """Efforts tau, dtau/dq, dtau/dqd and M."""
    n = len(robot.joints)
    frames = [ChangeOfFrame(joint, q[k]) for k, joint in enumerate(robot.joints)]

    # Outward: motion of every link, and the link by itself
    zero = np.zeros(3)
    w, wd, a = [zero] * (n + 1), [zero] * (n + 1), [zero] * (n + 1)
    U = [np.zeros((3, 3))] * (n + 1)  # acceleration of a point of the link beyond its origin's: U x
    a[0] = -robot.gravity  # stands for the weights: the base falls upwards
    step: list[tuple[Array, Array]] = []  # a child's origin beyond its parent's: 2 v, a
    axes: list[_Axis] = []
    subtrees: list[Any] = [None]
    for k, joint in enumerate(robot.joints):
        frame, parent, b = frames[k], robot.parents[k], joint.axis
        p, w_P = frame.p, w[parent]
        v2, a_step = cross(w_P, 2.0 * p), U[parent] @ p
        w_i, wd_i = frame.vector_to_child(w_P), frame.vector_to_child(wd[parent])
        if joint.type.rotates:
            w_i = w_i + b * qd[k]
            b_dot = cross(w_i, b)
            # The joint's own turn changes neither its axis nor the derivatives of it
            b_ddot = frame.vector_to_child(U[parent] @ frame.axis)
            # b'' = wd x b + w x b', solved for what of wd is normal to b
            wd_i = cross(b, b_ddot - cross(w_i, b_dot)) + b * (frame.axis @ wd[parent] + qdd[k])
            U_i = _acceleration_matrix(w_i, wd_i)
        else:
            slide = 2.0 * frame.axis * qd[k]
            v2, a_step = v2 + slide, a_step + cross(w_P, slide) + frame.axis * qdd[k]
            b_dot, U_i = cross(w_i, b), _acceleration_matrix(w_i, wd_i)
            b_ddot = U_i @ b
        a_i = frame.vector_to_child(a[parent] + a_step)
        w[k + 1], wd[k + 1], a[k + 1], U[k + 1] = w_i, wd_i, a_i, U_i
        step.append((v2, a_step))
        axes.append(_Axis(b, b_dot, 2.0 * b_dot, b_ddot, a_i, cross(a_i, b)))
        subtrees.append(_link_alone(robot.links[k + 1].inertia, w_i, U_i))
    for i, (force, moment) in wrenches.items():
        if i > 0:
            alone = subtrees[i]
            subtrees[i] = alone._replace(force=alone.force + force, moment=alone.moment + moment)

    # Inward: subtrees
    for k in reversed(range(n)):
        parent = robot.parents[k]
        if parent > 0:
            subtrees[parent] = subtrees[parent] + _on_parent(subtrees[k + 1], frames[k], *step[k])

    # Every joint k as the deeper of a pair, with itself and with each of its ancestors j
    tau: list[Any] = [0.0] * n
    dtau_dq, dtau_dqd, M = _zeros(n, q, qd, qdd), _zeros(n, q, qd, qdd), _zeros(n, q)
    for k, joint in enumerate(robot.joints):
        axis, subtree = axes[k], subtrees[k + 1]
        seen = _seen_by(axis, subtree, joint.type.rotates)
        (f_M, n_M), (f_q, n_q), (f_qd, n_qd), y2 = seen
        along = subtree.moment if joint.type.rotates else subtree.force
        tau[k] = axis.b @ along + f_M @ axis.a
        j = k
        while True:
            carrier, on = axes[j], robot.joints[j]
            M[j, k] = M[k, j] = carrier.b @ (n_M if on.type.rotates else f_M)
            dtau_dq[j, k] = carrier.b @ (n_q if on.type.rotates else f_q)
            dtau_dqd[j, k] = carrier.b @ (n_qd if on.type.rotates else f_qd)
            if j != k and on.type.rotates:
                dtau_dq[k, j] = carrier.b_ddot @ n_M + carrier.a_b @ f_M + carrier.b_dot @ y2
                dtau_dqd[k, j] = carrier.b_dot2 @ n_M + carrier.b @ y2
            elif j != k:
                dtau_dq[k, j], dtau_dqd[k, j] = carrier.b_ddot @ f_M, carrier.b_dot2 @ f_M
            if robot.parents[j] == 0:
                break
            frame, v2 = frames[j], step[j][0]
            f_M, n_M = frame.wrench_to_parent(f_M, n_M)
            f_q, n_q = frame.wrench_to_parent(f_q, n_q)
            f_qd, n_qd = frame.wrench_to_parent(f_qd, n_qd)
            y2 = frame.vector_to_parent(y2) + cross(v2, f_M)
            j = robot.parents[j] - 1
    return np.array(tau), dtau_dq, dtau_dqd, M


def _acceleration_matrix(w: Array, wd: Array) -> Array:
    """U such that a point x of a turning link accelerates with U x beyond the link's origin."""
    return skew(wd) - _trace_form(np.outer(w, w))


def _link_alone(body: Inertia, w: Array, U: Array) -> _Subtree:
    """Turning about its resting origin with angular velocity w."""
    h, S = body.first_moment, _second_moments(body)
    Y = U @ S  # sum of (acceleration)(position)^T dm
    moment = np.array([Y[2, 1] - Y[1, 2], Y[0, 2] - Y[2, 0], Y[1, 0] - Y[0, 1]])
    # C2 is minus the sum of (2 v) x^T: the trace is zero, since v is perpendicular to x
    return _Subtree(body, cross(w, 2.0 * h), -skew(w) @ (2.0 * S), U @ h, moment)


def _second_moments(body: Inertia) -> Array:
    """Sum of x x^T dm about the link origin, shape (3, 3), kg m^2."""
    J = body.second_moment
    S: Any = -J
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        S[i, i] = 0.5 * ((J[j, j] + J[k, k]) - J[i, i])
    return np.array(S)


def _on_parent(subtree: _Subtree, frame: ChangeOfFrame, v2: Array, a: Array) -> _Subtree:
    """The same subtree in axes of the parent and relative to its origin.

    Relative to that, the origin of the subtree lies at frame.p and moves with half of v2 and
    accelerates with a, both in axes of the parent.
    """
    m, p = subtree.inertia.mass, frame.p
    h_R = frame.vector_to_parent(subtree.inertia.first_moment)
    J_R = frame.symmetric_to_parent(subtree.inertia.second_moment)
    l2_R, C2_R = frame.vector_to_parent(subtree.l2), frame.matrix_to_parent(subtree.C2)
    h = h_R + m * p
    # What the shift adds to the sums of x x^T and of (2 v) x^T, with x + p for x, v + v2/2 for v
    J = J_R + symmetric(_trace_form(np.outer(h_R, p) + np.outer(p, h)))
    C2 = C2_R + _trace_form(np.outer(l2_R, p) + np.outer(v2, h))
    force = frame.vector_to_parent(subtree.force) + m * a
    moment = frame.vector_to_parent(subtree.moment) + cross(h_R, a) + cross(p, force)
    return _Subtree(Inertia(m, h, J), l2_R + m * v2, C2, force, moment)


def _trace_form(B: Array) -> Array:
    """Trace(B) 1 - B: from sums of y x^T to the matrix of sums of x cross (u cross y) in u."""
    T: Any = -B
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        T[i, i] = B[j, j] + B[k, k]
    return np.array(T)


def _seen_by(axis: _Axis, subtree: _Subtree, rotates: bool) -> tuple[Wrench, Wrench, Wrench, Array]:
    """What the inward links of joint k feel when it moves, in axes and about the origin of k.

    Returns:
        Wrench of a unit acceleration, of dq and of dqd (force and moment each), and the vector y2
        whose product with the angular velocity of an ancestor's screw is the Coriolis effort at
        joint k, twice.
    """
    b, b_dot, b_dot2, b_ddot, a, _ = axis
    m, h, J = subtree.inertia.mass, subtree.inertia.first_moment, subtree.inertia.second_moment
    if not rotates:
        of_qdd = m * b, cross(h, b)
        # A slide moves the whole subtree parallel to itself: its force gets a lever
        of_q = m * b_ddot, cross(h, b_ddot) + cross(b, subtree.force + m * a)
        of_qd = m * b_dot2, cross(h, b_dot2)
        return of_qdd, of_q, of_qd, cross(subtree.l2, b)
    of_qdd = cross(b, h), J @ b
    of_q = (
        cross(b_ddot, h) + cross(b_dot, subtree.l2) + cross(b, subtree.force),
        J @ b_ddot + subtree.C2 @ b_dot + cross(b, subtree.moment) + cross(of_qdd[0], a),
    )
    of_qd = cross(b_dot2, h) + cross(b, subtree.l2), J @ b_dot2 + subtree.C2 @ b
    return of_qdd, of_q, of_qd, subtree.C2.T @ b


def _inverse(L: Array, inverse_D: Array) -> Array:
    """Inverse of L^T D L, shape (n, n), from the factors of `factorise`."""
    G: Any = np.zeros_like(L)  # inverse of L, with the same structural zeros
    for k in range(len(L)):
        G[k] = -(L[k, :k] @ G[:k])
        G[k, k] = 1.0
    return symmetric((G * inverse_D) @ G.T)


def _zeros(n: int, *inputs: Array) -> Any:
    return np.zeros((n, n), dtype=np.result_type(*inputs))
