"""Robots that differ from their model: Robot -> Robot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from robot_dynamics.errors import ArgumentError
from robot_dynamics.robot.robot import Robot
from robot_dynamics.spatial.rigid_body import Inertia


def with_mass_scaled(robot: Robot, factor: float | Mapping[str, float]) -> Robot:
    """The same robot with heavier or lighter links, of the same shape.

    Args:
        robot: Any robot.
        factor: Factor on mass and inertia of every link, or of the links named.

    Raises:
        UnknownNameError: If a named link does not exist.
        ArgumentError: If a factor is not positive.
    """
    if isinstance(factor, Mapping):
        for name in factor:
            robot.link_index(name)
        factors = {link.name: factor.get(link.name, 1.0) for link in robot.links}
    else:
        factors = {link.name: factor for link in robot.links}
    for name, value in factors.items():
        if not (np.isfinite(value) and value > 0.0):
            raise ArgumentError(f"mass factor of link '{name}' is {value}; give a positive number")
    links = tuple(
        replace(link, inertia=_scaled(link.inertia, factors[link.name])) for link in robot.links
    )
    return replace(robot, links=links)


def perturbed(robot: Robot, spread: float, seed: int) -> Robot:
    """The same robot with every link's mass off by up to `spread`, at random.

    Args:
        robot: Any robot.
        spread: Largest relative error, in [0, 1); 0.1 is 10 %.
        seed: The same seed gives the same robot.

    Raises:
        ArgumentError: If the spread is out of range.
    """
    if not 0.0 <= spread < 1.0:
        raise ArgumentError(f"spread is {spread}; give a relative error from 0 to below 1")
    random = np.random.default_rng(seed)
    factors = 1.0 + random.uniform(-spread, spread, len(robot.links))
    return with_mass_scaled(
        robot, dict(zip((link.name for link in robot.links), factors.tolist(), strict=True))
    )


def _scaled(body: Inertia, factor: float) -> Inertia:
    return Inertia(factor * body.mass, factor * body.first_moment, factor * body.second_moment)
