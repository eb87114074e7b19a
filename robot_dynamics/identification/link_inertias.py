"""Link inertias: their map to base parameters, and physically consistent ones nearest to the data.

Links that are fixed to each other keep bodies of their own: an identified robot has the
links, names and frames that it had before.

An inertia is physically consistent if and only if its 4x4 pseudo-inertia is positive definite
([Wensing2018]). With J = L S L^T and L L^T the pseudo-inertia of the URDF, S is the identity for
what the URDF says, S > 0 is the condition, and |S - 1|_F is the distance of the bodies, measured
where the URDF is ([Lee2020], the constant pullback of the Riemannian metric). Least squares over
all S with the squared distance as prior is a convex programme: where the data are silent the URDF
speaks, and the mass matrix is positive definite at every pose.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from robot_dynamics.algorithms.base_parameters import BaseParameters, base_columns
from robot_dynamics.errors import RecordingError, RobotError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.lazy import needed
from robot_dynamics.robot.joint_frames import SUFFIX, joint_frames
from robot_dynamics.robot.kinematic_tree import Frame
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.transforms import merge_fixed
from robot_dynamics.spatial import (
    PARAMETERS,
    Inertia,
    body_of,
    body_with,
    inertial_parameters,
    pseudo_inertia,
    skew,
)

THINNEST_M = 0.01
"""Least radius of gyration of a body that a fit may start from, m."""

LIGHTEST = 1e-3
"""Least mass of such a body, of the mass of all links."""


@dataclass(frozen=True, eq=False)
class LinkInertias:
    """The links whose inertia may change, and their map to base parameters.

    Args:
        robot: The robot of the URDF.
        links: Names of the links that a joint moves and that have a body or carry the only one.
        base: Base parameters; their values are those of the URDF.
        K: base values = K pi with pi the parameters of all `links`, in link frames; shape
            (p, 10 l).
    """

    robot: Robot
    links: tuple[str, ...]
    base: BaseParameters
    K: Array

    @staticmethod
    def of(robot: Robot) -> LinkInertias:
        """Return the links of any robot."""
        tree = joint_frames(merge_fixed(robot))
        base = base_columns(tree)[1]
        root = tree.links[0].name
        carriers = {link.name: tree.frame(link.name) for link in robot.links}
        moved = [link for link in robot.links if carriers[link.name].link != root]
        # Efforts depend on an inertia without mass too, as in some URDFs
        with_inertia = {
            link.name
            for link in moved
            if link.inertia.mass > 0.0 or link.inertia.second_moment.any()
        }
        driven = {joint.child for joint in robot.moving_joints}
        heavy = {carriers[name].link for name in with_inertia}
        links = tuple(
            link.name
            for link in moved
            if link.name in with_inertia
            or (carriers[link.name].link not in heavy and link.name in driven)
        )
        gather = _gather(tree, base)
        K = np.hstack([gather @ _moved(tree, carriers[name]) for name in links])
        return LinkInertias(robot, links, base, K)

    @property
    def parameters(self) -> Array:
        """Parameters pi of the robot, shape (10 l,)."""
        bodies = [self.robot.links[self.robot.link_index(name)].inertia for name in self.links]
        return np.concatenate([inertial_parameters(body) for body in bodies])

    def starting_bodies(self) -> list[Inertia]:
        """Bodies of the links, made solid where the URDF has points, sheets or nothing."""
        total = sum(link.inertia.mass for link in self.robot.links) or 1.0
        bodies = self.parameters.reshape(-1, 10)
        return [_solid(body_with(pi), LIGHTEST * total) for pi in bodies]

    def with_parameters(self, pi: Array) -> Robot:
        """Return the robot with these parameters of its links, shape (10 l,)."""
        bodies = dict(zip(self.links, map(body_with, pi.reshape(-1, 10)), strict=True))
        links = tuple(
            replace(link, inertia=bodies.get(link.name, link.inertia)) for link in self.robot.links
        )
        return replace(self.robot, links=links)


def carried_at(robot: Robot, frame: str) -> Array:
    """Base parameters by the ten parameters of a body at a link or frame, shape (p, 10).

    Raises:
        UnknownNameError: If there is no such frame.
        RobotError: If no joint moves it.
    """
    tree = joint_frames(merge_fixed(robot))
    place = tree.frame(robot.frame(frame).link)
    if place.link == tree.links[0].name:
        raise RobotError(f"frame '{frame}' does not move; name one that carries the load")
    place = Frame(place.link, place.pose @ robot.frame(frame).pose)
    return _gather(tree, base_columns(tree)[1]) @ _moved(tree, place)


def _moved(tree: Robot, place: Frame) -> Array:
    """Parameters of all links, one after the other, by those of a body at a place in one."""
    columns = [inertial_parameters(body_with(unit).expressed_in(place.pose)) for unit in np.eye(10)]
    T = np.zeros((10 * (len(tree.links) - 1), 10))
    first = 10 * (tree.link_index(place.link) - 1)
    T[first : first + 10] = np.column_stack(columns)
    return T


def _gather(tree: Robot, base: BaseParameters) -> Array:
    """Return base parameters per parameter of the tree, shape (p, 10 links)."""
    place = {
        f"{link.name.removesuffix(SUFFIX)}.{symbol}": 10 * i + k
        for i, link in enumerate(tree.links[1:])
        for k, symbol in enumerate(PARAMETERS)
    }
    G = np.zeros((len(base), len(place)))
    for row, parameter in zip(G, base, strict=True):
        for name, factor in parameter.gathers.items():
            row[place[name]] = factor
    return G


def _solid(body: Inertia, least: float) -> Inertia:
    m = max(float(body.mass), least)
    scale = m / body.mass if body.mass > 0.0 else 0.0
    c = body.com
    I_C = scale * body.about_com
    S = 0.5 * np.trace(I_C) * np.eye(3) - I_C  # integral r r^T dm about the mass centre
    values, axes = np.linalg.eigh(S)
    S = (axes * np.maximum(values, m * THINNEST_M**2)) @ axes.T
    return Inertia(m, m * c, np.trace(S) * np.eye(3) - S - m * (skew(c) @ skew(c)))


# -- physically consistent inertias --------------------------------------------------------------

PRIOR = 0.5
"""Standard deviation of the prior: bodies of a URDF are right to within a half."""

LEAST = 1e-3
"""Smallest eigenvalue of S: how far a body may shrink towards a point or a sheet."""

UNCHANGED = 1e-6
"""Relative change of a body that is the solver's and not the data's."""

PAIRS = [(a, b) for a in range(4) for b in range(a + 1)]
"""Entries on and below the diagonal of a 4x4 matrix."""


@dataclass(frozen=True, eq=False)
class Quadratic:
    """Data term |R z - d|^2 of z = (base values, other columns), in standard deviations.

    Args:
        R: Shape (r, c).
        d: Shape (r,).
    """

    R: Array
    d: Array

    @staticmethod
    def of(gram: Array, right: Array) -> Quadratic:
        """Return the data term of normal equations."""
        scale = np.sqrt(np.maximum(np.diag(gram), 1e-30))
        values, V = np.linalg.eigh(gram / np.outer(scale, scale))
        kept = values > 1e-13 * values[-1]
        root = np.sqrt(values[kept])
        return Quadratic((V[:, kept] * root).T * scale, (V[:, kept] / root).T @ (right / scale))


def consistent(
    data: Quadratic, links: LinkInertias, constraints: list[tuple[Array, float]]
) -> tuple[Array, Array]:
    """Fit physically consistent parameters of all links, and the other columns.

    Args:
        data: Data term of base values and of the other columns.
        links: The links.
        constraints: Rows a and numbers b with a . (other columns) >= b.

    Returns:
        pi, shape (10 l,), and the other columns, shape (c - p,).

    Raises:
        MissingPackageError: If cvxpy is not installed.
        RecordingError: If the solver finds nothing.
    """
    cp = needed("cvxpy", "physical consistency", "identification")
    p = len(links.base)
    bodies = links.starting_bodies()
    maps = [columns_by_entry(pseudo_inertia(body)) for body in bodies]
    A = data.R[:, :p] @ np.hstack(
        [links.K[:, 10 * i : 10 * i + 10] @ T for i, T in enumerate(maps)]
    )
    S = [cp.Variable((4, 4), PSD=True) for _ in bodies]
    others = cp.Variable(data.R.shape[1] - p)
    size = np.sqrt((data.R[:, p:] ** 2).sum(axis=0))
    size = np.where(size > 0.0, size, 1.0)  # columns of one size keep the solver accurate
    entries = cp.hstack([s[a, b] for s in S for a, b in PAIRS])
    fit = A @ entries + (data.R[:, p:] / size) @ others - data.d
    distance = sum(cp.sum_squares(s - np.eye(4)) for s in S)
    limits = [s - LEAST * np.eye(4) >> 0 for s in S]
    limits += [(a / size) @ others >= b for a, b in constraints]
    problem = cp.Problem(cp.Minimize(cp.sum_squares(fit) + distance / PRIOR**2), limits)
    _solve(cp, problem)
    values = np.array([[s.value[a, b] for a, b in PAIRS] for s in S])
    pi = np.concatenate([T @ v for T, v in zip(maps, values, strict=True)])
    pi = _kept(links.parameters.reshape(-1, 10), pi.reshape(-1, 10)).reshape(-1)
    return pi, np.asarray(others.value) / size


def _kept(before: Array, after: Array) -> Array:
    """Keep inertias that only the round-off of the solver has changed."""
    size = np.abs(before).max(axis=1, keepdims=True)
    same = np.all(np.abs(after - before) < UNCHANGED * size, axis=1)
    return np.where(same[:, None], before, after)


def columns_by_entry(J0: Array) -> Array:
    """Return the ten parameters of L S L^T, L L^T = J0, by the `PAIRS` of S, shape (10, 10)."""
    L = np.linalg.cholesky(J0)
    columns = []
    for a, b in PAIRS:
        S = np.zeros((4, 4))
        S[a, b] = S[b, a] = 1.0
        columns.append(inertial_parameters(body_of(L @ S @ L.T)))
    return np.column_stack(columns)


def _solve(cp: Any, problem: Any) -> None:
    try:
        problem.solve(solver=cp.CLARABEL)
    except cp.SolverError as error:
        raise RecordingError(f"physical consistency: the solver gave up ({error})") from None
    if problem.status not in ("optimal", "optimal_inaccurate"):
        raise RecordingError(
            f"physical consistency: the solver says {problem.status}; record a motion that shows "
            "more, or fit without it"
        )
