"""The robot that is simulated: a check of its inertias, and robots that differ from their model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from robot_dynamics.errors import ArgumentError, RobotError
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.transforms import merge_fixed
from robot_dynamics.spatial import Inertia

ROUNDING = 1e-5
"""Tolerance relative to the largest moment, for files rounded to six digits."""


def check_physical(robot: Robot) -> None:
    """Refuse a robot with a physically impossible inertia of a moving link.

    The equations of motion may still be solvable, but a motion with negative kinetic energy would
    let the simulated robot gain energy. Each moving link is checked together with the links fixed
    to it. Rods and points, with a moment of zero, are accepted.

    Args:
        robot: Any robot.

    Raises:
        RobotError: If a mass or principal moment is negative, or a principal moment exceeds the
            sum of the other two.
    """
    for link in merge_fixed(robot).links[1:]:
        body = link.inertia
        if body.mass < 0.0:
            raise _refusal(link.name, f"mass is {body.mass:.3g} kg")
        if body.mass == 0.0:
            continue
        low, middle, high = np.linalg.eigvalsh(np.asarray(body.about_com, dtype=np.float64))
        # Moving the inertia to the centre of mass takes the difference of large numbers
        scale = max(high, 1e-6 * float(np.trace(body.second_moment)))
        if low < -ROUNDING * scale:
            raise _refusal(
                link.name,
                f"inertia is not positive definite (smallest eigenvalue {low:.3g} kg m^2)",
            )
        if high - (low + middle) > ROUNDING * scale:
            raise _refusal(
                link.name,
                "inertia breaks the triangle inequality (principal moments "
                f"{low:.4g}, {middle:.4g}, {high:.4g} kg m^2)",
            )


def _refusal(link: str, what: str) -> RobotError:
    return RobotError(
        f"link '{link}', with what is fixed to it, cannot be simulated: {what}; correct its "
        "<inertial> (inverse dynamics takes it as it is)"
    )


def with_mass_scaled(robot: Robot, factor: float | Mapping[str, float]) -> Robot:
    """Return the robot with the mass and inertia of links scaled.

    Args:
        robot: Any robot.
        factor: Factor on mass and inertia of every link, or of the links named.

    Returns:
        The robot with these masses and inertias.

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


def perturbed(robot: Robot, mass_error: float, seed: int) -> Robot:
    """Return the robot with a random relative error in the mass of every link.

    Args:
        robot: Any robot.
        mass_error: Largest relative error, in [0, 1); 0.1 is 10 %.
        seed: The same seed gives the same robot.

    Returns:
        The robot with these masses; inertias are scaled with them.

    Raises:
        ArgumentError: If `mass_error` is out of range.
    """
    if not 0.0 <= mass_error < 1.0:
        raise ArgumentError(f"mass_error is {mass_error}; give a relative error from 0 to below 1")
    random = np.random.default_rng(seed)
    factors = 1.0 + random.uniform(-mass_error, mass_error, len(robot.links))
    return with_mass_scaled(
        robot, dict(zip((link.name for link in robot.links), factors.tolist(), strict=True))
    )


def _scaled(body: Inertia, factor: float) -> Inertia:
    return Inertia(factor * body.mass, factor * body.first_moment, factor * body.second_moment)
