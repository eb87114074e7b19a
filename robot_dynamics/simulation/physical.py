"""Check that a robot has physically consistent inertias before it is simulated."""

from __future__ import annotations

import numpy as np

from robot_dynamics.errors import RobotError
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.transforms import merge_fixed

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
