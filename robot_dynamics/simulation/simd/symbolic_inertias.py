"""Inertial parameters as symbols, so that one compiled loop serves all robots of one structure.

Torques depend on the base parameters alone, which are linear in the ten parameters of each link.
The equations take the base parameters as inputs. A heavier robot, or one with a load, is another
vector of them, and nothing is compiled again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from robot_dynamics.algorithms import composite_body
from robot_dynamics.algorithms.base_parameters import base_columns
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.reduction.augmented_body_columns import inverse_dynamics
from robot_dynamics.robot.free_joints import accelerations
from robot_dynamics.robot.joint_frames import SUFFIX, joint_frames, snapped
from robot_dynamics.robot.kinematic_tree import Link
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.transforms import merge_fixed, outward_bodies
from robot_dynamics.spatial import PARAMETERS, body_with, inertial_parameters

ROUND_OFF = 1e-11
"""Geometry is rounded by up to this: the error comes from rotating frames."""

TILTED = np.array([3.0, -2.0, -9.0])
"""A gravity with which every parameter matters, because the direction of gravity is an input."""


class SymbolicInertias:
    """The base parameters of all robots of one structure.

    Args:
        robot: One of these robots, with numbers. All share its geometry.
        base_moves: Whether the root link moves in a given way.

    Attributes:
        arm: The robot in joint frames, without fixed joints.
        tree: The same; on a floating joint if the base moves.
        names: Names of the base parameters.
        matrix: Base parameters per inertial parameter of every link, shape (p, 10 links), in the
            order of `robot.links` and `PARAMETERS`.
    """

    def __init__(self, robot: Robot, *, base_moves: bool = False) -> None:
        self.robot, self.base_moves = robot, base_moves
        self.arm = _framed(robot)
        self.tree = framed = _framed(robot.with_floating_base()) if base_moves else self.arm
        self._columns, parameters = base_columns(framed)
        self.names = tuple(parameter.name for parameter in parameters)
        names = [link.name.removesuffix(SUFFIX) for link in framed.links]
        per_body = np.zeros((len(parameters), len(names), len(PARAMETERS)))
        for row, parameter in enumerate(parameters):
            for gathered, factor in parameter.gathers.items():
                link, _, symbol = gathered.rpartition(".")
                per_body[row, names.index(link), PARAMETERS.index(symbol)] = factor
        self._per_body = per_body
        self.matrix = np.concatenate([self.of_body_at(link.name) for link in robot.links], axis=1)

    def __len__(self) -> int:
        return len(self.names)

    def of_body_at(self, frame: str) -> Array:
        """Return base parameters per inertial parameter of a body fixed to a frame, shape (p, 10).

        Args:
            frame: Link or named frame in which the parameters of the body are expressed.

        Raises:
            UnknownNameError: If there is no such frame.
        """
        place = self.tree.frame(frame)
        moved = [
            inertial_parameters(body_with(unit).expressed_in(place.pose)) for unit in np.eye(10)
        ]
        return self._per_body[:, self.tree.link_index(place.link)] @ np.array(moved).T

    def values(self, robot: Robot) -> Array:
        """Return the base parameters of a robot of this structure, shape (p,)."""
        return self.matrix @ np.concatenate([inertial_parameters(x.inertia) for x in robot.links])

    def robot_with(self, values: Array, gravity: Array) -> Robot:
        """Return the tree with these base parameters and gravity, as numbers or symbols."""
        entries: list[list[Any]] = [[0.0] * len(PARAMETERS) for _ in self.tree.links]
        for (i, symbol), value in zip(self._columns, values, strict=True):
            entries[i][PARAMETERS.index(symbol)] = value
        links = [
            Link(link.name, body_with(np.array(numbers)))
            for link, numbers in zip(self.tree.links, entries, strict=True)
        ]
        return replace(self.tree, links=tuple(links), gravity=gravity)

    def mass_matrix(self, values: Array, gravity: Array, q: Array) -> Array:
        """Return the mass matrix, shape (n, n)."""
        tree, n = self.robot_with(values, gravity), len(q)
        positions = tree.coupling.positions(self._with_base(np.zeros(6), q))
        M: Array = tree.coupling.square(composite_body.mass_matrix(tree, positions))
        return M[-n:, -n:]

    def efforts(
        self,
        values: Array,
        gravity: Array,
        motion: tuple[Array, Array, Array],
        base: Array | None = None,
    ) -> Array:
        """Return the joint efforts of a motion, shape (n,).

        Args:
            values: Base parameters, shape (p,).
            gravity: Shape (3,), m/s^2.
            motion: q, qd and qdd, shape (n,) each.
            base: Motion of the base as `BaseMotion.numbers`, shape (15,), with the gravity that
                then counts; by default it stands.
        """
        q, qd, qdd = motion
        n, at_rest = len(q), np.zeros(6)
        if base is not None:
            gravity = base[:3]
        tree = self.robot_with(values, gravity)
        q = self._with_base(at_rest, q)
        qd = self._with_base(at_rest if base is None else base[3:9], qd)
        qdd = self._with_base(at_rest if base is None else base[9:], qdd)
        joints, qdd = tree.coupling, accelerations(tree, qd, qdd)
        rates = joints.positions(q), joints.rates(qd), joints.rates(qdd)
        return joints.efforts(inverse_dynamics(tree, *rates, {}))[-n:]

    def _with_base(self, of_base: Array, of_joints: Array) -> Array:
        return np.concatenate([of_base, of_joints]) if self.base_moves else of_joints


def _framed(robot: Robot) -> Robot:
    """Return a robot in joint frames, without fixed joints and under a generic gravity."""
    tree = merge_fixed(replace(robot, gravity=TILTED))
    return snapped(joint_frames(tree), ROUND_OFF, outward_bodies(tree))[0]
