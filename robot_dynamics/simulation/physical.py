"""Bodies that may be simulated: those that matter could have."""

from __future__ import annotations

import numpy as np

from robot_dynamics.errors import RobotError
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.transforms import merge_fixed

ROUNDING = 1e-5
"""What is smaller, relative to the largest moment, is the rounding of a file of six digits."""


def check_physical(robot: Robot) -> None:
    """Refuse a robot with a moving body that no distribution of mass has.

    Its equations of motion may be solved all the same, but where the kinetic energy of some
    motion is negative the simulated robot gains energy from nowhere. Every moving link counts with
    all that is fixed to it; a rod and a point have a moment of zero and pass.

    Args:
        robot: Any robot.

    Raises:
        RobotError: If a mass is negative, or the principal moments of a body are; or if one of
            them exceeds the sum of the other two.
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
