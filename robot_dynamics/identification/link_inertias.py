"""Map from the link inertias of the URDF to base parameters.

Links that are fixed to each other keep bodies of their own: an identified robot has the
links, names and frames that it had before.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from robot_dynamics.algorithms.base_parameters import BaseParameters, base_columns
from robot_dynamics.errors import RobotError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot.joint_frames import SUFFIX, joint_frames
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.transforms import merge_fixed
from robot_dynamics.spatial import (
    PARAMETERS,
    Inertia,
    Pose,
    body_of,
    body_with,
    inertial_parameters,
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
        """The links of any robot."""
        tree = joint_frames(merge_fixed(robot))
        base = base_columns(tree)[1]
        root = tree.links[0].name
        carriers = {link.name: _carrier(tree, link.name) for link in robot.links}
        moved = [link for link in robot.links if carriers[link.name][0] != root]
        felt = {link.name for link in moved if _is_felt(link.inertia)}
        heavy = {carriers[name][0] for name in felt}
        links = tuple(
            link.name
            for link in moved
            if link.name in felt
            or (carriers[link.name][0] not in heavy and link.name in _carried_by_joint(robot))
        )
        gather = _gather(tree, base)
        K = np.hstack([gather @ _moved(tree, *carriers[name]) for name in links])
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
        """The robot with these parameters of its links, shape (10 l,)."""
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
    carrier, X = _carrier(tree, robot.frame(frame).link)
    if carrier == tree.links[0].name:
        raise RobotError(f"frame '{frame}' does not move; name one that carries the load")
    return _gather(tree, base_columns(tree)[1]) @ _moved(tree, carrier, X @ robot.frame(frame).pose)


def parameters_of(J: Array) -> Array:
    """Ten parameters of a pseudo-inertia, shape (10,)."""
    return inertial_parameters(body_of(J))


def _is_felt(body: Inertia) -> bool:
    """Return whether efforts depend on a body: some URDFs have inertia without mass."""
    return bool(body.mass > 0.0 or body.second_moment.any())


def _carried_by_joint(robot: Robot) -> set[str]:
    return {joint.child for joint in robot.moving_joints}


def _carrier(tree: Robot, name: str) -> tuple[str, Pose]:
    """Link of the tree that a link of the URDF is part of, and its pose there."""
    frame = tree.frame(name)
    return frame.link, frame.pose


def _moved(tree: Robot, carrier: str, X: Pose) -> Array:
    """Parameters of the carrier, all links one after the other, by those of a body at pose X."""
    columns = [inertial_parameters(body_with(unit).expressed_in(X)) for unit in np.eye(10)]
    T = np.zeros((10 * (len(tree.links) - 1), 10))
    first = 10 * (tree.link_index(carrier) - 1)
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
