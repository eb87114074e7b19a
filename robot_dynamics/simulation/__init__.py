"""Simulate the motion of a robot under joint efforts."""

from robot_dynamics.simulation.closed_loop import Controller, Log, simulate
from robot_dynamics.simulation.integrators import INTEGRATORS, integrate
from robot_dynamics.simulation.law_controller import LawController
from robot_dynamics.simulation.perturbation import perturbed, with_mass_scaled
from robot_dynamics.simulation.physical import check_physical
from robot_dynamics.simulation.plant import Plant
from robot_dynamics.simulation.sensors import Imperfections, Reading, Sensor

__all__ = [
    "INTEGRATORS",
    "Controller",
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
