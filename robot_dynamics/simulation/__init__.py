"""Simulate the motion of a robot under joint efforts."""

from typing import TYPE_CHECKING

from robot_dynamics.foundation.lazy import late

if TYPE_CHECKING:
    from robot_dynamics.simulation.closed_loop import (
        ControlFunction,
        ElasticController,
        LawController,
        Log,
        simulate,
    )
    from robot_dynamics.simulation.integrators import INTEGRATORS, integrate
    from robot_dynamics.simulation.perturbed_robot import (
        check_physical,
        perturbed,
        with_mass_scaled,
    )
    from robot_dynamics.simulation.plant import Plant
    from robot_dynamics.simulation.sensors import Imperfections, Reading, Sensor

__all__ = [
    "INTEGRATORS",
    "ControlFunction",
    "ElasticController",
    "Imperfections",
    "LawController",
    "Log",
    "Plant",
    "Reading",
    "Sensor",
    "check_physical",
    "integrate",
    "perturbed",
    "simulate",
    "with_mass_scaled",
]

__getattr__, __dir__ = late(__name__)
